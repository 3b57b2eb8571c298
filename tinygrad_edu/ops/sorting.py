"""Orderings: the largest elements, their positions, and all elements in order."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .. import backends
from ..core.above import above
from ..core.base import TensorBase
from ..core.dispatch import caller
from ..core.op import Op
from ..errors import ArgumentError, DtypeError, IndexRangeError, ShapeError
from ..inputs import arguments
from ..inputs.arguments import as_tensor, one_dim
from ..inputs.kinds import explain_all
from .choice import maximum, minimum, where_op
from .convert import clone, contiguous
from .index import along, gather_op
from .reduce import amax_op, amin_op, argmax_op, argmin_op, kept

# mypy: disable-error-code="override"


class ValuesAndIndices(NamedTuple):
    """Elements of a tensor, and their positions along its axis, as int64."""

    values: Any
    indices: Any


class Argsort(Op):
    """The positions, as int64, that put ``dim`` in order; stable. nan counts as the largest."""

    dtypes = "each"
    differentiable = False

    @staticmethod
    def forward(xp: Any, x: Any, *, dim: int, descending: bool = False) -> Any:
        return xp.argsort(x, dim, descending)


class Pick(Op):
    """One element of each row of ``x`` along ``dim``: the one at ``index``, which lacks that axis."""

    computes = False
    dtypes = "each"
    saves = ("x.shape", "index", "dim")
    gathers = True

    @staticmethod
    def forward(xp: Any, x: Any, index: Any, *, dim: int) -> Any:
        where = xp.reshape(index, kept(x.shape, dim))
        return xp.reshape(xp.contiguous(xp.take_along_axis(x, where, dim)), index.shape)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, shape: Any, index: Any, dim: int) -> Any:
        where = xp.reshape(index, kept(shape, dim))
        return xp.scatter_add(shape, along(xp, where, dim), xp.reshape(g, where.shape)), None


argsort_op, pick = caller(Argsort), caller(Pick)


def _with_values(x: Any, indices: Any, dim: int | None) -> ValuesAndIndices:
    if indices.ndim == x.ndim:
        return ValuesAndIndices(gather_op(x, indices, dim=dim, like_index=True), indices)
    return ValuesAndIndices(pick(x, indices, dim=dim), indices)


def max(input: Any, dim: Any = None, keepdim: bool = False, *, other: Any = None) -> Any:
    """The largest element of all; with ``dim``, those along it and their positions; with a tensor, `maximum`.

    ``max(input, dim)`` is a named tuple of ``values`` and ``indices``, int64. Of equal elements it takes the first,
    which gets the whole gradient; `amax` and ``max(input)`` share it. nan counts as the largest. Raises `ShapeError`
    where there is no element.

    >>> import tinygrad_edu as tg
    >>> tg.tensor([[1.0, 5.0], [7.0, 2.0]]).max(dim=1).indices.tolist()
    [1, 0]
    """
    return _extreme("max", amax_op, argmax_op, maximum, input, dim, keepdim, other)


def min(input: Any, dim: Any = None, keepdim: bool = False, *, other: Any = None) -> Any:
    """The smallest element of all; with ``dim``, those along it and their positions; with a tensor, `minimum`.

    All else is as in `max`; nan counts as the smallest here.
    """
    return _extreme("min", amin_op, argmin_op, minimum, input, dim, keepdim, other)


def _extreme(name: str, of_all: Any, position: Any, of_two: Any, x: Any, dim: Any, keepdim: bool, other: Any) -> Any:
    if isinstance(dim, TensorBase):
        dim, other = None, dim
    if other is not None:
        return of_two(x, other)
    x = as_tensor(x)
    if dim is None:
        if keepdim:
            why = f"without dim, {name} gives one element, which has no axis to keep"
            raise DtypeError(f"{name} with keepdim and no dim", why, f"use a{name}(keepdim=True)")
        return of_all(x)
    axis = one_dim(x, dim)
    return _with_values(x, position(x, dim=axis, keepdim=keepdim), axis)


def argsort(input: Any, dim: int = -1, descending: bool = False, *, stable: bool = False) -> Any:
    """The positions, int64, that put ``dim`` in order: ``input`` read there is sorted. nan counts as the largest.

    Equal elements always keep their order, with ``stable`` and without.
    """
    return _order(as_tensor(input), dim, descending)[0]


def _order(x: Any, dim: int, descending: bool) -> tuple[Any, int | None]:
    """The positions in order, and the axis counted from 0. A 0-d tensor is in order."""
    axis = one_dim(x, dim)
    return (argmax_op(x) if axis is None else argsort_op(x, dim=axis, descending=descending)), axis


def sort(input: Any, dim: int = -1, descending: bool = False, *, stable: bool = False) -> ValuesAndIndices:
    """The elements in order along ``dim``, and where they were: a named tuple of ``values`` and ``indices``, int64.

    nan counts as the largest. Equal elements always keep their order, with ``stable`` and without.

    >>> import tinygrad_edu as tg
    >>> values, indices = tg.sort(tg.tensor([3.0, 1.0, 2.0]), descending=True)
    >>> values.tolist(), indices.tolist()
    ([3.0, 2.0, 1.0], [0, 2, 1])
    """
    x = as_tensor(input)
    return _with_values(x, *_order(x, dim, descending))


def topk(input: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> ValuesAndIndices:
    """The ``k`` largest elements along ``dim``, or smallest, and where they were: ``values`` and ``indices``, int64.

    They come in order, with ``sorted`` and without. Raises `IndexRangeError` for fewer than ``k`` elements.

    >>> import tinygrad_edu as tg
    >>> values, indices = tg.topk(tg.tensor([3.0, 9.0, 1.0, 7.0]), k=2)
    >>> values.tolist(), indices.tolist()
    ([9.0, 7.0], [1, 3])
    """
    x = as_tensor(input)
    order, axis = _order(contiguous(x), dim, largest)
    size = 1 if axis is None else x.shape[axis]
    tried = f"topk(k={k!r}) of a tensor {tuple(x.shape)}"
    if not isinstance(k, (int, np.integer)):
        raise DtypeError(tried, "k counts elements, so it is an integer", "pass a whole number")
    if not 0 <= k <= size:
        why = f"there are {size} elements along dim={dim}, so k lies between 0 and {size}"
        raise IndexRangeError(tried, why, "ask for fewer, or along another axis")
    if axis is None:
        return _with_values(x, order, axis)
    return _with_values(x, clone(order[(slice(None),) * axis + (slice(0, k),)]), axis)


def kthvalue(input: Any, k: int, dim: int = -1, keepdim: bool = False) -> ValuesAndIndices:
    """The ``k``-th smallest element along ``dim``, counted from 1, and where it stood: ``values`` and ``indices``.

    The indices are int64. nan counts as the largest. Raises `IndexRangeError` for fewer than ``k`` elements,
    `DtypeError` for bools.

    >>> import tinygrad_edu as tg
    >>> tg.kthvalue(tg.tensor([3.0, 9.0, 1.0, 7.0]), 2).values
    tensor(3.)
    """
    x = as_tensor(input)
    tried = f"kthvalue(k={k!r}) of a tensor {tuple(x.shape)} {x.dtype}"
    if x.dtype.kind == "b":
        raise DtypeError(tried, "bools are not in order", "convert it: x.long()")
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)):
        raise DtypeError(tried, "k counts elements, so it is an integer", "pass a whole number")
    axis = one_dim(x, dim)
    size = 1 if axis is None else x.shape[axis]
    if not 1 <= k <= size:
        why = f"there are {size} elements along dim={dim}, and k counts them from 1"
        raise IndexRangeError(tried, why, "ask for a k up to that, or along another axis")
    if axis is None:
        return _with_values(x, argmax_op(x), None)
    kept = slice(int(k) - 1, int(k)) if keepdim else int(k) - 1
    return _with_values(x, clone(argsort_op(x, dim=axis)[(slice(None),) * axis + (kept,)]), axis)


def median(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """The middle element in order, or the lower one of two in the middle.

    ``median(input, dim)`` is a named tuple of ``values`` and ``indices``, int64: of equal elements the first in order
    gets the whole gradient. Without ``dim`` it is one element of all, and equal ones share the gradient. If there is a
    nan, the result is nan. Raises `ShapeError` where there is no element, `DtypeError` for bools.

    >>> import tinygrad_edu as tg
    >>> tg.median(tg.tensor([3.0, 1.0, 4.0, 2.0]))
    tensor(2.)
    """
    x = as_tensor(input)
    axis = None if dim is None else one_dim(x, dim)
    flat = x.reshape(-1) if axis is None else x
    tried = f"median({'' if dim is None else f'dim={dim}'}) of a tensor {tuple(x.shape)} {x.dtype}"
    if x.dtype.kind == "b":
        raise DtypeError(tried, "bools have no order", "convert it: x.long()")
    if not flat.shape[axis or 0]:
        raise ShapeError(tried, "there is no element", "check how the tensor came to be empty")
    values, indices = _middle(flat, axis or 0, keepdim and axis is not None)
    return amax_op(flat[(flat > values).logical_not()]) if dim is None else ValuesAndIndices(values, indices)


def _middle(x: Any, dim: int, keepdim: bool) -> tuple[Any, Any]:
    """The lower element in the middle of each row along ``dim``, or its first nan, and where it is."""
    size, position = x.shape[dim], (x.shape[dim] - 1) // 2
    order = argsort_op(x, dim=dim)
    numbers = x.isnan().logical_not().sum(dim, keepdim)  # sorting puts nan after them
    indices = _with_values(order, where_op(numbers < size, numbers, position), dim).values
    return _with_values(x, indices, dim)


def unique(
    input: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """Each value once, in order whether ``sorted`` or not; with ``dim``, each slice along it once.

    With ``return_inverse``, also where each element of ``input`` is among them; with ``return_counts``, how often each
    occurs. How many there are depends on the values, so they are found on the host. There is no gradient. Each nan
    counts as a new value. Raises `ShapeError` for ``dim`` of a 0-d tensor, or of slices without elements.
    """
    x = as_tensor(input)
    axis = None if dim is None else arguments.axis(x, dim, x.ndim)
    if axis is not None and 0 in (*x.shape[:axis], *x.shape[axis + 1 :]):
        tried = f"unique(dim={dim}) of a tensor {tuple(x.shape)}"
        raise ShapeError(tried, "its slices have no elements to tell them apart", "leave dim out")
    backend = backends.of(x.array)
    values = np.asarray(backend.to_numpy(x.array))
    found, inverse, counts = np.unique(values, return_inverse=True, return_counts=True, axis=axis, equal_nan=False)
    inverse = inverse.reshape(values.shape if axis is None else -1)
    parts = [found] + [inverse] * return_inverse + [counts] * return_counts
    tensors = tuple(above.wrap(backend.from_numpy(part)) for part in parts)
    return tensors if len(tensors) > 1 else tensors[0]


def searchsorted(
    sorted_sequence: Any, input: Any, *, out_int32: bool = False, right: bool = False, side: str | None = None,
    sorter: Any = None,
) -> Any:  # fmt: skip
    """Where to insert ``input`` so that the sequence stays in order, as int64: before equal elements.

    With ``right``, or ``side="right"``, after them. A sequence with several axes is in order along the last one, and
    ``input`` has the same other axes. If the sequence itself is not in order, ``sorter`` gives the order, as `argsort`
    does. The search runs on the host; there is no gradient. Raises `ShapeError` for shapes that do not go together,
    `DtypeError` for different dtypes, `ArgumentError` for another ``side``.

    >>> import tinygrad_edu as tg
    >>> tg.searchsorted(tg.tensor([1, 3, 5, 7]), tg.tensor([3, 6, 9]))
    tensor([1, 3, 4])
    """
    row = as_tensor(sorted_sequence)
    wanted = input if isinstance(input, TensorBase) else as_tensor(input).to(row.dtype)
    tried = f"searchsorted in {tuple(row.shape)} {row.dtype} for {tuple(wanted.shape)} {wanted.dtype}"
    if side not in (None, "left", "right") or (side == "left" and right):
        why, mend = f"side={side!r} and right={right} contradict each other", "use side='left' or side='right' alone"
        raise ArgumentError(tried, why, mend)
    if row.dtype != wanted.dtype:
        raise DtypeError(tried, "the two differ in dtype", f"convert one of them: input.to('{row.dtype}')")
    if not row.ndim or (row.ndim > 1 and tuple(row.shape[:-1]) != tuple(wanted.shape[:-1])):
        why = "all axes but the last must be equal, unless the sequence is a vector"
        raise ShapeError(tried, why, "give them the same axes, or search in a vector")
    if sorter is not None:
        sorter = as_tensor(sorter)
        if tuple(sorter.shape) != tuple(row.shape) or sorter.dtype.name != "int64":
            why = (
                f"sorter has shape {tuple(sorter.shape)} {sorter.dtype}, but has a position for each element, in int64"
            )
            raise ShapeError(tried, why, "use sorted_sequence.argsort()")
        row = gather_op(row, sorter, dim=row.ndim - 1)
    backend: Any = backends.of(row.array)
    where: Any = "right" if right or side == "right" else "left"
    rows, values = (np.asarray(backend.to_numpy(one.detach().array)) for one in (row, wanted))
    if rows.ndim == 1:
        found = np.searchsorted(rows, values, where)
    else:
        found = np.empty(values.shape, np.int64)
        for place in np.ndindex(rows.shape[:-1]):
            found[place] = np.searchsorted(rows[place], values[place], where)
    return above.wrap(backend.from_numpy(np.asarray(found, np.int32 if out_int32 else np.int64)))


def isin(elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False) -> Any:
    """Whether each element is among ``test_elements``, or with ``invert`` is not; bools in the shape of ``elements``.

    One of the two may be a number. With ``assume_unique`` you promise that neither holds a value twice, which saves
    time. nan is never found. The search runs on the host; there is no gradient. Raises `DtypeError` for two numbers.

    >>> import tinygrad_edu as tg
    >>> tg.isin(tg.tensor([1, 2, 3, 4]), tg.tensor([2, 4, 9]))
    tensor([False,  True, False,  True])
    """
    if not isinstance(elements, TensorBase) and not isinstance(test_elements, TensorBase):
        why, mend = "neither is a tensor", "make the first one a tensor: tensor([…])"
        raise DtypeError("isin of two numbers", why, mend)
    pair = [as_tensor(one) for one in (elements, test_elements)]
    backend = backends.of(pair[0 if isinstance(elements, TensorBase) else 1].array)
    x, among = (np.asarray(backends.of(one.array).to_numpy(one.detach().array)) for one in pair)
    found = np.isin(x, among, assume_unique=assume_unique, invert=invert)
    return above.wrap(backend.from_numpy(np.asarray(found)))


explain_all(globals())
