"""Read memory in the order of its bytes."""

from __future__ import annotations

from typing import Any

import tinygrad_edu as tg
from tinygrad_edu import Tensor
from tinygrad_edu.tips import Choice, Claim, Elsewhere, Limit, Picture, Question, Result, Size, Source, Tip


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


TIP = Tip(
    slug="contiguous-access",
    title="Read memory in the order of its bytes",
    theme="arrays",
    why="A cache line of **64 bytes** comes in at once: in order all of it is used, across it one number.",
    about=(
        "Memory is one long row of bytes, and a matrix lies in it row after row. The processor does not fetch single "
        "numbers but lines, most often of 64 bytes. Along a row, sixteen float32 come with each line; across the rows, "
        "each number lies in a line of its own, most of which is thrown away. Which way is along the bytes is told by "
        "the strides, not by the shape: `b.T` costs nothing to make, but added to `a`, which lies row after row, it is "
        "read across. Where that happens again and again, one `contiguous()` pays for its copy. `b.T.sum()` needs "
        "none: a sum may take its numbers in any order."
    ),
    sources=(
        Source("R", "Contiguous Memory Access", "make tensors contiguous, and process data in memory order"),
        Source("G", "Performance Tips", "heed NumPy's row-major layout when constructing tensors"),
    ),
    parameters=(
        Size("n", 1024, 16, 2048, "the number of rows, and of columns"),
        Choice("order", "rows", ("rows", "columns"), "which lie side by side in the memory of b"),
    ),
    inputs=inputs,
    slow=slow,
    fast=fast,
    claims=(Claim("stride"), Claim("time")),
    limits=(
        Limit({"order": "columns"}, "no difference", "b lies column after column, so b.T is in memory order already."),
    ),
    question=Question(
        "A reads `b.T` row by row. How far apart in memory are two numbers that it reads in turn?",
        ("4 bytes", "a whole row of b"),
        step,
        tempting="4 bytes",
        refutation="A row of `b.T` is a column of `b`, and in a column neighbours have a whole row between them.",
    ),
    explain="Both ways add the same numbers, equally often. Where does A lose its time?",
    symptoms=("my loop is slow", "slower after a transpose"),
    picture=Picture(
        "BufferMap", lambda: {"b": (b := tg.arange(12.0).reshape(3, 4)), "A: b.T": b.T, "B: b": b.T.contiguous()}
    ),
    elsewhere=(
        Elsewhere("PyTorch 2.13", "2026-11", "b = b.T.contiguous()\nfor _ in range(8):\n    a = a + b"),
        Elsewhere("tch-rs 0.22", "2026-11", "let b = b.tr().contiguous();\nfor _ in 0..8 { a = &a + &b; }"),
        Elsewhere(
            "MyGrad 2.5", "2026-11", "b = mg.tensor(np.ascontiguousarray(b.data.T))\nfor _ in range(8):\n    a = a + b"
        ),
    ),
)
