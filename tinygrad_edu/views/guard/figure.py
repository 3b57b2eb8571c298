"""How the guard is drawn: the code with its lock spans, who holds the array, the refusal, both gradients."""

from __future__ import annotations

import numpy as np

from ...common.wording import bytes_text
from ..frame import NARROW, WIDE, Control, Figure, Frame
from ..marks import MONO_13, Canvas, shorten, wrap_text
from .model import LensState, at, spans
from .program import Seen
from .words import (
    MOST_NAMES,
    NO_ARRAY,
    describe,
    failure_title,
    more_names,
    others_text,
    refusal,
    remark,
    shown_array,
    spoken,
    status,
    text,
    verdict_lines,
    why,
)


def draw(state: LensState, width: int) -> Figure:
    """The code with its lock spans; who holds the array now; the refusal; both gradients."""
    canvas = Canvas(width)
    wide = width >= WIDE
    code_width = 448 if wide else width
    _draw_code(canvas, state, code_width)
    x, y = (code_width + 32, 0.0) if wide else (0.0, canvas.height + 16)
    below = _draw_holder(canvas, state, x, y, width - x)
    top = max(canvas.height if not wide else 28.0 * len(state.story.lines) + 8, below) + 16
    _draw_verdict(canvas, state, top, width, wide)
    return Figure(canvas, "Who holds the array", describe(state))


def _draw_code(canvas: Canvas, state: LensState, width: float) -> None:
    story, lines = state.story, state.story.lines
    canvas.rect(0, 0, width, 28 * len(lines) + 8, "floor")
    lanes = spans(story)
    names = list(dict.fromkeys(span.name for span in lanes))
    left = 36 + 16 * max(len(names), 1)
    for row, line in enumerate(lines):
        y = 4.0 + 28 * row
        word, style = remark(story, row)
        if "ta" in style.split():
            canvas.rect(0, y, width, 28, "wash")
        elif row == state.row:
            canvas.rect(0, y, width, 28, "on")
            style = "b" if style == "b" else ""  # on this ground grey would be hard to read
        canvas.open(
            tabindex=0, role="button", aria_label=f"line {row + 1}: {line}. {word}", data_act="row", data_value=row
        )
        canvas.rect(0.5, y + 0.5, width - 1, 27, "hit", rx=2)
        canvas.text(20, y + 18.5, str(row + 1), "m" if row == state.row else "m t2", "end")
        room = int((width - left - 12 - len(word) * 7.5) / MONO_13)
        canvas.text(left, y + 18.5, shorten(line, room), "m f13 b" if row == state.row else "m f13")
        canvas.close()
        if word:
            canvas.text(width - 10, y + 18.5, word, style, "end")
    for span in lanes:
        x = 38.0 + 16 * names.index(span.name)
        y0, y1 = 18.0 + 28 * span.start, (18.0 + 28 * (span.end or 0) if span.ends else 28.0 * len(lines) + 6)
        canvas.line(x, y0, x, y1, "span")
        canvas.circle(x, y0, 4.5, "knob")
        if span.ends:
            canvas.circle(x, y1, 4.5, "ring")
    for moment in story.moments:
        if moment.refused or moment.error:
            y = 18.0 + 28 * moment.row
            canvas.path(f"M31 {y + 6}l7 -12.5l7 12.5z", "edge-alert")


