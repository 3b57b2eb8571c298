"""What users hand in, in the engine's terms: data as arrays, dims counted from 0, indices without tensors."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from .. import backends
from ..backends import room
from ..backends.cpu import ends
from ..common.wording import shown
from ..core.above import above
from ..core.base import TensorBase
from ..dtypes import NAMES, as_dtype
from ..errors import DtypeError, EduError, IndexRangeError, ShapeError
from ..settings import modes
from . import nested
from .kinds import kind_of
from .outside import outside


def numbers(data: Any, dtype: Any, copy: bool) -> np.ndarray[Any, Any]:
    """``data`` as a NumPy array of a dtype that the engine computes with."""
    if isinstance(data, TensorBase):
        data = backends.of(data.array).to_numpy(data.array)
    if data is None:
        why, mend = (
            "None is what a function without a return gives",
            "end the function, or a forward, with return …",
        )
        raise DtypeError("a tensor from None", why, mend)
    wanted = None if dtype is None else as_dtype(dtype)
    tried = f"a tensor from {type(data).__name__}"
    given = isinstance(data, (np.ndarray, np.generic))
    if isinstance(data, (list, tuple, range)):
        data, found = nested.array_of(data, tried)
        wanted, copy = wanted or found, False
    elif not given:
        try:
            data = np.array(data)
        except (ValueError, TypeError) as error:
            raise DtypeError(tried, str(error), "pass numbers, or a list of them") from None
        if wanted is None and data.dtype == np.float64:
            wanted = as_dtype(modes().dtype)
        copy = False
    if data.dtype.name not in NAMES:
        strange = (item for item in data.flat if not isinstance(item, (int, float)))
        raise nested.refuse(tried, next(strange, data), data.dtype)
    if wanted is None:
        wanted = as_dtype(data.dtype)
    elif wanted.kind in "iu" and not given and data.dtype != wanted:
        _must_fit(tried, data, wanted)
    return np.array(data, dtype=wanted, copy=True) if copy else np.asarray(data, dtype=wanted)


def _must_fit(tried: str, values: np.ndarray[Any, Any], wanted: np.dtype[Any]) -> None:
    """Refuse numbers that an integer dtype cannot hold: they would turn into others."""
    limits = np.iinfo(wanted)
    below = values < float(limits.max + 1) if values.dtype.kind == "f" else values <= limits.max
    wrong = values[~((values >= limits.min) & below)]
    if wrong.size:
        raise DtypeError(
            f"{tried} holding {wrong.flat[0]}",
            f"{wanted} holds the integers from {limits.min} to {limits.max}",
            "use a wider dtype, such as 'int64'",
        )


def as_tensor(value: Any) -> Any:
    """``value`` itself if it is a tensor, else a tensor of it: for functions that need to know its shape."""
    return value if isinstance(value, TensorBase) else above.as_tensor(value)


def extremes(x: TensorBase) -> tuple[Any, Any] | None:
    """The smallest and the largest element; None where there are none, or while tracing: a replay cannot look again."""
    array = x.array
    backend = backends.of(array)
    if not array.size or not backend.readable:
        found: tuple[Any, Any] | None = outside("extremes", x) if array.size else None
        return found
    # On raw arrays: this is a check, not a step of the model that an observer should see.
    return ends(backend.peek(array))


def dims(x: Any, dim: Any) -> Any:
    """``dim`` counted from 0. Raises `ShapeError` for an axis that does not exist, or that is named twice."""
    if dim is None:
        return None
    if not isinstance(dim, (tuple, list)):
        return one_dim(x, dim)
    found = tuple(axis(x, one, max(x.array.ndim, 1)) for one in dim)
    if len(set(found)) < len(found):
        twice = next(one for one in found if found.count(one) > 1)
        what = f"dim={tuple(dim)} of a tensor {tuple(x.shape)}"
        raise ShapeError(what, f"axis {twice} is named more than once", "name each axis once; -1 is the last")
    return found if x.array.ndim else None


def one_dim(x: Any, dim: Any) -> int | None:
    """A single ``dim`` counted from 0; None for a 0-d tensor, which has one axis here, as in PyTorch."""
    found = axis(x, dim, max(x.array.ndim, 1))
    return found if x.array.ndim else None


def axis(x: Any, dim: Any, count: int) -> int:
    """``dim`` counted from 0, of ``count`` axes."""
    if not isinstance(dim, (int, np.integer)):
        what = f"dim={dim!r} of a tensor {tuple(x.shape)}"
        raise DtypeError(what, "a dim is an integer", "count the axes from 0, or from -1 at the end")
    if not -count <= dim < count:
        ndim = x.array.ndim
        raise ShapeError(
            f"dim={dim} of a tensor {tuple(x.shape)}",
            f"it has {ndim} ax{'i' if ndim == 1 else 'e'}s, so dim lies between {-count} and {count - 1}",
            "count the axes from 0, or from -1 at the end",
        )
    return int(dim) % count


def sizes(given: tuple[Any, ...]) -> tuple[int, ...]:
    """``(2, 3)`` of either ``f(2, 3)`` or ``f((2, 3))``."""
    if len(given) == 1 and isinstance(given[0], (tuple, list)):
        return tuple(given[0])
    return tuple(given)


def size_of(make: str, given: tuple[Any, ...], size: Any) -> tuple[Any, ...]:
    """What `new_shape` takes, of ``f(2, 3)``, ``f((2, 3))`` or ``f(size=(2, 3))``."""
    if size is None:
        return given
    if given:
        tried, why = f"{make}({shown(sizes(given))}, size={shown(size)})", "the size is given twice"
        raise ShapeError(tried, why, "give it once")
    if not isinstance(size, (tuple, list)):
        raise ShapeError(f"{make}(size={shown(size)})", "size= takes a tuple", f"write size=({shown(size)},)")
    return (size,)


_SMALL, _FEW = 1 << 20, 32  # for so many elements and axes there is always room


def new_shape(make: str, given: tuple[Any, ...], itemsize: int = 4) -> tuple[int, ...]:
    """``f(2, 3)`` or ``f((2, 3))`` as ``(2, 3)``.

    Raises `ShapeError` for what is not a size, and `OutOfMemoryError` for more elements than there is room for.
    """
    if not given:
        why, mend = "it was given no size", f"write {make}(3) for a vector, {make}(()) for a single number"
        raise ShapeError(f"{make}()", why, mend)
    shape = sizes(given)
    try:
        found = tuple(map(operator.index, shape))
    except TypeError:
        why, mend = "sizes are integers", "use // where / gave a fraction"
        raise ShapeError(f"{make}({shown(shape)})", why, mend) from None
    if 0 < math.prod(found) < _SMALL and len(found) < _FEW and min(found, default=1) > 0:
        return found  # the usual case
    if any(n < 0 for n in found):
        why, mend = "an axis cannot have fewer than 0 elements", "sizes are integers from 0 up"
        raise ShapeError(f"{make}({shown(shape)})", why, mend)
    room.check(f"{make}({shown(shape)})", found, itemsize)
    return found


def whole(what: str, name: str, value: Any) -> int:
    """An integer, from one or from something that holds one: a NumPy integer, a tensor with a single integer."""
    try:
        if not isinstance(value, bool):
            return operator.index(value)
    except (TypeError, EduError):
        pass
    why = f"{name} is an integer, but this is {kind_of(value)}"
    mend = "use // where / gave a fraction" if isinstance(value, (float, np.floating)) else "give one integer"
    raise DtypeError(f"{what} with {name}={shown(value)}", why, mend)


def number(what: str, value: Any, name: str = "") -> Any:
    """A Python number from one, or from something that holds one: a NumPy scalar, a 0-d tensor."""
    found = value
    if not isinstance(found, (bool, int, float)) and hasattr(found, "item") and getattr(found, "ndim", 0) == 0:
        found = found.item()
    if not isinstance(found, (bool, int, float)):
        why = f"{name or 'it'} takes a number, but this is {type(value).__name__}"
        given = f"{name}=" if name else ""
        raise DtypeError(f"{what} with {given}{shown(value)}", why, "take one element: x[0].item()")
    return found


# What may be in an index ------------------------------------------------------------------------------------------

_BOUNDS = (int, type(None))


def plain_index(index: Any, x: Any) -> tuple[Any, Any]:
    """An index in NumPy's terms, as ``(first, then)``. ``first`` is None unless ints must be taken out in a first step.

    PyTorch takes ints out one by one and looks at tensors last; NumPy counts ints among the tensors. So the two put
    the axes of the result in different places when a slice comes between an int and a tensor.

    Raises `DtypeError` for what is not an index. Whether such an element exists, NumPy will tell; see `check_index`.
    """
    ndim = x.array.ndim
    if type(index) is int:  # one that names a single element gets "...", so that the result is a view too
        return None, (index, Ellipsis) if ndim == 1 else (index,)
    parts, ints = index if isinstance(index, tuple) else (index,), 0
    for part in parts:  # the usual case, kept short
        kind = type(part)
        if kind is int:
            ints += 1
        elif kind is slice:
            if type(part.start) not in _BOUNDS or type(part.stop) not in _BOUNDS or type(part.step) not in _BOUNDS:
                return check_index(index, x)
        elif part is not None and part is not Ellipsis:
            return check_index(index, x)
    return None, (*parts, Ellipsis) if ints == len(parts) == ndim else parts


def check_index(index: Any, x: Any) -> tuple[Any, Any]:
    """`plain_index` of anything, with every part looked at, but not yet the numbers in tensors.

    Raises `IndexRangeError` for an int that is too large, too many indices or a mask of another shape, `DtypeError` for
    what is not an index, `ShapeError` for a step of 0.
    """
    shape = x.array.shape
    parts = index if isinstance(index, tuple) else (index,)
    if isinstance(index, list) and not all(isinstance(part, (int, np.integer, np.bool_, float)) for part in index):
        why = "PyTorch reads a list of lists, tensors or slices as a tuple of indices, and NumPy as one index tensor"
        raise _no_index(DtypeError, parts, shape, why, "say which: x[tuple(index)], or x[tensor(index)]")
    plain, used, basic, ints = [], 0, True, 0
    for part in parts:
        part = _index_part(part, parts, shape)
        plain.append(part)
        if type(part) is int:
            ints += 1
        elif basic and not _is_basic(part):
            basic = False
        used += axes_taken(part)
    rest = len(shape) - used
    _check_places(plain, parts, shape, rest)
    if basic:
        return None, (*plain, Ellipsis) if ints == len(plain) == len(shape) else tuple(plain)
    if not rest:
        plain = [part for part in plain if part is not Ellipsis]  # it stands for no axis, so it separates nothing
    return _ints_first(tuple(plain)) if ints else (None, tuple(plain))


def _is_basic(part: Any) -> bool:
    return part is None or part is Ellipsis or type(part) is int or type(part) is slice


def axes_taken(part: Any) -> int:
    """How many axes of the tensor this part of an index takes up."""
    kind = type(part)
    if kind is int or kind is slice:
        return 1
    if part is None or part is Ellipsis or kind is bool:
        return 0
    return int(part.ndim) if part.dtype == np.bool_ else 1


def _check_places(plain: Any, parts: Any, shape: tuple[int, ...], rest: int) -> None:
    """Each part fits the axis that it stands for; ``...`` stands for ``rest`` axes."""
    if rest < 0:
        why = f"the tensor has {len(shape)} ax{'i' if len(shape) == 1 else 'e'}s, and {len(shape) - rest} are indexed"
        mend = "use item() for the number in a 0-d tensor" if not shape else "leave an index out"
        raise _no_index(IndexRangeError, parts, shape, why, mend)
    at, dots = 0, 0
    for part in plain:
        kind = type(part)
        if kind is int:
            if not -shape[at] <= part < shape[at]:
                raise _no_index(IndexRangeError, parts, shape, *beyond(part, at, shape[at]))
            at += 1
        elif part is Ellipsis:
            dots += 1
            if dots > 1:
                why = "... stands for all axes that are left, so there can be only one"
                raise _no_index(IndexRangeError, parts, shape, why, "write : for each axis instead")
            at += rest
        elif part is not None and kind is not bool:
            count = 1
            if kind is not slice and part.dtype == np.bool_:
                count = part.ndim
                if tuple(part.shape) != shape[at : at + count]:
                    why = f"the mask has shape {tuple(part.shape)}, and those axes have shape {shape[at : at + count]}"
                    raise _no_index(IndexRangeError, parts, shape, why, "make the mask by comparing this tensor itself")
            at += count


def beyond(index: int, axis: int, size: int) -> tuple[str, str]:
    """Why there is no such element, and how to fix it."""
    if not size:
        return f"axis {axis} has no elements, so none has index {index}", "check how the tensor came to be empty"
    return f"axis {axis} has {size} elements, and index {index} is not among them", f"use {-size} to {size - 1}"


def _ints_first(plain: tuple[Any, ...]) -> tuple[Any, Any]:
    """The index in one step, if NumPy puts the axes where PyTorch does, else in two: ints, then all the rest."""
    tensors = [i for i, part in enumerate(plain) if not _is_basic(part)]
    ints = [i for i, part in enumerate(plain) if type(part) is int]
    together = sorted([*tensors, *ints])
    between = plain[tensors[0] : tensors[-1]]
    apart = any(_is_basic(part) and type(part) is not int for part in between)
    if apart or together[-1] - together[0] < len(together):
        return None, plain
    first: list[Any] = []
    for part in plain:
        if part is Ellipsis or type(part) is int:
            first.append(part)
        else:
            first += [slice(None)] * axes_taken(part)
    first += [] if Ellipsis in [part for part in first if type(part) is not int] else [Ellipsis]
    return tuple(first), tuple(part for part in plain if type(part) is not int)


def _index_part(part: Any, parts: Any, shape: tuple[int, ...]) -> Any:
    """An int, a bool, a slice of ints, or a copy of an array: a later write to a tensor must not change backward."""
    if part is None or part is Ellipsis or type(part) is int or type(part) is bool:
        return part
    if type(part) is slice:
        return _plain_slice(part, parts, shape)
    if isinstance(part, TensorBase) or (hasattr(part, "ndim") and not isinstance(part, (np.ndarray, np.generic))):
        array = part.array if isinstance(part, TensorBase) else part  # a device's own array: backward hands those in
        backend, narrow = backends.of(array), array.dtype.itemsize < 4 and array.dtype.kind == "i"
        if narrow and array.ndim:
            why = f"it is {array.dtype}, and PyTorch takes int32, int64 and bool"
            raise _no_index(DtypeError, parts, shape, why, "convert it: x.long()")
        if not array.ndim and backend.readable and array.dtype.kind in "bi":
            return backend.to_numpy(array).item()
        array = backend.xp.copy(array)
    elif isinstance(part, (np.ndarray, np.generic, list, tuple, range)):
        array = _positions_of(part, parts, shape)
        if not array.ndim and array.dtype.kind in "bi":
            return array.item()
    elif hasattr(part, "__index__"):
        return operator.index(part)
    else:
        why = f"an index is made of ints, slices, ..., None and tensors of ints or bools, not of {type(part).__name__}"
        raise _no_index(DtypeError, parts, shape, why, "round it to an int first: x[int(i)]")
    if array.dtype.kind in "bi":
        return array
    if array.dtype == np.uint8:
        why = "PyTorch reads uint8 as a mask, and you may have meant positions"
        raise _no_index(DtypeError, parts, shape, why, "say which: i.bool() for a mask, i.long() for positions")
    why = f"it has dtype {array.dtype}, but positions are integers and masks are bools"
    raise _no_index(DtypeError, parts, shape, why, "convert it: i.long() for positions, x > 0 for a mask")


def _positions_of(part: Any, parts: Any, shape: tuple[int, ...]) -> Any:
    """A list or an array as a new array."""
    try:
        array = np.array(part) if isinstance(part, (np.ndarray, np.generic)) else nested.array_of(part, "an index")[0]
    except ShapeError:
        raise _no_index(DtypeError, parts, shape, "its rows differ in length", "pad them to one length") from None
    except DtypeError as error:
        raise _no_index(DtypeError, parts, shape, error.why, error.mend) from None
    unsigned = array.dtype.kind == "u" and array.dtype.itemsize > 1
    return array.astype(np.int64) if unsigned or (not array.size and not isinstance(part, np.ndarray)) else array


def _plain_slice(part: slice, parts: Any, shape: tuple[int, ...]) -> slice:
    try:
        start, stop, step = (None if n is None else operator.index(n) for n in (part.start, part.stop, part.step))
    except TypeError:
        raise _no_index(DtypeError, parts, shape, "a slice runs from int to int", "round first: x[int(i) :]") from None
    if step == 0:
        raise _no_index(ShapeError, parts, shape, "with a step of 0, a slice stays where it is", "use a step of 1")
    return slice(start, stop, step)


def _no_index(kind: type[EduError], parts: Any, shape: tuple[int, ...], why: str, mend: str) -> EduError:
    return kind(reading(parts, shape), why, mend)


def reading(parts: tuple[Any, ...], shape: tuple[int, ...]) -> str:
    """``x[1:, 7] of a tensor (3, 4)``: what was tried, for errors."""
    return f"x[{', '.join(map(_shown, parts))}] of a tensor {tuple(shape)}"


def _shown(part: Any) -> str:
    if isinstance(part, slice):
        ends = ["" if n is None else str(n) for n in (part.start, part.stop, part.step)]
        return ":".join(ends if ends[2] else ends[:2])
    if isinstance(part, TensorBase):
        part = part.array
    if not hasattr(part, "dtype"):
        return "..." if part is Ellipsis else shown(part, 40)
    kind = "mask" if part.dtype == np.bool_ else f"{part.dtype} tensor"
    known = backends.of(part)
    return str(known.to_numpy(part).tolist()) if known.readable and part.size <= 8 else f"{kind} {tuple(part.shape)}"
