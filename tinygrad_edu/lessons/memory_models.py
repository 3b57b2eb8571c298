"""The models and measures of the lesson on memory: small enough for a laptop, with round numbers of bytes."""

from __future__ import annotations

import gc
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

from ..nn import GELU, Embedding, LayerNorm, Linear, Module, Sequential, Tanh
from ..observe.counters import Counters
from ..observe.memory import Memory
from ..tensor import Tensor
from ..tensor.random import rand, randint, randn, seeded

READINGS = 50
SERVER, LIMIT, CALLS = 24_000_000, 3_500_000, 350  # bytes, bytes, operations: chosen for the lesson


def denoiser(width: int = 250, hidden: int = 4) -> Sequential:
    """Linear layers with tanh between them, from 50 readings to 50."""
    widths = [READINGS, *[width] * hidden]
    layers: list[Module] = []
    for before, after in pairwise(widths):
        layers += [Linear(before, after), Tanh()]
    return Sequential(*layers, Linear(width, READINGS))


def records(rows: int) -> tuple[Tensor, Tensor]:
    """Noisy sensor records and the clean ones, one record a row; invented."""
    clean = rand(rows, READINGS)
    return clean + 0.1 * randn(rows, READINGS), clean


class Residual(Module):
    """A block that adds what it computes to what comes in."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.inner = Sequential(LayerNorm(width), Linear(width, 2 * width), GELU(), Linear(2 * width, width))

    def forward(self, x: Tensor) -> Tensor:
        """The sum of both."""
        total: Tensor = x + self.inner(x)
        return total


class Words(NamedTuple):
    """The given model of the last task, with a batch to train on and another to validate with."""

    model: Sequential
    words: Tensor
    following: Tensor
    other_words: Tensor
    other_following: Tensor


def next_word(rows: int = 350) -> Words:
    """A model that guesses the next of 40 words from a word: an embedding, eight residual blocks, one linear layer."""
    with seeded(11):
        model = Sequential(Embedding(40, 64), *(Residual(64) for _ in range(8)), Linear(64, 40))
        return Words(model, *(randint(0, 40, (rows,)) for _ in range(4)))


class Cost(NamedTuple):
    """What a run took at its peak, counted from where it began, the operations it called, and what it returned.

    ``checkpoints`` is how many it made.
    """

    peak: int
    calls: int
    returned: Any
    checkpoints: int


def cost(run: Callable[[], Any]) -> Cost:
    """Run it twice: once under `Memory`, and once to count its operations."""
    gc.collect()
    with Memory() as seen:
        returned = run()
    peak = seen.peak - seen.owners["elsewhere"]
    with Counters() as counted:
        run()
    made = sum(moment.op == "Checkpoint" for moment in seen.moments)
    return Cost(peak, counted.calls, returned, made)
