"""Compute activations again instead of keeping them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import tinygrad_edu as tg
from tinygrad_edu import Tensor
from tinygrad_edu.errors import OutOfMemoryError
from tinygrad_edu.tips import Choice, Claim, Elsewhere, Limit, Picture, Question, Size, Source, Tip
from tinygrad_edu.tips.signs import Seen, Sign, raised_at
from tinygrad_edu.tips.tip import Way
from tinygrad_edu.tips.trades import TRADES, trade
from tinygrad_edu.utils.checkpoint import checkpoint, checkpoint_sequential

Layers = list[Callable[[Tensor], Tensor]]


def inputs(generator: tg.Generator, n: int, segments: int, layer: str) -> dict[str, Any]:
    ws = [(tg.randn(64, 64, generator=generator) / 8).requires_grad_() for _ in range(16)]
    plain = layer == "linear"
    layers = [lambda x, w=w: x @ w if plain else (x @ w).sigmoid().sub(0.5).tanh() for w in ws]
    return {"layers": layers, "segments": segments, "x": tg.rand(n, 64, generator=generator).requires_grad_()}


def slow(layers: Layers, segments: int, x: Tensor) -> Tensor:
    y = x
    for layer in layers:
        y = layer(y)
    y.sum().backward()
    return x.grad


def fast(layers: Layers, segments: int, x: Tensor) -> Tensor:
    y = checkpoint_sequential(layers, segments, x, use_reentrant=False)
    y.sum().backward()
    return x.grad


def each_layer(layers: Layers, segments: int, x: Tensor) -> Tensor:
    y = x
    for layer in layers:
        y = checkpoint(layer, y, use_reentrant=False)
    y.sum().backward()
    return x.grad


def applies(seen: Seen) -> Iterator[Sign]:
    if isinstance(seen.error, OutOfMemoryError) and any(place.graph for place in seen.places):
        told = "the program ran out of memory while the graph kept results for backward"
        yield Sign(raised_at(seen.error), told, saves="activations")


TIP = Tip(
    slug="gradient-checkpointing",
    title="Compute activations again instead of keeping them",
    theme="autograd",
    why="Backward needs each activation **only when it comes by**, so it can be computed again just then.",
    about=(
        "A keeps what every layer gave until backward has used it: memory grows with the depth. B keeps only what "
        "goes into each segment. In backward, a segment runs forward once more, its activations live for a moment, and "
        "go. The peak is the borders plus one segment: with 16 layers, 4 segments of 4 are a good choice; more "
        "segments mean more borders, fewer mean longer segments. The price is one more forward pass. The same random "
        "numbers are drawn, so dropout agrees; batch norm counts its batch twice."
    ),
    sources=(Source("P", "Gradient Checkpointing", "checkpoint(layer, x) saves memory, and costs time"),),
    parameters=(
        Size("n", 1024, 1, 2048, "the number of samples"),
        Size("segments", 4, 1, 16, "into how many parts the 16 layers are put"),
        Choice("layer", "nonlinear", ("nonlinear", "linear"), "what a layer does"),
    ),
    inputs=inputs,
    slow=slow,
    fast=fast,
    also=(Way("a checkpoint for each layer", each_layer, words="Every layer's input is a border, and stays."),),
    claims=(
        Claim("peak", times=2),
        Claim("calls", price=True),
        Claim("peak", ways=("a checkpoint for each layer", "fast")),
        Claim("time", price=True),
    ),
    limits=(
        Limit({"segments": 1}, "false here", "The last segment is never a checkpoint: backward begins with it."),
        Limit(
            {"layer": "linear"},
            "no difference",
            "A product keeps only its input, so there is less to save; a checkpoint for each layer needs more than A.",
        ),
    ),
    question=Question(
        "Predict both: what does B need in memory and in operations, beside A?",
        TRADES,
        trade,
        tempting=TRADES[0],
        refutation="What was not kept must be computed again: one more forward pass, without the last segment.",
    ),
    explain="Why does C, which keeps the least inside each checkpoint, need more than B?",
    symptoms=("out of memory", "my model is too deep for memory"),
    picture=Picture("MemoryRiver", dict),
    elsewhere=(
        Elsewhere(
            "PyTorch 2.13",
            "2026-11",
            "from torch.utils.checkpoint import checkpoint_sequential\n"
            "y = checkpoint_sequential([torch.tanh, torch.sin], 2, x, use_reentrant=False)",
        ),
    ),
    devices=("cpu", "sim", "cuda"),
    applies=applies,
)
