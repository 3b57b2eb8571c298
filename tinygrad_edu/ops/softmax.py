"""Sums of exponentials: softmax, its logarithm, and the logarithm of the sum, none of which overflows."""

from __future__ import annotations

from typing import Any

from ..core.dispatch import caller
from ..core.op import Op
from ..inputs.arguments import as_tensor, one_dim
from ..inputs.kinds import explain_all
from .reduce import Dims, axes_of, given, kept, over

# mypy: disable-error-code="override"


class Logsumexp(Op):
    """``log(sum(exp(x)))`` over ``dim``, without overflow."""

    dtypes = "float"
    saves = ("x", "out", "dim")
    per_element = 6
    per_input = 4

    @staticmethod
    def forward(xp: Any, x: Any, *, dim: Any, keepdim: bool = False) -> Any:
        top = _top(xp, x, dim)
        large = xp.where(xp.abs(top) != float("inf"), top, 1e30)  # infinity less itself would be nan
        out = _log_sum(xp, x - large, dim) + top
        return out if keepdim else xp.reshape(out, _dropped(x.shape, dim))

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, x: Any, out: Any, dim: Any) -> Any:
        shape = kept(x.shape, dim)
        return xp.reshape(g, shape) * xp.exp(x - xp.reshape(out, shape))


def _top(xp: Any, x: Any, dim: Any) -> Any:
    """The largest element, which is subtracted so that ``exp`` cannot overflow; -inf where there is none."""
    return xp.sum(x, dim, True) - float("inf") if 0 in x.shape else xp.amax(x, dim, True)


def _log_sum(xp: Any, shifted: Any, dim: Any) -> Any:
    """``log(sum(exp(shifted)))``. The largest element is 0, so the sum is at least 1, unless there is only -inf."""
    return xp.log(xp.maximum(xp.sum(xp.exp(shifted), dim, True), 1))


def _dropped(shape: tuple[int, ...], dim: Any) -> tuple[int, ...]:
    axes = axes_of(dim, len(shape))
    return tuple(size for i, size in enumerate(shape) if i not in axes)


class Softmax(Op):
    """``exp(x) / sum(exp(x))`` over ``dim``: positive numbers that add to 1."""

    dtypes = "floating"
    saves = ("out", "dim")
    per_element = 5

    @staticmethod
    def forward(xp: Any, x: Any, *, dim: Any) -> Any:
        x = xp.contiguous(x)
        powers = xp.exp(x - _top(xp, x, dim))
        return powers / xp.sum(powers, dim, True)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, out: Any, dim: Any) -> Any:
        weighted = g * out
        return weighted - out * xp.sum(weighted, dim, True)


class LogSoftmax(Op, name="log_softmax"):
    """The logarithm of `softmax`, in the stable form."""

    dtypes = "floating"
    saves = ("out", "dim")
    per_element = 5

    @staticmethod
    def forward(xp: Any, x: Any, *, dim: Any) -> Any:
        x = xp.contiguous(x)
        shifted = x - _top(xp, x, dim)
        return shifted - _log_sum(xp, shifted, dim)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, out: Any, dim: Any) -> Any:
        return g - xp.exp(out) * xp.sum(g, dim, True)


logsumexp_op, softmax_op, log_softmax_op = caller(Logsumexp), caller(Softmax), caller(LogSoftmax)


def softmax(input: Any, dim: int, dtype: Any = None) -> Any:
    """Positive numbers that add to 1 along ``dim``: ``exp(input) / sum(exp(input))``.

    With ``dtype`` the input is converted first. A row of -inf alone gives nan. Raises `DtypeError` for integers.

    >>> import tinygrad_edu as tg
    >>> tg.softmax(tg.tensor([0.0, 0.0, 1000.0]), dim=0).tolist()
    [0.0, 0.0, 1.0]
    """
    x = given(input, dtype)
    return softmax_op(x, dim=one_dim(x, dim))


def log_softmax(input: Any, dim: int, dtype: Any = None) -> Any:
    """The logarithm of `softmax`, with its arguments, in the stable form."""
    x = given(input, dtype)
    return log_softmax_op(x, dim=one_dim(x, dim))


def logsumexp(input: Any, dim: Dims, keepdim: bool = False) -> Any:
    """``log(sum(exp(input)))`` over ``dim``, without overflow.

    It is -inf where all are -inf, and inf where one is inf. There the slope is not defined: gradients are nan.
    """
    x = as_tensor(input)
    return logsumexp_op(x, dim=over(x, dim), keepdim=keepdim)


explain_all(globals())
