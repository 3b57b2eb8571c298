"""Checkpoints as plain data: how layers are divided, what was alive at each moment, and what arithmetic expects."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

from ...errors import ArgumentError, IndexRangeError
from ...observe.results import Comparison
from ..given import typed

OWNERS = ("parameters", "data", "gradients", "kept", "segment", "workspace")
NEAR = 0.05  # of a peak: two that are nearer than this count as the same
SAME = 0.005  # of a peak: nearer than this, no difference is told
MOST = 48  # numbers of segments that are measured; of more, a selection

Bytes = tuple[int, ...]  # one number for each of OWNERS


@dataclass(frozen=True)
class Event:
    """One operation, the bytes by owner when memory was fullest in it, and the segment at work, counted from 1."""

    phase: str  # "forward", "again" (forward, within backward), "backward", or "between" two operations
    op: str
    most: Bytes
    segment: int = 1

    @property
    def total(self) -> int:
        """All bytes."""
        return sum(self.most)


@dataclass(frozen=True)
class Run:
    """Forward and backward with one number of segments.

    ``again`` and ``forward`` count operations. ``gradients`` is "" if each is bit for bit that of the run without cuts,
    or says how they differ. ``moved`` names what is otherwise after the run, such as running statistics.
    """

    segments: int
    events: tuple[Event, ...]
    forward: int
    again: int
    gradients: str = ""
    moved: tuple[str, ...] = ()

    @cached_property
    def top(self) -> int:
        """The place of the event in which memory was fullest; of several, the first."""
        totals = [event.total for event in self.events]
        return totals.index(max(totals))

    @property
    def owners(self) -> Bytes:
        """The bytes at the peak, by owner."""
        return self.events[self.top].most

    @property
    def peak(self) -> int:
        """The bytes when memory was fullest."""
        return sum(self.owners)

    @property
    def at_work(self) -> int:
        """The segment that is at work at the peak, forward or backward, counted from 1."""
        return self.events[self.top].segment


@dataclass(frozen=True)
class Expected:
    """What arithmetic says of a run, and why the run differs: ``terms`` add up to measured minus predicted."""

    predicted: int
    measured: int
    terms: Bytes

    @property
    def difference(self) -> int:
        """Measured minus predicted."""
        return self.measured - self.predicted

    @property
    def holds(self) -> bool:
        """Whether the two are nearly the same."""
        return abs(self.difference) <= NEAR * self.predicted

    @property
    def owner(self) -> str:
        """Whose bytes make most of the difference."""
        sign = 1 if self.difference >= 0 else -1
        return max(zip(OWNERS, self.terms, strict=True), key=lambda pair: sign * pair[1])[0]


@dataclass(frozen=True)
class SliderState:
    """What the slider shows. ``runs`` begins with the run without cuts; the others come after a prediction.

    ``cut`` is how many bytes wait at one cut, as a mean: the size of a layer's result.

    ``draft`` is the number of segments on the slider before the commit, ``said`` the prediction, ``segments`` the
    number that is shown afterwards. ``times`` are races of the run without cuts against one with cuts.
    """

    layers: int
    cut: int
    runs: tuple[Run, ...]
    draft: int = 0
    said: int | None = None
    segments: int = 1
    times: tuple[tuple[int, Comparison], ...] = ()
    ask: str = ""
    why: str = ""
    models: tuple[str, ...] = ()  # that can be chosen
    model: str = ""
    message: str = ""

    @property
    def plain(self) -> Run:
        """The run without cuts."""
        return self.runs[0]

    @property
    def measured(self) -> bool:
        """Whether runs with cuts can be shown."""
        return self.said is not None and len(self.runs) > 1

    @property
    def shown(self) -> Run:
        """The run that is shown."""
        return next((run for run in self.runs if run.segments == self.segments), self.plain)

    @property
    def counts(self) -> tuple[int, ...]:
        """The numbers of segments that are measured, or will be."""
        return counts(self.layers)

    @property
    def time(self) -> Comparison | None:
        """The race of the run that is shown."""
        return dict(self.times).get(self.segments)

    @property
    def lowest(self) -> tuple[int, ...]:
        """The numbers of segments with the least peak, and those that shown figures cannot tell from it."""
        least = min(run.peak for run in self.runs)
        return tuple(run.segments for run in self.runs if run.peak <= (1 + SAME) * least)

    @property
    def every(self) -> int:
        """The activations of all layers that are alive at the peak of the run without cuts."""
        return self.plain.owners[OWNERS.index("segment")]

    @property
    def best(self) -> float:
        """The number of segments with the least peak by arithmetic: where k · cut + every / k is least."""
        return min(max(math.sqrt(self.every / max(self.cut, 1)), 1.0), float(self.layers))

    @property
    def saves(self) -> bool:
        """Whether any number of cuts lowers the peak by more than a little."""
        return min(run.peak for run in self.runs) < (1 - NEAR) * self.plain.peak


# How layers are divided -------------------------------------------------------------------------------------------


def parts(layers: int, segments: int) -> tuple[int, ...]:
    """How many layers each segment gets from `checkpoint_sequential`: all the same, and the last one the rest."""
    size = layers // segments
    return (*[size] * (segments - 1), layers - size * (segments - 1))


def counts(layers: int) -> tuple[int, ...]:
    """The numbers of segments to measure: all of them, or a selection with 1, the root, and as many as there are."""
    if layers <= MOST:
        return tuple(range(1, layers + 1))
    some = {round(1 + i * (layers - 1) / (MOST - 2)) for i in range(MOST - 1)}
    return tuple(sorted(some | {round(math.sqrt(layers))}))


def again(layers: int, segments: int) -> int:
    """How many layers backward computes again: those of all segments but the last."""
    return layers - parts(layers, segments)[-1]


def expected(state: SliderState, run: Run) -> Expected:
    """The peak that arithmetic predicts, from the run without cuts.

    Without cuts, all layers keep their activations until backward. In k equal segments, one result waits at each of
    k − 1 cuts, and a k-th of those activations fills one segment; everything else stays. All layers count as equal.
    """
    plain, k, every = state.plain, run.segments, state.every
    waiting, filled = state.cut * (k - 1), every / k
    least = plain.peak - every + waiting + filled
    wanted = [float(value) for value in plain.owners]
    wanted[OWNERS.index("kept")] += waiting
    wanted[OWNERS.index("segment")] = filled
    terms = tuple(round(now - then) for now, then in zip(run.owners, wanted, strict=True))
    return Expected(round(least), run.peak, terms)


# What a learner does ----------------------------------------------------------------------------------------------


def nearest(state: SliderState, given: object, among: tuple[int, ...]) -> int:
    """A number of segments, as near as there is one. Raises an error of ours for what cannot be one."""
    wanted = typed("segments", given)
    if wanted != given and isinstance(given, float):
        raise ArgumentError(f"segments = {given:.6g}", "segments are counted", "give a whole number")
    if not 1 <= wanted <= state.layers:
        why = f"there are {state.layers} layers to divide"
        raise IndexRangeError(f"segments = {wanted:.6g}", why, f"choose a number from 1 to {state.layers}")
    return min(among, key=lambda count: abs(count - wanted))


def draft(state: SliderState, given: object) -> SliderState:
    """Move the prediction."""
    return replace(state, draft=nearest(state, given, state.counts))


def pick(state: SliderState, given: object) -> SliderState:
    """Show another run. Raises `ArgumentError` before the prediction, and for one that was not reached."""
    count = nearest(state, given, state.counts)
    if not state.measured:
        why = "nothing with cuts has been measured"
        raise ArgumentError(f"segments = {count}", why, "predict where the lowest peak is, and commit")
    if count not in [run.segments for run in state.runs]:
        why = "it was stopped before it came to that number"
        raise ArgumentError(f"segments = {count}", why, "press Measure the rest")
    return replace(state, segments=count)


def finish(state: SliderState, runs: tuple[Run, ...]) -> SliderState:
    """The state with what was measured. It shows what was predicted, or the nearest that was reached."""
    found = replace(state, runs=tuple(sorted({run.segments: run for run in (*state.runs, *runs)}.values(), key=_count)))
    wanted = state.segments if state.measured else state.said or 1
    return replace(found, segments=min((run.segments for run in found.runs), key=lambda one: abs(one - wanted)))


def _count(run: Run) -> int:
    return run.segments
