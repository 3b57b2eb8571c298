"""One recorded run, forward and backward, step by step."""

from .figure import draw, frame
from .model import GraphRun, GraphState, Moment, Preview, moment, record
from .words import describe, position, text, why

__all__ = [
    "GraphRun", "GraphState", "Moment", "Preview", "describe", "draw", "frame", "moment", "position", "record",
    "text", "why",
]  # fmt: skip
