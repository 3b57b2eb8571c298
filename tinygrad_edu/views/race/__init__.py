"""Two functions side by side on the clock: predicted first, then measured, then both shown."""

from .compared import Agreement, agreement, difference
from .figure import draw, frame
from .model import WARMUPS, RaceState, finish, pick, prediction
from .words import describe, question, summary, text

__all__ = [
    "WARMUPS", "Agreement", "RaceState", "agreement", "describe", "difference", "draw", "finish", "frame", "pick",
    "prediction", "question", "summary", "text",
]  # fmt: skip
