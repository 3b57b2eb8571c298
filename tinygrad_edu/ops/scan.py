"""Running sums and products along an axis."""

from __future__ import annotations

from typing import Any

from .. import backends
from ..core.above import above
from ..core.dispatch import caller
from ..core.op import Op
from ..dtypes import as_dtype, bool_
from ..errors import ArgumentError, DtypeError, NoAxisError
from ..inputs.arguments import as_tensor, axis, one_dim, whole
from ..inputs.kinds import explain_all
from ..settings import no_grad
from .choice import where_op
from .convert import clone
from .index import gather_op
from .logic import ge, isnan, le, logical_or, logical_xor
from .movement import cat
from .reduce import argmax_op, backwards, before, prod_op, sum_op
from .sorting import ValuesAndIndices

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


def cumsum(input: Any, dim: int, *, dtype: Any = None) -> Any:
    """The sum of each element and those before it along ``dim``. Integers give int64, unless ``dtype`` says otherwise.

    With ``dtype`` the elements are converted before they are added. Raises `ShapeError` for a ``dim`` out of range.

    >>> import tinygrad_edu as tg
    >>> tg.cumsum(tg.tensor([1, 2, 3, 4]), dim=0).tolist()
    [1, 3, 6, 10]
    """
    return _running(cumsum_op, sum_op, input, dim, dtype)


def cumprod(input: Any, dim: int, *, dtype: Any = None) -> Any:
    """The product of each element and those before it along ``dim``; see `cumsum`. Gradients are exact at zeros too."""
    return _running(cumprod_op, prod_op, input, dim, dtype)


def _running(op: Any, total: Any, x: Any, dim: int, dtype: Any) -> Any:
    """``total`` reduces everything: for a 0-d tensor, which has no axis to run along."""
    x = as_tensor(x)
    if dtype is not None:
        if as_dtype(dtype) == bool_:
            why = "running sums and products are numbers"
            raise DtypeError(f"{op.__name__} with dtype=bool", why, "leave dtype out, and compare the result")
        x = x.to(dtype=dtype)
    along = one_dim(x, dim)
    result = total(x) if along is None else op(x, dim=along)
    return result if dtype is None else result.to(dtype=dtype)


def cummax(input: Any, dim: int) -> ValuesAndIndices:
    """The largest of each element and those before it along ``dim``, and where it was: ``values`` and ``indices``.

    Of equal elements the last one counts, and gets the gradient. From the first nan on, all are nan. Raises
    `ShapeError` for an axis that does not exist.

    >>> import tinygrad_edu as tg
    >>> values, indices = tg.cummax(tg.tensor([1.0, 3.0, 2.0, 3.0]), dim=0)
    >>> values.tolist(), indices.tolist()
    ([1.0, 3.0, 3.0, 3.0], [0, 1, 1, 3])
    """
    return _best_so_far(input, dim, ge)


def cummin(input: Any, dim: int) -> ValuesAndIndices:
    """The smallest of each element and those before it along ``dim``, and where it was; see `cummax`."""
    return _best_so_far(input, dim, le)


def _best_so_far(x: Any, dim: int, at_least_as_good: Any) -> ValuesAndIndices:
    x = as_tensor(x)
    along = one_dim(x, dim)
    if along is None:
        return ValuesAndIndices(clone(x), argmax_op(x))
    size, reach = x.shape[along], 1
    head = (slice(None),) * along
    with no_grad():  # only the positions are searched for; the values are then read there
        best, shape = x, [size if i == along else 1 for i in range(x.ndim)]
        places = above.wrap(backends.of(x.array).xp.arange(size)).reshape(shape).expand(x.shape)
        while reach < size:  # by doubling: after k rounds, each has seen the 2 ** k before it
            first, late, early = (*head, slice(0, reach)), (*head, slice(reach, None)), (*head, slice(0, size - reach))
            stays = logical_or(at_least_as_good(best[late], best[early]), isnan(best[late]))
            places = cat([places[first], where_op(stays, places[late], places[early])], along)
            best = cat([best[first], where_op(stays, best[late], best[early])], along)
            reach *= 2
        places = clone(places.contiguous()) if reach == 1 else places
    return ValuesAndIndices(gather_op(x, places, dim=along, like_index=True), places)


def diff(input: Any, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """The difference of each element along ``dim`` and the one before it, taken ``n`` times: each time one is lost.

    ``prepend`` and ``append`` are joined to input first. For bools, whether they differ. Raises `NoAxisError` for a 0-d
    tensor, `ArgumentError` for a negative ``n``, and what `cat` raises.

    >>> import tinygrad_edu as tg
    >>> tg.diff(tg.tensor([1, 4, 9, 16])), tg.diff(tg.tensor([1, 4, 9, 16]), n=2)
    (tensor([3, 5, 7]), tensor([2, 2]))
    """
    x, times = as_tensor(input), whole("diff", "n", n)
    if not x.ndim:
        raise NoAxisError("diff of a 0-d tensor", "it has no neighbours to differ from", "give it an axis")
    if times < 0:
        raise ArgumentError(f"diff with n={times}", "it is how often differences are taken", "use cumsum to go back")
    along = axis(x, dim, x.ndim)
    if not times:
        return clone(x)
    parts = [as_tensor(part) for part in (prepend, x, append) if part is not None]
    x = cat(parts, along) if len(parts) > 1 else x
    head = (slice(None),) * along
    for _ in range(min(times, x.shape[along])):
        late, early = x[(*head, slice(1, None))], x[(*head, slice(0, -1))]
        x = logical_xor(late, early) if x.dtype == bool_ else late - early
    return x


explain_all(globals())
