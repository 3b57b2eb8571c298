"""Running sums and products along an axis, and orderings of it."""

from __future__ import annotations

from typing import Any

from ..arguments import dims
from ..core.dispatch import caller
from ..core.op import Op

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
        return _flip(xp.cumsum(_flip(g, dim), dim), dim)


def _flip(x: Any, dim: int) -> Any:
    """The axis ``dim``, counted from 0, backwards."""
    return x[(slice(None),) * dim + (slice(None, None, -1),)]


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


def before(xp: Any, x: Any, dim: int) -> Any:
    """The product of all elements before each one: 1 for the first."""
    head = (slice(None),) * dim
    first = xp.ones_like(x[(*head, slice(0, 1))])
    return xp.cumprod(xp.concatenate((first, x[(*head, slice(0, -1))]), dim), dim)


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


class Argsort(Op):
    """The positions, as int64, that put ``dim`` in order; stable. NaN counts as the largest."""

    dtypes = "each"
    differentiable = False

    @staticmethod
    def forward(xp: Any, x: Any, *, dim: int, descending: bool = False) -> Any:
        return xp.argsort(x, dim, descending)


cumsum_op, cumprod_op, argsort_op = caller(Cumsum), caller(Cumprod), caller(Argsort)


def cumsum(x: Any, dim: int) -> Any:
    """The sum of each element and those before it along ``dim``. Raises `ShapeError` for an axis that is not there."""
    return cumsum_op(x, dim=dims(x, dim))
