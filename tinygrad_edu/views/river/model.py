"""The memory of one or two runs as plain data: events with the bytes of each owner, and the buffers of each moment."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from ...common.wording import shape_text, shown
from ...errors import ArgumentError, IndexRangeError
from ...observe.memory import NOISE, Held, Keeper, Memory, Moment

LETTERS = ("A", "B")
# The owners from the floor up: what lasts lies below, what comes and goes above.
STACK = ("parameter", "optimiser", "data", "gradient", "activation", "temporary", "workspace", "elsewhere")
MEASURED = ("workspace", "elsewhere")  # what the allocator saw beside the buffers of tensors
MINOR = 4 * NOISE  # bytes: less than that between two operations is mostly what Python makes once for new code
COLUMNS = 64  # of a river; where there are more events, neighbours share one


@dataclass(frozen=True)
class Event:
    """One event: what it was, and the bytes of each owner in `STACK` when memory was fullest in it, and after it."""

    phase: str  # forward, backward, step, between or mark
    what: str
    where: str
    module: str
    most: tuple[int, ...]
    after: tuple[int, ...]
    pages: tuple[int, int]


@dataclass(frozen=True)
class Piece:
    """One buffer, and from which to which page of the books it lived."""

    owner: str
    nbytes: int
    shape: str
    dtype: str
    op: str
    where: str
    born: int
    died: int | None

    def during(self, event: Event) -> bool:
        """Whether it was there when memory was fullest in an event."""
        first, last = event.pages
        return self.born < last and (self.died is None or self.died >= first)


@dataclass(frozen=True)
class Names:
    """What the names of a program keep, and when they were looked at."""

    when: str
    event: int  # after which
    kept: tuple[tuple[str, int, int], ...]  # name, bytes that it keeps, and bytes that it alone keeps


@dataclass(frozen=True)
class River:
    """The memory of one run."""

    name: str
    events: tuple[Event, ...]
    pieces: tuple[Piece, ...]
    names: tuple[Names, ...]  # by event

    @cached_property
    def peak(self) -> int:
        """The place of the event at which memory was fullest; the first of several."""
        sums = [total(event.most) for event in self.events]
        return sums.index(max(sums))

    @cached_property
    def highest(self) -> int:
        """The bytes of the highest column. What is below zero is not drawn."""
        return max(sum(max(count, 0) for count in event.most) for event in self.events)


@dataclass(frozen=True)
class RiverState:
    """What is asked, what was predicted, and, once that is committed, the rivers and the event that is shown."""

    names: tuple[str, ...]
    ask: str = ""
    draft: str | None = None
    said: str | None = None
    begun: bool = False  # a run: it may have ended without a river
    rivers: tuple[River, ...] = ()
    which: int = 0
    event: int = 0

    @property
    def river(self) -> River:
        """The river whose event is shown."""
        return self.rivers[self.which]


# From a watch to a river ------------------------------------------------------------------------------------------


def read(memory: Memory, name: str, when: str = "at the end of the run", kept: Sequence[Keeper] = ()) -> River:
    """A river from a finished watch. ``kept`` is what names keep at its end. Raises `ArgumentError` if it is empty."""
    if memory.watching:
        why, mend = "its block is under way, so the run is not complete", "draw it after the with block"
        raise ArgumentError(f"MemoryRiver of {name}", why, mend)
    events = tuple(_worth_a_column([_event(memory, moment) for moment in memory.moments]))
    if not events:
        why = "nothing was seen in this run: no operation, no backward and no large array"
        raise ArgumentError(f"MemoryRiver of {name}", why, "let it compute with tensors")
    pieces = tuple(_piece(life.held, life.born, life.died) for life in memory.lives)
    marks = [(i, event.what) for i, event in enumerate(events) if event.phase == "mark"]
    names = [_names(f"at mark {mark}", i, memory.kept_at[mark]) for i, mark in marks if mark in memory.kept_at]
    return River(name, events, pieces, (*names, _names(when, len(events) - 1, kept)))


def _event(memory: Memory, moment: Moment) -> Event:
    most, after = (_rounded(memory.by_owner(counts)) for counts in (moment.most, moment.after))
    return Event(moment.phase, moment.what, moment.where, moment.module, most, after, moment.pages)


def _worth_a_column(events: Sequence[Event]) -> Iterator[Event]:
    """The events without small ones between two operations."""
    before = 0
    for event in events:
        if event.phase != "between" or total(event.most) - before >= MINOR:
            yield event
            before = total(event.after)


def _rounded(owners: Mapping[str, int]) -> tuple[int, ...]:
    """What the allocator saw beside the buffers, to the nearest `NOISE`: Python's own objects come and go."""
    return tuple(round(owners[one] / NOISE) * NOISE if one in MEASURED else owners[one] for one in STACK)


