"""A timeline as plain data: lanes, what ran in each and when, and why nothing did."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from ...common.lines import describe_line
from ...common.wording import shown
from ...errors import ArgumentError, IndexRangeError
from ...sim import Timeline
from . import gaps as idle
from .gaps import HOST, Gap, Item, Reasons, is_stream

BUSY = ("below 25 %", "25 to 50 %", "50 to 75 %", "above 75 %")  # answers to: which share of the time is it busy?
TIMES = ("less than half", "half to nine tenths", "about the same", "longer")  # and to: how long does B take, of A?


@dataclass(frozen=True)
class Run:
    """One timeline. Its lanes are the host, then the copies, then the streams."""

    name: str
    machine: str  # with what was changed of its constants
    items: tuple[Item, ...]
    rehearsed: bool = False  # was it run before, so that memory is reserved as in a loop?
    error: str = ""  # which ended it
    races: tuple[str, ...] = ()  # that were no error

    @cached_property
    def end(self) -> int:
        """When everything is done."""
        return max((item.end for item in self.items), default=0)

    @cached_property
    def lanes(self) -> tuple[str, ...]:
        """The lanes in which anything happened, or was asked for."""
        return tuple(sorted({lane for item in self.items for lane in (item.lane, item.queue)} | {HOST}, key=_order))

    @cached_property
    def devices(self) -> tuple[str, ...]:
        """The devices that anything was asked of."""
        return tuple(sorted({item.device for item in self.items} - {HOST})) or ("sim",)

    @cached_property
    def by_lane(self) -> dict[str, list[Item]]:
        """The work of each lane, in order."""
        found: dict[str, list[Item]] = {lane: [] for lane in self.lanes}
        for item in sorted(self.items, key=lambda item: (item.start, item.end)):
            found[item.lane].append(item)
        return found

    @cached_property
    def copies_of(self) -> dict[str, list[Item]]:
        """The copies that each stream was asked for, where there are several streams."""
        return {lane: [item for item in self.items if item.stream == lane] for lane in self.lanes}

    @cached_property
    def gaps(self) -> tuple[Gap, ...]:
        """The stretches in which a device runs no kernel, in any stream."""
        return idle.gaps(self.items, self.devices, self.end)

    @cached_property
    def longest(self) -> Gap | None:
        """The longest of them; of equal ones the last, since the first is that of the beginning."""
        return max(self.gaps, key=lambda gap: (gap.duration, gap.start), default=None)

    @cached_property
    def reasons(self) -> Reasons:
        """What each piece of work waited for."""
        return Reasons(self.items)

    @cached_property
    def places(self) -> dict[int, int]:
        """The place of each piece of work among the items, by its identity."""
        return {id(item): place for place, item in enumerate(self.items)}

    def busy(self, lane: str) -> float:
        """The share of the whole time in which a lane works; to wait is no work."""
        done = sum(item.duration for item in self.by_lane[lane] if item.kind != "wait")
        return done / self.end if self.end else 0.0

    @cached_property
    def computing(self) -> float:
        """The share of the whole time in which at least one kernel runs, on whichever device."""
        return self._computing([item for item in self.items if item.kind == "kernel"])

    def computing_on(self, device: str) -> float:
        """The share of the whole time in which at least one kernel runs on a device."""
        return self._computing([item for item in self.items if item.kind == "kernel" and item.device == device])

    def _computing(self, kernels: list[Item]) -> float:
        done, until = 0, 0
        for item in sorted(kernels, key=lambda one: one.start):
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
    failure: str = ""  # why there is no result
    runs: tuple[Run, ...] = ()
    picked: tuple[int, int] | None = None  # a run, and a place among its items
    gap: tuple[int, int] | None = None  # or among its gaps
    stop: int = 0  # the kernel after which the host waits; 0 for none
    asked: tuple[Any, ...] = ()  # the machine, the knobs and the stop that the prediction was for
    ran: tuple[Any, ...] = ()  # and those of the runs that are shown

    @property
    def choices(self) -> tuple[str, ...]:
        """The predictions that are offered."""
        return BUSY if len(self.names) == 1 else TIMES

    @property
    def setting(self) -> tuple[Any, ...]:
        """What a run depends on."""
        return self.machine, self.knobs, self.stop

    @property
    def outdated(self) -> bool:
        """Whether what is shown is of another setting, because the run with this one is under way."""
        return bool(self.runs) and self.ran != self.setting

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


def stop(state: QueueState, given: Any) -> QueueState:
    """Let the host wait after the kernel of this number. Raises `IndexRangeError` where there is none."""
    last = most_kernels(state)
    if not state.machines:
        why = "what is shown was recorded, and does not run again"
        raise IndexRangeError(f"a wait after kernel {shown(given, 40)}", why, "give the function: QueueTimeline(f)")
    if isinstance(given, bool) or not isinstance(given, int) or not 0 <= given <= last:
        raise IndexRangeError(f"a wait after kernel {shown(given, 40)}", "there is no such kernel", f"take 0 to {last}")
    return replace(state, stop=given)


def most_kernels(state: QueueState) -> int:
    """How many kernels the longest run has."""
    return max((sum(item.kind == "kernel" for item in run.items) for run in state.runs), default=0)


def pick(state: QueueState, given: Any) -> QueueState:
    """Pick a piece of work by run and place, ``"0:12"``. Raises `IndexRangeError` where there is none."""
    found = _place(given, [len(run.items) for run in state.runs])
    if found is None:
        raise IndexRangeError(f"the work {shown(given, 40)}", "there is no such piece", "press one that is drawn")
    return replace(state, picked=found, gap=None)


def pick_gap(state: QueueState, given: Any) -> QueueState:
    """Pick a gap by run and place. Raises `IndexRangeError` where there is none."""
    found = _place(given, [len(run.gaps) for run in state.runs])
    if found is None:
        raise IndexRangeError(f"the gap {shown(given, 40)}", "there is no such gap", "press one that is drawn")
    return replace(state, gap=found, picked=None)


def _place(given: Any, sizes: list[int]) -> tuple[int, int] | None:
    which, _, place = str(given).partition(":")
    fits = which.isdecimal() and place.isdecimal() and int(which) < len(sizes) and int(place) < sizes[int(which)]
    return (int(which), int(place)) if fits else None


def longest_gap(state: QueueState) -> QueueState:
    """Pick the longest gap of all runs; if that is picked, the longest of the other run."""
    best = [(run.longest.duration, which, run.gaps.index(run.longest)) for which, run in enumerate(state.runs)
            if run.longest is not None]  # fmt: skip
    order = [(which, place) for _, which, place in sorted(best, key=lambda one: (-one[0], one[1]))]
    if not order:
        return state
    after = order.index(state.gap) + 1 if state.gap in order else 0
    return replace(state, gap=order[after % len(order)], picked=None)


def _order(lane: str) -> tuple[int, str]:
    place = 0 if lane == HOST else 2 if is_stream(lane) else 1
    return place, lane.replace(" to device", " 0").replace(" to host", " 1")


def read(timeline: Timeline, name: str = "", *, rehearsed: bool = False, error: str = "") -> Run:
    """A finished timeline as data. Raises `ArgumentError` for one in which nothing happened."""
    if not timeline:
        why, mend = "nothing happened on the device in it", 'compute there: x.to("sim"), or device="sim"'
        raise ArgumentError("a timeline without work", why, mend)
    items, asked = [], 0
    streams: dict[str, set[str]] = {}
    for work in timeline:
        if found := work.lane if work.kind == "kernel" else work.stream:
            streams.setdefault(found.partition(" ")[0], set()).add(found)
    for work in timeline:
        if work.lane == HOST:
            asked = work.end
        place = work.start if work.lane == HOST else min(asked, work.start)
        size, line = work.read + work.written, describe_line(work.line)
        stream = work.stream if len(streams.get(work.stream.partition(" ")[0], ())) > 1 else ""
        items.append(
            Item(work.lane, work.kind, work.name, work.start, work.end, place, size, work.flops, line,
                 work.waited_for, stream)
        )  # fmt: skip
    return Run(name, timeline.machine.name, tuple(items), rehearsed, error, tuple(timeline.races))
