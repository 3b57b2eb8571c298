"""A question, a prediction, and only then the result: both are shown, and nothing is scored."""

from .figure import draw, frame
from .model import GateState, Outcome, Question, Why, checked_why, draft, outcome, question, span, within
from .words import describe, spoken, text

__all__ = [
    "GateState", "Outcome", "Question", "Why", "checked_why", "describe", "draft", "draw", "frame", "outcome",
    "question", "span", "spoken", "text", "within",
]  # fmt: skip
