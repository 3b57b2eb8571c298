"""Timing that can be believed on a shared machine: contenders take turns, and only ratios within a turn count."""

from __future__ import annotations

import gc
import importlib.metadata
import os
import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")  # before NumPy or torch is imported

Step = Callable[[], object]


@dataclass(frozen=True)
class Ratio:
    """How long a contender takes, compared with the baseline in the same turn: below 1 is faster."""

    name: str
    low: float  # first quartile
    middle: float  # median
    high: float  # third quartile
    seconds: float  # median time of one call

    def __str__(self) -> str:
        return (
            f"{self.name:34} {self.middle:6.2f}   [{self.low:.2f} .. {self.high:.2f}]   {self.seconds * 1e6:10.1f} µs"
        )


def calls_for(step: Step, seconds: float) -> int:
    """How many calls fill ``seconds``, after a warm-up."""
    step()
    start = time.perf_counter()
    step()
    once = max(time.perf_counter() - start, 1e-7)
    return max(1, round(seconds / once))


def timed(step: Step, calls: int) -> float:
    """Seconds per call."""
    start = time.perf_counter()
    for _ in range(calls):
        step()
    return (time.perf_counter() - start) / calls


def compare(contenders: dict[str, Step], baseline: str, turns: int = 25, seconds: float = 0.02) -> list[Ratio]:
    """Every contender's time over the baseline's, turn by turn, with the collector off."""
    calls = {name: calls_for(step, seconds) for name, step in contenders.items()}
    for name, step in contenders.items():
        timed(step, calls[name])
    times: dict[str, list[float]] = {name: [] for name in contenders}
    names = list(contenders)
    gc.collect()
    gc.disable()
    try:
        for turn in range(turns):
            for name in names[turn % len(names) :] + names[: turn % len(names)]:  # nobody is always first
                times[name].append(timed(contenders[name], calls[name]))
            gc.collect()
    finally:
        gc.enable()
    return [ratio(name, times[name], times[baseline]) for name in names]


def ratio(name: str, times: list[float], baseline: list[float]) -> Ratio:
    """The quartiles of paired ratios."""
    paired = [mine / other for mine, other in zip(times, baseline, strict=True)]
    low, middle, high = statistics.quantiles(paired, n=4)
    return Ratio(name, low, middle, high, statistics.median(times))


def machine(*packages: str) -> str:
    """What the numbers were measured on."""
    versions = []
    for package in packages:
        try:
            versions.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            versions.append(f"{package} not installed")
    system = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, one thread"
    return f"{system}, Python {platform.python_version()}\n{', '.join(versions)}"


def table(title: str, ratios: list[Ratio], baseline: str) -> str:
    """The ratios as text."""
    head = f"{title}\n{'':34} ratio to {baseline}: median [quartiles], and the time of one call"
    return "\n".join([head, *map(str, ratios)])
