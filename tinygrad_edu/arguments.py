"""What users hand in, in the engine's terms: data as arrays, dims counted from 0, indices without tensors; and what
print shows in return."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import backends
from .core.base import TensorBase
from .core.dispatch import WORLD, here
from .dtypes import NAMES, as_dtype
from .errors import AutogradError, DtypeError, ShapeError
from .settings import modes


def numbers(data: Any, dtype: Any, copy: bool) -> np.ndarray[Any, Any]:
    """``data`` as a NumPy array of a dtype that the engine computes with."""
    if isinstance(data, TensorBase):
        data = backends.of(data.array).to_numpy(data.array)
    wanted = None if dtype is None else as_dtype(dtype)
    tried = f"a tensor from {type(data).__name__}"
    if not isinstance(data, (np.ndarray, np.generic)):
        data = _plain(data)
        try:
            with_floats = np.array(data)
        except (ValueError, TypeError) as error:
            why = "its rows differ in length or depth" if "inhomogeneous" in str(error) else str(error)
            raise ShapeError(tried, why, "pad the rows to one length, or keep a list of tensors", here()) from None
        if wanted is None and (with_floats.dtype == np.float64 or not with_floats.size):
            wanted = as_dtype(modes().dtype)
        data, copy = with_floats, False
    if wanted is None and not data.dtype.isnative:
        wanted = as_dtype(data.dtype)
    if data.dtype.name not in NAMES:
        first = data.item(0) if data.size else None
        known = first is None or isinstance(first, (str, bytes, complex, int))
        example = repr(first) if known else type(first).__name__  # no repr with an address in it
        raise DtypeError(
            f"{tried} holding {example}",
            f"it has dtype {data.dtype}, and tensors hold bools, integers and floats",
            "convert it to numbers first: labels to class indices, for example",
            here(),
        )
    return np.array(data, dtype=wanted, copy=True) if copy else np.asarray(data, dtype=wanted)


def _plain(data: Any) -> Any:
    """Nested sequences with any tensors in them as numbers. One with a history is refused: it would be lost unseen."""
    if isinstance(data, TensorBase):
        if data.requires_grad and modes().grad:
            raise AutogradError(
                "a tensor from a list with tensors that require grad",
                "it would hold their values and forget how they were computed",
                "join them with stack([…]) or cat([…]), or detach() them first",
                here(),
            )
        return backends.of(data.array).to_numpy(data.array)
    return [_plain(item) for item in data] if isinstance(data, (list, tuple, range)) else data


def as_tensor(value: Any) -> Any:
    """``value`` itself if it is a tensor, else a tensor of it: for functions that need to know its shape."""
    return value if isinstance(value, TensorBase) else WORLD["as_tensor"](value)


def dims(x: Any, dim: Any) -> Any:
    """``dim`` counted from 0. Raises `ShapeError` for an axis that does not exist."""
    if dim is None:
        return None
    if isinstance(dim, (tuple, list)):
        return tuple(dims(x, one) for one in dim)
    ndim = x.array.ndim
    found = axis(x, dim, max(ndim, 1))  # a 0-d tensor counts as having one axis here, as in PyTorch
    return found if ndim else None


def axis(x: Any, dim: Any, count: int) -> int:
    """``dim`` counted from 0, of ``count`` axes."""
    if not isinstance(dim, (int, np.integer)):
        what = f"dim={dim!r} of a tensor {tuple(x.shape)}"
        raise DtypeError(what, "a dim is an integer", "count the axes from 0, or from -1 at the end", here())
    if not -count <= dim < count:
        ndim = x.array.ndim
        raise ShapeError(
            f"dim={dim} of a tensor {tuple(x.shape)}",
            f"it has {ndim} ax{'i' if ndim == 1 else 'e'}s, so dim lies between {-count} and {count - 1}",
            "count the axes from 0, or from -1 at the end",
            here(),
        )
    return int(dim) % count


def sizes(given: tuple[Any, ...]) -> tuple[int, ...]:
    """``(2, 3)`` of either ``f(2, 3)`` or ``f((2, 3))``."""
    if len(given) == 1 and isinstance(given[0], (tuple, list)):
        return tuple(given[0])
    return tuple(given)


def plain_index(index: Any, x: Any) -> Any:
    """An index in NumPy's terms. One that names a single element gets ``...``, so that the result is a view too."""
    parts = index if isinstance(index, tuple) else (index,)
    plain = tuple(_index_part(part) for part in parts)
    if all(isinstance(part, int) for part in plain) and len(plain) == x.array.ndim:
        plain = (*plain, Ellipsis)
    return plain


def _index_part(part: Any) -> Any:
    if isinstance(part, TensorBase):
        return backends.of(part.array).xp.copy(part.array)  # what is done to it later must not change backward
    if isinstance(part, np.integer):
        return int(part)
    return np.array(part) if isinstance(part, (list, np.ndarray)) else part


def describe(x: Any) -> str:
    """What ``print`` shows: values, and whatever is not the default."""
    values = backends.of(x.array).to_numpy(x.array)
    body = np.array2string(np.asarray(values), separator=", ", prefix="tensor(", precision=4, threshold=1000)
    notes = []
    if x.dtype.name not in (modes().dtype, "int64", "bool"):
        notes.append(f"dtype={x.dtype.name}")
    if x.device != "cpu":
        notes.append(f"device={x.device!r}")
    if x.requires_grad:
        notes.append("requires_grad=True" if x.grad_fn is None else f"grad_fn={x.grad_fn!r}")
    return f"tensor({', '.join([body, *notes])})"
