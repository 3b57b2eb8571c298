"""Add up numbers, not the graphs behind them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tinygrad_edu as tg
from tinygrad_edu import Tensor
from tinygrad_edu.tips import Choice, Claim, Elsewhere, Limit, Picture, Question, Result, Size, Source, Tip
from tinygrad_edu.tips.signs import Seen, Sign


def inputs(generator: tg.Generator, steps: int, learn: str) -> dict[str, Any]:
    w = tg.ones(10_000, requires_grad=True)
    batches = [tg.rand(10_000, generator=generator) for _ in range(steps)]
    return {"w": w, "batches": batches, "learn": learn == "yes"}


def slow(w: Tensor, batches: list[Tensor], learn: bool) -> Any:
    total: Any = 0.0
    for x in batches:
        loss = (w * x).tanh().mean()
        if learn:
            loss.backward()
        total += loss
    return total


def fast(w: Tensor, batches: list[Tensor], learn: bool) -> Any:
    total: Any = 0.0
    for x in batches:
        loss = (w * x).tanh().mean()
        if learn:
            loss.backward()
        total += loss.item()
    return total


def graphs(result: Result) -> str:
    kept, steps = result.slow["kept"], result.setting["steps"]
    return "none" if not kept else "all of them" if kept >= 3 * steps else "the last one"


def summed(w: Tensor) -> Tensor:
    total = w * 2
    return total + w * 3


def alone(w: Tensor) -> Tensor:
    return w * 3 + (w * 2).item()


def applies(seen: Seen) -> Iterator[Sign]:
    if seen.roots >= 4:
        told = f"{seen.roots} single numbers were alive at once, with the graphs behind them"
        yield Sign(seen.total_line or seen.root_line, told, saves="memory that grows with every step")


TIP = Tip(
    slug="keep-the-number-not-the-graph",
    title="Add up numbers, not the graphs behind them",
    theme="autograd",
    why="`total += loss` makes `total` **a result of every loss so far**, so it keeps the graph of each step.",
    about=(
        "A loss is a number with a history. Added to a running total, that history becomes part of the total's: after "
        "an epoch one name keeps every graph, and without backward also all that they have saved. `loss.item()` is "
        "the number alone, and so is `loss.detach()`, which stays on its device. Where backward was called, the saved "
        "numbers are gone already, and only the nodes pile up: a leak too slow to notice before the night is over."
    ),
    sources=(
        Source("P", "Gradient Accumulation", "the name loss is bound anew in each step, and nothing is added up"),
        Source("R", "Mixed Precision Training", "a step returns loss.double_value(), the number, without saying why"),
    ),
    parameters=(
        Size("steps", 16, 1, 64, "the number of batches"),
        Choice("learn", "no", ("no", "yes"), "whether backward is called for each loss"),
    ),
    inputs=inputs,
    slow=slow,
    fast=fast,
    claims=(Claim("kept", fast=0), Claim("peak", times=4)),
    limits=(
        Limit({"steps": 1}, "no difference", "There is one graph, and both need it while they compute the loss."),
        Limit(
            {"learn": "yes"}, "no difference", "Backward has freed what each graph had saved; only its nodes are kept."
        ),
    ),
    question=Question(
        "After the last batch, how many of the graphs that A has made are still alive?",
        ("none", "the last one", "all of them"),
        graphs,
        tempting="the last one",
        refutation="The name `loss` moves on, but `total` was computed from every loss, and so it keeps them all.",
    ),
    explain="`loss` is a new tensor in every step. Through which name can the first one still be reached?",
    symptoms=("out of memory", "memory grows with every step"),
    picture=Picture("GraphStepper", lambda: {"slow": summed, "fast": alone, "w": tg.tensor([1.0], requires_grad=True)}),
    elsewhere=(
        Elsewhere(
            "PyTorch 2.13",
            "2026-11",
            "total = 0.0\nfor x in batches:\n    loss = (w * x).tanh().mean()\n    total += loss.item()",
        ),
        Elsewhere("tch-rs 0.26", "2026-11", "total += loss.double_value(&[]);"),
    ),
    devices=("cpu", "sim"),
    applies=applies,
)
