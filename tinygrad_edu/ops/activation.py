"""Functions that bend, on each element: they make a network more than one matrix."""

from __future__ import annotations

from typing import Any

from ..backends.bends import CUBE, PEAK, STEEPNESS, curve, share_below
from ..backends.strips import in_strips
from ..core.dispatch import caller
from ..core.inplace import inplace as write_to
from ..core.op import Op, Params
from ..errors import ArgumentError
from ..inputs.arguments import as_tensor
from ..inputs.kinds import explain_all
from .unary import NO_NUMBERS, refuse_bools

# mypy: disable-error-code="override"


class Relu(Op):
    """``max(x, 0)``; the derivative at 0 is 0. Bools are refused."""

    dtypes = "each"
    into = ("maximum", 0)
    saves = ("out",)

    @staticmethod
    def forward(xp: Any, x: Any) -> Any:
        refuse_bools(x)
        return xp.relu(x)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, out: Any) -> Any:
        return xp.where(out > 0, g, 0)  # a product would make nan of infinity times 0

    @staticmethod
    def hint(shapes: list[tuple[int, ...]], params: Params) -> tuple[str, str] | None:
        return NO_NUMBERS


class LeakyRelu(Op, name="leaky_relu"):
    """``x`` where it is positive, else ``x * negative_slope``, which is the derivative at 0 too."""

    dtypes = "floating"
    saves = ("x", "negative_slope")
    per_element = 4

    @staticmethod
    @in_strips
    def forward(xp: Any, x: Any, *, negative_slope: float = 0.01) -> Any:
        return xp.maximum(x, 0) + xp.minimum(x, 0) * negative_slope  # much faster than a where over mixed signs

    @staticmethod
    @in_strips
    def backward(xp: Any, g: Any, needs: Any, x: Any, negative_slope: float) -> Any:
        return xp.where(x > 0, g, g * negative_slope)


class Elu(Op):
    """``x`` where it is positive, else ``alpha * (exp(x) - 1)``."""

    dtypes = "floating"
    saves = ("x", "alpha")
    per_element = 5

    @staticmethod
    @in_strips
    def forward(xp: Any, x: Any, *, alpha: float = 1.0) -> Any:
        return xp.maximum(x, 0) + xp.expm1(xp.minimum(x, 0)) * alpha

    @staticmethod
    @in_strips
    def backward(xp: Any, g: Any, needs: Any, x: Any, alpha: float) -> Any:
        return xp.where(x > 0, g, g * (xp.exp(xp.minimum(x, 0)) * alpha))


class Hardtanh(Op):
    """``x`` limited to ``low`` and ``high``. The slope at both limits is 0, unlike that of `clamp`."""

    dtypes = "each"
    saves = ("x", "low", "high")
    per_element = 2

    @staticmethod
    def forward(xp: Any, x: Any, *, low: float = -1.0, high: float = 1.0) -> Any:
        refuse_bools(x)
        return xp.minimum(xp.maximum(x, low), high)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, x: Any, low: float, high: float) -> Any:
        return xp.where((x <= low) | (x >= high), xp.zeros_like(g), g)

    @staticmethod
    def hint(shapes: list[tuple[int, ...]], params: Params) -> tuple[str, str] | None:
        return NO_NUMBERS


class Sigmoid(Op):
    """``1 / (1 + exp(-x))``."""

    dtypes = "float"
    saves = ("out",)
    per_element = 4

    @staticmethod
    def forward(xp: Any, x: Any) -> Any:
        return xp.sigmoid(x)

    @staticmethod
    @in_strips
    def backward(xp: Any, g: Any, needs: Any, out: Any) -> Any:
        return g * (out * (1 - out))


class Silu(Op):
    """``x * sigmoid(x)``, also called swish."""

    dtypes = "floating"
    saves = ("x",)
    per_element = 5

    @staticmethod
    @in_strips
    def forward(xp: Any, x: Any) -> Any:
        return x * xp.sigmoid(x)

    @staticmethod
    @in_strips
    def backward(xp: Any, g: Any, needs: Any, x: Any) -> Any:
        share = xp.sigmoid(x)
        return g * (share + x * (share * (1 - share)))


class Softplus(Op):
    """``log(1 + exp(beta * x)) / beta``: relu with its corner rounded off. Where ``beta * x > threshold``, x itself."""

    dtypes = "floating"
    saves = ("x", "beta", "threshold")
    per_element = 10

    @staticmethod
    @in_strips
    def forward(xp: Any, x: Any, *, beta: float = 1.0, threshold: float = 20.0) -> Any:
        scaled = x * beta
        soft = xp.maximum(scaled, 0) + xp.log1p(xp.exp(-xp.abs(scaled)))  # in this form nothing overflows
        return xp.where(scaled > threshold, x, soft / beta)

    @staticmethod
    @in_strips
    def backward(xp: Any, g: Any, needs: Any, x: Any, beta: float, threshold: float) -> Any:
        scaled = x * beta
        return xp.where(scaled > threshold, g, g * xp.sigmoid(scaled))


