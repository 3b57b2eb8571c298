"""Derivatives on request: backward and grad, forward mode, functions with their own backward, and gradient checks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..common import late as _late
from . import edges as _edges  # noqa: F401  (adds to what nodes can tell)
from .engine import backward, grad
from .tensors import tensor_namespace

if TYPE_CHECKING:
    from .check import gradcheck, gradgradcheck
    from .forward import jvp
    from .function import Function

__all__ = ["Function", "backward", "grad", "gradcheck", "gradgradcheck", "jvp", "tensor_namespace"]
_LATER = {"Function": "function", "jvp": "forward", "gradcheck": "check", "gradgradcheck": "check"}

if not TYPE_CHECKING:  # otherwise a type checker would accept every name
    __getattr__ = _late.getattr_of(__name__, _LATER)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})
