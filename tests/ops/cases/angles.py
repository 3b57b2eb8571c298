"""Angles and hyperbolic functions."""

from __future__ import annotations

from collections.abc import Callable

from tests.ops.cases.arithmetic import SHAPES
from tests.ops.cases.base import Make, away, case, normal, number, positive


def inside(*shape: int) -> Make:
    """Numbers between -0.9 and 0.9."""
    return lambda rng: rng.uniform(-0.9, 0.9, shape)


def above_one(*shape: int) -> Make:
    """Numbers from 1.2 to 3."""
    return lambda rng: rng.uniform(1.2, 3.0, shape)


ANGLES: dict[str, Callable[..., Make]] = {
    "asin": inside, "acos": inside, "atan": normal, "sinh": normal, "cosh": normal, "asinh": normal,
    "acosh": above_one, "atanh": inside,
}  # fmt: skip
for _op, _make in ANGLES.items():
    for _note, _shape in (("matrix", (3, 4)), ("0-d", ()), ("empty", (0, 3))):
        case(_op, _note, _make(*_shape), torch=lambda torch, x, name=_op: getattr(torch, name)(x))
for _op in ("atan2", "hypot"):
    for _note, (_x, _y) in SHAPES.items():
        case(_op, _note, away(*_x), positive(*_y), torch=lambda torch, x, y, name=_op: getattr(torch, name)(x, y))
    case(_op, "number", away(2, 3), number(2))
