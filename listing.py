"""How the programs of a ledger are drawn where the order of the calls is not known."""

from __future__ import annotations

from ...common.wording import plural, seconds_text
from ..frame import Figure
from ..marks import MONO_12, UI_12, Canvas, shorten, wrap_text
from . import words
from .model import LedgerState

ROW = 42.0
SPENT = 140.0  # where the time stands, from the right


def draw_programs(state: LedgerState, width: int) -> Figure:
    """A program in each row: its tensors, how often it was called, how long its recording took, and why it was made."""
    assert state.programs is not None
    canvas, there = Canvas(width), state.programs.entries
    canvas.text(0, 14, shorten(words.describe(state), int(width / UI_12)), "b")
    longest = max((one.seconds for one in there), default=0.0)
    canvas.text(24, 42, "tensors", "t2")
    canvas.text(width - SPENT - 20, 42, "calls", "t2", "end")
    canvas.text(width - SPENT, 42, "recording", "t2")
    canvas.line(0, 50, width, 50, "rule")
    y = 50.0
    for place, one in enumerate(there, 1):
        base = y + 18
        canvas.text(16, base, str(place), "", "end")
        room = int((width - SPENT - 100) / MONO_12)
        canvas.text(24, base, shorten(one.signature or "no tensors", room), "m b")
        canvas.text(width - SPENT - 20, base, plural(one.calls, "call"), "", "end")
        if one.broken:
            canvas.text(width - SPENT, base, "runs as written")
        else:
            length = max(60 * one.seconds / max(longest, 1e-12), 1.5)
            canvas.rect(width - SPENT, base - 9, length, 10, "name")
            canvas.text(width - SPENT + length + 6, base, seconds_text(one.seconds))
        reason = words.first_words(one.broken) or words.readable(one.reason)
        for part in wrap_text(reason, int((width - 24) / UI_12)):
            base += 18
            canvas.text(24, base, part, "t2")
        y = base + ROW - 18 - 14
    if not there:
        canvas.text(24, y + 22, "It has not been called yet: no program was made.", "t2")
        y += ROW
    y += 8
    for line, chief in words.ledger_totals(state):
        for part in wrap_text(line, int(width / (UI_12 * (1.1 if chief else 1.0)))):
            y += 18
            canvas.text(0, y, part, "b" if chief else "")
    return Figure(canvas, "The programs of a compiled function", words.describe(state))
