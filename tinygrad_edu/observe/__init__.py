"""Looking at a program from outside: what it allocates, copies and records (`Counters`), and how long it takes."""

from .counters import Counters
from .timing import Comparison, Conditions, Sweep, Timing, compare, measure, sweep

__all__ = ["Comparison", "Conditions", "Counters", "Sweep", "Timing", "compare", "measure", "sweep"]
