"""How advice is drawn: a row for each tip, and a bar for the share of the run that the habit took."""

from __future__ import annotations

from ..frame import NARROW, WIDE, Control, Figure, Frame
from ..marks import UI_12, Canvas, shorten
from . import words
from .model import AdviceState

ROW = 30.0
NUMBER, TITLE = 22.0, 32.0  # right edge of the numbers; where titles begin
VALUE = 110.0  # room for a share beside its bar


def draw(state: AdviceState, width: int) -> Figure:
    """The rows."""
    canvas = Canvas(width)
    wide = width >= WIDE
    bars = TITLE + (400.0 if wide else 218.0)
    room = width - bars - VALUE
    longest = max((one.share for one in state.found), default=0.0) or 1.0
    y = 2.0
    for place, one in enumerate(state.found):
        told = f"{place + 1}. {one.title}: {words.share_text(one)}"
        stop = 0 if place == state.at else -1
        canvas.open(tabindex=stop, role="button", aria_label=told, data_act="pick", data_value=place, data_rove="true")
        canvas.rect(0, y, width, ROW - 4, "on" if place == state.at else "hit")
        front = "b" if place == state.at else ""
        canvas.text(NUMBER, y + 17, str(place + 1), front, "end")
        canvas.text(TITLE, y + 17, shorten(one.title, int((bars - TITLE - 12) / UI_12)), front)
        if one.known:
            length = max(room * one.share / longest, 1.5)
            canvas.rect(bars, y + 7, length, 11, "result" if one.known == "measured" else "card")
            canvas.text(bars + length + 6, y + 17, words.share_text(one), front)
        else:
            canvas.text(bars + 6, y + 17, words.share_text(one), "t2")
        canvas.close()
        y += ROW
    canvas.line(bars, 2, bars, max(y - 4, 3), "axis")
    if not state.found:
        canvas.text(0, 18, "No tip applies that shows in a run.", "b")
        y = 26
    canvas.height = y
    return Figure(canvas, "What the habits of a program took", words.describe(state))


def frame(state: AdviceState) -> Frame:
    """The whole widget."""
    return Frame(
        "AdviceReport", ("names", "queue"), words.question(state), draw(state, WIDE), draw(state, NARROW),
        words.why(state), words.text(state), words.conditions(state), None, tuple(_controls(state)),
        status=words.why(state).replace("**", ""), summary=words.summary(state),
    )  # fmt: skip


def _controls(state: AdviceState) -> list[Control]:
    if not state.found:
        return []
    last = len(state.found) - 1
    return [
        Control("button", "back", "Back", disabled=state.at <= 0, key="ArrowLeft"),
        Control("button", "step", "Next tip", disabled=state.at >= last, key="ArrowRight"),
        Control("button", "open", "Open this tip", main=True, key="o", hint="the tip, live, at the program's sizes"),
    ]
