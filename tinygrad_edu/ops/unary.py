"""Functions of one number, on each element."""

from __future__ import annotations

from typing import Any

from ..core.dispatch import caller
from ..core.op import Op

# mypy: disable-error-code="override"


class Exp(Op):
    """e to the power of x."""

    dtypes = "float"
    into = ("exp",)
    saves = ("out",)

    @staticmethod
    def forward(xp: Any, x: Any) -> Any:
        return xp.exp(x)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, out: Any) -> Any:
        return g * out


class Log(Op):
    """The natural logarithm."""

    dtypes = "float"
    into = ("log",)
    saves = ("x",)

    @staticmethod
    def forward(xp: Any, x: Any) -> Any:
        return xp.log(x)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, x: Any) -> Any:
        return g / x


class Sqrt(Op):
    """The square root."""

    dtypes = "float"
    into = ("sqrt",)
    saves = ("out",)

    @staticmethod
    def forward(xp: Any, x: Any) -> Any:
        return xp.sqrt(x)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, out: Any) -> Any:
        return g / (out * 2)


class Sin(Op):
    """The sine, of radians."""

    dtypes = "float"
    into = ("sin",)
    saves = ("x",)

    @staticmethod
    def forward(xp: Any, x: Any) -> Any:
        return xp.sin(x)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, x: Any) -> Any:
        return g * xp.cos(x)


class Cos(Op):
    """The cosine, of radians."""

    dtypes = "float"
    into = ("cos",)
    saves = ("x",)

    @staticmethod
    def forward(xp: Any, x: Any) -> Any:
        return xp.cos(x)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, x: Any) -> Any:
        return -(g * xp.sin(x))


class Tanh(Op):
    """The hyperbolic tangent."""

    dtypes = "float"
    into = ("tanh",)
    saves = ("out",)

    @staticmethod
    def forward(xp: Any, x: Any) -> Any:
        return xp.tanh(x)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, out: Any) -> Any:
        return g * (1 - out * out)


class Sigmoid(Op):
    """``1 / (1 + exp(-x))``, by way of tanh, which cannot overflow."""

    dtypes = "float"
    saves = ("out",)

    @staticmethod
    def forward(xp: Any, x: Any) -> Any:
        return xp.tanh(x * 0.5) * 0.5 + 0.5

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, out: Any) -> Any:
        return g * (out * (1 - out))


class Relu(Op):
    """``max(x, 0)``; the derivative at 0 is 0."""

    into = ("maximum", 0)
    saves = ("out",)

    @staticmethod
    def forward(xp: Any, x: Any) -> Any:
        return xp.relu(x)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, out: Any) -> Any:
        return xp.where(out > 0, g, xp.zeros_like(g))  # a product would make nan of infinity times 0


class Abs(Op):
    """The absolute value; the derivative at 0 is 0."""

    into = ("absolute",)
    saves = ("x",)

    @staticmethod
    def forward(xp: Any, x: Any) -> Any:
        return xp.abs(x)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, x: Any) -> Any:
        return g * xp.sign(x)


class Sign(Op):
    """-1, 0 or 1. Its derivative is 0 everywhere it exists."""

    @staticmethod
    def forward(xp: Any, x: Any) -> Any:
        return xp.sign(x)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any) -> Any:
        return xp.zeros_like(g)


class Expm1(Op):
    """``exp(x) - 1``, precise for small x."""

    dtypes = "float"
    into = ("expm1",)
    saves = ("out",)

    @staticmethod
    def forward(xp: Any, x: Any) -> Any:
        return xp.expm1(x)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, out: Any) -> Any:
        return g * (out + 1)


class Log1p(Op):
    """``log(1 + x)``, precise for small x."""

    dtypes = "float"
    into = ("log1p",)
    saves = ("x",)

    @staticmethod
    def forward(xp: Any, x: Any) -> Any:
        return xp.log1p(x)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, x: Any) -> Any:
        return g / (x + 1)


class Log2(Op):
    """The logarithm to base 2."""

    dtypes = "float"
    into = ("log2",)
    saves = ("x",)

    @staticmethod
    def forward(xp: Any, x: Any) -> Any:
        return xp.log2(x)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, x: Any) -> Any:
        return g / (x * LN2)


LN2 = 0.6931471805599453


class Tan(Op):
    """The tangent, of radians."""

    dtypes = "float"
    into = ("tan",)
    saves = ("out",)

    @staticmethod
    def forward(xp: Any, x: Any) -> Any:
        return xp.tan(x)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, out: Any) -> Any:
        return g * (out * out + 1)


class Erf(Op):
    """The error function: the share of a normal distribution (of variance 1/2) between -x and x."""

    dtypes = "float"
    saves = ("x",)

    @staticmethod
    def forward(xp: Any, x: Any) -> Any:
        return xp.erf(x)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, x: Any) -> Any:
        return g * (xp.exp(-(x * x)) * TWO_OVER_ROOT_PI)


TWO_OVER_ROOT_PI = 1.1283791670955126


class Steps:
    """What roundings share: their derivative is 0 wherever it exists."""

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any) -> Any:
        return xp.zeros_like(g)


class Floor(Steps, Op):
    """The largest integer that is not above x, in the dtype of x."""

    @staticmethod
    def forward(xp: Any, x: Any) -> Any:
        return xp.floor(x)


class Ceil(Steps, Op):
    """The smallest integer that is not below x, in the dtype of x."""

    @staticmethod
    def forward(xp: Any, x: Any) -> Any:
        return xp.ceil(x)


class Round(Steps, Op):
    """The nearest integer, in the dtype of x; halves go to the even one."""

    @staticmethod
    def forward(xp: Any, x: Any) -> Any:
        return xp.round(x)


exp, log, sqrt, sin, cos = caller(Exp), caller(Log), caller(Sqrt), caller(Sin), caller(Cos)
tanh, sigmoid, relu, abs, sign = caller(Tanh), caller(Sigmoid), caller(Relu), caller(Abs), caller(Sign)
expm1, log1p, log2, tan, erf = caller(Expm1), caller(Log1p), caller(Log2), caller(Tan), caller(Erf)
floor, ceil, round_op = caller(Floor), caller(Ceil), caller(Round)
