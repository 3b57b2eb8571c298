"""Ask for a few large operations instead of many small ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tinygrad_edu as tg
from tinygrad_edu import Tensor
from tinygrad_edu.tips import Claim, Elsewhere, Limit, Over, Picture, Question, Result, Size, Source, Tip, Way
from tinygrad_edu.tips.signs import Seen, Sign


def inputs(generator: tg.Generator, rows: int, columns: int, device: str) -> dict[str, Any]:
    return {
        "x": tg.rand(rows, columns, generator=generator).to(device),
        "w": (tg.randn(columns, 256, generator=generator) / 16).to(device),
    }


def slow(x: Tensor, w: Tensor) -> Tensor:
    return tg.stack([(row @ w).tanh() for row in x])


def fast(x: Tensor, w: Tensor) -> Tensor:
    return (x @ w).tanh()


def halves(x: Tensor, w: Tensor) -> Tensor:
    return tg.cat([(part @ w).tanh() for part in x.chunk(2)])


def bound(result: Result) -> str:
    return "launches" if result.slow["virtual"] > 3 * result.fast["virtual"] else "arithmetic"


def applies(seen: Seen) -> Iterator[Sign]:
    machine = tg.sim.machine()
    for place in seen.places:
        if place.device != "cpu" and place.most >= 24 and place.op not in ("getitem", "transfer", "reshape"):
            works = [w for w in seen.works_at(place.line) if w.kind == "kernel"]
            if works and sum(w.duration for w in works) < 1.5 * machine["floor"] * len(works):
                told = f"{len(works)} launches of kernels with next to no work"
                yield Sign(place.line, told, machine["launch"] * len(works) / 1e9, virtual=True)


TIP = Tip(
    slug="launch-bound-vs-bandwidth-bound-vs-compute-bound",
    title="Ask for a few large operations instead of many small ones",
    theme="devices",
    why="**Whatever takes longest sets the time**: launching a kernel, moving its bytes, or doing its arithmetic.",
    about=(
        "A kernel has three costs. Launching it takes the host a few microseconds, whatever its size. Its operands "
        "and results go through the device's memory, at so many bytes a second. And its arithmetic is done at so many "
        "operations a second. Tiny kernels end before the next one is launched: they are bound by launches, and a "
        "faster device changes nothing (A, where each row reads `w` again, too). Elementwise work on large arrays is "
        "bound by bandwidth: fuse it, or use fewer bytes. Products of large matrices are bound by arithmetic: a "
        "format with fewer bits helps. Gaps between kernels in the timeline show that launches are the limit. Where a "
        "loop must stay, a compiler or a CUDA graph launches many kernels with one call."
    ),
    sources=(Source("R", "Batch Operations", "work on batches, and fuse operations"),),
    parameters=(
        Size("rows", 64, 1, 256, "how many rows there are"),
        Size("columns", 256, 16, 1024, "numbers in a row"),
    ),
    inputs=inputs,
    slow=slow,
    fast=fast,
    also=(Way("in two halves", halves, words="Twice the launches of B, and one to join them."),),
    claims=(
        Claim("launches", times=10),
        Claim("virtual", times=10),
        Claim("launches", over=Over("rows", (4, 8, 16, 32, 64), slow="linear", fast="flat")),
    ),
    limits=(Limit({"rows": 1}, "no difference", "One row is one product in both."),),
    question=Question(
        "A and B do the same multiplications. What limits A on a device?",
        ("arithmetic", "launches"),
        bound,
        tempting="arithmetic",
        refutation="B does the same arithmetic in a fraction of the time, with two launches.",
    ),
    explain="Which of the three costs would a device of twice the speed lower in A, and which in B?",
    symptoms=("my loop is slow", "the processor or GPU is hardly busy", "a faster GPU changes nothing"),
    picture=Picture("QueueTimeline", dict),
    elsewhere=(
        Elsewhere("PyTorch 2.13", "2026-11", "y = (x @ w).tanh()"),
        Elsewhere("tch-rs 0.26", "2026-11", "let y = x.matmul(&w).tanh();"),
    ),
    devices=("sim",),
    torch=None,
    differs_in_torch="The same holds on a GPU, and on a CPU with smaller figures: see the tip vectorise.",
    applies=applies,
)
