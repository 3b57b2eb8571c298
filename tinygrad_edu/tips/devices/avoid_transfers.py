"""Keep the work where the data are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tinygrad_edu as tg
from tinygrad_edu import Tensor
from tinygrad_edu.common.wording import bytes_text
from tinygrad_edu.tips import Claim, Elsewhere, Limit, Number, Picture, Question, Result, Size, Slip, Source, Tip
from tinygrad_edu.tips.signs import Seen, Sign


def inputs(generator: tg.Generator, n: int, layers: int, device: str) -> dict[str, Any]:
    weights = [(tg.randn(256, 256, generator=generator) / 16).to(device) for _ in range(layers)]
    return {"x": tg.rand(n, 256, generator=generator), "weights": weights, "device": device}


def slow(x: Tensor, weights: list[Tensor], device: str) -> Tensor:
    for w in weights:
        x = (x.to(device) @ w).tanh().cpu()
    return x


def fast(x: Tensor, weights: list[Tensor], device: str) -> Tensor:
    x = x.to(device)
    for w in weights:
        x = (x @ w).tanh()
    return x.cpu()


def guide(x: Tensor, weights: list[Tensor], device: str) -> Tensor:
    for w in weights:
        x = (x.to(device, non_blocking=True) @ w).tanh().cpu()
    return x


def times(result: Result) -> float:
    return float(result.slow["moved"] / result.fast["moved"])


def applies(seen: Seen) -> Iterator[Sign]:
    for moved in seen.moved.values():
        if moved.back >= 2 or (moved.same >= 4 and moved.same > moved.created):
            again, why = (moved.back, "come from there") if moved.back >= 2 else (moved.same, "been moved before")
            told = f"{again} of {moved.count} copies moved what had {why}"
            took = seen.copying(moved.line)
            yield Sign(moved.line, told, took, virtual=True, saves=f"{bytes_text(moved.nbytes)} moved")


TIP = Tip(
    slug="avoid-transfers",
    title="Keep the work where the data are",
    theme="devices",
    why="A copy to the host **makes the host wait**; meanwhile it launches nothing, so the device runs out of work.",
    about=(
        "Host and device are joined by a bus that is far slower than the memory of either. A value that goes back to "
        "the host after each layer, to be looked at or to be worked on by NumPy, travels twice for nothing; and "
        "because the host has to wait for it, the device's queue runs empty each time. So move the weights once, each "
        "batch once, and the result once. The number of copies counts as well as the bytes: many small ones cost more "
        "than one large one. A value that really has to be seen, such as the loss, can stay on the device until many "
        "are read together."
    ),
    sources=(Source("P", "Avoid CPU-GPU Transfers", "do not move data in each iteration"),),
    parameters=(
        Size("n", 1024, 1, 4096, "the rows of the batch"),
        Size("layers", 8, 1, 16, "how many layers there are"),
    ),
    inputs=inputs,
    slow=slow,
    fast=fast,
    claims=(Claim("moved", times=4), Claim("virtual", times=3), Claim("idle", times=3)),
    limits=(Limit({"layers": 1}, "no difference", "With one layer, both copy the batch there and back once."),),
    question=Question(
        "A brings the batch back to the host after each of eight layers. How many times the bytes of B does it move?",
        Number(0.05, 64, "times", within=0.05),
        times,
        tempting=16,
        refutation="A makes sixteen copies, but B makes two as well: one there, and one back.",
    ),
    explain="Which copies can you remove without changing any number?",
    symptoms=("my GPU is idle most of the time", "the processor or GPU is hardly busy"),
    picture=Picture("QueueTimeline", dict),
    elsewhere=(
        Elsewhere(
            "PyTorch 2.13",
            "2026-11",
            'device = torch.accelerator.current_accelerator() or "cpu"\n'
            "weights = [w.to(device) for w in weights]  # once, before the first batch\n"
            "y = x.to(device)\nfor w in weights:\n    y = (y @ w).tanh()\ny = y.cpu()",
        ),
    ),
    slips=(
        Slip(
            "P",
            guide,
            {"equal": True, "moved": 16_777_216},
            "the guide's better loop moves the data in every iteration, now with `non_blocking=True`. New batches must "
            "move, but what is used again need not: here all bytes still travel, and the host still waits.",
        ),
    ),
    devices=("sim",),
    torch=None,
    differs_in_torch="The same holds on a GPU; without one there is nothing to move.",
    applies=applies,
)
