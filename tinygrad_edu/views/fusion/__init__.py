"""A program as a column of operations, which are merged into kernels by hand, and what each choice costs."""

from .figure import draw, frame
from .model import (
    EXAMPLES,
    FusionState,
    Timing,
    barrier,
    built,
    chosen,
    everything,
    finish,
    press,
    read,
    resize,
    traced,
)
from .words import describe, text, why

__all__ = [
    "EXAMPLES", "FusionState", "Timing", "barrier", "built", "chosen", "describe", "draw", "everything", "finish",
    "frame", "press", "read", "resize", "text", "traced", "why",
]  # fmt: skip
