"""How counts grow with a size, in a word."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

FLAT, LINEAR, QUADRATIC, KNEE, OTHER = "flat", "linear", "quadratic", "knee", "in another way"
SHAPES = (FLAT, LINEAR, QUADRATIC, KNEE)
FEWEST = 5  # sizes: a parabola goes through any three points


def shape_of(sizes: Sequence[float], values: Sequence[float], within: float = 0.05) -> str:
    """``flat``, ``linear``, ``quadratic``, ``knee`` (it rises, then stays), or ``in another way``.

    A shape fits if no value is farther from it than ``within`` of the largest, and the last step grows no faster.
    """
    x, y = np.asarray(sizes, dtype=float), np.asarray(values, dtype=float)
    room = within * float(np.abs(y).max(initial=0.0))
    if float(np.ptp(y)) <= room:
        return FLAT
    for degree, name in ((1, LINEAR), (2, QUADRATIC)):
        fit = np.polynomial.Polynomial.fit(x, y, degree)
        near = float(np.abs(fit(x) - y).max()) <= room and fit.convert().coef[degree] > 0
        if near and 0 < _last_power(x, y) < degree + 0.5:  # on few sizes a parabola comes near to many curves
            return name
    half = len(y) // 2
    rises = bool(np.all(np.diff(y[: half + 1]) > 0))
    return KNEE if rises and float(np.ptp(y[-2:])) <= 2 * room else OTHER


def _last_power(x: np.ndarray, y: np.ndarray) -> float:
    """The power of the size with which the values grow in the last step."""
    if min(y[-2], y[-1]) <= 0:
        return 0.0
    return float(np.log(y[-1] / y[-2]) / np.log(x[-1] / x[-2]))
