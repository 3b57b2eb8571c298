"""Names, tensors, bytes: which names look at which bytes, what each reads there, and who sees a write."""

from .expression import evaluate
from .figure import draw, frame
from .model import (
    Buffer,
    BufferState,
    Entry,
    Glance,
    Goals,
    Write,
    changed,
    element,
    entry,
    point,
    read,
    strided,
    unravel,
    written,
)
from .words import arithmetic, describe, spoken, text, why, write_sentence

__all__ = [
    "Buffer", "BufferState", "Entry", "Glance", "Goals", "Write", "arithmetic", "changed", "describe", "draw",
    "element", "entry", "evaluate", "frame", "point", "read", "spoken", "strided", "text", "unravel", "why",
    "write_sentence", "written",
]  # fmt: skip
