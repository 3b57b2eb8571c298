"""Looking at a program from outside: what it allocates, copies and records (`Counters`), and how long it takes.

Where its memory goes is seen by `observe.memory.Memory`, and the time of each operation by `observe.profiler.profile`.
"""

from .counters import Counters
from .timing import Comparison, Conditions, Sweep, Timing, compare, measure, sweep

__all__ = ["Comparison", "Conditions", "Counters", "Sweep", "Timing", "compare", "measure", "sweep"]
