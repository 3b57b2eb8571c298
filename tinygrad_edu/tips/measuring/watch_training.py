"""Watch more than the loss."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import tinygrad_edu as tg
from tinygrad_edu import Tensor
from tinygrad_edu.autograd import detect_anomaly
from tinygrad_edu.tips import Choice, Elsewhere, Limit, Picture, Question, Result, Size, Source, Tip
from tinygrad_edu.tips.outcomes import DIFFERS
from tinygrad_edu.tips.signs import Seen, Sign
from tinygrad_edu.tips.ways import Shown


def inputs(generator: tg.Generator, n: int, fault: str) -> dict[str, Any]:
    x = tg.rand(n, generator=generator)
    if fault == "a zero":
        x[0] = 0.0
    return {"w": tg.ones(n, requires_grad=True), "x": x}


def train(w: Tensor, x: Tensor) -> list[float]:
    """Three steps of a model that takes a root. A slope of infinity, times 0, is nan."""
    losses = []
    for _ in range(3):
        with np.errstate(all="ignore"):  # nobody looks
            loss = (w * x).abs().sqrt().mul(x).sum()
            loss.backward()
        losses.append(round(loss.item(), 2))
        with tg.no_grad():
            w -= 0.001 * w.grad
            w.grad = None
    return losses


def slow(w: Tensor, x: Tensor) -> Any:
    losses = train(w, x)
    said = "nothing" if losses[-1] == losses[-1] else "the loss is nan"
    return Shown("What is seen", f"losses {losses}", said)


def fast(w: Tensor, x: Tensor) -> Any:
    try:
        with detect_anomaly():
            train(w, x)
    except RuntimeError as error:  # it names the operation
        return Shown("What is seen", str(error), "sqrt" if "sqrt" in str(error).lower() else "?")
    return Shown("What is seen", "nothing went wrong", "nothing")


def planted(w: Tensor, x: Tensor) -> Any:
    return "sqrt" if x.min().item() == 0.0 else "nothing"


def known(result: Result) -> str:
    return "the operation that went wrong" if result.slow["equal"] else "only that the loss is nan"


def root(w: Tensor) -> Tensor:
    return w.sqrt().sum()


def applies(seen: Seen) -> Iterator[Sign]:
    if seen.has_bad:
        yield Sign(seen.bad, "a result was nan", saves="a run that cannot learn any more")


TIP = Tip(
    slug="watch-training",
    title="Watch more than the loss",
    theme="measuring",
    why="A nan **spreads to everything that it meets**, so the loss says that something broke, and not where.",
    about=(
        "In the first step the loss is a number, and everything looks well. But the slope of a root is infinite at 0, "
        "and backward multiplies it by 0: the gradient of one weight is nan. The optimiser writes it into the weight, "
        "and the next loss is nan, far from the cause. `detect_anomaly` stops at the operation whose gradient is the "
        "first nan, and names its line in forward. It looks at every result, which takes time: switch it on to search, "
        "and off to train. `Flow` notes the norm of each layer's gradients and how far each step moves the weights: "
        "there a run that will fail shows earlier."
    ),
    sources=(Source("R", "Performance Checklist", "track gradient flow and numerical stability"),),
    parameters=(
        Size("n", 100, 2, 10_000, "the number of weights"),
        Choice("fault", "a zero", ("a zero", "none"), "what is wrong with the data"),
    ),
    inputs=inputs,
    slow=slow,
    fast=fast,
    truth=planted,
    outcomes={"slow": DIFFERS},
    claims=(),
    limits=(Limit({"fault": "none"}, "no difference", "Nothing breaks, so there is nothing to name."),),
    question=Question(
        "One of a hundred inputs is 0, and the model takes a root. What do you learn from the losses of A?",
        ("the operation that went wrong", "only that the loss is nan"),
        known,
        tempting="the operation that went wrong",
        refutation="The first loss is a good number. The nan is born in backward, and shows one step later.",
    ),
    explain="Why is the first loss still a number, although the fault is in the data from the start?",
    symptoms=("my loss is nan", "my loss explodes"),
    picture=Picture(
        "GraphStepper", lambda: {"slow": root, "fast": root, "w": tg.tensor([0.25, 1.0], requires_grad=True)}
    ),
    elsewhere=(
        Elsewhere(
            "PyTorch 2.13",
            "2026-11",
            "with torch.autograd.detect_anomaly(check_nan=True):\n    y = (w * x).abs().sum()\n    y.backward()",
        ),
    ),
    applies=applies,
)
