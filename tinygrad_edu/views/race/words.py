"""A race in words: the question, the verdict and the remarks on it, and the text twin."""

from __future__ import annotations

from collections.abc import Sequence

from ...common.wording import exact, number, plain, plural, ratio_text, ratio_with_spread
from ...observe.results import Comparison, Sweep, Timing
from .model import RaceState, agreed, differs, multiples, otherwise

LETTERS = ("A", "B")
WAITING = "Nothing is measured before you commit to a prediction."
MEASURING = "The two take turns now."
FAILED = "The race ended without a result."
DIFFERENT = "The results differ"
WHY = (
    "Other work on the machine **adds time in spells**; as the two take turns, a spell hits both of a "
    "pair, and their ratio changes less than their times."
)


def at(state: RaceState, place: int) -> str:
    """``at n = 1000``; "" when there are no sizes."""
    return f"at n = {exact(state.sizes[place])}" if state.sizes else ""


def said_text(value: float) -> str:
    """A prediction, nearly as it was typed."""
    return exact(value) if value.is_integer() else f"{value:g}"


def predicted(value: float) -> str:
    """``10×``; below 1 it says which way: ``0.5×, that A is faster``."""
    return f"{said_text(value)}×" + ", that A is faster" * (value < 1)


def title(state: RaceState, which: int) -> str:
    """``A loop``."""
    return f"{LETTERS[which]} {state.names[which]}"


def question(state: RaceState) -> str:
    """The question to predict an answer to."""
    if state.ask:
        return state.ask
    where = at(state, state.place if state.said is None else state.said_at)
    return f"How many times faster is {title(state, 1)} than {title(state, 0)}{f' {where}' if where else ''}?"


def verdict(state: RaceState, place: int) -> str:
    """``B is faster at n = 1000.``"""
    assert state.result is not None
    found = state.result.comparisons[place]
    none = "Less than 5 % apart" if found.slight else "No difference in time"
    none = "Not settled which is faster" if found.open else none
    words = {"faster": "B is faster", "slower": "A is faster"}.get(found.verdict, none)
    return f"{words} {at(state, place)}".rstrip() + "."


def disagreement(state: RaceState, place: int) -> str:
    """``The results differ at n = 10: A gives 1, B gives 2.``; "" if they do not."""
    found = agreed(state, place)
    if found is None or found.same is not False:
        return ""
    return f"{DIFFERENT} {at(state, place)}".rstrip() + f": {found.how}."


def agreement_text(state: RaceState) -> str:
    """What was found when the results at the size shown were compared; "" if they were not, or if they differ."""
    found = agreed(state, state.place)
    if found is None or found.same is False:
        return ""
    return "Both give the same result." if found.same else f"Results: {found.how}."


def grounds(comparison: Comparison) -> str:
    """What the verdict rests on: ``95 % interval of this race 35–37×.``"""
    told = comparison.grounds()
    return f"{told[:1].upper()}{told[1:]}."


def ratio(comparison: Comparison) -> str:
    """How many times longer the slower one takes; the verdict says which one that is."""
    return f"{ratio_text(comparison.times[0])}×"


def remarks(state: RaceState) -> str:
    """The prediction, a size where the verdict differs, and whether the race was stopped early."""
    assert state.result is not None
    parts = [agreement_text(state)]
    elsewhere = next((i for i in range(len(state.agreements)) if i != state.place and differs(state, i)), None)
    if elsewhere is not None and not differs(state, state.place):
        parts.append(disagreement(state, elsewhere))
    if state.said is not None:
        parts.append(_prediction(state, state.result))
    other = otherwise(state)
    if other is not None:
        one = state.result.comparisons[other]
        words = "A is faster" if one.verdict == "slower" else "B is faster"
        parts.append(f"At n = {exact(state.sizes[other])} {words}, {ratio(one)}.")
    if state.result.stopped:
        missing = len(state.result.sizes) < len(state.sizes)
        parts.append("Stopped: larger sizes were not reached." if missing else "Stopped before all pairs were done.")
    return " ".join(part for part in parts if part)


