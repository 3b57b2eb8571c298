"""How a playground is drawn: what it learns, what it costs, and the switches; and all of it in its frame."""

from __future__ import annotations

import math

from ...common.wording import exact, number, plain
from ..frame import NARROW, WIDE, Figure
from ..marks import MONO_12, Canvas
from .curves import draw_accuracy, draw_curves
from .desk import Desk, Parts
from .model import HABITS, SAME, STOPS, UNCLEAR, PlayState, habits_of, stop_of
from .pictures import draw_digits, draw_scale, draw_weights
from .reasons import broken, why
from .words import (
    KNOB_LABELS,
    LABELS,
    ask,
    badge,
    describe,
    device_text,
    foot,
    headline,
    norm_text,
    standing_text,
    status,
    summary,
    text,
    times_text,
    value_text,
    verdict_text,
    weights_text,
    wrong_text,
)

LEARNS, COSTS = 446, 350  # widths of the two columns


def frame(state: PlayState) -> Desk:
    """The whole widget."""
    parts = Parts(
        Figure(
            _top(state),
            "Loss and accuracy while it trains" if state.glance.step else "Ten of the digits",
            describe(state),
        ),
        Figure(_below(state), "First-layer weights, misread digits and gradients", describe(state)),
        Figure(_costs(state, COSTS, 160), "What a step costs", status(state) or describe(state)),
        Figure(_costs(state, NARROW, 272), "What a step costs", status(state) or describe(state)),
        Figure(_small(state), "Accuracy while it trains", describe(state)),
    )
    wide, narrow = (Figure(_whole(state, width, parts), "Playground", describe(state)) for width in (WIDE, NARROW))
    return Desk(
        "Playground", ("tensors", "buffers", "device"), ask(state), wide, narrow, why(state), text(state), foot(state),
        badge(state.glance), status=status(state), summary=summary(state),
        state=state, parts=parts,
    )  # fmt: skip


def draw(state: PlayState, width: int) -> Figure:
    """The picture at one of the two widths."""
    made = frame(state)
    return made.wide if width == WIDE else made.narrow


# What it learns --------------------------------------------------------------------------------------------------


def _top(state: PlayState) -> Canvas:
    """The curves; before the first step, what there is to learn from."""
    c = Canvas(LEARNS)
    if state.glance.step:
        draw_curves(c, state, 0, LEARNS)
    else:
        c.text(0, 14, f"{exact(state.glance.trained)} handwritten digits to learn from, 8 × 8 pixels each", "f13")
        draw_digits(c, state.glance.samples, 0, 28, 45)
    return c


def _below(state: PlayState) -> Canvas:
    """Weights, misread digits, gradients."""
    c, glance = Canvas(LEARNS), state.glance
    c.text(0, 12, weights_text(glance), "b")
    if broken(glance):
        c.text(0, 44, "▲ The weights are no numbers any more.", "ta b f13")
    else:
        label = number(glance.greatest)
        c.text(LEARNS, 12, label, "m t2", "end")
        start = LEARNS - len(label) * MONO_12 - 8 - draw_scale(c, LEARNS - len(label) * MONO_12 - 8, 3)
        c.text(start - 8, 12, f"−{label}", "m t2", "end")
        draw_weights(c, glance.weights, 24, LEARNS, 114)
    y = 152.0
    c.text(0, y + 12, "misread now", "b")
    c.text(96, y + 12, wrong_text(glance), "t2")
    draw_digits(c, [one.pixels for one in glance.misread], 55, y + 23, 52)
    c.text(0, y + 82, "read as", "t2")
    c.text(0, y + 98, "truth", "t2")
    for i, one in enumerate(glance.misread):
        c.text(76 + 52 * i, y + 82, str(one.read), "m b", "middle")
        c.text(76 + 52 * i, y + 98, str(one.truth), "m t2", "middle")
    _gradients(c, state, 330, y)
    return c


