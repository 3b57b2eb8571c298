"""How a timeline is drawn: a row for each lane, work with a point in the direction of time, hatching where none is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ...common.wording import PREFIXES
from ..frame import WIDE, Figure
from ..marks import UI_12, Canvas, hatch, shorten
from . import words
from .model import HOST, Item, Run, gaps, is_stream

LEFT, ROW, TALL = 88.0, 30.0, 20.0  # the lanes' names; from one row to the next; the height of work
CLASSES = {"kernel": "work-kernel", "copy": "work-copy", "wait": "wait"}
NARROWEST = 2.0  # pixels: narrower pieces that touch are drawn together


@dataclass(frozen=True)
class Scale:
    """Time from left to right."""

    left: float
    right: float
    end: int  # nanoseconds

    def at(self, time: float) -> float:
        """Where a time is."""
        return self.left + (self.right - self.left) * time / self.end

    def width(self, item: Item) -> float:
        """How wide a piece of work is."""
        return self.at(item.end) - self.at(item.start)


def draw(runs: Sequence[Run], width: int) -> Figure:
    """All runs below each other on one scale."""
    canvas, longest = Canvas(width), max(1, *(run.end for run in runs))
    step = _step(longest, 6 if width >= WIDE else 4)
    scale = Scale(LEFT, width - 74.0, math.ceil(longest / step) * step)
    y = 0.0
    for run in runs:
        if run.name:
            canvas.text(0, y + 13, shorten(run.name, int(width / UI_12)), "b f13")
            y += 22
        y = _run(canvas, run, scale, y) + 14
    _axis(canvas, scale, step, y)
    return Figure(canvas, "Host and device over time", words.describe(runs))


def _step(longest: int, ticks: int) -> int:
    """The distance of ticks: a round number of nanoseconds."""
    power = 10 ** math.floor(math.log10(max(longest / ticks, 1)))
    return next(int(power * m) for m in (1, 2, 5, 10) if longest / (power * m) <= ticks)


def _axis(canvas: Canvas, scale: Scale, step: int, y: float) -> None:
    """Dotted, because the time is simulated."""
    canvas.line(scale.left, y, scale.right, y, "dotted")
    seconds = scale.end / 1e9
    size, prefix = next(
        (one for one in (*PREFIXES, (1e-3, "m"), (1e-6, "µ"), (1e-9, "n")) if seconds >= one[0]), (1e-9, "n")
    )
    for tick in range(0, scale.end + 1, step):
        x = scale.at(tick)
        canvas.line(x, y, x, y + 5, "rule")
        told = f"{tick / 1e9 / size:g}"
        canvas.text(x, y + 19, f"{told} {prefix}s" if tick == scale.end else told, "t2", "middle")


def _run(canvas: Canvas, run: Run, scale: Scale, y: float) -> float:
    """One run. Returns its lower edge."""
    top = y
    below = [lane for lane in run.lanes if lane != HOST]
    if below:
        canvas.rect(LEFT - 6, y + ROW - 4, canvas.width - LEFT + 6, ROW * len(below) + 4, "floor")
        canvas.line(LEFT - 6, y + ROW - 4, canvas.width, y + ROW - 4, "floortop")
    for lane in run.lanes:
        canvas.text(LEFT - 14, y + 15, shorten(words.lane_text(lane), 12), "", "end")
        for gap in gaps(run) if is_stream(lane) else ():
            x1, x2 = scale.at(gap.start), scale.at(gap.end)
            if x2 - x1 > 3:
                hatch(canvas, x1 + 1, y + 2, x2 - x1 - 2, TALL)
        for group in _groups(run.of(lane), scale):
            _piece(canvas, group, scale, y + 2)
        y += ROW
    x = scale.at(run.end)
    canvas.line(x, top - 2, x, y - 2, "span")
    canvas.text(x + 7, top + 15, words.time_text(run.end), "b")
    canvas.text(LEFT, y + 14, shorten(words.summary(run), int((canvas.width - LEFT) / UI_12)), "t2")
    return y + 18


def _groups(items: list[Item], scale: Scale) -> list[list[Item]]:
    """Pieces of one lane; narrow ones that touch are one group."""
    found: list[list[Item]] = []
    for item in items:
        last = found[-1][-1] if found else item
        touch = scale.at(item.start) - scale.at(last.end) < 1 and last.kind == item.kind
        if found and touch and max(scale.width(last), scale.width(item)) < NARROWEST:
            found[-1].append(item)
        else:
            found.append([item])
    return found


def _piece(canvas: Canvas, group: list[Item], scale: Scale, y: float) -> None:
    """Work, with its name in it where there is room."""
    item = group[0]
    x1, x2 = scale.at(item.start), max(scale.at(group[-1].end), scale.at(item.start) + 1)
    cls = CLASSES.get(item.kind, "work-host") if item.lane != HOST or item.kind == "wait" else "work-host"
    told = words.item_text(item) if len(group) == 1 else f"{len(group)} pieces of work, such as {words.item_text(item)}"
    canvas.open(data_link=f"q{item.lane}{item.start}", data_tip=told, role="img", aria_label=told)
    if item.kind == "wait":
        canvas.rect(x1, y, x2 - x1, TALL, "ghost")
    elif x2 - x1 < 9 or len(group) > 1:
        canvas.rect(x1, y, x2 - x1, TALL, cls)
    else:
        canvas.path(
            f"M{x1:.1f} {y:.1f}H{x2 - 5:.1f}L{x2:.1f} {y + TALL / 2:.1f}L{x2 - 5:.1f} {y + TALL:.1f}H{x1:.1f}Z",
            cls,
            y + TALL,
        )
    label = "wait" if item.kind == "wait" else item.name
    if len(group) == 1 and len(label) * UI_12 + 10 <= x2 - x1:
        canvas.text((x1 + x2) / 2 - 2, y + 14, label, "t2" if item.kind == "wait" else "", "middle")
    canvas.close()
