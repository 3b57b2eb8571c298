"""Parts of a tensor, as views: slices of an axis, a diagonal, windows, any strides."""

from __future__ import annotations

from itertools import pairwise
from operator import index as whole
from typing import Any

from .. import backends
from ..backends import room
from ..backends.layout import contiguous, how_many
from ..core.base import TensorBase
from ..core.dispatch import caller
from ..core.inplace import positions
from ..core.op import Op
from ..errors import ArgumentError, DtypeError, IndexRangeError, ShapeError
from ..inputs.arguments import as_tensor, axis
from ..inputs.kinds import explain_all
from ..settings import no_grad
from .index import getitem
from .movement import listed, reshape_op

# mypy: disable-error-code="override"


class Diagonal(Op):
    """The elements at equal positions of two axes, as a new last axis; a view. ``offset`` counts to the right."""

    dtypes = "each"
    computes = False
    view = True
    saves = ("x.shape", "offset", "dim1", "dim2")

    @staticmethod
    def forward(xp: Any, x: Any, *, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
        return xp.diagonal(x, offset, dim1, dim2)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, shape: Any, offset: int, dim1: int, dim2: int) -> Any:
        length = g.shape[-1]
        along = xp.arange(length)
        index: list[Any] = [slice(None)] * len(shape)
        index[dim1], index[dim2] = along + max(-offset, 0), along + max(offset, 0)
        # Two index arrays with a slice between them make their axis the first; side by side it stays in its place.
        apart = max(dim1, dim2) - min(dim1, dim2) > 1
        target = 0 if apart else min(dim1, dim2)
        order = list(range(g.ndim - 1))
        order[target:target] = [g.ndim - 1]
        return xp.scatter_add(shape, tuple(index), xp.permute(g, tuple(order)))


class Unfold(Op):
    """All windows of ``size`` along ``dim``, ``step`` apart, as a new last axis; a view."""

    dtypes = "each"
    computes = False
    view = True
    saves = ("x.shape", "dim", "size", "step")

    @staticmethod
    def forward(xp: Any, x: Any, *, dim: int, size: int, step: int) -> Any:
        if step < 1 or not 0 <= size <= x.shape[dim]:
            raise ValueError("the windows would reach beyond the axis")
        return xp.windows(x, dim, size, step)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, shape: Any, dim: int, size: int, step: int) -> Any:
        count = g.shape[dim]
        starts = xp.reshape(xp.arange(count) * step, (count, 1))
        where = starts + xp.reshape(xp.arange(size), (1, size))
        order = (*range(dim + 1), g.ndim - 1, *range(dim + 1, g.ndim - 1))
        return xp.scatter_add(shape, ((slice(None),) * dim + (where,)), xp.permute(g, order))

    @staticmethod
    def hint(shapes: Any, params: Any) -> tuple[str, str] | None:
        if params["step"] < 1:
            return f"the step is {params['step']}, but windows move by at least 1", "use step=1 or more"
        length = shapes[0][params["dim"]]
        return (
            f"the axis has {length} elements, but a window has {params['size']}",
            f"use windows of 0 to {length} elements",
        )


class AsStrided(Op, name="as_strided"):
    """Any shape and strides, in elements, over a tensor in row-major order; a view. Elements may be seen twice."""

    dtypes = "each"
    computes = False
    view = True
    saves = ("x.shape", "size", "stride", "offset")

    @staticmethod
    def forward(xp: Any, x: Any, *, size: Any, stride: Any, offset: int = 0) -> Any:
        if min((*size, *stride, offset), default=0) < 0 or _reach(size, stride, offset) > how_many(x.shape):
            raise ValueError("it would read outside the tensor's memory")
        return xp.as_strided(x, size, stride, offset)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, shape: Any, size: Any, stride: Any, offset: int) -> Any:
        count = how_many(shape)
        where = xp.as_strided(xp.arange(count), size, stride, offset)
        flat = xp.scatter_add((count,), (xp.reshape(where, (-1,)),), xp.reshape(g, (-1,)))
        return xp.reshape(flat, shape)

    @staticmethod
    def hint(shapes: Any, params: Any) -> tuple[str, str] | None:
        size, stride, offset = params["size"], params["stride"], params["offset"]
        if min((*size, *stride, offset), default=0) < 0:
            return "a size, a stride or the offset is negative", "use flip() to go backwards: it copies"
        last, count = _reach(size, stride, offset) - 1, how_many(shapes[0])
        why = f"its last element would be number {last} in memory that holds {count}"
        return why, "check sizes, strides and offset"


