"""What was counted and timed, as bars; and the picture that explains it, from the widget that the tip names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ..tips import Claim, Result, Tip
from ..tips.words import claimed, count_text
from . import broadcast, broadcast_figure, buffers, graph_figure
from .board import Drawing
from .frame import NARROW, Figure
from .graph import record
from .marks import Canvas

_LABEL = 30  # where bars begin


def bars(tip: Tip, result: Result, width: int) -> Figure:
    """For every claim, a bar for A and one for B, from zero; of a time, the middle half too."""
    canvas, y = Canvas(width), 0.0
    for judged in result.claims:
        claim = judged.claim
        canvas.text(0, y + 14, f"{judged.words.split(':')[0]}: {judged.verdict}", "b")
        canvas.text(0, y + 32, _claim(claim), "t2")
        y += 40
        for letter, row in zip("AB", _rows(result, claim.fact), strict=True):
            _bar(canvas, letter, *row, y, width)
            y += 30
        y += 8
    canvas.height = y
    return Figure(canvas, "What A and B need", ". ".join(j.words for j in result.claims) + ".")


def _claim(claim: Claim) -> str:
    """What *holds*, or does not: without it, a verdict beside two equal bars says nothing."""
    return f"claimed: {claimed(claim).partition(': ')[2].partition('. ')[0]}"


Row = tuple[float, float, tuple[float, float] | None, str]  # value, largest, middle half, words


def _rows(result: Result, fact: str) -> tuple[Row, Row]:
    if fact == "time" and result.timing is not None:
        times = (result.timing.slow, result.timing.fast)
        largest = max(t.quartiles[1] for t in times)
        slow, fast = ((t.median, largest, t.quartiles, t.text()) for t in times)
        return slow, fast
    if fact == "time":
        return (0.0, 1.0, None, "not timed"), (0.0, 1.0, None, "not timed")
    found = [result.slow[fact], result.fast[fact]]
    sizes = [float(v) if isinstance(v, (int, float)) and not isinstance(v, bool) else 0.0 for v in found]  # yes: no bar
    words = [count_text(fact, value) for value in found]
    largest = max(*sizes, 1.0)
    return (sizes[0], largest, None, words[0]), (sizes[1], largest, None, words[1])


def _bar(
    canvas: Canvas, letter: str, value: float, largest: float, middle: tuple[float, float] | None, words: str,
    y: float, width: int,
) -> None:  # fmt: skip
    room = width - _LABEL - 190.0
    canvas.text(4, y + 17, letter, "b f13")
    canvas.line(_LABEL - 6, y - 2, _LABEL - 6, y + 26, "axis")
    length = room * value / largest
    if length > 0:
        canvas.rect(_LABEL - 5, y + 4, max(length, 1.5), 16, "bar-a" if letter == "A" else "bar-b")
    if middle is not None:
        low, high = (_LABEL - 5 + room * value_ / largest for value_ in middle)
        canvas.line(low, y + 12, max(high, low + 1), y + 12, "spread-a" if letter == "A" else "spread-b")
    end = max(length, room * middle[1] / largest if middle else 0.0)
    canvas.text(_LABEL + end + 8, y + 17, words, "f13")


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
