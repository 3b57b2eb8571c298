"""A training run in words, and its text twin."""

from __future__ import annotations

from ...common.wording import number
from .model import TrainingState


def latest(state: TrainingState) -> str:
    """The newest accuracy, if one was logged."""
    found = next((a for a in reversed(state.accuracies) if a is not None), None)
    return "" if found is None else f"test accuracy {100 * found:.1f} %"


def describe(state: TrainingState) -> str:
    """The progress so far, in words that do not depend on a machine's rounding."""
    done = len(state.losses)
    if not done:
        return f"TrainingMonitor: epoch 0 of {state.epochs}, nothing logged yet."
    first, last = state.losses[0], state.losses[-1]
    part = "a tenth" if last < first / 10 else "half" if last < first / 2 else ""
    fell = "fell" if last < first else "did not fall"
    trend = f"fell to less than {part} of what it was after the first" if part else fell
    return f"TrainingMonitor: epoch {done} of {state.epochs}, the loss {trend}."


def why(state: TrainingState) -> str:
    """The cause; nothing before the first epoch."""
    return "" if not state.losses else "Each epoch, **every weight moves a little against its gradient**."


def text(state: TrainingState) -> str:
    """The text twin: every loss, and the newest accuracy."""
    lines = [describe(state)]
    if state.losses:
        lines.append("loss by epoch: " + ", ".join(f"{i}: {number(v)}" for i, v in enumerate(state.losses, 1)))
    return "\n".join([*lines, *([latest(state)] if latest(state) else [])])
