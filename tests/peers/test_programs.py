"""Everyday programs, written once and run with PyTorch and here: what they return is the same, and so are refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.peers.programs import PROGRAMS, name_of

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install -e '.[peers]'")
pytestmark = pytest.mark.peers

TOLERANCE = {"float64": 1e-9, "float32": 2e-5, "float16": 1e-3, "bfloat16": 1e-2}


def same(ours: Any, theirs: Any, where: str = "") -> None:
    """Compare what two runs of a program returned, however it is nested. ``where`` leads to the part that differs."""
    if isinstance(theirs, torch.Tensor):
        assert isinstance(ours, tg.Tensor), where
        dtype = name_of(theirs.dtype)
        assert (name_of(ours.dtype), tuple(ours.shape)) == (dtype, tuple(theirs.shape)), where
        assert (ours.requires_grad, ours.is_leaf) == (theirs.requires_grad, theirs.is_leaf), where
        tolerance = TOLERANCE.get(dtype, 0)
        values = [x.detach().double().numpy() for x in (ours, theirs)]
        np.testing.assert_allclose(*values, rtol=tolerance, atol=tolerance, err_msg=where)
    elif isinstance(theirs, torch.dtype):
        assert name_of(ours) == name_of(theirs), where
    elif isinstance(theirs, list | tuple):
        assert isinstance(ours, list if isinstance(theirs, list) else tuple), where
        assert len(ours) == len(theirs), where
        for i, pair in enumerate(zip(ours, theirs, strict=True)):
            same(*pair, f"{where}[{i}]")
    elif isinstance(theirs, np.ndarray):
        assert ours.dtype == theirs.dtype, where
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, err_msg=where)
    else:
        assert type(ours) is type(theirs), where
        assert ours == (pytest.approx(theirs, rel=1e-5, nan_ok=True) if isinstance(theirs, float) else theirs), where


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_programs_return_the_same(program: Callable[..., Any]) -> None:
    same(program(tg), program(torch))


# Mistakes: refused by both, and here with a reason ---------------------------------------------------------------


def backward_twice(torch: Any) -> None:
    y = (torch.ones(2, requires_grad=True) ** 2).sum()
    y.backward()
    y.backward()


def step_without_no_grad(torch: Any) -> None:
    w = torch.ones(2, requires_grad=True)
    w -= 0.1


def overwrite_a_saved_value(torch: Any) -> None:
    y = torch.ones(2, requires_grad=True).exp()
    y += 1
    y.sum().backward()


def divide_integers_in_place(torch: Any) -> None:
    x = torch.arange(3)
    x /= 2


MISTAKES: dict[str, Callable[[Any], Any]] = {
    "hessian of several numbers": lambda torch: torch.autograd.functional.hessian(torch.exp, torch.ones(2)),
    "hvp of several tensors": lambda torch: torch.autograd.functional.hvp(
        lambda x: (x[0], x[1]), torch.ones(2), torch.ones(2)
    ),
    "jacobian of a list": lambda torch: torch.autograd.functional.jacobian(torch.exp, [1.0]),
    "jacobian of what returns none": lambda torch: torch.autograd.functional.jacobian(lambda x: 1.0, torch.ones(2)),
    "jacobian, strict": lambda torch: torch.autograd.functional.jacobian(
        lambda x, y: x * 2, (torch.ones(2), torch.ones(2)), strict=True
    ),
    "jacobian of a constant, strict": lambda torch: torch.autograd.functional.jacobian(
        lambda x: torch.ones(2), torch.ones(2), strict=True
    ),
    "jacobian, forward mode by rows": lambda torch: torch.autograd.functional.jacobian(
        torch.exp, torch.ones(2), strategy="forward-mode"
    ),
    "jacobian, another way": lambda torch: torch.autograd.functional.jacobian(
        torch.exp, torch.ones(2), strategy="best", vectorize=True
    ),
    "jvp without v": lambda torch: torch.autograd.functional.jvp(torch.exp, torch.ones(2)),
    "vjp, shapes": lambda torch: torch.autograd.functional.vjp(torch.exp, torch.ones(2), torch.ones(3)),
    "LongTensor of a float": lambda torch: torch.LongTensor(2.0),
    "LongTensor of floats": lambda torch: torch.LongTensor(torch.zeros(2)),
    "FloatTensor of text": lambda torch: torch.FloatTensor("a"),
    "FloatTensor of None": lambda torch: torch.FloatTensor(None),
    "FloatTensor of a bool": lambda torch: torch.FloatTensor(True),
    "Variable of a list": lambda torch: torch.autograd.Variable([1.0]),
    "Variable of integers": lambda torch: torch.autograd.Variable(torch.tensor([1]), requires_grad=True),
    "Variable, volatile": lambda torch: torch.autograd.Variable(torch.ones(1), True, True),
    "type of nothing": lambda torch: torch.zeros(2).type("torch.NoTensor"),
    "matmul, inner sizes": lambda torch: torch.ones(2, 3) @ torch.ones(2, 3),
    "matmul, float32 by float64": lambda torch: torch.from_numpy(np.ones((2, 2))) @ torch.ones(2, 2),
    "matmul, integers by floats": lambda torch: torch.arange(4).view(2, 2) @ torch.ones(2, 2),
    "add, shapes": lambda torch: torch.ones(2, 3) + torch.ones(2),
    "add, None": lambda torch: torch.ones(2) + None,
    "reshape, too few": lambda torch: torch.arange(6).reshape(4, -1),
    "view of a transpose": lambda torch: torch.ones(2, 3).t().view(6),
    "cat, shapes": lambda torch: torch.cat([torch.ones(2, 3), torch.ones(2, 4)]),
    "stack, shapes": lambda torch: torch.stack([torch.ones(2), torch.ones(3)]),
    "sum, no such dim": lambda torch: torch.ones(2, 3).sum(2),
    "einsum, sizes": lambda torch: torch.einsum("ij,jk->ik", torch.ones(2, 3), torch.ones(2, 3)),
    "index out of range": lambda torch: torch.ones(3)[3],
    "index by tensor out of range": lambda torch: torch.ones(3)[torch.tensor([0, 5])],
    "index by floats": lambda torch: torch.ones(3)[torch.tensor([0.0, 1.0])],
    "mask of another length": lambda torch: torch.ones(3)[torch.tensor([True, False])],
    "assign another shape": lambda torch: torch.ones(3, 3).__setitem__(0, torch.ones(2)),
    "gather, axes": lambda torch: torch.ones(2, 3).gather(1, torch.tensor([0, 1])),
    "item of a vector": lambda torch: torch.ones(2).item(),
    "if on a vector": lambda torch: 1 if torch.ones(2) > 0 else 0,
    "ragged rows": lambda torch: torch.tensor([[1, 2], [3]]),
    "text": lambda torch: torch.tensor("abc"),
    "mean of integers": lambda torch: torch.arange(3).mean(),
    "integer by zero": lambda torch: torch.tensor([1]) // 0,
    "and of floats": lambda torch: torch.ones(2) & torch.ones(2),
    "divide integers in place": divide_integers_in_place,
    "write to what was expanded": lambda torch: torch.ones(1).expand(3).add_(1),
    "grow in place": lambda torch: torch.ones(1).add_(torch.ones(3)),
    "integer requires grad": lambda torch: torch.tensor([1, 2], requires_grad=True),
    "step without no_grad": step_without_no_grad,
    "backward twice": backward_twice,
    "backward from a vector": lambda torch: (torch.ones(2, requires_grad=True) * 2).backward(),
    "backward without requires_grad": lambda torch: torch.ones(2).sum().backward(),
    "overwrite a saved value": overwrite_a_saved_value,
    "numpy with a graph": lambda torch: torch.ones(2, requires_grad=True).numpy(),
    "linear, features": lambda torch: torch.nn.Linear(3, 4)(torch.ones(2, 5)),
    "conv2d, channels": lambda torch: torch.nn.functional.conv2d(torch.ones(1, 3, 5, 5), torch.ones(4, 1, 3, 3)),
    "labels as floats": lambda torch: torch.nn.functional.cross_entropy(torch.ones(2, 3), torch.tensor([0.0, 1.0])),
    "labels as a column": lambda torch: torch.nn.functional.cross_entropy(torch.ones(2, 3), torch.tensor([[0], [1]])),
    "label out of range": lambda torch: torch.nn.functional.cross_entropy(torch.ones(2, 3), torch.tensor([0, 3])),
    "probability above 1": lambda torch: torch.nn.functional.binary_cross_entropy(torch.tensor([1.5]), torch.ones(1)),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_refused_with_a_reason(mistake: str) -> None:
    with pytest.raises(Exception):  # noqa: B017, the classes of the two differ
        MISTAKES[mistake](torch)
    with pytest.raises(tg.errors.EduError, match=r"(?s)why: .*mend: "):
        MISTAKES[mistake](tg)
