"""What a way of a tip may say of itself: that it prepares, where it stands, and what there is to look at."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeVar

from ..common.blocks import block
from ..observe.memory import mark

__all__ = ["Aside", "Shown", "begin", "log", "logged", "mark", "prepared", "prepares"]

F = TypeVar("F", bound=Callable[..., Any])
Series = dict[str, list[float]]
_LOG: ContextVar[Series | None] = ContextVar("log", default=None)  # of the way that runs


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


class Aside:
    """What a way returns beside its numbers, to be read by `Tip.reads`. It need not be the same in other ways."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Aside)

    __hash__ = object.__hash__


def log(**numbers: float) -> None:
    """Note the numbers of one step of a training run, ``log(loss=loss.item())``. They are drawn over the steps.

    Where no tip runs, nothing happens.
    """
    series = _LOG.get()
    if series is not None:
        for name, number in numbers.items():
            series.setdefault(name, []).append(float(number))


@block
def logged() -> Iterator[Series]:
    """What ways `log` inside the block: by name, the numbers in order."""
    series: Series = {}
    before = _LOG.set(series)
    try:
        yield series
    finally:
        _LOG.reset(before)
