"""Read memory in the order of its bytes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tinygrad_edu as tg
from tinygrad_edu import Tensor
from tinygrad_edu.tips import Choice, Claim, Elsewhere, Limit, Picture, Question, Result, Size, Source, Tip
from tinygrad_edu.tips.signs import Seen, Sign


def inputs(generator: tg.Generator, n: int, order: str) -> dict[str, Any]:
    b = tg.rand(n, n, generator=generator)
    return {"a": tg.zeros(n, n), "b": b if order == "rows" else b.T.contiguous().T}


def slow(a: Tensor, b: Tensor) -> Tensor:
    for _ in range(8):
        a = a + b.T
    return a


def fast(a: Tensor, b: Tensor) -> Tensor:
    b = b.T.contiguous()
    for _ in range(8):
        a = a + b
    return a


def step(result: Result) -> str:
    return "4 bytes" if result.slow["stride"] == 4 else "a whole row of b"


def applies(seen: Seen) -> Iterator[Sign]:
    for place in seen.at("sum", "mean", "amax", "max", "exp", "tanh", "relu", "add", "mul", "sub"):
        if place.count >= 8 and max(place.strides, default=0) >= 1024 and place.nbytes >= 1000 * place.count:
            told = f"{place.op} read {place.count} times along an axis whose numbers lie far apart"
            yield Sign(place.line, told, place.seconds)


TIP = Tip(
    slug="contiguous-access",
    title="Read memory in the order of its bytes",
    theme="arrays",
    why="Memory comes in **lines of 64 bytes**: in order, all of a line is used; across it, one number.",
    about=(
        "Memory is one long line of bytes, and a matrix is stored in it row after row. The processor does not fetch "
        "single numbers but cache lines, usually of 64 bytes. Along a row, each cache line brings sixteen float32; "
        "across the rows, each number is in a different line, most of which is thrown away. The strides, not the "
        "shape, show which direction follows the bytes: `b.T` costs nothing to make, but adding it to `a`, which is "
        "stored row after row, reads it across. If that happens again and again, one `contiguous()` pays for its "
        "copy. `b.T.sum()` needs none: a sum may take its numbers in any order."
    ),
    sources=(
        Source("R", "Contiguous Memory Access", "make tensors contiguous, and process data in memory order"),
        Source("G", "Performance Tips", "heed NumPy's row-major layout when constructing tensors"),
    ),
    parameters=(
        Size("n", 1024, 16, 2048, "the number of rows, and of columns"),
        Choice("order", "rows", ("rows", "columns"), "what is stored side by side in b"),
    ),
    inputs=inputs,
    slow=slow,
    fast=fast,
    claims=(Claim("stride"), Claim("time")),
    limits=(Limit({"order": "columns"}, "no difference", "b is stored column by column, so b.T is in order already."),),
    question=Question(
        "A reads `b.T` row by row. How far apart in memory are two numbers that it reads one after the other?",
        ("4 bytes", "a whole row of b"),
        step,
        tempting="4 bytes",
        refutation="A row of `b.T` is a column of `b`, and neighbours in a column are a whole row apart.",
    ),
    explain="Both ways add the same numbers, equally often. Where does A lose time?",
    symptoms=("my loop is slow", "slower after a transpose"),
    picture=Picture(
        "BufferMap", lambda: {"b": (b := tg.arange(12.0).reshape(3, 4)), "A: b.T": b.T, "B: b": b.T.contiguous()}
    ),
    elsewhere=(
        Elsewhere("PyTorch 2.13", "2026-11", "b = b.T.contiguous()\nfor _ in range(8):\n    a = a + b"),
        Elsewhere("tch-rs 0.26", "2026-11", "let b = b.tr().contiguous();\nfor _ in 0..8 { a = &a + &b; }"),
        Elsewhere(
            "MyGrad 2.5", "2026-11", "b = mg.tensor(np.ascontiguousarray(b.data.T))\nfor _ in range(8):\n    a = a + b"
        ),
    ),
    devices=("cpu", "cuda"),
    applies=applies,
)
