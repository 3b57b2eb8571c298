"""What a switch does to the time of a step: two copies of the run take turns, one with the habit and one without."""

from __future__ import annotations

import math
import statistics
from itertools import pairwise

from . import meters
from .model import Compared
from .training import Loop

TURNS = 16  # between the steps of a run, that a trial takes: after one that only warms up
CLEAR, ENOUGH = 2.0, 6  # if all of so many rounds differ by more than that, no more are needed
ROOM, MOST = 0.004, 4  # seconds after which a turn begins no other round, and the most rounds of a turn


class Trial:
    """Compares a loop before a switch with the same loop after it, a round at a time.

    The steps of a run cannot be compared with later ones: between them the machine has become quicker or slower, and
    after a pause its caches are cold. So in each round both copies make two steps, close together, in the order
    before, after, after, before, and in the next round the other way around. The run itself is not touched.
    """

    def __init__(self, was: Loop, now: Loop) -> None:
        self.loops = [was, now]
        self.rounds: list[tuple[tuple[float, float], tuple[float, float]]] = []  # two times before, two after
        self.done, self.turns = False, 0

    def turn(self) -> None:
        """A few rounds, unless there are enough."""
        start = meters._clock()
        for i in range(0 if self.done else MOST):
            found = self._round(i)
            if self.turns:
                self.rounds.append(found)
            if meters._clock() - start > ROOM:
                break
        self.turns += 1
        self.done = self.done or self.turns > TURNS or self._clear()
        if self.done:
            self.loops = []  # their networks are not needed any more

    def _round(self, count: int) -> tuple[tuple[float, float], tuple[float, float]]:
        times: tuple[list[float], list[float]] = ([], [])
        first = (self.turns + count) % 2
        for which in (first, 1 - first, 1 - first, first):
            start = meters._clock()
            self.loops[which].step()
            times[which].append(max(meters._clock() - start, 1e-9))  # a coarse clock may not move
        (a, b), (c, d) = times
        return (a, b), (c, d)

    def _clear(self) -> bool:
        ratios = self.ratios()
        return len(ratios) >= ENOUGH and (min(ratios) > CLEAR or max(ratios) < 1 / CLEAR)

    def ratios(self) -> list[float]:
        """How many times as long the steps after the switch take, round by round."""
        return [sum(now) / sum(was) for was, now in self.rounds]

    def found(self) -> Compared | None:
        """The comparison; None until it is done."""
        if not self.done:
            return None
        ratios = self.ratios()
        # Between two rounds nothing changes for the same loop.
        sums = [[sum(one[which]) for one in self.rounds] for which in (0, 1)]
        nothing = [math.log(b / a) for one in sums for a, b in pairwise(one)]
        before, after = (statistics.median(t for one in self.rounds for t in one[which]) for which in (0, 1))
        scatter = math.exp(max(map(abs, middle(nothing)))) - 1
        return Compared(before, after, statistics.median(ratios), *middle(ratios), scatter, len(self.rounds))


def middle(found: list[float]) -> tuple[float, float]:
    """Between which of these the median of all that there could be is, in 98 of 100 cases."""
    left_out = max(0, int(len(found) / 2 - 1.16 * math.sqrt(len(found))))  # at either end: of 16, three
    return sorted(found)[left_out], sorted(found)[-1 - left_out]
