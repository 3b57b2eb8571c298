"""Let the allocator keep what it has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tinygrad_edu as tg
from tinygrad_edu import Tensor, tips
from tinygrad_edu.backends.sim.device import SimBackend
from tinygrad_edu.tips import Claim, Elsewhere, Limit, Picture, Question, Result, Size, Source, Tip
from tinygrad_edu.tips.rewriting import replaced
from tinygrad_edu.tips.signs import Seen, Sign, spent

tips.declare(tips.Fact("given back", "given back", "bytes", "how much less is reserved at the end"))
tips.declare(tips.Fact("tensors hold", "more in tensors", "bytes", "how much more is allocated at the end"))


def inputs(generator: tg.Generator, steps: int, kernels: int, device: str) -> dict[str, Any]:
    x = tg.rand(1700, 1700, generator=generator).to(device)

    def step(x: Tensor) -> Tensor:
        for _ in range(kernels):
            x = x * 0.5
        return x.mean()

    return {"x": x, "step": step, "steps": steps}


def slow(x: Tensor, step: Any, steps: int) -> list[Any]:
    start, means = memory(), []
    for _ in range(steps):
        means.append(step(x))
        tg.accelerator.empty_cache()  # "because memory looks full"
    return [tg.stack(means), start, memory()]


def fast(x: Tensor, step: Any, steps: int) -> list[Any]:
    start, means = memory(), []
    for _ in range(steps):
        means.append(step(x))
    return [tg.stack(means), start, memory()]


def memory() -> dict[str, int]:
    return {"in tensors": tg.accelerator.memory_allocated(), "reserved": tg.accelerator.memory_reserved()}


def falls(result: Result) -> str:
    slow, fast = result.slow, result.fast
    if slow["tensors hold"] < fast["tensors hold"]:
        return "what tensors hold"
    return "only what is reserved" if slow["given back"] > fast["given back"] else "nothing"


def applies(seen: Seen) -> Iterator[Sign]:
    works = [work for work in seen.works if work.name == "empty_cache"]
    if len(works) >= 4:
        told = f"the cache was emptied {len(works)} times, and memory reserved anew"
        yield Sign(works[-1].line, told, spent(works), virtual=True)


def without() -> Any:
    return replaced(SimBackend, "empty_cache", lambda self: None)


TIP = Tip(
    slug="empty-cache",
    title="Let the allocator keep what it has",
    theme="devices",
    why="Free memory in reserve is **handed out again without asking the driver**, which waits for the device first.",
    about=(
        "Two figures describe a device's memory. *Allocated* is what tensors hold; *reserved* is what the allocator "
        "has from the driver, and keeps for later tensors. Tools that ask the driver, such as `nvidia-smi`, show the "
        "second and what the driver itself uses, so memory looks full, and people look for a leak. `empty_cache` "
        "gives back the segments that hold no tensor at all: *reserved* falls, *allocated* does not. In a loop it "
        "only costs: each time the host waits for the device, and then the allocator asks the driver for the same "
        "memory again. It helps where another program needs the memory. Before it runs out of memory, the allocator "
        "does it by itself."
    ),
    sources=(Source("P", "Empty Cache", "torch.cuda.empty_cache() frees unused cached memory"),),
    parameters=(
        Size("steps", 8, 1, 16, "how many steps there are"),
        Size("kernels", 4, 1, 64, "operations in a step"),
    ),
    inputs=inputs,
    slow=slow,
    fast=fast,
    claims=(
        Claim("virtual", times=1.3),
        Claim("given back", fast=0),
        Claim("tensors hold", same=True),
        Claim("device peak", same=True),
    ),
    limits=(Limit({"kernels": 64}, "no difference", "In a step this long, the driver's share of the time is small."),),
    question=Question(
        "A empties the cache after each step. Which figure is smaller at the end?",
        ("what tensors hold", "only what is reserved", "nothing"),
        falls,
        tempting="what tensors hold",
        refutation="What a tensor holds is never in the cache. `del` lets go of it, and nothing else does.",
    ),
    explain="Who holds the memory of a tensor that is gone, and what does the next tensor cost?",
    symptoms=("memory does not go down after a step", "out of memory", "deleting variables frees nothing"),
    picture=Picture("QueueTimeline", dict),
    elsewhere=(
        Elsewhere(
            "PyTorch 2.13",
            "2026-11",
            "y = x * 0.5\nif torch.cuda.is_available():\n"
            "    print(torch.cuda.memory_allocated(), torch.cuda.memory_reserved())",
        ),
    ),
    outcomes={"slow": tips.DIFFERS},  # the figures of the memory
    reads={
        "given back": lambda found: found[1]["reserved"] - found[2]["reserved"],
        "tensors hold": lambda found: found[2]["in tensors"] - found[1]["in tensors"],
    },
    devices=("sim",),
    torch=None,
    differs_in_torch="The same holds on a GPU; a CPU keeps no such cache.",
    applies=applies,
    without=without,
)
