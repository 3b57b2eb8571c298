"""Take an activation that is one operation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tinygrad_edu as tg
from tinygrad_edu import Tensor, tips
from tinygrad_edu.nn import functional as F
from tinygrad_edu.tips import Choice, Claim, Elsewhere, Limit, Picture, Question, Result, Size, Source, Tip, Way
from tinygrad_edu.tips.outcomes import DIFFERS
from tinygrad_edu.tips.signs import Seen, Sign

tips.declare(tips.Fact("off", "largest error", "", "the largest difference from the activation in float64"))


def inputs(generator: tg.Generator, n: int, activation: str) -> dict[str, Any]:
    return {"x": tg.linspace(-6.0, 6.0, n), "activation": activation}


def slow(x: Tensor, activation: str) -> Tensor:
    if activation == "relu":
        return x * (x > 0)
    return x * (1 + (x / 2**0.5).erf()) / 2


def fast(x: Tensor, activation: str) -> Tensor:
    return F.fast_activation(x, activation)


def in_place(x: Tensor, activation: str) -> Tensor:
    return F.fast_activation_(x, activation)


def fast_in_torch(x: Any, activation: str) -> Any:
    from torch.nn import functional

    return functional.gelu(x, approximate="tanh") if activation == "gelu" else functional.relu(x)


def in_place_in_torch(x: Any, activation: str) -> Any:
    import torch

    return torch.ops.aten.gelu_(x, approximate="tanh") if activation == "gelu" else x.relu_()


def off(y: Any) -> float:
    x, found = tg.linspace(-6.0, 6.0, len(y)).double(), tg.tensor(y.cpu().numpy()).double()
    return float(min((found - f(x)).abs().max().item() for f in (F.gelu, F.relu)))  # of the one that it is


def agree(result: Result) -> str:
    return "all that float32 has" if result.fast["off"] < 1e-5 else "three"


def applies(seen: Seen) -> Iterator[Sign]:
    for place in seen.at("mul"):
        ops = seen.ops_at(place.line)
        silu = place.by_itself and (place.came_from(0, "sigmoid") or place.came_from(1, "sigmoid"))
        relu = place.by_itself and place.came_from(1, "gt")
        gelu = "erf" in ops or ({"tanh", "add"} <= ops and "pow" in ops)
        if (silu or relu or gelu) and not ops & {"linear", "matmul"}:
            told = f"an activation was computed {place.count} times from its formula, operation by operation"
            yield Sign(place.line, told, seen.seconds_at(place.line))


TIP = Tip(
    slug="fast-activation",
    title="Take an activation that is one operation",
    theme="compute",
    why="A formula of five operations visits every number **five times**, and writes each result between to memory.",
    about=(
        "Each common activation is there as one operation, which does all its steps while a piece of the numbers is at "
        "hand. For `gelu` one of the steps is erf, which takes long. The fast form has tanh in its place, and is wrong "
        "by less than 0.0005. GPT-2 was trained with that form; use weights with the form that they were trained with. "
        "`fast_activation_` writes over its operand: it needs no buffer, and often a little less time, but the old "
        "numbers are gone. relu and tanh have no faster form here, and sigmoid is made from tanh. In Lux, "
        "`fast_activation` never changes the function: there `NNlib.fast_act` chooses the approximation."
    ),
    sources=(
        Source("L", "Faster Primitives", "replace σ.(x) with fast_activation; its in-place form is often faster"),
    ),
    parameters=(
        Size("n", 1_048_576, 1024, 2_097_152, "how many numbers there are"),
        Choice("activation", "gelu", ("gelu", "relu"), "which activation"),
    ),
    inputs=inputs,
    slow=slow,
    fast=fast,
    truth=slow,
    outcomes={"fast": DIFFERS},
    also=(
        Way("in place", in_place, DIFFERS, "It writes over x: no buffer is made, and the caller's numbers are gone."),
    ),
    claims=(
        Claim("calls", times=5),
        Claim("peak", times=2),
        Claim("off", fast=0.00047, within=0.05),
        Claim("time"),
    ),
    limits=(Limit({"activation": "relu"}, "no difference", "relu has no other form, and A has two operations."),),
    question=Question(
        "The numbers reach from -6 to 6. In how many decimal places can you trust B, wherever you look?",
        ("three", "all that float32 has"),
        agree,
        tempting="all that float32 has",
        refutation="The fast gelu is another curve: where it is worst, the fourth decimal place is wrong.",
    ),
    explain="Which of A's operations need a buffer only to hand it to the next one?",
    symptoms=("inference is slow", "out of memory"),
    picture=Picture("MemoryRiver", dict),
    elsewhere=(
        Elsewhere("PyTorch 2.13", "2026-11", "y = F.gelu(x, approximate='tanh')"),
        Elsewhere("Lux 1.0", "2026-11", "y = fast_activation(NNlib.fast_act(NNlib.gelu, x), x)"),
    ),
    devices=("cpu", "sim"),
    reads={"off": off},
    torch={"fast": fast_in_torch, "in place": in_place_in_torch},
    applies=applies,
)
