"""Develop with the guard on, and run many small tensors without it."""

from __future__ import annotations

from typing import Any

import numpy as np

import tinygrad_edu as tg
from tinygrad_edu import Tensor, guard
from tinygrad_edu.tips import Choice, Claim, Elsewhere, Figure, Limit, Picture, Question, Result, Size, Source, Tip
from tinygrad_edu.tips.tip import Way


def inputs(generator: tg.Generator, n: int, given: str) -> dict[str, Any]:
    rows = [tg.rand(n, generator=generator).numpy() for _ in range(8)]
    make = tg.from_numpy if given == "arrays" else tg.tensor
    return {"rows": rows, "w": tg.ones(n, requires_grad=True), "make": make}


def slow(rows: list[np.ndarray[Any, Any]], w: Tensor, make: Any) -> Tensor:
    h = w
    for row in rows:  # a recurrent network, written by hand
        h = (h * make(row)).tanh()
    h.sum().backward()
    return w.grad


@guard.off()
def fast(rows: list[np.ndarray[Any, Any]], w: Tensor, make: Any) -> Tensor:
    h = w
    for row in rows:
        h = (h * make(row)).tanh()
    h.sum().backward()
    return w.grad


def switched(rows: list[np.ndarray[Any, Any]], w: Tensor, make: Any) -> Tensor:
    guard.turn_off()  # everywhere, until turn_on()
    h = w
    for row in rows:
        h = (h * make(row)).tanh()
    guard.turn_on()
    h.sum().backward()
    return w.grad


def locked(result: Result) -> str:
    return "none of them" if not result.slow["locks"] else "all of them"


TIP = Tip(
    slug="memory-guard-cost",
    title="Develop with the guard on, and run many small tensors without it",
    theme="autograd",
    why="A lock costs **the same time for any size**: much beside a small operation, nothing beside a large one.",
    about=(
        "The guard locks an array when an operation saves it, and unlocks it when the graph goes. That takes about a "
        "microsecond, for ten numbers or for ten million. In a network written by hand, with a tensor for each small "
        "step, it is a part of the time that one can see. So: write and test the program with the guard on. If it runs "
        "without an error, no write ever hit a saved array, and `guard.off()`, as a block or as a decorator, changes "
        "no result. Only arrays that your own code can reach are locked: tensors made by the library need no lock."
    ),
    sources=(
        Source(
            "G", "Controlling Memory-Guarding Behavior", "about 50 % slower with many small tensors; else negligible"
        ),
    ),
    parameters=(
        Size("n", 16, 1, 1_048_576, "how many numbers are in a row"),
        Choice("given", "arrays", ("arrays", "copies"), "whether tensors share the arrays, or copy them"),
    ),
    inputs=inputs,
    slow=slow,
    fast=fast,
    also=(Way("switched off for all", switched, words="A switch instead of a block: remember to turn it on again."),),
    claims=(
        Claim("locks", fast=0, slow=8),
        Claim("time"),
        Claim("time", same=True, at={"n": 1_048_576}),
    ),
    limits=(
        Limit({"given": "copies"}, "no difference", "Nobody but the library can reach the copies: none is locked."),
    ),
    figures=(Figure("time", 1.5, "G", "many small tensors"),),
    question=Question(
        "A multiplies by eight arrays, one after the other. How many of them does the guard lock?",
        ("none of them", "the one in use", "all of them"),
        locked,
        tempting="the one in use",
        refutation="Each product has saved its array for backward, so all eight stay locked until backward is done.",
    ),
    explain="With a million numbers in a row the difference is gone. What did not grow with the row?",
    symptoms=("my backward is slow", "my loop is slow"),
    picture=Picture("TimingRace", dict),
    elsewhere=(
        Elsewhere("PyTorch 2.13", "2026-11", "h = torch.tanh(w * torch.from_numpy(rows[0]))  # there is no guard"),
        Elsewhere("MyGrad 2.5", "2026-11", "with mg.mem_guard_off:\n    h = mg.tanh(w * rows[0])"),
    ),
    torch=None,
    differs_in_torch="PyTorch has no memory guard: there is nothing to switch off, and nothing protects an array.",
)
