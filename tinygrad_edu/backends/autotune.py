"""What was found to be fastest, by shape. With ``backends.cudnn.benchmark`` a convolution asks here.

The first call with new shapes runs each way, and those that may win twice, and keeps the fastest; later calls look it
up. The table belongs to this process, and its times to this machine. Which way wins, and so the last bits of a result,
may differ from run to run: ``backends.cudnn.deterministic`` takes the same way always.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..common.locks import RLock
from .layout import inside

HOPELESS = 4.0  # times as long as the best so far: no second run, in which memory is there already, makes up for that
_LOCK = RLock()  # one benchmark at a time: two would time each other
_table: dict[Any, Choice] = {}


@dataclass(frozen=True)
class Choice:
    """One line of the table: the shapes and moves of a convolution, the way taken, and the seconds of each."""

    key: tuple[Any, ...]
    way: str
    seconds: Mapping[str, float]

    def __str__(self) -> str:
        images, kernels, stride, padding, *_ = self.key
        times = ", ".join(f"{name} {1e3 * taken:.3g} ms" for name, taken in self.seconds.items())
        return f"{images} by {kernels}, stride {stride}, padding {padding}: {self.way} ({times})"


def best(key: tuple[Any, ...], ways: Mapping[str, Callable[..., Any]], given: tuple[Any, ...]) -> Any:
    """The result of the fastest of these ways. Those that were not tried with this key are timed now."""
    found = _table.get(key)
    if found is None:
        with _LOCK:
            found = _table.get(key)  # another thread may have been first
            if found is None:
                found = _table[key] = _tried(key, ways, given)
    return ways[found.way](*given)


def _tried(key: tuple[Any, ...], ways: Mapping[str, Callable[..., Any]], given: tuple[Any, ...]) -> Choice:
    if len(ways) == 1:
        return Choice(key, next(iter(ways)), {})
    seconds: dict[str, float] = {}
    for name, way in ways.items():
        seconds[name] = _timed(way, given)
        inside.tries += 1
        if seconds[name] <= HOPELESS * min(seconds.values()):
            seconds[name] = min(seconds[name], _timed(way, given))
    return Choice(key, min(seconds, key=seconds.__getitem__), seconds)


def _timed(way: Callable[..., Any], given: tuple[Any, ...]) -> float:
    start = time.perf_counter()
    way(*given)
    return time.perf_counter() - start


def table() -> list[Choice]:
    """What was chosen so far, in the order in which it was met."""
    return list(_table.values())


def forget() -> None:
    """Empty the table: what comes next is timed again."""
    _table.clear()
