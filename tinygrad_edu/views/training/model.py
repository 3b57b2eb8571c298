"""A training run so far, as plain data."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class TrainingState:
    """What was logged."""

    epochs: int
    losses: tuple[float, ...] = ()
    accuracies: tuple[float | None, ...] = ()


def add(state: TrainingState, loss: float, accuracy: float | None) -> TrainingState:
    """One more epoch."""
    return replace(state, losses=(*state.losses, loss), accuracies=(*state.accuracies, accuracy))
