"""What was counted and timed, as bars."""

from __future__ import annotations

from dataclasses import dataclass

from ...tips import Judged, Result
from ...tips.facts import TIME
from ...tips.words import claimed, context_text, count_text
from ..frame import Figure
from ..marks import Canvas, shorten

BARS = 400  # as wide as the figure is beside words
_LABEL = 196.0  # where bars begin
_VALUE = 146.0  # room for a value beside the longest bar, also where a pause made its upper quartile huge
MOST = 26  # characters of a heading: the whole is in the text
_PITCH = 16.0  # from the bar of A to that of B


def bars(result: Result, width: int) -> Figure:
    """For every claim, a bar for A and one for B, from zero; of a time, the middle half too."""
    canvas, y = Canvas(width), 0.0
    for judged in result.claims:
        canvas.text(0, y + 13, shorten(context_text(judged.claim), MOST), "b")
        canvas.text(
            0, y + 13 + _PITCH, f"claimed: {claimed(judged.claim, judged.letters)}", "t2"
        )  # two equal bars say nothing alone
        pair = _pair(judged)
        largest = max(bar.end for bar in pair) or 1.0  # two of length 0
        for i, (letter, bar) in enumerate(zip(judged.letters, pair, strict=True)):
            _draw(canvas, letter, bar, largest, y + i * _PITCH)
        canvas.line(_LABEL - 6, y, _LABEL - 6, y + 2 * _PITCH, "axis")
        y += 2 * _PITCH + 7
    canvas.height = max(y - 5, 1.0)
    return Figure(canvas, "What A and B need", ". ".join(j.words for j in result.claims) + ".")


def row_text(judged: Judged) -> str:
    """What is drawn for one claim, in words."""
    a, b = (f"{letter} {bar.words}" for letter, bar in zip(judged.letters, _pair(judged), strict=True))
    return f"{context_text(judged.claim)}, claimed: {claimed(judged.claim, judged.letters)}. {a}, {b}"


@dataclass(frozen=True)
class _Bar:
    """What one way needs, in words too. ``middle`` is the middle half of a time."""

    value: float
    words: str
    middle: tuple[float, float] | None = None

    @property
    def end(self) -> float:
        """The largest value that is drawn."""
        return self.middle[1] if self.middle else self.value


def _pair(judged: Judged) -> list[_Bar]:
    fact = judged.claim.fact
    if judged.timing is not None:
        return [_Bar(t.median, t.text(), t.quartiles) for t in (judged.timing.slow, judged.timing.fast)]
    if fact == TIME:
        return [_Bar(0.0, "not timed")] * 2
    found = (judged.slow, judged.fast)
    return [_Bar(float(v) if type(v) in (int, float) else 0.0, count_text(fact, v)) for v in found]  # yes: no bar


def _draw(canvas: Canvas, letter: str, bar: _Bar, largest: float, y: float) -> None:
    room = canvas.width - _LABEL - _VALUE
    canvas.text(_LABEL - 17, y + 13, letter, "b")
    length = room * bar.value / largest
    if length > 0:
        canvas.rect(_LABEL - 5, y + 4, max(length, 1.5), 10, "mark-a" if letter == "A" else "result")
    if bar.middle is not None:
        low, high = (_LABEL - 5 + room * value / largest for value in bar.middle)
        canvas.line(low, y + 9, max(high, low + 1), y + 9, "span")
    canvas.text(_LABEL + room * bar.end / largest + 4, y + 13, bar.words)
