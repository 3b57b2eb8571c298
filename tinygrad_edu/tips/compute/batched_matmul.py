"""Multiply a batch of matrices at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tinygrad_edu as tg
from tinygrad_edu import Tensor
from tinygrad_edu.tips import Claim, Elsewhere, Limit, Picture, Question, Result, Size, Source, Tip, Way
from tinygrad_edu.tips.signs import Seen, Sign


def inputs(generator: tg.Generator, batch: int, n: int) -> dict[str, Any]:
    return {"a": tg.randn(batch, n, n, generator=generator), "b": tg.randn(batch, n, n, generator=generator)}


def slow(a: Tensor, b: Tensor) -> Tensor:
    return tg.stack([x @ y for x, y in zip(a, b, strict=True)])


def fast(a: Tensor, b: Tensor) -> Tensor:
    return a @ b


def by_letters(a: Tensor, b: Tensor) -> Tensor:
    return tg.einsum("bij,bjk->bik", a, b)


def asked(result: Result) -> str:
    return "as many as matrices" if result.slow["calls"] > result.setting["batch"] else "a handful"


def applies(seen: Seen) -> Iterator[Sign]:
    for place in seen.at("matmul"):
        pieces = len(place.shape) == 2 and place.came_from(0, "getitem") and place.came_from(1, "getitem")
        if pieces and place.most >= 8 and place.shape[0] > 1:
            yield Sign(place.line, f"{place.most} products in a step, of pieces of two tensors", place.seconds)


TIP = Tip(
    slug="batched-matmul",
    title="Multiply a batch of matrices at once",
    theme="compute",
    why="A product of small matrices is done before the next one is asked for, so **asking** is what takes the time.",
    about=(
        "`a @ b` of two tensors (batch, n, n) multiplies matrix by matrix, in one operation: on a device it is one "
        "kernel, whose blocks work on many matrices at once. A loop looks up, checks and launches a product for each, "
        "while most of the device waits, and in the end it copies all results into one tensor. `einsum` with a letter "
        "for the batch is the same product. Attention is the usual case, with one product for each head. The larger "
        "the matrices, the smaller the gain. If they differ in size, pad them, or sort them into groups of one size."
    ),
    sources=(Source("L", "Faster Primitives", "replace NNlib.batched_mul with LuxLib.batched_matmul"),),
    parameters=(
        Size("batch", 64, 1, 256, "how many pairs of matrices there are"),
        Size("n", 32, 4, 128, "rows and columns of each"),
    ),
    inputs=inputs,
    slow=slow,
    fast=fast,
    also=(Way("einsum", by_letters, words="A letter that all three have is the batch: the same single product."),),
    claims=(
        Claim("calls", times=10),
        Claim("allocated", times=2),
        Claim("calls", ways=("einsum", "fast"), same=True),
        Claim("time"),
    ),
    limits=(Limit({"batch": 1}, "no difference", "One pair of matrices is one product in both."),),
    question=Question(
        "B is one operation. How many does A start?",
        ("a handful", "as many as matrices"),
        asked,
        tempting="a handful",
        refutation="Each pair needs a product of its own, and two views that cut it out; a last operation joins them.",
    ),
    explain="Both multiply and add the same numbers. What does A do once for each pair besides?",
    symptoms=("my loop is slow", "the processor or GPU is hardly busy", "a faster GPU changes nothing"),
    picture=Picture("TimingRace", dict),
    elsewhere=(
        Elsewhere("PyTorch 2.13", "2026-11", "y = torch.bmm(a, b)   # or a @ b"),
        Elsewhere("Lux 1.0", "2026-11", "y = LuxLib.batched_matmul(a, b)   # the batch is the last axis"),
    ),
    devices=("cpu", "sim", "cuda"),
    applies=applies,
)
