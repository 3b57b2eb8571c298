"""Where the memory of a run goes: its owners, stacked over the events, and what is alive at each of them."""

from .figure import draw, frame
from .model import (
    LETTERS,
    STACK,
    Event,
    Names,
    Piece,
    River,
    RiverState,
    among,
    by_line,
    commit,
    largest,
    pick,
    read,
    total,
)
from .words import LABELS, describe, memory_unit, prediction, question, summary, text, why

__all__ = [
    "LABELS", "LETTERS", "STACK", "Event", "Names", "Piece", "River", "RiverState", "among", "by_line", "commit",
    "describe", "draw", "frame", "largest", "memory_unit", "pick", "prediction", "question", "read", "summary",
    "text", "total", "why",
]  # fmt: skip
