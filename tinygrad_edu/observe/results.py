"""What timing gives: the times of one function, a comparison of two, and comparisons over a range of sizes."""

from __future__ import annotations

import dataclasses
import itertools
import math
import statistics
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..common.wording import duration_with_spread, ratio_text, ratio_with_spread
from .machine import Conditions
from .statistics import (
    ENOUGH,
    median_interval,
    middle_ratio,
    quartiles,
    ratio_quartiles,
)

# Where a function happens to be in memory can change its time by a few percent, the same in every repeat, so no
# interval shows it (Mytkowicz et al. 2009, "Producing wrong data without doing anything obviously wrong").
NOISE = 1.05
WIDE = 1.15  # an interval that goes farther from 1 does not show that there is no difference
FEWEST = 3  # pairs: fewer show no spread


@dataclass(frozen=True)
class Timing:
    """How long one function takes. ``times`` and ``warmups`` are seconds per call, in order.

    Each of ``times`` is the mean of ``loops`` calls in a row.
    """

    name: str
    times: tuple[float, ...]
    warmups: tuple[float, ...]
    loops: int

    @property
    def median(self) -> float:
        """Seconds per call: half of the times are longer."""
        return statistics.median(self.times)

    @property
    def quartiles(self) -> tuple[float, float]:
        """The middle half of the times, in seconds per call."""
        return quartiles(self.times)

    def text(self) -> str:
        """``17.7 µs (17.5–18.3)``: the median and the middle half."""
        return duration_with_spread(self.median, self.quartiles)


