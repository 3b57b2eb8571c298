"""One recorded run, forward and backward, step by step."""

from .figure import draw, frame
from .leaves import free_names, leaves_of
from .model import GraphRun, GraphState, Moment, Preview, moment, record
from .words import describe, position, text, why

__all__ = [
    "GraphRun", "GraphState", "Moment", "Preview", "describe", "draw", "frame", "free_names", "leaves_of", "moment",
    "position", "record", "text", "why",
]  # fmt: skip
