"""Derivatives of functions: words, and empty outputs. tests/peers/test_programs.py compares values with PyTorch."""

from __future__ import annotations

from typing import Any

import pytest

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu.autograd.functional import hessian, jacobian, jvp, vjp
from tinygrad_edu.errors import ArgumentError, AutogradError, DtypeError, ShapeError


def test_of_no_numbers() -> None:
    """Where PyTorch fails."""
    assert jacobian(lambda x: x[:0], tg.ones(3)).shape == (0, 3)


def test_no_grad_is_touched() -> None:
    x = tg.ones(2, requires_grad=True)
    found = jacobian(tg.exp, x)
    assert (x.grad, found.requires_grad) == (None, False)


def square(x: Any) -> Any:
    return x * x


def test_what_is_refused() -> None:
    x = tg.ones(2)
    tried, why = "hessian of square", "second derivatives are those of one number, and it returned "
    with teaches(ShapeError, tried, why + "a tensor (2,)", "return a sum, or use jacobian", "hessian(sq"):
        hessian(square, x)
    with teaches(ShapeError, "hessian of <lambda>", why + "2 tensors", "return a sum, or use jacobian"):
        hessian(lambda x: (x, x), x)
    why, mend = "an input is a list", "pass one tensor, or a tuple of tensors"
    with teaches(DtypeError, "jacobian(func, inputs)", why, mend):
        jacobian(square, [x])
    with teaches(DtypeError, "jacobian(func, inputs)", "func is a int", "pass a function of tensors"):
        jacobian(3, x)  # type: ignore[arg-type]
    why, mend = "it has the shapes of the inputs, which are not one number", "pass v"
    with teaches(ShapeError, "jvp without v", why, mend):
        jvp(square, x)
    why, mend = "the outputs have the shapes (2,)", "give v the same shapes"
    with teaches(ShapeError, "vjp with v of (3,)", why, mend):
        vjp(square, x, tg.ones(3))
    why, mend = "an output does not depend on the inputs at all", "leave strict out for derivatives of 0"
    with teaches(AutogradError, "derivatives with strict=True", why, mend):
        jacobian(lambda x: tg.ones(1), x, strict=True)


@pytest.mark.parametrize("keyword", ["strategy", "outer_jacobian_strategy"])
def test_ways_that_are_not_known(keyword: str) -> None:
    what: Any = jacobian if keyword == "strategy" else hessian
    why = "there are reverse-mode and forward-mode"
    with teaches(ArgumentError, f"{what.__name__} with {keyword}='best'", why, "use one"):
        what(lambda x: x.sum(), tg.ones(2), **{keyword: "best"})
    why, mend = "PyTorch has it with vectorize=True only", "leave it out: the values are the same"
    with teaches(ArgumentError, f"{what.__name__} with {keyword}='forward-mode'", why, mend):
        what(lambda x: x.sum(), tg.ones(2), **{keyword: "forward-mode"})
