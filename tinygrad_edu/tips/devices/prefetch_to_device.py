"""Copy the next batch while the device works on this one."""

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
        main.wait_stream(side)  # the batch has arrived
        now, coming = coming, None
        if x is not None:
            with tg.accelerator.stream(side):
                coming = x.to(device, non_blocking=True)
        if now is not None:
            now.record_stream(main)  # nobody gets its memory before main is done with it
            means.append(model(now))
    return tg.stack(means).cpu()


def together(result: Result) -> str:
    return "at the same time" if result.fast["overlap"] > 0 else "one after the other"


TIP = Tip(
    slug="prefetch-to-device",
    title="Copy the next batch while the device works on this one",
    theme="devices",
    why="A device has **copy engines beside its processors**; with a single queue they can only take turns.",
    about=(
        "Work in one stream is done in order, so a copy and the kernels that need it never run at the same time "
        "there. A second stream has a queue of its own. B puts the copy of the next batch into it, and the work on "
        "this batch into the first one: copy engine and processors are busy together. It needs pinned "
        "memory; `wait_stream` before the batch is used; and `record_stream`, because else the allocator lets "
        "the side stream use the batch's memory again while the main one still reads it. The price is memory for the "
        "batches on their way, and time of the host. On an H100 and an H200, whose host set the pace with "
        "batches this small, B took 1.2 times as long as A."
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
    limits=(Limit({"batches": 1}, "false here", "With one batch, there is no next one to copy."),),
    question=Question(
        "B queues the copy of the next batch, and then the work on this one. When does the device do the two?",
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
            "x = data[0]\nif torch.cuda.is_available():\n"
            "    side, main = torch.cuda.Stream(), torch.cuda.current_stream()\n"
            '    with torch.cuda.stream(side):\n        x = x.to("cuda", non_blocking=True)\n'
            "    main.wait_stream(side)  # only after the work on the batch before\n    x.record_stream(main)",
        ),
        Elsewhere("Lux 1.0", "2026-11", "for (x, y) in gpu_device()(loader)\n    # both are there\nend"),
    ),
    devices=("sim",),
    torch=None,
    differs_in_torch="Streams exist only on a GPU, and only larger batches gain there.",
)
