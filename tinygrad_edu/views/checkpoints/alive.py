"""One step in time: the most bytes in each operation, by owner, and when a segment runs again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby

from ...common.wording import bytes_text, plural, prefix_of
from ..marks import Canvas, hatch
from . import words
from .model import OWNERS, Run, SliderState

MARKS = {"parameters": "own-parameter", "data": "own-data", "gradients": "own-gradient", "kept": "own-activation",
         "workspace": "own-workspace"}  # fmt: skip
TOP, FLOOR = 50.0, 210.0  # as beside it
NAMES = 130.0  # room for the owners and their bytes at the peak


@dataclass(frozen=True)
class Scale:
    """An axis of bytes: so many steps from zero."""

    step: float
    count: int

    @property
    def top(self) -> float:
        """The bytes at its upper end."""
        return self.step * self.count

    def label(self, tick: int) -> str:
        """``2.5 MB`` at the top, and bare numbers below."""
        size, prefix = prefix_of(self.top)
        told = f"{tick * self.step / size:g}"
        return f"{told} {prefix}B" if tick == self.count else told


def mark(run: Run, owner: str, place: int) -> str:
    """What an owner's bytes look like at an event. A segment's are filled while still there, hollow if made again."""
    if owner != "segment":
        return MARKS[owner]
    return "own-again" if any(event.phase == "again" for event in run.events[: place + 1]) else "own-activation"


def draw(
    canvas: Canvas, state: SliderState, corner: tuple[float, float], room: float, scale: Scale, wide: bool
) -> None:
    """All of it, from the corner at its upper left."""
    run, (left, top) = state.shown, corner
    axis = 0.0 if wide else 52.0  # in the wide form, the numbers stand at the peaks
    x0, x1, floor, high = left + axis, left + room - NAMES, top + FLOOR, top + TOP
    step = (x1 - x0) / len(run.events)

    def across(place: float) -> float:
        return x0 + place * step

    def up(size: float) -> float:
        return floor - (floor - high) * size / scale.top

    canvas.text(left, top + 12, f"alive during one step, {plural(run.segments, 'segment')}", "b")
    for tick in range(scale.count + 1):
        canvas.line(x0, up(tick * scale.step), x1, up(tick * scale.step), "hair")
        if not wide:
            canvas.text(x0 - 8, up(tick * scale.step) + 4, scale.label(tick), "t2", "end")
    _areas(canvas, run, across, up)
    canvas.line(x0, floor, x1, floor, "axis")
    x, y = across(run.top + 0.5), up(run.peak)
    canvas.line(x, y - 10, x, y, "axis")
    canvas.circle(x, y - 2, 3.5, "knob")
    told = bytes_text(run.peak)
    canvas.text(min(max(x, x0 + 30), x1 - 30), y - 14, told, "b", "middle")
    _phases(canvas, run, across, floor)
    _names(canvas, run, x1 + 12, floor)


def _areas(canvas: Canvas, run: Run, across: Callable[[float], float], up: Callable[[float], float]) -> None:
    """Each owner's bytes over the events, stacked from the floor."""
    base = [0] * len(run.events)
    first = next((i for i, event in enumerate(run.events) if event.phase == "again"), len(run.events))
    for index, owner in enumerate(OWNERS):
        over = [low + event.most[index] for low, event in zip(base, run.events, strict=True)]
        middle = first if owner == "segment" else len(over)  # kept since forward, and later made again
        for begin, end in ((0, middle), (middle, len(over))):
            cls = mark(run, owner, begin)
            if any(over[i] > base[i] for i in range(begin, end)):
                _area(canvas, base[begin:end], over[begin:end], begin, across, up, cls)
        base = over


def _area(
    canvas: Canvas, base: list[int], over: list[int], begin: int, across: Callable[[float], float],
    up: Callable[[float], float], cls: str,
) -> None:  # fmt: skip
    """The stretches between two levels, where one is above the other."""
    at = 0
    for full, group in groupby(zip(base, over, strict=True), lambda pair: pair[1] > pair[0]):
        levels = list(group)
        if full:
            xs = [across(begin + at + i) for i in range(len(levels) + 1)]
            upper = "".join(f"L{xs[i]:.1f} {up(hi):.1f}H{xs[i + 1]:.1f}" for i, (_, hi) in enumerate(levels))
            lower = "".join(
                f"L{xs[i + 1]:.1f} {up(levels[i][0]):.1f}H{xs[i]:.1f}" for i in reversed(range(len(levels)))
            )
            canvas.path(f"M{upper[1:]}{lower}Z", cls)
            if cls == "own-workspace":
                for i, (low, hi) in enumerate(levels):
                    hatch(canvas, xs[i], up(hi), xs[i + 1] - xs[i], up(low) - up(hi))
        at += len(levels)


def _phases(canvas: Canvas, run: Run, across: Callable[[float], float], floor: float) -> None:
    """Forward solid, backward dashed, and a hollow piece where a segment runs forward again."""
    y, at = floor + 12, 0
    back = next((i for i, event in enumerate(run.events) if event.phase == "backward"), len(run.events))
    canvas.line(across(0), y, across(back), y, "span")
    canvas.line(across(back), y, across(len(run.events)), y, "backrule")
    for phase, group in groupby(run.events, lambda event: event.phase):
        count = len(list(group))
        if phase == "again":
            canvas.rect(across(at), y - 4, across(at + count) - across(at), 8, "mark-a")
        at += count
    canvas.text(across(0), y + 20, "forward", "t2")
    canvas.text(max(across(back), across(0) + 56), y + 20, "backward", "t2")
    if run.segments > 1:
        canvas.rect(across(0), y + 30, 16, 8, "mark-a")
        times = "once" if run.segments == 2 else f"{run.segments - 1} times"
        canvas.text(across(0) + 22, y + 38, f"forward again, {times}", "t2")


def _names(canvas: Canvas, run: Run, x: float, floor: float) -> None:
    """The owners in the order of the stack, with their bytes at the peak."""
    there = [(owner, size) for owner, size in zip(OWNERS, run.owners, strict=True) if size]
    marks = [mark(run, owner, run.top) for owner, _ in there]
    y = floor - 2.0
    for place, (owner, size) in enumerate(there):
        if marks[place] not in marks[:place]:  # of owners that look the same, one mark spans all rows
            canvas.rect(
                x,
                y - 20 - 29 * (marks.count(marks[place]) - 1),
                11,
                11 + 29 * (marks.count(marks[place]) - 1),
                marks[place],
            )
        if owner == "workspace":
            hatch(canvas, x, y - 20, 11, 11)
        canvas.text(x + 17, y - 11, words.LABELS[owner])
        canvas.text(x + 17, y + 3, bytes_text(size), "t2")
        y -= 29
    canvas.text(x, y + 1, "at the peak", "b")
