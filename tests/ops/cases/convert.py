"""Casts and copies."""

from __future__ import annotations

import numpy as np

from tests.ops.cases.base import case, normal
from tinygrad_edu.ops.convert import contiguous

case("cast", "to-f8", normal(3, 4), dtype=np.dtype("f8"), torch=lambda torch, x: x.to(torch.float64))
case("contiguous", "matrix", normal(3, 4), call=contiguous, torch=lambda torch, x: x.contiguous())
case(
    "relaid", "channels last", normal(2, 3, 2, 4), axes=(0, 2, 3, 1), back=(0, 3, 1, 2),
    torch=lambda torch, x: x.clone(memory_format=torch.channels_last),
)  # fmt: skip
