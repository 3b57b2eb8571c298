"""Let the guard watch arrays that the graph still needs."""

from __future__ import annotations

from typing import Any

import numpy as np

import tinygrad_edu as tg
from tinygrad_edu import Tensor, guard
from tinygrad_edu.errors import MemoryGuardError
from tinygrad_edu.tips import Choice, Elsewhere, Limit, Picture, Question, Result, Size, Source, Tip, Way
from tinygrad_edu.tips.outcomes import DIFFERS, raises


def inputs(generator: tg.Generator, n: int, op: str) -> dict[str, Any]:
    data = tg.rand(n, generator=generator).numpy().copy()
    w = tg.ones(n, requires_grad=True)
    return {"data": data, "w": w, "model": tg.mul if op == "multiply" else tg.add}


def slow(data: np.ndarray[Any, Any], w: Tensor, model: Any) -> Tensor:
    with guard.off():
        loss = model(tg.from_numpy(data), w).sum()
        data[:] = 0  # the next batch is read into the same array
        loss.backward()
    return w.grad


def fast(data: np.ndarray[Any, Any], w: Tensor, model: Any) -> Tensor:
    with guard.on():
        loss = model(tg.from_numpy(data), w).sum()
        data[:] = 0
        loss.backward()
    return w.grad


def backward_first(data: np.ndarray[Any, Any], w: Tensor, model: Any) -> Tensor:
    with guard.on():
        loss = model(tg.from_numpy(data), w).sum()
        loss.backward()
        data[:] = 0
    return w.grad


def gradient(result: Result) -> str:
    if result.slow["error"]:
        return "none: the write stops with an error"
    return "that of the batch" if result.slow["equal"] else "that of the zeros"


def picture() -> dict[str, Any]:
    x = tg.tensor([0.5, 0.25, 1.0])
    return {"x, which mul has saved": x, "data, as NumPy sees it": x.detach()}


TIP = Tip(
    slug="memory-guard",
    title="Let the guard watch arrays that the graph still needs",
    theme="autograd",
    why="A tensor made from an array **shares its memory**, so a later write changes what backward will read.",
    about=(
        "`from_numpy` copies nothing. The product keeps `x` for its gradient, and `x` is the array: whoever fills the "
        "array again, as a loader does with its buffer, changes the gradient, and nothing looks wrong. NumPy does not "
        "tell anybody of a write. So the guard makes each array that the graph needs read-only, until the graph has "
        "gone: after backward the array can be written to again. The error names the operation that holds the array, "
        "and its line."
    ),
    sources=(
        Source("G", "Controlling Memory-Guarding Behavior", "a write corrupts the graph; the guard makes it an error"),
    ),
    parameters=(
        Size("n", 1000, 1, 100_000, "how many numbers are in a batch"),
        Choice("op", "multiply", ("multiply", "add"), "what the model does with the batch and `w`"),
    ),
    inputs=inputs,
    slow=slow,
    fast=fast,
    truth=backward_first,
    outcomes={"slow": DIFFERS, "fast": raises(MemoryGuardError, "mul saved it")},
    also=(Way("write after backward", backward_first, words="The graph has gone, and with it the lock."),),
    claims=(),
    limits=(
        Limit({"op": "add"}, "no difference", "A sum has saved nothing: its gradient does not depend on the batch."),
    ),
    question=Question(
        "A fills the batch with zeros before it calls backward. Which gradient does `w` get?",
        ("that of the batch", "that of the zeros", "none: the write stops with an error"),
        gradient,
        tempting="that of the batch",
        refutation="The gradient of `w` is `x`, and `x` is read when backward runs. By then it holds zeros.",
    ),
    explain="Nobody wrote to `x`. How can the zeros get into the gradient?",
    symptoms=("my gradients are wrong", "assignment destination is read-only"),
    picture=Picture("BufferMap", picture),
    elsewhere=(
        Elsewhere(
            "PyTorch 2.13",
            "2026-11",
            "x = torch.from_numpy(data.copy())  # nobody guards an array: give the graph its own\n"
            "(x * w).sum().backward()",
        ),
        Elsewhere("MyGrad 2.5", "2026-11", "mg.turn_memory_guarding_on()\nloss = (data * w).sum()"),
    ),
    differs_in_torch=(
        "PyTorch has no guard. It notices writes to tensors, by their version, but not writes through NumPy: there A "
        "and B both give the gradient of the zeros, without a word."
    ),
)
