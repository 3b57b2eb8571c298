"""Flatten what is summed over, and multiply matrices."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import tinygrad_edu as tg
from tinygrad_edu import Tensor
from tinygrad_edu.common.wording import bytes_text
from tinygrad_edu.tips import Choice, Claim, Elsewhere, Limit, Picture, Question, Result, Size, Source, Tip, Way
from tinygrad_edu.tips.signs import Seen, Sign


def inputs(generator: tg.Generator, rows: int, axes: str) -> dict[str, Any]:
    x = tg.randn(rows, 8, 16, generator=generator)
    if axes == "swapped in memory":
        x = x.transpose(1, 2).contiguous().transpose(1, 2)
    return {"x": x, "w": tg.randn(8, 16, 32, generator=generator)}


def slow(x: Tensor, w: Tensor) -> Tensor:
    return (x[..., None] * w).sum((1, 2))


def fast(x: Tensor, w: Tensor) -> Tensor:
    return x.reshape(len(x), -1) @ w.reshape(-1, w.shape[-1])


def by_axes(x: Tensor, w: Tensor) -> Tensor:
    return tg.tensordot(x, w, 2)  # over two axes: the last of x, the first of w


def made(result: Result) -> str:
    return "32 times as many as x" if result.slow["peak"] > result.fast["peak"] * 32 else "as many as the result"


def picture() -> dict[str, Any]:
    x = tg.arange(8.0).reshape(2, 2, 2)
    return {"x": x, "A: products": x[..., None] * tg.ones(2, 2, 2), "B: rows": x.reshape(2, -1)}


def applies(seen: Seen) -> Iterator[Sign]:
    for place in seen.at("mul"):
        size, operands = math.prod(place.shape), [math.prod(shape) for shape in place.given]
        if len(operands) == 2 and size >= 8 * max(operands) and size >= 10_000 and "sum" in seen.ops_at(place.line):
            told = f"all {size:,} products were made, and then added up"
            yield Sign(place.line, told, seen.seconds_at(place.line), saves=f"{bytes_text(4 * size)} of products")


TIP = Tip(
    slug="flatten-to-2d",
    title="Flatten what is summed over, and multiply matrices",
    theme="compute",
    why="A product of matrices **adds up as it multiplies**, and axes that lie side by side are one axis for it.",
    about=(
        "A contraction multiplies two tensors and sums over the axes that they share. Written with broadcasting, it "
        "first makes a tensor of all products, and then adds them up. Flattened, the shared axes are the columns of "
        "one matrix and the rows of the other, and BLAS keeps its sums in registers. The reshape is a view where "
        "these axes follow each other in memory; else it copies. `tensordot` does the same for you. So does `einsum`, "
        "but PyTorch's copies both operands for this one, where ours copies none. mlax found XLA's general contraction "
        "slower than the reshape. Look at the bytes that yours allocates before you trust it."
    ),
    sources=(
        Source(
            "M",
            "Why don't Linear layers allow more flexible inputs and outputs?",
            "reshaping to 2-D was faster than the general contraction",
        ),
    ),
    parameters=(
        Size("rows", 512, 1, 4096, "rows of 8 × 16 numbers, which become 32"),
        Choice("axes", "in order", ("in order", "swapped in memory"), "how the two axes that are summed over lie"),
    ),
    inputs=inputs,
    slow=slow,
    fast=fast,
    also=(Way("tensordot", by_axes, words="It flattens for you: the same product, and no further buffer."),),
    claims=(
        Claim("allocated", times=100),
        Claim("peak", times=100),
        Claim("copied", same=True),
        Claim("allocated", ways=("tensordot", "fast"), same=True),
        Claim("time"),
    ),
    limits=(
        Limit(
            {"axes": "swapped in memory"}, "false here", "The two axes cannot be shown as one, so the reshape copies."
        ),
    ),
    question=Question(
        "x has 8 × 16 numbers in a row, the result 32. How many numbers does A hold at once, besides x and w?",
        ("as many as the result", "32 times as many as x"),
        made,
        tempting="as many as the result",
        refutation="The products come first, one for each number of x and each output, and only then are they added.",
    ),
    explain="Where are B's sums while they grow, and where are A's products?",
    symptoms=("out of memory", "my loop is slow"),
    picture=Picture("BufferMap", picture),
    elsewhere=(
        Elsewhere(
            "PyTorch 2.13", "2026-11", 'y = x.flatten(1) @ w.flatten(0, 1)\nz = torch.einsum("nhd,hdo->no", x, w)'
        ),
        Elsewhere("JAX 0.11", "2026-11", "y = x.reshape(len(x), -1) @ w.reshape(-1, w.shape[-1])"),
    ),
    devices=("cpu", "sim", "cuda"),
    applies=applies,
)
