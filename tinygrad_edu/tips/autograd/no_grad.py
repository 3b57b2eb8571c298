"""Record nothing where nothing is learnt."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import tinygrad_edu as tg
from tinygrad_edu import Tensor
from tinygrad_edu.tips import Choice, Claim, Elsewhere, Limit, Picture, Question, Result, Size, Source, Tip
from tinygrad_edu.tips.signs import PRODUCTS, Seen, Sign


def inputs(generator: tg.Generator, n: int, weights: str) -> dict[str, Any]:
    layers = [tg.randn(128, 128, generator=generator) / 8 for _ in range(6)]
    layers = [layer.requires_grad_(weights == "trainable") for layer in layers]

    def model(x: Tensor) -> Tensor:
        for layer in layers:
            x = (x @ layer).tanh()
        return x

    return {"model": model, "x": tg.rand(n, 128, generator=generator)}


def slow(model: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    return model(x)


@tg.no_grad()
def fast(model: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    return model(x)


def alive(result: Result) -> str:
    return "the result of every layer" if result.slow["peak"] >= 2 * result.fast["peak"] else "nothing"


def applies(seen: Seen) -> Iterator[Sign]:
    for place in seen.at(*PRODUCTS):
        if place.graph >= 2 and not place.walked and seen.error is None:
            told = f"{place.graph} results of {place.op} were kept for backward, which never came"
            yield Sign(place.line, told, saves="the memory of the graph, and some time for each operation")


TIP = Tip(
    slug="no-grad",
    title="Record nothing where nothing is learnt",
    theme="autograd",
    why="A recorded result **keeps what backward would need**: each layer's result lives as long as the last one.",
    about=(
        "Whoever only predicts never calls backward, but the graph does not know that. It keeps a node for every "
        "operation and the numbers that each would need, until the last result is gone. Under `no_grad()`, as a block "
        "or as a decorator, each layer's result is freed as soon as the next one is there. `detach()` at the end is "
        "too late: the graph then goes, but it was there while the model ran. And `eval()` is another switch: it "
        "changes what dropout and batch norm do, and records as before. For predictions use both."
    ),
    sources=(
        Source("P", "Use torch.no_grad()", "eval() and no_grad() for inference: no gradients are stored"),
        Source(
            "G",
            "Suspending Graph-Tracking for Automatic Differentiation",
            "about 3 times as fast with many small tensors; no memory guard either",
        ),
    ),
    parameters=(
        Size("n", 1024, 1, 4096, "the number of samples"),
        Choice("weights", "trainable", ("trainable", "frozen"), "whether the weights want gradients"),
    ),
    inputs=inputs,
    slow=slow,
    fast=fast,
    claims=(Claim("nodes", fast=0), Claim("kept", fast=0), Claim("peak", times=2), Claim("time")),
    limits=(
        Limit({"weights": "frozen"}, "no difference", "No weight wants a gradient, so nothing is recorded anyway."),
    ),
    question=Question(
        "A returns one tensor and has forgotten all others. What else was in memory at the end, beside the weights?",
        ("nothing", "the result of every layer"),
        alive,
        tempting="nothing",
        refutation="The last result has a graph, and the graph keeps the result of each `tanh` for its derivative.",
    ),
    explain="B does the same arithmetic. What does A make besides, and until when does it keep it?",
    symptoms=("out of memory", "my model only predicts, and memory fills up"),
    picture=Picture("MemoryRiver", dict),
    elsewhere=(
        Elsewhere("PyTorch 2.13", "2026-11", "model.eval()\nwith torch.no_grad():\n    y = model(x)"),
        Elsewhere("tch-rs 0.26", "2026-11", "let y = tch::no_grad(|| model.forward(&x));"),
        Elsewhere("MyGrad 2.5", "2026-11", "with mg.no_autodiff:\n    y = model(x)"),
    ),
    devices=("cpu", "sim", "cuda"),
    applies=applies,
)
