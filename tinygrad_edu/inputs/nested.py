"""Nested lists as arrays: numbers, with NumPy's scalars and arrays and one-element tensors among them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import backends, dtypes
from ..backends import room
from ..core.base import TensorBase
from ..dtypes import NAMES, as_dtype, is_float, scalar_dtype
from ..errors import AutogradError, DtypeError, ShapeError
from ..settings import modes

_DEEPEST = 64  # axes that an array can have
_FEW = 1 << 20
_NUMBERS = {bool, int, float}
_BROAD = {"b": np.bool_, "i": np.int64, "u": np.int64}  # a dtype that holds all numbers of a kind; float64 the others
_RAGGED = "its rows differ in length or depth", "pad the rows to one length, or keep a list of tensors"


def array_of(data: Any, tried: str) -> tuple[np.ndarray[Any, Any], np.dtype[Any]]:
    """The numbers in a list, tuple or range, in a dtype that holds them all, and the dtype that PyTorch gives them.

    That is the one in which the elements meet: Python's numbers bring theirs (bool, int64 and the default float), and
    so do NumPy's scalars, arrays and tensors. A tensor stands for its one element, whatever its shape.
    """
    shape = _shape(data, tried)
    if math.prod(shape) > _FEW:  # smaller ones fit, as the lists themselves did
        room.check(tried, shape, 8)
    kinds: set[Any] = set()
    rows = _row(data, shape, kinds, tried)
    broad, found = _meeting(kinds)
    try:
        return np.empty(shape, broad) if 0 in shape else np.array(rows, broad), found
    except OverflowError:
        why, mend = "it holds an integer that does not fit into 64 bits", "write it as a float: 1e30"
        raise DtypeError(tried, why, mend) from None


def _meeting(kinds: set[Any]) -> tuple[Any, np.dtype[Any]]:
    """A dtype that holds all numbers of these kinds, and the one in which they meet."""
    default = as_dtype(modes().dtype)
    if float in kinds and kinds <= _NUMBERS:
        return np.float64, default
    met = [scalar_dtype(kind(), default) if isinstance(kind, type) else kind for kind in kinds or {default}]
    found = met[0]
    for dtype in met[1:]:
        found = dtypes.promote(modes().promotion, found, dtype)
    return np.float64 if any(map(is_float, met)) else _BROAD[found.kind], found


def _is_row(item: Any) -> bool:
    return isinstance(item, (list, tuple, range)) or (isinstance(item, np.ndarray) and item.ndim > 0)


def _shape(data: Any, tried: str) -> tuple[int, ...]:
    """The lengths along the first elements: every other row must have the same."""
    shape: list[int] = []
    while _is_row(data):
        if len(shape) == _DEEPEST:
            raise ShapeError(tried, f"it nests deeper than {_DEEPEST} levels, or holds itself", "make it flatter")
        shape.append(len(data))
        if not len(data):
            break
        data = data[0]
    return tuple(shape)


def _row(row: Any, shape: tuple[int, ...], kinds: set[Any], tried: str) -> Any:
    """A row of ``shape`` with nothing but Python's numbers and arrays in it. What it holds is noted in ``kinds``."""
    if not _is_row(row) or len(row) != shape[0]:
        raise ShapeError(tried, *_RAGGED)
    if isinstance(row, np.ndarray):
        kinds.add(_known(row, tried))
        if row.shape != shape and not (0 in shape and row.shape[: len(shape)] == shape):
            raise ShapeError(tried, *_RAGGED)
        return row.astype(np.float32) if row.dtype.kind == "V" else row
    if len(shape) > 1:
        return [_row(inner, shape[1:], kinds, tried) for inner in row]
    found = set(map(type, row))
    if found <= _NUMBERS:
        kinds |= found or {float}
        return row
    return [_element(item, kinds, tried) for item in row]


def _element(item: Any, kinds: set[Any], tried: str) -> Any:
    """One number."""
    kind = type(item)
    if kind in _NUMBERS:
        kinds.add(kind)
        return item
    if _is_row(item):
        raise ShapeError(tried, *_RAGGED)
    if isinstance(item, TensorBase):
        item = element_of(item)
    if isinstance(item, (np.ndarray, np.generic)):
        kinds.add(_known(item, tried))
        return item.item()
    if isinstance(item, (bool, int, float)):  # an IntEnum, say
        kinds.add(next(base for base in (bool, int, float) if isinstance(item, base)))
        return item
    known = isinstance(item, (str, bytes, complex))
    raise refuse(tried, item, np.asarray(item).dtype if known else np.dtype(object))


def element_of(tensor: TensorBase) -> Any:
    """The one element of a tensor in a list, as an array. A tensor with a history is refused: that would be lost."""
    if tensor.requires_grad and modes().grad:
        raise AutogradError(
            "a tensor from a list with tensors that require grad",
            "it would hold their values and forget how they were computed",
            "join them with stack([…]) or cat([…]), or detach() them first",
        )
    if tensor.array.size != 1:
        why = f"a tensor {tuple(tensor.array.shape)} is among its numbers, and only a single element is a number"
        raise ShapeError("a tensor from a list with tensors", why, "join them with stack([…]) or cat([…])")
    return np.asarray(backends.of(tensor.array).to_numpy(tensor.array))


def _known(values: Any, tried: str) -> np.dtype[Any]:
    """The dtype of an array or a scalar of NumPy's, if the engine computes with it."""
    if values.dtype.name not in NAMES:
        raise refuse(tried, values.item(0) if values.size else values, values.dtype)
    return as_dtype(values.dtype)


def refuse(tried: str, item: Any, dtype: np.dtype[Any]) -> DtypeError:
    """The error for an ``item`` that is not a number: NumPy keeps it as ``dtype``."""
    item = item.item() if isinstance(item, np.generic) else item
    known = item is None or isinstance(item, (str, bytes, complex))
    holding = repr(item)[:60] if known else type(item).__name__  # no repr with an address in it
    why = f"it has dtype {dtype}, but tensors hold bools, integers and floats"
    mend = "convert it to numbers first: labels to class indices, for example"
    return DtypeError(f"{tried} holding {holding}", why, mend)
