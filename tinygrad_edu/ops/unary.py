"""Functions of one number, on each element."""

from __future__ import annotations

from typing import Any

from ..backends.strips import in_strips
from ..core.dispatch import caller
from ..core.op import Op, Params
from ..dtypes import int64
from ..errors import DtypeError
from ..inputs.arguments import as_tensor
from ..inputs.kinds import explain_all

# mypy: disable-error-code="override"


class Exp(Op):
    """The exponential function: e to the power of x."""

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


class Rsqrt(Op):
    """``1 / sqrt(x)``."""

    dtypes = "float"
    saves = ("out",)
    per_element = 2

    @staticmethod
    def forward(xp: Any, x: Any) -> Any:
        return 1 / xp.sqrt(x)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, out: Any) -> Any:
        return g * (out * out * out * -0.5)


class Reciprocal(Op):
    """``1 / x``; integers give floats."""

    dtypes = "quotient"
    into = ("reciprocal",)
    saves = ("out",)

    @staticmethod
    def forward(xp: Any, x: Any) -> Any:
        return 1 / x

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, out: Any) -> Any:
        return -g * (out * out)


class Square(Op):
    """``x * x``; bools are counted as 0 and 1, in int64."""

    dtypes = "each"
    into = ("square",)
    saves = ("x",)

    @staticmethod
    def forward(xp: Any, x: Any) -> Any:
        return xp.astype(x, int64) if x.dtype.kind == "b" else x * x

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, x: Any) -> Any:
        return g * (x * 2)


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
    @in_strips
    def backward(xp: Any, g: Any, needs: Any, out: Any) -> Any:
        return g * (1 - out * out)


class Abs(Op):
    """The absolute value; the derivative at 0 is 0."""

    dtypes = "each"
    into = ("absolute",)
    saves = ("x",)

    @staticmethod
    def forward(xp: Any, x: Any) -> Any:
        refuse_bools(x)
        return xp.abs(x)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, x: Any) -> Any:
        return g * xp.sign(x)

    @staticmethod
    def hint(shapes: list[tuple[int, ...]], params: Params) -> tuple[str, str] | None:
        return NO_NUMBERS


class Sign(Op):
    """The sign: -1, 0 or 1; nan stays nan. Its derivative is 0 everywhere it exists."""

    dtypes = "each"

    @staticmethod
    def forward(xp: Any, x: Any) -> Any:
        return xp.copy(x) if x.dtype.kind == "b" else xp.sign(x)

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


class Log10(Op):
    """The logarithm to base 10."""

    dtypes = "float"
    into = ("log10",)
    saves = ("x",)

    @staticmethod
    def forward(xp: Any, x: Any) -> Any:
        return xp.log10(x)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, x: Any) -> Any:
        return g / (x * LN10)


class Exp2(Op):
    """Two to the power of x."""

    dtypes = "float"
    saves = ("out",)

    @staticmethod
    def forward(xp: Any, x: Any) -> Any:
        return 2.0**x

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, out: Any) -> Any:
        return g * (out * LN2)


LN2, LN10 = 0.6931471805599453, 2.302585092994046


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
    """The error function: the probability of a normal variable (variance 1/2) between -x and x."""

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
    """Shared by roundings: integers stay as they are, bools are refused, and the derivative is 0 where it exists."""

    dtypes = "each"

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any) -> Any:
        return xp.zeros_like(g)

    @staticmethod
    def hint(shapes: list[tuple[int, ...]], params: Params) -> tuple[str, str] | None:
        return NO_NUMBERS


class Floor(Steps, Op):
    """The largest integer not above x, in the dtype of x."""

    into = ("floor",)

    @staticmethod
    def forward(xp: Any, x: Any) -> Any:
        return xp.copy(x) if is_whole(x) else xp.floor(x)


