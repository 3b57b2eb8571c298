"""A playground in words: its question, its one sentence, and its text twin."""

from __future__ import annotations

import math
import platform
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...common.wording import bytes_text, exact, number, plain, plural, ratio_text, seconds_text
from ...observe.machine import conditions as machine
from .model import HABITS, UNCLEAR, Glance, Knobs, PlayState, Point, Reading, habits_of, tip_of
from .reasons import broken, cause, why

SKIPPED = 2  # steps after a change that are not timed: one meets what was there before, one is counted
TOP_LOSS = 2.5  # the upper end of the loss axis; what lies above is cut, and its label says where it is
LABELS = {
    "time": "step time", "bytes": "bytes alive", "nodes": "graph nodes", "operations": "operations",
    "transfers": "transfers", "idle": "device idle",
}  # fmt: skip
MEANS = {
    "time": "median of the last steps; after a switch, of steps with and without it in turns",
    "bytes": "the most at once within a step: weights, gradients, the optimiser's state, results, a compiled program's "
    "memory; not the digits, nor what an operation or the optimiser works in",
    "nodes": "alive after the step, the leaves too",
    "operations": "in a step, forward and backward",
    "transfers": "copies in a step, from the host to the device or back",
    "idle": "the share of a step in which no kernel runs on the device",
}
VIRTUAL = "until the host has asked for everything and the device has done it; virtual, from the machine's constants"
TIMES = {
    "time": "the time", "bytes": "the bytes", "nodes": "the nodes", "operations": "the operations",
    "transfers": "the transfers", "idle": "the idle time",
}  # fmt: skip


def means(state: PlayState, meter: str) -> str:
    """What a meter counts, on the device in use."""
    return VIRTUAL if meter == "time" and state.glance.machine else MEANS[meter]


def share(part: float) -> str:
    """A percentage with one digit after the point; never 100 if something is missing."""
    text = f"{100 * part:.1f}"
    return ">99.9 %" if text == "100.0" and part < 1 else f"{text} %"


def network(knobs: Knobs) -> str:
    """``64–64–10``."""
    return "–".join(map(str, knobs.sizes))


def headline(glance: Glance) -> str:
    """Where training stands."""
    if not glance.step:
        return f"{network(glance.knobs)} network, untrained"
    return f"step {exact(glance.step)} · pass {exact(glance.passes)} of the digits"


def ask(state: PlayState) -> str:
    """The question."""
    change = state.glance.change
    habit = state.asking or (change.habit if change is not None and change.on else "")
    if habit:
        return f"{HABITS[habit].ask.format(batch=state.glance.knobs.batch)}: what will the meters do?"
    return state.ask or f"Can {exact(state.glance.knobs.parameters)} numbers learn to read handwriting?"


def value_text(meter: str, value: float | None) -> str:
    """What a meter says."""
    if value is None:
        return "not yet"
    if meter == "time":
        return seconds_text(value)
    if meter == "idle":
        return f"{round(100 * value)} %"
    return bytes_text(int(value)) if meter == "bytes" else exact(value)


def times_text(ratio: float) -> str:
    """``32×``, ``0.82×``; exactly one is ``1×``, and exactly none ``0×``. From none to some is no number of times."""
    if ratio in (0.0, math.inf):
        return "0×" if not ratio else "from 0"
    return "1×" if ratio == 1 else f"{ratio_text(ratio)}×"


def verdict_text(found: tuple[str, float]) -> str:
    """What stands beside a switch that has moved: ``32× the time``; a time without a ratio cannot tell."""
    if found == ("time", 0.0):
        return f"time: {UNCLEAR}"
    return f"{times_text(found[1])} {TIMES[found[0]]}"


def conditions() -> str:
    """The machine."""
    found = machine(None)
    python = ".".join(platform.python_version_tuple()[:2])
    return f"{found.cpu}, {plural(found.cores, 'core')}, Python {python}, NumPy {np.__version__}"


def foot(state: PlayState) -> str:
    """The conditions of what was measured."""
    reading = state.glance.reading
    if state.glance.machine:
        return (
            f"{state.glance.machine}: times are virtual and exact, of a steady step · "
            "all else is counted, or computed from the seed · digits: UCI, 8 × 8"
        )
    if reading.time is None:
        return f"{conditions()} · nothing timed yet · digits: UCI, 8 × 8"
    compared = state.glance.compared
    if compared is not None:
        timed = (
            f"step time: medians of {reading.runs} steps with and {reading.runs} without the habit, in turns, "
            "on two copies of this run"
        )
    else:
        timed = (
            f"step time: median of {reading.runs} steps, middle half {halves(reading)}, "
            f"the first {SKIPPED} after a change left out"
        )
    return f"{conditions()} · {timed} · all else is counted, or computed from the seed"


