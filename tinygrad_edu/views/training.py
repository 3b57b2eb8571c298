"""A training run so far: progress, and the loss by epoch."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from ..common.wording import number
from .frame import NARROW, WIDE, Figure, Frame
from .marks import Canvas

POINTS = 120  # the newest ones can be hovered; the line shows all


@dataclass(frozen=True)
class TrainingState:
    """What was logged."""

    epochs: int
    losses: tuple[float, ...] = ()
    accuracies: tuple[float | None, ...] = ()


def add(state: TrainingState, loss: float, accuracy: float | None) -> TrainingState:
    """One more epoch."""
    return replace(state, losses=(*state.losses, loss), accuracies=(*state.accuracies, accuracy))


def figure(state: TrainingState, width: int) -> Figure:
    """The progress bar above the loss curve."""
    canvas = Canvas(width)
    done, total = len(state.losses), max(state.epochs, len(state.losses), 1)
    canvas.text(0, 12, f"epoch {done} of {state.epochs}", "b f13")
    if _latest(state):
        canvas.text(width, 12, _latest(state), "b f13", "end")
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
    return Figure(canvas, "Loss by epoch", summary(state))


def _latest(state: TrainingState) -> str:
    latest = next((a for a in reversed(state.accuracies) if a is not None), None)
    return "" if latest is None else f"test accuracy {100 * latest:.1f} %"


def _ceiling(value: float) -> float:
    """A round number just above."""
    for top in (0.1, 0.25, 0.5, 1, 1.5, 2, 2.5, 3, 4, 5, 7.5, 10, 25, 50, 100):
        if value <= top:
            return top
    return float(f"{value * 1.2:.1g}") if value < 1e300 else 1.0


def summary(state: TrainingState) -> str:
    """Where it stands, in words that another machine's rounding does not change."""
    done = len(state.losses)
    if not done:
        return f"TrainingMonitor: epoch 0 of {state.epochs}, nothing logged yet."
    first, last = state.losses[0], state.losses[-1]
    part = "a tenth" if last < first / 10 else "half" if last < first / 2 else ""
    fell = "fell" if last < first else "did not fall"
    trend = f"fell to less than {part} of what it was after the first" if part else fell
    return f"TrainingMonitor: epoch {done} of {state.epochs}, the loss {trend}."


def text(state: TrainingState) -> str:
    """The text twin: every loss, and the newest accuracy."""
    lines = [summary(state)]
    if state.losses:
        lines.append("loss by epoch: " + ", ".join(f"{i}: {number(v)}" for i, v in enumerate(state.losses, 1)))
    return "\n".join([*lines, *([_latest(state)] if _latest(state) else [])])


def frame(state: TrainingState, ask: str) -> Frame:
    """The whole widget."""
    why = "" if not state.losses else "Each epoch, **every weight moves a little against its gradient**."
    return Frame(
        "TrainingMonitor", (), ask, figure(state, WIDE), figure(state, NARROW), why, text(state),
        "computed in this run · one point per epoch: the mean loss over its batches", None, (),
        "Hover a point to read it." if state.losses else "", summary=summary(state),
    )  # fmt: skip
