"""Bring the next batch while this one is worked on."""

from __future__ import annotations

from typing import Any

import tinygrad_edu as tg
from tinygrad_edu import Tensor
from tinygrad_edu.tips import Claim, Elsewhere, Limit, Picture, Question, Result, Size, Source, Tip


def inputs(generator: tg.Generator, batches: int, layers: int, device: str) -> dict[str, Any]:
    data = [tg.rand(1024, 512, generator=generator).pin_memory() for _ in range(batches)]
    w = (tg.randn(512, 512, generator=generator) / 23).to(device)

    def model(x: Tensor) -> Tensor:
        for _ in range(layers):
            x = x @ w
        return x.mean()

    return {"data": data, "model": model, "device": device}


def slow(data: list[Tensor], model: Any, device: str) -> Tensor:
    return tg.stack([model(x.to(device)) for x in data]).cpu()


def fast(data: list[Tensor], model: Any, device: str) -> Tensor:
    side, main, coming = tg.accelerator.Stream(), tg.accelerator.current_stream(), None
    means: list[Tensor] = []
    for x in [*data, None]:
        main.wait_stream(side)  # the batch that was brought is there
        now, coming = coming, None
        if x is not None:
            with tg.accelerator.stream(side):
                coming = x.to(device, non_blocking=True)
        if now is not None:
            now.record_stream(main)  # its memory is not given away before main is done with it
            means.append(model(now))
    return tg.stack(means).cpu()


def together(result: Result) -> str:
    return "at the same time" if result.fast["overlap"] > 0 else "one after the other"


TIP = Tip(
    slug="prefetch-to-device",
    title="Bring the next batch while this one is worked on",
    theme="devices",
    why="A device has **engines for copies beside its processors**; in one queue they can only take turns.",
    about=(
        "Work in one stream is done in order, so a copy and the kernels that need it never run at the same time "
        "there. A second stream has a queue of its own. B puts the copy of the next batch into it, and then the work "
        "on the present one into the first: copy engine and processors are busy together, and the longer of the two "
        "sets the time. Three things are needed: pinned memory, a wait before the batch is used, and `record_stream`, "
        "because its memory belongs to the stream that made it and would go back to it too early. The price is memory "
        "for one more batch."
    ),
    sources=(
        Source("P", "Data Prefetching", "a prefetcher moves the next batch on a stream of its own"),
        Source("L", "Data Loading and Device Transfer", "let the loader move batches, and free them early"),
    ),
    parameters=(
        Size("batches", 8, 1, 8, "how many batches of two megabytes there are"),
        Size("layers", 3, 1, 8, "products for each batch"),
    ),
    inputs=inputs,
    slow=slow,
    fast=fast,
    claims=(Claim("virtual", times=1.3), Claim("overlap", price=True), Claim("device peak", price=True)),
    limits=(Limit({"batches": 1}, "no difference", "With one batch, there is nothing to bring meanwhile."),),
    question=Question(
        "B asks for the copy of the next batch, and then for the work on the present one. When are the two done?",
        ("one after the other", "at the same time"),
        together,
        tempting="one after the other",
        refutation="They are in two streams, and the copy engine does not need the processors.",
    ),
    explain="What sets the time of a step in A, and what in B?",
    symptoms=("my GPU is idle most of the time", "copies to the GPU take long"),
    picture=Picture("QueueTimeline", dict),
    elsewhere=(
        Elsewhere(
            "PyTorch 2.13",
            "2026-11",
            "# side = torch.cuda.Stream(); with torch.cuda.stream(side):\n"
            "coming = data[0].to(torch.accelerator.current_accelerator() or 'cpu', non_blocking=True)\n"
            "# torch.cuda.current_stream().wait_stream(side); coming.record_stream(torch.cuda.current_stream())",
        ),
        Elsewhere("Lux 1.0", "2026-11", "for (x, y) in gpu_device()(loader)\n    # both are there\nend"),
    ),
    devices=("sim",),
    torch=None,
    differs_in_torch="The same holds on a GPU; without one there are no streams.",
)
