"""What tells that a tip applies to a program: a `Sign`, which its ``applies`` reads off what a run has shown."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from .. import backends
from ..backends.sim.schedule import Work
from ..common.lines import Line, own
from ..data.timeline import Timeline
from ..observe.witness import Place, Witness

__all__ = ["LOSSES", "PRODUCTS", "Seen", "Sign", "at_hand", "host_waits", "one_row", "raised_at", "spent"]

PRODUCTS = ("linear", "matmul", "conv1d", "conv2d")
LOSSES = (
    "cross_entropy", "nll_loss", "mse_loss", "l1_loss", "smooth_l1_loss", "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
)  # fmt: skip
_ARRANGING = {"getitem", "stack", "reshape", "unsqueeze", "transfer"}
_NO_READING = ("synchronize", "copy to device", "empty_cache", "reserve")


def at_hand(array: Any) -> Any:
    """The values of an array, on whatever device, as a NumPy array. Nothing waits for them, and no copy is counted."""
    return backends.of(array).peek(array)


@dataclass(frozen=True)
class Sign:
    """A habit at a line: what was counted there, and the seconds that it cost, at most; ``virtual`` if simulated.

    ``saves`` says what else there is to save, such as memory. ``setting`` opens the tip at these sizes.
    """

    line: Line
    told: str
    seconds: float = 0.0
    virtual: bool = False
    saves: str = ""
    setting: Mapping[str, Any] = field(default_factory=dict)


class Seen(Witness):
    """What a program did, with the compiled functions that were recorded."""

    def __init__(self) -> None:
        super().__init__()
        self.traces: list[tuple[Any, Any]] = []

    def fed_by_the_program(self, place: Place) -> bool:
        """Whether an operation outside of modules made what this one was given, from results perhaps."""
        fed = {op for operand, op in place.sources if operand == 0} - _ARRANGING
        return any(one.op in fed and one.inside < one.count for one in self.places)

    def places_at(self, line: Line) -> list[Place]:
        """All operations of this row."""
        row = self.row(line)
        return [place for place in self.places if self.row(place.line) == row]

    def passes_by_line(self) -> list[list[Timeline]]:
        """The passes over data sets, those of one loop together."""
        found: dict[Any, list[Timeline]] = {}
        for one in self.loaders:
            found.setdefault(self.row(one.line), []).append(one)
        return list(found.values())

    def ops_at(self, line: Line) -> set[str]:
        """The names of all operations of this row."""
        return {place.op for place in self.places_at(line)}

    def seconds_at(self, line: Line) -> float:
        """What all operations of this row took."""
        return sum(place.seconds for place in self.places_at(line))

    def looped(self, line: Line, count: int) -> dict[str, Any]:
        """What all runs of this row cost but one of ``count``, for a `Sign`: the accelerator's seconds, or the clock's.

        Those of the accelerator are the host's or the device's, whichever are more, with backward and the sums of its
        gradients.
        """
        names = {f"{op} backward" for op in self.ops_at(line)}
        walks = {self.row(work.line) for work in self.works if work.name in names}
        back = (w for w in self.works if w.name in {"add", *names} and self.row(w.line) in walks - {self.row(line)})
        lanes: dict[str, float] = {}
        for work in (*self.works_at(line), *back):
            if work.kind != "wait":
                lanes[work.lane] = lanes.get(work.lane, 0.0) + work.duration / 1e9
        seconds = max(lanes.values()) if lanes else self.seconds_at(line)
        return {"seconds": seconds * (1 - 1 / count), "virtual": bool(lanes)}

    def hosted(self, line: Line) -> float:
        """Virtual seconds for which the host was kept by devices, for this row: starts, copies and waits."""
        return spent(work for work in self.works_at(line) if work.lane == "host")

    def copying(self, line: Line) -> float:
        """Virtual seconds for which devices copied, for this row."""
        return spent(work for work in self.works_at(line) if work.kind == "copy" and work.lane != "host")

    def kernels(self, *names: str) -> list[Work]:
        """What simulated devices computed: all kernels, or those of these operations, forward and backward."""
        return [w for w in self.works if w.kind == "kernel" and (not names or w.name.partition(" ")[0] in names)]


def raised_at(error: BaseException) -> Line:
    """The innermost line of the program in the traceback of an error."""
    step, found = error.__traceback__, None
    while step is not None:
        if not own[step.tb_frame.f_code.co_filename]:
            found = step.tb_frame.f_code, step.tb_lasti
        step = step.tb_next
    return found


def one_row(place: Place) -> bool:
    """Whether an operation computed a single row: its result has one, or has no rows at all."""
    return math.prod(place.shape[:-1]) == 1


def spent(works: Iterable[Work]) -> float:
    """Virtual seconds of these pieces of work together."""
    return sum(work.duration for work in works) / 1e9


def host_waits(seen: Seen) -> Iterator[tuple[Line, int, float]]:
    """Where the host waited for a simulated device to read something: the line, how often, and virtual seconds."""
    found: dict[Any, list[Any]] = {}
    for work in seen.works:
        if work.kind == "wait" and work.name not in _NO_READING:
            entry = found.setdefault(seen.row(work.line), [work.line, 0, 0.0])
            entry[1], entry[2] = entry[1] + 1, entry[2] + work.duration / 1e9
    return ((line, count, seconds) for line, count, seconds in found.values())
