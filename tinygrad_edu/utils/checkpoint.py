"""Computing parts of a model again during backward, to keep less in memory: not here yet, and the error says so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from ..errors import AutogradError


def checkpoint(function: Callable[..., Any], *args: Any, **options: Any) -> NoReturn:
    """Not here yet: raises `AutogradError`, which says what to write instead."""
    name = getattr(function, "__name__", type(function).__name__)
    raise AutogradError(
        f"checkpoint({name}, …)",
        "computing a part of a model again during backward is not here yet",
        f"call {name}(…) itself: it gives the same values and gradients, and keeps more in memory",
    )


__all__ = ["checkpoint"]
