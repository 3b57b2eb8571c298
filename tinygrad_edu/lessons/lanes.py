"""Who was at work when: a row of signs for each of several workers, from left to right."""

from __future__ import annotations

import itertools
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


def waiting(asked: Sequence[float], worked: Sequence[Span]) -> list[Span]:
    """How many products wait in the queue: asked for, and not begun. The sign is a digit, or + for ten and more."""
    begun = [begin for _, begin, _ in worked]
    moments = sorted({*asked, *begun})
    spans: list[Span] = []
    for begin, end in itertools.pairwise(moments):
        count = sum(at <= begin for at in asked) - sum(at <= begin for at in begun)
        if count > 0:
            spans.append((str(count) if count < 10 else "+", begin, end))
    return spans


def in_words(start: float, end: float, python: Sequence[Span], device: Sequence[Span], asked: Sequence[float]) -> str:
    """The same lanes as a sentence for each."""

    def spent(spans: Sequence[Span], sign: str) -> str:
        return f"{1000 * sum(stop - begin for one, begin, stop in spans if one == sign):.0f} ms"

    begun = [begin for _, begin, _ in device]
    most = max((sum(one <= at for one in asked) - sum(one <= at for one in begun) for at in asked), default=0)
    return (
        f"Python works {spent(python, 'w')} and waits {spent(python, 'r')}; the device computes {spent(device, 'x')} "
        f"of {1000 * (end - start):.0f} ms; {most} at most wait in the queue."
    )


def drawn(start: float, end: float, python: Sequence[Span], device: Sequence[Span], asked: Sequence[float]) -> str:
    """The lanes of Python, of what waits and of the device, and the same in words."""
    rows = lanes(start, end, Python=python, queue=waiting(asked, device), device=device)
    return f"{rows}\n{in_words(start, end, python, device, asked)}"


def ideal(own: float, at_once: bool, products: int = 20, each: float = 0.010) -> str:
    """The lanes of a program that works ``own`` seconds on each product and then reads it, ``at_once`` or at the end,
    on a machine without any delay."""
    python: list[Span] = []
    device: list[Span] = []
    asked: list[float] = []
    now = free = 0.0
    for _ in range(products):
        python.append(("w", now, now + own))
        now += own
        asked.append(now)
        device.append(("x", max(now, free), max(now, free) + each))
        free = max(now, free) + each
        if at_once:
            python.append(("r", now, free))
            now = free
    python.append(("r", now, free))
    return drawn(0.0, max(now, free), python, device, asked)
