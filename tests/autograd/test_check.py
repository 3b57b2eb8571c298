"""gradcheck finds what is wrong, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

import tinygrad_edu as tg
from tinygrad_edu.autograd import Function, gradcheck, gradgradcheck
from tinygrad_edu.autograd.check import GradcheckError
from tinygrad_edu.errors import AutogradError, DtypeError


def leaf(*values: float) -> tg.Tensor:
    return tg.tensor(list(values), dtype="float64", requires_grad=True)


class Slipped(Function):
    """A square whose derivative lacks its factor."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.saved_tensors[0]


class FirstOnly(Function):
    """A cube whose gradient is right, but computed outside the graph."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x = ctx.saved_tensors[0].detach()
        return g * 3 * x * x


def test_right_gradients_pass() -> None:
    x, y = leaf(1.0, 2.0), leaf(0.5)
    for mode in (False, True):
        assert gradcheck(lambda x, y: (x * y, (x + y).sum(), x.argmax(0)), (x, y), check_forward_ad=mode)
    assert gradgradcheck(lambda x, y: x * x * y, (x, y))
    assert gradcheck(lambda x: x.to("cpu"), tg.ones(2, dtype="float64", device="far").requires_grad_())


def test_a_wrong_gradient_is_named() -> None:
    with pytest.raises(GradcheckError) as caught:
        gradcheck(Slipped.apply, leaf(1.0, 3.0))
    assert caught.value.tried == "gradcheck by backward"
    assert caught.value.why == (
        "the derivative of result element 0 by element 0 of input 0 is 1, and the finite difference 2; 2 of 4 differ"
    )
    assert gradcheck(Slipped.apply, leaf(1.0), raise_exception=False) is False


def test_a_wrong_second_derivative_is_found() -> None:
    assert gradcheck(FirstOnly.apply, leaf(1.0, 2.0))
    assert gradgradcheck(FirstOnly.apply, leaf(1.0, 2.0), raise_exception=False) is False


def test_a_wrong_forward_mode_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    from tinygrad_edu.autograd import check

    monkeypatch.setattr(check, "jvp", lambda f, x, t: (f(*x), (t[0] * 5.0,)))
    with pytest.raises(GradcheckError, match="gradcheck by jvp"):
        gradcheck(lambda x: x * 2.0, leaf(1.0), check_forward_ad=True)


def test_inputs_that_cannot_be_checked() -> None:
    with pytest.raises(AutogradError, match="none of the inputs requires grad"):
        gradcheck(lambda x: x, tg.ones(2, dtype="float64"))
    with pytest.raises(DtypeError, match="gradcheck of input 0, a float32"):
        gradcheck(lambda x: x, tg.ones(2, requires_grad=True))


def test_inputs_that_do_not_matter() -> None:
    assert gradcheck(lambda x, y: x * 1.0, (leaf(1.0), leaf(2.0)))
    assert gradcheck(lambda x: tg.ones(1, dtype="float64"), leaf(1.0))
