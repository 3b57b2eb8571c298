"""Numbers on the number line of a format: what becomes 0, what becomes infinite, and what a step rounds away."""

from .figure import draw, frame
from .model import FORMATS, Counts, Format, RulerState, Sample, counts, known_format, moved, read, scaled
from .words import describe, question, text, why

__all__ = [
    "FORMATS", "Counts", "Format", "RulerState", "Sample", "counts", "describe", "draw", "frame", "known_format",
    "moved", "question", "read", "scaled", "text", "why",
]  # fmt: skip
