"""Do not write through views that gradients go through."""

from __future__ import annotations

from typing import Any

import tinygrad_edu as tg
from tinygrad_edu import Tensor
from tinygrad_edu.tips import Claim, Elsewhere, Limit, Picture, Question, Result, Size, Slip, Source, Tip


def inputs(generator: tg.Generator, n: int, views: int) -> dict[str, Any]:
    x = tg.rand(n, n, generator=generator, requires_grad=True)
    return {"x": x, "w": tg.rand(n, generator=generator, requires_grad=True), "views": views}


def slow(x: Tensor, w: Tensor, views: int) -> tuple[Tensor, Tensor]:
    y = x * 2
    half = len(y) // 2
    parts = [y[i:half] for i in range(views)]
    parts[0].mul_(w)  # seen by all of them
    sum(p.sum() for p in parts).backward()
    return x.grad, w.grad


def fast(x: Tensor, w: Tensor, views: int) -> tuple[Tensor, Tensor]:
    y = x * 2
    half = len(y) // 2
    parts = [y[i:half] for i in range(views)]
    parts = [part * w for part in parts]
    sum(p.sum() for p in parts).backward()
    return x.grad, w.grad


def guide(x: Tensor, w: Tensor, views: int) -> tuple[Tensor, Tensor]:
    y = x * 2
    y[: len(y) // 2].add_(w)
    y.sum().backward()
    return x.grad, w.grad


def copied(result: Result) -> str:
    n = result.setting["n"]
    return {0: "nothing", n * (n // 2) * 4: "the half", n * n * 4: "all of y"}[result.slow["copied"]]


def picture() -> dict[str, Any]:
    a, b = tg.arange(8.0), tg.arange(8.0)
    saved = a[:4].clone()  # which the engine does by itself
    return {"A: y": a, "A: part": a[:4].mul_(3), "A: saved": saved, "B: y": b, "B: part": b[:4] * 3}


TIP = Tip(
    slug="in-place-costs-under-autograd",
    title="Do not write through views that gradients go through",
    theme="arrays",
    why="A write through a view in the graph **rewrites history**, and backward walks through every step of it.",
    about=(
        "Without gradients, a write through a view is just a write. With them, the tensor behind the view, its base, "
        "gets a node that means “as before, but this part is new”, and each view is taken again from there. In "
        "backward, each of these nodes fills a gradient as large as the base. No data is copied, except old values "
        "that a gradient needs."
    ),
    sources=(
        Source(
            "G",
            "Make Use of Views but Avoid Involving them in In-Place Operations",
            "in-place copies the tensor, and a view's base; a gain if many views see it",
        ),
    ),
    parameters=(
        Size("n", 512, 16, 1024, "the number of rows of y, and of columns; half of the rows are changed"),
        Size("views", 1, 1, 16, "how many views see the change and are used afterwards"),
    ),
    inputs=inputs,
    slow=slow,
    fast=fast,
    claims=(Claim("nodes"), Claim("copies", fast=0, slow=1), Claim("allocated")),
    limits=(
        Limit({"views": 16}, "false here", "One write reaches 16 views. B computes and keeps each of them separately."),
    ),
    slips=(
        Slip(
            "G",
            guide,
            {"copies": 0, "copied": 0},
            "MyGrad copies both. Here, as in PyTorch, history is rewritten, and for `add_` that needs no old values.",
        ),
    ),
    question=Question(
        "A multiplies half of `y` by `w` in place, and wants gradients. What must be copied for that?",
        ("nothing", "the half", "all of y"),
        copied,
        tempting="nothing",
        refutation="Writing in place is not free: the gradient of `w` needs the half as it was, so it is copied first.",
    ),
    explain="B makes one tensor more than A, and yet A needs more memory. What for?",
    symptoms=("out of memory", "my backward is slow"),
    picture=Picture("BufferMap", picture),
    elsewhere=(
        Elsewhere("PyTorch 2.13", "2026-11", "y = x * 2\npart = y[: len(y) // 2] * w\npart.sum().backward()"),
        Elsewhere("MyGrad 2.5", "2026-11", "y = x * 2\npart = y[: len(y) // 2] * w\npart.sum().backward()"),
    ),
)
