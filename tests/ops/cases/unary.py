"""Functions of one number."""

from __future__ import annotations

from collections.abc import Callable

from tests.ops.cases.base import Make, away, case, normal, positive

UNARY: dict[str, tuple[Callable[..., Make], str]] = {
    "neg": (normal, "neg"), "exp": (normal, "exp"), "log": (positive, "log"), "sqrt": (positive, "sqrt"),
    "expm1": (normal, "expm1"), "log1p": (positive, "log1p"), "log2": (positive, "log2"), "log10": (positive, "log10"),
    "exp2": (normal, "exp2"), "trunc": (normal, "trunc"), "tan": (normal, "tan"),
    "erf": (normal, "erf"), "floor": (normal, "floor"), "ceil": (normal, "ceil"), "round": (normal, "round"),
    "rsqrt": (positive, "rsqrt"), "reciprocal": (away, "reciprocal"), "square": (normal, "square"),
    "sin": (normal, "sin"), "cos": (normal, "cos"), "tanh": (normal, "tanh"), "sigmoid": (normal, "sigmoid"),
    "relu": (away, "relu"), "abs": (away, "abs"), "sign": (away, "sign"), "clone": (normal, "clone"),
}  # fmt: skip
for _op, (_make, _name) in UNARY.items():
    for _note, _shape in (("matrix", (3, 4)), ("0-d", ()), ("empty", (0, 3))):
        case(_op, _note, _make(*_shape), torch=lambda torch, x, name=_name: getattr(torch, name)(x))

# No number is near half of a last digit here: there the result jumps, and narrow dtypes may jump alone.
for _decimals in (2, -1):
    case(
        "round", f"decimals{_decimals}", lambda rng, d=_decimals: (rng.integers(-9, 9, (3, 4)) + 0.25) * 10.0**-d,
        decimals=_decimals, torch=lambda torch, x, d=_decimals: torch.round(x, decimals=d),
    )  # fmt: skip
