"""If the weights do not all fit, copy each layer's when it is needed."""

from __future__ import annotations

from typing import Any

import tinygrad_edu as tg
from tinygrad_edu import Tensor, accelerator
from tinygrad_edu.errors import OutOfMemoryError
from tinygrad_edu.tips import Elsewhere, Limit, Picture, Question, Result, Size, Source, Tip, Way, raises

ROOM = 9 << 20  # bytes of the device that the program may use


def inputs(generator: tg.Generator, layers: int, device: str) -> dict[str, Any]:
    weights = [(tg.randn(512, 512, generator=generator) / 23).pin_memory() for _ in range(layers)]

    def limit() -> None:
        accelerator.empty_cache()
        there = accelerator.memory_reserved(device)  # what is there already does not count
        accelerator.set_per_process_memory_fraction((there + ROOM) / tg.sim.machine()["memory"])

    return {"x": tg.rand(64, 512, generator=generator), "weights": weights, "limit": limit, "device": device}


def slow(x: Tensor, weights: list[Tensor], limit: Any, device: str) -> Tensor:
    limit()
    there = [w.to(device) for w in weights]
    y = x.to(device)
    for w in there:
        y = (y @ w).tanh()
    return y.cpu()


def fast(x: Tensor, weights: list[Tensor], limit: Any, device: str) -> Tensor:
    limit()
    y = x.to(device)
    for w in weights:
        y = (y @ w.to(device)).tanh()  # the last layer's weights are free by now
    return y.cpu()


def ahead(x: Tensor, weights: list[Tensor], limit: Any, device: str) -> Tensor:
    limit()
    y = x.to(device)
    for w in weights:  # they are pinned
        y = (y @ w.to(device, non_blocking=True)).tanh()
    return y.cpu()


def comes(result: Result) -> str:
    return "an error: there is no room" if result.slow["error"] else "the result"


TIP = Tip(
    slug="stream-what-does-not-fit",
    title="If the weights do not all fit, copy each layer's when it is needed",
    theme="devices",
    why="Layers work one after the other, so **only one needs its weights at a time**; the others wait on the host.",
    about=(
        "A model whose weights are larger than the device's memory cannot stay there, but it can still compute there. "
        "The weights stay on the host, in pinned memory, and each layer's are copied over just before they are "
        "needed; the next layer reuses the memory of the last one's. This is for inference, under `no_grad`: for "
        "backward, autograd would keep every copy, and nothing would be saved. The price is that all weights travel "
        "for every batch, so it pays best with large batches. With `non_blocking=True` the host need not wait for "
        "each copy (C). If copies go into a second queue, the next layer's weights can travel while this layer "
        "computes: that needs room for two layers."
    ),
    sources=(
        Source(
            "M",
            "Why aren't trainable and non-trainable weights Numpy arrays?",
            "weights that do not fit can be streamed from the host",
        ),
    ),
    parameters=(Size("layers", 12, 2, 16, "layers, with a megabyte of weights each"),),
    inputs=inputs,
    slow=slow,
    fast=fast,
    also=(Way("without waiting", ahead, words="The host goes on while the weights travel."),),
    outcomes={"slow": raises(OutOfMemoryError, "are asked for")},
    claims=(),
    limits=(Limit({"layers": 2}, "no difference", "Two layers fit, so A can keep both on the device."),),
    question=Question(
        "The device has room for nine megabytes, and the weights need twelve. What does A give?",
        ("the result", "an error: there is no room"),
        comes,
        tempting="the result",
        refutation="An accelerator does not move tensors out by itself: what does not fit is refused.",
    ),
    explain="Which weights must be on the device at the same moment in A, and which in B?",
    symptoms=("out of memory", "my model is larger than the GPU"),
    picture=Picture("QueueTimeline", dict),
    elsewhere=(
        Elsewhere(
            "PyTorch 2.13",
            "2026-11",
            'device = torch.accelerator.current_accelerator() or "cpu"\n'
            "with torch.no_grad():\n    y = x.to(device)\n    for w in weights:\n        y = (y @ w.to(device)).tanh()",
        ),
        Elsewhere("JAX 0.6", "2026-11", "for w in weights:\n    y = jnp.tanh(y @ jax.device_put(w))"),
    ),
    devices=("sim",),
    torch=None,
    differs_in_torch="The same holds on a GPU; without one there is no such limit.",
)
