"""Bring weights when they are needed, if all of them do not fit."""

from __future__ import annotations

from typing import Any

import tinygrad_edu as tg
from tinygrad_edu import Tensor, accelerator
from tinygrad_edu.errors import OutOfMemoryError
from tinygrad_edu.tips import Elsewhere, Limit, Picture, Question, Result, Size, Source, Tip, Way, raises

ROOM = 9 << 20  # bytes of the device that the program may use


def inputs(generator: tg.Generator, layers: int, device: str) -> dict[str, Any]:
    weights = [tg.randn(512, 512, generator=generator) / 23 for _ in range(layers)]
    share = ROOM / tg.sim.machine()["memory"]
    return {"x": tg.rand(64, 512, generator=generator), "weights": weights, "share": share, "device": device}


def slow(x: Tensor, weights: list[Tensor], share: float, device: str) -> Tensor:
    accelerator.set_per_process_memory_fraction(share)
    there = [w.to(device) for w in weights]
    y = x.to(device)
    for w in there:
        y = (y @ w).tanh()
    return y.cpu()


def fast(x: Tensor, weights: list[Tensor], share: float, device: str) -> Tensor:
    accelerator.set_per_process_memory_fraction(share)
    y = x.to(device)
    for w in weights:
        y = (y @ w.to(device)).tanh()  # the last layer's weights are free by now
    return y.cpu()


def ahead(x: Tensor, weights: list[Tensor], share: float, device: str) -> Tensor:
    accelerator.set_per_process_memory_fraction(share)
    y, pinned = x.to(device), [w.pin_memory() for w in weights]
    for w in pinned:
        y = (y @ w.to(device, non_blocking=True)).tanh()
    return y.cpu()


def comes(result: Result) -> str:
    return "an error: there is no room" if result.slow["error"] else "the result"


TIP = Tip(
    slug="stream-what-does-not-fit",
    title="Bring weights when they are needed, if all of them do not fit",
    theme="devices",
    why="Layers work one after the other, so **only one needs its weights at a time**; the others wait on the host.",
    about=(
        "A model whose weights are larger than the device's memory cannot live there, but it can still compute there. "
        "The weights stay on the host, and each layer's are copied over just before they are needed; the memory of "
        "the last layer serves the next. The price is that all weights travel for every batch, so large batches pay "
        "best. From pinned memory a copy is faster, and the host need not wait for it (C). A second stream can bring "
        "the next layer's weights while this one computes: that takes room for two layers, and hides the copies where "
        "a layer computes for long enough."
    ),
    sources=(Source("M", "Why aren't weights Numpy arrays?", "weights that do not fit can be streamed from the host"),),
    parameters=(Size("layers", 12, 2, 16, "layers, with a megabyte of weights each"),),
    inputs=inputs,
    slow=slow,
    fast=fast,
    also=(Way("from pinned memory", ahead, words="The host goes on while the weights travel."),),
    outcomes={"slow": raises(OutOfMemoryError, "are asked for")},
    claims=(),
    limits=(Limit({"layers": 2}, "no difference", "Two layers fit, so nothing has to be brought again."),),
    question=Question(
        "The device has room for nine megabytes, and the weights need twelve. What does A give?",
        ("the result", "an error: there is no room"),
        comes,
        tempting="the result",
        refutation="An accelerator does not move memory out by itself: what does not fit is refused.",
    ),
    explain="Which weights must be on the device at the same moment in A, and which in B?",
    symptoms=("out of memory", "my model is larger than the GPU"),
    picture=Picture("QueueTimeline", dict),
    elsewhere=(
        Elsewhere(
            "PyTorch 2.13",
            "2026-11",
            'device = torch.accelerator.current_accelerator() or "cpu"\n'
            "y = x.to(device)\nfor w in weights:\n    y = (y @ w.to(device)).tanh()",
        ),
        Elsewhere("JAX 0.6", "2026-11", "for w in weights:\n    y = jnp.tanh(y @ jax.device_put(w))"),
    ),
    devices=("sim",),
    torch=None,
    differs_in_torch="The same holds on a GPU; without one there is no such limit.",
)
