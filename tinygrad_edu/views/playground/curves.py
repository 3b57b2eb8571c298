"""Loss and accuracy over the steps."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ...common.wording import exact, number
from ..marks import Canvas
from .model import PlayState, Point
from .words import TOP_LOSS, change_text, loss_text, share, too_high

LEFT = 50.0
SPANS = (600, 1200, 2400, 6000, 12_000, 24_000, 60_000, 120_000, 240_000, 600_000, 1_200_000, 10**9)

BOLD_12 = 7.6  # a generous average of bold letters

Place = Callable[[float], float]


def span_of(step: int) -> int:
    """The end of the step axis. It grows by leaps, so that it mostly stays."""
    return next(span for span in SPANS if span >= step)


def draw_curves(c: Canvas, state: PlayState, y: float, width: float) -> None:
    """Both curves above one axis, in 176 pixels."""
    right = width - 136.0
    newest = state.glance.now
    across = _across(state, right)
    _axis(c, y + 26, y + 86, right, ((TOP_LOSS, "2.5"), (0.0, "0")), TOP_LOSS)
    _axis(c, y + 104, y + 158, right, ((1.0, "100 %"), (0.5, "50"), (0.0, "0")), 1.0)
    loss, accuracy = _height(y + 26, y + 86, TOP_LOSS), _height(y + 104, y + 158, 1.0)
    c.text(LEFT + 66, y + 46, "loss", "b")
    c.text(LEFT + 66, y + 146, "accuracy", "b")
    points = _points(state)
    earlier = _before(state)
    _line(c, earlier, across, lambda p: loss(p.test_loss), "ghost")
    _line(c, earlier, across, lambda p: accuracy(p.test_accuracy), "ghost")
    if earlier:
        c.line(right + 14, y + 151, right + 30, y + 151, "ghost")
        c.text(right + 36, y + 155, "run before", "t2")
    _line(c, points, across, lambda p: loss(p.training_loss), "line-a")
    _line(c, points, across, lambda p: loss(p.test_loss), "span")
    _line(c, points, across, lambda p: accuracy(p.training_accuracy), "line-a")
    _line(c, points, across, lambda p: accuracy(p.test_accuracy), "span")
    _ends(c, points[-1], across, (loss, accuracy))
    odd = [point.step for point in points if not math.isfinite(point.test_loss)]
    if odd:
        c.rect(across(odd[0]) - 2, y + 24, across(odd[-1]) - across(odd[0]) + 4, 4, "edge-alert")
        c.text(across(odd[0]), y + 17, f"▲ the loss is {number(points[-1].test_loss)}", "ta b")
    c.text(right + 14, y + 58, loss_text(newest), "ta b" if too_high(newest) else "b")
    c.text(right + 14, y + 75, f"{number(newest.training_loss)} training", "t2")
    c.text(right + 14, y + 117, f"{share(newest.training_accuracy)} training", "t2")
    c.text(right + 14, y + 136, f"{share(newest.test_accuracy)} test", "f16 b")
    _mark(c, state, across, y, y + 158, "from here ")
    _steps(c, state, y + 158, right)


def draw_accuracy(c: Canvas, state: PlayState, width: float) -> None:
    """The accuracy alone, for a projector."""
    right, top, bottom = width - 118.0, 30.0, 270.0
    across, up = _across(state, right), _height(top, bottom, 1.0)
    _axis(c, top, bottom, right, ((1.0, "100 %"), (0.5, "50"), (0.0, "0")), 1.0)
    c.text(LEFT + 48, bottom - 26, "accuracy", "b")
    points = _points(state)
    earlier = _before(state)
    _line(c, earlier, across, lambda p: up(p.test_accuracy), "ghost")
    if earlier:
        c.line(right + 10, top + 58, right + 26, top + 58, "ghost")
        c.text(right + 32, top + 62, "run before", "t2")
    _line(c, points, across, lambda p: up(p.training_accuracy), "line-a")
    _line(c, points, across, lambda p: up(p.test_accuracy), "span")
    _ends(c, points[-1], across, (None, up))
    now = state.glance.now
    c.text(right + 10, top + 18, f"{share(now.training_accuracy)} training", "t2")
    c.text(right + 10, top + 38, f"{share(now.test_accuracy)} test", "f16 b")
    _mark(c, state, across, 0, bottom, "")
    _steps(c, state, bottom, right)


def _points(state: PlayState) -> list[Point]:
    curve = list(state.glance.curve)
    return curve if curve[-1].step == state.glance.now.step else [*curve, state.glance.now]


def _before(state: PlayState) -> list[Point]:
    """The test curve of the network before this one, as far as the axis goes."""
    span = span_of(state.glance.step)
    return [point for point in state.glance.before if point.step <= span]


def _across(state: PlayState, right: float) -> Place:
    span = span_of(state.glance.step)
    return lambda step: LEFT + (right - LEFT) * step / span


def _height(top: float, bottom: float, most: float) -> Place:
    def place(value: float) -> float:
        return bottom - (bottom - top) * min(max(value / most, 0.0), 1.0) if math.isfinite(value) else math.nan

    return place


def _axis(c: Canvas, top: float, bottom: float, right: float, ticks: Sequence[tuple[float, str]], most: float) -> None:
    for value, label in ticks:
        at = bottom - (bottom - top) * value / most
        c.line(LEFT, at, right, at, "hair")
        c.text(LEFT - 8, at + 4, label, "t2", "end")


def _line(c: Canvas, points: Sequence[Point], across: Place, height: Callable[[Point], float], cls: str) -> None:
    """Through all points, broken where a number is not finite."""
    pieces: list[list[str]] = [[]]
    for point in points:
        y = height(point)
        if math.isnan(y):
            pieces.append([])
        else:
            pieces[-1].append(f"{across(point.step):.1f} {y:.1f}")
    drawn = "".join("M" + "L".join(piece) for piece in pieces if len(piece) > 1)
    if drawn:
        c.path(drawn, cls)


def _ends(c: Canvas, last: Point, across: Place, heights: tuple[Place | None, Place]) -> None:
    for height, value in zip(heights, (last.test_loss, last.test_accuracy), strict=True):
        y = math.nan if height is None else height(value)
        if not math.isnan(y):
            c.circle(across(last.step), y, 4, "knob")


def _mark(c: Canvas, state: PlayState, across: Place, top: float, bottom: float, words: str) -> None:
    """The step of the last switch."""
    change = state.glance.change
    if change is None or not change.step:
        return
    x = across(change.step)
    c.line(x, top + 20, x, bottom, "rule")
    c.path(f"M{x - 4:.1f} {top + 12:g}h8l-4 6z", "knob")
    label = change_text(state)
    for said in (f"{words}{label}", label):
        room = len(said) * BOLD_12
        if x + 8 + room <= c.width:
            c.text(x + 8, top + 16, said, "b")
            return
        if x - 8 - room >= 0:
            c.text(x - 8, top + 16, said, "b", "end")
            return
    c.text(c.width, top + 2, label, "b", "end")  # above the mark


def _steps(c: Canvas, state: PlayState, y: float, right: float) -> None:
    span = span_of(state.glance.step)
    c.line(LEFT, y, right, y, "axis")
    for i in range(4):
        x = LEFT + (right - LEFT) * i / 3
        c.line(x, y, x, y + 4, "axis")
        c.text(x, y + 18, exact(span * i / 3), "t2", "middle")
    c.text(right + 26, y + 18, "steps", "t2")
