"""Recording a function, and running the record: the same numbers, on the same inputs and on new ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu import nn
from tinygrad_edu.compiler import Equation, Program, TraceError, Var, interpret, trace
from tinygrad_edu.tensor import wrap

F = nn.functional


def normal(*shape: int, seed: int = 0) -> Any:
    return (np.random.default_rng([seed, *shape]).normal(size=shape) * 0.5).astype("f4")


def mlp(x: tg.Tensor, labels: tg.Tensor, *parameters: tg.Tensor) -> tuple[tg.Tensor, ...]:
    """Forward, loss and backward of two layers: the loss and every gradient."""
    w1, b1, w2, b2 = parameters
    loss = F.cross_entropy(F.linear(F.linear(x, w1, b1).relu(), w2, b2), labels)
    loss.backward()
    return loss, *(p.grad for p in parameters)


def mlp_inputs(seed: int) -> list[Any]:
    labels = np.random.default_rng(seed).integers(0, 3, 8)
    return [normal(8, 5, seed=seed), labels, *(normal(*s, seed=seed + 1) for s in ((6, 5), (6,), (3, 6), (3,)))]


def cnn(x: tg.Tensor, labels: tg.Tensor, *parameters: tg.Tensor) -> tuple[tg.Tensor, ...]:
    w1, b1, w2, b2 = parameters
    hidden = F.max_pool2d(F.conv2d(x, w1, b1, padding=1).relu(), 2)
    loss = F.cross_entropy(F.linear(hidden.flatten(1), w2, b2), labels)
    loss.backward()
    return loss, *(p.grad for p in parameters)


def cnn_inputs(seed: int) -> list[Any]:
    labels = np.random.default_rng(seed).integers(0, 3, 2)
    return [
        normal(2, 1, 4, 4, seed=seed),
        labels,
        *(normal(*s, seed=seed) for s in ((3, 1, 3, 3), (3,), (3, 12), (3,))),
    ]


def rnn(xs: tg.Tensor, target: tg.Tensor, *parameters: tg.Tensor) -> tuple[tg.Tensor, ...]:
    w, u, b = parameters
    h = tg.zeros(xs.shape[1], u.shape[0])
    for x in xs:
        h = (x @ w + h @ u + b).tanh()
    loss = F.mse_loss(h, target)
    loss.backward()
    return loss, *(p.grad for p in parameters)


def rnn_inputs(seed: int) -> list[Any]:
    shapes = ((5, 3, 2), (3, 4), (2, 4), (4, 4), (4,))
    return [normal(*s, seed=seed) for s in shapes]


STEPS: dict[str, tuple[Callable[..., Any], Callable[[int], list[Any]]]] = {
    "mlp": (mlp, mlp_inputs), "cnn": (cnn, cnn_inputs), "rnn": (rnn, rnn_inputs),
}  # fmt: skip


def tensors(arrays: list[Any]) -> list[tg.Tensor]:
    """Fresh leaves: the first two are data, the rest are parameters."""
    made = [tg.tensor(a) for a in arrays]
    return [*made[:2], *(p.requires_grad_() for p in made[2:])]


@pytest.mark.parametrize("name", STEPS)
def test_a_training_step_replays_exactly(name: str) -> None:
    step, inputs = STEPS[name]
    program = trace(step, *tensors(inputs(0)))
    for seed in (0, 1):
        arrays = inputs(seed)
        for found, expected in zip(interpret(program, *arrays), step(*tensors(arrays)), strict=True):
            assert found.dtype == expected.dtype
            assert np.abs(found - expected.array).max() == 0.0


def test_a_step_of_an_optimiser_is_recorded_too() -> None:
    """Writes in place become equations: the new weights are an output like any other."""

    def step(x: tg.Tensor, w: tg.Tensor) -> tuple[tg.Tensor, ...]:
        optimiser = tg.optim.SGD([w], lr=0.1, momentum=0.9, weight_decay=0.01)
        for _ in range(2):
            optimiser.zero_grad()
            F.linear(x, w).tanh().sum().backward()
            optimiser.step()
        return (w.detach(),)

    def leaves(seed: int) -> tuple[tg.Tensor, tg.Tensor]:
        return tg.tensor(normal(3, 2, seed=seed)), tg.tensor(normal(4, 2, seed=seed), requires_grad=True)

    program = trace(step, *leaves(0))
    for seed in (0, 1):
        (eager,) = step(*leaves(seed))
        (found,) = interpret(program, *(t.detach().array for t in leaves(seed)))
        np.testing.assert_array_equal(found, eager.array)


def test_second_derivatives_are_recorded_too() -> None:
    def curvature(x: tg.Tensor) -> tuple[tg.Tensor, ...]:
        y = (x.relu() * x.sin()).sum()
        (g,) = tg.autograd.grad(y + x.maximum(0.1).sum() + x.abs().sum(), x, create_graph=True)
        return tg.autograd.grad((g * g).sum(), x)

    program = trace(curvature, tg.tensor(normal(5), requires_grad=True))
    for seed in (0, 3):
        x = normal(5, seed=seed)
        (expected,) = curvature(tg.tensor(x, requires_grad=True))
        np.testing.assert_array_equal(interpret(program, x)[0], expected.array)


def test_comparisons_are_operations_and_not_constants() -> None:
    program = trace(lambda x: tg.where(x > 0, x, -x), tg.tensor([1.0, -2.0]))
    np.testing.assert_array_equal(interpret(program, np.array([-5.0, 7.0], "f4"))[0], [5.0, 7.0])


def test_listing() -> None:
    def step(x: tg.Tensor, w: tg.Tensor) -> tuple[tg.Tensor, tg.Tensor]:
        y = F.softmax(x @ w, 1)[1:, 0].sum()
        y.backward()
        return y, w.grad

    w = tg.ones(3, 2, requires_grad=True)
    assert (
        str(trace(step, tg.ones(4, 3), w))
        == """\
