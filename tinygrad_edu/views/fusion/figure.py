"""How a program is drawn: operations one below the other with seams between them, and bars for what they cost."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...common.wording import exact
from ..frame import NARROW, WIDE, Control, Figure, Frame
from ..marks import MONO_12, Canvas, shorten
from . import words
from .model import EXAMPLES, SIZES, FusionState, groups

CARD, SEAM, LEFT = 28.0, 22.0, 34.0  # the height of an operation and of a seam; where operations begin
COLUMN = 330.0
BAR = 15.0


def draw(state: FusionState, width: int, live: bool = True) -> Figure:
    """The operations on the left, the bars on the right, or below."""
    canvas = Canvas(width)
    wide = width >= WIDE
    bottom = _column(canvas, state, COLUMN if wide else float(width), live)
    left, top = (COLUMN + 40, 0.0) if wide else (0.0, bottom + 24)
    _bars(canvas, state, left, top, width - left)
    return Figure(canvas, "A program and its kernels", words.describe(state))


def _column(canvas: Canvas, state: FusionState, width: float, live: bool) -> float:
    """The operations, bracketed by kernel. Returns the lower edge."""
    canvas.text(0, 14, "operations", "b f13")
    canvas.text(width, 14, "result", "t2", "end")
    y, place = 26.0, 0
    for group in groups(state.program, state.closed):
        top = y
        for one in group:
            first = place == 0
            if not first:
                y = _seam(canvas, state, place - 1, y, width, live)
            if one is group[0]:
                top = y
            kind = one.outs[0].type
            canvas.rect(LEFT, y, width - LEFT, CARD, "card", 8)
            room = int((width - LEFT - 20 - len(kind) * MONO_12) / MONO_12)
            canvas.text(LEFT + 10, y + 18.5, shorten(f"{one.outs[0]} = {words.operation(one)}", room), "m")
            canvas.text(width - 10, y + 18.5, kind, "m t2", "end")
            y += CARD
            place += 1
        if len(group) > 1:
            canvas.path(f"M{LEFT - 8} {top + 2}H{LEFT - 14}V{y - 2}H{LEFT - 8}", "span", y)
    return y


def _seam(canvas: Canvas, state: FusionState, seam: int, y: float, width: float, live: bool) -> float:
    """What is between two operations: a line that can be pressed; and then, or why it stays. Returns where the next
    begins."""
    stays, shut = seam in state.tried, seam in state.closed
    middle = y + SEAM / 2
    told = f"seam {seam + 1}: {words.seam(state, seam)}"
    acts: dict[str, Any] = {}
    if live:
        acts = {
            "data_act": "press",
            "data_value": seam,
            "role": "button",
            "tabindex": 0,
            "aria_pressed": str(shut).lower(),
            "aria_disabled": "true" if stays else None,
        }
    canvas.open(**acts, aria_label=told, data_tip=told)
    canvas.rect(LEFT, y, width - LEFT, SEAM, "hit")
    if stays:
        canvas.text(LEFT + 24, middle + 4, words.stays(state.program, seam), "t2")
    elif shut:
        canvas.line(LEFT + 24, y, LEFT + 24, y + SEAM, "fwd")
        canvas.text(LEFT + 36, middle + 4, "part: it stays in the processor", "t2")
    else:
        canvas.line(LEFT + 10, middle, width - 10, middle, "rule")
        canvas.rect(LEFT + 20, middle - 8, 44, 16, "cell")
        canvas.line(LEFT + 34.7, middle - 8, LEFT + 34.7, middle + 8, "tick")
        canvas.line(LEFT + 49.3, middle - 8, LEFT + 49.3, middle + 8, "tick")
        canvas.rect(LEFT + 74, middle - 8, 62, 16, "paper")
        canvas.text(LEFT + 78, middle + 4, "merge", "b")
    canvas.close()
    return y + SEAM


def _bars(canvas: Canvas, state: FusionState, left: float, y: float, width: float) -> None:
    """For each of the three costs a bar for each program, from zero; and times, once they are measured."""
    costs = state.costs
    for bar in words.BARS:
        canvas.text(left, y + 14, words.LABELS[bar], "b f13")
        most = max(getattr(cost, bar) for cost in costs.values()) or 1
        rows = [(name, getattr(cost, bar) / most, words.amount(bar, cost)) for name, cost in costs.items()]
        y = _rows(canvas, rows, left, y + 24, width) + 18
    timed = words.timing_text(state)
    if timed and state.timing is not None:
        times = (state.timing.written, state.timing.yours, state.timing.compiler)
        most_time = max(high for _, _, high in times)
        canvas.text(left, y + 14, "time", "b f13")
        rows = [(name, m / most_time, told) for (name, told), (m, _, _) in zip(timed, times, strict=True)]
        y = _rows(canvas, rows, left, y + 24, width) + 18
    elif not state.revealed:
        canvas.text(left, y + 14, "The compiler’s choice is hidden.", "t2")


def _rows(canvas: Canvas, rows: list[tuple[str, float, str]], left: float, y: float, width: float) -> float:
    name_room, told_room = 78.0, 16 + max(len(told) for _, _, told in rows) * 7.4
    room = max(width - name_room - told_room, 40.0)
    for name, share, told in rows:
        canvas.text(left + name_room - 8, y + 11.5, name, "t2" if name == "as written" else "b", "end")
        canvas.rect(left + name_room, y, max(room * share, 1.5), BAR, "mark-a" if name == "as written" else "result")
        canvas.text(left + name_room + max(room * share, 1.5) + 8, y + 11.5, told, "" if name == "as written" else "b")
        y += BAR + 6
    return y


# The widget ----------------------------------------------------------------------------------------------------------


def frame(state: FusionState, working: bool = False) -> Frame:
    """The whole widget."""
    return Frame(
        "FusionBuilder", ("buffers", "device", "queue"), words.question(state), draw(state, WIDE), draw(state, NARROW),
        words.why(state), words.text(state), f"{words.conditions(state)} · NumPy {np.__version__}",
        "measured" if state.timing is not None else None, tuple(_controls(state, working)),
        tip="Press a seam between two operations to merge them, and again to part them. Some stay open, and say why.",
        status=words.told(state), summary=words.summary(state),
    )  # fmt: skip


def _controls(state: FusionState, working: bool) -> list[Control]:
    found = [Control("button", "everything", "Part all" if state.merged else "Merge all", key="a")]
    if state.example:
        sizes = tuple((n, f"{exact(n)} numbers") for n in SIZES)
        found.append(Control("select", "example", "program", state.example, tuple((n, n) for n in EXAMPLES)))
        found.append(Control("select", "numbers", "size", state.numbers, sizes))
    shown = "Hide the compiler’s" if state.revealed else "Show the compiler’s"
    found.append(Control("button", "reveal", shown, key="c"))
    found.append(Control("button", "measure", "Measure", main=True, disabled=working, key="m"))
    return found
