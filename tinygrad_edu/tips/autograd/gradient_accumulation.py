"""Add up the gradients of small batches, each with its share."""

from __future__ import annotations

from typing import Any

import tinygrad_edu as tg
from tinygrad_edu import Tensor
from tinygrad_edu.nn import functional as F
from tinygrad_edu.tips import Choice, Claim, Elsewhere, Limit, Picture, Question, Size, Source, Tip
from tinygrad_edu.tips.outcomes import DIFFERS
from tinygrad_edu.tips.tip import Slip, Way
from tinygrad_edu.tips.trades import TRADES, trade


def inputs(generator: tg.Generator, n: int, parts: int, norm: str) -> dict[str, Any]:
    w = (tg.randn(64, 256, generator=generator) / 8).requires_grad_()
    v = tg.randn(256, 64, generator=generator) / 16

    def model(x: Tensor) -> Tensor:
        h = (x @ w).tanh() @ v
        return F.batch_norm(h, None, None, training=True) if norm == "batch" else h

    x, y = (tg.rand(n, 64, generator=generator) for _ in range(2))
    return {"model": model, "w": w, "x": x, "y": y, "size": -(-n // parts)}


def slow(model: Any, w: Tensor, x: Tensor, y: Tensor, size: int) -> Tensor:
    F.mse_loss(model(x), y).backward()
    return w.grad


def fast(model: Any, w: Tensor, x: Tensor, y: Tensor, size: int) -> Tensor:
    for part, wanted in zip(x.split(size), y.split(size), strict=True):
        share = len(part) / len(x)
        (F.mse_loss(model(part), wanted) * share).backward()
    return w.grad


def no_share(model: Any, w: Tensor, x: Tensor, y: Tensor, size: int) -> Tensor:
    for part, wanted in zip(x.split(size), y.split(size), strict=True):
        F.mse_loss(model(part), wanted).backward()
    return w.grad


def guide(model: Any, w: Tensor, x: Tensor, y: Tensor, size: int) -> Tensor:
    steps = len(x.split(size))
    for part, wanted in zip(x.split(size), y.split(size), strict=True):
        (F.mse_loss(model(part), wanted) / steps).backward()
    return w.grad


TIP = Tip(
    slug="gradient-accumulation",
    title="Add up the gradients of small batches, each with its share",
    theme="autograd",
    why="`.grad` adds up, so small batches give **the gradient of the whole one**, if each counts by its share.",
    about=(
        "Backward frees the activations of a small batch before the next one begins, so the peak is that of one part. "
        "The loss is a mean: the mean over all is the sum of the parts' means, each times its share of the samples. "
        "Without the share, the gradient is as many times too large as there are parts, which looks like a learning "
        "rate that is too high. Dividing by the number of parts is right only if all have the same length: the last "
        "one is often shorter, and a token mean hardly ever is the same. Nothing else may depend on the batch, as "
        "batch norm does."
    ),
    sources=(
        Source("P", "Gradient Accumulation", "the loss is divided by the number of steps: like a larger batch"),
        Source("R", "Use Gradient Accumulation for Large Batches", "the same, with 4 steps"),
    ),
    parameters=(
        Size("n", 2000, 8, 4096, "the number of samples in the whole batch"),
        Size("parts", 6, 1, 8, "into how many small batches it is cut; the last one may be shorter"),
        Choice("norm", "none", ("none", "batch"), "whether the model has a batch norm"),
    ),
    inputs=inputs,
    slow=slow,
    fast=fast,
    also=(Way("without the share", no_share, DIFFERS, "The gradient is as many times too large as there are parts."),),
    claims=(Claim("peak", times=3), Claim("calls", price=True, times=4)),
    limits=(
        Limit({"parts": 1}, "no difference", "One part is the whole batch."),
        Limit({"norm": "batch"}, "false here", "Batch norm takes the mean of each part, so the model is another."),
    ),
    slips=(
        Slip("P", guide, {"equal": False}, "With 2000 samples in 6 parts the last is shorter, and counts too much."),
    ),
    question=Question(
        "B computes the gradient of the same batch in six parts. What does it need, beside A?",
        TRADES,
        trade,
        tempting=TRADES[0],
        refutation="Each part runs all operations of the model, on fewer samples: many times as many, each smaller.",
    ),
    explain="Both get the same gradient. What does A hold at the end of forward that B never holds at once?",
    symptoms=("out of memory", "my loss explodes"),
    picture=Picture("MemoryRiver", dict),
    elsewhere=(
        Elsewhere("PyTorch 2.13", "2026-11", "part = x.split(size)[0]\nloss = part.mean() * (len(part) / len(x))"),
    ),
    devices=("cpu", "sim", "cuda"),
    tolerance=1e-4,
)
