"""Robust statistics of measured times."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

ENOUGH = 6  # values; from here on, a median has an interval of 95 %


def quartiles(values: Sequence[float]) -> tuple[float, float]:
    """The first and the third quartile: the middle half is between them."""
    if len(values) == 1:
        return values[0], values[0]
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, high


def middle_ratio(ratios: Sequence[float]) -> float:
    """The median ratio. Ratios are averaged as logarithms, so A over B is exactly the inverse of B over A."""
    return math.exp(statistics.median(map(math.log, ratios)))


def ratio_quartiles(ratios: Sequence[float]) -> tuple[float, float]:
    """The quartiles of ratios, by their logarithms."""
    low, high = quartiles(list(map(math.log, ratios)))
    return math.exp(low), math.exp(high)


def median_interval(values: Sequence[float], confidence: float = 0.95) -> tuple[float, float]:
    """The two values between which the true median is, with that confidence: an exact rule, for any distribution.

    Each value is above the true median as often as a coin shows heads, so coins tell how many of the smallest and of
    the largest can be left out. Fewer than `ENOUGH` values cannot be so sure, and then the result is their range.
    """
    ordered, count = sorted(values), len(values)
    out, chance = 0, 1 / 2**count  # that none is below the true median
    while (chance := chance + math.comb(count, out + 1) / 2**count) <= (1 - confidence) / 2:
        out += 1
    return ordered[out], ordered[-1 - out]
