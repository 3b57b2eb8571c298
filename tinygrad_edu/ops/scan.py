"""Running sums and products along an axis."""

from __future__ import annotations

from typing import Any

from ..core.dispatch import caller
from ..core.op import Op
from ..dtypes import as_dtype, bool_
from ..errors import DtypeError
from ..inputs.arguments import as_tensor, one_dim
from .reduce import backwards, before, prod_op, sum_op

# mypy: disable-error-code="override"


class Cumsum(Op):
    """The sum of each element and those before it along ``dim``. Integers and bools are summed as int64."""

    dtypes = "each"
    saves = ("dim",)

    @staticmethod
    def forward(xp: Any, x: Any, *, dim: int) -> Any:
        return xp.cumsum(x, dim)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, dim: int) -> Any:
        return backwards(xp.cumsum(backwards(g, dim), dim), dim)


class Cumprod(Op):
    """The product of each element and those before it along ``dim``. Integers and bools are multiplied as int64."""

    dtypes = "each"
    saves = ("x", "dim")

    @staticmethod
    def forward(xp: Any, x: Any, *, dim: int) -> Any:
        return xp.cumprod(x, dim)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, x: Any, dim: int) -> Any:
        return before(xp, x, dim) * _from_the_right(xp, g, x, dim)


def _from_the_right(xp: Any, g: Any, x: Any, dim: int) -> Any:
    """``s[i] = g[i] + x[i + 1] * s[i + 1]``: what arrives at i from the products that contain it.

    No division, so zeros are no special case. Solved by doubling: after k rounds, s[i] reaches 2 ** k elements ahead.
    """
    head = (slice(None),) * dim
    size, reach = x.shape[dim], 1
    factor = xp.concatenate((x[(*head, slice(1, None))], xp.zeros_like(x[(*head, slice(0, 1))])), dim)
    while reach < size:
        ahead, end = (*head, slice(reach, None)), (*head, slice(size - reach, None))
        g = g + factor * xp.concatenate((g[ahead], xp.zeros_like(g[end])), dim)
        factor = factor * xp.concatenate((factor[ahead], xp.zeros_like(factor[end])), dim)
        reach *= 2
    return g


cumsum_op, cumprod_op = caller(Cumsum), caller(Cumprod)


def cumsum(x: Any, dim: int, *, dtype: Any = None) -> Any:
    """The sum of each element and those before it along ``dim``. Integers give int64, unless ``dtype`` says otherwise.

    With ``dtype`` the elements are converted before they are added. Raises `ShapeError` for an axis that is not there.

    >>> import tinygrad_edu as tg
    >>> tg.cumsum(tg.tensor([1, 2, 3, 4]), dim=0).tolist()
    [1, 3, 6, 10]
    """
    return _running(cumsum_op, sum_op, x, dim, dtype)


def cumprod(x: Any, dim: int, *, dtype: Any = None) -> Any:
    """The product of each element and those before it along ``dim``; see `cumsum`. Gradients are exact at zeros too."""
    return _running(cumprod_op, prod_op, x, dim, dtype)


def _running(op: Any, total: Any, x: Any, dim: int, dtype: Any) -> Any:
    """``total`` reduces everything: what a 0-d tensor, which has no axis to run along, gives."""
    x = as_tensor(x)
    if dtype is not None:
        if as_dtype(dtype) == bool_:
            why = "running sums and products are numbers"
            raise DtypeError(f"{op.__name__} with dtype=bool", why, "leave dtype out, and compare the result")
        x = x.to(dtype=dtype)
    along = one_dim(x, dim)
    result = total(x) if along is None else op(x, dim=along)
    return result if dtype is None else result.to(dtype=dtype)
