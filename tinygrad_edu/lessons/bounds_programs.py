"""The programs of the lesson on what bounds code: points on springs, a chain, and batches that end with a remainder."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from ..compiler import compile, cost_of, optimised, trace
from ..errors import ArgumentError
from ..nn import functional as F
from ..tensor import Tensor
from ..tensor.creation import ones, zeros
from ..tensor.random import rand, seeded

RATES = tuple(0.1 / (1 + step) for step in range(6))
ROUNDS = 7


def at_rest(numbers: int) -> tuple[Tensor, Tensor]:
    """Where so many points are at the beginning, and how fast they move."""
    return zeros(numbers), ones(numbers)


def swing(position: Tensor, velocity: Tensor, steps: int = 200) -> Tensor:
    """Points on springs: where they are after some steps, of six operations each."""
    for _ in range(steps):
        velocity = velocity - 0.01 * (position + 0.1 * velocity)
        position = position + 0.01 * velocity
    return position


def times_as_long(few: Callable[[], object], many: Callable[[], object]) -> float:
    """How many times as long ``many`` takes: the least of some rounds, in turns, after one that does not count."""
    least = [float("inf"), float("inf")]
    for turn in range(ROUNDS):
        for place, run in enumerate((few, many)):
            start = time.perf_counter()
            run()
            if turn:
                least[place] = min(least[place], time.perf_counter() - start)
    return least[1] / least[0]


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
