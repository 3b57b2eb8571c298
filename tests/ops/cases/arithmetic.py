"""Arithmetic: two operands in every way of broadcasting."""

from __future__ import annotations

import operator
from collections.abc import Callable

from tests.ops.cases.base import Make, away, bools, case, distinct, normal, number, positive

BINARY: dict[str, tuple[Callable[..., Make], Callable[..., Make], str]] = {
    "add": (normal, normal, "add"), "sub": (normal, normal, "sub"), "mul": (normal, normal, "mul"),
    "div": (normal, positive, "div"), "pow": (positive, normal, "pow"),
}  # fmt: skip
SHAPES = {
    "same": ((3, 4), (3, 4)), "row": ((3, 4), (4,)), "column": ((3, 1), (3, 4)), "both": ((3, 1), (1, 4)),
    "0-d": ((), ()), "0-d-with": ((), (2, 3)), "empty": ((0, 3), (1, 3)), "lead": ((2, 1, 3), (4, 1)),
}  # fmt: skip
for _op, (_left, _right, _name) in BINARY.items():
    for _note, (_x, _y) in SHAPES.items():
        case(_op, _note, _left(*_x), _right(*_y), torch=lambda torch, x, y, name=_name: getattr(torch, name)(x, y))

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

for _note, _op, _function, _x, _y in (
    ("x+2", "add", operator.add, positive(2, 3), number(2)),
    ("2-x", "sub", operator.sub, number(2), positive(2, 3)),
    ("x*0.5", "mul", operator.mul, positive(2, 3), number(0.5)),
    ("3/x", "div", operator.truediv, number(3), positive(2, 3)),
    ("x/3", "div", operator.truediv, positive(2, 3), number(3)),
    ("x**2", "pow", operator.pow, normal(2, 3), number(2)),
    ("x**3", "pow", operator.pow, normal(2, 3), number(3)),
    ("x**0", "pow", operator.pow, normal(2, 3), number(0)),
    ("x**-1", "pow", operator.pow, away(2, 3), number(-1)),
    ("x**0.5", "pow", operator.pow, positive(2, 3), number(0.5)),
    ("2**x", "pow", operator.pow, number(2), normal(2, 3)),
    ("0.5**x", "pow", operator.pow, number(0.5), normal(2, 3)),
):
    case(_op, _note, _x, _y, torch=lambda torch, *xs, function=_function: function(*xs))

case("where", "same", bools(3, 4), normal(3, 4), normal(3, 4), torch=lambda torch, *xs: torch.where(*xs))
case("where", "broadcast", bools(4), normal(3, 1), normal(3, 4), torch=lambda torch, *xs: torch.where(*xs))
for _note, _bounds in {"both": (-0.55, 0.45), "low": (-0.55, None), "high": (None, 0.45)}.items():
    case(
        "clamp", _note, distinct(3, 4), min=_bounds[0], max=_bounds[1],
        torch=lambda torch, x, bounds=_bounds: torch.clamp(x, *bounds),
    )  # fmt: skip
