"""Functions of probability and counting."""

from __future__ import annotations

from collections.abc import Callable

from tests.ops.cases.arithmetic import SHAPES
from tests.ops.cases.base import Make, case, normal, number, positive


def probabilities(*shape: int) -> Make:
    """Numbers from 0.1 to 0.9."""
    return lambda rng: rng.uniform(0.1, 0.9, shape)


def between_poles(*shape: int) -> Make:
    """Numbers from -3 to 14, at least 0.2 away from integers."""
    return lambda rng: rng.integers(-3, 14, shape) + rng.uniform(0.2, 0.8, shape)


SPECIAL: dict[str, Callable[..., Make]] = {
    "logit": probabilities, "erfc": normal, "lgamma": between_poles,
}  # fmt: skip
for _op, _make in SPECIAL.items():
    for _note, _shape in (("matrix", (3, 4)), ("0-d", ()), ("empty", (0, 3))):
        case(_op, _note, _make(*_shape), torch=lambda torch, x, name=_op: getattr(torch, name)(x))
for _note, _shape in (("matrix", (3, 4)), ("0-d", ()), ("empty", (0, 3))):
    case("digamma", _note, between_poles(*_shape))  # near 0, PyTorch's derivative of it is right to 9 digits only
case("digamma", "large", lambda rng: rng.uniform(30, 90, (3, 4)), torch=lambda torch, x: torch.digamma(x))
case("logit", "held", probabilities(3, 4), eps=0.3, torch=lambda torch, x: torch.logit(x, 0.3))
for _op in ("logaddexp", "logaddexp2", "xlogy"):
    for _note, (_x, _y) in SHAPES.items():
        case(_op, _note, normal(*_x), positive(*_y), torch=lambda torch, x, y, name=_op: getattr(torch, name)(x, y))
    case(_op, "number", normal(2, 3), number(2))
case("xlogy", "2,y", number(2), positive(2, 3), torch=lambda torch, x, y: torch.xlogy(x, y))
