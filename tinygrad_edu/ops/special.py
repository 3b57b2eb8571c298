"""Functions of probability and counting: logits, sums of exponentials, the tail of the error function, log-gamma.

What NumPy lacks is computed here from series, in float64 whatever the dtype of x. Programs rarely wait for these
functions, so that is affordable, and float32 results are right to the last bit or nearly so.
"""

from __future__ import annotations

from typing import Any

from ..core.dispatch import caller
from ..core.op import Op
from ..dtypes import float32, float64
from ..inputs.arguments import number
from ..inputs.kinds import explained
from .unary import LN2, TWO_OVER_ROOT_PI, beside

# mypy: disable-error-code="override"

PI = 3.141592653589793


class Logit(Op):
    """``log(x / (1 - x))``, the inverse of `sigmoid`. With ``eps``, x is first held between eps and 1 - eps."""

    dtypes = "float"
    saves = ("x", "eps")
    per_element = 4

    @staticmethod
    def forward(xp: Any, x: Any, *, eps: float | None = None) -> Any:
        if eps is not None:
            x = xp.minimum(xp.maximum(x, eps), 1 - eps)
        return xp.log(x / (1 - x))

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, x: Any, eps: float | None) -> Any:
        slope = g / (x * (1 - x))
        if eps is None:
            return xp.where((x < 0) | (x > 1), float("nan"), slope)
        return xp.where((x < eps) | (x > 1 - eps), 0.0, slope)


class Xlogy(Op):
    """``x * log(y)``, broadcast, but 0 where x is 0, even next to log(0). nan where y is nan."""

    dtypes = "float"
    broadcasts = True
    saves = ("x", "y")
    per_element = 5

    @staticmethod
    def forward(xp: Any, x: Any, y: Any) -> Any:
        y = beside(xp, y, x)
        return xp.where((x == 0) & (y == y), 0.0, x * xp.log(y))

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, x: Any, y: Any) -> Any:
        y = beside(xp, y, g)
        gx = xp.where((x == 0) & (y <= 0), 0.0, g * xp.log(y)) if needs[0] else None
        return gx, g * x / y if needs[1] else None


class Logaddexp(Op):
    """``log(exp(x) + exp(y))``, broadcast, so that nothing overflows on the way."""

    dtypes = "floating"
    broadcasts = True
    saves = ("x", "y")
    per_element = 9

    @staticmethod
    def forward(xp: Any, x: Any, y: Any) -> Any:
        more = xp.log1p(xp.exp(-xp.abs(x - y)))
        return xp.where(x == y, x + LN2, xp.maximum(x, y) + more)  # of two infinities the difference is nan

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, x: Any, y: Any) -> Any:
        return _in_shares(xp, g, x - y)


class Logaddexp2(Op):
    """``log2(2**x + 2**y)``, broadcast, so that nothing overflows on the way."""

    dtypes = "floating"
    broadcasts = True
    saves = ("x", "y")
    per_element = 10

    @staticmethod
    def forward(xp: Any, x: Any, y: Any) -> Any:
        more = xp.log1p(2.0 ** -xp.abs(x - y)) / LN2
        return xp.where(x == y, x + 1, xp.maximum(x, y) + more)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, x: Any, y: Any) -> Any:
        return _in_shares(xp, g, (x - y) * LN2)


def _in_shares(xp: Any, g: Any, lead: Any) -> Any:
    share = xp.sigmoid(lead)
    return g * share, g * (1 - share)


class Erfc(Op):
    """``1 - erf(x)``, precise where that is small: the probability of a normal variable (variance 1/2) outside ±x."""

    dtypes = "float"
    saves = ("x",)
    per_element = 100

    @staticmethod
    def forward(xp: Any, x: Any) -> Any:
        wide = xp.astype(x, float64)
        far = xp.minimum(xp.maximum(wide, 0.5), 28.0)  # erfc(28) is 0 in float64
        # (1 + 2z) exp(z²) erfc(z) hardly bends, so a short series of Chebyshev polynomials is enough for it.
        t = (far - MIDDLE) / (far + MIDDLE) * STRETCH
        one = two = 0.0 * t
        for coefficient in TAIL:  # Clenshaw's rule
            one, two = t * one * 2 - two + coefficient, one
        bend = one - t * two
        # Rounding far * far alone would spoil the last digits of its exponential: that of a short number is exact.
        short = xp.astype(xp.astype(far, float32), float64)
        tail = xp.exp(-short * short) * xp.exp((short - far) * (short + far)) * bend / (far * 2 + 1)
        return xp.astype(xp.where(wide < 0.5, 1 - xp.erf(wide), tail), x.dtype)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, x: Any) -> Any:
        return g * (xp.exp(-(x * x)) * -TWO_OVER_ROOT_PI)


