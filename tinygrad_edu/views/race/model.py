"""Two functions side by side on the clock: predicted first, then measured, then both shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...common.wording import exact, number, plain, plural, ratio_text, ratio_with_spread
from ...errors import IndexRangeError
from ...observe.results import Comparison, Sweep, Timing
from .. import predict

LETTERS = ("A", "B")
WARMUPS = ("3 warm-ups", "no warm-up")
WAITING = "Nothing is measured before you commit to a prediction."
MEASURING = "The two take turns now."
WHY = (
    "Other work on the machine **adds time in spells**: as the two take turns, it hits both of a pair, "
    "and their ratio stays."
)


@dataclass(frozen=True)
class RaceState:
    """What is raced, what was predicted, and what was measured. ``place`` is the size that is shown, by its position.

    Without ``sizes`` the functions are called as they are. ``said`` is the committed prediction, times faster, and
    ``said_at`` the place that it was for. ``result`` holds the sizes that were reached.
    """

    names: tuple[str, str]
    sizes: tuple[int, ...] = ()
    place: int = 0
    ask: str = ""
    why: str = ""
    warmup: bool = True
    draft: float | None = None
    said: float | None = None
    said_at: int = 0
    result: Sweep | None = None
    message: str = ""

    @property
    def shown(self) -> Comparison | None:
        """The comparison at the size that is shown."""
        return None if self.result is None else self.result.comparisons[self.place]


def prediction(value: Any) -> float | None:
    """How many times faster, as a number above 0; None for an empty entry."""
    if value is None or value == "":
        return None
    found = float(predict.draft(predict.Question("", "number"), value))
    if found <= 0:
        why, mend = "no time is below 0", "0.5 says that B takes twice as long, 1 that both take the same"
        raise IndexRangeError(f"the prediction {found:g} times", why, mend)
    return found


def pick(state: RaceState, place: int) -> RaceState:
    """Show another size."""
    if not 0 <= place < max(len(state.sizes), 1):
        raise IndexRangeError(f"size {place}", f"there are {len(state.sizes)} sizes", "count from 0")
    if state.result is not None and place >= len(state.result.sizes):
        why = "the race was stopped before it came to that"
        raise IndexRangeError(at(state, place).removeprefix("at "), why, "run it again, and wait a little longer")
    return replace(state, place=place)


def finish(state: RaceState, result: Sweep) -> RaceState:
    """With what was measured. The size that was asked for is shown, or the largest that was reached."""
    return replace(state, result=result, place=min(state.place, len(result.sizes) - 1), message="")


def at(state: RaceState, place: int) -> str:
    """``at n = 1000``; nothing where there are no sizes."""
    return f"at n = {exact(state.sizes[place])}" if state.sizes else ""


def said_text(value: float) -> str:
    """A prediction as it was typed, or nearly."""
    return exact(value) if value.is_integer() else f"{value:g}"


def title(state: RaceState, which: int) -> str:
    """``A loop``."""
    return f"{LETTERS[which]} {state.names[which]}"


def question(state: RaceState) -> str:
    """What is to be predicted."""
    if state.ask:
        return state.ask
    where = at(state, state.place if state.said is None else state.said_at)
    return f"How many times faster is {title(state, 1)} than {title(state, 0)}{f' {where}' if where else ''}?"


def verdict(state: RaceState, place: int) -> str:
    """``B is faster at n = 1000.``"""
    assert state.result is not None
    found = state.result.comparisons[place].verdict
    words = {"faster": "B is faster", "slower": "False here: A is faster", "no difference": "No difference"}[found]
    return f"{words} {at(state, place)}".rstrip() + "."


def middle(comparison: Comparison) -> str:
    """The middle half of the ratios, in words."""
    low, high = (ratio_text(value, comparison.ratio) for value in comparison.middle)
    pairs = len(comparison.ratios)
    return "One pair was measured." if pairs == 1 else f"Middle half of all {pairs} pairs: {low}–{high}×."


def remarks(state: RaceState) -> str:
    """What was predicted, where it is otherwise, and whether all was measured."""
    assert state.result is not None
    parts = []
    if state.said is not None:
        parts.append(f"You predicted {said_text(state.said)}× {at(state, state.said_at)}".rstrip() + ".")
    other = _otherwise(state)
    if other is not None:
        one = state.result.comparisons[other]
        words = "it is false here: A is faster" if one.verdict == "slower" else "B is faster"
        parts.append(f"At n = {exact(state.sizes[other])} {words}, {ratio_text(one.ratio)}×.")
    if state.result.stopped:
        missing = len(state.result.sizes) < len(state.sizes)
        parts.append("Stopped: larger sizes were not reached." if missing else "Stopped before all pairs were done.")
    return " ".join(parts)


def _otherwise(state: RaceState) -> int | None:
    """The smallest size with the opposite verdict: where the claim is false, or where it is true after all."""
    assert state.result is not None and state.shown is not None
    wanted = "slower" if state.shown.verdict == "faster" else "faster"
    return next((i for i, one in enumerate(state.result.comparisons) if one.verdict == wanted), None)


def multiples(timing: Timing) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Runs and warm-ups as multiples of the median run."""
    middle_run = timing.median
    return tuple(t / middle_run for t in timing.times), tuple(t / middle_run for t in timing.warmups)


