"""Derivatives on request: backward and grad, forward mode, functions with their own backward, and gradient checks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..common import late as _late
from ..settings import enable_grad as enable_grad
from ..settings import inference_mode as inference_mode
from ..settings import no_grad as no_grad
from ..settings import set_grad_enabled as set_grad_enabled
from . import edges as _edges  # noqa: F401  (adds to what nodes can tell)
from .engine import backward, grad
from .tensors import tensor_namespace

if TYPE_CHECKING:
    from . import function as function
    from . import functional as functional
    from .anomaly import detect_anomaly, set_detect_anomaly
    from .check import gradcheck, gradgradcheck
    from .forward import jvp
    from .function import Function
    from .variable import Variable

__all__ = [
    "Function", "Variable", "backward", "detect_anomaly", "grad", "gradcheck", "gradgradcheck", "jvp",
    "set_detect_anomaly", "tensor_namespace",
]  # fmt: skip
_LATER = {
    "detect_anomaly": "anomaly", "set_detect_anomaly": "anomaly",
    "Function": "function", "Variable": "variable", "jvp": "forward", "gradcheck": "check", "gradgradcheck": "check",
}  # fmt: skip
_MODULES = {"function": "function", "functional": "functional"}

if not TYPE_CHECKING:  # otherwise a type checker would accept every name
    __getattr__ = _late.getattr_of(__name__, _LATER, _MODULES)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER, *_MODULES})
