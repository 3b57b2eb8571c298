"""What a way of a tip may say of itself: that it prepares, where it stands, and what there is to look at."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from ..observe.memory import mark

__all__ = ["Shown", "begin", "mark", "prepared", "prepares"]

F = TypeVar("F", bound=Callable[..., Any])


def prepared(way: F) -> F:
    """For a way that returns what is to be called again and again: its set-up, first and later calls count apart.

    A way that yields it instead can clear away after the last call.
    """
    way.prepares = True  # type: ignore[attr-defined]
    return way


def prepares(way: Callable[..., Any]) -> bool:
    """Whether a way is `prepared`."""
    return bool(getattr(way, "prepares", False))


def begin(way: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[Callable[[], Any], Callable[[], None]]:
    """Set up a prepared way: what to call, and what to call at the end."""
    made = way(*arguments)
    if not isinstance(made, Generator):
        return made, lambda: None

    def end() -> None:
        with suppress(StopIteration):
            next(made)

    return next(made), end


@dataclass(frozen=True)
class Shown:
    """What a way returns to be looked at: a table, a listing, a trace, a diagnosis. ``value`` is what is compared."""

    title: str
    text: str
    value: Any = None
