"""Losses."""

from __future__ import annotations

from tests.ops.cases.base import case, integers, normal

case(
    "softmax_cross_entropy", "rows", normal(4, 3), integers(3, 4),
    torch=lambda torch, s, t: torch.nn.functional.cross_entropy(s, t, reduction="none"),
)  # fmt: skip