def _reach(size: tuple[int, ...], stride: tuple[int, ...], offset: int) -> int:
    """How many elements the memory must have."""
    last = offset
    for n, step in zip(size, stride, strict=True):
        last += (n - 1) * step
    return last + 1 if how_many(size) else 0


diagonal_op, unfold_op, as_strided_op = caller(Diagonal), caller(Unfold), caller(AsStrided)


def _along(name: str, x: Any, dim: int) -> tuple[Any, int]:
    """The tensor, and its axis counted from 0; there must be one."""
    x = as_tensor(x)
    if not x.ndim:
        raise ShapeError(f"{name} of a 0-d tensor", "it has no axis to loop over", "give it one: x.unsqueeze(0)")
    return x, axis(x, dim, x.ndim)


def _integer(name: str, value: Any) -> int:
    """An int, or a 0-d tensor of integers."""
    number = not isinstance(value, bool)
    if isinstance(value, TensorBase):
        number = not value.array.ndim and value.array.dtype.kind in "iu"
    try:
        if number:
            return whole(value)
    except TypeError:
        pass
    raise DtypeError(f"{name} with {value!r}", "it is not an integer", "pass an integer") from None


def _cut(x: Any, at: int, start: int, stop: int) -> Any:
    """Elements of one axis; a view."""
    return getitem(x, index=(*(slice(None),) * at, slice(start, stop), Ellipsis))


def narrow(input: Any, dim: int, start: Any, length: int) -> Any:
    """The ``length`` elements of ``dim`` from ``start`` on; a view.

    Raises `IndexRangeError` where they reach beyond the axis.
    """
    x, at = _along("narrow", input, dim)
    count = x.shape[at]
    first, size = _integer("narrow", start), _integer("narrow", length)
    begin = first + count if first < 0 else first
    if not 0 <= begin <= begin + size <= count or size < 0:
        raise IndexRangeError(
            f"narrow(dim={dim}, start={first}, length={size}) of a tensor {tuple(x.shape)}",
            f"the axis has {count} elements, and these do not all lie within it",
            f"start at 0 to {count}, and leave room for the length",
        )
    return _cut(x, at, begin, begin + size)


def select(input: Any, dim: int, index: Any) -> Any:
    """The slice number ``index`` of ``dim``, without that axis; a view. Raises `IndexRangeError` beyond the axis."""
    x, at = _along("select", input, dim)
    count, number = x.shape[at], _integer("select", index)
    if not -count <= number < count:
        raise IndexRangeError(
            f"select(dim={dim}, index={number}) of a tensor {tuple(x.shape)}",
            f"the axis has {count} elements",
            "count them from 0, or from -1 at the end",
        )
    return getitem(x, index=(*(slice(None),) * at, number, Ellipsis))


def unbind(input: Any, dim: int = 0) -> tuple[Any, ...]:
    """All slices of ``dim``, without that axis; views."""
    x, at = _along("unbind", input, dim)
    return tuple(select(x, at, i) for i in range(x.shape[at]))


