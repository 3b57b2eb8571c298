"""The most that this machine can do: measured in a few seconds, to compare tips and lessons with."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import numpy as np

from ..common.wording import bytes_text, rate_with_spread
from ..observe.timing import Timing, measure
from ..tensor import creation
from .facts import Facts

BUDGET = 0.6  # seconds for each, after the warm-up
COPIED = 128 << 20  # bytes of each of two arrays: more than most caches hold
SHARE = 8  # but at most one part in so many of the free memory
MATRIX = 1024  # rows and columns


@dataclass(frozen=True)
class Peak:
    """One figure, with its middle half. ``unit`` is "s" for the cost of a call, else something per second.

    ``median`` and ``quartiles`` are None if it could not be measured; ``how`` then says why.
    """

    name: str
    label: str
    unit: str
    how: str
    text: str = "not measured"
    runs: int = 0
    median: float | None = None
    quartiles: tuple[float, float] | None = None


def measure_peaks(facts: Facts, tell: Callable[[str], None]) -> tuple[Peak, ...]:
    """All peaks, one after the other. ``tell`` is called with the label of the next one."""
    tell("memory bandwidth")
    peaks = [_bandwidth(facts)]
    for threads in ("one thread", "all threads"):
        tell(f"float32 matmul, {threads}")
        peaks.append(_matmul(facts, threads))
    tell("the cost of one call")
    a, b = np.ones(1, np.float32), np.ones(1, np.float32)
    peaks.append(_cost("numpy_call", "one NumPy call", "adding two arrays of one element", lambda: np.add(a, b)))
    x, y = creation.ones(1), creation.ones(1)
    peaks.append(_cost("tensor_operation", "one tensor operation", "the same with tensors", lambda: x + y))
    return tuple(peaks)


def _bandwidth(facts: Facts) -> Peak:
    size = min(COPIED, (facts.memory.available or COPIED * SHARE) // SHARE, (facts.memory.limit or 1 << 60) // SHARE)
    source, target = np.ones(size, np.uint8), np.zeros(size, np.uint8)
    timing = measure(lambda: np.copyto(target, source), warmup=1, budget=BUDGET)
    how = f"copying {bytes_text(size)}; bytes read and written"
    return _rate("memory_bandwidth", "memory bandwidth", "B/s", how, 2 * size, timing)


def _matmul(facts: Facts, threads: str) -> Peak:
    """The rate of a large product. `measure` limits BLAS to one thread, if threadpoolctl is installed."""
    name, label, unit = f"matmul_{threads.replace(' ', '_')}", f"float32 matmul, {threads}", "FLOP/s"
    limited = facts.blas.threads is not None
    if threads == "one thread" and not limited:
        return Peak(name, label, unit, "needs threadpoolctl and a BLAS that it knows")
    allowed: Callable[[], AbstractContextManager[object]] = nullcontext
    if threads == "all threads" and limited:
        pools = importlib.import_module("threadpoolctl").ThreadpoolController()
        allowed = lambda: pools.limit(limits=facts.blas.threads, user_api="blas")  # noqa: E731
    a = np.ones((MATRIX, MATRIX), np.float32)
    out = np.empty_like(a)

    def product() -> None:
        with allowed():
            np.matmul(a, a, out=out)

    how = f"{MATRIX}×{MATRIX} times {MATRIX}×{MATRIX}"
    if threads == "all threads":
        how += f", {facts.blas.threads} threads" if limited else ", as many threads as BLAS takes"
    return _rate(name, label, unit, how, 2 * MATRIX**3, measure(product, warmup=1, budget=BUDGET))


def _rate(name: str, label: str, unit: str, how: str, work: float, timing: Timing) -> Peak:
    shortest, longest = timing.quartiles
    median, low, high = work / timing.median, work / longest, work / shortest
    text = rate_with_spread(median, (low, high), unit)
    return Peak(name, label, unit, how, text, len(timing.times), median, (low, high))


def _cost(name: str, label: str, how: str, call: Callable[[], object]) -> Peak:
    timing = measure(call, budget=BUDGET / 4)
    return Peak(name, label, "s", how, timing.text(), len(timing.times), timing.median, timing.quartiles)
