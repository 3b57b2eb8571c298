"""Operations that make axes disappear. ``dim`` is None for all, an int or a tuple; negative counts from the end."""

from __future__ import annotations

from typing import Any

from ..arguments import dims
from ..core.dispatch import caller
from ..core.op import Op
from .scan import before

# mypy: disable-error-code="override"


def _axes(dim: Any, ndim: int) -> tuple[int, ...]:
    """The reduced axes, counted from 0."""
    if dim is None:
        return tuple(range(ndim))
    return tuple(axis % ndim for axis in ((dim,) if isinstance(dim, int) else dim)) if ndim else ()


def _kept(shape: tuple[int, ...], dim: Any) -> tuple[int, ...]:
    """The shape of a reduction that keeps the reduced axes with length 1."""
    axes = _axes(dim, len(shape))
    return tuple(1 if i in axes else size for i, size in enumerate(shape))


class Sum(Op):
    """The sum over ``dim``. Integers and bools are summed as int64."""

    dtypes = "each"
    saves = ("x.shape", "dim")

    @staticmethod
    def forward(xp: Any, x: Any, *, dim: Any = None, keepdim: bool = False) -> Any:
        return xp.sum(x, dim, keepdim)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, shape: Any, dim: Any) -> Any:
        return xp.broadcast_to(xp.reshape(g, _kept(shape, dim)), shape)


class Mean(Op):
    """The arithmetic mean over ``dim``."""

    dtypes = "floating"
    saves = ("x.shape", "dim")

    @staticmethod
    def forward(xp: Any, x: Any, *, dim: Any = None, keepdim: bool = False) -> Any:
        return xp.sum(x, dim, keepdim) / _count(x.shape, dim)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, shape: Any, dim: Any) -> Any:
        return xp.broadcast_to(xp.reshape(g / _count(shape, dim), _kept(shape, dim)), shape)


def _count(shape: tuple[int, ...], dim: Any) -> int | float:
    """How many elements meet in one mean; the mean of none is nan, as 0 / nan says without a warning."""
    count = 1
    for axis in _axes(dim, len(shape)):
        count *= shape[axis]
    return count or float("nan")


class Amax(Op):
    """The largest element over ``dim``. Ties share the gradient evenly, as in PyTorch's amax."""

    dtypes = "each"
    saves = ("x", "out", "dim")

    @staticmethod
    def forward(xp: Any, x: Any, *, dim: Any = None, keepdim: bool = False) -> Any:
        return xp.amax(x, dim, keepdim)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, x: Any, out: Any, dim: Any) -> Any:
        return _to_ties(xp, g, x, out, dim)


class Amin(Op):
    """The smallest element over ``dim``. Ties share the gradient evenly, as in PyTorch's amin."""

    dtypes = "each"
    saves = ("x", "out", "dim")

    @staticmethod
    def forward(xp: Any, x: Any, *, dim: Any = None, keepdim: bool = False) -> Any:
        return xp.amin(x, dim, keepdim)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, x: Any, out: Any, dim: Any) -> Any:
        return _to_ties(xp, g, x, out, dim)


def _to_ties(xp: Any, g: Any, x: Any, out: Any, dim: Any) -> Any:
    shape = _kept(x.shape, dim)
    ties = xp.astype(x == xp.reshape(out, shape), g.dtype)
    return ties * (xp.reshape(g, shape) / xp.sum(ties, dim, True))


class Prod(Op):
    """The product over ``dim``, an axis counted from 0. Integers and bools are multiplied as int64."""

    dtypes = "each"
    saves = ("x", "dim")

    @staticmethod
    def forward(xp: Any, x: Any, *, dim: int, keepdim: bool = False) -> Any:
        return xp.prod(x, dim, keepdim)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, x: Any, dim: int) -> Any:
        # The product of all others, from those before and those after: no division, so zeros are no special case.
        turned = (slice(None),) * dim + (slice(None, None, -1),)
        others = before(xp, x, dim) * before(xp, x[turned], dim)[turned]
        return others * xp.reshape(g, _kept(x.shape, dim))


class Any_(Op, name="any"):
    """Whether some element over ``dim`` is not 0."""

    dtypes = "each"
    differentiable = False

    @staticmethod
    def forward(xp: Any, x: Any, *, dim: Any = None, keepdim: bool = False) -> Any:
        return xp.any(x, dim, keepdim)


class All(Op):
    """Whether no element over ``dim`` is 0."""

    dtypes = "each"
    differentiable = False

    @staticmethod
    def forward(xp: Any, x: Any, *, dim: Any = None, keepdim: bool = False) -> Any:
        return xp.all(x, dim, keepdim)