def split(tensor: Any, split_size_or_sections: Any, dim: int = 0) -> tuple[Any, ...]:
    """Pieces of ``dim``: of one size, the last one perhaps shorter, or of the sizes in a list; views.

    Raises `ShapeError` where the sizes of a list do not add up to the length of the axis.
    """
    if isinstance(split_size_or_sections, (tuple, list)):
        return split_with_sizes(tensor, split_size_or_sections, dim)
    x, at = _along("split", tensor, dim)
    size, count = _integer("split", split_size_or_sections), x.shape[at]
    if size < 0 or (size == 0 and count):
        tried = f"split({size}, dim={dim}) of a tensor {tuple(x.shape)}"
        raise ArgumentError(tried, "pieces of this size never fill the axis", "use pieces of at least 1 element")
    starts = range(0, count, size) if count else (0,)
    return tuple(_cut(x, at, start, min(start + size, count)) for start in starts)


def split_with_sizes(input: Any, split_sizes: Any, dim: int = 0) -> tuple[Any, ...]:
    """Pieces of ``dim`` of the given sizes; views. Raises `ShapeError` where they do not add up to its length."""
    x, at = _along("split_with_sizes", input, dim)
    lengths, count = listed("split", (tuple(split_sizes),), None), x.shape[at]
    if sum(lengths) != count or min(lengths, default=0) < 0:
        raise ShapeError(
            f"split({list(lengths)}, dim={dim}) of a tensor {tuple(x.shape)}",
            f"the sizes add up to {sum(lengths)}, but the axis has {count} elements",
            "give a size for every piece, none of them negative, or one size for all: split(2)",
        )
    starts = [sum(lengths[:i]) for i in range(len(lengths))]
    return tuple(_cut(x, at, start, start + size) for start, size in zip(starts, lengths, strict=True))


