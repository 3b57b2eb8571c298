"""The programs of the lesson on what bounds code: points on springs, a chain, and batches that end with a remainder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..common.wording import ratio_with_spread
from ..compiler import compile, cost_of, optimised, trace
from ..errors import ArgumentError
from ..nn import functional as F
from ..observe.timing import compare, measure
from ..tensor import Tensor
from ..tensor.creation import ones, zeros
from ..tensor.random import rand, seeded
from ..views.predict import Outcome
from .reasons import reason

RATES = tuple(0.1 / (1 + step) for step in range(6))
SECONDS = 0.6  # for one comparison
RECORDED = """\
What the timed gates and the races said on one computer.
Recorded on 28 November 2026: AMD EPYC, 2 cores, Linux, Python 3.11.7, NumPy 2.4.6, 1 thread.
Medians of 60 pairs, in turns, after 3 warm-ups; the middle half in brackets.

200 steps of the springs    3 points               300 points
                            965 µs (961–975)       1.05 ms (1.04–1.06)

steps in one program        as written             compiled
  1                         4.93 µs (4.90–4.95)    6.28 µs (6.24–6.33)
  2                         9.70 µs (9.67–9.73)    8.14 µs (8.10–8.19)
  4                         19.3 µs (19.2–19.3)    12.0 µs (12.0–12.1)
 20                         94.2 µs (93.9–94.7)    41.3 µs (41.2–41.6)
200                         949 µs (944–962)       382 µs (380–384)

100,000 steps, once         480 ms                 184 ms, as 500 calls of 200 steps
                                                   3.4 ms, the same as machine code (Numba 0.68)

the chain, numbers          as written             compiled
  100,000                   107 µs (105–109)       107 µs (106–109)
8,000,000                   13.1 ms (12.7–13.3)    9.04 ms (8.99–9.09)"""


def at_rest(numbers: int) -> tuple[Tensor, Tensor]:
    """Where so many points are at the beginning, and how fast they move."""
    return zeros(numbers), ones(numbers)


def swing(position: Tensor, velocity: Tensor, steps: int = 200) -> Tensor:
    """Points on springs: where they are after some steps, of six operations each."""
    for _ in range(steps):
        velocity = velocity - 0.01 * (position + 0.1 * velocity)
        position = position + 0.01 * velocity
    return position


def how_long(
    key: str, longest: dict[str, float], one: Callable[[], object], other: Callable[[], object], of: str
) -> Outcome:
    """How many times as long ``other`` takes, as a choice: the first of ``longest`` that is not exceeded.

    ``key`` names the reasons. What was measured is said after them, and that it is the time ``of`` so many steps.
    """
    found = compare(other, one, budget=SECONDS)
    reasons = reason(key)
    assert isinstance(reasons, dict)
    choice = next(name for name, ratio in longest.items() if found.ratio <= ratio)
    times = f"{of}: {found.fast.text()}, then {found.slow.text()}: {ratio_with_spread(found.ratio, found.middle)}"
    runs = f"{len(found.ratios)} pairs, in turns, after {len(found.slow.warmups)} warm-ups"
    return Outcome(
        choice,
        f"{reasons[choice]} {times}, median (middle half).",
        f"{runs} · {found.conditions.text()}",
        "measured",
    )


def told(predicted: Any, run: Callable[[], object]) -> None:
    """Print a prediction in milliseconds beside what is measured. Without one, nothing runs."""
    if not isinstance(predicted, (int, float)) or isinstance(predicted, bool):
        print("Predict first: put a number of milliseconds in place of the dots.")
        return
    run()  # it is recorded here
    found = measure(run, budget=SECONDS)
    print(f"predicted: {predicted:g} ms")
    print(f"measured: {found.text()}, median (middle half) of {len(found.times)} runs after a warm-up")


def chain(x: Tensor) -> Tensor:
    """Eight elementwise operations, one after the other."""
    return (((x * 2 + 1).abs() - 3).relu() * 0.5 + 1).sqrt()


def moved(function: Callable[..., Any], *tensors: Tensor) -> tuple[int, int]:
    """Bytes to and from memory: as it is written, and after the passes of the compiler."""
    program = trace(function, *tensors)
    return cost_of(program).moved, cost_of(optimised(program)).moved


def launches(function: Callable[..., Any], *tensors: Tensor) -> tuple[int, int]:
    """Operations as it is written, and kernels after the passes of the compiler."""
    program = trace(function, *tensors)
    return cost_of(program).launches, cost_of(optimised(program)).launches


def product(x: Tensor, w: Tensor) -> Tensor:
    """One product of matrices."""
    return x @ w


def scaled(x: Tensor, rate: Any) -> Tensor:
    """What is done to each batch. Rows of zeros add nothing to it."""
    return (x * rate).tanh().square().sum()


def batches(rows: int = 72, size: int = 16) -> list[Tensor]:
    """Batches of 16 rows, the last of which has only 8."""
    with seeded(0):
        x = rand(rows, 4)
    return list(x.split(size))


def programs(function: Callable[..., Any], calls: list[tuple[Any, ...]]) -> int:
    """How many programs are made for these calls."""
    compiled = compile(function)
    for given in calls:
        compiled(*given)
    return len(compiled.ledger)


def padded(x: Tensor, rows: int) -> Tensor:
    """The batch with rows of zeros below it, up to so many. Raises `ArgumentError` for fewer rows than it has."""
    if rows < len(x):
        why = "rows of the batch would be cut off"
        raise ArgumentError(f"padded(x, {rows}) of {len(x)} rows", why, f"use {len(x)} rows or more")
    return F.pad(x, (0, 0, 0, rows - len(x)))
