"""Take one loss over all samples."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tinygrad_edu as tg
from tinygrad_edu import Tensor
from tinygrad_edu.nn import functional as F
from tinygrad_edu.tips import Choice, Claim, Elsewhere, Limit, Picture, Question, Result, Size, Slip, Source, Tip
from tinygrad_edu.tips.signs import LOSSES, Seen, Sign


def inputs(generator: tg.Generator, n: int, weights: str) -> dict[str, Any]:
    output, target = tg.randn(n, 10, generator=generator), tg.randint(0, 10, (n,), generator=generator)
    weight = tg.arange(1.0, 11.0) if weights == "by class" else None
    return {"output": output.requires_grad_(), "target": target, "weight": weight}


def slow(output: Tensor, target: Tensor, weight: Tensor | None) -> tuple[Tensor, Any]:
    losses = [F.cross_entropy(output[i], target[i], weight) for i in range(len(target))]
    loss: Any = sum(losses) / len(losses)
    loss.backward()
    return loss, output.grad


def fast(output: Tensor, target: Tensor, weight: Tensor | None) -> tuple[Tensor, Any]:
    loss = F.cross_entropy(output, target, weight)
    loss.backward()
    return loss, output.grad


def guide(output: Tensor, target: Tensor, weight: Tensor | None) -> tuple[Tensor, Any]:
    losses = [F.cross_entropy(output[i], target[i], weight) for i in range(len(target))]
    loss: Any = sum(losses)
    loss.backward()
    return loss, output.grad


def row_gradient(result: Result) -> str:
    return "as many as output" if result.slow["allocated"] >= 40 * result.setting["n"] ** 2 else "as many as the row"


def looped(output: Tensor, target: Tensor) -> Tensor:
    first = F.cross_entropy(output[0], target[0])
    second = F.cross_entropy(output[1], target[1])
    return (first + second) / 2


def batched(output: Tensor, target: Tensor) -> Tensor:
    return F.cross_entropy(output, target)


def picture() -> dict[str, Any]:
    output = tg.tensor([[2.0, 1.0], [0.0, 1.0]], requires_grad=True)
    return {"slow": looped, "fast": batched, "output": output, "target": tg.tensor([0, 1])}


def applies(seen: Seen) -> Iterator[Sign]:
    for (name, line), count in seen.singles.items():
        in_a_step = count / max(1, seen.steps)
        if name in LOSSES and in_a_step >= 16:
            told = f"{name} was called {count} times, for one sample each"
            yield Sign(line, told, **seen.looped(line, round(in_a_step)))


TIP = Tip(
    slug="vectorise-loss",
    title="Take one loss over all samples",
    theme="arrays",
    why="A loop gives each sample **nodes of its own**, and each row sends back a gradient as large as the batch.",
    about=(
        "One loss over the batch is a few graph nodes, however many samples there are. A loop makes a chain of nodes "
        "for each sample (cut out a row, take its loss, add it up), and backward walks through them all. Each row's "
        "gradient has the shape of all of `output` and is zero outside that row: with twice the samples that makes "
        "four times the bytes."
    ),
    sources=(Source("P", "Optimize Loss Calculation", "give the criterion all outputs and targets at once"),),
    parameters=(
        Size("n", 128, 1, 512, "the number of samples"),
        Choice("weights", "none", ("none", "by class"), "how much each class counts"),
    ),
    inputs=inputs,
    slow=slow,
    fast=fast,
    claims=(Claim("calls", times=10), Claim("nodes", times=10), Claim("allocated", times=10), Claim("time")),
    limits=(
        Limit({"n": 1}, "no difference", "There is only one sample, so its loss is the whole loss."),
        Limit({"weights": "by class"}, "false here", "In the mean over one sample, its class weight cancels out."),
    ),
    question=Question(
        "In backward, each `output[i]` of A sends a gradient back to `output`. How many bytes does that gradient take?",
        ("as many as the row", "as many as output"),
        row_gradient,
        tempting="as many as the row",
        refutation="A gradient has the shape of the tensor that was cut: all of `output`, zero outside one row.",
    ),
    slips=(
        Slip(
            "P",
            guide,
            {"equal": False},
            "Its loop ends with the sum of the losses, its criterion with their mean: loss and gradients are n times "
            "as large, and the learning rate no longer fits. Here the loop divides by n.",
        ),
    ),
    explain="With twice as many samples, what doubles in A, and what is multiplied by four?",
    symptoms=("my loop is slow", "out of memory", "the loss grows with the batch size"),
    picture=Picture("GraphStepper", picture),
    elsewhere=(Elsewhere("PyTorch 2.13", "2026-11", "loss = F.cross_entropy(output, target, weight)"),),
    applies=applies,
)
