"""What the memory guard does to a few lines of code: who locked which array, since which line, until when."""

from .figure import draw, frame
from .model import LensState, Story, lens, run, spans, unfinished
from .words import describe, text, why

__all__ = ["LensState", "Story", "describe", "draw", "frame", "lens", "run", "spans", "text", "unfinished", "why"]
