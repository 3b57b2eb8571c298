"""What is no operation, told to those who watch: see `core.slow.Interceptor.outside`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..settings import modes


def outside(what: str, *given: Any) -> Any:
    """Tell those who watch about what is no operation. Returns what the first of them, innermost first, puts there."""
    for observer in modes().observers[::-1]:
        found = observer.outside(what, *given)
        if found is not None:
            return found
    return None


def announced(call: Callable[..., Any]) -> Callable[..., Any]:
    """Let those who watch know of each call of a function, and take it over: see `Interceptor.outside`."""

    @functools.wraps(call)
    def told(*args: Any, **kwargs: Any) -> Any:
        if modes().observers:
            taken = outside("call", functools.partial(told, *args, **kwargs))
            if taken is not None:
                return None
        return call(*args, **kwargs)

    return told
