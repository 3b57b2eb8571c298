"""What the package has from the start. All else loads when it is first used."""

from __future__ import annotations

import numpy as _numpy  # noqa: F401  (first: ten imports deep, it takes half as long again, in Python 3.11)

from . import autograd, dtypes
from .backends import Device as device
from .dtypes import bool_ as bool
from .dtypes import float16, float32, float64, int8, int16, int32, int64, uint8
from .dtypes import float16 as half
from .dtypes import float32 as float
from .dtypes import float64 as double
from .dtypes import int16 as short
from .dtypes import int32 as int
from .dtypes import int64 as long
from .settings import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from .tensor import Tensor, as_tensor, from_numpy, tensor

__all__ = [
    "Tensor", "as_tensor", "autograd", "bool", "device", "double", "dtypes", "enable_grad", "float", "float16",
    "float32", "float64", "from_numpy", "half", "inference_mode", "int", "int8", "int16", "int32", "int64",
    "is_grad_enabled", "is_inference_mode_enabled", "long", "no_grad", "set_grad_enabled", "short", "tensor", "uint8",
]  # fmt: skip
