"""A timeline as plain data: lanes, what ran in each and when, and why nothing did."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from ...common.lines import describe_line
from ...common.wording import shown
from ...errors import ArgumentError, IndexRangeError
from ...sim import Timeline

HOST = "host"
BUSY = ("below 25 %", "25 to 50 %", "50 to 75 %", "above 75 %")  # answers to: which share of the time is it busy?
TIMES = ("less than half", "half to nine tenths", "about the same", "longer")  # and to: how long does B take, of A?


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


@dataclass(frozen=True)
class Knob:
    """A parameter of the program that can be turned, and its values."""

    name: str
    options: tuple[Any, ...]
    value: Any


@dataclass(frozen=True)
class QueueState:
    """What is asked, what was predicted, and, once that is committed, the runs and the piece of work that is picked."""

    names: tuple[str, ...]
    ask: str = ""
    machine: str = "T4"
    machines: tuple[str, ...] = ()  # that can be chosen: none for timelines that are there already
    knobs: tuple[Knob, ...] = ()
    draft: str | None = None
    said: str | None = None
    begun: bool = False
    runs: tuple[Run, ...] = ()
    picked: tuple[int, int] | None = None  # a run, and a place among its items

    @property
    def choices(self) -> tuple[str, ...]:
        """The predictions that are offered."""
        return BUSY if len(self.names) == 1 else TIMES

    @property
    def item(self) -> Item | None:
        """The piece of work that is picked."""
        return None if self.picked is None else self.runs[self.picked[0]].items[self.picked[1]]


def answer(state: QueueState) -> str:
    """The right choice."""
    if len(state.runs) == 1:
        return BUSY[min(int(4 * state.runs[0].computing), 3)]
    share = state.runs[1].end / max(state.runs[0].end, 1)
    return TIMES[0 if share < 0.5 else 1 if share < 0.9 else 2 if share <= 1.1 else 3]


def draft(state: QueueState, given: Any) -> QueueState:
    """Choose a prediction. Raises `IndexRangeError` for one that is not offered."""
    if given not in state.choices:
        tried, mend = f"the prediction {shown(given, 40)}", f"take one of {', '.join(state.choices)}"
        raise IndexRangeError(tried, "it is not offered", mend)
    return replace(state, draft=given) if state.said is None else state


def turn(state: QueueState, name: str, value: Any) -> QueueState:
    """Turn a knob. Raises `IndexRangeError` for a value or a knob that there is not."""
    knob = next((one for one in state.knobs if one.name == name), None)
    if knob is None:
        there = ", ".join(one.name for one in state.knobs) or "none"
        raise IndexRangeError(f"the knob {shown(name, 40)}", "there is no such knob", f"there are: {there}")
    found = next((one for one in knob.options if str(one) == str(value)), None)
    if found is None:
        mend = f"take one of {', '.join(map(str, knob.options))}"
        raise IndexRangeError(f"{name} = {shown(value, 40)}", "the knob has no such value", mend)
    return replace(state, knobs=tuple(replace(one, value=found) if one is knob else one for one in state.knobs))


def machine(state: QueueState, given: Any) -> QueueState:
    """Choose another machine. Raises `IndexRangeError` for one that there is not."""
    if given not in state.machines:
        mend = (
            f"take one of {', '.join(state.machines)}" if state.machines else "give functions, which can be run again"
        )
        raise IndexRangeError(f"the machine {shown(given, 40)}", "it cannot be chosen here", mend)
    return replace(state, machine=given)


def pick(state: QueueState, given: Any) -> QueueState:
    """Pick a piece of work by run and place, ``"0:12"``. Raises `IndexRangeError` where there is none."""
    which, _, place = str(given).partition(":")
    fits = which.isdigit() and place.isdigit() and int(which) < len(state.runs)
    if not fits or int(place) >= len(state.runs[int(which)].items):
        raise IndexRangeError(f"the work {shown(given, 40)}", "there is no such piece", "press one that is drawn")
    return replace(state, picked=(int(which), int(place)))


def longest_gap(state: QueueState) -> QueueState:
    """Pick the kernel before which no kernel ran for longest, in the run that is looked at."""
    which = 0 if state.picked is None else state.picked[0]
    found = max(gaps(state.runs[which]), key=lambda gap: gap.duration, default=None)
    return state if found is None else replace(state, picked=(which, state.runs[which].items.index(found.before)))


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