def chunk(input: Any, chunks: int, dim: int = 0) -> tuple[Any, ...]:
    """At most ``chunks`` pieces of ``dim``, all of one size except perhaps the last; views."""
    x, at = _along("chunk", input, dim)
    number, count = _integer("chunk", chunks), x.shape[at]
    if number < 1:
        tried = f"chunk({number}, dim={dim}) of a tensor {tuple(x.shape)}"
        raise ArgumentError(tried, "there must be at least one piece", "ask for 1 or more")
    return split(x, -(-count // number), at) if count else split_with_sizes(x, (0,) * number, at)


_TENSOR = 256  # bytes that a tensor takes, at least, besides its elements


def tensor_split(input: Any, indices_or_sections: Any, dim: int = 0) -> tuple[Any, ...]:
    """Pieces of ``dim``: a number of nearly equal ones, the first perhaps longer by 1, or cut at given places; views.

    Places count as in slices: negative ones from the end, and those beyond the axis cut nothing off. A 1-d tensor of
    integers is a list of places. Raises `ShapeError` for a 0-d tensor, `ArgumentError` for fewer than 1 piece.

    >>> import tinygrad_edu as tg
    >>> [part.tolist() for part in tg.arange(5).tensor_split(2)]
    [[0, 1, 2], [3, 4]]
    >>> [part.tolist() for part in tg.arange(5).tensor_split((1, 3))]
    [[0], [1, 2], [3, 4]]
    """
    x, at = _along("tensor_split", input, dim)
    count, given = x.shape[at], indices_or_sections
    if isinstance(given, TensorBase) and given.array.ndim:
        given = given.tolist()
    if isinstance(given, (tuple, list)):
        places = listed("tensor_split", (tuple(given),), None)
        spans = [slice(start, stop).indices(count) for start, stop in zip((0, *places), (*places, None), strict=True)]
        return tuple(_cut(x, at, start, max(start, stop)) for start, stop, _ in spans)
    pieces = _integer("tensor_split", given)
    tried = f"tensor_split({pieces}, dim={dim}) of a tensor {tuple(x.shape)}"
    if pieces < 1:
        raise ArgumentError(tried, "there must be at least one piece", "ask for 1 or more")
    room.check(tried, (pieces,), _TENSOR)
    size, longer = divmod(count, pieces)
    starts = [i * size + min(i, longer) for i in range(pieces + 1)]
    return tuple(_cut(x, at, start, stop) for start, stop in pairwise(starts))


def diagonal(input: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """The elements at equal positions of two axes, as a new last axis; a view.

    A positive ``offset`` begins that many columns to the right, a negative one that many rows further down.
    """
    x = as_tensor(input)
    first, second = axis(x, dim1, max(x.ndim, 1)), axis(x, dim2, max(x.ndim, 1))
    if first == second:
        tried = f"diagonal(dim1={dim1}, dim2={dim2}) of a tensor {tuple(x.shape)}"
        raise ShapeError(tried, "both are the same axis, but a diagonal needs two", "name two axes")
    return diagonal_op(x, offset=_integer("diagonal", offset), dim1=first, dim2=second)


def unfold(input: Any, dimension: int, size: int, step: int) -> Any:
    """All windows of ``size`` elements along ``dimension``, ``step`` apart, as a new last axis; a view.

    Raises `ShapeError` for a window that is larger than the axis. Windows that overlap cannot be written to.

    >>> import tinygrad_edu as tg
    >>> tg.arange(5).unfold(0, 3, 2)
    tensor([[0, 1, 2],
            [2, 3, 4]])
    """
    x = as_tensor(input)
    at = axis(x, dimension, max(x.ndim, 1))
    size, step = _integer("unfold", size), _integer("unfold", step)
    if x.ndim:
        return unfold_op(x, dim=at, size=size, step=step)
    return select(unfold_op(reshape_op(x, shape=(1,)), dim=0, size=size, step=step), 0, 0)


def as_strided(input: Any, size: Any, stride: Any, storage_offset: int | None = None) -> Any:
    """Any shape and strides over the memory of ``input``, or of the tensor that it is a view of; a view.

    Elements may be seen twice. Strides and offset count elements of that memory. The offset is by default that of
    ``input``. Raises `ShapeError` for an element outside the memory, and where the memory does not hold its tensor in
    row-major order. A view that overlaps itself cannot be written to. Gradients reach all elements that the view shows;
    PyTorch's reach only those that ``input`` shows too.
    """
    x = as_tensor(input)
    lengths, steps = listed("as_strided", (tuple(size),), None), listed("as_strided", (tuple(stride),), None)
    tried = f"as_strided({lengths}, {steps}, {storage_offset}) of a tensor {tuple(x.shape)}"
    if len(lengths) != len(steps):
        why = f"there are {len(lengths)} sizes and {len(steps)} strides"
        raise ShapeError(tried, why, "give each axis of the result a size and a stride")
    view = x.origin
    base = x if view is None else view.base
    array = base.array
    if not contiguous(tuple(array.shape), array.strides, array.dtype.itemsize):
        raise ShapeError(
            tried,
            f"its memory belongs to a tensor {tuple(array.shape)} with strides {base.stride()}, not in row-major order",
            "take contiguous() of that tensor first",
        )
    if backends.of(array).owner(array).size != array.size:
        raise ShapeError(
            tried,
            "its memory is part of a larger block that no tensor of the graph shows, so strides have no fixed start",
            "clone() it first",
        )
    offset = _begins(x, tried) if storage_offset is None else _integer("as_strided", storage_offset)
    params = {"size": lengths, "stride": steps, "offset": offset}
    if view is None or view.tracked:
        return as_strided_op(base, **params)
    with no_grad():  # a view that is outside the graph stays there
        return as_strided_op(base, **params)


def _begins(x: Any, tried: str) -> int:
    """Where in its base a view begins, in elements."""
    if x.origin is None:
        return 0
    where = positions(tuple(x.origin.base.array.shape), x.origin.chain).reshape(-1)
    if not where.size:
        raise ShapeError(tried, "x is empty, so it has no first element", "pass storage_offset")
    return int(where[0])


explain_all(globals(), "select", "narrow", "split", "chunk")