def halves(reading: Reading) -> str:
    """The middle half of the times."""
    return f"{seconds_text(reading.low)} to {seconds_text(reading.high)}"


def status(state: PlayState) -> str:
    """Read aloud when a switch has shown what it costs."""
    change = state.glance.change
    if change is None or state.ratio("time") is None:
        return ""
    said = state.said.get(change.habit, {}) if change.on else {}
    told = [meter_text(state, meter, said.get(meter), brief=True) for meter in state.glance.knobs.meters]
    return f"{plain(HABITS[change.habit].label)} {'on' if change.on else 'off'}: {', '.join(told)}."


def meter_text(state: PlayState, meter: str, said: str | None, brief: bool = False) -> str:
    """One meter: what it says, what it said before the last switch, and what the learner said that it would do."""
    ratio, now = state.ratio(meter), value_text(meter, state.glance.reading.value(meter))
    if ratio is None or state.glance.change is None:
        return f"{LABELS[meter]} {now}{_moved(state, meter)}"
    found = state.zone(meter)
    moved = found if found == UNCLEAR else f"{times_text(ratio)}, {found}"
    if brief:
        return f"{LABELS[meter]} {moved}" + (f", you said {said}" if said else "")
    was = value_text(meter, state.glance.change.was.value(meter))
    span = state.spread() if meter == "time" and not state.glance.machine else None
    between = "" if span is None else f" (between {times_text(span[0])} and {times_text(span[1])})"
    told = f"{LABELS[meter]} {now}{_moved(state, meter)}, was {was}: {moved}{between}"
    return told + (f"; you said {said}" if said else "")


def _moved(state: PlayState, meter: str) -> str:
    """The bytes of all transfers."""
    moved = state.glance.reading.moved
    return f" of {bytes_text(moved)} together" if meter == "transfers" and moved else ""


def knob_text(name: str, value: Any) -> str:
    """A knob's value."""
    return f"{100 * value:.3g} %" if name == "noise" else f"{value:g}" if isinstance(value, float) else str(value)


def standing_text(knobs: Knobs, name: str) -> str:
    """How a knob stands; where labels are wrong, also what they say: ``40 % next digit``."""
    told = knob_text(name, getattr(knobs, name))
    return f"{told} {knobs.wrong}" if name == "noise" and knobs.noise else told


KNOB_LABELS = {
    "learning_rate": "learning rate", "width": "width", "depth": "depth", "activation": "activation", "batch": "batch",
    "optimiser": "optimiser", "noise": "label noise",
}  # fmt: skip


def summary(state: PlayState) -> str:
    """The state without a time, and without a digit that depends on a machine's rounding."""
    glance = state.glance
    on = ", ".join(plain(HABITS[habit].label) for habit in glance.habits) or "none"
    part = "all" if glance.wrong == 0 else f"{math.floor(10 * glance.now.test_accuracy)} in 10 or more"
    return f"Playground: {headline(glance)}; of the test digits it reads {part}. Habits on: {on}."


def text(state: PlayState) -> str:
    """The text twin."""
    glance = state.glance
    lines = [f"Playground: {headline(glance)}", MACHINE, ask(state).replace("`", "")]
    lines.append(
        "knobs: " + ", ".join(f"{label} {standing_text(glance.knobs, name)}" for name, label in KNOB_LABELS.items())
    )
    lines += _learned(state)
    lines.append(f"what it costs, on {device_text(glance)}:")
    change = glance.change
    said = state.said.get(change.habit, {}) if change is not None and change.on else {}
    for meter in glance.knobs.meters:
        drafted = state.draft.get(meter) if state.asking else None
        told = meter_text(state, meter, said.get(meter)) + (f"; you say {drafted}" if drafted else "")
        if meter == "time" and glance.reading.time is not None and glance.compared is None and not glance.machine:
            told += f", middle half {halves(glance.reading)}"
        lines.append(f"  {told} ({means(state, meter)})")
        if not state.asking and (found := cause(state, meter)):
            lines.append(f"    because {found}")
    lines.append("habits:")
    lines += [f"  {'on ' if name in glance.habits else 'off'} {habit_text(state, name)}" for name in habits_of(glance)]
    if state.tip:
        lines.append(plain(tip_text(state.tip)))
    lines += [plain(why(state)), badge_text(state)]
    return "\n".join(lines)


MACHINE = "the machine: names → tensors → buffers → device → queue; shown here: tensors, buffers, device"


def badge_text(state: PlayState) -> str:
    """The badge, and what it stands for."""
    which = badge(state.glance)
    return f"{which}: {foot(state)}" if which else foot(state)


def badge(glance: Glance) -> str | None:
    """Where the times come from."""
    return "simulated" if glance.machine else None if glance.reading.time is None else "measured"


