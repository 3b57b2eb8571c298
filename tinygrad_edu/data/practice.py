"""A data set to practise with: a sample costs as much as one says, in one of three ways."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from ..errors import ArgumentError
from ..inputs.kinds import explain_all
from .datasets import Dataset

KINDS = ("waits", "NumPy", "Python")
MOST = 10_000
WIDTH = 1 << 16  # numbers that NumPy sorts in a round: enough that it lets go of the lock for most of the time


class Chores(Dataset):
    """``count`` samples, each of which is a vector of 16 numbers and a class. To read one costs ``work`` of a kind:

    ``"waits"`` for a disk or a network, ``work`` milliseconds; ``"NumPy"`` sorts 65,536 numbers ``work`` times, without
    Python's lock; ``"Python"`` adds ``work`` thousand numbers in a loop, and holds the lock. Whatever the kind, samples
    are the same.

    >>> Chores(4, "Python", 1)[3][1]
    3
    """

    def __init__(self, count: int = 64, kind: str = "waits", work: float = 1) -> None:
        if kind not in KINDS:
            raise ArgumentError(f"Chores(kind={kind!r})", f"the kinds are {', '.join(KINDS)}", "take one of them")
        if not (count >= 0 and 0 <= work <= MOST):
            why = f"it is how much one sample costs, from 0 to {MOST:,}, and there may be none or more"
            raise ArgumentError(f"Chores(count={count!r}, work={work!r})", why, "take less")
        self.count, self.kind, self.work = count, kind, work
        self._numbers: Any = None

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> tuple[np.ndarray[Any, Any], int]:
        if not -self.count <= index < self.count:
            raise IndexError(f"sample {index} of {self.count}")
        if self.kind == "waits":
            time.sleep(self.work / 1000)
        elif self.kind == "NumPy":
            self._sort()
        else:
            total = 0
            for number in range(int(self.work * 1000)):
                total += number
        return np.full(16, index % self.count, np.float32), index % 10

    def _sort(self) -> None:
        if self._numbers is None:
            self._numbers = np.random.default_rng(0).random(WIDTH, np.float32)
        for _ in range(int(self.work)):
            np.sort(self._numbers)


explain_all(globals())
