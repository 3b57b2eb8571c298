"""A timeline as plain data: lanes, what ran in each and when, and why nothing did."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ...common.lines import describe_line
from ...errors import ArgumentError
from ...sim import Timeline

HOST = "host"


@dataclass(frozen=True)
class Item:
    """One piece of work of a lane, in nanoseconds. ``asked`` is when the host had asked for it."""

    lane: str
    kind: str  # "kernel", "copy", "launch", "wait", "reserve" or "work"
    name: str
    start: int
    end: int
    asked: int
    nbytes: int = 0  # read and written
    flops: int = 0
    where: str = ""  # the line
    waited_for: str = ""  # the lane that the host waited for

    @property
    def duration(self) -> int:
        """Nanoseconds."""
        return self.end - self.start


@dataclass(frozen=True)
class Gap:
    """A stretch in which no kernel runs: the one that comes then, and what keeps it waiting.

    ``cause`` is what the host does meanwhile, or the work of another lane that ends then.
    """

    start: int
    end: int
    before: Item
    cause: Item | None

    @property
    def duration(self) -> int:
        """Nanoseconds."""
        return self.end - self.start


@dataclass(frozen=True)
class Run:
    """One timeline. Its lanes are the host, then the copies, then the streams."""

    name: str
    machine: str
    items: tuple[Item, ...]

    @cached_property
    def end(self) -> int:
        """When everything is done."""
        return max((item.end for item in self.items), default=0)

    @cached_property
    def lanes(self) -> tuple[str, ...]:
        """The lanes in which anything happened."""
        return tuple(sorted({item.lane for item in self.items} | {HOST}, key=_order))

    @property
    def streams(self) -> tuple[str, ...]:
        """The lanes of kernels."""
        return tuple(lane for lane in self.lanes if is_stream(lane))

    def of(self, lane: str) -> list[Item]:
        """The work of one lane, in order."""
        return sorted((item for item in self.items if item.lane == lane), key=lambda item: (item.start, item.end))

    def busy(self, lane: str) -> float:
        """The share of the whole time in which a lane works; to wait is no work."""
        done = sum(item.duration for item in self.items if item.lane == lane and item.kind not in ("wait", "event"))
        return done / self.end if self.end else 0.0

    @cached_property
    def computing(self) -> float:
        """The share of the whole time in which at least one kernel runs."""
        done, until = 0, 0
        for item in sorted((one for one in self.items if one.kind == "kernel"), key=lambda one: one.start):
            done += max(item.end - max(item.start, until), 0)
            until = max(until, item.end)
        return done / self.end if self.end else 0.0


def is_stream(lane: str) -> bool:
    """Whether a lane runs kernels."""
    return " stream " in f" {lane}"


def _order(lane: str) -> tuple[int, str]:
    place = 0 if lane == HOST else 2 if is_stream(lane) else 1
    return place, lane.replace(" to device", " 0").replace(" to host", " 1")


def read(timeline: Timeline, name: str = "") -> Run:
    """A finished timeline as data. Raises `ArgumentError` for one in which nothing happened."""
    if not timeline:
        why, mend = "nothing happened on the device in it", "let work be done on it inside the block"
        raise ArgumentError("a timeline without work", why, mend)
    items, asked = [], 0
    for work in timeline:
        if work.lane == HOST:
            asked = work.end
        place = work.start if work.lane == HOST else min(asked, work.start)
        size, line = work.read + work.written, describe_line(work.line)
        items.append(
            Item(work.lane, work.kind, work.name, work.start, work.end, place, size, work.flops, line, work.waited_for)
        )
    return Run(name, timeline.machine.preset, tuple(items))


def gaps(run: Run) -> list[Gap]:
    """The stretches up to the last kernel in which no kernel runs, in any stream."""
    found, until = [], 0
    for item in sorted((one for one in run.items if one.kind == "kernel"), key=lambda one: (one.start, one.end)):
        if item.start > until:
            found.append(Gap(until, item.start, item, _cause(run, item, until)))
        until = max(until, item.end)
    return found


def _cause(run: Run, item: Item, since: int) -> Item | None:
    """What keeps work waiting: what the host does until it asks, or the work of another lane that ends then."""
    if item.asked >= item.start:
        meanwhile = [one for one in run.items if one.lane == HOST and one.start < item.start and one.end > since]
        return max(meanwhile, key=lambda one: min(one.end, item.start) - max(one.start, since), default=None)
    before = [one for one in run.items if one.lane not in (HOST, item.lane) and one.end == item.start]
    return max(before, key=lambda one: one.duration, default=None)
