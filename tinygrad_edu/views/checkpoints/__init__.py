"""Keeping less for backward: segments against peak against what is computed again."""

from .figure import draw, frame
from .measure import Subject
from .model import OWNERS, Event, Expected, Run, SliderState, again, counts, draft, expected, finish, parts, pick
from .words import describe, question, reason, summary, text, why

__all__ = [
    "OWNERS", "Event", "Expected", "Run", "SliderState", "Subject", "again", "counts", "describe", "draft", "draw",
    "expected", "finish", "frame", "parts", "pick", "question", "reason", "summary", "text", "why",
]  # fmt: skip