def describe(state: RaceState) -> str:
    """What is known so far, in a sentence or two."""
    shown = state.shown
    if shown is None:
        return WAITING if state.said is None else MEASURING
    where = at(state, state.place)
    times = f"{title(state, 0)} takes {shown.slow.text()}, {title(state, 1)} {shown.fast.text()}"
    told = f"{where[:1].upper()}{where[1:]}, {times}." if where else f"{times}."
    return f"{told} {verdict(state, state.place)} {ratio_with_spread(shown.ratio, shown.middle)}."


def conditions(state: RaceState) -> str:
    """What held while it was measured."""
    shown = state.shown
    if shown is None:
        return "nothing is measured yet"
    return f"{shown.conditions.text()} · {_runs(shown.slow)}, median and middle half"


def _runs(timing: Timing) -> str:
    runs, warmups = len(timing.times), len(timing.warmups)
    after = f"after {plural(warmups, 'warm-up')} (×)" if warmups else "without warm-up"
    return f"{plural(runs, 'run')} {after}"


def text(state: RaceState) -> str:
    """The text twin: every run, every size."""
    lines = [f"TimingRace: {plain(question(state))}", f"  {title(state, 0)}", f"  {title(state, 1)}"]
    if state.sizes:
        lines.append(f"  n = {', '.join(map(exact, state.sizes))}; n = {exact(state.sizes[state.place])} is shown")
    if state.said is None:
        lines.append(WAITING)
        lines += [] if state.draft is None else [f"you, not committed: {said_text(state.draft)}×"]
    if state.result is not None:
        lines += _result_lines(state, state.result)
    elif state.said is not None:
        lines += [f"you: {said_text(state.said)}×", MEASURING]
    return "\n".join([*lines, *([f"▲ {state.message}"] if state.message else [])])


def _result_lines(state: RaceState, result: Sweep) -> list[str]:
    shown = result.comparisons[state.place]
    lines = [f"{ratio_text(shown.ratio)}× {verdict(state, state.place)} {middle(shown)}", remarks(state)]
    for which, timing in enumerate((shown.slow, shown.fast)):
        runs, warmups = multiples(timing)
        lines.append(f"{title(state, which)}: {timing.text()}; {_runs(timing)}, as multiples of the median:")
        lines += [f"  × {_row(warmups)}"] if warmups else []
        lines.append(f"  {_row(sorted(runs))}")
    if state.sizes:
        lines.append("by size:")
        lines += [_size_line(state, i) for i in range(len(result.sizes))]
    if result.crossover is not None:
        lines.append(f"equal near n = {exact(round(result.crossover))}")
    return [line for line in lines if line]


def _size_line(state: RaceState, place: int) -> str:
    assert state.result is not None
    one = state.result.comparisons[place]
    ratio = ratio_with_spread(one.ratio, one.middle)
    return f"  n = {exact(state.sizes[place])}: A {one.slow.text()}, B {one.fast.text()}, {ratio}, {one.verdict}"


def _row(values: Sequence[float]) -> str:
    return " ".join(f"{value:.3f}" if value < 10 else number(value) for value in values)


def summary(state: RaceState) -> str:
    """Where it stands, in words that another machine would use too."""
    sizes = f" at n = {', '.join(map(exact, state.sizes))}" if state.sizes else ""
    told = "nothing measured yet" if state.result is None else "measured; the times are in the picture"
    return f"TimingRace: {title(state, 0)} beside {title(state, 1)}{sizes}: {told}."
