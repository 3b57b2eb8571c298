"""Scale the loss, so that float16 gradients do not vanish."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tinygrad_edu as tg
from tinygrad_edu import Tensor, amp, optim, tips
from tinygrad_edu.nn import functional as F
from tinygrad_edu.tips import Choice, Claim, Elsewhere, Limit, Picture, Question, Result, Size, Source, Tip
from tinygrad_edu.tips.signs import Seen, Sign

tips.declare(tips.Fact("zeros", "gradients that are 0", "", "the share of a gradient that is 0, at the first step"))
tips.declare(tips.Fact("loss left", "loss that is left", "", "the last loss, as a share of the first"))


def inputs(generator: tg.Generator, rows: int, dtype: str) -> dict[str, Any]:
    x, true = tg.randn(rows, 64, generator=generator), tg.randn(64, 64, generator=generator)
    return {"x": x, "y": x @ (true * 1e-4), "dtype": dtype}


def train(x: Tensor, y: Tensor, dtype: str, scaler: amp.GradScaler) -> Any:
    w = tg.zeros(64, 64, requires_grad=True)
    optimizer = optim.SGD([w], lr=32.0)
    losses, zeros = [], []
    for _ in range(8):
        optimizer.zero_grad()
        with amp.autocast("cpu", dtype=dtype):
            loss = F.mse_loss(x @ w, y)
        scaler.scale(loss).backward()  # the loss times the scale
        zeros.append((w.grad == 0).float().mean().item())
        scaler.step(optimizer)  # divides the gradients again, and skips the step if they overflow
        scaler.update()
        losses.append(loss.item())
        tips.log(loss=losses[-1])
    return zeros[0], losses[-1] / losses[0]


def slow(x: Tensor, y: Tensor, dtype: str) -> Any:
    return train(x, y, dtype, amp.GradScaler("cpu", enabled=False))


def fast(x: Tensor, y: Tensor, dtype: str) -> Any:
    return train(x, y, dtype, amp.GradScaler("cpu"))


def learns(result: Result) -> str:
    return "it learns" if result.slow["loss left"] < 0.5 else "it stalls: all gradients are 0"


def picture() -> dict[str, Any]:
    g = tg.tensor([1e-3, 1e-6, 1e-8])
    return {"gradients, float32": g, "in float16": g.half(), "scaled, in float16": (g * 1024).half()}


def applies(seen: Seen) -> Iterator[Sign]:
    for line, shares in seen.vanished.items():
        if len(shares) > 1 and min(shares) > 0.5:
            yield Sign(line, f"{min(shares):.0%} of the gradients were 0 in float16", saves="steps that move nothing")


TIP = Tip(
    slug="loss-scaling",
    title="Scale the loss, so that float16 gradients do not vanish",
    theme="precision",
    why="float16 has **nothing between 0 and 6 · 10⁻⁸**, and gradients of a mean are that small.",
    about=(
        "A mean over a million numbers hands each of them a millionth of the gradient. In float16 that is rounded to "
        "0, the weights stay as they are, and nothing says so. `GradScaler` multiplies the loss, so that all gradients "
        "become larger by the same factor, and divides them again in float32 before the step. If one becomes infinite, "
        "it skips the step and halves the scale; after 2,000 good steps it doubles it. A skipped step now and then is "
        "how it finds the scale, and no fault. bfloat16 has the range of float32, and needs none of this. Clip "
        "gradients only after `scaler.unscale_(optimizer)`."
    ),
    sources=(
        Source("P", "Mixed Precision Training", "GradScaler keeps float16 gradients from becoming 0"),
        Source("R", "Mixed Precision Training", "scale the loss, unscale before the step"),
    ),
    parameters=(
        Size("rows", 16384, 256, 32768, "rows of 64 numbers, over which the loss is a mean"),
        Choice("dtype", "float16", ("float16", "bfloat16"), "what autocast computes in"),
    ),
    inputs=inputs,
    slow=slow,
    fast=fast,
    outcomes={"slow": tips.FREE, "fast": tips.FREE},
    claims=(Claim("zeros", slow=1.0, fast=0.0), Claim("loss left", times=10)),
    limits=(Limit({"dtype": "bfloat16"}, "no difference", "bfloat16 goes down to 10⁻³⁸, as float32 does."),),
    question=Question(
        "The loss is a mean over a million numbers of about 0.0008, computed in float16. What does A do?",
        ("it learns", "it stalls: all gradients are 0"),
        learns,
        tempting="it learns",
        refutation="Each gradient is about 10⁻⁹, less than half of the smallest number that float16 has.",
    ),
    explain="Why does it help to multiply the loss, and why is the step the same in the end?",
    symptoms=("my loss does not change", "my gradients are wrong"),
    picture=Picture("BufferMap", picture),
    elsewhere=(
        Elsewhere(
            "PyTorch 2.13",
            "2026-11",
            'scaler = torch.amp.GradScaler("cpu")\nw = torch.zeros(64, 64, requires_grad=True)\n'
            'with torch.autocast("cpu", dtype=torch.float16):\n'
            "    loss = torch.nn.functional.mse_loss(x @ w, y)\nscaler.scale(loss).backward()",
        ),
    ),
    reads={"zeros": lambda found: found[0], "loss left": lambda found: found[1]},
    seeds=3,
    torch=None,
    differs_in_torch="A and B come out the same there.",
    applies=applies,
)
