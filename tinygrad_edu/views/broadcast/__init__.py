"""Broadcasting both ways: stretched axes that are read again, and in backward the sum over the reads."""

from .figure import draw, frame
from .model import UPSTREAMS, LabState, Shape, draft, known_op, operand, parse_shape, pattern, point, read, reveal
from .words import ask, describe, tell, text, why

__all__ = [
    "UPSTREAMS", "LabState", "Shape", "ask", "describe", "draft", "draw", "frame", "known_op", "operand",
    "parse_shape", "pattern", "point", "read", "reveal", "tell", "text", "why",
]  # fmt: skip
