"""Search for the batch size that fits."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import tinygrad_edu as tg
from tinygrad_edu import tips
from tinygrad_edu.errors import OutOfMemoryError
from tinygrad_edu.tips import Claim, Elsewhere, Limit, Picture, Question, Result, Size, Source, Tip

tips.declare(tips.Fact("batch", "batch size found", "count", "the batch size that a way settles on"))


def inputs(generator: tg.Generator, guess: int, room: int, device: str) -> dict[str, Any]:
    w = tg.rand(256, generator=generator).to(device).requires_grad_()
    limit = tg.accelerator.memory_reserved() + room * 2**20  # what is there already does not count

    def step(batch: int) -> None:
        tg.accelerator.set_per_process_memory_fraction(limit / tg.sim.machine()["memory"])
        x = tg.ones(batch, 256, device=device)
        for _ in range(6):
            x = (x * w).tanh()
        x.sum().backward()
        w.grad = None

    return {"step": step, "guess": guess}


def slow(step: Any, guess: int) -> int:
    step(guess)
    return guess


def fits(step: Any, batch: int) -> bool:
    with suppress(OutOfMemoryError):
        step(batch)
        return True
    return False


def fast(step: Any, guess: int) -> int:
    batch = guess
    while fits(step, 2 * batch):
        batch *= 2
    for more in (batch // 2, batch // 4, batch // 8):
        batch += more * fits(step, batch + more)
    return batch


def guide(step: Any, guess: int) -> int:
    batch = 2
    while batch <= 1024 and fits(step, batch):
        batch *= 2
    return batch // 2


def found(result: Result) -> float:
    return float(result.fast["batch"])


TIP = Tip(
    slug="batch-size-search",
    title="Search for the batch size that fits",
    theme="devices",
    why="Whether a batch fits depends on **all that is alive at the peak**, so it is quicker tried than computed.",
    about=(
        "A guess is either too small, so that the device is not busy, or too large, and the run ends after an hour. "
        "Double the batch until a whole step, with its backward, no longer fits; then halve the distance. After "
        "`OutOfMemoryError` a program can go on, if nothing keeps what the failed step has made: so let each try be a "
        "function, and let go of the gradients. Keep a margin: other batches may be longer. And the largest is seldom "
        "the best, because samples a second stop growing once the device is full."
    ),
    sources=(
        Source("P", "Finding Optimal Batch Size", "double until the memory is full"),
        Source("R", "Maximize Batch Sizes", "double while a step fits"),
    ),
    parameters=(
        Size("guess", 32, 1, 2048, "the batch that somebody guessed"),
        Size("room", 60, 40, 60, "megabytes (of 2²⁰ bytes) that the program may use"),
    ),
    inputs=inputs,
    slow=slow,
    fast=fast,
    claims=(Claim("batch", price=True, times=4),),
    limits=(Limit({"guess": 2048}, "no difference", "Here the guess happened to be near."),),
    question=Question(
        "The graph keeps 12 kB of each sample, and there is room for 60 MB. Which batch does the search find?",
        tips.Number(1, 8192, "samples", within=0.15),
        found,
        tempting=4096,
        refutation="Doubling alone stops there. Halving the distance to 8192 finds what lies between.",
    ),
    explain="What is alive at the peak of a step beside the activations?",
    symptoms=("out of memory", "the processor or GPU is hardly busy"),
    picture=Picture("QueueTimeline", dict),
    elsewhere=(
        Elsewhere("PyTorch 2.13", "2026-11", "y = torch.ones(64, 256)  # except torch.OutOfMemoryError: halve"),
    ),
    outcomes={"slow": tips.FREE},
    slips=(tips.Slip("P", guide, {"equal": False}, "the guide only doubles, and stops at 1024."),),
    reads={"batch": lambda batch: batch},
    devices=("sim",),
    torch=None,
    differs_in_torch="The same holds on a GPU, whose memory is the limit.",
)
