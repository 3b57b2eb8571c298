"""What host and device do, and when: lanes over virtual time, who waits for whom, and why the device is idle."""

from .figure import draw
from .model import Gap, Item, Run, gaps, read
from .words import gap_text, item_text, lane_text, summary, text

__all__ = [
    "Gap", "Item", "Run", "draw", "gap_text", "gaps", "item_text", "lane_text", "read", "summary", "text",
]  # fmt: skip
