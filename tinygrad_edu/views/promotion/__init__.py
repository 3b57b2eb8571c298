"""Which operation made floats wider: a computation as a tree, coloured by dtype."""

from .figure import draw, frame
from .model import (
    TABLES,
    Fix,
    Input,
    Leaf,
    PromotionState,
    Row,
    Trace,
    finish,
    fix,
    in_hand,
    known_table,
    leaf_of,
    make,
    pick,
    read,
    rows,
    suspect,
)
from .words import describe, question, row_text, text, why

__all__ = [
    "TABLES", "Fix", "Input", "Leaf", "PromotionState", "Row", "Trace", "describe", "draw", "finish", "fix", "frame",
    "in_hand", "known_table", "leaf_of", "make", "pick", "question", "read", "row_text", "rows", "suspect", "text",
    "why",
]  # fmt: skip
