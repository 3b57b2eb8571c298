"""tinygrad_edu: a small autograd engine to learn from. See ``python -m pydoc tinygrad_edu`` for the parts.

Submodules load when they are first used, so ``import tinygrad_edu`` costs little more than ``import numpy``.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from . import autograd, dtypes
from .creation import arange, full, ones, ones_like, zeros, zeros_like
from .dtypes import bool_ as bool
from .dtypes import float16, float32, float64, int8, int16, int32, int64, uint8
from .ops.arithmetic import clamp, maximum, minimum, where
from .ops.linalg import matmul
from .ops.movement import cat, stack
from .ops.unary import abs, cos, exp, log, relu, sigmoid, sin, sqrt, tanh
from .random import manual_seed, rand, randint, randn, randperm
from .settings import enable_grad, is_grad_enabled, no_grad, set_grad_enabled
from .tensor import Tensor, as_tensor, from_numpy, tensor

if TYPE_CHECKING:
    from . import data, guard, nn, optim

__version__ = "0.1.0"
_LAZY = ("backends", "compile", "data", "errors", "guard", "lessons", "nn", "optim", "settings", "views")

__all__ = [
    "Tensor", "abs", "arange", "as_tensor", "autograd", "bool", "cat", "clamp", "cos", "data", "dtypes",
    "enable_grad", "exp", "float16", "float32", "float64", "from_numpy", "full", "guard", "int8", "int16", "int32",
    "int64", "is_grad_enabled", "log", "manual_seed", "matmul", "maximum", "minimum", "nn", "no_grad", "ones",
    "ones_like", "optim", "rand", "randint", "randn", "randperm", "relu", "set_grad_enabled", "sigmoid", "sin",
    "sqrt", "stack", "tanh", "tensor", "uint8", "where", "zeros", "zeros_like",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return importlib.import_module(f".{name}", __name__)
    if name == "bfloat16":
        return dtypes.bfloat16
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY, "bfloat16"})
