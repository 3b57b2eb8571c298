"""The error function, which NumPy lacks."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

_each = np.frompyfunc(math.erf, 1, 1)


def erf(x: Any) -> Any:
    return np.asarray(_each(x)).astype(x.dtype)
