"""Where the memory of a run goes: its owners, stacked over the events, and what is alive at each of them."""

from ...observe.memory import BANDS
from .figure import draw, frame
from .model import (
    LETTERS,
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
    "BANDS", "LABELS", "LETTERS", "Event", "Names", "Piece", "River", "RiverState", "among", "by_line", "commit",
    "describe", "draw", "frame", "largest", "memory_unit", "pick", "prediction", "question", "read", "summary",
    "text", "total", "why",
]  # fmt: skip
