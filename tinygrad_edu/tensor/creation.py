"""New tensors from nothing but a shape, a range or a likeness."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import backends
from ..backends import room
from ..core.above import above
from ..core.base import TensorBase
from ..core.slow import announce
from ..dtypes import as_dtype, scalar_dtype
from ..errors import DtypeError, ShapeError
from ..inputs import arguments
from ..inputs.arguments import as_tensor
from ..inputs.kinds import explain_all
from ..ops.convert import laid
from ..settings import modes

if TYPE_CHECKING:
    from .tensor import Tensor


def zeros(
    *given: Any, size: Any = None, dtype: Any = None, device: str | None = None, requires_grad: bool = False
) -> Tensor:
    """Zeros of the given shape: ``zeros(2, 3)``, ``zeros((2, 3))`` or ``zeros(size=(2, 3))``.

    Raises `ShapeError` for what is not a size.
    """
    return _filled("zeros", arguments.size_of("zeros", given, size), dtype, device, requires_grad)


def ones(
    *given: Any, size: Any = None, dtype: Any = None, device: str | None = None, requires_grad: bool = False
) -> Tensor:
    """Ones of the given shape."""
    return _filled("ones", arguments.size_of("ones", given, size), dtype, device, requires_grad)


def empty(
    *given: Any, size: Any = None, dtype: Any = None, device: str | None = None, requires_grad: bool = False
) -> Tensor:
    """A tensor of the given shape whose elements are whatever the memory held. Write to all of it before you read."""
    return _filled("empty", arguments.size_of("empty", given, size), dtype, device, requires_grad)


def full(
    size: Sequence[int], fill_value: Any, *, dtype: Any = None, device: str | None = None, requires_grad: bool = False
) -> Tensor:
    """One value everywhere; its kind decides the dtype (bool, int64 or the default float)."""
    if not isinstance(size, (tuple, list)):
        why, mend = "its size is a tuple, and the value follows it", f"write full(({size!r},), …)"
        raise ShapeError(f"full({size!r}, …)", why, mend)
    value = arguments.number("full", fill_value)
    dtype = dtype or scalar_dtype(value, as_dtype(modes().dtype))
    return _filled("full", (size,), dtype, device, requires_grad, value)


def _filled(
    make: str, size: tuple[Any, ...], dtype: Any, device: str | None, requires_grad: bool, *value: Any
) -> Tensor:
    dtype = as_dtype(dtype or modes().dtype)
    shape = arguments.new_shape(make, size, dtype.itemsize)
    if value and dtype.kind in "iu" and not (math.isfinite(value[0]) and _holds(dtype, int(value[0]))):
        raise _too_large(make, value[0], dtype)
    return _finish(getattr(backends.get(device or modes().device).xp, make)(shape, *value, dtype), requires_grad)


def arange(
    start: Any = None, end: Any = None, step: Any = 1, *,
    dtype: Any = None, device: str | None = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """The numbers from ``start`` up to, but not including, ``end``: ``arange(end)`` or ``arange(start, end, step)``.

    int64 for integers, else the default float. Raises `ShapeError` for a step of 0, or one that leads away from
    ``end``, and `DtypeError` for numbers that the dtype cannot hold.

    >>> import tinygrad_edu as tg
    >>> tg.arange(5), tg.arange(1, 2, 0.25)
    (tensor([0, 1, 2, 3, 4]), tensor([1.0000, 1.2500, 1.5000, 1.7500]))
    """
    if end is None:
        start, end = 0, start
    start, end, step = (arguments.number("arange", 0 if n is None else n) for n in (start, end, step))
    tried = f"arange({start}, {end}, {step})"
    kind = as_dtype(dtype or ("int64" if not any(isinstance(n, float) for n in (start, end, step)) else modes().dtype))
    if kind == np.bool_:
        raise DtypeError(f"{tried} of bools", "there are only two of them", "compare an arange of integers")
    if not all(map(math.isfinite, (start, end, step))):
        raise ShapeError(tried, "it would never end", "use finite numbers")
    whole = kind.kind in "iu"
    if whole:
        start, step = int(start), int(step)
    if kind == np.int64:
        end = int(end)
    if not step:
        why = f"a step of 0{f' (the step, as {kind})' if whole else ''} leads nowhere"
        raise ShapeError(tried, why, "use a step that is not 0")
    if (end - start) * step < 0:
        why, mend = "the step leads away from the end", f"use a step of {-step}, or swap start and end"
        raise ShapeError(tried, why, mend)
    exact = isinstance(end, int) and isinstance(start, int) and isinstance(step, int)
    steps = 0 if exact else (end - start) / step
    if math.isinf(steps):
        raise ShapeError(tried, "it would never end: the step is too small for this distance", "use a larger step")
    count = -((start - end) // step) if exact else math.ceil(steps)
    room.check(tried, (count,), 8)
    if whole and not _holds(np.dtype(np.int64), step):
        raise _too_large(tried, step, np.dtype(np.int64))
    if whole and count and not all(_holds(kind, n) for n in (start, start + step * (count - 1))):
        raise _too_large(tried, start + step * (count - 1), kind)
    places = np.arange(count)
    return _on(start + step * (places if whole else places.astype(np.float64)), kind, device, requires_grad)


def linspace(
    start: Any, end: Any, steps: int, *, dtype: Any = None, device: str | None = None, requires_grad: bool = False
) -> Tensor:
    """``steps`` numbers from ``start`` to ``end``, both included, equally far apart. Integers are rounded towards 0.

    Raises `ShapeError` for a negative number of steps.
    """
    values, kind = _steps("linspace", start, end, steps, dtype)
    return _on(values if kind.kind not in "iu" else np.trunc(values), kind, device, requires_grad)


def logspace(
    start: Any, end: Any, steps: int, base: float = 10.0, *,
    dtype: Any = None, device: str | None = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """``base`` to the power of each number of `linspace`: from ``base**start`` to ``base**end``, in equal ratios.

    Integers are rounded towards 0. Raises `ShapeError` for a negative number of steps, `DtypeError` for numbers that
    the dtype does not hold.

    >>> import tinygrad_edu as tg
    >>> tg.logspace(0, 2, 3)
    tensor([  1.,  10., 100.])
    """
    powers, kind = _steps("logspace", start, end, steps, dtype)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        values = np.power(float(arguments.number("logspace", base, "base")), powers)
    if kind.kind in "iu":
        values = np.trunc(values)
        for value in values.tolist():
            if not (math.isfinite(value) and _holds(kind, int(value))):
                raise _too_large("logspace", value, kind)
    return _on(values, kind, device, requires_grad)


def _steps(make: str, start: Any, end: Any, steps: Any, dtype: Any) -> tuple[Any, np.dtype[Any]]:
    """Numbers equally far apart in float64, and the dtype that they are to have."""
    start, end = arguments.number(make, start), arguments.number(make, end)
    tried = f"{make}({start}, {end}, {steps!r})"
    try:
        count = operator.index(steps)
    except TypeError:
        raise DtypeError(tried, "steps is the number of values", "use an integer") from None
    if count < 0:
        raise ShapeError(tried, "there cannot be fewer than 0 values", "use a step count from 0 up")
    room.check(tried, (count,), 8)
    kind = as_dtype(dtype or modes().dtype)
    if kind == np.bool_:
        raise DtypeError(f"{tried} of bools", "there are only two of them", f"compare a {make} of floats")
    if kind.kind in "iu":
        start, end = int(start), int(end)
    # From both ends towards the middle, so that it is symmetric and ends exactly at `end`.
    places = np.arange(count)
    step = (end - start) / (count - 1) if count > 1 else 0.0
    return np.where(places < count / 2, start + step * places, end - step * (count - 1 - places)), kind


def eye(
    n: int, m: int | None = None, *, dtype: Any = None, device: str | None = None, requires_grad: bool = False
) -> Tensor:
    """Ones on the diagonal of an ``n`` by ``m`` matrix, square by default, and zeros elsewhere."""
    rows, columns = arguments.new_shape("eye", (n, n if m is None else m), 8)
    return _on(np.eye(rows, columns), as_dtype(dtype or modes().dtype), device, requires_grad)


def zeros_like(input: Any, *, dtype: Any = None, device: str | None = None, requires_grad: bool = False) -> Tensor:
    """Zeros with the shape, dtype and device of ``input``, a tensor or an array, unless others are named."""
    return _like("zeros_like", input, dtype, device, requires_grad)


def ones_like(input: Any, *, dtype: Any = None, device: str | None = None, requires_grad: bool = False) -> Tensor:
    """Ones with the shape, dtype and device of ``input``, a tensor or an array, unless others are named."""
    x = as_tensor(input)
    made = laid(x, _like("ones_like", x, dtype, device, False))
    return made.requires_grad_() if requires_grad else made


def empty_like(
    input: Any, *, dtype: Any = None, device: str | None = None, requires_grad: bool = False, memory_format: Any = None
) -> Tensor:
    """A tensor like one from `empty`, with the shape, dtype and device of ``input`` unless others are named.

    Its axes lie in memory in the same order, unless ``memory_format`` says otherwise; see `formats`.
    """
    x = as_tensor(input)
    made = empty(tuple(x.shape), dtype=dtype or x.dtype, device=device or x.device)
    if memory_format is None:
        made = laid(x, made)
    else:
        from ..ops import formats  # which few programs need

        same = memory_format is formats.preserve_format
        made = laid(x, made) if same else made.contiguous(memory_format=memory_format)
    return made.requires_grad_() if requires_grad else made


def full_like(
    input: Any, fill_value: Any, *, dtype: Any = None, device: str | None = None, requires_grad: bool = False
) -> Tensor:
    """One value everywhere, with the shape, dtype and device of ``input`` unless others are named."""
    x = as_tensor(input)
    made = laid(x, full(tuple(x.shape), fill_value, dtype=dtype or x.dtype, device=device or x.device))
    return made.requires_grad_() if requires_grad else made


def _like(make: str, x: Any, dtype: Any, device: str | None, requires_grad: bool) -> Tensor:
    array = x.array if isinstance(x, TensorBase) else as_tensor(x).array
    made = _finish(getattr(backends.of(array).xp, make)(array), False).to(dtype=dtype, device=device)
    return made.requires_grad_() if requires_grad else made


def _on(values: Any, dtype: Any, device: str | None, requires_grad: bool) -> Tensor:
    """Values from the host, on the device that was asked for."""
    array = np.asarray(values, dtype=dtype)
    return _finish(backends.get(device or modes().device).from_numpy(array), requires_grad)


def _finish(array: Any, requires_grad: bool) -> Tensor:
    announce(modes().observers, array, "created")
    result = above.wrap(array)
    return result.requires_grad_() if requires_grad else result


def _holds(dtype: Any, value: int) -> bool:
    limits = np.iinfo(dtype)
    return bool(limits.min <= value <= limits.max)


def _too_large(tried: str, value: Any, dtype: Any) -> DtypeError:
    limits = np.iinfo(dtype)
    why = f"{dtype} holds {limits.min} to {limits.max}, and {value} is not among them"
    return DtypeError(tried, why, "use a larger dtype")


explain_all(globals())
