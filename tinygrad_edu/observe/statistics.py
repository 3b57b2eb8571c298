"""Robust statistics of measured times, and how times and ratios are written."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence

from ..wording import number

UNITS = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9))
ENOUGH = 6  # values, from which on a median has an interval of 95 %


def quartiles(values: Sequence[float]) -> tuple[float, float]:
    """The first and the third quartile: between them lies the middle half."""
    if len(values) == 1:
        return values[0], values[0]
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, high


def middle_ratio(ratios: Sequence[float]) -> float:
    """The median ratio. Ratios are averaged as logarithms, so that A over B is one over B over A, exactly."""
    return math.exp(statistics.median(map(math.log, ratios)))


def ratio_quartiles(ratios: Sequence[float]) -> tuple[float, float]:
    """The quartiles of ratios, by their logarithms."""
    low, high = quartiles(list(map(math.log, ratios)))
    return math.exp(low), math.exp(high)


def median_interval(values: Sequence[float], confidence: float = 0.95) -> tuple[float, float]:
    """Between which of the values the true median lies, with that confidence: an exact rule, for any distribution.

    Each value lies above the true median as often as a coin falls on one side, so coins tell how many of the least and
    of the greatest can be left out. Fewer than `ENOUGH` values cannot be so sure, and then it is all of their range.
    """
    ordered, count = sorted(values), len(values)
    out, chance = 0, 1 / 2**count  # that none lies below the true median
    while (chance := chance + math.comb(count, out + 1) / 2**count) <= (1 - confidence) / 2:
        out += 1
    return ordered[out], ordered[-1 - out]


def unit_of(seconds: float) -> tuple[str, float]:
    """The unit in which a time is written, and its seconds."""
    rounded = float(f"{seconds:.2e}")  # first, so that 999.9 ns are 1.00 µs
    return next((unit for unit in UNITS if rounded >= unit[1]), UNITS[-1])


def duration_with_spread(seconds: float, spread: Iterable[float]) -> str:
    """``17.7 µs (17.5–18.3)``: all three in the unit of the first."""
    unit, size = unit_of(seconds)
    return f"{number(seconds / size)} {unit} ({'–'.join(number(value / size) for value in spread)})"


def ratio_text(ratio: float, like: float | None = None) -> str:
    """A ratio with the digits that a measurement can bear, or with those of the ratio ``like``: ``36``, ``3.6``.

    >>> ratio_text(36.4), ratio_text(3.62), ratio_text(1.038), ratio_text(0.26)
    ('36', '3.6', '1.04', '0.26')
    """
    size = ratio if like is None else like
    power = math.floor(math.log10(size))
    places = 0 if 9.95 <= size < 1000 else 2 - power if size >= 1000 else 1 if size >= 1.995 else max(2, 1 - power)
    return f"{round(ratio, places):,.{max(places, 0)}f}".replace(",", "\u2009")


def ratio_with_spread(ratio: float, spread: Iterable[float]) -> str:
    """``36× (35–37)``."""
    return f"{ratio_text(ratio)}× ({'–'.join(ratio_text(value, ratio) for value in spread)})"
