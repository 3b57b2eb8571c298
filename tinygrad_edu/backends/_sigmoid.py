"""The logistic function, which NumPy lacks: ``1 / (1 + exp(-x))``.

Far to the left the exponential becomes inf, and the result 0, which it is there to all digits but those of numbers too
small to be normal. So NumPy's complaint about inf is not wanted.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = Any
_BLOCK = 16384  # elements at a time: all that is computed for them stays in the processor's cache


def sigmoid(x: Array) -> Array:
    """The logistic function, in the dtype of x, which is a float."""
    out = np.negative(x)
    with np.errstate(over="ignore"):
        if not isinstance(out, np.ndarray):
            return 1 / (np.exp(out) + 1)
        flat = out.ravel("K")  # without gaps, whatever the strides of x
        for start in range(0, flat.size, _BLOCK):
            z = flat[start : start + _BLOCK]
            np.exp(z, out=z)
            z += 1
            np.divide(1, z, out=z)
    return out