def _gradients(c: Canvas, state: PlayState, x: float, y: float) -> None:
    norms = state.glance.gradients
    c.text(x, y + 12, "∂ norm by layer", "b")
    finite = [norm for norm in norms if norm is not None and math.isfinite(norm)]
    most = max(finite, default=0.0) or 1.0
    for i, norm in enumerate(norms):
        at = y + 36 + 20 * i
        c.text(x, at, str(i + 1), "t2")
        if norm is not None and math.isfinite(norm):
            c.rect(x + 14, at - 10, 38 * norm / most, 12, "tg")
        c.text(LEARNS, at, norm_text(norm), "m t2" if norm is None else "m tg", "end")
    c.line(x + 14, y + 22, x + 14, y + 30 + 20 * len(norms), "rule")


def _small(state: PlayState) -> Canvas:
    c = Canvas(340)
    draw_accuracy(c, state, 340)
    return c


# What it costs ---------------------------------------------------------------------------------------------------


def place(ratio: float, line: float) -> float:
    """Where a ratio stands on a line down · same · up of that length: within "same" by its difference, beyond by its
    logarithm, up to a thousand times."""
    low, middle, high = zones(line)
    if abs(ratio - 1) <= SAME:
        return middle + (high - middle) * (ratio - 1) / SAME
    if ratio > 1:
        return high + (line - 6 - high) * min(math.log(ratio / (1 + SAME)) / math.log(1000 / (1 + SAME)), 1.0)
    ratio = max(ratio, 1e-9)
    return low - (low - 6) * min(math.log((1 - SAME) / ratio) / math.log((1 - SAME) * 1000), 1.0)


def zones(line: float) -> tuple[float, float, float]:
    """The ends of "same", and its middle."""
    return 0.29 * line, 0.42 * line, 0.55 * line


def _costs(state: PlayState, width: float, line: float) -> Canvas:
    """The meters."""
    c, x = Canvas(width), 86.0
    low, _, high = zones(line)
    for words, at in zip(("down", "same", "up"), (low / 2, (low + high) / 2, (high + line) / 2), strict=True):
        c.text(x + at, 12, words, "t2", "middle")
    c.text(width, 12, "now", "t2", "end")
    y = 16.0
    for meter in state.glance.knobs.meters:
        height = 48.0 if meter == "time" else 36.0
        _meter(c, state, meter, (x, y, line, height), width)
        y += height
    return c


def _meter(c: Canvas, state: PlayState, meter: str, box: tuple[float, float, float, float], width: float) -> None:
    """One line, from where it stood before the last switch to where it is."""
    x, y, line, height = box
    at, (low, middle, high) = y + height - 12, zones(line)
    change, ratio = state.glance.change, state.ratio(meter)
    c.rect(x + low, y, high - low, height, "floor")
    c.line(x + middle, y, x + middle, y + height, "rule")
    c.line(x, at, x + line, at, "rule" if state.glance.step else "hair")
    c.text(0, at - 2, LABELS[meter], "f13")
    now = value_text(meter, state.glance.reading.value(meter))
    c.text(width, at - (7 if ratio is not None else 2), now, "f13 b" if now != "not yet" else "t2", "end")
    if ratio is None or change is None:
        return
    c.text(width, at + 9, f"was {value_text(meter, change.was.value(meter))}", "t2", "end")
    spot = x + place(ratio, line)
    unclear = state.zone(meter) == UNCLEAR
    span = state.spread() if unclear else None
    if span is None:
        c.line(min(x + middle, spot), at, max(x + middle, spot), at, "axis-recorded")
    else:  # from the least to the greatest that it may be, without a point
        c.line(x + place(span[0], line), at, x + place(span[1], line), at, "axis-recorded")
    said = state.said.get(change.habit, {}).get(meter) if change.on else None
    if said is not None:
        centre = x + {"down": low / 2, "same": middle, "up": (high + line) / 2}[said]
        c.path(f"M{centre - 7:.1f} {at:g}l7 -7l7 7l-7 7z", "you", at + 7)
    if unclear:
        c.text(x + middle, at - 12, UNCLEAR, "f13 b", "middle")
        return
    c.circle(spot, at, 4.5, "knob")
    large = meter == "time"
    label = times_text(ratio)
    half = len(label) * (13.5 if large else 7.6) / 2
    c.text(min(max(spot, x + half), x + line - half), at - 9, label, "f24 b" if large else "f13 b", "middle")


