"""Let one operation multiply, add the bias and apply the activation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tinygrad_edu as tg
from tinygrad_edu import Tensor
from tinygrad_edu.nn import functional as F
from tinygrad_edu.tips import Choice, Claim, Elsewhere, Limit, Picture, Question, Result, Size, Slip, Source, Tip, Way
from tinygrad_edu.tips.signs import Seen, Sign


def inputs(generator: tg.Generator, rows: int, gradient: str) -> dict[str, Any]:
    x, w, b = (tg.randn(*shape, generator=generator) for shape in ((rows, 64), (256, 64), (256,)))
    return {"x": x, "w": w.requires_grad_(gradient == "wanted"), "b": b}


def slow(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    y = x @ w.T
    y = y + b
    y = y.relu()
    return y if not w.requires_grad else tg.autograd.grad(y.sum(), w)[0]


def fast(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    y = F.fused_dense_bias_activation(x, w, b, "relu")
    return y if not w.requires_grad else tg.autograd.grad(y.sum(), w)[0]


def in_place(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    y = (x @ w.T).add_(b).relu_()
    return y if not w.requires_grad else tg.autograd.grad(y.sum(), w)[0]


def guide(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    return F.linear(x, w, b).relu()


def fast_in_torch(x: Any, w: Any, b: Any) -> Any:
    from torch.nn import functional

    return functional.linear(x, w, b).relu_()  # the bias is added inside, the rest happens in place


def written(result: Result) -> str:
    one = 4 * 256 * result.setting["rows"]
    return ("once", "twice", "three times")[min(result.slow["allocated"] // one, 3) - 1]


def applies(seen: Seen) -> Iterator[Sign]:
    for place in seen.at("add"):
        bias = place.came_from(0, "matmul") and len(place.given) > 1 and len(place.given[1]) == 1
        if bias and not place.graph:
            yield Sign(place.line, f"a bias was added to a product {place.count} times, as an operation", place.seconds)


TIP = Tip(
    slug="fused-linear-bias-activation",
    title="Let one operation multiply, add the bias and apply the activation",
    theme="compute",
    why="The bias and the activation need **one visit** to each number, and it can be where the product is made.",
    about=(
        "Three operations write three tensors of one size, and read two of them back. A fused operation adds the bias "
        "to the product's own memory and applies the activation there. So it makes one buffer, and the simulated "
        "device is asked once. Backward needs less, too: of relu, tanh and sigmoid the result tells the slope. gelu "
        "and silu have the same result at two places, so for them the sum is kept as well. On a processor the product "
        "takes most of the time, and what is saved is memory. On CUDA this engine launches three kernels even so; the "
        "epilogues of cuBLASLt, and compilers, launch one."
    ),
    sources=(
        Source("L", "Faster Primitives", "replace σ.(w * x .+ b) with fused_dense_bias_activation"),
        Source("R", "Fused Operations", "a FusedLinearReLU, “in single operation”"),
    ),
    parameters=(
        Size("rows", 1024, 1, 8192, "rows of 64 numbers, which become 256"),
        Choice("gradient", "not wanted", ("not wanted", "wanted"), "whether the gradient of w is computed"),
    ),
    inputs=inputs,
    slow=slow,
    fast=fast,
    also=(Way("in place", in_place, words="One buffer, too, but three launches that each visit all of it."),),
    claims=(
        Claim("calls", times=2),
        Claim("peak", times=2),
        Claim("allocated", ways=("in place", "fast"), no_more=True),
        Claim("time", same=True),
    ),
    limits=(Limit({"gradient": "wanted"}, "no difference", "Backward makes the same buffers in both."),),
    slips=(
        Slip(
            "R",
            guide,
            {"calls": 2, "equal": True},
            "Its fused layer is two operations, `linear` and then `relu`, with a buffer each. A name fuses nothing.",
        ),
    ),
    question=Question(
        "How often does A write a tensor of the result's size?",
        ("once", "twice", "three times"),
        written,
        tempting="once",
        refutation="Each operation fills a buffer of its own: the product, the sum and the result.",
    ),
    explain="B still adds the bias and takes the maximum for each number. Which reads and writes has it saved?",
    symptoms=("out of memory", "the processor or GPU is hardly busy", "a faster GPU changes nothing"),
    picture=Picture("MemoryRiver", dict),
    elsewhere=(
        Elsewhere("PyTorch 2.13", "2026-11", "y = F.linear(x, w, b).relu_()   # or torch.compile, which fuses them"),
        Elsewhere("Lux 1.0", "2026-11", "y = fused_dense_bias_activation(relu, w, x, b)"),
    ),
    devices=("cpu", "sim"),
    torch={"fast": fast_in_torch},
    applies=applies,
)
