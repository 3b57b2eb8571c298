"""What was counted and timed, as bars; and the picture that explains it, from the widget that the tip names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ...tips import Result, Tip
from ...tips.tip import TIME
from ...tips.words import claimed, count_text, fact_text
from .. import buffers
from ..board import Drawing
from ..broadcast import figure as broadcast_figure
from ..broadcast import model as broadcast
from ..frame import NARROW, Figure
from ..graph import figure as graph_figure
from ..graph.model import record
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


def picture(tip: Tip) -> tuple[Drawing, ...]:
    """The tip's small example, drawn by its widget. None where the bars say it all."""
    if tip.slug not in _DRAWN:
        _DRAWN[tip.slug] = _PICTURES[tip.picture.widget](tip)
    return _DRAWN[tip.slug]


def _buffer_map(tip: Tip) -> tuple[Drawing, ...]:
    state = buffers.read(tip.picture.example())
    named = tuple(replace(b, name=str(place)) for place, b in enumerate(state.buffers, 1))  # A and B are the two ways
    return (Drawing(buffers.figure(replace(state, buffers=named, picked=None), NARROW), SMALL),)


def _broadcast_lab(tip: Tip) -> tuple[Drawing, ...]:
    given = tip.picture.example()
    a, b = (broadcast.operand(given[name], step) for name, step in (("a", 1), ("b", 1)))
    state = broadcast.reveal(broadcast.read(a, b, given.get("op", "+")), a, b)
    return (Drawing(broadcast_figure.figure(state, NARROW), SMALL),)


def _graph_stepper(tip: Tip) -> tuple[Drawing, ...]:
    given = tip.picture.example()
    ways = [(letter, given.pop(name)) for letter, name in (("A", "slow"), ("B", "fast"))]
    drawn = []
    for letter, way in ways:
        run = record(way, given)
        last = graph_figure.frame(run, graph_figure.GraphState(run.steps), "", {})
        named = replace(last.narrow, title=f"{last.narrow.title}, {letter}")
        drawn.append(Drawing(named, f"The graph of **{letter}**, on a small array"))
    return tuple(drawn)


_DRAWN: dict[str, tuple[Drawing, ...]] = {}  # laying out a graph takes a while
SMALL = "The same on a small array"
_PICTURES: dict[str, Callable[[Tip], tuple[Drawing, ...]]] = {
    "BufferMap": _buffer_map,
    "BroadcastLab": _broadcast_lab,
    "GraphStepper": _graph_stepper,
    "TimingRace": lambda tip: (),
}
