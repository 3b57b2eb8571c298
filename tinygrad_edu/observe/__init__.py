"""Looking at a program from outside: what it allocates and records, where its memory goes, how long it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..common import late as _late
from .counters import Counters
from .timing import Comparison, Conditions, Sweep, Timing, compare, measure, sweep

if TYPE_CHECKING:
    from .memory import Memory

__all__ = ["Comparison", "Conditions", "Counters", "Memory", "Sweep", "Timing", "compare", "measure", "sweep"]

if not TYPE_CHECKING:
    __getattr__ = _late.getattr_of(__name__, {"Memory": "memory"}, {"memory": "memory"})