class Ceil(Steps, Op):
    """The smallest integer not below x, in the dtype of x."""

    into = ("ceil",)

    @staticmethod
    def forward(xp: Any, x: Any) -> Any:
        return xp.copy(x) if is_whole(x) else xp.ceil(x)


class Trunc(Steps, Op):
    """The integer part: x rounded towards 0, in the dtype of x."""

    into = ("trunc",)
    per_element = 4

    @staticmethod
    def forward(xp: Any, x: Any) -> Any:
        return xp.copy(x) if is_whole(x) else xp.where(x < 0, xp.ceil(x), xp.floor(x))


class Round(Steps, Op):
    """The nearest integer, or multiple of ``10**-decimals``, in the dtype of x; halves go to the even one."""

    into = ("round",)

    @staticmethod
    def forward(xp: Any, x: Any, *, decimals: int = 0) -> Any:
        if is_whole(x):
            return xp.copy(x)
        ten = 10.0 ** max(decimals, -decimals)  # a power below 1 is not exact: 12.3 is 123 / 10, not 123 * 0.1
        if decimals > 0:
            return xp.round(x * ten) / ten
        return xp.round(x / ten) * ten if decimals < 0 else xp.round(x)


def refuse_bools(x: Any) -> None:
    """Raise TypeError for bools, as PyTorch does where there is no good answer for them."""
    if x.dtype.kind == "b":
        raise TypeError


def beside(xp: Any, value: Any, other: Any) -> Any:
    """A Python number as an array in the dtype of ``other``: most functions would turn the number into float64."""
    return xp.full((), value, other.dtype) if isinstance(value, (int, float)) else value


NO_NUMBERS = "bools are true or false, not numbers", "convert them first: x.long()"


def is_whole(x: Any) -> bool:
    """Whether x is made of integers. Refuses bools."""
    refuse_bools(x)
    return x.dtype.kind in "iu"


exp, log, sqrt, sin, cos, tanh = caller(Exp), caller(Log), caller(Sqrt), caller(Sin), caller(Cos), caller(Tanh)
expm1, log1p, log2, tan, erf = caller(Expm1), caller(Log1p), caller(Log2), caller(Tan), caller(Erf)
log10, exp2, trunc = caller(Log10), caller(Exp2), caller(Trunc)
rsqrt, reciprocal, square = caller(Rsqrt), caller(Reciprocal), caller(Square)
abs, sign, floor, ceil, round_op = caller(Abs), caller(Sign), caller(Floor), caller(Ceil), caller(Round)


def round(input: Any, *, decimals: int = 0) -> Any:
    """The nearest integer, in the dtype of the input; halves go to the even one. Integers stay as they are.

    ``decimals`` is how many digits after the point to keep; -2 rounds to hundreds. Raises `DtypeError` for bools,
    and for integers with ``decimals``.

    >>> import tinygrad_edu as tg
    >>> tg.round(tg.tensor([0.5, 1.5, -2.4])), tg.round(tg.tensor([3.14159]), decimals=2)
    (tensor([ 0.,  2., -2.]), tensor([3.1400]))
    """
    if decimals:
        input = as_tensor(input)
        tried = f"round of a tensor {tuple(input.shape)} {input.dtype}, decimals={decimals!r}"
        if not isinstance(decimals, int) or not -300 <= decimals <= 300:
            why, mend = "it is how many digits after the point to keep", "give it a small integer"
            raise DtypeError(tried, why, mend)
        if input.dtype.kind in "iu":
            why = "integers have no digits after the point, and PyTorch rounds those before it only in floats"
            raise DtypeError(tried, why, "convert it first: x.double().round(decimals=…)")
    return round_op(input, decimals=decimals)


def positive(input: Any) -> Any:
    """``+input``: the input itself. Raises `DtypeError` for bools."""
    x = as_tensor(input)
    if x.dtype.kind == "b":
        raise DtypeError(f"+x of a tensor {tuple(x.shape)} bool", *NO_NUMBERS)
    return x


explain_all(globals(), "refuse_bools", "is_whole")