def device_text(glance: Glance) -> str:
    """``this CPU``, ``a simulated T4``."""
    return f"a simulated {glance.machine}" if glance.machine else "this CPU"


def _learned(state: PlayState) -> list[str]:
    glance, now = state.glance, state.glance.now
    lines = []
    if not glance.step:
        lines.append(f"{exact(glance.trained)} handwritten digits to learn from, 8 × 8 pixels each")
    else:
        lines.append(f"loss: {loss_text(now)}, {number(now.training_loss)} training")
        lines.append(f"accuracy: {share(now.test_accuracy)} test, {share(now.training_accuracy)} training")
        lines += _curve("", glance.curve)
        if glance.before:
            lines.append(f"dotted: run before, {before_text(glance)}")
            lines += _curve("run before, ", glance.before)
    if glance.change is not None:
        lines.append(f"from step {exact(glance.change.step)}: {change_text(state)}")
    scale = f"coloured from −{number(glance.greatest)} to {number(glance.greatest)}, and 2 % of them lie beyond"
    lines.append(f"{weights_text(glance)}: {'▲ The weights are no numbers any more.' if broken(glance) else scale}")
    misread = (f"{'an' if one.truth == 8 else 'a'} {one.truth} read as {one.read}" for one in glance.misread)
    read = "; ".join(misread) or "none"
    lines.append(f"misread now: {wrong_text(glance)}: {read}")
    norms = (f"{i}: {norm_text(norm)}" for i, norm in enumerate(glance.gradients, 1))
    lines.append(f"∂ norm by layer: {', '.join(norms)}")
    return lines


def _curve(which: str, curve: Sequence[Point]) -> list[str]:
    points = curve[:: max(1, -(-len(curve) // 12))]
    return [
        f"{which}test loss by step: " + ", ".join(f"{exact(p.step)}: {number(p.test_loss)}" for p in points),
        f"{which}test accuracy by step: " + ", ".join(f"{exact(p.step)}: {share(p.test_accuracy)}" for p in points),
    ]


def before_text(glance: Glance) -> str:
    """The knobs of the run before, as far as they stood elsewhere, and where it ended."""
    was, last = glance.was or glance.knobs, glance.before[-1]
    other = [
        f"{label} {standing_text(was, name)}"
        for name, label in KNOB_LABELS.items()
        if standing_text(was, name) != standing_text(glance.knobs, name)
    ]
    knobs = ", ".join(other) or "the same knobs"
    return f"{knobs}: {share(last.test_accuracy)} test at step {exact(last.step)}"


def too_high(point: Point) -> bool:
    """Whether the test loss is above its axis, or no number."""
    return not point.test_loss <= TOP_LOSS


def loss_text(point: Point) -> str:
    """The test loss, marked where it is above its axis."""
    return f"{'▲ ' * too_high(point)}{number(point.test_loss)} test"


def change_text(state: PlayState) -> str:
    """What the mark in the curves says."""
    change = state.glance.change
    assert change is not None
    label = plain(HABITS[change.habit].label)
    return label if change.on else f"{label} off"


def habit_text(state: PlayState, name: str) -> str:
    """A switch and its verdict."""
    parts = [plain(HABITS[name].label)]
    if state.asking == name:
        parts.append("what will the meters do?")
    if name in state.verdicts:
        parts.append(verdict_text(state.verdicts[name]))
    return ": ".join(parts)


def weights_text(glance: Glance) -> str:
    """The caption of the weights."""
    return f"first layer, {plural(len(glance.weights), 'unit')} × 8×8 weights"


def wrong_text(glance: Glance) -> str:
    """How many digits are misread."""
    return f"{glance.wrong} of {glance.tested} test digits"


def norm_text(norm: float | None) -> str:
    """A gradient's norm; ``∂ –`` before there is one."""
    return "∂ –" if norm is None else f"∂{number(norm)}"


def tip_text(habit: str) -> str:
    """The tip about a habit, and how to open it."""
    tip = tip_of(habit)
    return (
        "There is no tip about it yet."
        if tip is None
        else f'**{tip.title}.** {tip.why} Open it: `show_tip("{tip.slug}")`'
    )


def describe(state: PlayState) -> str:
    """What is drawn, then where training stands, then what the last switch did."""
    glance = state.glance
    told = (
        "Loss and accuracy by step, the first layer's weights as pictures, misread digits, gradients by layer, "
        f"meters of what a step costs on {device_text(glance)}, and switches. {headline(glance).capitalize()}"
    )
    if glance.step:
        told += f"; test accuracy {share(glance.now.test_accuracy)}, test loss {number(glance.now.test_loss)}"
    return f"{told}. {status(state)}".strip()
