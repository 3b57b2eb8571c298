"""Wait for the device before you stop the clock."""

from __future__ import annotations

from typing import Any

import tinygrad_edu as tg
from tinygrad_edu import Tensor
from tinygrad_edu.tips import DIFFERS, Choice, Elsewhere, Limit, Picture, Question, Result, Size, Source, Tip, Way


def inputs(generator: tg.Generator, n: int, read: str, device: str) -> dict[str, Any]:
    x = (tg.randn(n, n, generator=generator) / n**0.5).to(device)
    x @ x  # there is memory for the result
    tg.accelerator.synchronize()

    def work() -> Tensor:
        y = x @ x @ x
        return y.cpu() if read == "yes" else y

    return {"work": work, "clock": lambda: tg.sim.now() / 1e6}  # milliseconds


def slow(work: Any, clock: Any) -> float:
    start = clock()
    work()
    return float(clock() - start)


def fast(work: Any, clock: Any) -> float:
    tg.accelerator.synchronize()  # what was asked for before does not count
    start = clock()
    work()
    tg.accelerator.synchronize()
    return float(clock() - start)


def events(work: Any, clock: Any) -> float:
    first, last = (tg.accelerator.Event(enable_timing=True) for _ in range(2))
    first.record()
    work()
    last.record()
    last.synchronize()
    return float(first.elapsed_time(last))


def measured(result: Result) -> str:
    return "the whole work" if result.slow["equal"] else "only the launches"


TIP = Tip(
    slug="time-with-sync",
    title="Wait for the device before you stop the clock",
    theme="devices",
    why="A call returns when the work **is in the queue**; only the device knows when it is done.",
    about=(
        "Between the two clock readings, the host has put two products into the queue and has gone on. The difference "
        "is the time of two launches, whatever the size of the matrices: a figure that looks wonderful and means "
        "nothing. The time turns up somewhere else, often at the first `item()` or `print`, which has to wait. So "
        "call `synchronize()` before each reading, also before the first. Events are the better clock: the device "
        "itself notes when it reaches each of them. Gaps between kernels still count, so a program that is short of "
        "work looks slow there too. And measure several times, after a first run that does not count."
    ),
    sources=(Source("P", "Simple Timing", "call torch.cuda.synchronize() before reading the clock"),),
    parameters=(
        Size("n", 1024, 256, 2048, "the rows and columns"),
        Choice("read", "no", ("no", "yes"), "whether the result is copied to the host"),
    ),
    inputs=inputs,
    slow=slow,
    fast=fast,
    also=(Way("events", events, words="The device notes when it reaches each of them."),),
    outcomes={"slow": DIFFERS},
    claims=(),
    limits=(
        Limit({"read": "yes"}, "no difference", "A copy to the host waits by itself, so no work is left in the queue."),
    ),
    question=Question(
        "A reads the clock, multiplies large matrices on the device, and reads the clock again. What has it measured?",
        ("the whole work", "only the launches"),
        measured,
        tempting="the whole work",
        refutation="The products were still in the queue when A read the clock again.",
    ),
    explain="What has happened on the device when `work()` returns?",
    symptoms=("my timings change from run to run", "my model is slow, and I do not know where"),
    picture=Picture("QueueTimeline", dict),
    elsewhere=(
        Elsewhere(
            "PyTorch 2.13",
            "2026-11",
            "import time\nready = torch.accelerator.synchronize if torch.accelerator.is_available() else int\n"
            "ready()\nstart = time.perf_counter()\ny = torch.ones(8) * 2\nready()\nspent = time.perf_counter() - start",
        ),
        Elsewhere("JAX 0.6", "2026-11", "y = jax.block_until_ready(f(x))"),
    ),
    devices=("sim",),
    torch=None,
    differs_in_torch="The same holds on a GPU. On a CPU the call itself waits.",
    tolerance=0.1,  # B also counts the launches
)
