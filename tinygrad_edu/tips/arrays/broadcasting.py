"""Stretch an axis instead of looping over it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tinygrad_edu as tg
from tinygrad_edu import Tensor
from tinygrad_edu.tips import Choice, Claim, Elsewhere, Limit, Picture, Question, Result, Size, Slip, Source, Tip
from tinygrad_edu.tips.signs import Seen, Sign


def inputs(generator: tg.Generator, n: int, then: str) -> dict[str, Any]:
    x, bias = tg.rand(n, 256, generator=generator), tg.rand(256, generator=generator)
    return {"x": x, "bias": bias, "only_sums": then == "add each row up"}


def slow(x: Tensor, bias: Tensor, only_sums: bool) -> Tensor:
    rows = []
    for row in x:
        y = row + bias
        y = y.sum() if only_sums else y
        rows.append(y)
    return tg.stack(rows)


def fast(x: Tensor, bias: Tensor, only_sums: bool) -> Tensor:
    y = x + bias
    return y.sum(1) if only_sums else y


def guide(x: Tensor, bias: Tensor, only_sums: bool) -> Tensor:
    for i in range(x.size(0)):
        row = x[i]
        result = row + bias
    return result.sum() if only_sums else result


def stretched(result: Result) -> str:
    return "none" if result.fast["allocated"] == result.fast["held"] else "as many as x has"


def applies(seen: Seen) -> Iterator[Sign]:
    for place in seen.at("add", "sub", "mul", "div"):
        rows = len(place.shape) == 1 and place.came_from(0, "getitem") and not place.came_from(1, "getitem")
        if rows and place.most >= 32:
            yield Sign(place.line, f"{place.op} ran {place.most} times in a step, row by row", place.seconds)


TIP = Tip(
    slug="broadcasting",
    title="Stretch an axis instead of looping over it",
    theme="arrays",
    why="A stretched axis has **stride 0**: every row reads the same bytes of `bias`, and one operation does them all.",
    about=(
        "If two shapes differ, the shorter one is padded with ones on the left, and an axis of size one is read again "
        "for each place along the other. Nothing is repeated in memory: the stride of that axis is 0. A loop over the "
        "rows starts an operation for each of them, and a copy joins the results; `tile` and `repeat` first write the "
        "repetition out. Check the shapes beforehand: `(1000, 1) - (1000,)` is not an error but gives 1000 × 1000 "
        "numbers. Backward sums over a stretched axis, since each number was read many times."
    ),
    sources=(Source("R", "Use Broadcasting Effectively", "add the bias to the whole tensor, not row by row"),),
    parameters=(
        Size("n", 512, 1, 2048, "the number of rows, of 256 numbers each"),
        Choice("then", "keep the rows", ("keep the rows", "add each row up"), "what is done with the result"),
    ),
    inputs=inputs,
    slow=slow,
    fast=fast,
    claims=(Claim("calls", times=10), Claim("allocated", times=2), Claim("peak"), Claim("time")),
    limits=(
        Limit({"n": 1}, "no difference", "There is only one row, so the loop runs once."),
        Limit(
            {"then": "add each row up"},
            "false here",
            "The loop needs one row at a time; broadcasting makes all of them before any is added up.",
        ),
    ),
    question=Question(
        "B adds `bias`, which is one row, to all rows of `x`. How many new bytes does it take to stretch `bias`?",
        ("none", "as many as x has"),
        stretched,
        tempting="as many as x has",
        refutation="The copies are never written out: the axis gets stride 0, and each row reads the same bytes.",
    ),
    slips=(
        Slip(
            "R",
            run=guide,
            shows={"equal": False},
            words=(
                "Its loop gives every row the same name, so only the last one is left, and the two ways do not compute "
                "the same. Here the loop keeps its rows."
            ),
        ),
    ),
    explain="Both ways do the same additions. What does A do for each row that B does once?",
    symptoms=("my loop is slow", "out of memory", "the result has an unexpected shape"),
    picture=Picture("BroadcastLab", lambda: {"a": tg.arange(12.0).reshape(3, 4), "b": tg.arange(4.0)}),
    elsewhere=(
        Elsewhere("PyTorch 2.13", "2026-11", "y = x + bias"),
        Elsewhere("tch-rs 0.26", "2026-11", "let y = &x + &bias;"),
        Elsewhere("MyGrad 2.5", "2026-11", "y = x + bias"),
    ),
    devices=("cpu", "sim", "cuda"),
    applies=applies,
)
