"""Memory over time, drawn with matplotlib."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def plot(rows: Sequence[Mapping[str, int]], ax: Any = None) -> Any:
    """The bytes by owner, stacked, one row after the other. Returns the axes."""
    import matplotlib.pyplot as plt

    ax = ax or plt.subplots()[1]
    used = [name for name in (rows[0] if rows else ()) if any(row[name] > 0 for row in rows)]
    if used:
        heights = [[max(row[name], 0) / 1e6 for row in rows] for name in used]
        ax.stackplot(range(len(rows)), heights, labels=used, step="post")
        ax.legend(loc="upper left")
    ax.set(xlabel="operations, one after the other", ylabel="MB")
    return ax
