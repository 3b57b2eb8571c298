"""Find the batch size that fits by trying."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tinygrad_edu as tg
from tinygrad_edu import optim, tips
from tinygrad_edu.errors import OutOfMemoryError
from tinygrad_edu.tips import Claim, Elsewhere, Limit, Picture, Question, Result, Size, Source, Tip
from tinygrad_edu.tips.signs import Seen, Sign, raised_at

tips.declare(tips.Fact("batch", "batch size found", "count", "the batch size that a way settles on"))


def inputs(generator: tg.Generator, guess: int, room: int, device: str) -> dict[str, Any]:
    w = tg.rand(256, generator=generator).to(device).requires_grad_()
    optimizer = optim.Adam([w])
    limit = tg.accelerator.memory_reserved() + room * 2**20  # what is there already does not count

    def step(batch: int) -> None:
        tg.accelerator.set_per_process_memory_fraction(limit / tg.sim.machine()["memory"])
        x = tg.ones(batch, 256, device=device)
        for _ in range(6):
            x = (x * w).tanh()
        x.sum().backward()
        optimizer.step()
        optimizer.zero_grad()

    return {"step": step, "guess": guess}


def slow(step: Any, guess: int) -> int:
    step(guess)
    return guess


def fits(step: Any, batch: int) -> bool:
    try:
        step(batch)
    except OutOfMemoryError:
        return False
    return True


def fast(step: Any, guess: int) -> int:
    batch = guess
    while not fits(step, batch):
        batch //= 2
    while fits(step, 2 * batch):
        batch *= 2
    for more in (batch // 2, batch // 4, batch // 8):
        batch += more * fits(step, batch + more)
    return batch


def guide(step: Any, guess: int) -> int:
    return max(batch for batch in (2**i for i in range(1, 11)) if fits(step, batch))


def found(result: Result) -> float:
    return float(result.fast["batch"])


def applies(seen: Seen) -> Iterator[Sign]:
    if isinstance(seen.error, OutOfMemoryError):
        yield Sign(raised_at(seen.error), "the program ran out of memory", saves="a run that ended")


TIP = Tip(
    slug="batch-size-search",
    title="Find the batch size that fits by trying",
    theme="devices",
    why="Whether a batch fits depends on **all that is alive at the peak**, so trying is quicker than computing.",
    about=(
        "A guess is either too small, so that the device is not busy, or too large, and the run ends after an hour. "
        "Double the batch until a whole step, with backward and optimiser, no longer fits; then try between, with a "
        "half, a quarter and an eighth. After `OutOfMemoryError` a program can go on, if nothing keeps what the "
        "failed step has made: so `fits` calls `step`, and returns False on that error. Search on a copy of the "
        "model, because the steps change it, and keep a margin: other batches may be longer. The largest batch is "
        "seldom the best: samples a second stop growing once the device is busy, and a larger batch changes how the "
        "model learns."
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
    limits=(Limit({"guess": 2048}, "no difference", "This guess happens to be near the limit."),),
    question=Question(
        "A step's peak is 10 kB for each sample, and there is room for 60 MB. Which batch does the search find?",
        tips.Number(1, 8192, "samples", within=0.15),
        found,
        tempting=4096,
        refutation="Doubling alone stops there. The smaller steps after it find what lies between.",
    ),
    explain="What is alive at the peak of a step besides the activations?",
    symptoms=("out of memory", "the processor or GPU is hardly busy"),
    picture=Picture("QueueTimeline", dict),
    elsewhere=(
        Elsewhere("PyTorch 2.13", "2026-11", "y = torch.ones(64, 256)  # except torch.OutOfMemoryError: too large"),
    ),
    outcomes={"slow": tips.FREE},
    slips=(tips.Slip("P", guide, {"equal": False}, "the guide only doubles, up to 1024, and never clears gradients."),),
    reads={"batch": lambda batch: batch},
    devices=("sim",),
    torch=None,
    differs_in_torch="The same holds on a GPU, whose memory is the limit.",
    applies=applies,
)
