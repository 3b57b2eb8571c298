"""What host and device do, and when: lanes over virtual time, who waits for whom, and why the device is idle."""

from .figure import draw, frame
from .model import (
    BUSY,
    TIMES,
    Gap,
    Item,
    Knob,
    QueueState,
    Run,
    answer,
    draft,
    gaps,
    longest_gap,
    machine,
    pick,
    read,
    turn,
)
from .words import describe, gap_text, item_text, lane_text, picked_text, runs_text, summary, text, verdict, why

__all__ = [
    "BUSY", "TIMES", "Gap", "Item", "Knob", "QueueState", "Run", "answer", "describe", "draft", "draw", "frame",
    "gap_text", "gaps", "item_text", "lane_text", "longest_gap", "machine", "pick", "picked_text", "read", "runs_text",
    "summary", "text", "turn", "verdict", "why",
]  # fmt: skip
