"""Passes over a data set as plain data: who read each batch and when, where it lay ready, and when it was used."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...common.wording import shown
from ...data.practice import KINDS
from ...data.timeline import Timeline
from ...errors import ArgumentError, IndexRangeError

WORKERS, PREFETCH = range(9), range(1, 9)
SIZES = {"process": "processes", "thread": "threads"}
KEPT = {"off": False, "on": True}
CAUSES = "workers start and end", "the first batch of an epoch", "batches are read", "another batch came first"
STEPS = 5  # per cent, of the slider of a prediction


@dataclass(frozen=True)
class Piece:
    """One batch, in seconds from the first pass's beginning; ``until`` the loop wanted the next one, it was used."""

    number: int
    worker: int | None
    began: float
    read: float
    joined: float
    packed: float
    wanted: float
    taken: float
    until: float


@dataclass(frozen=True)
class Pass:
    """One epoch: when it began and ended, when each worker was begun and ready, and its batches as they were taken."""

    begin: float
    opened: float  # when the first batches had been asked for
    end: float
    starts: tuple[tuple[int, float, float], ...]
    pieces: tuple[Piece, ...]
    ready: tuple[tuple[float, int], ...]  # steps: from then on, so many batches lay ready

    @property
    def stalls(self) -> list[tuple[float, float]]:
        """When the loop stood still: while it began, and before each batch."""
        first = [(self.begin, self.opened)] if self.opened > self.begin else []
        waits = [*first, *((one.wanted, one.taken) for one in self.pieces)]
        if self.pieces:
            waits.append((self.pieces[-1].until, self.end))
        joined: list[tuple[float, float]] = []
        for start, end in waits:
            if joined and start - joined[-1][1] < 1e-6:
                joined[-1] = joined[-1][0], end
            elif end > start:
                joined.append((start, end))
        return joined


@dataclass(frozen=True)
class Run:
    """Some epochs in a row, and how many samples they gave."""

    workers: int
    passes: tuple[Pass, ...]
    samples: int

    @property
    def span(self) -> float:
        """Seconds from the beginning to the end."""
        return self.passes[-1].end

    @property
    def waited(self) -> float:
        """Seconds for which the loop waited."""
        return sum(end - start for one in self.passes for start, end in one.stalls)

    @property
    def stalled(self) -> float:
        """The share of the time for which the loop waited."""
        return self.waited / self.span if self.span else 0.0

    @property
    def causes(self) -> dict[str, float]:
        """Seconds of waiting by cause, see `CAUSES`. Together they are all the waiting."""
        found = dict.fromkeys(CAUSES, 0.0)
        for one in self.passes:
            ready = {worker: time for worker, _, time in one.starts}
            last = one.pieces[-1].until
            found["workers start and end"] += one.opened - one.begin + one.end - last
            for place, piece in enumerate(one.pieces):
                until = max(piece.wanted, min(piece.taken, ready.get(piece.worker or 0, 0.0)))
                found["workers start and end"] += until - piece.wanted
                if not place:
                    found["the first batch of an epoch"] += piece.taken - until
                    continue
                others = [other.packed for other in one.pieces[place + 1 :] if other.packed < piece.taken]
                since = max(until, min(others)) if others and piece.worker is not None else piece.taken
                found["batches are read"] += since - until
                found["another batch came first"] += piece.taken - since
        return found

    @property
    def rate(self) -> float:
        """Samples in a second."""
        return self.samples / self.span if self.span else 0.0

    @property
    def most_ready(self) -> int:
        """The most batches that lay ready at once."""
        return max((depth for one in self.passes for _, depth in one.ready), default=0)

    @property
    def per_batch(self) -> float:
        """Seconds that a worker spends on a batch: the median."""
        return _median(piece.packed - piece.began for one in self.passes for piece in one.pieces)

    @property
    def quickest_step(self) -> float:
        """The shortest time for which a batch is used."""
        return min((piece.until - piece.taken for one in self.passes for piece in one.pieces), default=0.0)

    @property
    def per_step(self) -> float:
        """Seconds for which a batch is used: the median."""
        return _median(piece.until - piece.taken for one in self.passes for piece in one.pieces)

    @property
    def every(self) -> float:
        """Seconds from one batch to the next that all workers together finish, once they are at work: the mean."""
        ends = [sorted(piece.packed for piece in one.pieces) for one in self.passes]
        gaps = sum(len(one) - 1 for one in ends)
        return sum(one[-1] - one[0] for one in ends) / gaps if gaps else 0.0


