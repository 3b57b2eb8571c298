"""How calls and keys are drawn: a row for each call, a column for each program, a dot where the two meet."""

from __future__ import annotations

import numpy as np

from ..frame import NARROW, WIDE, Control, Figure, Frame
from ..marks import MONO_12, UI_12, Canvas, shorten, wrap_text
from . import words
from .model import FILL, HIT, MISS, SERIES, LedgerState, fills, limit, outcome

ROW, TOP = 27.0, 44.0
KEY = 24.0  # from one program to the next
CALL, ARGUMENTS = 24.0, 62.0  # right edge of the numbers; where arguments begin


def draw(state: LedgerState, width: int) -> Figure:
    """The table of calls, or of programs alone."""
    canvas = Canvas(width)
    if state.programs:
        _programs(canvas, state, width)
    else:
        _calls(canvas, state, width)
    return Figure(canvas, "Calls and the programs that serve them", words.describe(state))


def _calls(canvas: Canvas, state: LedgerState, width: int) -> None:
    wide, keys = width >= WIDE, limit()  # all of them: how many are needed is for the learner to find out
    most = max(len(", ".join(one.arguments)) for one in (*state.records, *state.healed))
    left = ARGUMENTS + min(most * MONO_12 + 24, 230.0)
    canvas.text(CALL, TOP - 22, "call", "t2", "end")
    canvas.text(ARGUMENTS, TOP - 22, "arguments", "t2")
    canvas.text(left, TOP - 22, "program", "t2")
    for key in range(1, keys + 1):
        there = key <= max((one.key for one in state.shown), default=0)
        canvas.text(left + 8 + KEY * (key - 1), TOP - 4, str(key), "b" if there else "t2", "middle")
    reasons = left + KEY * keys + 20
    if wide:
        canvas.text(reasons, TOP - 22, "what was different", "t2")
    canvas.line(0, TOP + 2, width, TOP + 2, "rule")
    y = TOP + 8
    for key in range(1, keys + 1):
        x = left + 8 + KEY * (key - 1)
        canvas.line(x, y, x, y + ROW * len(state.all), "ghost")
    for place in range(len(state.all)):
        _row(canvas, state, place, y, (left, reasons, width), wide)
        y += ROW
    y += 14
    _legend(canvas, bool(state.said), y)
    y += 26
    told = [words.totals(state), words.score(state), words.times(state) if state.timed else ""]
    for one, cls in zip(told, ("b f13", "", ""), strict=True):
        for part in wrap_text(one, int(width / (UI_12 * 1.15))) if one else ():
            canvas.text(0, y, part, cls)
            y += 18


def _row(
    canvas: Canvas, state: LedgerState, place: int, y: float, at: tuple[float, float, float], wide: bool
) -> None:  # fmt: skip
    left, reasons, width = at
    record = state.all[place]
    if place >= state.at:
        canvas.text(CALL, y + 15, str(place + 1), "t2", "end")
        if place == state.at:
            canvas.text(ARGUMENTS, y + 15, shorten(", ".join(record.arguments), 30), "m t2")
            canvas.text(reasons if wide else left + 8, y + 15, "what will it find?", "t2")
        return
    current = place == state.at - 1
    if current:
        canvas.rect(0, y, width, ROW - 3, "on")
    canvas.text(CALL, y + 15, str(place + 1), "b" if current else "", "end")
    canvas.text(ARGUMENTS, y + 15, shorten(", ".join(record.arguments), 30), "m")
    if record.key:
        x = left + 8 + KEY * (record.key - 1)
        canvas.circle(x, y + 11, 5, "result" if record.made else "card")
    else:
        canvas.text(left, y + 15, "▲ as it is written", "ta")
    if wide and record.reason:
        canvas.text(reasons, y + 15, shorten(words.reason(record), int((width - reasons) / UI_12)), "")
    said = state.said.get(place)
    if said is not None:
        canvas.text(32, y + 15, "◇" if said == outcome(record) else "◇ ▲", "b")


def _legend(canvas: Canvas, said: bool, y: float) -> None:
    canvas.circle(6, y - 4, 5, "result")
    canvas.text(18, y, "recorded, a program is made", "t2")
    canvas.circle(206, y - 4, 5, "card")
    canvas.text(218, y, "one is there", "t2")
    if said:
        canvas.text(304, y, "◇ ▲ wrong", "t2")


def _programs(canvas: Canvas, state: LedgerState, width: int) -> None:
    y = 16.0
    for place, one in enumerate(state.programs, 1):
        canvas.text(CALL, y, str(place), "b", "end")
        canvas.circle(ARGUMENTS - 16, y - 4, 5, "card" if one.broken else "result")
        canvas.text(ARGUMENTS, y, shorten(one.signature or "no tensors", int((width - 160) / MONO_12)), "m b")
        canvas.text(width - 4, y, f"{one.calls} {'call' if one.calls == 1 else 'calls'}", "", "end")
        y += 18
        told = f"as it is written: {one.broken}" if one.broken else one.reason
        for part in wrap_text(told.replace("\n", " "), int((width - ARGUMENTS) / (UI_12 * 1.05)))[:2]:
            canvas.text(ARGUMENTS, y, part, "t2")
            y += 17
        y += 10
    canvas.text(0, y + 4, "A ledger knows how often a program has run, not in which order.", "t2")


# The widget ----------------------------------------------------------------------------------------------------------


def frame(state: LedgerState) -> Frame:
    """The whole widget."""
    return Frame(
        "RetraceLedger", ("tensors", "queue"), words.question(state), draw(state, WIDE), draw(state, NARROW),
        words.why(state), words.text(state), _conditions(state),
        "measured" if state.timed else None, tuple(_controls(state)),
        status=words.describe(state), summary=words.summary(state),
    )  # fmt: skip


def _conditions(state: LedgerState) -> str:
    """The machine names NumPy's version already."""
    told = words.conditions(state)
    return told if "NumPy" in told else f"{told} · NumPy {np.__version__}"


def _controls(state: LedgerState) -> list[Control]:
    if state.programs:
        return []
    more = state.at < len(state.all)
    found = [
        Control("button", "hit", "There is a program", disabled=not more, key="h"),
        Control("button", "miss", "It is recorded", disabled=not more, key="m"),
        *[Control("button", "fill", "A length is filled in", disabled=not more, key="f")] * fills(state),
        Control("button", "back", "Back", disabled=state.at <= 1, key="ArrowLeft"),
        Control("button", "step", "Next call", main=True, disabled=not more, key="ArrowRight"),
    ]
    if state.name:
        found.append(Control("select", "series", "series", state.name, tuple((one, one) for one in SERIES)))
        cure = SERIES[state.name].cure
        found.append(Control("button", "cure", cure, pressed=state.cured, key="c"))
    found.append(Control("button", "time", "Times", pressed=state.timed, key="t"))
    return found


GUESS = {"hit": HIT, "miss": MISS, "fill": FILL}
