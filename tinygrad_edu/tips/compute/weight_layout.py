"""Store weights as you like, and do not turn them in each call."""

from __future__ import annotations

from typing import Any

import tinygrad_edu as tg
from tinygrad_edu import Tensor
from tinygrad_edu.nn import functional as F
from tinygrad_edu.tips import Choice, Claim, Elsewhere, Limit, Picture, Question, Result, Size, Source, Tip, Way


def inputs(generator: tg.Generator, rows: int, n: int, turned: str) -> dict[str, Any]:
    x, w = tg.randn(rows, n, generator=generator), tg.randn(n, n, generator=generator) / n**0.5
    return {"x": x, "w": w, "v": w.T.contiguous() if turned == "beforehand" else w.T, "turned": turned}


def slow(x: Tensor, w: Tensor, v: Tensor, turned: str) -> Tensor:
    return F.linear(x, w)  # a row of w for each output


def fast(x: Tensor, w: Tensor, v: Tensor, turned: str) -> Tensor:
    if turned == "in each call":
        v = w.T.contiguous()
    return x @ v  # a row of v for each input


def view(x: Tensor, w: Tensor, v: Tensor, turned: str) -> Tensor:
    return x @ w.T  # the same bytes as in A, with other strides


def faster(result: Result) -> str:
    return "both the same" if result.slow["copies"] == result.fast["copies"] else "A, without the copy"


def picture() -> dict[str, Any]:
    w = tg.arange(6.0).reshape(2, 3)
    return {"A: w": w, "C: w.T": w.T, "B: v": w.T.contiguous()}


TIP = Tip(
    slug="weight-layout",
    title="Store weights as you like, and do not turn them in each call",
    theme="compute",
    why="BLAS first **packs blocks of both matrices** into the order that it needs, whatever order they are in.",
    about=(
        "PyTorch stores the weights of a linear layer as (outputs, inputs), and multiplies by their transpose; "
        "TensorFlow and JAX store (inputs, outputs). In memory, a row of one is a column of the other. Should one be "
        "faster? A library for products copies small blocks of both operands into its own buffers before it "
        "multiplies, and reads either order for that. With one row it packs nothing, but reads each weight once, in "
        "either order. So there is no difference to rely on: with a few rows one may be ahead by a tenth, and which "
        "one depends on the size. What does cost is a copy: `w.T` is a view and free, `w.T.contiguous()` writes all "
        "weights again."
    ),
    sources=(
        Source("M", "Transposed vs non-transposed Linear layer weights.", "could help; libraries support both equally"),
    ),
    parameters=(
        Size("rows", 64, 1, 512, "rows of the input"),
        Size("n", 512, 16, 1024, "inputs, and as many outputs"),
        Choice("turned", "beforehand", ("beforehand", "in each call"), "when the weights of B are brought into order"),
    ),
    inputs=inputs,
    slow=slow,
    fast=fast,
    also=(Way("a view", view, words="`w.T` copies nothing: BLAS is told to read the other way round."),),
    claims=(
        Claim("calls", same=True),
        Claim("allocated", same=True),
        Claim("copies", same=True),
        Claim("copies", ways=("a view", "fast"), same=True),
        Claim("time", same=True),
    ),
    limits=(Limit({"turned": "in each call"}, "false here", "Now B copies all weights before each product."),),
    question=Question(
        "B has its weights in the order in which a product by hand would read them. Which of the two does less?",
        ("both the same", "A, without the copy", "B, in reading order"),
        faster,
        tempting="B, in reading order",
        refutation="Neither order is the one BLAS computes in: it packs blocks of both, so the work is the same.",
    ),
    explain="Which bytes does `w.T` change, and which does `w.T.contiguous()`?",
    symptoms=("inference is slow", "slower after a transpose"),
    picture=Picture("BufferMap", picture),
    elsewhere=(
        Elsewhere("PyTorch 2.13", "2026-11", "y = F.linear(x, w)   # w is (outputs, inputs)\nz = x @ w.T"),
        Elsewhere("JAX 0.11", "2026-11", "y = x @ v   # v is (inputs, outputs)"),
    ),
    devices=("cpu", "sim"),
)
