"""Let go of gradients between two steps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tinygrad_edu as tg
from tinygrad_edu import Tensor, nn, optim
from tinygrad_edu.common.wording import bytes_text
from tinygrad_edu.tips import Choice, Claim, Elsewhere, Limit, Picture, Question, Result, Size, Source, Tip
from tinygrad_edu.tips.outcomes import DIFFERS
from tinygrad_edu.tips.rewriting import forced
from tinygrad_edu.tips.signs import Seen, Sign
from tinygrad_edu.tips.tip import Slip, Way
from tinygrad_edu.tips.ways import mark


def inputs(generator: tg.Generator, n: int, read: str) -> dict[str, Any]:
    model = tg.nn.Linear(n, n)
    with tg.no_grad():
        for p in model.parameters():
            p.copy_(tg.rand(*p.shape, generator=generator) / n)
    return {"model": model, "x": tg.rand(64, n, generator=generator), "look": read == "yes"}


def slow(model: Any, x: Tensor, look: bool) -> Any:
    optimizer = tg.optim.SGD(model.parameters(), lr=0.1)
    for step in range(2):
        model(x).tanh().mean().backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)
        mark(f"after step {step}")
    return model.weight.grad.sum() if look else model.weight.detach()


def fast(model: Any, x: Tensor, look: bool) -> Any:
    optimizer = tg.optim.SGD(model.parameters(), lr=0.1)
    for step in range(2):
        model(x).tanh().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        mark(f"after step {step}")
    return model.weight.grad.sum() if look else model.weight.detach()


def forgotten(model: Any, x: Tensor, look: bool) -> Any:
    optimizer = tg.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        model(x).tanh().mean().backward()
        optimizer.step()
    return model.weight.detach()


def left(result: Result) -> str:
    a, b = (way["at"].get("after step 0", {}).get("live", 0) for way in (result.slow, result.fast))
    return "as much as the parameters" if a - b >= 4 * result.setting["n"] ** 2 else "nothing"


def applies(seen: Seen) -> Iterator[Sign]:
    for line, count in seen.zeroed.items():
        asked = 2 * seen.hosted(line)  # backward adds to each of them
        told, saves = "gradients were filled with zeros", f"{bytes_text(count)} written"
        yield Sign(line, told, asked or seen.seconds_at(line), virtual=bool(asked), saves=saves)


def without() -> Any:
    return forced((optim.Optimizer, "zero_grad"), (nn.Module, "zero_grad"), set_to_none=True)


TIP = Tip(
    slug="zero-grad-to-none",
    title="Let go of gradients between two steps",
    theme="autograd",
    why="A gradient of zeros **takes as much memory as any other**, and backward must add to it instead of setting it.",
    about=(
        "Every parameter has a gradient of its own size. Filled with zeros, it stays through the whole next forward "
        "pass, beside the activations; backward then reads it and adds. Let go of, it is made anew by backward, when "
        "the first activations are already on their way out. `zero_grad()` lets go of gradients by itself, here and "
        "in PyTorch since 2.0. What changes is that `p.grad` is None until backward has run, so code that reads it in "
        "between must expect that; and a parameter without a gradient is left out by the optimiser's step, while one "
        "with zeros still moves if there is momentum."
    ),
    sources=(Source("R", "Clear Gradients Regularly", "zero_grad after each step frees the gradients"),),
    parameters=(
        Size("n", 512, 16, 1024, "the width of the layer: it has n × n weights"),
        Choice("read", "no", ("no", "yes"), "whether the gradient is read after zero_grad"),
    ),
    inputs=inputs,
    slow=slow,
    fast=fast,
    also=(Way("never cleared", forgotten, DIFFERS, "The gradients of all steps so far are added up."),),
    claims=(Claim("live", when="after step 0"), Claim("peak"), Claim("calls")),
    limits=(Limit({"read": "yes"}, "could not be compared", "There is no gradient to read until backward has run."),),
    question=Question(
        "A has just called `zero_grad(set_to_none=False)`. How much memory do the gradients take now?",
        ("nothing", "as much as the parameters"),
        left,
        tempting="nothing",
        refutation="They are full of zeros, and a zero takes four bytes like any other number.",
    ),
    slips=(
        Slip(
            "R",
            slow,
            {"equal": True},
            "Its zero_grad fills with zeros, as PyTorch's did before 2.0: the comment says that it frees memory.",
        ),
    ),
    explain="At what moment of the next step does B have the gradients in memory again, and A?",
    symptoms=("out of memory", "memory does not go down after a step"),
    picture=Picture("MemoryRiver", dict),
    elsewhere=(
        Elsewhere("PyTorch 2.13", "2026-11", "model(x).tanh().mean().backward()\nmodel.zero_grad()\ny = model(x)"),
        Elsewhere("tch-rs 0.26", "2026-11", "optimizer.zero_grad();  // fills with zeros"),
    ),
    devices=("cpu", "sim", "cuda"),
    applies=applies,
    without=without,
)