# Found with 60 digits from values at 100 nodes between 0.5 and 28, highest order first. In t these are symmetrical.
MIDDLE, STRETCH = 3.7416573867739414, 1.3084841735835594  # sqrt(0.5 * 28), and what makes t go from -1 to 1
TAIL = (
    -7.384079271786827e-18,
    2.198110251705081e-16,
    2.2648422746536705e-16,
    -1.017520165994091e-14,
    2.4402525638002732e-15,
    4.90595571228088e-13,
    -1.2765907308927742e-12,
    -2.1988976305706202e-11,
    1.5275769156390168e-10,
    5.612376178293395e-10,
    -1.2479409992300612e-08,
    5.035209052318395e-08,
    4.3134061652873036e-07,
    -8.208652192447565e-06,
    7.121033163646267e-05,
    -0.0004309830218428148,
    0.001988346256744044,
    -0.007069021123809827,
    0.01819486540608167,
    -0.023608869869483445,
    -0.06204632921997146,
    1.2207062319485416,
)


class Lgamma(Op):
    """The logarithm of ``abs(gamma(x))``; gamma(n) is the factorial of n - 1. Infinite at 0, -1, -2, ...

    For negative x it is precise to about 15 decimals, not digits, as it crosses 0 between any two poles.
    """

    dtypes = "float"
    saves = ("x",)
    per_element = 200

    @staticmethod
    def forward(xp: Any, x: Any) -> Any:
        wide = xp.astype(x, float64)
        y = xp.abs(wide)
        positive = xp.where(y < FAR, _near(xp, xp.minimum(y, FAR)), _far(xp, xp.maximum(y, FAR)))
        # For negative x by reflection: gamma(x) * gamma(-x) = -pi / (x * sin(pi * x)).
        turn = xp.where(wide < 0, wide - xp.round(wide), 0.25)
        reflected = LOG_PI - xp.log(xp.abs(xp.sin(turn * PI))) - xp.log(y) - positive
        result = xp.where(wide < 0, reflected, positive)
        return xp.astype(xp.where(y == float("inf"), y, result), x.dtype)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, x: Any) -> Any:
        return g * _digamma(xp, x)


def _near(xp: Any, x: Any) -> Any:
    """lgamma for x from 0 to `FAR`: gamma(x) = (x - 1) * gamma(x - 1), down to below 2.5, and there a power series.

    The series is in the distance to 2 or 1, where lgamma is 0, so it is precise there too.
    """
    product = x * 0 + 1  # which lies in memory as x does
    for _ in range(8):
        large = x >= 2.5
        x = xp.where(large, x - 1, x)
        product = xp.where(large, product * x, product)
    w = x - xp.floor(x + 0.5)  # what x is above 2, or 1, or 0
    series = 0.0 * w
    for k, c in enumerate(ZETA):
        series = (c / (len(ZETA) + 1 - k) - series) * w
    result = (series + (1 - EULER)) * w + xp.log(product)  # at w + 2
    result = xp.where(x < 1.5, result - xp.log1p(w), result)
    return xp.where(x < 0.5, result - xp.log(x), result)


def _far(xp: Any, x: Any) -> Any:
    """Stirling's formula, for lgamma of large x."""
    return (x - 0.5) * (xp.log(x) - 1) + HALF_LOG_TAU + _horner(STIRLING, 1 / (x * x)) / x


def _horner(coefficients: Any, t: Any) -> Any:
    """The polynomial in t with these coefficients, highest power first."""
    total = 0.0 * t
    for c in coefficients:
        total = total * t + c
    return total


