"""The training of both ways: what they log, over the steps."""

from __future__ import annotations

import math

from ...common.wording import exact, number
from ...tips.findings import Runs, series_text
from ..frame import NARROW, Figure
from ..marks import Canvas
from ..training.figure import axis, tick_text

LEFT, RIGHT, HEIGHT = 64.0, 40.0, 110.0
LINES = ("youline", "resultline")  # of the first way, and of all others


def draw(name: str, runs: Runs, width: int = NARROW) -> Figure:
    """A line for each way and seed: A dotted, the others full, each with its letter at the end."""
    canvas, right, bottom = Canvas(width), width - RIGHT, 26 + HEIGHT
    finite = [v for each in runs.values() for one in each for v in one if math.isfinite(v)]
    scale = axis(min(finite, default=0.0), max(finite, default=1.0))
    steps = max(len(one) for each in runs.values() for one in each)
    canvas.text(LEFT, 14, name, "b")
    for tick in scale.ticks:
        y = bottom - HEIGHT * scale.share(float(tick))
        canvas.line(LEFT - 4, y, LEFT, y, "rule")
        canvas.text(LEFT - 8, y + 4, tick_text(tick), "m t2", "end")
    canvas.line(LEFT, bottom, right, bottom, "axis")
    canvas.text(LEFT, bottom + 18, "step 1", "m t2")
    canvas.text(right, bottom + 18, f"step {exact(steps)}", "m t2", "end")
    taken: list[float] = []
    for place, (letter, each) in enumerate(runs.items()):
        for one in each:
            at = [
                (LEFT + (right - LEFT) * i / max(steps - 1, 1), bottom - HEIGHT * scale.share(v))
                for i, v in enumerate(one)
                if math.isfinite(v)
            ]
            if at:
                canvas.path("M" + "L".join(f"{x:.2f} {y:.2f}" for x, y in at), LINES[min(place, 1)])
        ends = sorted(bottom - HEIGHT * scale.share(one[-1]) for one in each if math.isfinite(one[-1]))
        y = ends[len(ends) // 2] if ends else 26.0  # nan and ∞: at the top
        while any(abs(y - other) < 15 for other in taken):
            y -= 15
        taken.append(y)
        canvas.text(right + 6, y + 4, letter if ends else f"{letter} {number(each[0][-1])}", "b")
    canvas.height = bottom + 26
    return Figure(canvas, f"{name} over the steps", f"{series_text(name, runs)}.")
