"""A training run so far: progress, the loss by epoch, and every number that was recorded."""

from .figure import draw, frame
from .model import TrainingState, add, end, restarted
from .words import describe, text, why

__all__ = ["TrainingState", "add", "describe", "draw", "end", "frame", "restarted", "text", "why"]