@dataclass(frozen=True)
class Comparison:
    """Two functions that took turns. ``ratios`` are slow over fast, pair by pair: above 1, fast is faster."""

    slow: Timing
    fast: Timing
    ratios: tuple[float, ...]
    conditions: Conditions
    stopped: bool = False

    @property
    def ratio(self) -> float:
        """The median of the ratios."""
        return middle_ratio(self.ratios)

    @property
    def middle(self) -> tuple[float, float]:
        """The middle half of the ratios."""
        return ratio_quartiles(self.ratios)

    @cached_property
    def interval(self) -> tuple[float, float]:
        """Where the true median ratio is, with 95 % confidence. For fewer than six pairs it is the range."""
        return median_interval(self.ratios)

    @property
    def verdict(self) -> str:
        """How fast compares with slow: "faster", "slower" or "no difference".

        There is no difference if the interval includes 1, if the ratio is within 5 % of 1, or if the medians differ by
        less than the clock can tell. Three to five pairs must also agree, or chance would too often look like a
        difference: in logarithms, the ratio nearest to 1 must be at least a third as far from it as the farthest. Fewer
        than three pairs never show a difference.
        """
        low, high = self.interval
        pairs, near, far = len(self.ratios), *sorted((abs(math.log(low)), abs(math.log(high))))
        calls = min(self.slow.loops, self.fast.loops)
        seen = abs(self.slow.median - self.fast.median) * calls > self.conditions.clock
        certain = pairs >= ENOUGH or (pairs >= FEWEST and near > far / 3)
        if low <= 1 <= high or not certain or 1 / NOISE < self.ratio < NOISE or not seen:
            return "no difference"
        return "faster" if self.ratio > 1 else "slower"

    @property
    def open(self) -> bool:
        """Whether "no difference" only means that these runs cannot tell: the ratio is not near 1, or need not be."""
        ratio, low, high = self.times
        return self.verdict == "no difference" and (ratio >= NOISE or (low <= 1 and max(high, 1 / low) > WIDE))

    @property
    def slight(self) -> bool:
        """Whether "no difference" means: one that these runs show, and that is too small to count."""
        return self.verdict == "no difference" and not self.open and self.times[1] > 1 and len(self.ratios) >= FEWEST

    @property
    def times(self) -> tuple[float, float, float]:
        """How many times longer the slower one takes, and the interval of that: turned round if fast is the slower."""
        low, high = self.interval
        return (self.ratio, low, high) if self.ratio >= 1 else (1 / self.ratio, 1 / high, 1 / low)

    def grounds(self) -> str:
        """What the verdict rests on: ``95 % interval of this race 3.9–4.1×``; if there is no difference, why not."""
        ratio, low, high = self.times
        pairs = len(self.ratios)
        if pairs < FEWEST:
            return f"{pairs} pair{'s' * (pairs != 1)}, too few to tell"
        between = f"{ratio_text(low, ratio)}–{ratio_text(high, ratio)}×"
        sure = f"95 % interval of this race {between}" if pairs >= ENOUGH else f"all {pairs} pairs {between}"
        if self.verdict != "no difference":
            return sure
        if low <= 1 <= high:
            return f"{sure}, which includes 1"
        return (
            f"{sure}, and less than 5 % counts as none" if ratio < NOISE else f"{sure}, too unsteady or short to tell"
        )

    def sentence(self) -> str:
        """The verdict, how many times, and the interval that decides it, in one line."""
        slow, fast = self.slow.name, self.fast.name
        words = {
            "faster": f"{fast} is faster than {slow}",
            "slower": f"{fast} is slower than {slow}",
            "no difference": f"no difference between {slow} and {fast}",
        }
        ratio, low, high = self.times
        if self.open:
            likelier = "faster" if self.ratio > 1 else "slower"
            words["no difference"] = f"not settled whether {fast} is {likelier} than {slow}"
        if self.slight:
            words["no difference"] = f"less than 5 % between {slow} and {fast}"
        if len(self.ratios) < FEWEST:
            words["no difference"] = f"too few runs to tell {slow} from {fast}"
        return f"{words[self.verdict]}: {ratio_with_spread(ratio, (low, high))}"

    def text(self) -> str:
        """The verdict, both times and the conditions, in lines."""
        pairs, warmups = len(self.ratios), len(self.slow.warmups)
        ran = f"{pairs} pair{'s' * (pairs != 1)} after {warmups} warm-up{'s' * (warmups != 1)}"
        ratio = "95 % interval" if pairs >= ENOUGH else "range"
        return "\n".join(
            [
                self.sentence(),
                f"  {self.slow.name}: {self.slow.text()}",
                f"  {self.fast.name}: {self.fast.text()}",
                f"  {ran}{', stopped' * self.stopped}; times: median and middle half; ratio: median and {ratio}",
                f"  {self.conditions.text()}",
            ]
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data, for JSON."""
        return {
            "slow": _timing_dict(self.slow),
            "fast": _timing_dict(self.fast),
            "ratios": list(self.ratios),
            "ratio": self.ratio,
            "middle": list(self.middle),
            "interval": list(self.interval),
            "verdict": self.verdict,
            "stopped": self.stopped,
            "conditions": dataclasses.asdict(self.conditions),
        }


def _timing_dict(timing: Timing) -> dict[str, Any]:
    return {
        "name": timing.name,
        "median": timing.median,
        "quartiles": list(timing.quartiles),
        "loops": timing.loops,
        "times": list(timing.times),
        "warmups": list(timing.warmups),
    }


@dataclass(frozen=True)
class Sweep:
    """Two functions compared at each of ``sizes``, in ascending order. After a stop, it has those that were reached."""

    sizes: tuple[int, ...]
    comparisons: tuple[Comparison, ...]
    stopped: bool = False

    @property
    def crossover(self) -> float | None:
        """The size at which the two are equal, between one where fast is faster and one where it is slower.

        It is interpolated between the two sizes around the place where the ratio passes 1, on logarithmic axes. None if
        the verdict never turns round; the first place if it does so more than once.
        """
        decided = [i for i, one in enumerate(self.comparisons) if one.verdict != "no difference"]
        for first, last in itertools.pairwise(decided):
            if self.comparisons[first].verdict != self.comparisons[last].verdict:
                return self._equal_between(first, last)
        return None

    def _equal_between(self, first: int, last: int) -> float:
        """Where the ratio first passes 1, from one measured size to the other."""
        logs = [math.log(one.ratio) for one in self.comparisons]
        here = next(i for i in range(first, last) if (logs[i] > 0) != (logs[i + 1] > 0))
        share = logs[here] / (logs[here] - logs[here + 1])
        low, high = self.sizes[here], self.sizes[here + 1]
        return low * (high / low) ** share

    def text(self) -> str:
        """A line for each size, and where the two are equal."""
        lines = [f"{size}: {one.sentence()}" for size, one in zip(self.sizes, self.comparisons, strict=True)]
        if self.crossover is not None:
            lines.append(f"equal near {self.crossover:.0f}, between two sizes")
        return "\n".join([*lines, *["stopped"] * self.stopped])

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data, for JSON."""
        return {
            "sizes": list(self.sizes),
            "crossover": self.crossover,
            "stopped": self.stopped,
            "comparisons": [one.to_dict() for one in self.comparisons],
        }
