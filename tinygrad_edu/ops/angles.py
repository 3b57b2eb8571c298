"""Angles: the inverse trigonometric functions, in radians, the hyperbolic functions with theirs, and `hypot`."""

from __future__ import annotations

from typing import Any

from ..core.dispatch import caller
from ..core.op import Op
from .unary import beside

# mypy: disable-error-code="override"


class Asin(Op):
    """The angle between -pi/2 and pi/2 whose sine is x; nan where x is not between -1 and 1."""

    dtypes = "float"
    into = ("arcsin",)
    saves = ("x",)

    @staticmethod
    def forward(xp: Any, x: Any) -> Any:
        return xp.arcsin(x)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, x: Any) -> Any:
        return g / xp.sqrt(1 - x * x)


class Acos(Op):
    """The angle between 0 and pi whose cosine is x; nan where x is not between -1 and 1."""

    dtypes = "float"
    into = ("arccos",)
    saves = ("x",)

    @staticmethod
    def forward(xp: Any, x: Any) -> Any:
        return xp.arccos(x)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, x: Any) -> Any:
        return -g / xp.sqrt(1 - x * x)


class Atan(Op):
    """The angle between -pi/2 and pi/2 whose tangent is x."""

    dtypes = "float"
    into = ("arctan",)
    saves = ("x",)

    @staticmethod
    def forward(xp: Any, x: Any) -> Any:
        return xp.arctan(x)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, x: Any) -> Any:
        return g / (x * x + 1)


class Atan2(Op):
    """The angle, from -pi to pi, of the point that lies y to the right and x up: the quadrant is taken into account."""

    dtypes = "float"
    broadcasts = True
    into = ("arctan2",)
    saves = ("x", "y")

    @staticmethod
    def forward(xp: Any, x: Any, y: Any) -> Any:
        return xp.arctan2(x, y)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, x: Any, y: Any) -> Any:
        square = x * x + y * y
        share = g / xp.where(square != 0, square, float("inf"))  # at the origin the slope is 0, as in PyTorch
        return share * y if needs[0] else None, -share * x if needs[1] else None


class Sinh(Op):
    """The hyperbolic sine, ``(exp(x) - exp(-x)) / 2``."""

    dtypes = "float"
    into = ("sinh",)
    saves = ("x",)

    @staticmethod
    def forward(xp: Any, x: Any) -> Any:
        return xp.sinh(x)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, x: Any) -> Any:
        return g * xp.cosh(x)


class Cosh(Op):
    """The hyperbolic cosine, ``(exp(x) + exp(-x)) / 2``."""

    dtypes = "float"
    into = ("cosh",)
    saves = ("x",)

    @staticmethod
    def forward(xp: Any, x: Any) -> Any:
        return xp.cosh(x)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, x: Any) -> Any:
        return g * xp.sinh(x)


class Asinh(Op):
    """The number whose hyperbolic sine is x."""

    dtypes = "float"
    into = ("arcsinh",)
    saves = ("x",)

    @staticmethod
    def forward(xp: Any, x: Any) -> Any:
        return xp.arcsinh(x)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, x: Any) -> Any:
        return g / xp.sqrt(x * x + 1)


class Acosh(Op):
    """The positive number whose hyperbolic cosine is x; nan where x is below 1."""

    dtypes = "float"
    into = ("arccosh",)
    saves = ("x",)

    @staticmethod
    def forward(xp: Any, x: Any) -> Any:
        return xp.arccosh(x)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, x: Any) -> Any:
        return g / xp.sqrt(x * x - 1)


class Atanh(Op):
    """The number whose hyperbolic tangent is x; nan where x is not between -1 and 1."""

    dtypes = "float"
    into = ("arctanh",)
    saves = ("x",)

    @staticmethod
    def forward(xp: Any, x: Any) -> Any:
        return xp.arctanh(x)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, x: Any) -> Any:
        return g / (1 - x * x)


class Hypot(Op):
    """``sqrt(x * x + y * y)``, broadcast: the distance of a point from the origin. Nothing overflows on the way."""

    dtypes = "floating"
    broadcasts = True
    saves = ("x if x", "y if y", "out")
    per_element = 16

    @staticmethod
    def forward(xp: Any, x: Any, y: Any) -> Any:
        x, y = xp.abs(beside(xp, x, y)), xp.abs(beside(xp, y, x))
        long, short = xp.maximum(x, y), xp.minimum(x, y)
        ratio = short / xp.where(long != 0, long, 1)
        far = (x == float("inf")) | (y == float("inf"))  # whatever the other is, nan too
        return xp.where(far, float("inf"), long * xp.sqrt(ratio * ratio + 1))

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, x: Any, y: Any, out: Any) -> Any:
        share = g / out
        return share * x if needs[0] else None, share * y if needs[1] else None


asin, acos, atan, atan2 = caller(Asin), caller(Acos), caller(Atan), caller(Atan2)
sinh, cosh, asinh, acosh, atanh = caller(Sinh), caller(Cosh), caller(Asinh), caller(Acosh), caller(Atanh)
hypot = caller(Hypot)
arcsin, arccos, arctan, arctan2 = asin, acos, atan, atan2
