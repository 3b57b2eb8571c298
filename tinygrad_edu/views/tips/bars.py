"""What was counted and timed, as bars."""

from __future__ import annotations

from dataclasses import dataclass

from ...tips import Result
from ...tips.tip import TIME
from ...tips.words import claimed, count_text, fact_text
from ..frame import Figure
from ..marks import Canvas

_LABEL = 30  # where bars begin


def bars(result: Result, width: int) -> Figure:
    """For every claim, a bar for A and one for B, from zero; of a time, the middle half too."""
    canvas, y = Canvas(width), 0.0
    for judged in result.claims:
        fact = judged.claim.fact
        canvas.text(0, y + 14, f"{fact_text(fact)}: {judged.verdict}", "b")
        canvas.text(0, y + 32, f"claimed: {claimed(judged.claim)}", "t2")  # two equal bars alone would say nothing
        y += 40
        pair = _pair(result, fact)
        largest = max(bar.end for bar in pair) or 1.0  # two of length 0
        for letter, bar in zip("AB", pair, strict=True):
            _draw(canvas, letter, bar, largest, y)
            y += 30
        y += 8
    canvas.height = y
    return Figure(canvas, "What A and B need", ". ".join(j.words for j in result.claims) + ".")


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


def _pair(result: Result, fact: str) -> list[_Bar]:
    if fact == TIME:
        if result.timing is None:
            return [_Bar(0.0, "not timed")] * 2
        return [_Bar(t.median, t.text(), t.quartiles) for t in (result.timing.slow, result.timing.fast)]
    found = (result.slow[fact], result.fast[fact])
    return [_Bar(float(v) if type(v) in (int, float) else 0.0, count_text(fact, v)) for v in found]  # yes: no bar


def _draw(canvas: Canvas, letter: str, bar: _Bar, largest: float, y: float) -> None:
    room = canvas.width - _LABEL - 190
    canvas.text(4, y + 17, letter, "b f13")
    canvas.line(_LABEL - 6, y - 2, _LABEL - 6, y + 26, "axis")
    length = room * bar.value / largest
    if length > 0:
        canvas.rect(_LABEL - 5, y + 4, max(length, 1.5), 16, "mark-a" if letter == "A" else "result")
    if bar.middle is not None:
        low, high = (_LABEL - 5 + room * value / largest for value in bar.middle)
        canvas.line(low, y + 12, max(high, low + 1), y + 12, "span")
    canvas.text(_LABEL + room * bar.end / largest + 8, y + 17, bar.words, "f13")
