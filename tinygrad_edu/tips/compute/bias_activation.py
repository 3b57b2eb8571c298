"""Add the bias and apply the activation in one pass."""

from __future__ import annotations

from typing import Any

import tinygrad_edu as tg
from tinygrad_edu import Tensor
from tinygrad_edu.nn import functional as F
from tinygrad_edu.tips import Choice, Claim, Elsewhere, Limit, Picture, Question, Result, Size, Source, Tip, Way


def inputs(generator: tg.Generator, rows: int, gradient: str) -> dict[str, Any]:
    x, b = tg.randn(rows, 1024, generator=generator), tg.randn(1024, generator=generator)
    return {"x": x, "b": b.requires_grad_(gradient == "wanted")}


def slow(x: Tensor, b: Tensor) -> Tensor:
    y = x + b
    y = y.tanh()
    return y if not b.requires_grad else tg.autograd.grad(y.sum(), b)[0]


def fast(x: Tensor, b: Tensor) -> Tensor:
    y = F.bias_activation(x, b, "tanh")
    return y if not b.requires_grad else tg.autograd.grad(y.sum(), b)[0]


def in_place(x: Tensor, b: Tensor) -> Tensor:
    y = F.bias_activation_(x, b, "tanh")  # x is gone
    return y if not b.requires_grad else tg.autograd.grad(y.sum(), b)[0]


def fast_in_torch(x: Any, b: Any) -> Any:
    return (x + b).tanh_()


def in_place_in_torch(x: Any, b: Any) -> Any:
    return x.add_(b).tanh_()


def visits(result: Result) -> str:
    return "twice" if result.slow["calls"] >= 2 * result.fast["calls"] else "once"


TIP = Tip(
    slug="bias-activation",
    title="Add the bias and apply the activation in one pass",
    theme="compute",
    why="For such work a processor **waits for memory**, so a second step costs little while the number is at hand.",
    about=(
        "An addition and a tanh read each number and write it again. As two operations they do so twice, and the sum "
        "needs a buffer of its own. `bias_activation` does both piece by piece, each small enough for the "
        "processor's cache. `bias_activation_` writes over its operand, and makes no buffer at all: take it for a "
        "tensor that nobody else needs, such as the result of a product. Backward keeps the result, from which it "
        "has tanh's slope; for gelu and silu it keeps the operands, and adds again. While all of it fits into the "
        "cache, the gain in time is small. Use `rows` to see where that ends."
    ),
    sources=(Source("L", "Faster Primitives", "replace σ.(x .+ b) with bias_activation, or its in-place form"),),
    parameters=(
        Size("rows", 1024, 1, 4096, "rows of 1024 numbers"),
        Choice("gradient", "not wanted", ("not wanted", "wanted"), "whether the gradient of b is computed"),
    ),
    inputs=inputs,
    slow=slow,
    fast=fast,
    also=(Way("in place", in_place, words="No buffer is made, and the caller's x holds the result."),),
    claims=(
        Claim("calls", times=2),
        Claim("peak", times=2),
        Claim("allocated", ways=("fast", "in place")),
        Claim("time", at={"rows": 4096}),
    ),
    limits=(Limit({"gradient": "wanted"}, "no difference", "Backward makes the same buffers in both."),),
    question=Question(
        "A adds a row to a matrix, and takes tanh. How often does each number come from memory and go back?",
        ("once", "twice"),
        visits,
        tempting="once",
        refutation="The sum is a tensor: all of it is written before tanh reads its first number.",
    ),
    explain="Why does the second step of B find its numbers in the cache?",
    symptoms=("out of memory", "inference is slow"),
    picture=Picture("MemoryRiver", dict),
    elsewhere=(
        Elsewhere("PyTorch 2.13", "2026-11", "y = (x + b).tanh_()   # one buffer; torch.compile makes one pass of it"),
        Elsewhere("Lux 1.0", "2026-11", "y = bias_activation(tanh, x, b)\nbias_activation!!(tanh, x, b)"),
    ),
    devices=("cpu", "sim"),
    torch={"fast": fast_in_torch, "in place": in_place_in_torch},
    differs_in_torch="PyTorch has no such operation: its eager form is two of them, in one buffer.",
)
