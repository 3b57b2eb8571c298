"""One of two: by size, by a condition, by bounds."""

from __future__ import annotations

import numpy as np

from tests.ops.cases.base import away, bools, case, distinct, normal, number

for _op in ("maximum", "minimum"):
    case(
        _op, "apart", lambda rng: rng.normal(size=(3, 4)), lambda rng: rng.choice([-3.0, 3.0], (3, 4)),
        torch=lambda torch, x, y, name=_op: getattr(torch, name)(x, y),
    )  # fmt: skip
    case(
        _op, "broadcast", lambda rng: rng.normal(size=(3, 1)), lambda rng: rng.choice([-4.0, 4.0], (4,)),
        torch=lambda torch, x, y, name=_op: getattr(torch, name)(x, y),
    )  # fmt: skip
    case(_op, "number", away(3, 4), number(0.1))

case("where", "same", bools(3, 4), normal(3, 4), normal(3, 4), torch=lambda torch, *xs: torch.where(*xs))
case("where", "broadcast", bools(4), normal(3, 1), normal(3, 4), torch=lambda torch, *xs: torch.where(*xs))
case("where", "number", bools(3, 4), normal(4), number(0.5), torch=lambda torch, *xs: torch.where(*xs))
case("masked_fill", "tensor", normal(3, 4), bools(3, 4), normal(), torch=lambda torch, *xs: torch.masked_fill(*xs))
case("masked_fill", "row", normal(3, 4), bools(4), normal(), torch=lambda torch, *xs: torch.masked_fill(*xs))
case("masked_fill", "grows", normal(4), bools(3, 1), normal(), torch=lambda torch, *xs: torch.masked_fill(*xs))

for _note, _bounds in {
    "both": (-0.55, 0.45),
    "low": (-0.55, None),
    "high": (None, 0.45),
    "crossed": (0.45, -0.55),
}.items():
    case(
        "clamp", _note, distinct(3, 4), min=_bounds[0], max=_bounds[1],
        torch=lambda torch, x, bounds=_bounds: torch.clamp(x, *bounds),
    )  # fmt: skip
# Bounds between the numbers and on either side of them; in some places the lower is above the upper.
case(
    "clamp_between", "both", distinct(3, 4), lambda rng: distinct(3, 4)(rng) - 0.42,
    lambda rng: distinct(4)(rng) + 0.23, torch=lambda torch, *xs: torch.clamp(*xs), expands=False,
)  # fmt: skip
case(
    "clamp_between", "low", distinct(3, 4), lambda rng: distinct(3, 1)(rng) + 0.45,
    call=lambda x, low: x.clamp(low), torch=lambda torch, *xs: torch.clamp(*xs),
)  # fmt: skip
case(
    "clamp_between", "high", distinct(3, 4), lambda rng: distinct(3, 1, 1)(rng) + 0.35,
    call=lambda x, high: x.clamp(max=high), torch=lambda torch, x, high: torch.clamp(x, max=high),
)  # fmt: skip
case("clamp_between", "number", distinct(3, 4), lambda rng: distinct(4)(rng) + 0.25, number(0.45))
case("nan_to_num", "numbers", normal(3, 4), nan=0, posinf=2, neginf=-2, torch=lambda torch, x: torch.nan_to_num(x))
case(
    "nan_to_num", "holes", lambda rng: rng.choice([1.5, np.nan, np.inf, -np.inf], (4, 5)),
    nan=0.5, posinf=2.0, neginf=-2.0, torch=lambda torch, x: torch.nan_to_num(x, 0.5, 2.0, -2.0),
)  # fmt: skip
