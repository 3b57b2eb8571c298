"""A network that trains while one plays: what it learns, what a step costs, and slow habits to turn on and off."""

from .figure import draw, frame
from .model import PlayState
from .plain import data
from .words import describe, text

__all__ = ["PlayState", "data", "describe", "draw", "frame", "text"]
