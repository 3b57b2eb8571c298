"""What the memory guard does to a few lines of code: who locked which array, since which line, until when."""

from .figure import draw, frame
from .model import LensState, Span, known_guard, lens, spans, unfinished
from .program import Story, run
from .words import describe, text, why

__all__ = [
    "LensState", "Span", "Story", "describe", "draw", "frame", "known_guard", "lens", "run", "spans", "text",
    "unfinished", "why",
]  # fmt: skip
