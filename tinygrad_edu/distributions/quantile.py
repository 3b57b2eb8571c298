"""The inverse of the normal distribution's cdf, which neither NumPy nor a closed formula gives.

Wichura's algorithm AS241 (1988): three quotients of polynomials, one for the middle and two for the tails, right to
about 16 digits. In the tails the variable is ``sqrt(-log(p))``, so the smallest probabilities lose nothing.

Source: https://doi.org/10.2307/2347330
"""

from __future__ import annotations

import math
from typing import Any

from ..autograd import Function
from ..dtypes import float64
from ..ops.choice import clamp_max, masked_fill, minimum, where
from ..tensor import Tensor

# Numerator and denominator, highest power first: in the middle, in the tails, and far out in them.
_MIDDLE, _TAIL, _FAR = (
    (
        (
            2509.0809287301227, 33430.57558358813, 67265.7709270087, 45921.95393154987, 13731.69376550946,
            1971.5909503065513, 133.14166789178438, 3.3871328727963665,
        ),
        (
            5226.495278852854, 28729.085735721943, 39307.89580009271, 21213.794301586597, 5394.196021424751,
            687.1870074920579, 42.31333070160091, 1.0,
        ),
    ),
    (
        (
            0.0007745450142783414, 0.022723844989269184, 0.2417807251774506, 1.2704582524523684, 3.6478483247632045,
            5.769497221460691, 4.630337846156546, 1.4234371107496835,
        ),
        (
            1.0507500716444169e-09, 0.0005475938084995345, 0.015198666563616457, 0.14810397642748008, 0.6897673349851,
            1.6763848301838038, 2.053191626637759, 1.0,
        ),
    ),
    (
        (
            2.0103343992922881e-07, 2.7115555687434876e-05, 0.0012426609473880784, 0.026532189526576124,
            0.29656057182850487, 1.7848265399172913, 5.463784911164114, 6.657904643501103,
        ),
        (
            2.0442631033899397e-15, 1.421511758316446e-07, 1.8463183175100548e-05, 0.0007868691311456133,
            0.014875361290850615, 0.1369298809227358, 0.599832206555888, 1.0,
        ),
    ),
)  # fmt: skip
_ROOT_2_PI = math.sqrt(2 * math.pi)


class Quantile(Function):
    """The number that standard normal draws stay below with probability ``p``; nan outside 0 to 1."""

    @staticmethod
    def forward(ctx: Any, p: Tensor) -> Tensor:
        given, p = p, p if p.dtype == float64 else p.float()  # the coefficients are beyond float16
        q = p - 0.5
        r = clamp_max(q.abs(), 0.425)
        middle = q * _quotient(_MIDDLE, 0.180625 - r * r)
        r = (-minimum(p, 1 - p).log()).sqrt()
        tail = where(r <= 5, _quotient(_TAIL, r - 1.6), _quotient(_FAR, r - 5))
        y = where(q.abs() <= 0.425, middle, tail * q.sign())
        y = masked_fill(masked_fill(y, p == 0, -math.inf), p == 1, math.inf).to(given.dtype)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        (y,) = ctx.saved_tensors
        return g * (y * y / 2).exp() * _ROOT_2_PI  # the cdf's slope is the density


def _quotient(polynomials: tuple[tuple[float, ...], tuple[float, ...]], r: Tensor) -> Tensor:
    above, below = (_polynomial(coefficients, r) for coefficients in polynomials)
    return above / below


def _polynomial(coefficients: tuple[float, ...], r: Tensor) -> Tensor:
    """Horner's rule."""
    first, *rest = coefficients
    found = r * 0 + first
    for c in rest:
        found = found * r + c
    return found
