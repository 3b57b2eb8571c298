"""MyGrad's switches: the graph, and the guard of NumPy arrays. Each is a block, a decorator, and has no brackets."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

from ... import guard, settings
from .tensor import asarray


class Switch:
    """``with switch: …`` or ``@switch``. Blocks lie inside each other, and each thread has its own."""

    def __init__(self, make: Callable[[], Any], told: str) -> None:
        self._make, self.__doc__ = make, told
        self._open = threading.local()

    def __enter__(self) -> None:
        scope = self._make()
        scope.__enter__()
        self._open.scopes = [*getattr(self._open, "scopes", []), scope]

    def __exit__(self, *raised: Any) -> None:
        *self._open.scopes, scope = self._open.scopes
        scope.__exit__(*raised)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with self._make():
                return function(*args, **kwargs)

        return inside


class _NoAutodiff(Switch):
    def __call__(self, function: Callable[..., Any], *, to_numpy: bool = False) -> Callable[..., Any]:
        inside = super().__call__(function)

        @functools.wraps(function)
        def array(*args: Any, **kwargs: Any) -> Any:
            return asarray(inside(*args, **kwargs))

        return array if to_numpy else inside


no_autodiff = _NoAutodiff(
    settings.no_grad, "No graph is made, so there are no gradients, and no array is locked. ``to_numpy`` gives arrays."
)
mem_guard_off = Switch(guard.off, "No array is locked: faster for small tensors, and a write can corrupt the graph.")
mem_guard_on = Switch(guard.on, "Arrays that the graph needs are read-only.")

turn_memory_guarding_off = guard.turn_off
turn_memory_guarding_on = guard.turn_on


def mem_guard_active() -> bool:
    """Whether arrays are being locked here."""
    return guard.is_on()
