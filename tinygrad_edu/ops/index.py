"""Reading and writing by index. Slices and ints give views; integer and boolean tensors give copies."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import backends
from ..backends.cpu import is_basic
from ..backends.layout import how_many
from ..core.above import above
from ..core.base import TensorBase
from ..core.dispatch import caller
from ..core.graph import unbroadcast
from ..core.inplace import inplace, positions, shows_twice
from ..core.op import Op
from ..errors import IndexRangeError, ShapeError
from ..inputs.arguments import axes_taken, beyond, check_index, plain_index, reading
from ..settings import modes
from .movement import reshape_op

# mypy: disable-error-code="override"


class GetItem(Op, name="getitem"):
    """``x[index]``. The gradient goes back to where each element was read, and adds up where one was read twice.

    ``copies`` means that the index has tensors in it: then the result is in row-major order.
    """

    computes = False
    dtypes = "each"
    view = True
    saves = ("x.shape", "index")
    gathers = True

    @staticmethod
    def forward(xp: Any, x: Any, *, index: Any, copies: bool = False) -> Any:
        return xp.contiguous(x[index]) if copies else x[index]

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, shape: Any, index: Any) -> Any:
        return xp.scatter_add(shape, index, g)

    @staticmethod
    def hint(shapes: Any, params: Any) -> tuple[str, str] | None:
        return _why_not(shapes[0], params["index"])


class ScatterAdd(Op, name="scatter_add_at"):
    """``values`` added at ``zeros(shape)[index]``: the adjoint of reading by index."""

    dtypes = "each"
    saves = ("index",)
    per_element = 0

    @staticmethod
    def forward(xp: Any, values: Any, *, shape: Any, index: Any) -> Any:
        return xp.scatter_add(shape, index, values)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, index: Any) -> Any:
        return g[index]


class Put(Op):
    """A copy of ``x`` with ``x[index] = values``. Of values written to one place, the last stays and gets the gradient.

    Overwritten values get none. (PyTorch hands the gradient to each of them, and calls the result undefined.)
    """

    computes = False
    into = ("put",)
    dtypes = "each"
    saves = ("index", "values.shape")
    per_element = 0

    @staticmethod
    def forward(xp: Any, x: Any, values: Any, *, index: Any) -> Any:
        return xp.put(x, index, values)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, index: Any, shape: Any) -> Any:
        read = g[index]
        gx = xp.put(g, index, xp.zeros_like(read)) if needs[0] else None
        if not needs[1]:
            return gx, None
        if _may_repeat(index):
            read = xp.where(_stays(xp, g.shape, index, read.shape), read, xp.zeros_like(read))
        return gx, _to_shape(xp, read, shape)

    @staticmethod
    def result_shape(shapes: Any) -> tuple[int, ...] | None:
        return tuple(shapes[0])

    @staticmethod
    def hint(shapes: Any, params: Any) -> tuple[str, str] | None:
        return _why_not(shapes[0], params["index"], shapes[1])


class PutAdd(Op, name="put_add"):
    """A copy of ``x`` with ``values`` added at ``x[index]``: all of them where several meet in one place."""

    dtypes = "each"
    saves = ("index", "values.shape")

    @staticmethod
    def forward(xp: Any, x: Any, values: Any, *, index: Any) -> Any:
        out = xp.copy(x)
        out += xp.scatter_add(x.shape, index, values)
        return out

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, index: Any, shape: Any) -> Any:
        return g, _to_shape(xp, g[index], shape) if needs[1] else None

    @staticmethod
    def hint(shapes: Any, params: Any) -> tuple[str, str] | None:
        return _why_not(shapes[0], params["index"], shapes[1])


def _to_shape(xp: Any, read: Any, shape: tuple[int, ...]) -> Any:
    """Undo the stretching of what was written: it may have fewer axes, or more of length 1 in front."""
    lead = max(len(shape) - read.ndim, 0)
    values = unbroadcast(xp, read, shape[lead:])
    return xp.reshape(values, shape) if lead else values


_BASIC = (slice, int, type(None), type(Ellipsis))
_PLAIN = frozenset(_BASIC)


def _may_repeat(index: Any) -> bool:
    """Whether an index can name one place twice: positions can; slices, ints and masks cannot."""
    return len([part for part in index if not isinstance(part, _BASIC) and part.dtype.kind != "b"]) > 0


def _stays(xp: Any, shape: tuple[int, ...], index: Any, region: tuple[int, ...]) -> Any:
    """Where in the region a written value is the last one for its place: number them, write the numbers, compare."""
    order = xp.reshape(xp.arange(how_many(region)), region)
    return xp.put(xp.zeros(shape, order.dtype), index, order)[index] == order


class Gather(Op):
    """``x`` read at ``index`` along ``dim``. Along the other axes every element of ``index`` reads in its own place.

    The result is in row-major order, or laid out as ``index`` is.
    """

    computes = False
    dtypes = "each"
    saves = ("x.shape", "index", "dim")
    gathers = True

    @staticmethod
    def forward(xp: Any, x: Any, index: Any, *, dim: int, like_index: bool = False) -> Any:
        if not x.ndim or not index.ndim:  # a 0-d operand counts as a row of one
            return xp.reshape(xp.take_along_axis(xp.reshape(x, (-1,)), xp.reshape(index, (-1,)), 0), index.shape)
        out = xp.take_along_axis(_corner(x, index.shape, dim), index, dim)
        return out if like_index else xp.contiguous(out)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, shape: Any, index: Any, dim: int) -> Any:
        if not shape or not index.ndim:
            row = xp.scatter_add(shape or (1,), (xp.reshape(index, (-1,)),), xp.reshape(g, (-1,)))
            return xp.reshape(row, shape), None
        return xp.scatter_add(shape, along(xp, index, dim), g), None


def _corner(x: Any, shape: tuple[int, ...], dim: int) -> Any:
    """``x`` cut to ``shape``, but for ``dim``."""
    cut = []
    for i, (have, want) in enumerate(zip(x.shape, shape, strict=True)):
        cut.append(slice(0, have if i == dim else want))
    return x[tuple(cut)]


def along(xp: Any, index: Any, dim: int) -> tuple[Any, ...]:
    """The full index that ``gather(x, dim, index)`` stands for: a range along every other axis."""
    rank = index.ndim
    ranges = [
        xp.reshape(xp.arange(size), (1,) * i + (size,) + (1,) * (rank - 1 - i)) for i, size in enumerate(index.shape)
    ]
    ranges[dim] = index
    return tuple(ranges)


getitem, scatter_add_at, put, put_add = caller(GetItem), caller(ScatterAdd), caller(Put), caller(PutAdd)
gather_op = caller(Gather)


def read(x: Any, index: Any) -> Any:
    """``x[index]`` as in PyTorch: a view for ints, slices, ``...`` and None, a copy once a tensor is among them.

    Integer tensors, arrays and lists pick positions, bool tensors the places where they hold; several of them are
    broadcast to one shape and read together. Unlike PyTorch, slices may have a negative step.

    Raises `IndexRangeError` for positions that do not exist and masks that do not fit, `DtypeError` for an index of
    another dtype: floats, and uint8, which PyTorch reads as a mask.
    """
    first, then = plain_index(index, x)
    if first is not None:
        x, index = getitem(x, index=first), then
    copies = False
    if then is not index and type(index) not in _PLAIN:  # else it has been found plain
        for part in then:
            if type(part) not in _PLAIN:
                copies = True
    try:
        return getitem(x, index=then, copies=True) if copies else getitem(x, index=then)
    except (IndexRangeError, ShapeError) as error:
        check_index(index, x)
        raise type(error)(_tried(x, index), error.why, error.mend, error.line) from error.__cause__


def write(x: Any, index: Any, value: Any, name: str = "") -> Any:
    """``x[index] = value``, broadcast and in the dtype of ``x``. Returns ``x``. ``name`` is what the user called."""
    first, then = plain_index(index, x)
    target = x if first is None else getitem(x, index=first)
    number = not isinstance(value, TensorBase)
    value = above.as_tensor(value, x.dtype, x.device if number else None)
    try:
        if not shows_twice(target.array):
            inplace(Put, target, (value,), {"index": then}, name or "x[…] = …")
        else:
            _write_places(target, then, value, name or "x[…] = …", number and name in ("fill_", "zero_"))
    except (IndexRangeError, ShapeError) as error:
        check_index(index, x)
        tried = _tried(target, index if first is None else then).replace(" of ", f" = {tuple(value.shape)} of ", 1)
        tried = f"{name} with a tensor {tuple(value.shape)} on a tensor {tuple(x.shape)}" if name else tried
        raise type(error)(tried, error.why, error.mend, error.line) from error.__cause__
    return x


def _write_places(target: Any, index: Any, value: Any, name: str, fills: bool) -> None:
    """Write to a tensor that shows some places in memory several times, if no place is given two values.

    The graph records it as a write to those places of the base. As in PyTorch, ``fill_`` and ``zero_`` may write to a
    whole axis of stride 0, but ``v[:] = 1`` may not.
    """
    array, view, grad = target.array, target.origin, modes().grad
    if backends.of(array) is not backends.CPU:
        inplace(Put, target, (value,), {"index": index}, name)  # this refuses the write
        return
    offsets = np.zeros(array.shape, np.int64)
    for axis, (size, step) in enumerate(zip(array.shape, array.strides, strict=True)):
        offsets += (np.arange(size) * step).reshape(-1, *(1,) * (array.ndim - axis - 1))
    where = getitem(above.wrap(offsets), index=index).array  # refuses places that do not exist
    tracked = grad and value.node is not None
    allowed = np.unique(where).size == where.size
    if not allowed and value.array.size == 1 and not tracked:
        region = array[index] if is_basic(index) and not fills else where
        allowed = not any(size > 1 and not step for size, step in zip(region.shape, region.strides, strict=True))
    if not (allowed and view is not None and view.tracked and grad and (tracked or view.base.node is not None)):
        inplace(Put, target, (value,), {"index": index}, name, allowed)
        return
    shape = tuple(view.base.array.shape)
    at: Any = (np.ones((), np.bool_),) if where.size else (np.zeros((), np.bool_),)
    if shape:
        at = np.unravel_index(positions(shape, view.chain)[index], shape)
    elif value.array.ndim:  # all elements are the one place
        value = getitem(reshape_op(value, shape=(-1,)), index=(slice(0, where.size),))
    inplace(Put, view.base, (value,), {"index": at}, name)


def _tried(x: Any, index: Any) -> str:
    return reading(index if isinstance(index, tuple) else (index,), x.array.shape)


def _why_not(shape: tuple[int, ...], index: Any, values: tuple[int, ...] | None = None) -> tuple[str, str] | None:
    """Why this index cannot be read, or ``values`` cannot be written there, and how to fix it."""
    taken = sum(axes_taken(part) for part in index)
    axis, plain, sizes = 0, [], []
    for part in index:
        if hasattr(part, "dtype"):
            world = backends.of(part)
            if not world.readable:
                return None
            part = np.asarray(world.peek(part))
            sizes.append(part.shape if part.dtype.kind != "b" else (int(part.sum()),))
            if part.dtype.kind != "b" and (bad := part[(part < -shape[axis]) | (part >= shape[axis])]).size:
                return beyond(int(bad[0]), axis, shape[axis])
        elif isinstance(part, bool):
            sizes.append((int(part),))
        plain.append(part)
        axis += len(shape) - taken if part is Ellipsis else axes_taken(part)
    try:
        np.broadcast_shapes(*sizes)
    except ValueError:
        why = f"the index tensors have shapes {' and '.join(map(str, sizes))}, which cannot be stretched to one"
        return why, "give them one length, or an axis of length 1 where one should be repeated: i[:, None]"
    if values is None:
        return None
    try:
        region = np.broadcast_to(np.zeros((), np.bool_), shape)[tuple(plain)].shape
    except (IndexError, ValueError):
        return None  # it is an int or a slice: `check_index` has words for these
    return (
        f"the index names a region {region}, but a tensor {values} cannot be stretched to it",
        "give it that shape, or axes of length 1",
    )
