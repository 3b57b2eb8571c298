"""A training run so far: progress, and the loss by epoch."""

from .figure import draw, frame
from .model import TrainingState, add
from .words import describe, text, why

__all__ = ["TrainingState", "add", "describe", "draw", "frame", "text", "why"]
