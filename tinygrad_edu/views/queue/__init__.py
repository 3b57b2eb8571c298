"""What host and device do, and when: lanes over virtual time, who waits for whom, and why the device is idle."""

from .figure import draw, frame
from .gaps import Gap, Item, Part, shares
from .model import (
    BUSY,
    TIMES,
    Knob,
    QueueState,
    Run,
    answer,
    draft,
    longest_gap,
    machine,
    most_kernels,
    pick,
    pick_gap,
    read,
    stop,
    turn,
)
from .words import (
    describe,
    gap_text,
    item_text,
    lane_text,
    part_text,
    picked_text,
    remarks,
    runs_text,
    summary,
    text,
    verdict,
    why,
)

__all__ = [
    "BUSY", "TIMES", "Gap", "Item", "Knob", "Part", "QueueState", "Run", "answer", "describe", "draft", "draw", "frame",
    "gap_text", "item_text", "lane_text", "longest_gap", "machine", "most_kernels", "part_text", "pick", "pick_gap",
    "picked_text", "read", "remarks", "runs_text", "shares", "stop", "summary", "text", "turn", "verdict", "why",
]  # fmt: skip
