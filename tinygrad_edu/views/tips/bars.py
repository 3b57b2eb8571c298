"""What was counted and timed, as bars."""

from __future__ import annotations

from dataclasses import dataclass

from ...tips import Judged, Result
from ...tips.facts import TIME
from ...tips.tip import Claim
from ...tips.words import count_text, fact_text
from ..frame import Figure
from ..marks import Canvas

BARS = 400  # as wide as the figure is beside words
_LABEL = 196.0  # where bars begin
_VALUE = 132.0  # room for a value beside the longest bar
_PITCH = 16.0  # from the bar of A to that of B


def bars(result: Result, width: int) -> Figure:
    """For every claim, a bar for A and one for B, from zero; of a time, the middle half too."""
    canvas, y = Canvas(width), 0.0
    for judged in result.claims:
        fact = judged.claim.fact
        canvas.text(0, y + 13, fact_text(fact), "b")
        canvas.text(0, y + 13 + _PITCH, f"claimed: {_claimed(judged.claim)}", "t2")  # two equal bars say nothing alone
        pair = _pair(result, fact)
        largest = max(bar.end for bar in pair) or 1.0  # two of length 0
        for i, (letter, bar) in enumerate(zip("AB", pair, strict=True)):
            _draw(canvas, letter, bar, largest, y + i * _PITCH)
        canvas.line(_LABEL - 6, y, _LABEL - 6, y + 2 * _PITCH, "axis")
        y += 2 * _PITCH + 7
    canvas.height = max(y - 5, 1.0)
    return Figure(canvas, "What A and B need", ". ".join(j.words for j in result.claims) + ".")


def row_text(judged: Judged, result: Result) -> str:
    """What is drawn for one claim, in words."""
    a, b = _pair(result, judged.claim.fact)
    return f"{fact_text(judged.claim.fact)}, claimed: {_claimed(judged.claim)}. A {a.words}, B {b.words}"


def _claimed(claim: Claim) -> str:
    """The claim in a few characters."""
    if claim.fact == TIME:
        return "B less"
    if claim.no_more:
        return "B no more"
    if claim.fast is None:
        return f"A at least {claim.times:g}× B" if claim.times > 1 else "A more than B"
    fast = count_text(claim.fact, claim.fast)
    return f"B {fast}" if claim.slow is None else f"A {count_text(claim.fact, claim.slow)}, B {fast}"


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
    room = canvas.width - _LABEL - _VALUE
    canvas.text(_LABEL - 17, y + 13, letter, "b")
    length = room * bar.value / largest
    if length > 0:
        canvas.rect(_LABEL - 5, y + 4, max(length, 1.5), 10, "mark-a" if letter == "A" else "result")
    if bar.middle is not None:
        low, high = (_LABEL - 5 + room * value / largest for value in bar.middle)
        canvas.line(low, y + 9, max(high, low + 1), y + 9, "span")
    canvas.text(_LABEL + room * bar.end / largest + 4, y + 13, bar.words)
