"""When each batch was asked for, read, joined and used: what a loader's workers did, and where training waited."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from time import perf_counter as clock

from ..common.lines import Line

__all__ = ["Fetched", "Timeline", "clock", "passes"]
MOST = 4096  # batches that are kept: the last ones


@dataclass(frozen=True, slots=True)
class Fetched:
    """One batch. Times are in seconds since the pass began.

    A worker began to read its samples, had ``read`` them, had ``joined`` them, and had it ``packed``. Whoever trains
    ``wanted`` it, and had it at ``taken``. ``worker`` is None for a batch that was read by the loop itself.
    """

    number: int
    samples: int
    worker: int | None
    asked: float
    began: float
    read: float
    joined: float
    packed: float
    wanted: float
    taken: float

    @property
    def waited(self) -> float:
        """Seconds for which whoever trains stood still."""
        return self.taken - self.wanted


@dataclass
class Timeline:
    """One pass over a data set, batch by batch; the last 4,096 are kept. ``kind`` is that of its workers."""

    workers: int
    kind: str = ""
    origin: float = field(default_factory=clock)  # on the clock `time.perf_counter`, which all processes share
    starts: dict[int, tuple[float, float]] = field(default_factory=dict)  # of each worker: begun, and ready
    batches: deque[Fetched] = field(default_factory=lambda: deque(maxlen=MOST))
    count: int = 0
    samples: int = 0
    waited: float = 0.0
    opened: float = 0.0  # how long it took to ask for the first batches; with workers, also to start them
    left: float = 0.0  # when one more batch was wanted than there was
    ended: float | None = None  # when its workers had been ended, too
    line: Line = None  # of the loop, where that is known

    def __post_init__(self) -> None:
        for seen in _watchers:
            seen.append(self)

    def open(self) -> None:
        """The first batches have been asked for."""
        self.opened = clock() - self.origin
        self.waited += self.opened

    def note(self, number: int, samples: int, worker: int | None, *when: float) -> None:
        """Keep a batch. ``when`` are the times of `Fetched`, on the clock."""
        fetched = Fetched(number, samples, worker, *(time - self.origin for time in when))
        self.batches.append(fetched)
        self.count += 1
        self.samples += samples
        self.waited += fetched.waited

    def end(self, wanted: float) -> None:
        """The pass is over: no batch was left when one more was ``wanted``."""
        now = clock()
        self.waited += now - wanted
        self.left, self.ended = wanted - self.origin, now - self.origin

    @property
    def span(self) -> float:
        """Seconds from the beginning to the end, or, while it goes on, to the last batch."""
        if self.ended is not None:
            return self.ended
        return self.batches[-1].taken if self.batches else 0.0

    @property
    def stalled(self) -> float:
        """The share of the span for which whoever trains waited for a batch."""
        return self.waited / self.span if self.span else 0.0

    def used(self) -> Iterator[tuple[Fetched, float]]:
        """Each batch in the order in which they were taken, and when the next was wanted: it was used until then."""
        batches = list(self.batches)
        for one, after in pairwise(batches):
            yield one, after.wanted
        if batches and self.ended is not None:
            yield batches[-1], self.left

    def ready(self) -> list[tuple[float, int]]:
        """How many batches lay ready, as steps: from each time on, so many."""
        ahead = [one for one in self.batches if one.worker is not None]
        changes = [(one.packed, 1) for one in ahead] + [(one.taken, -1) for one in ahead]
        steps, depth = [(0.0, 0)], 0
        for time, change in sorted(changes, key=lambda pair: (pair[0], -pair[1])):
            depth += change
            steps.append((time, depth))
        return steps


_watchers: list[list[Timeline]] = []


@contextmanager
def passes() -> Iterator[list[Timeline]]:
    """The passes over data sets that loaders begin in the block, in whatever thread."""
    seen: list[Timeline] = []
    _watchers.append(seen)
    try:
        yield seen
    finally:
        _watchers[:] = [one for one in _watchers if one is not seen]
