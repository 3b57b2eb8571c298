"""Queue all the work before you read a value."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tinygrad_edu as tg
from tinygrad_edu import Tensor
from tinygrad_edu.tips import Claim, Elsewhere, Limit, Picture, Question, Result, Size, Source, Tip
from tinygrad_edu.tips.signs import Seen, Sign, host_waits


def inputs(generator: tg.Generator, steps: int, n: int, device: str) -> dict[str, Any]:
    x = tg.rand(n, 512, generator=generator).to(device)
    w = (tg.randn(512, 512, generator=generator) / 23).to(device)
    return {"x": x, "w": w, "steps": steps}


def slow(x: Tensor, w: Tensor, steps: int) -> Tensor:
    means = []
    for _ in range(steps):
        x = (x @ w).tanh()
        means.append(x.mean().item())
    return tg.tensor(means)


def fast(x: Tensor, w: Tensor, steps: int) -> Tensor:
    means = []
    for _ in range(steps):
        x = (x @ w).tanh()
        means.append(x.mean())
    return tg.stack(means).cpu()


def waits(result: Result) -> str:
    return "in each step" if result.slow["idle"] > 2 * result.fast["idle"] else "once, at the end"


def applies(seen: Seen) -> Iterator[Sign]:
    for line, count, seconds in host_waits(seen):
        if count >= max(8, seen.steps) and seen.reads[seen.row(line)] >= count:
            yield Sign(line, f"the host waited {count} times, to read a number", seconds, virtual=True)


TIP = Tip(
    slug="async-dispatch",
    title="Queue all the work before you read a value",
    theme="devices",
    why="A call only puts work into a queue; **to read a value, the host must wait** until that work is done.",
    about=(
        "The host asks for an operation and goes on, while the device works through its queue. As long as something "
        "is in the queue, the device is not idle. `item()`, `float(x)`, `print(x)`, `if x > 0` and every copy to the "
        "host need numbers that do not exist yet. They wait for all work before them, and when the host goes on, the "
        "queue is empty: the device is idle until the next operation arrives. So keep the loss of each step on the "
        "device, and read it every hundred steps, or all at the end. Keep `loss.detach()`: the loss itself would keep "
        "the graph of its step. NumPy has no queue; each call waits there."
    ),
    sources=(
        Source(
            "M",
            "Why aren't trainable and non-trainable weights Numpy arrays?",
            "Python goes on before an operation has ended; NumPy blocks",
        ),
    ),
    parameters=(
        Size("steps", 32, 1, 64, "how many steps there are"),
        Size("n", 64, 1, 2048, "the rows of the batch"),
    ),
    inputs=inputs,
    slow=slow,
    fast=fast,
    claims=(Claim("waiting", times=1.3), Claim("virtual", times=1.3), Claim("idle", times=1.3)),
    limits=(
        Limit({"steps": 1}, "false here", "With one step both read once, and B has one operation more."),
        Limit({"n": 2048}, "no difference", "Each step works for so long that the waits hardly count."),
    ),
    question=Question(
        "A reads the mean after each of its steps. When does the host wait in A?",
        ("once, at the end", "in each step"),
        waits,
        tempting="once, at the end",
        refutation="`item()` gives a Python number, and Python has no numbers that are still to come.",
    ),
    explain="What is in the queue when `item()` returns?",
    symptoms=("my GPU is idle most of the time", "the processor or GPU is hardly busy"),
    picture=Picture("QueueTimeline", dict),
    elsewhere=(
        Elsewhere(
            "PyTorch 2.13",
            "2026-11",
            "means = []\nfor _ in range(steps):\n    x = (x @ w).tanh()\n    means.append(x.mean().detach())\n"
            "found = torch.stack(means)",
        ),
        Elsewhere("JAX 0.6", "2026-11", "means = jnp.stack([jnp.tanh(x @ w).mean() for x in batches])\nprint(means)"),
    ),
    devices=("sim",),
    torch=None,
    differs_in_torch="The same holds on a GPU. On a CPU PyTorch has no queue, and each call waits.",
    applies=applies,
)
