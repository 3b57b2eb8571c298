"""How often a picture of something that goes on may be drawn, so that the drawing takes only a share of the time."""

from __future__ import annotations

PAUSE = 0.05  # seconds between two drawings at least


def rest(took: float, share: float) -> float:
    """The seconds to wait after a drawing that took so long, for all drawings to take at most that share."""
    return max(PAUSE, took * (1 / share - 1))
