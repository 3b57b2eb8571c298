"""Why a device is idle: the stretches in which it runs no kernel, each split by what it waited for."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace

HOST = "host"


@dataclass(frozen=True)
class Item:
    """One piece of work of a lane, in nanoseconds. ``asked`` is when the host had asked for it."""

    lane: str
    kind: str  # "kernel", "copy", "launch", "wait", "order", "reserve" or "work"
    name: str
    start: int
    end: int
    asked: int
    nbytes: int = 0  # read and written
    flops: int = 0
    where: str = ""  # the line
    waited_for: str = ""  # the lane that the host waited for
    stream: str = ""  # of a copy: the stream that it was asked for in, where there are several

    @property
    def duration(self) -> int:
        """Nanoseconds."""
        return self.end - self.start

    @property
    def device(self) -> str:
        """The device whose lane it is; of the host, the host."""
        return self.lane.partition(" ")[0]

    @property
    def queue(self) -> str:
        """The lane in whose order it stands: of a copy its stream, where there are several."""
        return self.stream or self.lane


@dataclass(frozen=True)
class Part:
    """A part of a gap. ``item`` is what the next kernel waited for then, if it was anything.

    ``kind`` is what the host does ("launch", "copy", "wait", "order", "reserve", "work"), or "again" where it launches
    after a wait that had let the queue run empty; "data" where a copy is awaited, "late" one that was asked for only
    ``after`` a wait, "lane" other work; or "none".
    """

    start: int
    end: int
    kind: str
    item: Item | None
    after: Item | None = None

    @property
    def duration(self) -> int:
        """Nanoseconds."""
        return self.end - self.start


@dataclass(frozen=True)
class Gap:
    """A stretch in which a device runs no kernel, up to the kernel that comes then, if one does."""

    device: str
    start: int
    end: int
    before: Item | None
    parts: tuple[Part, ...]

    @property
    def duration(self) -> int:
        """Nanoseconds."""
        return self.end - self.start


def is_stream(lane: str) -> bool:
    """Whether a lane runs kernels."""
    return " stream " in f" {lane}"


class Reasons:
    """What each piece of work of a timeline waited for."""

    def __init__(self, items: Sequence[Item]) -> None:
        self.host = sorted((one for one in items if one.lane == HOST and one.duration), key=lambda one: one.start)
        self.starts = [one.start for one in self.host]
        self.ended: dict[int, list[Item]] = {}
        for one in items:
            if one.lane != HOST and one.duration:
                self.ended.setdefault(one.end, []).append(one)

    def doing(self, time: int) -> Item | None:
        """What the host does just before ``time``."""
        place = bisect_left(self.starts, time) - 1
        return self.host[place] if place >= 0 and self.host[place].end >= time else None

    def of(self, item: Item) -> Item | None:
        """The work whose end let this begin: what the host did until it asked, or work of another lane."""
        if item.lane == HOST or item.asked >= item.start:
            return self.doing(item.start)
        before = [one for one in self.ended.get(item.start, ()) if one is not item]
        return max(before, key=lambda one: one.duration, default=None) or self.doing(item.start)

    def parts(self, last: Item, since: int, until: int) -> tuple[Part, ...]:
        """What was awaited from ``since`` until ``until``, where ``last`` begins, or ends as the last of all."""
        found: list[Part] = []
        at, item = until, last
        if last.end == until and last.start < until:
            found.append(_part(last, max(last.start, since), until))
            at = found[-1].start
        while at > since:
            before = self.of(item)
            if before is None:
                found.append(Part(since, at, "none", None))
                break
            found.append(_part(before, max(before.start, since), at))
            at, item = found[-1].start, before
        return tuple(self._again(part, since) for part in reversed(found))

    def _again(self, part: Part, since: int) -> Part:
        """What the host asks for after a wait is due to the wait, which had let the queue run empty.

        That holds for a launch, and for a copy that the host leaves to the device: it could have run beside a kernel.
        """
        if part.kind not in ("launch", "data"):
            return part
        copied = part.kind == "data"
        asked = part.item.asked if copied and part.item is not None else part.start
        place = bisect_left(self.starts, asked) - 1
        while place >= 0 and self.host[place].kind in ("launch", "order") and self.host[place].end >= since:
            place -= 1
        before = self.host[place] if place >= 0 else None
        if before is None or before.end < since or (copied and before.waited_for.endswith(" to device")):
            return part
        waited = before.kind == "wait" or before.name == "copy to host"
        if not waited:
            return part
        return replace(part, kind="late", after=before) if copied else replace(part, kind="again", item=before)


def _part(item: Item, start: int, end: int) -> Part:
    if item.lane != HOST:
        return Part(start, end, "data" if item.kind == "copy" else "lane", item)
    kind = item.kind if item.kind in ("launch", "copy", "wait", "order", "reserve") else "work"
    copied = kind == "wait" and item.name.startswith("copy to ") and not is_stream(item.waited_for)
    return Part(start, end, "copy" if copied else kind, item)


def _rank(item: Item) -> tuple[int, int]:
    """What ends last; of what ends together, what the host does, then what it waits for."""
    return item.end, 1 if item.lane != HOST else 0 if item.kind == "wait" else 2


def gaps(items: Sequence[Item], devices: Sequence[str], end: int) -> tuple[Gap, ...]:
    """The stretches of each device without a kernel, up to the end of all."""
    reasons, found = Reasons(items), []
    final = max((one for one in items if one.duration), key=_rank, default=None)
    for device in devices:
        until = 0
        kernels = [one for one in items if one.kind == "kernel" and one.device == device]
        for item in sorted(kernels, key=lambda one: (one.start, one.end)):
            if item.start > until:
                found.append(Gap(device, until, item.start, item, reasons.parts(item, until, item.start)))
            until = max(until, item.end)
        if until < end and final is not None:
            found.append(Gap(device, until, end, None, reasons.parts(final, until, end)))
    return tuple(found)


def shares(gap: Gap) -> list[tuple[Part, int]]:
    """What the gap was spent on, most first: a part that stands for all alike, and their time."""
    found: dict[tuple[str, str, str], tuple[Part, int]] = {}
    for part in gap.parts:
        item = part.item
        name = "" if item is None or part.kind == "launch" else item.name
        key = (part.kind, name, item.lane if item is not None and part.kind == "lane" else "")
        first, spent = found.get(key, (part, 0))
        found[key] = (first, spent + part.duration)
    return sorted(found.values(), key=lambda one: -one[1])
