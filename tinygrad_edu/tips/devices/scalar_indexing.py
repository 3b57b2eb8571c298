"""Do not loop over the elements of a device's array."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tinygrad_edu as tg
from tinygrad_edu import Tensor
from tinygrad_edu.errors import DeviceError
from tinygrad_edu.tips import Claim, Elsewhere, Limit, Number, Picture, Question, Result, Size, Source, Tip, Way, raises
from tinygrad_edu.tips.signs import Seen, Sign, spent


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


def applies(seen: Seen) -> Iterator[Sign]:
    for place in seen.at("getitem"):
        if place.device != "cpu" and not place.shape and place.count >= 64:
            told, took = f"{place.count} single numbers of a tensor on a device", spent(seen.works_at(place.line))
            yield Sign(place.line, told, took, virtual=True)


TIP = Tip(
    slug="scalar-indexing",
    title="Do not loop over the elements of a device's array",
    theme="devices",
    why="For each element the host **waits, fetches one number and launches a kernel**, all for one comparison.",
    about=(
        "A device is made to do the same thing to thousands of elements at once. A loop over elements wastes that: "
        "each `x[i].item()` waits for the queue and copies four bytes, each assignment is a launch, and in between "
        "the device is idle. A single operation on the whole array needs one launch. Most loops over elements are "
        "such an operation in disguise: `clamp`, `where`, a mask, `cumsum`. Because such a loop is easy to write "
        "without noticing, `allow_scalar(False)` makes every read of a single number an error (C), and "
        "`scalar_reads()` counts them."
    ),
    sources=(Source("L", "Scalar Indexing on GPU Arrays", "disallow it, so that no loop over elements goes unseen"),),
    parameters=(Size("n", 64, 1, 256, "how many elements there are"),),
    inputs=inputs,
    slow=slow,
    fast=fast,
    also=(Way("forbidden", forbidden, raises(DeviceError, "forbids it"), "The first read is refused."),),
    claims=(Claim("launches", times=30), Claim("virtual", times=50), Claim("waiting", fast=0.0)),
    limits=(Limit({"n": 1}, "no difference", "With one element the loop has two launches, not many."),),
    question=Question(
        "A loops over 64 elements. How many kernels must the device run?",
        Number(1, 1000, "kernels", within=0.02),
        launches,
        tempting=1,
        refutation="Each assignment to an element is a kernel of its own, and the array of zeros is one more.",
    ),
    explain="What does the host do for one element, and how much of that is arithmetic?",
    symptoms=("my loop is slow", "my GPU is idle most of the time"),
    picture=Picture("QueueTimeline", dict),
    elsewhere=(
        Elsewhere(
            "PyTorch 2.13", "2026-11", "y = x.clamp(min=0)  # torch.cuda.set_sync_debug_mode('error') finds loops"
        ),
        Elsewhere("Lux 1.0", "2026-11", "GPUArraysCore.allowscalar(false)\ny = max.(x, 0)"),
    ),
    devices=("sim",),
    torch=None,
    differs_in_torch="The loop is slow there on any device; `torch.cuda.set_sync_debug_mode` finds its waits.",
    applies=applies,
)
