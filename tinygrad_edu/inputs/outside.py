"""Tells interceptors about events that are not operations: see `core.slow.Interceptor.outside`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..settings import modes


def outside(what: str, *given: Any) -> Any:
    """Tell interceptors about an event that is not an operation, the innermost first.

    Returns the first answer that is not None, which takes the place of what would have happened.
    """
    for observer in modes().observers[::-1]:
        found = observer.outside(what, *given)
        if found is not None:
            return found
    return None


def announced(call: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose calls interceptors hear of, and may take over: see `Interceptor.outside`."""

    @functools.wraps(call)
    def told(*args: Any, **kwargs: Any) -> Any:
        if modes().observers:
            taken = outside("call", functools.partial(told, *args, **kwargs))
            if taken is not None:
                return None
        return call(*args, **kwargs)

    return told
