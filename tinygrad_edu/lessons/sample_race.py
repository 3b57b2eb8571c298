"""A race that was recorded, so that a reader without a kernel sees what its picture looks like."""

from __future__ import annotations

from dataclasses import replace

from ..observe.machine import Conditions
from ..observe.results import Comparison, Sweep, Timing
from ..views import race
from .recorded import Recorded, as_recorded

WHEN = "23 November 2026"
# Microseconds per call on 1000 random numbers in a list, in the order of the pairs; three warm-ups come first.
SUM = (11.11, 7.314, 5.922, 5.110, 5.114, 6.517, 5.099, 5.105, 5.101, 5.097, 5.111, 6.035, 5.093, 5.098, 5.108, 5.110,
       5.094, 132.1, 6.379, 6.381, 7.713, 6.375, 5.090)  # fmt: skip
FSUM = (23.41, 20.77, 20.77, 20.29, 20.33, 20.40, 20.26, 20.27, 20.34, 20.33, 27.17, 20.32, 20.26, 20.28, 20.32, 20.25,
        20.32, 25.46, 25.43, 25.30, 25.36, 29.46, 20.30)  # fmt: skip
WARM_UPS = 3
HERE = Conditions("AMD EPYC", 2, "Linux", "3.11.7", "2.4.6", "OpenBLAS 0.3.31", 1, "off", 1e-9)


def _timing(name: str, microseconds: tuple[float, ...], loops: int) -> Timing:
    seconds = tuple(one / 1e6 for one in microseconds)
    return Timing(name, seconds[WARM_UPS:], seconds[:WARM_UPS], loops)


class RecordedRace(Recorded):
    """The picture and the words of a race, as they were. Nothing runs."""

    def __init__(self) -> None:
        slow, fast = _timing("sum", SUM, 16), _timing("math.fsum", FSUM, 4)
        ratios = tuple(a / b for a, b in zip(slow.times, fast.times, strict=True))
        state = race.RaceState((slow.name, fast.name), why="")
        shown = race.frame(race.finish(state, Sweep((1,), (Comparison(slow, fast, ratios, HERE),))))
        frame = replace(as_recorded(shown, WHEN), why="")
        super().__init__(frame, f"a race between sum and math.fsum, recorded on {WHEN}")
