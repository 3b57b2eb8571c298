"""Records what lesson 6 measures, for readers without a kernel: ``python tools/record_bounds.py`` on a quiet computer.

It writes tinygrad_edu/lessons/bounds_recorded.json: the roofline, both races, the first gate's times, and what machine
code takes, which needs Numba.
"""

from __future__ import annotations

import dataclasses
import datetime
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba

import tinygrad_edu as tg
from tinygrad_edu.lessons.bounds_programs import at_rest, chain, swing
from tinygrad_edu.observe.roofline import measured
from tinygrad_edu.observe.timing import compare, measure, sweep

TARGET = Path(__file__).parents[1] / "tinygrad_edu" / "lessons" / "bounds_recorded.json"
NAMES = ("as written", "compiled")
CALLS = 500  # of 200 steps each


def rounded(found: Any) -> Any:
    """Four digits of each time: a picture shows no more."""
    if isinstance(found, dict):
        return {name: rounded(one) for name, one in found.items()}
    if isinstance(found, (list, tuple)):
        return [rounded(one) for one in found]
    return float(f"{found:.4g}") if isinstance(found, float) else found


def roofline() -> dict[str, Any]:
    """The operations of part 1."""
    three, x, matrix = at_rest(3), tg.rand(8_000_000), tg.rand(1000, 1000)

    def operations() -> None:
        swing(*three, 20)
        for _ in range(20):
            x * 2
        x.sin()
        matrix @ matrix

    return dataclasses.asdict(measured(operations))


def two_hundred_steps(position: tg.Tensor, velocity: tg.Tensor) -> tuple[tg.Tensor, tg.Tensor]:
    """As in the lesson."""
    for _ in range(200):
        velocity = velocity - 0.01 * (position + 0.1 * velocity)
        position = position + 0.01 * velocity
    return position, velocity


def often(function: Callable[..., Any]) -> Callable[[], object]:
    """A hundred thousand steps, as calls of 200."""

    def run() -> object:
        state = at_rest(3)
        for _ in range(CALLS):
            state = function(*state)
        return state

    return run


def record() -> dict[str, Any]:
    """All of it, in the order of the lesson."""
    few, many = at_rest(3), at_rest(300)
    points = compare(lambda: swing(*many), lambda: swing(*few), names=("300 points", "3 points"))
    steps = sweep(swing, tg.compile(swing), (1, 2, 4, 20, 200), make=lambda n: (*few, n), names=NAMES, budget=2.0)
    chained = sweep(chain, tg.compile(chain), (100_000, 8_000_000), make=tg.rand, names=NAMES, budget=4.0)
    start = time.perf_counter()
    swing(*few, 200 * CALLS)
    given = time.perf_counter() - start
    program, machine = (often(tg.compile(two_hundred_steps, backend=one)) for one in ("numpy", "numba"))
    start = time.perf_counter()
    machine()
    made = time.perf_counter() - start
    x, loop = tg.rand(8_000_000), tg.compile(chain, backend="numba")
    return {
        "date": datetime.date.today().isoformat(),
        "numba": numba.__version__,
        "roofline": roofline(),
        "points": points.to_dict(),
        "steps": steps.to_dict(),
        "chain": chained.to_dict(),
        "crawl": [given, measure(program).median, measure(machine).median],
        "made": made,
        "loop": list(measure(lambda: loop(x)).times),
    }


if __name__ == "__main__":
    TARGET.write_text(json.dumps(rounded(record())) + "\n", encoding="utf-8")
    print(TARGET)
