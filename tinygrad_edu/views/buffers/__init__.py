"""Names, tensors, bytes: which tensors look at which buffer, and in what order they visit its cells."""

from .figure import draw, frame
from .model import Buffer, BufferState, Entry, entry, evaluate, point, read, strided, unravel
from .words import arithmetic, describe, text, why

__all__ = [
    "Buffer", "BufferState", "Entry", "arithmetic", "describe", "draw", "entry", "evaluate", "frame", "point",
    "read", "strided", "text", "unravel", "why",
]  # fmt: skip
