"""Arithmetic on each element. Two operands are broadcast; the engine sums their gradients back."""

from __future__ import annotations

from typing import Any

from ..core.dispatch import caller, here
from ..core.op import Op
from ..errors import DtypeError

# mypy: disable-error-code="override"
# A body names its operands; the base class cannot know how many there are.


class Add(Op):
    """``x + y``."""

    broadcasts = True
    into = ("add",)

    @staticmethod
    def forward(xp: Any, x: Any, y: Any) -> Any:
        return x + y

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any) -> Any:
        return g, g


class Sub(Op):
    """``x - y``."""

    broadcasts = True
    into = ("subtract",)

    @staticmethod
    def forward(xp: Any, x: Any, y: Any) -> Any:
        return x - y

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any) -> Any:
        return g, -g if needs[1] else None


class Mul(Op):
    """``x * y``."""

    broadcasts = True
    into = ("multiply",)
    saves = ("x if y", "y if x")

    @staticmethod
    def forward(xp: Any, x: Any, y: Any) -> Any:
        return x * y

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, x: Any, y: Any) -> Any:
        return g * y if needs[0] else None, g * x if needs[1] else None


class Div(Op):
    """``x / y``, true division: integers give floats."""

    broadcasts = True
    into = ("true_divide",)
    dtypes = "quotient"
    saves = ("x if y", "y")

    @staticmethod
    def forward(xp: Any, x: Any, y: Any) -> Any:
        return x / y

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, x: Any, y: Any) -> Any:
        gx = g / y
        return gx, -gx * (x / y) if needs[1] else None


class Pow(Op):
    """``x ** y``."""

    broadcasts = True
    into = ("power",)
    saves = ("x", "y", "out if y")

    @staticmethod
    def forward(xp: Any, x: Any, y: Any) -> Any:
        return x**y

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, x: Any, y: Any, out: Any) -> Any:
        gx = gy = None
        if needs[0]:  # x ** 0 is 1 everywhere, so its slope is 0, at x = 0 too; 0 ** -1 would spoil it
            gx = g * (y * x ** (y - (y != 0)))
        if needs[1]:  # 0 ** y is 0 for y > 0, and so is its derivative; log(0) would spoil it
            gy = g * (out * xp.log(xp.where(x != 0, x, xp.ones_like(out))))
        return gx, gy


class Neg(Op):
    """``-x``."""

    into = ("negative",)

    @staticmethod
    def forward(xp: Any, x: Any) -> Any:
        return -x

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any) -> Any:
        return -g


class Maximum(Op):
    """The larger of x and y. Where they are equal each gets half of the gradient, as in PyTorch."""

    broadcasts = True
    into = ("maximum",)
    saves = ("x", "y")

    @staticmethod
    def forward(xp: Any, x: Any, y: Any) -> Any:
        return xp.maximum(x, y)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, x: Any, y: Any) -> Any:
        return _to_the_chosen(xp, g, needs, x > y, y > x, x == y)


class Minimum(Op):
    """The smaller of x and y. Where they are equal each gets half of the gradient, as in PyTorch."""

    broadcasts = True
    into = ("minimum",)
    saves = ("x", "y")

    @staticmethod
    def forward(xp: Any, x: Any, y: Any) -> Any:
        return xp.minimum(x, y)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, x: Any, y: Any) -> Any:
        return _to_the_chosen(xp, g, needs, x < y, y < x, x == y)


def _to_the_chosen(xp: Any, g: Any, needs: Any, x_wins: Any, y_wins: Any, tie: Any) -> Any:
    """The gradient for whichever operand was taken, and half of it for each where they tie."""
    otherwise = xp.where(tie, g * 0.5, xp.zeros_like(g))
    gx = xp.where(x_wins, g, otherwise) if needs[0] else None
    return gx, xp.where(y_wins, g, otherwise) if needs[1] else None


class Where(Op):
    """``x`` where ``condition`` holds, else ``y``."""

    broadcasts = True
    dtypes = "where"
    saves = ("condition",)

    @staticmethod
    def forward(xp: Any, condition: Any, x: Any, y: Any) -> Any:
        return xp.where(condition, x, y)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, condition: Any) -> Any:
        zero = xp.zeros_like(g)
        return (
            None,
            xp.where(condition, g, zero) if needs[1] else None,
            xp.where(condition, zero, g) if needs[2] else None,
        )


class Clamp(Op):
    """``x`` held between ``min`` and ``max``; the gradient passes where x was inside, the ends included."""

    saves = ("x", "min", "max")
    into = ("clip",)

    @staticmethod
    def forward(xp: Any, x: Any, *, min: Any = None, max: Any = None) -> Any:
        if min is None and max is None:
            raise ValueError("neither min nor max is given")
        if min is not None:
            x = xp.maximum(x, min)
        return x if max is None else xp.minimum(x, max)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, x: Any, min: Any, max: Any) -> Any:
        if min is not None:
            g = xp.where(x >= min, g, xp.zeros_like(g))
        return g if max is None else xp.where(x <= max, g, xp.zeros_like(g))


add, sub, mul, div, pow, neg = caller(Add), caller(Sub), caller(Mul), caller(Div), caller(Pow), caller(Neg)
maximum, minimum, where, clamp_op = caller(Maximum), caller(Minimum), caller(Where), caller(Clamp)


def clamp(x: Any, min: Any = None, max: Any = None) -> Any:
    """``x`` held between the numbers ``min`` and ``max``; one of them may be left out.

    Integers held by a float become floats. Raises `DtypeError` for bounds that are tensors.
    """
    bounds = [_number(bound) for bound in (min, max)]
    if any(isinstance(bound, float) for bound in bounds):
        x = add(x, 0.0) if hasattr(x, "dtype") and x.dtype.kind in "biu" else x  # by the promotion table
    return clamp_op(x, min=bounds[0], max=bounds[1])


def _number(bound: Any) -> Any:
    """A bound as a Python number: a NumPy scalar would widen the result to its own dtype."""
    if bound is None or type(bound) in (int, float):
        return bound
    if hasattr(bound, "node") or getattr(bound, "shape", ()) != () or not hasattr(bound, "__float__"):
        raise DtypeError(
            f"clamp with a bound of type {type(bound).__name__}",
            "a bound is one number, and gets no gradient",
            "use maximum(x, low) and minimum(x, high) for bounds that are tensors",
            here(),
        )
    return bound.item() if hasattr(bound, "item") else bound
