"""The tips that apply to a program, as a picture: how much each habit took, where it is, and what was found."""

from .figure import draw, frame
from .model import AdviceState, Found, choose, read
from .words import describe, text, why

__all__ = ["AdviceState", "Found", "choose", "describe", "draw", "frame", "read", "text", "why"]
