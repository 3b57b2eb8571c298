"""Floats in 8 bits, to keep numbers in: four bits of exponent and three of digits, or five and two.

>>> import tinygrad_edu as tg
>>> from tinygrad_edu.quantise import to_float8
>>> x = to_float8(tg.tensor([1.0, -0.5, 0.001]))
>>> x.dequantise().tolist(), x.nbytes
([1.0, -0.5, 0.0009765625], 7)

Unlike int8, whose steps are all equal, a float8 has steps that grow with the number: each is off by a share of itself.
Nothing is computed in it here. It is a way to keep numbers, so it is kept as bytes, with the scale that they need: the
largest of all numbers becomes the largest float8.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from ..common.wording import shown
from ..dtypes import float32, int64, is_float
from ..errors import ArgumentError, DtypeError
from ..settings import no_grad
from ..tensor import Tensor, tensor

KINDS = ("e4m3fn", "e5m2")  # PyTorch's torch.float8_e4m3fn and torch.float8_e5m2


@dataclass(frozen=True)
class Float8:
    """Numbers in 8 bits: ``values`` are the bytes, uint8, and ``scale`` (float32, 0-d) is their common factor."""

    values: Tensor
    scale: Tensor
    kind: str

    def dequantise(self) -> Tensor:
        """The numbers that it stands for, float32."""
        known = tensor(_known(self.kind), device=self.values.device)
        return known[self.values.to(int64)] * self.scale

    @property
    def nbytes(self) -> int:
        """Bytes of values and scale."""
        return int(self.values.nbytes + self.scale.nbytes)


def to_float8(x: Tensor, kind: str = "e4m3fn", *, scale: Any = None) -> Float8:
    """``x`` as float8 of a ``kind``: "e4m3fn", up to 448 with 3 bits of digits, or "e5m2", up to 57,344 with 2.

    Each number is off by at most 1/16 of itself (e5m2: 1/8), or by half the smallest float8 times the scale if that is
    more. The scale is such that the largest number is just reached; what a given one does not reach is clamped. The
    bytes are made on the host. Raises `DtypeError` for integers, `ArgumentError` for numbers that are not finite.
    """
    if kind not in KINDS:
        why = f"the kinds are {', '.join(KINDS)}"
        raise ArgumentError(f"to_float8 with kind={shown(kind, 40)}", why, "leave it out, or write kind='e5m2'")
    if not isinstance(x, Tensor) or not is_float(x.dtype):
        given = x.dtype if isinstance(x, Tensor) else shown(x, 40)
        raise DtypeError(f"to_float8 of {given}", "it takes floats", "give a tensor of floats")
    with no_grad():
        x = x.detach().to(float32)
        if not bool(x.isfinite().all()):
            why = "their scale would not be finite either"
            raise ArgumentError("to_float8 of numbers that are not finite", why, "mend them first: nan_to_num")
        most = float(_known(kind)[np.isfinite(_known(kind))].max())
        if scale is None:
            largest = float(x.abs().max().item()) if x.numel() else 0.0
            scale = max(largest / most, float(np.finfo(np.float32).tiny)) if largest else 1.0
        scale = scale.to(float32) if isinstance(scale, Tensor) else tensor(float(scale), dtype=float32, device=x.device)
        steps = (x / scale).clamp(-most, most).cpu().numpy().astype(_dtype(kind))
        return Float8(tensor(steps.view(np.uint8), device=x.device), scale, kind)


def _dtype(kind: str) -> Any:
    import ml_dtypes  # takes 3 ms

    return np.dtype(getattr(ml_dtypes, f"float8_{kind}"))


@cache
def _known(kind: str) -> Any:
    """What each of the 256 bytes stands for."""
    return np.arange(256, dtype=np.uint8).view(_dtype(kind)).astype(np.float32)