# The whole, for pages without a kernel -----------------------------------------------------------------------------


def _whole(state: PlayState, width: int, parts: Parts) -> Canvas:
    """Everything in one picture: side by side, or below each other."""
    c = Canvas(width)
    wide = width == WIDE
    c.text(0, 16, "what it learns", "f13 b")
    c.text(LEARNS, 16, headline(state.glance), "t2", "end")
    _place(c, parts.top.canvas, 0, 26)
    y = 26.0 + 188
    _place(c, parts.below.canvas, 0, y)
    bottom = y + 256.0
    if not wide:
        bottom = _knobs(c, state, bottom, width)
    left, top = (LEARNS + 16, 0.0) if wide else (0, bottom + 16)
    c.text(left, top + 16, "what it costs", "f13 b")
    if not state.said:
        c.text(width, top + 16, f"on {device_text(state.glance)}", "t2", "end")
    if state.said and state.glance.change is not None:
        _key(c, width, top)
    costs = parts.costs.canvas if wide else parts.costs_narrow.canvas
    _place(c, costs, left, top + 26)
    y = top + 26 + costs.height + 22
    c.text(left, y, "habits", "f13 b")
    for i, habit in enumerate(habits_of(state.glance)):
        _switch(c, state, habit, left, y + 10 + 32 * i, width)
    c.height = max(c.height, bottom)
    if wide:
        c.line(LEARNS + 8, 4, LEARNS + 8, c.height, "hair")
        _knobs(c, state, c.height, width)
    return c


def _knobs(c: Canvas, state: PlayState, y: float, width: float) -> float:
    """What can be pressed and turned, as it stands. Returns where it ends."""
    columns = 8 if width == WIDE else 4
    pitch = width / columns
    c.line(0, y + 8, width, y + 8, "hair")
    c.rect(0.5, y + 22, pitch - 18, 32, "mark-a", rx=6)
    c.text((pitch - 18) / 2, y + 42, "Train", "f13 b", "middle")
    for i, (name, label) in enumerate(KNOB_LABELS.items(), 1):
        x, top = i % columns * pitch, y + 28 + i // columns * 56
        value = getattr(state.glance.knobs, name)
        c.text(x, top, label, "t2")
        c.text(x, top + 17, standing_text(state.glance.knobs, name), "b")
        if name in STOPS:
            share = stop_of(name, value) / (len(STOPS[name]) - 1)
            c.line(x, top + 27, x + pitch - 18, top + 27, "rule")
            c.circle(x + 4.5 + (pitch - 27) * share, top + 27, 4.5, "knob")
    c.height = max(c.height, y + 64 + 56 * (len(KNOB_LABELS) // columns))
    return c.height


def _key(c: Canvas, width: float, top: float) -> None:
    x = width - 116
    c.path(f"M{x} {top + 12}l5.5 -5.5l5.5 5.5l-5.5 5.5z", "you")
    c.text(x + 16, top + 16, "you said")
    c.circle(x + 80, top + 12, 4.5, "knob")
    c.text(x + 90, top + 16, "it is")


def _place(c: Canvas, part: Canvas, x: float, y: float) -> None:
    """A part of the picture, moved."""
    c.open(transform=f"translate({x:g} {y:g})")
    c.items += part.items
    c.close()
    c.text_items += part.text_items
    c.height = max(c.height, y + part.height)


def _switch(c: Canvas, state: PlayState, habit: str, x: float, y: float, width: float) -> None:
    """A switch as it stands, with its verdict."""
    on, asks = habit in state.glance.habits, state.asking == habit
    c.rect(x + 0.75, y + 7, 31, 17, "knob" if on else "later" if asks else "mark-a", rx=8.5)
    c.circle(x + (23 if on else 9), y + 15.5, 5, "paper" if on else "dot")
    label = plain(HABITS[habit].label)
    c.text(x + 40, y + 20, label, "f13 b" if on or asks else "f13")
    found = state.verdicts.get(habit)
    if found is not None:
        c.text(width, y + 20, verdict_text(found), "t2", "end")
