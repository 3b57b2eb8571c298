"""Workers that read ahead, the batches that lie ready, and a loop that trains and waits: who waits for whom."""

from .figure import draw, frame
from .model import (
    KEPT,
    PREFETCH,
    SIZES,
    WORKERS,
    LoadingState,
    Pass,
    Piece,
    Run,
    Setting,
    choose,
    draft,
    finish,
    read,
    run_of,
)
from .training import Subject
from .words import describe, summary, text, verdict, why

__all__ = [
    "KEPT", "PREFETCH", "SIZES", "WORKERS", "LoadingState", "Pass", "Piece", "Run", "Setting",
    "Subject", "choose", "describe", "draft", "draw", "finish", "frame", "read", "run_of", "summary", "text", "verdict",
    "why",
]  # fmt: skip
