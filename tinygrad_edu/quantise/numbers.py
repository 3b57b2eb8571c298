"""Numbers in 8 bits: what they stand for, how far off they are, and products of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..common.wording import shown
from ..dtypes import float32, int8, int32, int64, is_float
from ..errors import ArgumentError, DtypeError, ShapeError
from ..ops.choice import where
from ..ops.reduce import amax, amin
from ..settings import no_grad
from ..tensor import Tensor, tensor
from ..tensor.creation import zeros

LOWEST, HIGHEST = -128, 127
# float32 holds integers up to 2**24 exactly. A product of two differences of 8-bit numbers is at most 255 × 255.
PIECE = 2**24 // (255 * 255)


@dataclass(frozen=True)
class Quantised:
    """An int8 tensor and what it stands for: ``scale * (values - zero_point)``.

    ``scale`` (float32) and ``zero_point`` (int32) are 0-d, or have one number for each place along ``axis``.
    """

    values: Tensor
    scale: Tensor
    zero_point: Tensor
    axis: int | None = None

    def centred(self) -> Tensor:
        """``values - zero_point``, float32: whole numbers from -255 to 255."""
        return self.values.to(float32) - _along(self.zero_point.to(float32), self.values, self.axis)

    def dequantise(self) -> Tensor:
        """The numbers that it stands for, float32."""
        return self.centred() * _along(self.scale, self.values, self.axis)

    @property
    def nbytes(self) -> int:
        """Bytes of values, scales and zero points."""
        return int(self.values.nbytes + self.scale.nbytes + self.zero_point.nbytes)


def scale_of(low: Any, high: Any, symmetric: bool = True) -> tuple[Tensor, Tensor]:
    """Scale and zero point for numbers from ``low`` to ``high``; 0 is among them, and is always exact.

    Symmetric: from -127 to 127, with 0 at 0. Else all 256 values are used, and 0 lies where it falls.
    """
    low, high = (tensor(x, dtype=float32) if not isinstance(x, Tensor) else x.to(float32) for x in (low, high))
    low, high = low.clamp(max=0.0), high.clamp(min=0.0)
    width = (high.maximum(-low) * 2 if symmetric else high - low) / (254.0 if symmetric else 255.0)
    scale = where(width > 0, width, 1.0)
    if symmetric:
        return scale, zeros(scale.shape, dtype=int32, device=scale.device)
    return scale, (LOWEST - low / scale).round().clamp(LOWEST, HIGHEST).to(int32)


def quantise_tensor(
    x: Tensor, axis: int | None = None, *, symmetric: bool = True, scale: Any = None, zero_point: Any = None
) -> Quantised:
    """``x`` in 8 bits, with one scale, or with ``axis`` one for each place along it ("per channel").

    Each number is off by at most half its scale, unless a given ``scale`` with its ``zero_point`` is too small for it:
    then it is clamped. Raises `DtypeError` for integers, `ArgumentError` for numbers that are not finite.
    """
    if not isinstance(x, Tensor) or not is_float(x.dtype):
        given = x.dtype if isinstance(x, Tensor) else shown(x, 40)
        raise DtypeError(f"quantise_tensor of {given}", "it takes floats", "give a tensor of floats")
    if axis is not None and not -x.ndim <= axis < x.ndim:
        raise ShapeError(f"quantise_tensor of {tuple(x.shape)}, axis={axis}", "there is no such axis", "count from 0")
    with no_grad():
        x = x.detach().to(float32)
        if not bool(x.isfinite().all()):
            why = "inf and nan have no place among 256 numbers"
            raise ArgumentError("quantise_tensor of numbers that are not finite", why, "mend them first: nan_to_num")
        axis = None if axis is None else axis % x.ndim
        if scale is None:
            others = tuple(d for d in range(x.ndim) if d != axis)
            flat = x if x.numel() else zeros([max(n, 1) for n in x.shape], device=x.device)
            low, high = (amin(flat, others), amax(flat, others)) if others else (flat, flat)
            scale, zero_point = scale_of(low, high, symmetric)
        elif zero_point is None:
            zero_point = zeros(scale.shape, dtype=int32, device=x.device)
        steps = (x / _along(scale, x, axis)).round() + _along(zero_point.to(float32), x, axis)
        return Quantised(steps.clamp(LOWEST, HIGHEST).to(int8), scale, zero_point, axis)


def integer_product(x: Tensor, y: Tensor) -> Tensor:
    """``x @ y`` of whole numbers from -255 to 255, exact: int32, or int64 where a sum could be larger.

    (…, K) and (K, N). Chips for inference have units that do this. NumPy has none, and its integer products are slow;
    products of pieces in float32 are exact as well, since no sum in a piece reaches 2**24.
    """
    inner = x.shape[-1]
    kind = int32 if inner * 255 * 255 < 2**31 else int64
    total = zeros((*x.shape[:-1], y.shape[-1]), dtype=kind, device=x.device)
    x, y = x.to(float32), y.to(float32)
    for start in range(0, inner, PIECE):
        total = total + (x[..., start : start + PIECE] @ y[start : start + PIECE]).to(kind)
    return total


def _along(value: Tensor, x: Tensor, axis: int | None) -> Tensor:
    """One number for each place along an axis, so that it broadcasts with ``x``."""
    return value if axis is None else value.reshape([-1 if d == axis else 1 for d in range(x.ndim)])
