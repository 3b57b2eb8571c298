"""Where memory goes: every buffer that a program makes, with its owner, its line, and what keeps it alive.

What an operation needs only while it runs is seen by nobody but the allocator. So the totals come from ``tracemalloc``,
which NumPy tells of every array; the operations say whose the arrays are. What is left is *elsewhere*: arrays of
NumPy code and of other threads, and Python's own objects.
"""

from .books import NOISE
from .parts import BANDS, OWNERS, Held, Keeper, Life, Moment
from .watch import Memory, mark

__all__ = ["BANDS", "NOISE", "OWNERS", "Held", "Keeper", "Life", "Memory", "Moment", "mark"]
