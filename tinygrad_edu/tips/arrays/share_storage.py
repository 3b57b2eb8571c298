"""Share what is only read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tinygrad_edu as tg
from tinygrad_edu import Tensor
from tinygrad_edu.common.wording import bytes_text
from tinygrad_edu.tips import Choice, Claim, Elsewhere, Limit, Picture, Question, Result, Size, Source, Tip
from tinygrad_edu.tips.signs import Seen, Sign


def inputs(generator: tg.Generator, n: int, use: str) -> dict[str, Any]:
    return {"x": tg.rand(n, n, generator=generator), "read_only": use == "only read"}


def slow(x: Tensor, read_only: bool) -> tuple[Tensor, Tensor]:
    mine = x.clone()
    if not read_only:
        mine.mul_(2)
    return mine.amax(), x.amax()


def fast(x: Tensor, read_only: bool) -> tuple[Tensor, Tensor]:
    mine = x.detach()
    if not read_only:
        mine.mul_(2)
    return mine.amax(), x.amax()


def new_bytes(result: Result) -> str:
    return "none" if result.fast["allocated"] == 0 else "as many as x has"


def applies(seen: Seen) -> Iterator[Sign]:
    for line, (count, nbytes, written) in seen.clones.items():
        if nbytes >= 64_000 and not written:
            told = f"{count} clones, and nothing was written to them or to what they came from"
            yield Sign(line, told, seen.seconds_at(line), saves=f"{bytes_text(nbytes)} copied")


TIP = Tip(
    slug="share-storage",
    title="Share what is only read",
    theme="arrays",
    why="A second tensor over the **same buffer** costs only a shape and strides; a clone costs every byte again.",
    about=(
        "A tensor is a small record (shape, strides, dtype) that points at a buffer. `clone()` makes a second buffer "
        "and copies every byte into it, which takes memory and the time to read and write it all. `detach()` makes a "
        "second record over the same buffer, outside the graph; a plain `b = a` does not even do that, it only adds a "
        "second name for the same tensor. If you only read, all three do the same. If you write, every tensor over "
        "the buffer changes: then you need a clone. You also need one to keep a small part of a large buffer."
    ),
    sources=(
        Source("R", "Avoid Unnecessary Copies", "use shallow_clone(), or a reference, in place of clone()"),
        Source("R", "Performance Checklist", "use shallow_clone() instead of clone() when possible"),
    ),
    parameters=(
        Size("n", 1024, 16, 2048, "the number of rows, and of columns"),
        Choice("use", "only read", ("only read", "write"), "what the second tensor is used for"),
    ),
    inputs=inputs,
    slow=slow,
    fast=fast,
    claims=(Claim("allocated", fast=0), Claim("copies", fast=0, slow=1), Claim("time")),
    limits=(Limit({"use": "write"}, "false here", "A write into shared memory changes x too: here you need a clone."),),
    question=Question(
        "`detach()` gives a second tensor that can be used in place of `x`. How many new bytes does it take?",
        ("none", "as many as x has"),
        new_bytes,
        tempting="as many as x has",
        refutation="A new tensor is not new memory: `detach()` makes a new record over the existing buffer.",
    ),
    explain="In both ways `mine` is a new tensor. What is new in A but not in B?",
    symptoms=("out of memory", "my loop is slow"),
    picture=Picture(
        "BufferMap",
        lambda: {"x": (x := tg.arange(6.0).reshape(2, 3)), "A: mine": x.clone(), "B: mine": x.detach()},
    ),
    elsewhere=(
        Elsewhere("PyTorch 2.13", "2026-11", "mine = x.detach()   # shares storage with x"),
        Elsewhere("tch-rs 0.26", "2026-11", "let mine = x.shallow_clone();\nlet alias = &x;"),
    ),
    devices=("cpu", "sim", "cuda"),
    applies=applies,
)
