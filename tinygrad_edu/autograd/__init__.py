"""Derivatives on request: backward and grad, forward mode, functions with a backward of one's own, and their check."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from . import edges as _edges  # noqa: F401  (adds to what nodes can tell)
from .engine import backward, grad
from .tensors import tensor_namespace

if TYPE_CHECKING:
    from .check import gradcheck, gradgradcheck
    from .forward import jvp
    from .function import Function

__all__ = ["Function", "backward", "grad", "gradcheck", "gradgradcheck", "jvp", "tensor_namespace"]
_LAZY = {"Function": "function", "jvp": "forward", "gradcheck": "check", "gradgradcheck": "check"}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(importlib.import_module(f".{_LAZY[name]}", __name__), name)
    from ..common.missing import MissingName

    raise MissingName(__name__, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
