"""What the tips on loading read: samples that cost about as much in each of three ways."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..data import Chores
from ..data.practice import KINDS

__all__ = ["KINDS", "Chores", "labels_of", "samples"]
COSTS = {"waits": 1.0, "NumPy": 6.0, "Python": 30.0}  # about a millisecond each, on an ordinary computer


def samples(count: int, kind: str, cost: int = 1) -> Chores:
    """So many samples, each of which takes about so many milliseconds to read."""
    return Chores(count, kind, cost * COSTS[kind])


def labels_of(loader: Iterable[Any]) -> list[int]:
    """What a loop over a loader sees: the classes of all samples, in order."""
    return [int(label) for _, labels in loader for label in labels]