def _draw_holder(canvas: Canvas, state: LensState, x: float, y: float, width: float) -> float:
    """Name, buffer with its padlock, and the node that holds it. Returns the lower edge."""
    moment, shown = at(state), shown_array(state)
    if moment is None or shown is None:
        canvas.text(x, y + 20, NO_ARRAY, "t2")
        return y + 36
    name, values = shown.name, shown.values
    lock = next((hold for hold in moment.holds if hold.array == shown.array), None)
    can, because = status(state, shown)
    tip = _draw_names(canvas, shown, x, y + 18)
    cell = min(44.0, (width - (tip - x) - 60) / max(len(values), 1))
    left = tip + 24
    canvas.line(tip, y + 28, left, y + 28, "rule")
    canvas.rect(left - 10, y + 1, len(values) * cell + 44, 62, "floor")
    canvas.line(left - 10, y + 1, left + len(values) * cell + 34, y + 1, "floortop")
    for i, value in enumerate(values):
        canvas.rect(left + i * cell, y + 12, cell, 28, "cell")
        canvas.text(left + (i + 0.5) * cell, y + 30.5, shorten(value, int(cell / 8)), "m f13", "middle")
    if lock:
        canvas.padlock(left + len(values) * cell + 10, y + 18)
    canvas.text(left, y + 56, "cpu", "b")
    canvas.text(left + 28, y + 56, f"{bytes_text(shown.nbytes)}, {can}", "t2")
    if lock is None:
        for i, line in enumerate(wrap_text(because, max(int((width - (left - x)) / 7.0), 20))):
            canvas.text(left, y + 84 + 17 * i, line, "t2")
        return canvas.height + 8
    middle = left + 84
    canvas.line(middle, y + 112, middle, y + 70, "span")
    canvas.circle(middle, y + 67, 4.5, "knob")
    canvas.text(middle + 12, y + 93, "holds", "b")
    canvas.rect(left, y + 112, 200, 44, "card", rx=8)
    canvas.text(left + 10, y + 130, lock.op, "m b f13")
    if lock.row is not None:
        canvas.text(left + 190, y + 130, f"line {lock.row + 1}", "t2", "end")
    canvas.text(left + 10, y + 147, f"saved {shorten(name, 10)}{others_text(lock)}", "t2")
    return y + 164


def _draw_names(canvas: Canvas, shown: Seen, x: float, y: float) -> float:
    """Every name that stands for the bytes, on one rail to their buffer. Returns where the rail ends."""
    names = shown.name, *shown.others[:MOST_NAMES]
    tips = [canvas.tag(x, y + 26 * i, shorten(name, 10)) for i, name in enumerate(names)]
    rail = max(tips) + 8 if shown.others else tips[0]
    for i, tip in enumerate(tips):
        canvas.line(tip, y + 10 + 26 * i, rail, y + 10 + 26 * i, "rule")
    canvas.line(rail, y + 10, rail, y + 10 + 26 * (len(tips) - 1), "rule")
    if more_names(shown):
        canvas.text(x, y + 26 * len(tips) + 14, more_names(shown), "t2")
    return rail


def _draw_verdict(canvas: Canvas, state: LensState, y: float, width: float, wide: bool) -> None:
    facts = refusal(state)
    if facts:
        box = 448.0 if wide else width  # as wide as the listing above it
        room = int((box - 96) / 7.0)
        rows = [(label, wrap_text(text, room)) for label, text in facts]
        height = 42 + 19 * sum(len(text) for _, text in rows)
        canvas.rect(0, y, box, height, "wash")
        canvas.rect(0, y, 3, height, "edge-alert")
        canvas.text(16, y + 24, f"▲ {failure_title(state)}", "ta b f13")
        base = y + 46
        for label, text in rows:
            canvas.text(16, base, label, "t2")
            for part in text:
                canvas.text(80, base, part, "m" if label == "tried" else "")
                base += 19
        if wide:
            _draw_gradients(canvas, state, 480, y + 8)
        else:
            _draw_gradients(canvas, state, 0, y + height + 18)
    else:
        _draw_gradients(canvas, state, 0, y + 4)


def _draw_gradients(canvas: Canvas, state: LensState, x: float, y: float) -> None:
    for line, style in verdict_lines(state):
        canvas.text(x, y + 12, line, style)
        y += 19


def frame(state: LensState, ask: str, editing: bool = False) -> Frame:
    """The whole widget."""
    controls = [
        Control("radio", "guard", "guard", state.guard, ("on", "off")),
        Control("icon", "up", "Line up", "up", disabled=state.row <= 0, key="ArrowUp"),
        Control("icon", "down", "Line down", "down", disabled=state.row >= len(state.story.lines) - 1, key="ArrowDown"),
        Control("button", "edit", "Done" if editing else "Edit the code", pressed=editing),
        Control("button", "reset", "Reset", push=True, key="r"),
    ]
    if editing:
        controls += [Control("break"), Control("area", "code", value="\n".join(state.story.lines), hint="the program")]
    return Frame(
        "GuardLens", ("names", "buffers"), ask, draw(state, WIDE), draw(state, NARROW), why(state), text(state),
        f"this run, NumPy {np.__version__} · line {state.row + 1} of {len(state.story.lines)}", None, tuple(controls),
        status=spoken(state),
    )  # fmt: skip