FAR = 10.0
LOG_PI, EULER = 1.1447298858494002, 0.5772156649015329
HALF_LOG_TAU = 0.41893853320467274  # log(2 * pi) / 2 - 1 / 2
# Bernoulli's numbers B(2k), over 2k (2k - 1) for Stirling's formula, and over 2k for its derivative.
STIRLING = (1 / 156, -691 / 360360, 1 / 1188, -1 / 1680, 1 / 1260, -1 / 360, 1 / 12)
SLOPES = (1 / 12, -691 / 32760, 1 / 132, -1 / 240, 1 / 252, -1 / 120, 1 / 12)
# zeta(k) - 1, from k = 27 down to 2: the coefficient of w**k in lgamma(2 + w) is that over k, with alternating signs.
ZETA = (
    7.45071178983543e-09,
    1.4901554828365043e-08,
    2.980350351465228e-08,
    5.960818905125948e-08,
    1.1921992596531106e-07,
    2.38450502727733e-07,
    4.769329867878064e-07,
    9.539620338727962e-07,
    1.908212716553939e-06,
    3.81729326499984e-06,
    7.637197637899763e-06,
    1.528225940865187e-05,
    3.058823630702049e-05,
    6.124813505870483e-05,
    0.00012271334757848915,
    0.0002460865533080483,
    0.0004941886041194645,
    0.0009945751278180853,
    0.0020083928260822143,
    0.00407735619794434,
    0.008349277381922827,
    0.01734306198444914,
    0.03692775514336993,
    0.08232323371113819,
    0.2020569031595943,
    0.6449340668482264,
)


class Digamma(Op):
    """The derivative of `lgamma`, also called psi. Infinite at 0, and nan at -1, -2, ..., where it jumps."""

    dtypes = "float"
    saves = ("x",)
    per_element = 80

    @staticmethod
    def forward(xp: Any, x: Any) -> Any:
        return _digamma(xp, x)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, x: Any) -> Any:
        return g * _trigamma(xp, x)


def _digamma(xp: Any, x: Any) -> Any:
    """psi(y + 1) = psi(y) + 1 / y, until y is beyond `FAR`, where the derivative of Stirling's formula is used.

    In a second derivative this body itself is differentiated, so even a branch not taken must not be infinite.
    """
    wide = xp.astype(x, float64)
    negative = wide < 0
    y = xp.where(negative, 1 - wide, wide)
    total = xp.zeros_like(y)
    for _ in range(10):
        small = y < FAR
        total = xp.where(small, total - 1 / y, total)
        y = xp.where(small, y + 1, y)
    t = 1 / (y * y)
    total = total + xp.log(y) - 0.5 / y - _horner(SLOPES, t) * t
    # By reflection: psi(1 - x) - psi(x) = pi / tan(pi * x).
    turn = xp.where(negative, wide - xp.round(wide), 0.25)
    jump = xp.where(turn != 0, PI / xp.tan(turn * PI), float("nan"))
    return xp.astype(xp.where(negative, total - jump, total), x.dtype)


def _trigamma(xp: Any, x: Any) -> Any:
    """The derivative of `_digamma`, line by line."""
    wide = xp.astype(x, float64)
    negative = wide < 0
    y = xp.where(negative, 1 - wide, wide)
    total = xp.zeros_like(y)
    for _ in range(10):
        small = y < FAR
        total = xp.where(small, total + 1 / (y * y), total)
        y = xp.where(small, y + 1, y)
    t = 1 / (y * y)
    total = total + (1 + 0.5 / y) / y + _horner(CURVES, t) * t / y
    sine = xp.sin(xp.where(negative, wide - xp.round(wide), 0.25) * PI)
    return xp.astype(xp.where(negative, PI * PI / (sine * sine) - total, total), x.dtype)


CURVES = (7 / 6, -691 / 2730, 5 / 66, -1 / 30, 1 / 42, -1 / 30, 1 / 6)  # Bernoulli's numbers themselves

logit_op, xlogy, erfc = caller(Logit), caller(Xlogy), caller(Erfc)
logaddexp, logaddexp2 = caller(Logaddexp), caller(Logaddexp2)
lgamma, digamma = caller(Lgamma), caller(Digamma)


@explained
def logit(input: Any, eps: float | None = None) -> Any:
    """``log(input / (1 - input))``, the inverse of `sigmoid`; nan where input is not between 0 and 1.

    With ``eps``, input is first held between eps and 1 - eps. Raises `DtypeError` for an ``eps`` that is not a number.

    >>> import tinygrad_edu as tg
    >>> tg.logit(tg.tensor([0.5, 0.0]), eps=0.1)
    tensor([ 0.0000, -2.1972])
    """
    return logit_op(input, eps=None if eps is None else number("logit", eps, "eps"))
