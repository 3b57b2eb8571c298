"""Call the model once, for all samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import tinygrad_edu as tg
from tinygrad_edu import Tensor, nn
from tinygrad_edu.nn import functional as F
from tinygrad_edu.tips import Choice, Claim, Elsewhere, Limit, Picture, Question, Result, Size, Source, Tip
from tinygrad_edu.tips.signs import PRODUCTS, Seen, Sign, one_row


def inputs(generator: tg.Generator, n: int, norm: str) -> dict[str, Any]:
    first = tg.randn(32, 16, generator=generator).requires_grad_()
    last = tg.randn(4, 32, generator=generator).requires_grad_()
    middle = nn.BatchNorm1d(32) if norm == "BatchNorm" else nn.Identity()

    def model(x: Tensor) -> Tensor:
        return F.linear(middle(F.linear(x, first)).relu(), last)

    return {"model": model, "x": tg.randn(n, 16, generator=generator)}


def slow(model: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    predictions = []
    for i in range(len(x)):
        sample = x[i : i + 1]
        predictions.append(model(sample))
    return tg.cat(predictions)


def fast(model: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    return model(x)


MORE = "more than three for each sample"


def started(result: Result) -> str:
    samples, model, loop = result.setting["n"], result.fast["calls"], result.slow["calls"]
    if loop <= model:
        return "three"
    return "one for each sample" if loop <= samples else "three for each sample" if loop <= samples * model else MORE


def applies(seen: Seen) -> Iterator[Sign]:
    for place in seen.at(*PRODUCTS):
        if place.most >= 16 and place.came_from(0, "getitem") and one_row(place):
            told = f"{place.op} ran {place.most} times in a step, each time for one row"
            yield Sign(place.line, told, **seen.looped(place.line, place.most), setting={"n": 64})


TIP = Tip(
    slug="vectorise",
    title="Call the model once, for all samples",
    theme="arrays",
    why="Starting an operation costs **the same for one sample as for many**, and a batch starts each only once.",
    about=(
        "Every operation has a price before its first multiplication: Python calls it, checks shapes and dtypes, makes "
        "a buffer, and keeps a graph node. For a layer of a few hundred weights that is most of the time. A batch pays "
        "this price only once, and a matrix product over many rows fetches each weight once and uses it many times. "
        "A loop also keeps a graph for each sample, and backward has to walk through all of them."
    ),
    sources=(
        Source("P", "Vectorize Operations", "give the model the whole batch, not one sample after the other"),
        Source("R", "Maximize Batch Sizes", "use batches as large as the memory allows"),
        Source("G", "Performance Tips", "leverage vectorised operations, as in NumPy"),
    ),
    parameters=(
        Size("n", 128, 1, 1024, "the number of samples"),
        Choice("norm", "none", ("none", "BatchNorm"), "a layer between the two of the model"),
    ),
    inputs=inputs,
    slow=slow,
    fast=fast,
    claims=(Claim("calls", times=10), Claim("nodes", times=10), Claim("time")),
    limits=(
        Limit({"n": 1}, "no difference", "There is one sample, so the batch is that sample."),
        Limit(
            {"norm": "BatchNorm"},
            "could not be compared",
            "In training, BatchNorm takes mean and spread over the batch: each result depends on the other samples.",
        ),
    ),
    question=Question(
        "The model is three operations: `linear`, `relu`, `linear`. B starts three. How many does A start?",
        ("three", "one for each sample", "three for each sample", MORE),
        started,
        tempting="three for each sample",
        refutation="The loop itself starts more: one to cut out each sample, and a last one to join the predictions.",
    ),
    explain="The multiplications are the same in A and B. What does A pay for n times?",
    symptoms=("my loop is slow", "the processor or GPU is hardly busy"),
    picture=Picture("TimingRace", dict),
    elsewhere=(
        Elsewhere("PyTorch 2.13", "2026-11", "predictions = model(x)"),
        Elsewhere("tch-rs 0.26", "2026-11", "let predictions = model.forward(&x);"),
        Elsewhere("MyGrad 2.5", "2026-11", "predictions = model(x)"),
    ),
    devices=("cpu", "sim", "cuda"),
    applies=applies,
)
