"""`tinygrad_edu.nn.functional`, with losses that take PyTorch's older arguments."""

from __future__ import annotations

import functools
from typing import Any

from ....nn import functional as _functional
from ....nn.functional import loss as _loss
from ..older import reduction as _reduction

__all__ = _functional.__all__


def _taking_older(function: Any) -> Any:
    @functools.wraps(function)
    def loss(*args: Any, size_average: Any = None, reduce: Any = None, **kwargs: Any) -> Any:
        return function(*args, **_reduction(function.__name__, size_average, reduce, kwargs))

    return loss


def __getattr__(name: str) -> Any:
    found = getattr(_functional, name)
    if getattr(found, "__module__", "") == _loss.__name__:
        found = _taking_older(found)
    globals()[name] = found
    return found
