"""The logistic function, which NumPy lacks: ``1 / (1 + exp(-x))``.

Far to the left the exponential becomes inf and the result 0, which is right but for numbers too small to be normal. So
NumPy's warning about inf is switched off.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .strips import strips

Array = Any


def sigmoid(x: Array) -> Array:
    """The logistic function, in the dtype of x, which is a float."""
    out = np.negative(x)
    with np.errstate(over="ignore"):
        if not isinstance(out, np.ndarray):
            return 1 / (np.exp(out) + 1)
        for z in strips(out.ravel("K")):  # without gaps, whatever the strides of x
            np.exp(z, out=z)
            z += 1
            np.divide(1, z, out=z)
    return out
