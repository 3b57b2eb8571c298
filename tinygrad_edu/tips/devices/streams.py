"""Let small kernels that do not need each other run side by side."""

from __future__ import annotations

from typing import Any

import tinygrad_edu as tg
from tinygrad_edu import Tensor, tips
from tinygrad_edu.errors import RaceError
from tinygrad_edu.tips import Claim, Elsewhere, Limit, Picture, Question, Result, Size, Source, Tip

cuda = tg.accelerator  # the same names as in PyTorch


def inputs(generator: tg.Generator, n: int, parts: int, device: str) -> dict[str, Any]:
    w = tg.rand(2048, n, generator=generator).to(device)
    xs = [tg.rand(n, 2048, generator=generator).to(device) for _ in range(parts)]
    return {"xs": xs, "w": w, "sides": [cuda.Stream() for _ in xs]}


def slow(xs: list[Tensor], w: Tensor, sides: list[Any]) -> Tensor:
    return tg.stack([x @ w for x in xs])


def product(x: Tensor, w: Tensor, side: Any, wait: bool = False) -> Tensor:
    side.wait_stream(cuda.current_stream())  # x and w are there
    with cuda.stream(side):
        y = x @ w
    if wait:
        side.synchronize()
    return y


def fast(xs: list[Tensor], w: Tensor, sides: list[Any]) -> Tensor:
    found = [product(x, w, side) for x, side in zip(xs, sides, strict=True)]
    for side in sides:
        cuda.current_stream().wait_stream(side)
    return tg.stack(found)


def no_event(xs: list[Tensor], w: Tensor, sides: list[Any]) -> Tensor:
    return tg.stack([product(x, w, side) for x, side in zip(xs, sides, strict=True)])


def waits(xs: list[Tensor], w: Tensor, sides: list[Any]) -> Tensor:
    return tg.stack([product(x, w, side, wait=True) for x, side in zip(xs, sides, strict=True)])


def faster(result: Result) -> str:
    return "B is faster" if result.fast["virtual"] < 0.9 * result.slow["virtual"] else "both take the same"


TIP = Tip(
    slug="streams",
    title="Let small kernels that do not need each other run side by side",
    theme="devices",
    why="A small kernel **leaves processors without work**; in one stream the next has to wait for it all the same.",
    about=(
        "A stream is a queue: what is in it runs in order, and never together. A product of small matrices has too "
        "few tiles for all processors, so most of the device has nothing to do. Products that do not need each other "
        "can go to streams of their own. Then the order is yours to say: `wait_stream`, or an event, before a stream "
        "reads what another one made. Without it there is a race: often the numbers come out right by luck, and "
        "sometimes not; the simulated device stops there (C). And whoever waits for each stream at once has a queue "
        "again (D)."
    ),
    sources=(
        Source("R", "GPU Optimization", "use a stream for asynchronous work, and synchronise it"),
        Source("P", "Data Prefetching", "work in another stream, waited for by wait_stream"),
    ),
    parameters=(
        Size("n", 128, 64, 1024, "the rows and columns of each product"),
        Size("parts", 6, 3, 8, "how many products there are"),
    ),
    inputs=inputs,
    slow=slow,
    fast=fast,
    also=(
        tips.Way(
            "no event", no_event, tips.raises(RaceError, "nothing makes one wait"), "Nothing makes the reader wait."
        ),
        tips.Way("waits at once", waits, words="The host waits for each stream before it asks the next."),
    ),
    claims=(
        Claim("virtual", times=1.5),
        Claim("launches", same=True),
        Claim("virtual", no_more=True, ways=("waits at once", "slow")),
    ),
    limits=(Limit({"n": 1024}, "no difference", "A product of this size keeps all processors busy by itself."),),
    question=Question(
        "The products are the same in A and in B, and so is the device. What does the second queue change?",
        ("both take the same", "B is faster"),
        faster,
        tempting="both take the same",
        refutation="A product of 128 rows fills a few of the processors: all run in the time of one.",
    ),
    explain="Which processors have nothing to do in A, and what makes the order right in B?",
    symptoms=("my GPU is idle most of the time", "results change from run to run on the GPU"),
    picture=Picture("QueueTimeline", dict),
    elsewhere=(
        Elsewhere(
            "PyTorch 2.13",
            "2026-11",
            "# with torch.cuda.stream(side):\ny = xs[0] @ w\n# torch.cuda.current_stream().wait_stream(side)",
        ),
    ),
    slips=(tips.Slip("R", waits, {"equal": True}, "the guide waits at once, so nothing runs beside anything."),),
    devices=("sim",),
    torch=None,
    differs_in_torch="The same holds on a GPU; without one there are no streams.",
)
