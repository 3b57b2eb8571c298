"""What bounds each operation of a program: starting it, moving its bytes, or its arithmetic.

>>> import tinygrad_edu as tg
>>> a = tg.ones(512, 512, device="sim")
>>> found = simulated(lambda: (a @ a).sum(), "T4")
>>> [(point.name, point.bound(found.peaks)) for point in found.points]
[('matmul', 'arithmetic'), ('sum', 'start')]

A machine has two peaks: so many operations on numbers a second, and so many bytes a second to and from memory. An
operation takes at least as long as its arithmetic needs at the one, or its bytes at the other; and before that, it has
to be started. Small arrays come from a cache, which is quicker than main memory. Peaks of this machine are measured
once in a process. Those of a simulated one are its constants.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from .. import sim
from ..common.lines import Line, describe_line, user_line
from ..common.wording import plural
from ..core.slow import Call, Interceptor
from ..errors import ArgumentError
from ..tensor import creation
from .machine import Conditions, Progress, quiet
from .timing import measure

BOUNDS = ("start", "bytes", "arithmetic")
ELSE = "else"  # what takes several times as long as all three need together
SEVERAL = 3.0
RUNS = 9  # of a program on this machine, after one that does not count
ENDLESS = 1e30  # a rate of a simulated machine where something costs nothing
OTHERS = {
    "copy": "copies", "order": "streams and events", "reserve": "asking the driver for memory",
    "work": "the host's own work",
}  # fmt: skip
COPIED = tuple(1 << power for power in (14, 16, 18, 20, 22, 24, 26))  # bytes of an array; the last fit no cache
MATRIX = 768  # rows and columns


@dataclass(frozen=True)
class Peaks:
    """The most that a machine can do. ``start`` is what one operation costs before it does anything, in seconds."""

    machine: str
    rate: float  # FLOP/s in float32
    bandwidths: tuple[tuple[float, float], ...]  # for operations up to so many bytes: bytes/s, read and written
    start: float
    starts: tuple[tuple[str, float], ...] = ()  # of operations that cost more to start, by name
    call: float = 0.0  # what one call of NumPy costs: a compiled program makes one for each operation of a kernel
    simulated: bool = False

    @property
    def bandwidth(self) -> float:
        """That of main memory, in bytes/s."""
        return self.bandwidths[-1][1]

    def bandwidth_of(self, nbytes: float) -> float:
        """Bytes a second for an operation on so many bytes: between two sizes that were measured, in between."""
        low = self.bandwidths[0]
        for most, rate in self.bandwidths:
            if nbytes <= most:
                inner = low[0] < nbytes and math.isfinite(most)
                share = math.log(nbytes / low[0]) / math.log(most / low[0]) if inner else 1.0
                return float(low[1] * (rate / low[1]) ** share)
            low = most, rate
        return self.bandwidth

    def moving(self, nbytes: float) -> float:
        """Seconds to read and write so many bytes."""
        return nbytes / self.bandwidth_of(nbytes)

    def starting(self, name: str) -> float:
        """Seconds to start an operation of this name."""
        return dict(self.starts).get(name, self.start)

    def crossing(self, each: float) -> float:
        """How many numbers take as long to move as an operation to start, where each is ``each`` bytes, moved."""
        low, high = 1.0, 1e12
        while high > 1.001 * low:
            middle = math.sqrt(low * high)
            low, high = (middle, high) if self.moving(each * middle) < self.start else (low, middle)
        return low

    @property
    def ridge(self) -> float:
        """FLOP per byte, from which on arithmetic takes longer than moving."""
        return self.rate / self.bandwidth


@dataclass(frozen=True)
class Point:
    """An operation on one line, over all its calls. ``seconds`` is the time of a call: the median of the runs.

    A compiled program that runs on this machine is one point; ``kernels`` is how many it has, and ``asked`` how often
    it calls NumPy: once for each operation of a kernel.
    """

    name: str
    line: str
    calls: int
    flops: float  # of one call, on average
    nbytes: float  # that one call reads and writes
    seconds: float
    own: tuple[tuple[str, float], ...] = ()  # what each of the three needs, and "floor", as a simulator knows
    kernels: int = 0
    asked: int = 0

    @property
    def intensity(self) -> float:
        """FLOP per byte."""
        return self.flops / self.nbytes if self.nbytes else 0.0

    @property
    def achieved(self) -> float:
        """FLOP/s."""
        return self.flops / self.seconds if self.seconds else 0.0

    @property
    def total(self) -> float:
        """Seconds of all calls."""
        return self.calls * self.seconds

    def needs(self, peaks: Peaks) -> dict[str, float]:
        """The least time that each of the three needs, in seconds. A simulated kernel has a floor besides."""
        if self.own:
            return dict(self.own)
        start, parts = peaks.starting(self.name), 1
        if self.kernels:
            start, parts = self.asked * peaks.call, self.kernels  # each kernel by itself may fit a cache
        moving = parts * peaks.moving(self.nbytes / parts)
        return {"start": start, "bytes": moving, "arithmetic": self.flops / peaks.rate}

    def bound(self, peaks: Peaks) -> str:
        """Which of the three needs longest; `ELSE` where it takes several times as long as all three together.

        They are added for that: an operation is started before it moves anything.
        """
        needs = self.needs(peaks)
        longest = max(BOUNDS, key=lambda bound: needs[bound])
        if self.own:  # exact; but tiles that fill a part of the device are another matter than its arithmetic
            partly = longest == "arithmetic" and needs[longest] > SEVERAL * self.flops / peaks.rate
            return ELSE if partly else longest
        return longest if self.seconds < SEVERAL * sum(needs[bound] for bound in BOUNDS) else ELSE

    def gain(self, without: str, peaks: Peaks) -> float:
        """How many times faster it could be, if one of the three cost nothing. Never below 1.

        On a simulated machine that is exact. On a real one it is an estimate by the peaks.

        What is limited by starting it could be done in one call with others: then only the other two set the time. In
        all other cases, what that one needs is saved.
        """
        needs = self.needs(peaks)
        rest = max(needed for bound, needed in needs.items() if bound != without)
        if not self.own and (without != "start" or self.bound(peaks) != "start"):
            rest = max(rest, self.seconds - needs[without])
        return max(self.seconds / rest, 1.0) if rest else float("inf")


@dataclass(frozen=True)
class Roofline:
    """A machine's peaks, and the operations of a program, those that took most time first.

    ``whole`` is what one run takes, in seconds: all of it, while nobody watches. ``compiled`` says that it ran as
    programs, see `compile`.
    """

    peaks: Peaks
    points: tuple[Point, ...]
    conditions: Conditions | None = None  # of what was measured
    runs: int = 1  # of which the median was taken
    rest: tuple[tuple[str, float], ...] = ()  # what else took time, in seconds
    whole: float = 0.0
    compiled: bool = False

    @property
    def count(self) -> int:
        """How many operations it carries out, or kernels of compiled programs."""
        return sum(point.calls * (point.kernels or 1) for point in self.points)


class _Watch(Interceptor):
    """Notes each operation of forward, and each compiled program: how long it took, and what it costs."""

    keeps = False
    programs = True

    def __init__(self) -> None:
        # Name, line, FLOP, bytes, (kernels, calls of NumPy), nanoseconds.
        self.seen: list[tuple[str, Line, int, int, tuple[int, int], int]] = []

    def forward(self, call: Call, proceed: Callable[[], Any]) -> Any:
        begun = time.perf_counter_ns()
        result = proceed()
        spent = time.perf_counter_ns() - begun
        if hasattr(result, "array") and hasattr(call.op, "cost"):
            operands = tuple(getattr(one, "array", one) for one in call.operands)
            flops, read, written = call.op.cost(operands, result.array, call.params)
            if flops or read or written:  # a view costs nothing
                self.seen.append((call.op.name, call.line or user_line(), flops, read + written, (0, 0), spent))
        return result

    def outside(self, what: str, *given: Any) -> None:
        if what == "program":
            cost, _, seconds, calls = given
            if cost.launches:
                name, spent = f"program of {plural(cost.launches, 'kernel')}", round(seconds * 1e9)
                self.seen.append((name, user_line(), cost.flops, cost.moved, (cost.launches, calls), spent))


@cache
def peaks() -> Peaks:
    """The peaks of this machine, by short measurements: about a second, once in a process."""
    a, one, small = np.ones((MATRIX, MATRIX), np.float32), creation.ones(1), creation.ones(1, 1)
    out = np.empty_like(a)
    product = measure(lambda: np.matmul(a, a, out=out), warmup=1, budget=0.3)
    start = measure(lambda: one + one, budget=0.1).median
    calls: dict[str, Callable[[], object]] = {"matmul": lambda: small @ small, "sum": one.sum, "mean": one.mean}
    starts = tuple((name, measure(call, budget=0.1).median) for name, call in calls.items())
    rate = 2 * MATRIX**3 / product.quartiles[0]
    number, result = np.ones(1, np.float32), np.empty(1, np.float32)
    call = measure(lambda: np.add(number, number, out=result), budget=0.1).quartiles[0]
    return Peaks("this machine", rate, tuple((2.0 * size, _copying(size)) for size in COPIED), start, starts, call)


def _copying(size: int) -> float:
    """Bytes a second, read and written, while an array of this size is copied."""
    source, target = np.ones(size, np.uint8), np.zeros(size, np.uint8)
    return 2 * size / measure(lambda: np.copyto(target, source), warmup=1, budget=0.1).quartiles[0]


@cache
def _watching() -> float:
    """Seconds that an operation takes longer while it is watched."""
    one = creation.ones(1)
    with _Watch() as watch:
        for _ in range(300):
            one + one
    return max(statistics.median(seen[-1] for seen in watch.seen) / 1e9 - peaks().start, 0.0)


def measured(run: Callable[[], object], progress: Progress | None = None, compiled: bool = False) -> Roofline:
    """What a program's operations of forward take on this machine. It is run nineteen times, nine of them unwatched.

    Compiled programs are measured too, each as a whole; ``compiled`` says that ``run`` is nothing else. Raises
    `ArgumentError` for a program without operations, or with others each time.
    """
    with quiet(progress) as conditions:
        run()
        runs, whole = [], []
        for done in range(RUNS):
            begun = time.perf_counter()
            run()
            whole.append(time.perf_counter() - begun)
            with _Watch() as watch:
                run()
            runs.append(watch.seen)
            if progress is not None and progress(done + 1, RUNS, 0.0) is False:
                break
        found, watching = peaks(), _watching()
    if not runs[0]:
        if compiled:
            raise _nothing_left()
        raise ArgumentError(
            "a roofline", "no operation on tensors was carried out", "let the function compute something"
        )
    _refuse_changes([[one[:-1] for one in seen] for seen in runs])
    done_so = []
    for place, (name, line, flops, size, kernels, _) in enumerate(runs[0]):
        spent = statistics.median(seen[place][-1] for seen in runs) / 1e9
        spent = max(spent, found.call / 2) if kernels[0] else max(spent - watching, found.start / 2)
        done_so.append((name, None if compiled else line, flops, size, spent, (), *kernels))
    points = _points(done_so)
    took = statistics.median(whole)
    left = took - sum(point.total for point in points)
    also = "Python, NumPy and what else ran" if compiled else "backward, Python, NumPy and what else ran"
    rest = ((also, left),) if left > 0 else ()
    return Roofline(_reached(found, points), points, conditions, len(runs), rest, took, compiled)


def _reached(known: Peaks, points: Sequence[Point]) -> Peaks:
    """What a program reaches, the machine can do: peaks that no operation exceeds."""
    start, starts, bandwidths = known.start, dict(known.starts), list(known.bandwidths)
    for point in points:
        if point.kernels:  # its parts may be shorter than what was measured
            continue
        if point.name in starts:
            starts[point.name] = min(starts[point.name], point.seconds)
        else:
            start = min(start, point.seconds)
        excess = point.nbytes / point.seconds / replace(known, bandwidths=tuple(bandwidths)).bandwidth_of(point.nbytes)
        if excess > 1:
            place = next((i for i, (most, _) in enumerate(bandwidths) if point.nbytes <= most), len(bandwidths) - 1)
            for one in {max(place - 1, 0), place}:
                bandwidths[one] = bandwidths[one][0], bandwidths[one][1] * excess
    rate = max(known.rate, *(point.achieved for point in points))
    return replace(known, rate=rate, start=start, starts=tuple(starts.items()), bandwidths=tuple(bandwidths))


@sim.alone()
def simulated(run: Callable[[], object], preset: str | None = None, compiled: bool = False) -> Roofline:
    """What a program's kernels take on a simulated machine, backward included. It is run four times.

    ``compiled`` says that ``run`` is a compiled program, whose kernels come from no line. Raises `ArgumentError` for a
    program that asks for no kernel there, or for others each time.
    """
    before = sim.machine()
    machine = before if preset in (None, before.preset) else sim.Machine(str(preset))
    quick = dict.fromkeys((name for name, one in machine.table.items() if one.unit == "FLOP/s"), ENDLESS)
    try:
        sim.use(machine)
        run()  # which reserves memory
        works = _timeline(run)
        kernels = _kernels(works)
        # What its arithmetic and its bytes need by themselves: the same kernels where the other costs nothing.
        sim.use(machine.changed(bandwidth=ENDLESS, floor=0))
        busy = _kernels(_timeline(run))
        sim.use(machine.changed(**quick, floor=0))
        traffic = _kernels(_timeline(run))
    finally:
        sim.use(before)
    if not kernels:
        if compiled:
            raise _nothing_left()
        raise ArgumentError("a roofline", "no kernel ran on the simulated device", 'let it compute there: x.to("sim")')
    _refuse_changes([[_kind(one) for one in run] for run in (kernels, busy, traffic)])
    start, floor = machine["launch"] / 1e9, machine["floor"] / 1e9
    done = [
        (
            *_kind(one, compiled), max(one.duration / 1e9, start),
            (("start", start), ("bytes", b.duration / 1e9), ("arithmetic", a.duration / 1e9), ("floor", floor)),
        )
        for one, a, b in zip(kernels, busy, traffic, strict=True)
    ]  # fmt: skip
    found = Peaks(machine.name, machine["float32"], ((math.inf, machine["bandwidth"]),), start, simulated=True)
    spent = {name: sum(work.duration for work in works if work.kind == kind) / 1e9 for kind, name in OTHERS.items()}
    rest = tuple((name, one) for name, one in spent.items() if one)
    return Roofline(found, _points(done), rest=rest, whole=works.end / 1e9, compiled=compiled)


def _nothing_left() -> ArgumentError:
    why = "nothing of it is left to run: a program computes what is returned, from tensors that were there before"
    mend = "make the tensors outside the function, and return what it computes from them"
    return ArgumentError("a roofline of the compiled function", why, mend)


def _refuse_changes(runs: Sequence[Sequence[tuple[str, Line, float, float]]]) -> None:
    """Raise `ArgumentError` if a program did other operations in another run.

    Lines are compared as they read: Python itself moves an instruction within its line, when it has run a few times.
    """
    told = [[(name, describe_line(line), *cost) for name, line, *cost in seen] for seen in runs]
    if any(one != told[0] for one in told):
        why = "the program did other operations in another run"
        raise ArgumentError("a roofline", why, "let it do the same each time")


def _timeline(run: Callable[[], object]) -> sim.Timeline:
    """What a program does on the simulated machine."""
    with sim.timeline() as seen:
        run()
        sim.finish()
    return seen


def _kernels(works: list[Any]) -> list[Any]:
    return [work for work in works if work.kind == "kernel"]


def _kind(work: Any, lineless: bool = False) -> tuple[str, Line, float, float]:
    """What a kernel is, and does."""
    return work.name, None if lineless else work.line, work.flops, work.read + work.written


def _points(done: Sequence[tuple[Any, ...]]) -> tuple[Point, ...]:
    """Equal operations of one line, with equal costs, as one point: what `Point` has, without the calls."""
    groups: dict[tuple[Any, ...], list[float]] = {}
    for name, line, flops, size, spent, *own in done:
        groups.setdefault((name, describe_line(line), flops, size, *own), []).append(spent)
    points = [
        Point(name, line, len(times), flops, size, sum(times) / len(times), *own)
        for (name, line, flops, size, *own), times in groups.items()
    ]
    return tuple(sorted(points, key=lambda point: -point.total))
