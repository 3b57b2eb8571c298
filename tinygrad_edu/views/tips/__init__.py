"""The tips as a front door: find one, predict, run, see, explain, try where it fails."""

from .figure import draw, frame, sections
from .model import LETTERS, BrowserState, Visit, draft, way
from .words import text

__all__ = ["LETTERS", "BrowserState", "Visit", "draft", "draw", "frame", "sections", "text", "way"]
