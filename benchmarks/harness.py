"""Timing that can be believed on a shared machine: contenders take turns, and only ratios within a turn count.

Nothing here imports NumPy, so that `one_thread` can come before it.
"""

from __future__ import annotations

import gc
import importlib.metadata
import os
import platform
import re
import statistics
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Protocol

Step = Callable[[], object]
Scope = Callable[[], AbstractContextManager[object]]

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUM_CPU_THREADS")  # the last is tinygrad's
WARM_UP = 3  # a JIT may trace in the first call and compile in the second


def one_thread() -> None:
    """One thread for all libraries, on one core. To be called before they are imported."""
    for name in THREADS:
        os.environ[name] = "1"
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    os.environ["JAX_PLATFORMS"] = "cpu"
    if hasattr(os, "sched_setaffinity"):  # on Linux: whoever starts threads all the same has nowhere to put them
        os.sched_setaffinity(0, {quietest(os.sched_getaffinity(0))})


def quietest(cores: Iterable[int], seconds: float = 0.2) -> int:
    """The core that has least to do at the moment."""
    before = idle_time()
    time.sleep(seconds)
    after = idle_time()
    return max(cores, key=lambda core: after[core] - before[core])


def idle_time() -> dict[int, int]:
    """For each core, how long it has had nothing to do, as Linux counts."""
    with open("/proc/stat", encoding="ascii") as lines:
        rows = [line.split() for line in lines if re.match(r"cpu\d", line)]
    return {int(name[3:]): int(idle) for name, _, _, _, idle, *_ in rows}


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


class Timer(Protocol):
    """What can be told to run a number of times."""

    def calls_for(self, seconds: float) -> int:
        """How many calls fill ``seconds``, after a warm-up."""

    def timed(self, calls: int) -> float:
        """Seconds per call."""


class Here:
    """A step in this process, with the garbage collector off while the clock runs."""

    def __init__(self, step: Step, scope: Scope = nullcontext) -> None:
        self.step, self.scope = step, scope

    def calls_for(self, seconds: float) -> int:
        """How many calls fill ``seconds``. The fastest of three counts: others share the machine."""
        with self.scope():
            for _ in range(WARM_UP):
                self.step()
        once = min(self.timed(1) for _ in range(3))
        calls = max(1, round(seconds / max(once, 1e-7)))
        self.timed(calls)
        return calls

    def timed(self, calls: int) -> float:
        """Seconds per call. Entering the scope and collecting garbage are not counted."""
        gc.collect()
        gc.disable()
        try:
            with self.scope():
                start = time.perf_counter()
                for _ in range(calls):
                    self.step()
                return (time.perf_counter() - start) / calls
        finally:
            gc.enable()


def compare(contenders: Mapping[str, Timer], baseline: str, turns: int = 25, seconds: float = 0.02) -> list[Ratio]:
    """Every contender's time over the baseline's, turn by turn."""
    calls = {name: timer.calls_for(seconds) for name, timer in contenders.items()}
    times: dict[str, list[float]] = {name: [] for name in contenders}
    names = list(contenders)
    for turn in range(turns):
        for name in names[turn % len(names) :] + names[: turn % len(names)]:  # nobody is always first
            times[name].append(contenders[name].timed(calls[name]))
    return [ratio(name, times[name], times[baseline]) for name in names]


def ratio(name: str, times: list[float], baseline: list[float]) -> Ratio:
    """The quartiles of paired ratios."""
    paired = [mine / other for mine, other in zip(times, baseline, strict=True)]
    low, middle, high = statistics.quantiles(paired, n=4, method="inclusive") if len(paired) > 1 else paired * 3
    return Ratio(name, low, middle, high, statistics.median(times))


def over(value: float, aim: float) -> str:
    """What is said after a figure that misses its aim."""
    return "" if value <= aim else " ← over the aim"


def processor() -> str:
    """The processor's name, where the system tells it."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    except OSError:  # not Linux
        names = []
    return names[0] if names else platform.processor() or platform.machine()


def machine(*packages: str) -> str:
    """What the numbers were measured on."""
    versions = []
    for package in packages:
        try:
            versions.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            versions.append(f"{package} not installed")
    system = f"{processor()}, {platform.system()} {platform.machine()}, {os.cpu_count()} cores, one thread"
    return f"{system}, Python {platform.python_version()}\n{', '.join(versions)}"


def table(title: str, ratios: list[Ratio], baseline: str) -> str:
    """The ratios as text."""
    head = f"{title}\n{'':34} ratio to {baseline}: median [quartiles], and the time of one call"
    return "\n".join([head, *map(str, ratios)])