def _prediction(state: RaceState, result: Sweep) -> str:
    """What was predicted. Where A is faster the headline counts the other way, so the measured ratio stands here too,
    as it was asked for."""
    assert state.said is not None
    told = f"You predicted {predicted(state.said)} {at(state, state.said_at)}".rstrip()
    measured = result.comparisons[state.said_at : state.said_at + 1]  # none where the race was stopped before
    if measured and measured[0].verdict == "slower":
        told += f"; it is {ratio_text(measured[0].ratio)}×"
    return f"{told}."


def waiting(state: RaceState) -> str:
    """Why there is no result."""
    return WAITING if state.said is None else FAILED if state.failed else MEASURING


def describe(state: RaceState) -> str:
    """What is known so far, in a sentence or two."""
    shown = state.shown
    if shown is None:
        return waiting(state)
    where = at(state, state.place)
    times = f"{title(state, 0)} takes {shown.slow.text()}, {title(state, 1)} {shown.fast.text()}"
    told = f"{where[:1].upper()}{where[1:]}, {times}." if where else f"{times}."
    return " ".join(
        [disagreement(state, state.place), told, verdict(state, state.place), f"{ratio(shown)}.", grounds(shown)]
    ).lstrip()


def place_text(size: float) -> str:
    """A size between two others; of a small one, a tenth can decide."""
    return exact(round(size, 1)) if size < 3 else exact(round(size))


def conditions(state: RaceState) -> str:
    """The conditions of the measurement."""
    shown = state.shown
    if shown is None:
        return "nothing is measured yet"
    return f"{shown.conditions.text()} · {_runs(shown.slow)}, median and middle half; ratio: median of the pairs"


def first_run(timing: Timing) -> str:
    """``run 1: 299×``: the first run that counts, as a multiple of the median. Work done only once stands here."""
    return f"run 1: {_row(timing.times[:1], timing.median)}×"


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
        lines += [f"you: {said_text(state.said)}×", waiting(state)]
    return "\n".join([*lines, *([f"▲ {state.message}"] if state.message else [])])


def _result_lines(state: RaceState, result: Sweep) -> list[str]:
    shown = result.comparisons[state.place]
    different = disagreement(state, state.place)
    lines = [f"▲ {different}"] if different else []
    lines += [f"{ratio(shown)} {verdict(state, state.place)} {grounds(shown)}", remarks(state)]
    for which, timing in enumerate((shown.slow, shown.fast)):
        runs, warmups = multiples(timing)
        lines.append(
            f"{title(state, which)}: {timing.text()}; {_runs(timing)}, as multiples of the median, {first_run(timing)}:"
        )
        lines += [f"  × {_row(warmups)}"] if warmups else []
        lines.append(f"  {_row(sorted(runs))}")
    if state.sizes:
        lines.append("by size:")
        lines += [_size_line(state, i) for i in range(len(result.sizes))]
    if result.crossover is not None:
        lines.append(f"between the sizes, the lines cross near n = {place_text(result.crossover)}")
    lines.append(f"measured on {conditions(state)}")
    return [line for line in lines if line]


def _size_line(state: RaceState, place: int) -> str:
    assert state.result is not None
    one = state.result.comparisons[place]
    times = f"A {one.slow.text()}, B {one.fast.text()}"
    who = {"faster": "B is faster", "slower": "A is faster"}.get(one.verdict, one.verdict)
    who = "not settled" if one.open else "less than 5 % apart" if one.slight else who
    told = f"{who}, {ratio_with_spread(one.times[0], one.times[1:])}{', results differ' * differs(state, place)}"
    return f"  n = {exact(state.sizes[place])}: {times}, {told}"


def _row(values: Sequence[float], unit: float = 1.0) -> str:
    found = (value / unit for value in values)
    return " ".join(f"{value:.3f}" if 0.1 <= value < 10 else number(value) for value in found)


def summary(state: RaceState) -> str:
    """How far the race has come, in words that are the same on every machine."""
    sizes = f" at n = {', '.join(map(exact, state.sizes))}" if state.sizes else ""
    told = "nothing measured yet" if state.result is None else "measured; the times are in the picture"
    if any(differs(state, place) for place in range(len(state.agreements))):
        told = f"the results differ; {told}"
    return f"TimingRace: {title(state, 0)} beside {title(state, 1)}{sizes}: {told}."
