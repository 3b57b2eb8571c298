"""Comparisons and other questions."""

from __future__ import annotations

import numpy as np

from tests.ops.cases.base import Rng, bools, case


def few(rng: Rng) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Few different numbers, so that many are equal."""
    return rng.integers(0, 3, (3, 4)) * 1.0


def odd(rng: Rng) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Numbers, and what is none."""
    return rng.permutation([np.nan, np.inf, -np.inf, 0.0, -1.5, 2.0]).reshape(2, 3)


for _op in ("eq", "ne", "lt", "le", "gt", "ge"):
    case(
        _op, "ties", lambda rng: rng.integers(0, 3, (3, 4)) * 1.0, lambda rng: rng.integers(0, 3, (4,)) * 1.0,
        torch=lambda torch, x, y, name=_op: getattr(torch, name)(x, y),
    )  # fmt: skip
for _op in ("isnan", "isinf", "isfinite", "logical_not"):
    case(_op, "odd", odd, torch=lambda torch, x, name=_op: getattr(torch, name)(x))
    case(_op, "bools", bools(3), torch=lambda torch, x, name=_op: getattr(torch, name)(x))
for _nan in (False, True):
    case(
        "isclose", f"nan{_nan}", odd, lambda rng: odd(rng) * (1 + rng.integers(0, 2, 3) * 1e-4),
        rtol=1e-3, equal_nan=_nan,
        torch=lambda torch, x, y, nan=_nan: torch.isclose(x, y, rtol=1e-3, equal_nan=nan),
    )  # fmt: skip
for _op in ("and", "or", "xor"):
    case(
        f"logical_{_op}", "mixed", few, bools(4),
        torch=lambda torch, x, y, name=_op: getattr(torch, f"logical_{name}")(x, y),
    )  # fmt: skip
    case(
        f"bitwise_{_op}", "bools", bools(3, 4), bools(4),
        torch=lambda torch, x, y, name=_op: getattr(torch, f"bitwise_{name}")(x, y),
    )  # fmt: skip
case("bitwise_not", "bools", bools(3, 4), torch=lambda torch, x: torch.bitwise_not(x))
