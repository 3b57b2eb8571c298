"""The error function, which NumPy lacks.

``erf(x) = tanh(x * h(x * x))``, where ``h = 2 / sqrt(pi) + t * S(t)`` hardly bends, so a short rational function is
enough for S. Near 0 the result is as precise as ``x * 2 / sqrt(pi)``, and far out tanh makes it exactly 1.

The coefficients were fitted for this file, with 70 digits, by Lawson's iteration: S = P / Q is linearised over nodes
spread like Chebyshev's, and each node gets a new weight from its error until all errors are alike. This minimises the
relative error of erf: 3.4e-9 for float32 and 1.1e-17 for float64. All coefficients are positive, so nothing cancels.

The largest error, measured on every seventh float32 against SciPy and on 350 000 float64 numbers against mpmath, is 2.2
units in the last place for float32 and 2.1 for float64 with the tanh that NumPy has for AVX2 and AVX-512; with the one
of the C library 3.2 and 2.8. No result is beyond 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .strips import STRIP, strips

Array = Any

_SLOPE = 0.12837916709551257  # 2 / sqrt(pi), the slope at 0, less 1
# By dtype: P and Q, lowest power first, and where the result has long been 1.
_FITS: dict[str, tuple[list[float], list[float], float]] = {
    "float32": (
        [0.102772544543481253, 0.0159157582723704174, 0.00181291368355682809],
        [1.0, 0.156897374331796443, 0.0237016395290328459, 0.00032526760274737986],
        4.5,
    ),
    "float64": (
        [
            0.10277260330193885, 0.04813726596890173, 0.0131945485681746965, 0.00232389935392377374,
            0.000282633760417477923, 2.41483798103390308e-5, 1.36664302011309481e-6, 4.83366077378036492e-8,
            4.30269789682115124e-10,
        ],
        [
            1.0, 0.470421679084506358, 0.135085430090316747, 0.0249604150795826456, 0.00324729343310000845,
            0.000300449860932505541, 1.88957544017587385e-5, 7.9584722209555676e-7, 1.36512693295716023e-8,
            2.83717926142847429e-11,
        ],
        6.5,
    ),
}  # fmt: skip


def erf(x: Array) -> Array:
    """The error function, in the dtype of x; in float32 for integers. Narrower floats are computed with in float32."""
    kind = "float64" if x.dtype == np.float64 else "float32"
    p, q, far = _FITS[kind]
    # Without gaps, whatever the strides of x.
    out = np.empty_like(x, dtype=kind, order="C" if 0 in x.strides else "K")
    np.clip(x, -far, far, out=out)
    room = np.empty((3, min(STRIP, out.size)), kind)
    for z in strips(out.ravel("K")):
        t, s, below = room[:, : z.size]
        np.multiply(z, z, out=t)
        _polynomial(p, t, s)
        s /= _polynomial(q, t, below)
        s *= t
        s += _SLOPE
        s *= z
        s += z  # adding the 1 of the slope last keeps the roundings of all before it small
        np.tanh(s, out=z)
    if x.dtype.kind not in "biu":
        out = out.astype(x.dtype, copy=False)
    return out if out.ndim else out[()]


def _polynomial(coefficients: list[float], t: Array, out: Array) -> Array:
    """Horner's rule, in ``out``."""
    *lower, second, first = coefficients
    np.multiply(t, first, out=out)
    out += second
    for c in reversed(lower):
        out *= t
        out += c
    return out
