"""Use a slice where a slice can do it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import tinygrad_edu as tg
from tinygrad_edu import Tensor
from tinygrad_edu.common.wording import bytes_text
from tinygrad_edu.tips import Choice, Claim, Elsewhere, Limit, Picture, Question, Result, Size, Source, Tip
from tinygrad_edu.tips.signs import Seen, Sign, at_hand


def inputs(generator: tg.Generator, n: int, rows: str, use: str) -> dict[str, Any]:
    x = tg.rand(n, 1024, generator=generator)
    order = tg.arange(n) if rows == "in order" else tg.randperm(n, generator=generator)
    return {"x": x, "rows": order[: n // 2], "write": use == "write"}


def slow(x: Tensor, rows: Tensor, write: bool) -> Tensor:
    batch = x[rows]
    if write:
        batch.mul_(2)
    return batch


def fast(x: Tensor, rows: Tensor, write: bool) -> Tensor:
    batch = x[: len(rows)]
    if write:
        batch.mul_(2)
    return batch


def view_or_copy(result: Result) -> str:
    return "a copy" if result.slow["copies"] else "a view of x"


def picture() -> dict[str, Any]:
    x = tg.arange(12.0).reshape(4, 3)
    return {"x": x, "A: batch": x[tg.arange(2)], "B: batch": x[:2]}


def applies(seen: Seen) -> Iterator[Sign]:
    for place in seen.at("getitem"):
        index = place.params["index"] if place.params.get("copies") else ()
        row: Any = next((at_hand(one) for one in index if getattr(one, "ndim", 0) == 1), np.zeros(0))
        steps: Any = np.unique(np.diff(row)) if row.dtype.kind == "i" and len(row) >= 8 else ()
        if place.nbytes >= 16_000 and len(steps) == 1 and steps[0] != 0:
            told = f"{place.count} copies by a list of places that a slice names, too"
            yield Sign(place.line, told, place.seconds, saves=f"{bytes_text(place.nbytes)} copied")


TIP = Tip(
    slug="basic-vs-advanced-indexing",
    title="Use a slice where a slice can do it",
    theme="arrays",
    why="A slice is a **start and a stride**, so it can be a view; a list of positions is neither, so it copies.",
    about=(
        "Slices and single numbers (basic indexing) give a view: their elements are evenly spaced, so a shape and "
        "strides can describe them. A tensor of positions or of true and false (advanced indexing) may pick any "
        "elements. Strides cannot describe that, so the elements are copied, even if the positions are `0, 1, 2, …`. "
        "A write shows the difference: through a slice it reaches `x`; into `batch = x[rows]` it does not. Yet "
        "`x[rows] += 1` does reach `x`: Python makes the copy, adds to it, and then assigns it back to `x[rows]`."
    ),
    sources=(
        Source("G", "Performance Tips", "use basic indexing to create views of arrays instead of copies"),
        Source(
            "G",
            "Make Use of Views but Avoid Involving them in In-Place Operations",
            "views are efficient to create, as they do not involve copying any memory",
        ),
    ),
    parameters=(
        Size("n", 1024, 16, 4096, "the number of rows of x; half of them are read"),
        Choice("rows", "in order", ("in order", "shuffled"), "which rows are read"),
        Choice("use", "read", ("read", "write"), "what is done with them"),
    ),
    inputs=inputs,
    slow=slow,
    fast=fast,
    claims=(
        Claim("allocated", fast=0),
        Claim("copies", fast=0, slow=1),
        Claim("shares", fast=True, slow=False),
        Claim("changes", fast=False, slow=False),
    ),
    limits=(
        Limit({"rows": "shuffled"}, "false here", "No slice can pick these rows: shuffled batches must be copied."),
        Limit({"use": "write"}, "false here", "A write into the slice changes x; the copy in A leaves x as it was."),
    ),
    question=Question(
        "`rows` holds 0, 1, 2, … in order, so `x[: len(rows)]` reads the same rows. What is `x[rows]`?",
        ("a view of x", "a copy"),
        view_or_copy,
        tempting="a view of x",
        refutation="Which positions it holds does not matter: a tensor may pick any rows, so it always copies.",
    ),
    explain="`x[rows]` and `x[: len(rows)]` read the same rows. Why does only one of them need a copy?",
    symptoms=("out of memory", "my write is lost"),
    picture=Picture("BufferMap", picture),
    elsewhere=(
        Elsewhere("PyTorch 2.13", "2026-11", "batch = x[: len(rows)]   # x[rows] is a copy"),
        Elsewhere("MyGrad 2.5", "2026-11", "batch = x[: len(rows)]   # x[rows] is a copy"),
    ),
    devices=("cpu", "sim", "cuda"),
    applies=applies,
)
