"""Who was at work when: a row of signs for each of several workers, from left to right."""

from __future__ import annotations

from collections.abc import Sequence

Span = tuple[str, float, float]  # a sign, and from when to when, in seconds
IDLE = "·"


def lanes(start: float, end: float, step: float = 0.010, **rows: Sequence[Span]) -> str:
    """One sign for each ``step`` seconds: that of the span which covers most of it, or a dot if none covers half."""
    count = max(1, round((end - start) / step))
    room = max(map(len, rows))
    lines = []
    for name, spans in rows.items():
        signs = []
        for i in range(count):
            low, high = start + i * step, start + (i + 1) * step
            covered: dict[str, float] = {}
            for sign, begin, stop in spans:
                covered[sign] = covered.get(sign, 0.0) + max(0.0, min(stop, high) - max(begin, low))
            most = max(covered, key=covered.__getitem__, default=IDLE)
            signs.append(most if covered.get(most, 0.0) >= step / 2 else IDLE)
        lines.append(f"{name:{room}} {''.join(signs)}")
    return "\n".join(lines)


def ideal(own: float, at_once: bool, products: int = 20, each: float = 0.010) -> str:
    """The lanes of a program that works ``own`` seconds on each product and then reads it, ``at_once`` or at the end,
    on a machine without any delay."""
    python: list[Span] = []
    device: list[Span] = []
    now = free = 0.0
    for _ in range(products):
        python.append(("w", now, now + own))
        now += own
        device.append(("x", max(now, free), max(now, free) + each))
        free = max(now, free) + each
        if at_once:
            python.append(("r", now, free))
            now = free
    python.append(("r", now, free))
    return lanes(0.0, max(now, free), each, Python=python, device=device)