class Gelu(Op):
    """``x`` times the fraction of a normal distribution that lies below x."""

    dtypes = "floating"
    saves = ("x",)
    per_element = 5

    @staticmethod
    @in_strips
    def forward(xp: Any, x: Any) -> Any:
        return x * share_below(xp, x)

    @staticmethod
    @in_strips
    def backward(xp: Any, g: Any, needs: Any, x: Any) -> Any:
        return g * (share_below(xp, x) + x * (xp.exp(x * x * -0.5) * PEAK))


class GeluTanh(Op, name="gelu_tanh"):
    """`gelu` with ``tanh(0.798 * (x + 0.0447 * x**3))`` in place of erf: cheaper, and off by less than 0.0005."""

    dtypes = "floating"
    saves = ("x",)
    per_element = 8

    @staticmethod
    @in_strips
    def forward(xp: Any, x: Any) -> Any:
        return x * (curve(xp, x) * 0.5 + 0.5)

    @staticmethod
    @in_strips
    def backward(xp: Any, g: Any, needs: Any, x: Any) -> Any:
        bend = curve(xp, x)
        slope = x * x * (3 * CUBE * STEEPNESS) + STEEPNESS
        return g * (bend * 0.5 + 0.5 + x * ((1 - bend * bend) * slope) * 0.5)


relu, sigmoid = caller(Relu), caller(Sigmoid)
leaky_relu_op, elu_op, silu_op, hardtanh_op = caller(LeakyRelu), caller(Elu), caller(Silu), caller(Hardtanh)
softplus_op, gelu_op, gelu_tanh = caller(Softplus), caller(Gelu), caller(GeluTanh)


def leaky_relu(input: Any, negative_slope: float = 0.01, inplace: bool = False) -> Any:
    """``input`` where it is positive, else ``input * negative_slope``. ``inplace`` writes the result to the input.

    Raises `DtypeError` for integers.
    """
    params = {"negative_slope": float(negative_slope)}
    return write_to(LeakyRelu, input, (), params) if inplace else leaky_relu_op(input, **params)


def elu(input: Any, alpha: float = 1.0, inplace: bool = False) -> Any:
    """``input`` where it is positive, else ``alpha * (exp(input) - 1)``. ``inplace`` writes the result to the input.

    Raises `DtypeError` for integers.
    """
    return write_to(Elu, input, (), {"alpha": alpha}) if inplace else elu_op(input, alpha=alpha)


def hardtanh(input: Any, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Any:
    """``input`` limited to ``min_val`` and ``max_val``; at the limits and beyond, the slope is 0.

    ``inplace`` writes to the input. Integers stay integers, so the limits lose their fractions. Raises
    `ArgumentError` where ``min_val`` is above ``max_val``, `DtypeError` for bools.
    """
    if not min_val <= max_val:
        tried, why = f"hardtanh with min_val={min_val} and max_val={max_val}", "min_val must be below max_val"
        raise ArgumentError(tried, why, "give the smaller one first")
    x = as_tensor(input)
    kind = int if x.dtype.kind in "iu" else float
    params = {"low": kind(min_val), "high": kind(max_val)}
    return write_to(Hardtanh, x, (), params) if inplace else hardtanh_op(x, **params)


def silu(input: Any, inplace: bool = False) -> Any:
    """``input * sigmoid(input)``, also called swish. ``inplace`` writes the result to the input.

    Raises `DtypeError` for integers.
    """
    return write_to(Silu, input) if inplace else silu_op(input)


def softplus(input: Any, beta: float = 1.0, threshold: float = 20.0) -> Any:
    """``log(1 + exp(beta * input)) / beta``: relu with its corner rounded off.

    Where ``beta * input > threshold``, the input itself. Raises `DtypeError` for integers.
    """
    return softplus_op(input, beta=beta, threshold=threshold)


def gelu(input: Any, *, approximate: str = "none") -> Any:
    """``input`` times the fraction of a normal distribution that lies below the input, computed with erf.

    ``"tanh"`` approximates that. Raises `ArgumentError` for another approximation, `DtypeError` for integers.
    """
    if approximate not in ("none", "tanh"):
        tried, why = f"gelu with approximate={approximate!r}", "there is no such approximation"
        raise ArgumentError(tried, why, "use 'none' or 'tanh'")
    return gelu_op(input) if approximate == "none" else gelu_tanh(input)


explain_all(globals(), "relu", "sigmoid", "silu")
