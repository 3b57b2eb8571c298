"""The programs of the lesson on what bounds code: points on springs, a chain, and batches that end with a remainder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..common.wording import ratio_with_spread, seconds_text
from ..compiler import TraceError, compile, cost_of, optimised, table, trace
from ..compiler.cost import calls_of
from ..errors import ArgumentError
from ..nn import functional as F
from ..observe.timing import compare, measure
from ..tensor import Tensor
from ..tensor.creation import ones, zeros
from ..tensor.random import rand, seeded
from ..views.predict import Outcome
from .bounds_recorded import machine_code, when
from .reasons import reason

RATES = tuple(0.1 / (1 + step) for step in range(6))
SECONDS = 0.6  # for one comparison
ARITHMETIC = 100_000 * 6 * 3 / 1e9  # seconds for the program that crawls, at a billion operations a second
WAITING = "The tables of your function appear here, once `answer` holds it and both predictions."


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
    times = f"{found.median / ARITHMETIC:.0f} times the {seconds_text(ARITHMETIC)} computed for the arithmetic"
    print(f"That is still {times}: each operation is still a NumPy call.")
    print(f"As machine code, instructions made for one processor, it took {seconds_text(machine_code())}")
    print(f"(recorded on {when()}: AMD EPYC, backend='numba', which the course does not need).")


def tables(answer: Any) -> None:
    """Print both tables of a function, once the two numbers are predicted: ``answer = (function, before, after)``."""
    if not isinstance(answer, (tuple, list)) or len(answer) != 3 or not callable(answer[0]):
        print(WAITING)
        return
    function, before, after = answer
    if not all(isinstance(one, int) and not isinstance(one, bool) for one in (before, after)):
        print(WAITING)
        return
    print(f"predicted: {before} operations, then {after} launches")
    try:
        program = trace(function, 0.5 * ones(1000))
    except TraceError:
        return  # the check says why
    print(f"\nas recorded:\n{table(program)}\n\nas compiled:\n{table(optimised(program))}")


def chain(x: Tensor) -> Tensor:
    """Eight elementwise operations, one after the other."""
    return (((x * 2 + 1).abs() - 3).relu() * 0.5 + 1).sqrt()


def moved(function: Callable[..., Any], *tensors: Tensor) -> tuple[int, int]:
    """Bytes to and from memory: as it is written, and after the passes of the compiler."""
    program = trace(function, *tensors)
    return cost_of(program).moved, cost_of(optimised(program)).moved


def calls(function: Callable[..., Any], *tensors: Tensor) -> tuple[int, int]:
    """NumPy calls: as it is written, and after the passes of the compiler."""
    program = trace(function, *tensors)
    return calls_of(program), calls_of(optimised(program))


def launches(function: Callable[..., Any], *tensors: Tensor) -> tuple[int, int]:
    """Launches on a device: as it is written, and after the passes of the compiler."""
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
