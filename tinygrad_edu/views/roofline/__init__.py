"""What bounds each operation of a program: points under the roof of a machine's peaks."""

from .figure import draw, frame
from .model import CHOICES, HERE, RooflineState, answer, draft, finish, machine, pick
from .words import describe, point_text, question, summary, text, verdict, why

__all__ = [
    "CHOICES", "HERE", "RooflineState", "answer", "describe", "draft", "draw", "finish", "frame", "machine", "pick",
    "point_text", "question", "summary", "text", "verdict", "why",
]  # fmt: skip
