"""Pin the memory of batches that travel often."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tinygrad_edu as tg
from tinygrad_edu import Tensor
from tinygrad_edu.tips import Claim, Elsewhere, Limit, Picture, Question, Result, Size, Slip, Source, Tip
from tinygrad_edu.tips.rewriting import loading
from tinygrad_edu.tips.signs import Seen, Sign, spent


def inputs(generator: tg.Generator, epochs: int, batches: int, device: str) -> dict[str, Any]:
    data = [tg.rand(1024, 256, generator=generator) for _ in range(batches)]
    return {"data": data, "epochs": epochs, "device": device}


def slow(data: list[Tensor], epochs: int, device: str) -> Tensor:
    total = tg.zeros(256, device=device)
    for _ in range(epochs):
        for x in data:
            total += x.to(device).mean(0)
    return total.cpu()


def fast(data: list[Tensor], epochs: int, device: str) -> Tensor:
    pinned = [x.pin_memory() for x in data]  # once
    total = tg.zeros(256, device=device)
    for _ in range(epochs):
        for x in pinned:
            total += x.to(device, non_blocking=True).mean(0)
    return total.cpu()


def guide(data: list[Tensor], epochs: int, device: str) -> Tensor:
    total = tg.zeros(256, device=device)
    for _ in range(epochs):
        for x in data:
            total += x.to(device, non_blocking=True).mean(0)
    return total.cpu()


def waits(result: Result) -> str:
    return "shorter" if result.fast["virtual"] < result.slow["virtual"] else "the same"


def applies(seen: Seen) -> Iterator[Sign]:
    for moved in seen.moved.values():
        if moved.pageable >= 8 and moved.nbytes >= 64_000 and not moved.created:
            works = [w for w in seen.works_at(moved.line) if w.lane == "host"]
            told = f"{moved.pageable} copies from memory that is not pinned: the host does each itself"
            yield Sign(moved.line, told, spent(works), virtual=True)


def without() -> Any:
    return loading(lambda loader: True, pin_memory=True)


TIP = Tip(
    slug="pinned-memory",
    title="Pin the memory of batches that travel often",
    theme="devices",
    why="Memory that **cannot move** is read by the device itself; from any other, the host has to copy every byte.",
    about=(
        "The system may move ordinary memory at any time, so the host first copies it, piece by piece, into a buffer "
        "that stays in place. Pinned memory stays in place itself: the device's copy engine reads it at the full "
        "speed of the bus, and with `non_blocking=True` the host goes on immediately. You need both. Pinning takes "
        "time itself, so pin what travels again and again; `x.pin_memory().to(...)` for one use is slower than "
        "`x.to(...)`. A data loader with `pin_memory=True` pins in the background, in buffers that it uses again. Pin "
        "no more than you need: it leaves less memory for all else. Do not write to it before the copy ends."
    ),
    sources=(Source("P", "Pin Memory", "pin_memory=True and non_blocking=True make transfers faster"),),
    parameters=(
        Size("epochs", 8, 1, 16, "how often all batches are used"),
        Size("batches", 4, 1, 8, "batches of a megabyte"),
    ),
    inputs=inputs,
    slow=slow,
    fast=fast,
    claims=(Claim("virtual", times=1.2), Claim("moved", same=True)),
    limits=(Limit({"epochs": 1}, "false here", "For a single use, pinning takes longer than it saves."),),
    question=Question(
        "B pins all batches first, and then moves the same bytes as A. How long does that take, pinning included?",
        ("the same", "shorter"),
        waits,
        tempting="the same",
        refutation="The bytes are the same, but the copy engine is faster than the host, which goes on meanwhile.",
    ),
    explain="Who copies in A, who in B, and when does pinning pay?",
    symptoms=("my GPU is idle most of the time", "copies to the GPU take long"),
    picture=Picture("QueueTimeline", dict),
    elsewhere=(
        Elsewhere(
            "PyTorch 2.13",
            "2026-11",
            "device = torch.accelerator.current_accelerator()\n"
            "pinned = [x.pin_memory() for x in data] if device else data  # once\n"
            'y = sum(x.to(device or "cpu", non_blocking=True).mean(0) for x in pinned)',
        ),
    ),
    slips=(
        Slip(
            "P",
            guide,
            {"equal": True, "overlap": 0.0},
            "`non_blocking=True` alone does not free the host. From memory that is not pinned it still copies every "
            "byte itself, as before.",
        ),
    ),
    devices=("sim",),
    torch=None,
    differs_in_torch="The same holds on a GPU; without one memory cannot be pinned.",
    applies=applies,
    without=without,
)
