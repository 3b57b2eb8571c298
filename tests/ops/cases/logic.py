"""Comparisons."""

from __future__ import annotations

from tests.ops.cases.base import case

for _op in ("eq", "ne", "lt", "le", "gt", "ge"):
    case(
        _op, "ties", lambda rng: rng.integers(0, 3, (3, 4)) * 1.0, lambda rng: rng.integers(0, 3, (4,)) * 1.0,
        torch=lambda torch, x, y, name=_op: getattr(torch, name)(x, y),
    )  # fmt: skip
