"""Images and sequences made larger or smaller."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...backends import room
from ...errors import ArgumentError, DtypeError, ShapeError
from ...inputs.arguments import number
from ...inputs.kinds import explain_all
from ...tensor import Tensor, as_tensor

LINEAR = {"linear": 1, "bilinear": 2}  # with the number of axes that each works on


def interpolate(
    input: Any, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
) -> Tensor:  # fmt: skip
    """(N, C, L) or (N, C, H, W) made larger or smaller, to ``size`` or by ``scale_factor``: numbers, or one per axis.

    ``"nearest"`` takes the element at each place, rounded down. ``"linear"``, for sequences, and
    ``"bilinear"``, for images, interpolate linearly between the centres of elements or, with ``align_corners``, between
    elements whose first and last stay at the ends. If ``scale_factor`` does not give a whole size, places are
    ``1 / scale_factor`` apart, or, with ``recompute_scale_factor``, spread over the input.

    Raises `ArgumentError` for PyTorch's other modes, and unless one of size and scale_factor is given; `ShapeError` for
    other numbers of axes.
    """
    x = as_tensor(input)
    tried = f"interpolate({tuple(x.shape)}, size={size}, scale_factor={scale_factor}, mode={mode!r})"
    axes = x.ndim - 2
    if mode not in ("nearest", *LINEAR):
        mend = f"use 'nearest' or {'linear' if axes == 1 else 'bilinear'!r}"
        raise ArgumentError(tried, "there is no such mode here", mend)
    if mode == "nearest" and align_corners is not None:
        why = "only linear modes have corners to align"
        raise ArgumentError(f"{tried} with align_corners", why, "leave it out")
    if (size is None) == (scale_factor is None):
        raise ArgumentError(tried, "the size of the result comes from either size or scale_factor", "give one of them")
    name, given = ("size", size) if scale_factor is None else ("scale_factor", scale_factor)
    parts = tuple(given) if isinstance(given, (tuple, list)) else (given,) * max(axes, 0)
    if axes not in (1, 2) or len(parts) != axes or LINEAR.get(mode, axes) != axes:
        why = "it takes sequences (N, C, L), or images (N, C, H, W), and a size for each axis after the channels"
        raise ShapeError(tried, why, "add the missing axes; 'linear' is for sequences, 'bilinear' for images")
    wanted = [_places(tried, name, part, old) for part, old in zip(parts, x.shape[2:], strict=True)]
    for axis, (old, new) in enumerate(zip(x.shape[2:], wanted, strict=True), 2):
        if new < 1 or not old:
            raise ShapeError(tried, f"axis {axis} has {old} places, and would have {new}", "leave at least 1")
    room.check(tried, (*x.shape[:2], *wanted), 40)
    for axis, (part, new) in enumerate(zip(parts, wanted, strict=True), 2):
        old = x.shape[axis]
        step = old / new if scale_factor is None or recompute_scale_factor else 1 / part
        x = _nearest(x, axis, new, step) if mode == "nearest" else _between(x, axis, new, step, bool(align_corners))
    return x


def _places(tried: str, name: str, given: Any, old: int) -> int:
    """The new number of places of an axis of ``old``."""
    value = number(tried, given, name)
    if name == "size" and not isinstance(value, int):
        raise DtypeError(tried, f"size must be a whole number, but this is {value!r}", "use // where / gave a fraction")
    if not math.isfinite(value):
        raise ArgumentError(tried, f"{name} must be finite, but this is {value!r}", "use 2, for example")
    return int(old * value) if name == "scale_factor" else int(value)


def _nearest(x: Tensor, axis: int, new: int, step: float) -> Tensor:
    old = x.shape[axis]
    if new * step == old and new % old == 0:
        return x.repeat_interleave(new // old, axis)
    places = [min(int(i * step), old - 1) for i in range(new)]
    return x.index_select(axis, as_tensor(places, device=x.device))


def _between(x: Tensor, axis: int, new: int, step: float, align_corners: bool) -> Tensor:
    """Each place is a weighted mean of its two neighbours: a matrix (new, old), the same for all rows."""
    old = x.shape[axis]
    i = np.arange(new)
    at = i * ((old - 1) / max(new - 1, 1)) if align_corners else np.maximum((i + 0.5) * step - 0.5, 0.0)
    low = np.minimum(at.astype(int), old - 1)
    matrix = np.zeros((new, old))
    np.add.at(matrix, (i, low), 1 - (at - low))
    np.add.at(matrix, (i, np.minimum(low + 1, old - 1)), at - low)
    weights = as_tensor(matrix, dtype=x.dtype, device=x.device)
    return weights @ x if axis == x.ndim - 2 else x @ weights.mT


explain_all(globals())
