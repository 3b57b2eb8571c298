"""Checkpoints in words: the question, what was found, why arithmetic is off, and the text twin."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import numpy as np

from ...common.wording import bytes_text, exact, number, plain, plural, ratio_text
from .model import OWNERS, SAME, Expected, Run, SliderState, again, expected, parts

LABELS = {"parameters": "parameters", "data": "data", "gradients": "gradients", "kept": "kept at the cuts",
          "segment": "of one segment", "workspace": "of one operation"}  # fmt: skip
MEANS = {
    "parameters": "parameters and buffers of the layers",
    "data": "the input, and what layers create, such as masks",
    "gradients": "of parameters, and on their way back",
    "kept": "results that wait at the cuts, and those that the first pass drops at once",
    "segment": "activations that one segment keeps for its backward",
    "workspace": "what one operation needs only while it runs",
}
HIDDEN = "What is alive in each moment is shown after you commit."
MEASURING = "Each number of segments is run now."
CHEAP = 0.1  # of the least peak: a run that is no further above it and computes less again is worth a mention
PEAKS = "peak by owner, for each number of segments"


def question(state: SliderState) -> str:
    """The question to predict an answer to."""
    return state.ask or f"{state.layers} layers in a row: how many segments give the lowest peak of memory?"


def formula(state: SliderState) -> str:
    """``○ predicted by arithmetic, least at √16 = 4``: the root where a layer keeps as much as it hands on."""
    even = abs(state.every - state.layers * state.cut) <= 0.01 * state.every
    return f"○ predicted by arithmetic, least at {f'√{state.layers} = ' * even}{exact(round(state.best, 2))}"


def some(numbers: Sequence[int], last: str = "and") -> str:
    """``4, 5 and 7``; neighbours as ``4 to 6``."""
    ends: list[str] = []
    for _, group in groupby(enumerate(numbers), lambda pair: pair[1] - pair[0]):
        found = [value for _, value in group]
        ends += [f"{found[0]} to {found[-1]}"] if len(found) > 2 else map(str, found)
    return f"{', '.join(ends[:-1])} {last} {ends[-1]}" if len(ends) > 1 else ends[0]


def division(state: SliderState, segments: int) -> str:
    """``16 layers, 3 cuts: 4 segments of 4 layers``; where the last one is longer, ``of 2 layers, the last of 6``."""
    if segments == 1:
        return f"{state.layers} layers, no cut: 1 segment"
    *first, last = parts(state.layers, segments)
    sizes = f"of {plural(first[0], 'layer')}" + (f", the last of {last}" if last != first[0] else "")
    return f"{state.layers} layers, {plural(segments - 1, 'cut')}: {segments} segments {sizes}"


def repeated(state: SliderState, run: Run) -> str:
    """``12 of 16 layers, 24 of 33 operations``."""
    return f"{again(state.layers, run.segments)} of {state.layers} layers, {run.again} of {run.forward} operations"


def headline(state: SliderState) -> str:
    """The peak that is shown beside that without cuts."""
    run, first = state.shown, bytes_text(state.plain.peak)
    if run.segments == 1:
        return f"{first} at the peak, and nothing is computed again."
    same = abs(run.peak - state.plain.peak) <= SAME * state.plain.peak
    peak = f"No difference: {bytes_text(run.peak)}" if same else f"{bytes_text(run.peak)} instead of {first}"
    return f"{peak} at the peak, and backward runs {repeated(state, run)} again."


def place(run: Run) -> str:
    """``in backward of tanh, segment 3``."""
    event = run.events[run.top]
    what = {"forward": event.op, "again": f"{event.op}, made again", "between": "NumPy code between operations"}
    told = what.get(event.phase, f"backward of {event.op}")
    return f"in {told}" + (f", segment {run.at_work} of {run.segments}" if run.segments > 1 else "")


def lowest(state: SliderState) -> str:
    """Where the least peak is, and what was predicted."""
    least = min(run.peak for run in state.runs)
    where = f"{some(state.lowest, 'or')} segment{'s' * (state.lowest != (1,))}"
    among = " of those measured" * (len(state.counts) < state.layers)
    told = f"The lowest peak{among} is {bytes_text(least)}, with {where}."
    if not state.said:  # shown without a question
        return told
    said = next((run for run in state.runs if run.segments == state.said), None)
    reached = "which was not reached" if said is None else bytes_text(said.peak)
    return f"{told} You said {state.said}: {reached}."


def trade(state: SliderState) -> str:
    """The run that computes fewest layers again, of those with nearly the least peak; "" where that is a lowest one."""
    least = min(run.peak for run in state.runs)
    fewest = min(again(state.layers, count) for count in state.lowest)
    near = [run for run in state.runs if run.peak <= (1 + CHEAP) * least and again(state.layers, run.segments) < fewest]
    if not near:
        return ""
    best = min(near, key=lambda run: (again(state.layers, run.segments), run.peak))
    more = number(100 * (best.peak / least - 1))
    layers = plural(again(state.layers, best.segments), "layer")
    what = f"a peak of {bytes_text(best.peak)}, {more} % above the lowest"
    return f"A cheaper choice is {plural(best.segments, 'segment')}: {what}, for {layers} computed again, not {fewest}."


def comparison(state: SliderState, run: Run) -> str:
    """The peak that arithmetic predicts beside the measured one, and the reason where they differ."""
    found = expected(state, run)
    if run.segments == 1:
        return "Arithmetic starts from this run."
    told = f"Arithmetic predicts {bytes_text(found.predicted)}"
    if found.holds:
        return f"{told}, and is right within 5 %."
    share = abs(found.difference) / found.predicted
    more = "more" if found.difference > 0 else "less"
    return f"{told}; measured is {number(100 * share)} % {more}: {reason(state, run, found)}."


def reason(state: SliderState, run: Run, found: Expected) -> str:
    """Why a run has another peak than arithmetic says: what the owner of most of the difference does."""
    more, last, at = found.difference > 0, parts(state.layers, run.segments)[-1], run.at_work
    rest = at == run.segments and last * run.segments > state.layers
    told = {
        ("segment", True): f"segment {at} keeps more than the average segment",
        ("segment", False): f"segment {at} keeps less than the average segment when memory is fullest",
        ("kept", True): "what waits at these cuts is larger than the average result",
        ("kept", False): f"memory is fullest in segment {at}, when fewer results wait",
        ("gradients", True): f"in segment {at} more gradients are alive: those of later layers, and the one that has "
        "arrived, which waits while the segment runs again",
        ("gradients", False): "fewer gradients are alive when memory is fullest",
        ("workspace", True): "the operation at the peak takes more memory while it runs",
        ("workspace", False): "the operation at the peak takes less memory while it runs",
        ("data", True): "layers have created more data by then",
        ("data", False): "layers have created less data by then",
    }  # fmt: skip
    if (found.owner, more, at) == ("gradients", True, run.segments):
        return "more gradients are alive when memory is fullest"
    if (found.owner, more, at) == ("kept", False, run.segments):
        return "what waits at these cuts is smaller than the average result"
    if found.owner == "segment" and more and rest:
        share = exact(state.layers / run.segments)
        return f"the last segment gets the rest of the division, {last} layers and not {share}"
    return told[found.owner, more]


def faith(state: SliderState, run: Run) -> str:
    """Whether gradients are those without cuts, and what else the second pass has done."""
    if run.segments == 1:
        return ""
    told = "Every gradient is the same as without cuts, bit for bit."
    if run.gradients:
        told = f"Not every gradient is the same as without cuts, bit for bit: {run.gradients}."
    if run.moved:
        names = ", ".join(run.moved[:2]) + (f" and {len(run.moved) - 2} more" if len(run.moved) > 2 else "")
        told += f" Layers that ran twice moved their statistics twice: {names}."
    return told


def clock(state: SliderState) -> str:
    """The race of the run that is shown, if there was one."""
    found = state.time
    if found is None:
        return ""
    ratio, low, high = 1 / found.ratio, 1 / found.interval[1], 1 / found.interval[0]
    spread = f"{ratio_text(ratio)}× the time ({ratio_text(low, ratio)}–{ratio_text(high, ratio)})"
    none = "not settled which takes longer" if found.open else "no difference"
    verdict = spread if found.verdict != "no difference" else f"{none}, {spread}"
    return f"On the clock: {found.fast.text()} instead of {found.slow.text()}, {verdict}."


def lines(state: SliderState) -> list[str]:
    """What is said of the run that is shown, after its headline."""
    run = state.shown
    return [*filter(None, (lowest(state), trade(state), comparison(state, run), faith(state, run), clock(state)))]


def why(state: SliderState) -> str:
    """The cause, in one sentence."""
    if state.why:
        return state.why
    if not state.measured:
        return (
            "Backward needs the activations of one segment at a time. What that **dropped** is computed again, from "
            "the result kept at its cut."
        )
    if not state.saves:
        what, size = _largest(state.plain)
        if what == "activations":
            return (
                "Cuts drop what lies inside a segment; here **the results at the cuts** and one segment fill about as "
                "much."
            )
        share = "most" if size > state.plain.peak / 2 else "the largest part"
        return f"Cuts drop **activations** only; here {share} of the peak is {what}, which no cut makes smaller."
    return (
        "With more cuts, more results wait at them, and each segment holds less: the **sum** is least where both are "
        "about equal."
    )


def _largest(run: Run) -> tuple[str, int]:
    """What fills most of a peak, and its bytes. Parameters have no more gradients than they have bytes."""
    sizes = dict(zip(OWNERS, run.owners, strict=True))
    learnt = sizes["parameters"]
    found = {
        "parameters and their gradients": learnt + min(sizes["gradients"], learnt),
        "gradients on their way back through the layers": max(sizes["gradients"] - learnt, 0),
        "what one operation needs": sizes["workspace"],
        "data": sizes["data"],
        "activations": sizes["segment"] + sizes["kept"],
    }
    return max(found.items(), key=lambda pair: pair[1])


def waiting(state: SliderState) -> str:
    """What stands where the result will be."""
    return HIDDEN if state.said is None else MEASURING


def describe(state: SliderState) -> str:
    """The one fact."""
    if not state.measured:
        told = f"Without cuts the peak is {bytes_text(state.plain.peak)}."
        return f"{told} {waiting(state)}"
    return f"{division(state, state.segments)}. {headline(state)} {lowest(state)}"


def conditions(state: SliderState) -> str:
    """How the numbers came about."""
    counted = f"bytes of arrays, counted without Python's own objects, NumPy {np.__version__}"
    told = f"`checkpoint_sequential`, forward and backward, no optimiser · {counted}"
    if state.time is None:
        return plain(told)
    runs = len(state.time.slow.times)
    return plain(
        f"{told} · time: {state.time.conditions.text()}, {plural(runs, 'pair')} of runs, median and middle half"
    )


def summary(state: SliderState) -> str:
    """How far it has come, in words that hold on every machine."""
    return f"CheckpointSlider: {describe(state)}"


# The text twin ----------------------------------------------------------------------------------------------------


def text(state: SliderState) -> str:
    """Every value of the picture."""
    told = [f"CheckpointSlider: {plain(question(state))}"]
    if state.models:
        others = [name for name in state.models if name != state.model]
        told.append(f"model: {state.model} (there is also {', '.join(others)})")
    cuts = state.segments if state.measured else state.draft if state.said is None else state.said
    told.append(division(state, cuts))
    told.append(f"after forward: {kept(state, cuts)}")
    if not state.measured:
        told.append(f"{PEAKS}: {bytes_text(state.plain.peak)} without cuts ({owners_text(state.plain)})")
        told.append(f"you: lowest at {cuts}" + ", not committed" * (state.said is None))
        told.append(waiting(state))
    else:
        told += _result(state)
    return "\n".join([*told, *([f"▲ {state.message}"] if state.message else [])])


def kept(state: SliderState, segments: int) -> str:
    """What is kept after forward, and which layers run again."""
    last = parts(state.layers, segments)[-1]
    if segments == 1:
        return f"nothing is dropped: all {last} layers keep what their backward needs"
    at_cuts = plural(segments - 1, "result")
    told = f"{at_cuts} kept at the cuts, and all that the last segment needs ({plural(last, 'layer')})"
    rest = state.layers - last
    return f"{told}; backward runs the other {plural(rest, 'layer') if rest > 1 else 'layer'} again"


def owners_text(run: Run) -> str:
    """``parameters 266 kB, data 262 kB, …``: those that there are."""
    named = zip(OWNERS, run.owners, strict=True)
    return ", ".join(f"{LABELS[owner]} {bytes_text(size)}" for owner, size in named if size)


def _result(state: SliderState) -> list[str]:
    run = state.shown
    told = [f"{plural(run.segments, 'segment')}: {headline(state)}", *lines(state)]
    told += [f"at the peak, {place(run)}: {owners_text(run)}", f"{PEAKS}; {formula(state)}:"]
    for one in state.runs:
        marks = "  ← shown" * (one is run) + "  ◇ you" * (one.segments == state.said)
        told.append(
            f"  {one.segments}: {bytes_text(one.peak)} ({owners_text(one)}); "
            f"○ {bytes_text(expected(state, one).predicted)}; computed again: {repeated(state, one)}{marks}"
        )
    missing = [count for count in state.counts if count not in [one.segments for one in state.runs]]
    if missing:
        told.append(f"  not visited: {some(missing)}")
    least = f"{exact(round(state.best, 2))} segment{'s' * (state.best != 1)}"
    told.append(f"by arithmetic the least is at {least}: {root(state)}")
    told.append(f"alive during one step, {plural(run.segments, 'segment')}, the most in each operation, MB:")
    for phase, group in groupby(run.events, lambda event: event.phase):
        row = " ".join(f"{event.total / 1e6:.3f}" for event in group)
        told.append(f"  {PHASES[phase]}: {row}")
    if state.time is not None:
        told.append(f"time measured on {state.time.conditions.text()}")
    told += [f"  {LABELS[owner]}: {means}" for owner, means in MEANS.items()]
    return told


PHASES = {"forward": "forward", "again": "forward again", "backward": "backward", "between": "between operations"}


def root(state: SliderState) -> str:
    """``√(4.19 MB of activations / 262 kB at a cut)``; with none, why not."""
    if not state.every:
        return "no activations are left at the peak without cuts, so cuts cannot lower it"
    return f"√({bytes_text(state.every)} of activations / {bytes_text(state.cut)} at a cut)"
