"""Make a working buffer once, and write into it."""

from __future__ import annotations

from typing import Any

import tinygrad_edu as tg
from tinygrad_edu import Tensor
from tinygrad_edu.tips import (
    Choice,
    Claim,
    Elsewhere,
    Limit,
    Number,
    Picture,
    Question,
    Result,
    Size,
    Slip,
    Source,
    Tip,
)


def inputs(generator: tg.Generator, n: int, keep: str) -> dict[str, Any]:
    row, column = tg.rand(n, generator=generator), tg.rand(n, 1, generator=generator)
    return {"row": row, "column": column, "keep_all": keep == "every result"}


def slow(row: Tensor, column: Tensor, keep_all: bool) -> list[Any]:
    results = []
    for step in range(3):
        y = column * row
        y = y + step
        results.append(y if keep_all else y[-1, -1].item())
    return results


def fast(row: Tensor, column: Tensor, keep_all: bool) -> list[Any]:
    y, results = tg.empty(len(column), len(row)), []
    for step in range(3):
        tg.mul(column, row, out=y)
        y.add_(step)
        results.append(y.clone() if keep_all else y[-1, -1].item())
    return results


def guide(row: Tensor, column: Tensor, keep_all: bool) -> list[Any]:
    y = tg.empty(len(column), len(row))
    results = [tg.mul(column, row, out=y).add_(step).detach() for step in range(3)]
    return results if keep_all else [result[-1, -1].item() for result in results]


def made(result: Result) -> float:
    return float(result.slow["allocated"] // (4 * result.setting["n"] ** 2))


TIP = Tip(
    slug="preallocate",
    title="Make a working buffer once, and write into it",
    theme="arrays",
    why="An operation makes a **new buffer** for its result; with `out=` it writes into an existing one.",
    about=(
        "`y = column * row` does not write into the old `y`. It makes and fills a new buffer; only then does the name "
        "move over, and the old buffer is freed. In a loop that is a new buffer for each operation of each step, and "
        "two of them at once. A buffer made before the loop can be filled again and again: `out=` for the first "
        "operation, methods with an underscore for the rest. The time saved depends on the size: small blocks of "
        "memory are simply used again; large ones (on Linux, above 32 MB) come from the system, which clears each page."
    ),
    sources=(Source("R", "Pre-allocate Tensors", "allocate working tensors once, and reuse them for every batch"),),
    parameters=(
        Size("n", 3072, 16, 3072, "the number of rows, and of columns"),
        Choice("keep", "one number", ("one number", "every result"), "what is kept of each step"),
    ),
    inputs=inputs,
    slow=slow,
    fast=fast,
    claims=(Claim("allocated", times=4), Claim("peak"), Claim("time")),
    limits=(
        Limit({"n": 512, "keep": "every result"}, "no difference", "Each result that is kept needs a buffer anyway."),
    ),
    question=Question(
        "A runs its loop three times and calls every result `y`. How many buffers does it make for them?",
        Number(0, 20, "buffers"),
        made,
        tempting=3.0,
        refutation="Each step makes two: one for `column * row`, one for `y + step`. Only the name is used again.",
    ),
    slips=(
        Slip(
            "R",
            guide,
            {"equal": False},
            "Its process_batch returns a shallow clone, which shares the one buffer, so each call writes over the "
            "previous result. Use each result before the next call, or return a copy.",
        ),
    ),
    explain="A keeps no buffer for longer than a step. What does it pay for in each step that B pays for once?",
    symptoms=("my loop is slow", "out of memory", "an old result has changed"),
    picture=Picture(
        "BufferMap", lambda: {"A: old y": (y := tg.arange(6.0)), "A: new y": y + 1, "B: y": y.clone().add_(1)}
    ),
    elsewhere=(
        Elsewhere(
            "PyTorch 2.13", "2026-11", "y = torch.empty(len(column), len(row))\ntorch.mul(column, row, out=y).add_(1)"
        ),
        Elsewhere("tch-rs 0.26", "2026-11", "y.copy_(&column);  // y: made before the loop\ny *= &row;\ny += 1.0;"),
    ),
    devices=("cpu", "sim", "cuda"),
)
