"""Make tensors where they will be used."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tinygrad_edu as tg
from tinygrad_edu import Tensor
from tinygrad_edu.common.wording import bytes_text
from tinygrad_edu.tips import Choice, Claim, Elsewhere, Figure, Limit, Picture, Question, Result, Size, Source, Tip
from tinygrad_edu.tips.signs import Seen, Sign


def inputs(generator: tg.Generator, n: int, values: str, device: str) -> dict[str, Any]:
    read = tg.rand(n, n, generator=generator) if values == "from a file" else None
    return {"n": n, "read": read, "device": device}


def slow(n: int, read: Tensor | None, device: str) -> Tensor:
    x = tg.ones(n, n) if read is None else read
    return x.to(device) * 2


def fast(n: int, read: Tensor | None, device: str) -> Tensor:
    x = tg.ones(n, n, device=device) if read is None else read.to(device)
    return x * 2


def bytes_moved(result: Result) -> str:
    return "none" if result.fast["moved"] == 0 else "all of them"


def applies(seen: Seen) -> Iterator[Sign]:
    for moved in seen.moved.values():
        if moved.created >= 4 or (moved.created and moved.nbytes >= 1_000_000):
            made = "a tensor was" if moved.created == 1 else f"{moved.created} tensors were"
            told, took = f"{made} made on the host, and then moved", seen.copying(moved.line)
            yield Sign(moved.line, told, took, virtual=True, saves=f"{bytes_text(moved.nbytes)} moved")


TIP = Tip(
    slug="allocate-on-device",
    title="Make tensors where they will be used",
    theme="devices",
    why="What a rule can produce needs no copy: **one command fills the memory**, and nothing crosses the bus.",
    about=(
        "Zeros, ones, ranges and random numbers come from a rule. `tg.ones(n, n).to(device)` lets the host write "
        "every number, and then sends all of them over the bus. `tg.ones(n, n, device=device)` sends one command, and "
        "the device fills its own memory, at the speed of that memory. Weights can be made there as well: inside "
        "`default_device` everything is made on that device, whole models included. Random numbers are the exception "
        "to mind: on a real GPU the same seed gives other numbers than on the CPU. And what comes from a file or a "
        "sensor has to travel; the other tips of this theme help there."
    ),
    sources=(
        Source(
            "M",
            "Why aren't trainable and non-trainable weights Numpy arrays?",
            "two 4096 × 4096 matrices: 5 ms when made on TPUs, over 400 ms from the host",
        ),
        Source("P", "Avoid CPU-GPU Transfers", "create data on the GPU"),
    ),
    parameters=(
        Size("n", 1024, 1, 2048, "the rows and columns"),
        Choice("values", "by a rule", ("by a rule", "from a file"), "where the numbers come from"),
    ),
    inputs=inputs,
    slow=slow,
    fast=fast,
    claims=(Claim("moved", fast=0), Claim("virtual", times=5)),
    limits=(Limit({"values": "from a file"}, "no difference", "What is on the host has to travel in any case."),),
    question=Question(
        "A makes a matrix of ones and moves it. B makes it on the device. How many of its bytes travel in B?",
        ("all of them", "none"),
        bytes_moved,
        tempting="all of them",
        refutation="The command says which value to write, and how often. The device does the writing.",
    ),
    explain="What does the host send in A, and what in B?",
    symptoms=("it takes long until training begins", "my GPU is idle most of the time"),
    picture=Picture("QueueTimeline", dict),
    elsewhere=(
        Elsewhere(
            "PyTorch 2.13",
            "2026-11",
            'device = torch.accelerator.current_accelerator() or "cpu"\n'
            "with torch.device(device):\n    y = torch.ones(8) * 2",
        ),
        Elsewhere("JAX 0.6", "2026-11", "with jax.default_device(jax.devices()[0]):\n    x = jnp.ones((n, n))"),
    ),
    figures=(Figure("virtual", 80, "M", "two matrices of 4096 × 4096 on two TPUs"),),
    devices=("sim",),
    torch=None,
    differs_in_torch="The same holds on a GPU; without one there is nothing to move.",
    applies=applies,
)
