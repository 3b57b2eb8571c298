"""Clip gradients in one pass, without a wait for each parameter."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tinygrad_edu as tg
from tinygrad_edu import Tensor, nn
from tinygrad_edu.tips import Claim, Elsewhere, Fact, Limit, Number, Picture, Question, Size, Source, Tip, Way
from tinygrad_edu.tips.facts import declare
from tinygrad_edu.tips.outcomes import DIFFERS
from tinygrad_edu.tips.signs import Seen, Sign

BOUND = 1.0
declare(Fact("norm", "norm of all gradients", "", "the length of all gradients as one vector, after the way"))


def inputs(generator: tg.Generator, count: int, steep: int, device: str) -> dict[str, Any]:
    parameters = [tg.zeros(64, 64).to(device).requires_grad_() for _ in range(count)]
    for p in parameters:
        p.grad = (tg.rand(64, 64, generator=generator) * steep / 1000).to(device)
    return {"parameters": parameters}


def gradients(parameters: list[Tensor]) -> list[Any]:
    return [p.grad.numpy(force=True).copy() for p in parameters]


def norm_of(found: list[Any]) -> float:
    return float(sum((g.astype("float64") ** 2).sum() for g in found) ** 0.5)


def slow(parameters: list[Tensor]) -> list[Any]:
    total = sum(p.grad.square().sum().item() for p in parameters) ** 0.5  # the host waits for each
    if total > BOUND:
        for p in parameters:
            p.grad.mul_(BOUND / total)
    return gradients(parameters)


def fast(parameters: list[Tensor]) -> list[Any]:
    nn.utils.clip_grad_norm_(parameters, BOUND)
    return gradients(parameters)


def each_by_itself(parameters: list[Tensor]) -> list[Any]:
    for p in parameters:
        nn.utils.clip_grad_norm_([p], BOUND)
    return gradients(parameters)


def not_clipped(parameters: list[Tensor]) -> list[Any]:
    return gradients(parameters)


def applies(seen: Seen) -> Iterator[Sign]:
    for line, most in seen.read_in_step.items():
        if most >= max(3, seen.parameters) and seen.grads_read[seen.row(line)] >= most:
            asked = seen.hosted(line)
            told = f"{most} numbers of gradients were read in a step, one by one"
            yield Sign(line, told, asked or seen.seconds_at(line), virtual=bool(asked))


TIP = Tip(
    slug="gradient-clipping",
    title="Clip gradients in one pass, without a wait for each parameter",
    theme="loops",
    why="Reading a norm on the host **waits for the device**; a norm that stays there lets the queue run ahead.",
    about=(
        "One steep batch can make gradients so long that a step throws the model far away. Clipping shortens all of "
        "them by one factor, so that their length as one vector is at most the bound: the direction stays. For that "
        "the norm is needed, and whoever asks each parameter for its part with `.item()` waits once for each. "
        "`clip_grad_norm_` adds the parts up on the device and scales with the result, without asking. Clip after "
        "backward and before the step; with a loss scaler, unscale first. To clip each parameter by itself is another "
        "thing: it changes the direction."
    ),
    sources=(Source("R", "Gradient Clipping", "a loop that asks the device for the norm of each gradient"),),
    parameters=(
        Size("count", 16, 1, 64, "how many parameters there are"),
        Size("steep", 100, 0, 1000, "how large the gradients are, in thousandths"),
    ),
    inputs=inputs,
    slow=slow,
    fast=fast,
    also=(
        Way("not clipped", not_clipped, DIFFERS, words="The step would be as long as its steepest batch makes it."),
        Way("each by itself", each_by_itself, DIFFERS, words="Each is within the bound; all together are not."),
    ),
    reads={"norm": norm_of},
    claims=(
        Claim("waiting"),
        Claim("virtual"),
        Claim("norm", fast=BOUND, within=0.001, ways=("not clipped", "fast")),
    ),
    limits=(Limit({"steep": 0}, "no difference", "Gradients within the bound stay as they are."),),
    question=Question(
        "All 16 gradients together are about 15 long, and the bound is 1. How long are they after B?",
        Number(0, 20, within=0.01),
        lambda result: float(result.fast["norm"]),
        tempting=4,
        refutation="The bound is for all parameters together, not for each.",
    ),
    explain="Why does the direction of the step change if each parameter is clipped by itself?",
    symptoms=("my loss suddenly jumps, or becomes nan", "my GPU is idle most of the time"),
    picture=Picture("QueueTimeline", dict),
    elsewhere=(
        Elsewhere(
            "PyTorch 2.13",
            "2026-11",
            "w = torch.ones(3, requires_grad=True)\n(w * 5).sum().backward()\n"
            "norm = torch.nn.utils.clip_grad_norm_([w], 1.0)",
        ),
    ),
    devices=("sim",),
    torch=None,
    differs_in_torch="Waiting is simulated here; in PyTorch the same holds on a GPU, where .item() waits, too.",
    tolerance=1e-4,
    applies=applies,
)
