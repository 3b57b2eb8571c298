"""What the memory guard does to a few lines of code: who locked which array, since which line, until when."""

from .figure import draw, frame
from .model import LensState, Story, known_guard, lens, run, spans, unfinished
from .words import describe, text, why

__all__ = [
    "LensState", "Story", "describe", "draw", "frame", "known_guard", "lens", "run", "spans", "text", "unfinished",
    "why",
]  # fmt: skip
