"""Who used which bytes, and in what order: finds work that meets other work's bytes without waiting for it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...common.lines import Line
from .schedule import Lane, Schedule

MANY = 24  # accesses of one block; above, those that everybody comes after are dropped


class Access:
    """One piece of work that reads or writes bytes ``low`` to ``high`` of a block."""

    __slots__ = ("count", "gone", "high", "lane", "line", "low", "name", "old", "region", "writes")

    def __init__(
        self, lane: Lane, count: int, name: str, line: Line, writes: bool, low: int, high: int, region: Any
    ) -> None:
        self.lane, self.count, self.name, self.line = lane, count, name, line
        self.writes, self.low, self.high = writes, low, high
        self.region: Any = region  # the elements, where they do not fill the bytes; else None
        self.gone = False  # is its tensor gone, and the memory that of another one?
        self.old: Any = None  # the bytes before a write, where somebody may be shown them

    def meets(self, other: Access) -> bool:
        """Do both use some of the same bytes?"""
        if self.low >= other.high or other.low >= self.high:
            return False
        if self.region is None or other.region is None:
            return True
        return bool(np.shares_memory(self.region, other.region))


NONE: list[Access] = []


def entered(block: Any, access: Access, schedule: Schedule) -> list[Access]:
    """Enter an access. Returns those before it that it should have waited for, and has not."""
    lane, kept = access.lane, block.accesses
    count = len(kept)
    if not count:
        kept.append(access)
        return NONE
    last = kept[-1]
    if last.lane is lane and (count == 1 or (count == 2 and kept[0].lane is lane)):  # as most of the time
        same = last.low == access.low and last.high == access.high and last.region is access.region is None
        if same and last.writes is access.writes:
            kept[-1] = access
            return NONE
        if same and count == 1:
            if access.writes:
                kept[0] = access
            else:
                kept.append(access)
            return NONE
    known = lane.known
    found = [
        one for one in kept
        if one.lane is not lane and (access.writes or one.writes)
        and known.get(one.lane.number, 0) < one.count and access.meets(one)
    ]  # fmt: skip
    if access.writes and not found and access.region is None:
        # What comes after this write comes after those, too.
        kept = [one for one in kept if one.low < access.low or one.high > access.high]
    elif last.lane is lane and last.writes is access.writes and _same(last, access):
        kept.pop()
    if len(kept) > MANY:
        host = schedule.host
        kept = [one for one in kept if host.known.get(one.lane.number, 0) < one.count]
    kept.append(access)
    block.accesses = kept
    return found


def _same(first: Access, second: Access) -> bool:
    return (first.low, first.high) == (second.low, second.high) and first.region is None and second.region is None


def remembered(block: Any) -> list[Access]:
    """What to remember of a block whose array is gone: only bytes remain, and of one lane only its last work."""
    found = block.accesses
    for one in found:
        one.region, one.old, one.gone = None, None, True
    if len({one.lane for one in found}) != 1:
        return list(found)
    last = found[-1]
    last.low, last.high, last.writes = block.address, block.address + block.size, True
    return [last]


def together(first: list[Access], second: list[Access]) -> list[Access]:
    """What is remembered of two neighbouring blocks that become one."""
    if len(first) == len(second) == 1 and first[0].lane is second[0].lane and first[0].high == second[0].low:
        low, high = first[0], second[0]
        last = low if low.count > high.count else high
        last.low, last.high = low.low, high.high
        return [last]
    return first + second