program(v0: f32[4,3], v1: f32[3,2]):
  v2: f32[4,2] = matmul(v0, v1)
  v3: f32[4,1] = amax(v2, 1, True)
  v4: f32[4,2] = sub(v2, v3)
  v5: f32[4,2] = exp(v4)
  v6: f32[4,1] = sum(v5, 1, True)
  v7: f32[4,2] = div(v5, v6)
  v8: f32[3] = getitem(v7, (1:, 0))
  v9: f32[] = sum(v8, None, False)
  v10: f32[] = ones_like(v9)
  v11: f32[3] = broadcast_to(v10, (3,))
  v12: f32[4,2] = scatter_add((4, 2), (1:, 0), v11)
  v13: f32[4,2] = mul(v12, v7)
  v14: f32[4,1] = sum(v13, 1, True)
  v15: f32[4,2] = mul(v7, v14)
  v16: f32[4,2] = sub(v13, v15)
  v17: f32[3,4] = permute(v0, (1, 0))
  v18: f32[3,2] = matmul(v17, v16)
  return v9, v18"""
    )


def test_listing_shows_constants_by_their_type_and_short_dtypes() -> None:
    mask = tg.tensor([True, False])
    program = trace(lambda x: tg.where(mask, x, 0.5).to("bfloat16").to("uint8"), tg.ones(2))
    assert (
        str(program)
        == """\
