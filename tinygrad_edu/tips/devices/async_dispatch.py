"""Ask for all the work before you read a value."""

from __future__ import annotations

from typing import Any

import tinygrad_edu as tg
from tinygrad_edu import Tensor
from tinygrad_edu.tips import Claim, Elsewhere, Limit, Picture, Question, Result, Size, Source, Tip


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


TIP = Tip(
    slug="async-dispatch",
    title="Ask for all the work before you read a value",
    theme="devices",
    why="A call only puts work into the queue; **to read a value, the host must wait** until the queue is empty.",
    about=(
        "The host is always a little ahead: it asks for an operation and goes on, and the device works through its "
        "queue. As long as there is something in it, the device never stands still. `item()`, `float(x)`, `print(x)`, "
        "`if x > 0` and every copy to the host need numbers that are not there yet. They wait for everything before "
        "it, and when the host goes on, the queue is empty: until the next operation arrives the device has nothing "
        "to do. So keep the loss of each step on the device, and read it every hundred steps, or all at the end. "
        "NumPy has no queue: there each call waits."
    ),
    sources=(
        Source("M", "Why aren't weights Numpy arrays?", "Python goes on before an operation has ended; NumPy blocks"),
    ),
    parameters=(
        Size("steps", 32, 1, 64, "how many steps there are"),
        Size("n", 64, 1, 2048, "the rows of the batch"),
    ),
    inputs=inputs,
    slow=slow,
    fast=fast,
    claims=(Claim("waiting", times=1.3), Claim("virtual", times=1.3), Claim("idle", times=1.3)),
    limits=(Limit({"steps": 1}, "false here", "With one step both read once, and B has one operation more."),),
    question=Question(
        "A reads the mean after each of its steps. When does the host wait in A?",
        ("once, at the end", "in each step"),
        waits,
        tempting="once, at the end",
        refutation="`item()` gives a Python number, and Python has no numbers that are still to come.",
    ),
    explain="What is in the queue at the moment when `item()` returns?",
    symptoms=("my GPU is idle most of the time", "the processor or GPU is hardly busy"),
    picture=Picture("QueueTimeline", dict),
    elsewhere=(
        Elsewhere(
            "PyTorch 2.13",
            "2026-11",
            "means = []\nfor _ in range(steps):\n    x = (x @ w).tanh()\n    means.append(x.mean())\n"
            "found = torch.stack(means)",
        ),
        Elsewhere("JAX 0.6", "2026-11", "means = [step(x).mean() for x in batches]\njax.block_until_ready(means)"),
    ),
    devices=("sim",),
    torch=None,
    differs_in_torch="The same holds on a GPU. On a CPU PyTorch has no queue, and each call waits.",
)
