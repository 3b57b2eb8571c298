"""New tensors from nothing but a shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import arguments, backends
from .core.base import TensorBase
from .core.dispatch import here
from .dtypes import as_dtype, scalar_dtype
from .errors import ShapeError
from .settings import modes
from .tensor import Tensor, as_tensor, wrap


def _new(make: str, *args: Any, dtype: Any, device: str | None, requires_grad: bool) -> Tensor:
    xp, dtype = backends.get(device or modes().device).xp, as_dtype(dtype or modes().dtype)
    try:
        result = wrap(getattr(xp, make)(*args, dtype=dtype))
    except (ValueError, TypeError, ZeroDivisionError) as error:
        tried = f"{make}({', '.join(map(repr, args))})"
        raise ShapeError(tried, str(error), "sizes are integers from 0 up", here()) from error
    return result.requires_grad_() if requires_grad else result


def zeros(*size: Any, dtype: Any = None, device: str | None = None, requires_grad: bool = False) -> Tensor:
    """Zeros of the given shape: ``zeros(2, 3)`` or ``zeros((2, 3))``."""
    return _new("zeros", arguments.sizes(size), dtype=dtype, device=device, requires_grad=requires_grad)


def ones(*size: Any, dtype: Any = None, device: str | None = None, requires_grad: bool = False) -> Tensor:
    """Ones of the given shape."""
    return _new("ones", arguments.sizes(size), dtype=dtype, device=device, requires_grad=requires_grad)


def full(
    size: Sequence[int], fill: Any, *, dtype: Any = None, device: str | None = None, requires_grad: bool = False
) -> Tensor:
    """One value everywhere; its kind decides the dtype (bool, int64 or the default float)."""
    fill = fill.item() if hasattr(fill, "item") else fill
    dtype = dtype or scalar_dtype(fill, as_dtype(modes().dtype))
    return _new("full", tuple(size), fill, dtype=dtype, device=device, requires_grad=requires_grad)


def arange(*limits: Any, dtype: Any = None, device: str | None = None, requires_grad: bool = False) -> Tensor:
    """``arange(stop)`` or ``arange(start, stop, step)``: int64 for integers, else the default float."""
    dtype = dtype or ("int64" if all(isinstance(n, int) for n in limits) else modes().dtype)
    return _new("arange", *limits, dtype=dtype, device=device, requires_grad=requires_grad)


def zeros_like(x: Any, *, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """Zeros with the shape, dtype and device of ``x``, a tensor or an array."""
    return _like("zeros_like", x, dtype, requires_grad)


def ones_like(x: Any, *, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """Ones with the shape, dtype and device of ``x``, a tensor or an array."""
    return _like("ones_like", x, dtype, requires_grad)


def _like(make: str, x: Any, dtype: Any, requires_grad: bool) -> Tensor:
    array = x.array if isinstance(x, TensorBase) else as_tensor(x).array
    result = wrap(getattr(backends.of(array).xp, make)(array)).to(dtype)
    return result.requires_grad_() if requires_grad else result
