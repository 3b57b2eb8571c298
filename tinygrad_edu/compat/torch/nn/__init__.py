"""`tinygrad_edu.nn`, with losses that take PyTorch's older arguments, and with wrappers for several devices."""

from __future__ import annotations

from typing import Any

from .... import nn as _nn
from ....nn import loss
from ..older import reduction as _reduction
from . import functional, parallel
from .parallel import DataParallel

__all__ = ["DataParallel", "functional", "parallel", *_nn.__all__]  # noqa: PLE0604


def _taking_older(kind: Any) -> Any:
    """The same loss, which takes ``size_average`` and ``reduce`` besides."""

    def __init__(self: Any, *args: Any, size_average: Any = None, reduce: Any = None, **kwargs: Any) -> None:
        kind.__init__(self, *args, **_reduction(kind.__name__, size_average, reduce, kwargs))

    return type(kind.__name__, (kind,), {"__init__": __init__, "__doc__": kind.__doc__, "__module__": __name__})


def __getattr__(name: str) -> Any:
    found = getattr(_nn, name)
    if isinstance(found, type) and found.__module__ == loss.__name__:
        found = _taking_older(found)
    globals()[name] = found  # one class for one name
    return found
