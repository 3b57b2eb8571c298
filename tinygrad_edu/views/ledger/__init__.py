"""Calls of a compiled function and the keys that they fall under: which recorded it anew, and what was different."""

from .figure import draw, frame
from .model import SERIES, Known, LedgerState, Record, chosen, cure, go, known, play, predict, read
from .words import describe, text, why

__all__ = [
    "SERIES", "Known", "LedgerState", "Record", "chosen", "cure", "describe", "draw", "frame", "go", "known", "play",
    "predict", "read", "text", "why",
]  # fmt: skip