def _median(values: Iterable[float]) -> float:
    found = list(values)
    return statistics.median(found) if found else 0.0


def run_of(timelines: Sequence[Timeline]) -> Run:
    """The passes of a loop. Raises `ArgumentError` for one that has not ended."""
    if not timelines or any(one.ended is None or not one.batches for one in timelines):
        why = "a pass that was left half-way, or gave no batch, cannot be drawn"
        raise ArgumentError("the timeline of a loader", why, "run the loop to its end")
    origin = timelines[0].origin
    passes = tuple(_pass(one, one.origin - origin) for one in timelines)
    return Run(max(one.workers for one in timelines), passes, sum(one.samples for one in timelines))


def _pass(timeline: Timeline, shift: float) -> Pass:
    pieces = tuple(
        Piece(one.number, one.worker, one.began + shift, one.read + shift, one.joined + shift, one.packed + shift,
              one.wanted + shift, one.taken + shift, until + shift)
        for one, until in timeline.used()
    )  # fmt: skip
    starts = tuple(sorted((worker, begun + shift, ready + shift) for worker, (begun, ready) in timeline.starts.items()))
    steps = tuple((time + shift, depth) for time, depth in timeline.ready())
    return Pass(shift, timeline.opened + shift, (timeline.ended or 0.0) + shift, starts, pieces, steps)


@dataclass(frozen=True)
class Setting:
    """What can be set: how many workers, of which kind, how far ahead, kept or not; and what reading a sample costs."""

    workers: int = 2
    prefetch: int = 2
    kept: bool = False
    kind: str = "process"
    cost: str = "waits"


@dataclass(frozen=True)
class LoadingState:
    """A setting, the prediction of the share of time for which training waits, and what was measured.

    ``runs`` are all of one setting, that of ``done``. ``draft`` and ``said`` are per cent.
    """

    setting: Setting
    own: bool = False  # the data set is the learner's
    watched: bool = False  # it was somebody's own loop: there is nothing to set
    asked: bool = True  # is there a prediction?
    draft: int = 20
    said: int | None = None
    runs: tuple[Run, ...] = ()
    done: Setting | None = None
    alone: float = 0.0  # samples a second of the same loop without workers, if that was measured
    conditions: str = ""
    ask: str = ""
    reason: str = ""
    message: str = ""

    @property
    def run(self) -> Run | None:
        """The run that is drawn: the one in the middle of their times."""
        return sorted(self.runs, key=lambda one: one.span)[len(self.runs) // 2] if self.runs else None

    @property
    def outdated(self) -> bool:
        """Whether what is drawn belongs to another setting."""
        return bool(self.runs) and self.done != self.setting


OPTIONS: dict[str, Sequence[Any]] = {
    "workers": WORKERS, "prefetch": PREFETCH, "kept": tuple(KEPT), "kind": tuple(SIZES), "cost": KINDS,
}  # fmt: skip


def choose(state: LoadingState, name: str, value: Any) -> LoadingState:
    """Set one thing. Raises `IndexRangeError` for what is not offered."""
    options = OPTIONS[name]
    if value not in options:
        mend = f"take one of {', '.join(map(str, options))}"
        raise IndexRangeError(f"{name} = {shown(value, 40)}", "it is not offered", mend)
    chosen: dict[str, Any] = {name: KEPT[value] if name == "kept" else value}
    setting = replace(state.setting, **chosen)
    same = setting == state.done
    return replace(state, setting=setting, said=state.said if same else None)


def draft(state: LoadingState, value: Any) -> LoadingState:
    """Move the prediction. Raises `IndexRangeError` for anything but a percentage, 0 to 100."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 100:
        mend = "give a number from 0 to 100"
        raise IndexRangeError(f"a prediction of {shown(value, 40)}", "it is a share in per cent", mend)
    return replace(state, draft=round(value))


def finish(
    state: LoadingState, setting: Setting, runs: Sequence[Run], conditions: str, alone: float = 0.0
) -> LoadingState:
    """With what was measured for a setting."""
    return replace(state, runs=tuple(runs), done=setting, conditions=conditions, alone=alone)


def read(timelines: Sequence[Timeline], conditions: str, ask: str = "") -> LoadingState:
    """The state of somebody's own loop, which has ended."""
    run = run_of(timelines)
    setting = Setting(run.workers, kind=timelines[-1].kind or "process")
    return LoadingState(setting, watched=True, asked=False, runs=(run,), done=setting, conditions=conditions, ask=ask)
