"""Take the watchers off when the program is right."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import tinygrad_edu as tg
from tinygrad_edu import Tensor, guard
from tinygrad_edu.autograd import detect_anomaly
from tinygrad_edu.profiler import profile
from tinygrad_edu.tips import Choice, Claim, Elsewhere, Limit, Picture, Question, Result, Size, Source, Tip, Way
from tinygrad_edu.tips.signs import Seen, Sign


def inputs(generator: tg.Generator, n: int, work: str) -> dict[str, Any]:
    data = tg.rand(n, generator=generator).numpy()
    return {"data": data, "w": tg.ones(n, requires_grad=True), "steps": 8 if work == "train" else 0}


def step(data: np.ndarray[Any, Any], w: Tensor, steps: int) -> Tensor:
    """Some operations, and their gradients."""
    y = w
    for _ in range(steps):
        y = (y * tg.from_numpy(data)).tanh()
    y.sum().backward()
    return w.grad


def slow(data: np.ndarray[Any, Any], w: Tensor, steps: int) -> Tensor:
    with guard.verify(), detect_anomaly(), profile():
        return step(data, w, steps)


def fast(data: np.ndarray[Any, Any], w: Tensor, steps: int) -> Tensor:
    with guard.off():
        return step(data, w, steps)


def guarded(data: np.ndarray[Any, Any], w: Tensor, steps: int) -> Tensor:
    return step(data, w, steps)


def searching(data: np.ndarray[Any, Any], w: Tensor, steps: int) -> Tensor:
    with guard.off(), detect_anomaly():
        return step(data, w, steps)


def profiled(data: np.ndarray[Any, Any], w: Tensor, steps: int) -> Tensor:
    with guard.off(), profile():
        return step(data, w, steps)


def times_locked(result: Result) -> str:
    return {0: "never", 1: "once"}.get(result.slow["locks"], "in every step")


def applies(seen: Seen) -> Iterator[Sign]:
    for name, count in seen.aids.items():
        if count >= 8:
            told = f"{name} was on for {count} operations"
            yield Sign(seen.places[0].line, told, saves="some time for each operation")


TIP = Tip(
    slug="debug-aids-off",
    title="Take the watchers off when the program is right",
    theme="measuring",
    why="A watcher acts **at every operation**; what it finds is worth that only until the program is right.",
    about=(
        "The guard locks arrays, `verify` adds up their bytes besides, `detect_anomaly` looks through each result for "
        "nan, a profiler reads the clock twice. None of them changes a number. What they cost differs: a lock and a "
        "clock take the same time for any size, so they vanish beside large operations; whatever reads the numbers, "
        "as `verify` and `detect_anomaly` do, grows with them and never vanishes. Develop with all of them, test with "
        "all of them, and run without. Python's own `-O` leaves out `assert`, but none of these."
    ),
    sources=(Source("R", "Quick Wins", "measure release builds, without debug checks"),),
    parameters=(
        Size("n", 16, 1, 1_048_576, "how many numbers"),
        Choice("work", "train", ("train", "nothing"), "whether there are operations to watch"),
    ),
    inputs=inputs,
    slow=slow,
    fast=fast,
    also=(
        Way("the guard alone", guarded, words="Locks only."),
        Way("the search for nan alone", searching, words="It reads every result."),
        Way("the profiler alone", profiled, words="It reads the clock."),
    ),
    claims=(
        Claim("locks", fast=0),
        Claim("time", times=2),
        Claim("time", ways=("the search for nan alone", "fast"), at={"n": 1_048_576}),
        Claim("time", ways=("the guard alone", "fast"), same=True, at={"n": 1_048_576}),
    ),
    limits=(Limit({"work": "nothing"}, "no difference", "There is no operation, and so nothing to lock or to watch."),),
    question=Question(
        "All eight steps of A multiply by the same array. How often does the guard lock it?",
        ("never", "once", "in every step"),
        times_locked,
        tempting="in every step",
        refutation="The first product locks the array, and the others find it locked. What A pays for is the rest.",
    ),
    explain="Which of the watchers still cost something when there are a million numbers, and why these?",
    symptoms=("my loop is slow", "my program is slower than it was"),
    picture=Picture("TimingRace", dict),
    elsewhere=(
        Elsewhere(
            "PyTorch 2.13",
            "2026-11",
            "torch.autograd.set_detect_anomaly(False)\ny = w.tanh()",
        ),
    ),
    torch=None,
    differs_in_torch="PyTorch has no guard; its search for nan and its profiler cost time in the same way.",
    applies=applies,
)
