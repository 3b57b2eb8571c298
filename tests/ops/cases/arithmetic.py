"""Arithmetic: two operands in every way of broadcasting."""

from __future__ import annotations

import operator
from collections.abc import Callable

from tests.ops.cases.base import Make, away, case, normal, number, positive

BINARY: dict[str, tuple[Callable[..., Make], Callable[..., Make], str]] = {
    "add": (normal, normal, "add"), "sub": (normal, normal, "sub"), "mul": (normal, normal, "mul"),
    "div": (normal, positive, "div"), "pow": (positive, normal, "pow"),
    "remainder": (normal, away, "remainder"), "fmod": (normal, away, "fmod"), "floor_divide": (normal, away, "div"),
    "trunc_divide": (normal, away, "div"),
}  # fmt: skip
SHAPES = {
    "same": ((3, 4), (3, 4)), "row": ((3, 4), (4,)), "column": ((3, 1), (3, 4)), "both": ((3, 1), (1, 4)),
    "0-d": ((), ()), "0-d-with": ((), (2, 3)), "empty": ((0, 3), (1, 3)), "lead": ((2, 1, 3), (4, 1)),
}  # fmt: skip
ROUNDED = {"floor_divide": "floor", "trunc_divide": "trunc"}
for _op, (_left, _right, _name) in BINARY.items():
    for _note, (_x, _y) in SHAPES.items():
        _rest = {"rounding_mode": ROUNDED[_op]} if _op in ROUNDED else {}  # PyTorch's floor_divide has no backward
        case(
            _op, _note, _left(*_x), _right(*_y),
            torch=lambda torch, x, y, name=_name, rest=_rest: getattr(torch, name)(x, y, **rest),
        )  # fmt: skip

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
    ("x%0.3", "remainder", operator.mod, normal(2, 3), number(0.3)),
    ("fmod(x,0.3)", "fmod", lambda x, y: x.fmod(y), normal(2, 3), number(0.3)),
    ("0.5**x", "pow", operator.pow, number(0.5), normal(2, 3)),
):
    case(_op, _note, _x, _y, torch=lambda torch, *xs, function=_function: function(*xs))
case("remainder", "2%x", number(2), away(2, 3))  # there PyTorch has no gradient
for _op, _how in ROUNDED.items():
    for _note, _x, _y in (("x/0.3", normal(2, 3), number(0.3)), ("2/x", number(2), away(2, 3))):
        case(_op, _note, _x, _y, torch=lambda torch, x, y, how=_how: torch.div(x, y, rounding_mode=how))

for _alpha in (2.5, -0.5, 0):
    case(
        "add_scaled", f"{_alpha}", normal(3, 1), normal(3, 4), alpha=_alpha,
        torch=lambda torch, x, y, alpha=_alpha: torch.add(x, y, alpha=alpha),
    )  # fmt: skip
case("add_scaled", "number", normal(3, 4), number(0.5), alpha=3, torch=lambda torch, x, y: torch.add(x, y, alpha=3))
for _note, _x, _y, _z in (
    ("same", (3, 4), (3, 4), (3, 4)), ("broadcast", (3, 1), (4,), (2, 1, 1)), ("0-d", (), (3,), ()),
    ("empty", (0,), (1,), (0,)),
):  # fmt: skip
    case(
        "addcmul", _note, normal(*_x), normal(*_y), normal(*_z), value=0.5,
        torch=lambda torch, *xs: torch.addcmul(*xs, value=0.5),
    )  # fmt: skip
    case(
        "addcdiv", _note, normal(*_x), normal(*_y), away(*_z), value=0.5,
        torch=lambda torch, *xs: torch.addcdiv(*xs, value=0.5),
    )  # fmt: skip
    case("lerp", _note, normal(*_x), normal(*_y), normal(*_z), torch=lambda torch, *xs: torch.lerp(*xs))
for _weight in (0.25, 0.75, -2.0):
    case(
        "lerp", f"{_weight}", normal(3, 1), normal(4), number(_weight),
        torch=lambda torch, *xs: torch.lerp(*xs),
    )  # fmt: skip
