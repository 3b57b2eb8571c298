"""Do not loop over the elements of a device's array."""

from __future__ import annotations

from typing import Any

import tinygrad_edu as tg
from tinygrad_edu import Tensor
from tinygrad_edu.errors import DeviceError
from tinygrad_edu.tips import Claim, Elsewhere, Limit, Number, Picture, Question, Result, Size, Source, Tip, Way, raises


def inputs(generator: tg.Generator, n: int, device: str) -> dict[str, Any]:
    return {"x": tg.randn(n, generator=generator).to(device)}


def slow(x: Tensor) -> Tensor:
    y = tg.zeros_like(x)
    for i in range(len(x)):
        y[i] = max(x[i].item(), 0.0)
    return y


def fast(x: Tensor) -> Tensor:
    return x.clamp(min=0)


def forbidden(x: Tensor) -> Tensor:
    before = tg.accelerator.allow_scalar(False)
    try:
        return slow(x)
    finally:
        tg.accelerator.allow_scalar(before)


def launches(result: Result) -> float:
    return float(result.slow["launches"])


TIP = Tip(
    slug="scalar-indexing",
    title="Do not loop over the elements of a device's array",
    theme="devices",
    why="For each element the host **waits, fetches one number and launches a kernel**; the arithmetic costs nothing.",
    about=(
        "A device is made to do the same to thousands of elements at once. A loop over elements turns that round: "
        "each `x[i].item()` waits for the queue and copies four bytes, each assignment is a launch, and between them "
        "the device has nothing to do. A single operation on the whole array needs one launch. Most loops over "
        "elements are such an operation in disguise: `clamp`, `where`, a mask, `cumsum`. Because it is so easy to "
        "write such a loop without seeing it, `allow_scalar(False)` makes every read of a single number an error (C), "
        "and `scalar_reads()` counts them."
    ),
    sources=(Source("L", "Scalar Indexing on GPU Arrays", "disallow it, so that no loop over elements goes unseen"),),
    parameters=(Size("n", 64, 1, 256, "how many elements there are"),),
    inputs=inputs,
    slow=slow,
    fast=fast,
    also=(Way("forbidden", forbidden, raises(DeviceError, "forbids it"), "The first read is refused."),),
    claims=(Claim("launches", times=30), Claim("virtual", times=50), Claim("waiting", fast=0.0)),
    limits=(Limit({"n": 1}, "no difference", "One element is an array too."),),
    question=Question(
        "A loops over 64 elements. How many kernels does the device get to do?",
        Number(1, 1000, "kernels", within=0.02),
        launches,
        tempting=1,
        refutation="Each assignment to an element is a kernel of its own, and making the array of zeros is one more.",
    ),
    explain="What does the host do for one element, and how much of that is arithmetic?",
    symptoms=("my loop is slow", "my GPU is idle most of the time"),
    picture=Picture("QueueTimeline", dict),
    elsewhere=(
        Elsewhere("PyTorch 2.13", "2026-11", "y = x.clamp(min=0)"),
        Elsewhere("Lux 1.0", "2026-11", "GPUArraysCore.allowscalar(false)\ny = max.(x, 0)"),
    ),
    devices=("sim",),
    torch=None,
    differs_in_torch="The loop is slow there on any device; PyTorch has no switch that forbids it.",
)