program(v0: f32[2]):
  v1: f32[2] = where(const bool[2], v0, 0.5)
  v2: bf16[2] = astype(v1, bfloat16)
  v3: u8[2] = astype(v2, uint8)
  return v3"""
    )


ESCAPES: dict[str, tuple[Callable[[tg.Tensor], Any], str]] = {
    "item": (lambda x: x.sum().item(), "reading a traced value (item, numpy, print)"),
    "tolist": (lambda x: x.tolist(), "reading a traced value (item, numpy, print)"),
    "bool": (lambda x: x if x.sum() > 0 else -x, "reading a traced value (item, numpy, print)"),
    "float": (lambda x: float(x.sum()), "reading a traced value (item, numpy, print)"),
    "print": (print, "reading a traced value (item, numpy, print)"),
    "format": (lambda x: f"{x}", "reading a traced value (item, numpy, print)"),
}


@pytest.mark.parametrize("name", ESCAPES)
def test_values_that_leave_the_trace_are_refused(name: str) -> None:
    function, tried = ESCAPES[name]
    with pytest.raises(TraceError) as caught:
        trace(function, tg.ones(3))
    error = caught.value
    assert error.tried == tried
    assert error.why == "a replay would not ask again: what the value decides now would hold for every later input"
    assert error.mend == "use where(condition, a, b), or decide outside the traced function"
    assert error.line.startswith("test_trace.py, line ")


def test_the_truth_of_a_raw_proxy_is_refused() -> None:
    with pytest.raises(TraceError, match=r"^the truth of a traced value"):
        trace(lambda x: x if x.array else -x, tg.ones(1))


@pytest.mark.parametrize(("value", "shown"), [(tg.ones(2), "tensor([1., 1.])"), (3.0, "3.0"), (None, "None")])
def test_returning_what_was_not_traced_is_refused(value: Any, shown: str) -> None:
    tried, why = f"returning {shown} from a traced function", "it was not computed from the inputs"
    with teaches(TraceError, tried, why, "return traced tensors", line="trace(lambda x: value"):
        trace(lambda x: value, tg.ones(3))


def test_a_constant_is_kept_as_it_was() -> None:
    """What the function takes from outside belongs to the program from then on: a later write does not change it."""
    c = tg.tensor([2.0, 3.0])
    program = trace(lambda x: x * c, tg.ones(2))
    c.zero_()
    assert interpret(program, np.ones(2, np.float32))[0].tolist() == [2.0, 3.0]


def test_a_write_that_a_view_would_have_to_see_is_refused() -> None:
    """Eagerly, base and view change together. The record has no shared memory, so it says no."""

    def through_view(x: tg.Tensor) -> tg.Tensor:
        y = x * 2
        view = y[0]
        view.add_(1)
        return y

    def under_view(x: tg.Tensor) -> tg.Tensor:
        y = x * 2
        view = y.reshape(4)
        y.add_(1)
        return view

    for function in (through_view, under_view):
        with pytest.raises(TraceError, match="the write went through another tensor that shares memory with it"):
            trace(function, tg.ones(2, 2))


def test_a_write_without_views_is_recorded() -> None:
    def function(x: tg.Tensor) -> tg.Tensor:
        y = x * 2
        y.add_(1)
        y[0] = 7.0
        y *= x
        return y

    program = trace(function, tg.ones(2, 2))
    x = normal(2, 2)
    np.testing.assert_array_equal(interpret(program, x)[0], function(tg.tensor(x)).array)


def test_a_write_keeps_the_dtype_of_its_target() -> None:
    """As NumPy's ``+=`` does: what is added is brought to the target's dtype."""

    def function(x: tg.Tensor, y: tg.Tensor) -> tg.Tensor:
        z = x.array * 1
        z += y.array
        return wrap(z)

    program = trace(function, tg.ones(2), tg.ones(2, dtype="float64"))
    assert program.outputs[0].dtype == np.float32
    found = interpret(program, np.array([1.0, 2.0], "f4"), np.array([0.5, 0.25]))
    assert found[0].tolist() == [1.5, 2.25]


def test_what_a_trace_leaves_behind() -> None:
    """The traced tensors are untouched: no gradient, no graph, no new storage."""
    x = tg.ones(3, requires_grad=True)
    trace(lambda x: ((x * x).sum().backward(), x.grad)[1], x)
    assert x.grad is None
    assert x.storage is None
    assert x.is_leaf


def test_inputs_without_requires_grad_get_none() -> None:
    trace(lambda x, y: ((x * y).sum().backward(), x.grad)[1], tg.ones(2, requires_grad=True), tg.ones(2))
    assert trace(lambda x: x * 2, np.ones(2)).inputs[0].dtype == np.float64  # an array will do


# Programs ---------------------------------------------------------------------------------------------------

F4 = np.dtype("f4")
V = [Var(i, (2,), F4) for i in range(4)]


def test_a_program_is_checked_when_made() -> None:
    add = Equation((V[2],), "add", (V[0], V[1]))
    Program((V[0], V[1]), (add,), (V[2], V[0]))
    with pytest.raises(ValueError, match=r"v2: f32\[2\] = add\(v0, v1\) uses v1, which is not defined before it"):
        Program((V[0],), (add,), (V[2],))
    with pytest.raises(ValueError, match=r"v2: f32\[2\] = add\(v0, v1\) defines v2 a second time"):
        Program((V[0], V[1]), (add, add), (V[2],))
    with pytest.raises(ValueError, match="the output v3 is not defined"):
        Program((V[0], V[1]), (add,), (V[3],))
    with pytest.raises(ValueError, match="two inputs are the same variable"):
        Program((V[0], V[0]), (), (V[0],))
    with pytest.raises(ValueError, match=r"cat\(\(v0, v1\)\) uses v1"):
        Program((V[0],), (Equation((V[2],), "cat", ((V[0], V[1]),)),), (V[2],))


def test_a_program_runs_for_one_signature() -> None:
    program = trace(lambda x, y: x + y, tg.ones(2), tg.ones(2))
    with pytest.raises(ValueError, match="the program takes 2 arrays, not 1"):
        interpret(program, np.ones(2, "f4"))
    with pytest.raises(ValueError, match=r"v1 is f32\[2\], not float32\[3\]: trace again for this signature"):
        interpret(program, np.ones(2, "f4"), np.ones(3, "f4"))
    with pytest.raises(ValueError, match=r"v0 is f32\[2\], not float64\[2\]: trace again for this signature"):
        interpret(program, np.ones(2), np.ones(2, "f4"))


def test_proxies_stay_out_of_numpys_protocols() -> None:
    """An ndarray on the left asks the proxy, so the operation is recorded either way round."""
    constant = np.array([1.0, 2.0], "f4")

    def function(x: tg.Tensor) -> tg.Tensor:
        return wrap(constant + x.array)

    (found,) = interpret(trace(function, tg.ones(2)), np.array([10.0, 20.0], "f4"))
    assert found.tolist() == [11.0, 22.0]
