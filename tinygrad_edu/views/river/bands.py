"""The bands of a river: steps of one height for each column, filled, hatched or dotted."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from ..marks import Canvas

FILLED = {
    "parameter": "own-parameter", "optimiser": "own-optimiser", "gradient": "own-gradient",
    "activation": "own-activation", "data": "own-data",
}  # fmt: skip
SLANT = {"temporary": 1, "workspace": -1}  # the hatched owners, and which way their lines go
PITCH = 6.0  # from one line of a hatch to the next
Step = tuple[float, float, float, float]  # left, right, top and bottom of one column of a band


def draw_band(canvas: Canvas, owner: str, steps: Sequence[Step]) -> None:
    """One owner's band. Where its height is zero there is a gap."""
    for part in _parts(steps):
        outline = _outline(part)
        if owner in FILLED:
            canvas.path(outline, FILLED[owner])
        else:
            canvas.path(outline, "paper")
            if owner in SLANT:
                canvas.path(" ".join(_hatch(part, SLANT[owner])), "hatch")
            canvas.path(outline, "own-edge" if owner in SLANT else "ghost")


def swatch(canvas: Canvas, owner: str, x: float, y: float, side: float = 12) -> None:
    """A small square of the band's kind."""
    draw_band(canvas, owner, [(x, x + side, y, y + side)])


def label_place(steps: Sequence[Step], width: float, height: float) -> tuple[float, float] | None:
    """The middle of the place in a band where a label of this size has most room above and below; None without one."""
    best: tuple[float, float, float] | None = None
    for i, (left, _, _, _) in enumerate(steps):
        top, bottom = -math.inf, math.inf
        for _, right, upper, lower in steps[i:]:
            top, bottom = max(top, upper), min(bottom, lower)
            if bottom - top < height:
                break
            if right - left >= width and (best is None or bottom - top > best[0]):
                best = bottom - top, (left + right) / 2, (top + bottom) / 2
                break
    return None if best is None else best[1:]


def _parts(steps: Sequence[Step]) -> Iterator[list[Step]]:
    """The stretches of a band that have a height."""
    part: list[Step] = []
    for step in steps:
        if step[3] - step[2] > 0.05:
            part.append(step)
        elif part:
            yield part
            part = []
    if part:
        yield part


def _outline(part: Sequence[Step]) -> str:
    left = part[0][0]
    there = "".join(f"V{top:.1f}H{right:.1f}" for _, right, top, _ in part)
    back = "".join(f"V{bottom:.1f}H{left:.1f}" for left, _, _, bottom in reversed(part))
    return f"M{left:.1f} {part[0][3]:.1f}{there}{back}Z"


def _hatch(part: Sequence[Step], slant: int) -> Iterator[str]:
    """Slanted lines, cut at the edges of each column: a picture file knows no patterns."""
    for left, right, top, bottom in part:
        # along a line, x + slant·y is constant
        low, high = sorted((slant * top, slant * bottom))
        for n in range(math.ceil((left + low) / PITCH), math.floor((right + high) / PITCH) + 1):
            ends = []
            for x in (left, right):
                y = slant * (n * PITCH - x)
                ends.append((x, y) if top <= y <= bottom else (n * PITCH - slant * (y := min(max(y, top), bottom)), y))
            (x1, y1), (x2, y2) = ends
            if x2 - x1 > 0.1:
                yield f"M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}"
