"""Overwrite what nobody needs any more."""

from __future__ import annotations

from typing import Any

import tinygrad_edu as tg
from tinygrad_edu import Tensor
from tinygrad_edu.tips import Choice, Claim, Elsewhere, Limit, Picture, Question, Result, Size, Source, Tip


def inputs(generator: tg.Generator, n: int, gradient: str) -> dict[str, Any]:
    return {"x": tg.randn(n, n, generator=generator, requires_grad=gradient == "wanted")}


def slow(x: Tensor) -> Tensor:
    y = x.exp()
    y = y - 1
    y = tg.relu(y)
    if x.requires_grad:
        y.sum().backward()
    return y


def fast(x: Tensor) -> Tensor:
    y = x.exp()
    y.sub_(1)
    y.relu_()
    if x.requires_grad:
        y.sum().backward()
    return y


def buffers(result: Result) -> str:
    one = 4 * result.setting["n"] ** 2
    return ("one", "two", "three")[min(result.slow["peak"] // one, 3) - 1]


def picture() -> dict[str, Any]:
    y = tg.arange(6.0).exp()
    return {"A: old y": y, "A: new y": y - 1, "B: y": y.clone().sub_(1)}


TIP = Tip(
    slug="in-place",
    title="Overwrite what nobody needs any more",
    theme="arrays",
    why="`y = y - 1` fills a **new buffer** while the old one still exists; `y.sub_(1)` writes over the old.",
    about=(
        "Each operation puts its result into a new buffer. Then the name `y` moves on to it, and only then is the "
        "old buffer freed, so for a while there are two. Operations with an underscore, and layers with "
        "`inplace=True`, write their result over their operand. Only overwrite what is yours: here the result of "
        "`exp`, which nobody else has seen. Writing over `x` itself would change the caller's numbers too. And "
        "backward may need the old values: then an error tells you which operation wrote over what."
    ),
    sources=(
        Source("P", "Use In-Place Operations", "x.add_(1) and relu(inplace=True) save memory"),
        Source("R", "In-place Operations", "use add_(), as + creates a new tensor"),
    ),
    parameters=(
        Size("n", 1024, 16, 2048, "the number of rows, and of columns"),
        Choice("gradient", "not wanted", ("not wanted", "wanted"), "whether x requires grad, and backward is called"),
    ),
    inputs=inputs,
    slow=slow,
    fast=fast,
    claims=(Claim("allocated", times=3), Claim("peak", times=2)),
    limits=(
        Limit(
            {"gradient": "wanted"},
            "could not be compared",
            "The gradient of exp is its result, and B has written over that: an error is better than a wrong gradient.",
        ),
    ),
    question=Question(
        "A makes three tensors, one after the other, and calls each of them `y`. How many are in memory at once?",
        ("one", "two", "three"),
        buffers,
        tempting="one",
        refutation="Two at most: the old `y` is freed when its name moves on, once the new one is computed.",
    ),
    explain="A gives the name y to a new tensor twice. When is the memory of the old one freed?",
    symptoms=("out of memory",),
    picture=Picture("BufferMap", picture),
    elsewhere=(
        Elsewhere("PyTorch 2.13", "2026-11", "y = x.exp()\ny.sub_(1)\nF.relu(y, inplace=True)"),
        Elsewhere("tch-rs 0.26", "2026-11", "let mut y = x.exp();\ny -= 1.0;\nlet _ = y.relu_();"),
    ),
    devices=("cpu", "sim", "cuda"),
)