class Argmin(Op):
    """The position of the first smallest element over ``dim``, as int64."""

    dtypes = "each"
    differentiable = False

    @staticmethod
    def forward(xp: Any, x: Any, *, dim: Any = None, keepdim: bool = False) -> Any:
        return xp.argmin(x, dim, keepdim)


class Argmax(Op):
    """The position of the first largest element over ``dim``, as int64."""

    dtypes = "each"
    differentiable = False

    @staticmethod
    def forward(xp: Any, x: Any, *, dim: Any = None, keepdim: bool = False) -> Any:
        return xp.argmax(x, dim, keepdim)


class Logsumexp(Op):
    """``log(sum(exp(x)))`` over ``dim``, without overflow."""

    dtypes = "float"
    saves = ("x", "out", "dim")

    @staticmethod
    def forward(xp: Any, x: Any, *, dim: Any, keepdim: bool = False) -> Any:
        top = xp.amax(x, dim, True)
        out = xp.log(xp.sum(xp.exp(x - top), dim, True)) + top
        return out if keepdim else xp.reshape(out, _dropped(x.shape, dim))

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, x: Any, out: Any, dim: Any) -> Any:
        shape = _kept(x.shape, dim)
        return xp.reshape(g, shape) * xp.exp(x - xp.reshape(out, shape))


def _dropped(shape: tuple[int, ...], dim: Any) -> tuple[int, ...]:
    axes = _axes(dim, len(shape))
    return tuple(size for i, size in enumerate(shape) if i not in axes)


class Softmax(Op):
    """``exp(x) / sum(exp(x))`` over ``dim``: positive numbers that add to 1."""

    dtypes = "floating"
    saves = ("out", "dim")

    @staticmethod
    def forward(xp: Any, x: Any, *, dim: Any) -> Any:
        powers = xp.exp(x - xp.amax(x, dim, True))
        return powers / xp.sum(powers, dim, True)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, out: Any, dim: Any) -> Any:
        weighted = g * out
        return weighted - out * xp.sum(weighted, dim, True)


class LogSoftmax(Op, name="log_softmax"):
    """The logarithm of `softmax`, in the stable form."""

    dtypes = "floating"
    saves = ("out", "dim")

    @staticmethod
    def forward(xp: Any, x: Any, *, dim: Any) -> Any:
        shifted = x - xp.amax(x, dim, True)
        return shifted - xp.log(xp.sum(xp.exp(shifted), dim, True))

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, out: Any, dim: Any) -> Any:
        return g - xp.exp(out) * xp.sum(g, dim, True)


sum_op, mean_op, prod_op, amax_op, amin_op = caller(Sum), caller(Mean), caller(Prod), caller(Amax), caller(Amin)
argmax_op, argmin_op, any_op, all_op = caller(Argmax), caller(Argmin), caller(Any_), caller(All)
logsumexp_op, softmax_op, log_softmax_op = caller(Logsumexp), caller(Softmax), caller(LogSoftmax)

Dims = int | tuple[int, ...] | None


def sum(x: Any, dim: Dims = None, keepdim: bool = False) -> Any:
    """The sum over ``dim``, or over everything."""
    return sum_op(x, dim=dims(x, dim), keepdim=keepdim)


def mean(x: Any, dim: Dims = None, keepdim: bool = False) -> Any:
    """The mean over ``dim``, or over everything. Raises `DtypeError` for integers."""
    return mean_op(x, dim=dims(x, dim), keepdim=keepdim)


def amax(x: Any, dim: Dims = None, keepdim: bool = False) -> Any:
    """The largest element over ``dim``; the gradient is shared by ties."""
    return amax_op(x, dim=dims(x, dim), keepdim=keepdim)


def amin(x: Any, dim: Dims = None, keepdim: bool = False) -> Any:
    """The smallest element over ``dim``; the gradient is shared by ties."""
    return amin_op(x, dim=dims(x, dim), keepdim=keepdim)


def argmax(x: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    """The position of the first largest element over ``dim``, or in the flattened tensor."""
    return argmax_op(x, dim=dims(x, dim), keepdim=keepdim)


def softmax(x: Any, dim: int) -> Any:
    """Positive numbers that add to 1 along ``dim``."""
    return softmax_op(x, dim=dims(x, dim))


def log_softmax(x: Any, dim: int) -> Any:
    """The logarithm of `softmax`, in the stable form."""
    return log_softmax_op(x, dim=dims(x, dim))


def logsumexp(x: Any, dim: Dims, keepdim: bool = False) -> Any:
    """``log(sum(exp(x)))`` over ``dim``, without overflow."""
    return logsumexp_op(x, dim=dims(x, dim), keepdim=keepdim)
