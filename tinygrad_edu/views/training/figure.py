"""How a training run is drawn: progress, and the loss by epoch."""

from __future__ import annotations

import math

from ...common.wording import number
from ..frame import NARROW, WIDE, Figure, Frame
from ..marks import Canvas
from .model import TrainingState
from .words import describe, latest, text, why

POINTS = 120  # the newest points can be hovered; the line shows all


def draw(state: TrainingState, width: int) -> Figure:
    """The progress bar above the loss curve."""
    canvas = Canvas(width)
    done, total = len(state.losses), max(state.epochs, len(state.losses), 1)
    canvas.text(0, 12, f"epoch {done} of {state.epochs}", "b f13")
    if latest(state):
        canvas.text(width, 12, latest(state), "b f13", "end")
    canvas.rect(0, 22, width, 4, "on")
    canvas.rect(0, 22, width * min(done / total, 1), 4, "knob")
    left, right, top, bottom = 46.0, width - 8.0, 60.0, 230.0
    canvas.text(left, 48, "loss", "t2")
    canvas.text(right, bottom + 34, "epoch", "t2", "end")
    canvas.line(left, bottom, right, bottom, "axis")
    high = _ceiling(max((loss for loss in state.losses if math.isfinite(loss)), default=2.5))
    for i in range(6):
        y = bottom - (bottom - top) * i / 5
        canvas.line(left - 4, y, left, y, "rule")
        canvas.text(left - 8, y + 4, f"{high * i / 5:g}", "m t2", "end")
    every = max(1, -(-total // 10))
    for epoch in range(0, total + 1, every):
        x = left + (right - left) * epoch / total
        canvas.line(x, bottom, x, bottom + 5, "rule")
        canvas.text(x, bottom + 19, str(epoch), "m t2", "middle")
    points = {
        i: (left + (right - left) * (i + 1) / total, bottom - (bottom - top) * min(max(loss, 0), high) / high)
        for i, loss in enumerate(state.losses)
        if not math.isnan(loss)  # which is nowhere
    }
    if len(points) > 1:
        canvas.path("M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points.values()), "resultline")
    for i, (x, y) in list(points.items())[-POINTS:]:
        words = f"epoch {i + 1}: loss {number(state.losses[i])}"
        canvas.open(data_link=f"p{i}", data_tip=words)
        canvas.circle(x, y, 3.5, "result")
        canvas.close()
    canvas.height = bottom + 42
    return Figure(canvas, "Loss by epoch", describe(state))


def _ceiling(value: float) -> float:
    """A round number just above."""
    for top in (0.1, 0.25, 0.5, 1, 1.5, 2, 2.5, 3, 4, 5, 7.5, 10, 25, 50, 100):
        if value <= top:
            return top
    return float(f"{value * 1.2:.1g}") if value < 1e300 else 1.0


def frame(state: TrainingState, ask: str) -> Frame:
    """The whole widget."""
    return Frame(
        "TrainingMonitor", (), ask, draw(state, WIDE), draw(state, NARROW), why(state), text(state),
        "computed in this run · one point per epoch: the mean loss over its batches", None, (),
        "Hover a point to read it." if state.losses else "", summary=describe(state),
    )  # fmt: skip
