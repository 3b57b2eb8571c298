"""Corners where numbers, words or hooks once went wrong."""

from __future__ import annotations

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.support import run_python
from tinygrad_edu import guard, nn, optim
from tinygrad_edu.compiler import interpret, trace
from tinygrad_edu.errors import ArgumentError, AutogradError, DtypeError, InplaceError, ShapeError


def test_the_explanation_also_reaches_arrays_that_were_handed_out() -> None:
    lines = (
        "import tinygrad_edu as tg",
        "x = tg.ones(3, requires_grad=True)",
        "a = x.detach().numpy()",
        "y = (x * x).sum()",
        "a[:] = 0",
    )
    done = run_python("\n".join(lines))
    assert "memory guard: write to an array (3,) float32" in done.stderr
    assert "mul saved it" in done.stderr


def test_memory_first_handed_out_with_the_guard_off_is_still_guarded_later() -> None:
    x = tg.ones(3, requires_grad=True)
    y = (x * x).sum()
    with guard.off():
        x.detach().numpy()
    later = x.detach().numpy()
    assert not later.flags.writeable
    y.backward()
    assert later.flags.writeable


def test_two_comparisons_share_no_storage() -> None:
    """NumPy has one True and one False: a write to one result says nothing of another."""
    x = tg.tensor(3.0, requires_grad=True)
    y = tg.where(tg.tensor(3.0) > 1, x * x, x)
    (tg.tensor(5.0) > 1).fill_(False)
    y.backward()
    assert x.grad is not None and x.grad.item() == 6.0


@pytest.mark.parametrize("op", ["relu", "clamp"])
def test_a_closed_gate_lets_no_infinity_through(op: str) -> None:
    x = tg.tensor([-1.0, 4.0], requires_grad=True)
    gate = x.relu() if op == "relu" else x.clamp(0.0, 9.0)
    with np.errstate(divide="ignore"):
        gate.sqrt().sum().backward()
    assert x.grad is not None and x.grad.tolist() == [0.0, 0.25]


def test_an_impossible_label_has_an_infinite_loss_and_finite_gradients() -> None:
    scores = tg.tensor([[0.0, -float("inf"), 0.0]], requires_grad=True)
    loss = nn.functional.cross_entropy(scores, tg.tensor([1]))
    loss.backward()
    assert loss.item() == float("inf")
    assert scores.grad is not None and scores.grad.tolist() == [[0.5, -1.0, 0.5]]


def test_what_sgd_cannot_move() -> None:
    w = tg.ones(2, requires_grad=True)
    with pytest.raises(DtypeError, match="SGD of a Tensor"):
        optim.SGD(w, lr=0.1)
    with pytest.raises(DtypeError, match="SGD of a Linear"):
        optim.SGD(nn.Linear(1, 1), lr=0.1)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="SGD of the result of <mul>"):
        optim.SGD([w * 2], lr=0.1)
    with pytest.raises(ArgumentError, match="given twice"):
        optim.SGD([w, w], lr=0.1)


def test_a_leaf_outside_a_trace_keeps_no_recording() -> None:
    w = tg.ones(3, requires_grad=True)

    def step(x: tg.Tensor) -> tg.Tensor:
        loss = (x * w).sum()
        loss.backward()
        return loss

    with pytest.raises(AutogradError, match=r"a gradient of trace for a leaf \(3,\) of cpu"):
        trace(step, tg.ones(3))
    assert w.grad is None


def test_a_program_keeps_its_constants_as_they_were() -> None:
    w = tg.full((2,), 2.0)
    program = trace(lambda x: (x * w + w).sum(), tg.ones(2))
    w.mul_(10.0)
    assert interpret(program, np.ones(2, np.float32))[0] == 8.0


def test_a_grad_of_another_shape_is_refused() -> None:
    x = tg.ones(2, requires_grad=True)
    with pytest.raises(ShapeError, match=r"x has shape \(2,\), and each of its elements has one derivative"):
        x.grad = tg.ones(3, 3)
    with pytest.raises(DtypeError, match="the type is ndarray, and a gradient is a tensor or None"):
        x.grad = np.ones(2)
    x.grad = tg.ones(2)
    x.grad.data = tg.ones(2)  # its own buffer may be changed, but not its shape
    x.gradient.array = np.ones((3, 3))
    with pytest.raises(ShapeError, match=r"adding a gradient \(2,\) to .grad"):
        x.sum().backward()


def test_a_written_saved_tensor_is_told_in_the_words_of_the_writer() -> None:
    x = tg.ones(2, requires_grad=True)
    y = x.exp()
    loss = (y * y).sum()
    y[0] = 5.0
    with pytest.raises(InplaceError) as caught:
        loss.backward()
    assert "x[…] = … has overwritten it since" in str(caught.value)
    assert "write into a clone (x = x.clone())" in str(caught.value)
