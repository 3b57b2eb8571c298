"""The tips as a front door: find one, predict, run, see, explain, try where it fails."""

from .figure import draw, frame
from .model import ANY, LETTERS, BrowserState, Visit, as_asked, draft, way
from .steps import STEPS, sections
from .words import text

__all__ = [
    "ANY", "LETTERS", "STEPS", "BrowserState", "Visit", "as_asked", "draft", "draw", "frame", "sections", "text", "way",
]  # fmt: skip
