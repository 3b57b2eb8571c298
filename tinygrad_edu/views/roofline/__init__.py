"""What bounds each operation of a program: points under the roof of a machine's peaks."""

from .figure import draw, frame
from .model import CHOICES, FORMS, HERE, RooflineState, answer, draft, finish, form, machine, pick
from .words import comparison, describe, point_text, question, summary, text, verdict, why

__all__ = [
    "CHOICES", "FORMS", "HERE", "RooflineState", "answer", "comparison", "describe", "draft", "draw", "finish", "form",
    "frame", "machine", "pick", "point_text", "question", "summary", "text", "verdict", "why",
]  # fmt: skip
