"""What a device really takes for what the simulator has a constant for: part of ``python -m benchmarks record``.

Each figure has the name of the simulator's constant (`sim.explain()`), is taken by the engine's own operations or by
the same calls to CuPy that they make, and is the median of a few, with the least and the most.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from statistics import median
from typing import Any

import numpy as np

import tinygrad_edu as tg
from tinygrad_edu import accelerator, backends
from tinygrad_edu.backends.sim.host import PAGE

REPEATS = 7
RATES = ("float64", "float32", "float16", "bfloat16")
Figure = tuple[float, float, float]  # median, least, most


def measured(device: str = "cuda", scale: float = 1.0, repeats: int = REPEATS) -> dict[str, Figure]:
    """All of them, in the units of the simulator. ``scale`` makes the arrays smaller, for a test."""
    return dict(_Bench(backends.get(device), scale, repeats).all())


def _spread(values: list[float]) -> Figure:
    return median(values), min(values), max(values)


class _Bench:
    """One device, and arrays that are large enough to keep it busy."""

    def __init__(self, device: Any, scale: float, repeats: int) -> None:
        self.device, self.name, self.repeats = device, device.name, repeats
        self.many = max(int(200 * scale), 4)
        self.numbers = int(2**26 * scale)  # float32: 256 MiB
        self.side = max(int(8192 * scale), 32)
        self.small = tg.ones(1024, device=self.name)
        self.square = tg.ones(self.side, self.side, device=self.name)

    def all(self) -> Iterator[tuple[str, Figure]]:
        yield "launch", self.launch()
        yield "order", self.order()
        yield "floor", self._enqueued(lambda: self.small + self.small, self.many)
        pinned = tg.ones(1024).pin_memory()
        yield "copy_launch", self._enqueued(lambda: pinned.to(self.name, non_blocking=True), self.many)
        rate = self.bandwidth()
        yield "bandwidth", rate
        yield "random", self.random(rate[0])
        for dtype in RATES:
            yield dtype, self.rate(dtype)
        yield from self.transfers()
        yield "reserve", self.reserve()

    # On the device's clock ---------------------------------------------------------------------------------------

    def _enqueued(self, work: Callable[[], Any], times: int) -> Figure:
        """Nanoseconds that the device takes for one, behind a long kernel: the host is ahead."""
        found = []
        for _ in range(self.repeats + 1):
            first, last = (accelerator.Event(enable_timing=True) for _ in range(2))
            _ = self.square @ self.square
            first.record()
            for _ in range(times):
                work()
            last.record()
            accelerator.synchronize()
            found.append(first.elapsed_time(last) * 1e6 / times)
        return _spread(found[1:])

    def rate(self, dtype: str) -> Figure:
        side = self.side // 2 if dtype == "float64" else self.side
        a, b = (tg.randn(side, side, device=self.name).to(dtype).array for _ in range(2))
        return _rate(2 * side**3, self._enqueued(lambda: self.device.call(self.device.cp.matmul, (a, b)), 4))

    def bandwidth(self) -> Figure:
        x, y = (tg.ones(self.numbers, device=self.name) for _ in range(2))
        return _rate(12 * self.numbers, self._enqueued(lambda: x + y, 20))

    def random(self, rate: float) -> Figure:
        """How many times as long as its bytes say, at the bandwidth of a sum, a kernel takes that reads in no order."""
        x = tg.ones(self.numbers, device=self.name)
        order = np.random.default_rng(0).permutation(self.numbers)
        index, moved = self.device.from_numpy(order), self.numbers * (4 + 8 + 4) * 1e9
        take: Callable[[Any, Any], Any] = lambda values, where: values[where]  # noqa: E731  (without our checks)
        middle, least, most = self._enqueued(lambda: self.device.call(take, (x.array, index)), 3)
        return middle * rate / moved, least * rate / moved, most * rate / moved

    # On the host's clock -----------------------------------------------------------------------------------------

    def launch(self) -> Figure:
        """Nanoseconds of the host for one small operation, with nobody waiting."""

        def ask() -> None:
            for _ in range(self.many):
                _ = self.small + self.small

        ask()
        return self._spread_of(ask, 1 / self.many)

    def order(self) -> Figure:
        """Nanoseconds of the host for one of four: record an event, wait for it, enter a stream, leave it."""
        side, main = self.device.stream(), self.device.current_stream()

        def ask() -> None:
            for _ in range(self.many):
                side.wait_stream(main)
                self.device.use_stream(side)()

        ask()
        return self._spread_of(ask, 1 / (4 * self.many))

    def _spread_of(self, work: Callable[[], Any], per: float = 1.0) -> Figure:
        return _spread([_host(work) * per for _ in range(self.repeats)])

    def transfers(self) -> Iterator[tuple[str, Figure]]:
        """Copies to the device, and what pinning takes."""
        size = self.numbers * 4
        pageable = tg.ones(self.numbers)
        target = np.empty_like(pageable.array)
        yield "host_copy", _rate(size, self._spread_of(lambda: np.copyto(target, pageable.array)))
        found, again = [], []
        for _ in range(self.repeats):
            self.device.cp.get_default_pinned_memory_pool().free_all_blocks()
            found.append(_host(pageable.pin_memory))
            again.append(_host(pageable.pin_memory))  # from memory that is pinned already
        each = [(first - second) / (size / PAGE) for first, second in zip(found, again, strict=True)]
        yield "pin", _spread(each)
        pinned = pageable.pin_memory()
        for name, source in (("pinned", pinned), ("pageable", pageable)):
            source.to(self.name)
            yield name, _rate(size, self._spread_of(partial(source.to, self.name)))

    def reserve(self) -> Figure:
        """Nanoseconds for memory that the driver has to be asked for."""

        def ask() -> Any:
            return tg.empty(2**22, device=self.name)

        found = []
        for _ in range(self.repeats):
            accelerator.empty_cache()
            found.append(max(_host(ask) - _host(ask), 0.0))
        return _spread(found)


def _host(work: Callable[[], Any]) -> float:
    """Nanoseconds until it returns; the device was idle before."""
    accelerator.synchronize()
    start = time.perf_counter_ns()
    made = work()
    end = time.perf_counter_ns()
    del made
    return float(end - start)


def _rate(amount: int, times: Figure) -> Figure:
    """What is done in a second, from nanoseconds."""
    middle, least, most = (amount / max(one, 1) * 1e9 for one in times)
    return middle, most, least
