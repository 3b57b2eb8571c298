"""A clock that the tests move."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

MILLISECOND = 2.0**-10  # nearly; sums of it are exact


class Clock:
    """Stands still, unless somebody takes time."""

    def __init__(self) -> None:
        self.now = 0.0
        self.calls: list[str] = []

    def __call__(self) -> float:
        return self.now

    def takes(self, seconds: float | Iterator[float], name: str = "") -> Callable[..., None]:
        """A function that takes so long, or as long as the next of those."""
        times = itertools.repeat(seconds) if isinstance(seconds, float) else seconds

        def function(*_: Any) -> None:
            self.calls.append(name)
            self.now += next(times)

        function.__name__ = name or "function"
        return function