def _piece(held: Held, born: int, died: int | None) -> Piece:
    return Piece(held.owner, held.nbytes, shape_text(held.shape), held.dtype, held.op, held.where, born, died)


def _names(when: str, event: int, kept: Sequence[Keeper]) -> Names:
    return Names(when, event, tuple((one.name, one.nbytes, one.alone) for one in kept))


# What a river shows -----------------------------------------------------------------------------------------------


def total(counts: Sequence[int]) -> int:
    """The bytes of all owners."""
    return sum(counts)


def largest(event: Event) -> tuple[str, ...]:
    """The owners that hold most when memory is fullest in an event: several that are equal, or none of no bytes."""
    most = max(event.most)
    return tuple(owner for owner, count in zip(STACK, event.most, strict=True) if count == most > 0)


def alive(river: River, event: Event) -> list[Piece]:
    """The buffers that are there when memory is fullest in an event, the largest first."""
    return sorted((piece for piece in river.pieces if piece.during(event)), key=lambda piece: -piece.nbytes)


@dataclass(frozen=True)
class Group:
    """The buffers of one owner that one line made."""

    owner: str
    where: str
    nbytes: int
    buffers: int


def by_line(river: River, event: Event) -> list[Group]:
    """What is alive in an event by the line that made it and by owner, the largest first."""
    found: dict[tuple[str, str], tuple[int, int]] = {}
    for piece in alive(river, event):
        nbytes, count = found.get((piece.where, piece.owner), (0, 0))
        found[piece.where, piece.owner] = nbytes + piece.nbytes, count + 1
    groups = [Group(owner, where, nbytes, count) for (where, owner), (nbytes, count) in found.items()]
    return sorted((group for group in groups if group.nbytes), key=lambda group: -group.nbytes)


def among(river: River, place: int) -> Names:
    """The names that were looked at next after an event."""
    return next(names for names in river.names if names.event >= place)


@dataclass(frozen=True)
class Column:
    """Neighbouring events that share a column: from ``first`` to before ``last``; ``fullest`` is the one drawn."""

    first: int
    last: int
    fullest: int


def share(rivers: Sequence[River]) -> int:
    """How many events share a column, the same for all rivers."""
    return math.ceil(max(len(river.events) for river in rivers) / COLUMNS)


def columns(river: River, each: int) -> list[Column]:
    """The columns of a river, of ``each`` events."""
    found = []
    for first in range(0, len(river.events), each):
        last = min(first + each, len(river.events))
        found.append(Column(first, last, max(range(first, last), key=lambda i: total(river.events[i].most))))
    return found


def ceiling(rivers: Sequence[River]) -> tuple[int, int]:
    """The end of the common axis and the distance of its ticks: round numbers of bytes."""
    most = max(1, *(river.highest for river in rivers))
    power = 10 ** math.floor(math.log10(most / 2)) if most >= 2 else 1
    step = next(int(power * times) for times in (1, 2, 5, 10) if most <= 4 * power * times)
    return -(-most // step) * step, max(step, 1)


# What acts do -----------------------------------------------------------------------------------------------------


def commit(state: RiverState, rivers: Sequence[River]) -> RiverState:
    """The state with the rivers, at the peak of the first."""
    return replace(state, rivers=tuple(rivers), which=0, event=rivers[0].peak)


def pick(state: RiverState, which: Any, event: int) -> RiverState:
    """Show another event; beyond the ends, the last one. Raises `IndexRangeError` for a run that there is not."""
    letters = LETTERS[: len(state.rivers)]
    if which not in letters:
        raise IndexRangeError(f"run {shown(which, 40)}", f"the runs are {' and '.join(letters)}", "take one of these")
    place = letters.index(which)
    last = len(state.rivers[place].events) - 1
    return replace(state, which=place, event=max(0, min(event, last)))
