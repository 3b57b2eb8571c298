"""Reading and writing along one axis, or by masks: PyTorch's names for what `index` does."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from .. import backends
from ..backends.cpu import ends
from ..core.above import above
from ..core.base import TensorBase
from ..errors import ArgumentError, DeviceError, DtypeError, IndexRangeError, ShapeError
from ..inputs.arguments import as_tensor, axis, beyond, plain_index, reading
from ..inputs.kinds import explain_all
from .arithmetic import mul
from .convert import cast, clone, contiguous
from .index import along, gather_op, getitem, put, put_add, read
from .movement import expand_op, permute_op, reshape_op


def gather(input: Any, dim: int, index: Any) -> Any:
    """``input`` read along ``dim``.

    ``out[i][j] = input[index[i][j]][j]`` for ``dim=0``, ``input[i][index[i][j]]`` for ``dim=1``. ``index`` has as many
    axes as ``input``, and is no longer than it except along ``dim``; the result has the shape of ``index``. Raises
    `ShapeError` for other shapes, and `IndexRangeError` for a position that does not exist. Positions count from 0.

    >>> import tinygrad_edu as tg
    >>> scores = tg.tensor([[0.1, 0.7, 0.2], [0.5, 0.3, 0.2]])
    >>> scores.gather(1, tg.tensor([[1], [0]]))
    tensor([[0.7000],
            [0.5000]])
    """
    x, dim, index = _along_one("gather", input, dim, index)
    if not index.array.size:  # then PyTorch does not check the shape, or the dtype
        return getitem(reshape_op(x, shape=(-1,)), index=(np.zeros(index.shape, np.int64),), copies=True)
    _inside(f"gather(dim={dim})", index, _row(x)[dim], dim)
    return gather_op(x, index, dim=dim)


def take_along_dim(input: Any, indices: Any, dim: int | None = None) -> Any:
    """`gather` with ``input`` and ``indices`` broadcast to each other, except along ``dim``.

    Without ``dim``, both are flattened. Negative positions count from the end. Raises as `gather` does.
    """
    x, indices = as_tensor(input), _positions("take_along_dim", as_tensor(indices))
    if dim is None:
        x, indices, dim = reshape_op(x, shape=(-1,)), reshape_op(indices, shape=(-1,)), 0
    dim = axis(x, dim, x.array.ndim)
    if x.array.ndim != indices.array.ndim:
        raise _unequal_axes("take_along_dim", x, indices)
    try:
        others = np.broadcast_shapes(_without(x.shape, dim), _without(indices.shape, dim))
    except ValueError:
        why = "apart from that axis, their shapes cannot be stretched to each other"
        raise _shapes("take_along_dim", x, dim, indices, why, "make those axes equal, or 1") from None
    _inside(f"take_along_dim(dim={dim})", indices, x.shape[dim], dim, negative=True)
    grown = [(*others[:dim], one.shape[dim], *others[dim:]) for one in (x, indices)]
    x, indices = (
        one if tuple(one.shape) == shape else expand_op(one, shape=shape)
        for one, shape in zip((x, indices), grown, strict=True)
    )
    return gather_op(x, indices, dim=dim)


def scatter(input: Any, dim: int, index: Any, src: Any = None, *, value: Any = None, reduce: str | None = None) -> Any:
    """A copy of ``input`` with ``src`` written along ``dim``: ``out[index[i][j]][j] = src[i][j]`` for ``dim=0``.

    ``src`` is a tensor of the same dtype, at least as large as ``index``, or a number. Of several elements written to
    one place the last stays; with ``reduce="add"`` or ``"multiply"`` they are combined. Raises as `gather` does.

    >>> import tinygrad_edu as tg
    >>> tg.zeros(2, 3).scatter(1, tg.tensor([[2], [0]]), 1.0)  # one-hot rows
    tensor([[0., 0., 1.],
            [1., 0., 0.]])
    """
    if reduce not in (None, "add", "multiply"):
        why = "elements are written, or combined with 'add' or 'multiply'"
        raise ArgumentError(f"scatter with reduce={reduce!r}", why, "use one of these, or leave reduce out")
    if (src is None) == (value is None):
        why, mend = "it writes either a tensor (src) or a number (value)", "give one of them"
        raise DtypeError("scatter", why, mend)
    return _scatter("scatter", input, dim, index, value if src is None else src, reduce)


def scatter_add(input: Any, dim: int, index: Any, src: Any) -> Any:
    """A copy of ``input`` with ``src`` added along ``dim``, even several to one place: the adjoint of `gather`.

    ``src`` is a tensor of the same dtype, at least as large as ``index``. Raises as `gather` does.
    """
    return _scatter("scatter_add", input, dim, index, src if isinstance(src, TensorBase) else as_tensor(src), "add")


def _scatter(name: str, x: Any, dim: int, index: Any, src: Any, reduce: str | None) -> Any:
    x, dim, index = _along_one(name, x, dim, index)
    x = contiguous(x)
    if not index.array.size:
        return clone(x)
    if not x.array.ndim:
        return _only(_scatter(name, _vector(x), dim, _vector(index), src, reduce))
    index = _vector(index)
    _inside(f"{name}(dim={dim})", index, x.shape[dim], dim)
    if isinstance(src, (TensorBase, np.ndarray)):
        src = _vector(_like(name, x, as_tensor(src)))
        if src.array.ndim != index.array.ndim:
            raise _unequal_axes(name, src, index)
        if any(have < want for have, want in zip(src.shape, index.shape, strict=True)):
            why = f"src has shape {tuple(src.shape)}, but each element of index needs one of src"
            raise _shapes(name, x, dim, index, why, "make index no larger than src")
        if tuple(src.shape) != tuple(index.shape):
            src = getitem(src, index=tuple(slice(0, size) for size in index.shape))
    else:
        src = _number(x, src)
    world = backends.of(index.array)
    where = along(world.xp, world.xp.copy(index.array), dim)
    if reduce == "multiply":
        return _put_multiply(x, where, src)
    return (put_add if reduce == "add" else put)(x, src, index=where)


def _put_multiply(x: Any, where: tuple[Any, ...], src: Any) -> Any:
    """``x`` multiplied by ``src`` at ``where``: first by the first element for each place, then by the second, …"""
    places = [np.asarray(backends.of(part).to_numpy(part)) for part in where]
    flat = np.ravel_multi_index(tuple(np.broadcast_arrays(*places)), x.shape).reshape(-1)
    order = np.argsort(flat, kind="stable")
    starts = np.searchsorted(flat[order], flat[order])
    turn = np.arange(flat.size) - starts
    for number in range(int(turn.max()) + 1):
        now = order[turn == number]
        index = tuple(np.unravel_index(flat[now], x.shape))
        factor = getitem(reshape_op(src, shape=(-1,)), index=(now,)) if src.array.ndim else src
        x = put(x, mul(getitem(x, index=index), factor), index=index)
    return x


def index_select(input: Any, dim: int, index: Any) -> Any:
    """The slices of ``input`` at ``index``, a vector of positions along ``dim``; always a copy.

    Raises `IndexRangeError` for a position that does not exist. Positions count from 0.
    """
    x, dim, index = _slices("index_select", input, dim, index)
    if not x.array.ndim:
        if index.array.size != 1:
            why = f"a 0-d tensor has one element, but index names {index.array.size}"
            raise _shapes("index_select", x, dim, index, why, "reshape it to (1,) first")
        return getitem(reshape_op(x, shape=(1,)), index=(np.zeros((), np.int64),))
    return getitem(x, index=_at(dim, index), copies=True)


def index_add(input: Any, dim: int, index: Any, source: Any, *, alpha: Any = 1) -> Any:
    """A copy of ``input`` with ``alpha * source`` added to its slices at ``index`` along ``dim``, repeated ones too.

    ``source`` has the dtype of ``input``, and its shape except along ``dim``, where it is as long as ``index``. Raises
    `ShapeError` for another shape, `IndexRangeError` for a position that does not exist.
    """
    x, dim, index = _slices("index_add", input, dim, index)
    source = _like("index_add", x, as_tensor(source))
    _one_each("index_add", x, dim, index, source)
    if alpha != 1:
        product = mul(source, alpha)
        if product.dtype.kind == "f" and x.dtype.kind in "iu":
            why, mend = f"{x.dtype} holds no fractions", "use an integer, or x.float()"
            raise DtypeError(f"index_add with alpha={alpha!r} on a tensor of {x.dtype}", why, mend)
        source = product if product.dtype == x.dtype else cast(product, dtype=x.dtype)
    return put_add(contiguous(x), source, index=_at(dim, index) if x.array.ndim else (Ellipsis,))


def index_copy(input: Any, dim: int, index: Any, source: Any) -> Any:
    """A copy of ``input`` with its slices at ``index`` along ``dim`` replaced by those of ``source``.

    Of several slices for one position, the last stays. Raises as `index_add` does.
    """
    x, dim, index = _slices("index_copy", input, dim, index)
    source = _like("index_copy", x, as_tensor(source))
    if not x.array.ndim and source.array.size == index.array.size:
        return put(x, getitem(reshape_op(source, shape=(-1,)), index=(-1, Ellipsis)), index=(Ellipsis,))
    _one_each("index_copy", x, dim, index, source)
    return put(contiguous(x), source, index=_at(dim, index))


def index_fill(input: Any, dim: int, index: Any, value: Any) -> Any:
    """A copy of ``input`` with its slices at ``index`` along ``dim`` filled with one number.

    Negative positions count from the end. ``value`` may be a 0-d tensor. Raises as `index_select` does.
    """
    x, dim, index = _slices("index_fill", input, dim, index, negative=True)
    value = _one_number("index_fill", x, value)
    return put(x, value, index=_at(dim, index) if x.array.ndim else (Ellipsis,))


def fill(input: Any, value: Any) -> Any:
    """A tensor like ``input`` with one number everywhere. ``value`` may be a 0-d tensor, which gets the gradient."""
    x = as_tensor(input)
    return put(x, _one_number("fill", x, value), index=(Ellipsis,))


def _one_number(name: str, x: Any, value: Any) -> Any:
    value = value if isinstance(value, TensorBase) else _number(x, value)
    if value.array.ndim:
        why, mend = f"it fills with one number, but value has shape {tuple(value.shape)}", "use index_copy, or copy_"
        raise ShapeError(f"{name} with a tensor", why, mend)
    return value if value.dtype == x.dtype else cast(value, dtype=x.dtype)


def index_put(input: Any, indices: tuple[Any, ...], values: Any, accumulate: bool = False) -> Any:
    """A copy of ``input`` with ``input[indices] = values``, or with all of ``values`` added there if ``accumulate``.

    ``indices`` is a tuple of integer or bool tensors, as between the brackets of ``input[i, j]``. ``values`` has the
    dtype of ``input`` and is broadcast to the places that they name. Raises as ``input[indices]`` does.
    """
    if not isinstance(indices, (tuple, list)):
        why, mend = "indices is a tuple, one tensor for each axis", "put it into one: (index,)"
        raise DtypeError(f"index_put with indices={type(indices).__name__}", why, mend)
    x = as_tensor(input)
    values = _like("index_put", x, values) if isinstance(values, TensorBase) else _number(x, values)
    first, then = plain_index(tuple(indices), x)
    if first is not None:
        why = "a slice between ints and tensors makes their order ambiguous"
        raise IndexRangeError("index_put", why, "write x[…] = values instead")
    try:
        return (put_add if accumulate else put)(x, values, index=then)
    except (IndexRangeError, ShapeError) as error:
        tried = f"index_put into {reading(tuple(indices), x.shape)}"
        raise type(error)(tried, error.why, error.mend, error.line) from error.__cause__


def masked_select(input: Any, mask: Any) -> Any:
    """The elements of ``input`` where ``mask`` holds, in a row; both are broadcast to one shape. Always a copy.

    Raises `DtypeError` for a mask that is not bool.
    """
    x, mask = as_tensor(input), as_tensor(mask)
    if mask.dtype != np.bool_:
        why, mend = f"the mask is {mask.dtype}", "make it by comparing, or convert it: mask.bool()"
        raise DtypeError("masked_select", why, mend)
    try:
        shape = np.broadcast_shapes(x.shape, mask.shape)
    except ValueError:
        tried = f"masked_select on a tensor {tuple(x.shape)} with a mask {tuple(mask.shape)}"
        why, mend = "they cannot be stretched to one shape", "make the mask by comparing this tensor itself"
        raise ShapeError(tried, why, mend) from None
    x, mask = (one if tuple(one.shape) == shape else expand_op(one, shape=shape) for one in (x, mask))
    return read(x, mask)


def nonzero(input: Any, *, as_tuple: bool = False) -> Any:
    """Where ``input`` is not 0.

    The result holds int64 positions (count, ndim), or with ``as_tuple`` one vector per axis, ready as an index. How
    many there are depends on the values, so the host waits for a device that counts them.
    """
    x = as_tensor(input)
    x = reshape_op(x, shape=(1,)) if as_tuple and not x.ndim else x
    found = above.wrap(backends.of(x.array).nonzero(x.array))
    return tuple(getitem(found, index=(slice(None), i)) for i in range(found.shape[1])) if as_tuple else found


def argwhere(input: Any) -> Any:
    """Where ``input`` is not 0: `nonzero` without its tuple form."""
    return nonzero(input)


def meshgrid(*tensors: Any, indexing: Literal["ij", "xy"] = "ij") -> tuple[Any, ...]:
    """Vectors as the coordinates of a grid: each is stretched along the axes of the others. Views.

    With ``indexing="ij"`` the first vector runs along the first axis; with ``"xy"`` along the second, as in pictures.
    """
    given = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)) else tensors
    vectors = [_vector(as_tensor(one)) for one in given]
    what = f"meshgrid of {', '.join(f'{tuple(v.shape)} {v.dtype}' for v in vectors) or 'no tensors'}"
    if indexing not in ("ij", "xy"):
        raise ArgumentError(f"meshgrid with indexing={indexing!r}", "the axes come as 'ij' or as 'xy'", "use one")
    if not vectors or any(v.array.ndim != 1 for v in vectors):
        raise ShapeError(what, "each axis of the grid has a vector of coordinates", "pass vectors")
    if len({v.dtype for v in vectors}) > 1:
        raise DtypeError(what, "the coordinates differ in dtype", "convert them to one: y.to(x.dtype)")
    count, shape = len(vectors), tuple(v.shape[0] for v in vectors)
    grids = []
    for i, v in enumerate(vectors):
        row = reshape_op(v, shape=(1,) * i + (-1,) + (1,) * (count - 1 - i))
        grids.append(expand_op(row, shape=shape))
    if indexing == "xy" and count > 1:
        grids = [permute_op(grid, dims=(1, 0, *range(2, count))) for grid in grids]
    return tuple(grids)


# Checks, and small conversions --------------------------------------------------------------------------------------


def _vector(x: Any) -> Any:
    """A 0-d tensor as a vector of one."""
    return x if x.array.ndim else reshape_op(x, shape=(1,))


def _only(vector: Any) -> Any:
    """A vector of one as a 0-d tensor, and no view."""
    return getitem(vector, index=(np.zeros((), np.int64),))


def _row(x: Any) -> tuple[int, ...]:
    return tuple(x.shape) or (1,)


def _without(shape: tuple[int, ...], dim: int) -> tuple[int, ...]:
    return (*shape[:dim], *shape[dim + 1 :])


def _at(dim: int, index: Any) -> tuple[Any, ...]:
    """Positions along one axis, as a full index. A copy: a later write to the tensor must not change backward."""
    positions = backends.of(index.array).xp.copy(_vector(index).array)
    return (*(slice(None),) * dim, positions)


def _number(x: Any, value: Any) -> Any:
    """A number as a tensor with the dtype of ``x``, on its device."""
    return above.as_tensor(value, x.dtype, x.device)


def _positions(name: str, index: Any) -> Any:
    if index.dtype.name not in ("int32", "int64") and index.array.size:
        why = f"positions are integers, but this is {index.dtype}"
        raise DtypeError(f"{name} with an index of dtype {index.dtype}", why, "convert it: index.long()")
    return index


def _along_one(name: str, x: Any, dim: int, index: Any) -> tuple[Any, int, Any]:
    """The checked operands of `gather` and its kin."""
    x, index = as_tensor(x), _positions(name, as_tensor(index))
    dim = axis(x, dim, max(x.array.ndim, 1))
    _same_place(name, x, index)
    if index.array.size:
        if len(_row(x)) != len(_row(index)):
            raise _unequal_axes(name, x, index)
        longer = [i for i, (n, size) in enumerate(zip(_row(index), _row(x), strict=True)) if i != dim and n > size]
        if longer:
            i = longer[0]
            why = f"along axis {i}, index has {index.shape[i]} elements, but the tensor has {x.shape[i]}"
            raise _shapes(name, x, dim, index, why, f"cut the index, or did you mean dim={i}?")
    return x, dim, index


def _slices(name: str, x: Any, dim: int, index: Any, negative: bool = False) -> tuple[Any, int, Any]:
    """The checked operands of `index_select` and its kin: ``index`` is a vector, or a number for one slice."""
    x, index = as_tensor(x), _positions(name, as_tensor(index))
    dim = axis(x, dim, max(x.array.ndim, 1))
    _same_place(name, x, index)
    if index.array.ndim > 1:
        raise _shapes(name, x, dim, index, "index is a vector of positions", "flatten it, or use x[index]")
    _inside(f"{name}(dim={dim})", index, _row(x)[dim], dim, negative)
    return x, dim, index


def _one_each(name: str, x: Any, dim: int, index: Any, source: Any) -> None:
    wanted = tuple(x.shape) and (*x.shape[:dim], index.array.size, *x.shape[dim + 1 :])
    if tuple(source.shape) != wanted or (not wanted and index.array.size != 1):
        why = f"each position gets a slice, so source has shape {wanted}, but this has {tuple(source.shape)}"
        raise _shapes(name, x, dim, index, why, "reshape source, or check dim")


def _like(name: str, x: Any, source: Any) -> Any:
    if source.dtype != x.dtype:
        tried = f"{name} of {source.dtype} into {x.dtype}"
        raise DtypeError(tried, "both must have one dtype", f"convert one of them: source.to('{x.dtype}')")
    return source


def _same_place(name: str, x: Any, index: Any) -> None:
    if x.device != index.device:
        tried = f"{name} on {x.device!r} with an index on {index.device!r}"
        raise DeviceError(tried, "nothing is moved behind your back", f"move it: index.to({x.device!r})")


def _inside(tried: str, index: Any, size: int, dim: int, negative: bool = False) -> None:
    """Refuse positions that do not exist. While they are only being recorded, they cannot be looked at."""
    world = backends.of(index.array)
    if not world.readable or not index.array.size:
        return
    low, high = ends(world.peek(index.array))
    if low < (-size if negative else 0) or high >= size:
        why, mend = beyond(high if high >= size else low, dim, size)
        if not negative and size:
            mend = f"use 0 to {size - 1}" + (": positions count from the front here" if low < 0 else "")
        raise IndexRangeError(tried, why, mend)


def _shapes(name: str, x: Any, dim: int, index: Any, why: str, mend: str) -> ShapeError:
    tried = f"{name}(dim={dim}) of a tensor {tuple(x.shape)} with an index {tuple(index.shape)}"
    return ShapeError(tried, why, mend)


def _unequal_axes(name: str, x: Any, index: Any) -> ShapeError:
    tried = f"{name} of a tensor {tuple(x.shape)} with an index {tuple(index.shape)}"
    return ShapeError(tried, "they differ in their number of axes", "add axes with unsqueeze(), or use x[index]")


explain_all(globals())
