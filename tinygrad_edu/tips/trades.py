"""The answer to a question that several tips ask: what does B take and what does it save, in memory and operations?"""

from __future__ import annotations

from .runner import Result

TRADES = "less memory, as many operations", "less memory, more operations", "as much memory, more operations"


def trade(result: Result) -> str:
    """Which of `TRADES` it is."""
    less = result.fast["peak"] < result.slow["peak"]
    more = result.fast["calls"] > result.slow["calls"]
    return TRADES[1 if less and more else 0 if less else 2]
