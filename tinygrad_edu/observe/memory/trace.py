"""The allocator's own figures, shared by all that watch at the same time."""

from __future__ import annotations

import tracemalloc
from typing import Protocol


class Watcher(Protocol):
    """Somebody who wants to know the most bytes since he last asked."""

    high: int


class Trace:
    """What ``tracemalloc`` sees, without what the watching itself takes."""

    def __init__(self) -> None:
        self.open: list[Watcher] = []
        self._own = 0  # bytes that the watchers keep
        self._started = False

    def begin(self, watcher: Watcher) -> None:
        """Watch from now on. Tracing is switched on where nobody has done so."""
        if not tracemalloc.is_tracing():
            tracemalloc.start()
            self._started = True
        self.open.append(watcher)

    def end(self, watcher: Watcher) -> None:
        """Watch no longer."""
        self.open.remove(watcher)
        if not self.open and self._started:
            tracemalloc.stop()
            self._started, self._own = False, 0

    def look(self) -> int:
        """The bytes now. Each watcher learns of the most since the last look, whoever took it."""
        now, most = tracemalloc.get_traced_memory()
        for watcher in self.open:
            watcher.high = max(watcher.high, most - self._own)
        tracemalloc.reset_peak()
        return now - self._own

    def leave_out(self, since: int) -> None:
        """What was taken since a look was for watching."""
        self._own += self.look() - since


trace = Trace()
