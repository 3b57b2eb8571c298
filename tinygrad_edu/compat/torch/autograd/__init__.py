"""`tinygrad_edu.autograd`, with PyTorch's older path to the profiler."""

from __future__ import annotations

from typing import Any

from .... import autograd as _autograd
from . import profiler

__all__ = ["profiler", *_autograd.__all__]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    return getattr(_autograd, name)
