"""Let small, independent kernels run side by side."""

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
    title="Let small, independent kernels run side by side",
    theme="devices",
    why="A small kernel **leaves processors idle**; in the same stream the next one has to wait for it all the same.",
    about=(
        "A stream is a queue: its work runs in order. A product is cut into tiles, and a small one has too few for all "
        "processors. Products that do not need each other can go to streams of their own. Then you have to say the "
        "order: `wait_stream`, or an event, which marks a place in a stream, before another stream reads the result. "
        "Without it there is a race; the simulated device stops there (C), a real one does not. Waiting after "
        "each launch makes one queue of them again (D). First try one batched operation. A real GPU may gain nothing: "
        "on an H100 and an H200, B took about 1.4 times as long as A. Their library splits small products over more "
        "processors, and streams cost time."
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
        tips.Way("no event", no_event, tips.raises(RaceError, "nothing makes one wait"), "The reader does not wait."),
        tips.Way("waits at once", waits, words="The host waits for each stream before it uses the next."),
    ),
    claims=(
        Claim("virtual", times=1.5),
        Claim("launches", same=True),
        Claim("virtual", no_more=True, ways=("waits at once", "slow")),
    ),
    limits=(Limit({"n": 1024}, "false here", "Such a product fills most processors by itself."),),
    question=Question(
        "A and B compute the same products on the same device. B gives each product a stream of its own. What changes?",
        ("both take the same", "B is faster"),
        faster,
        tempting="both take the same",
        refutation="A product with a result of 128 × 128 fills few of the processors, so several can run side by side.",
    ),
    explain="Which processors have nothing to do in A, and what makes the order right in B?",
    symptoms=("my GPU is idle most of the time", "results change from run to run on the GPU"),
    picture=Picture("QueueTimeline", dict),
    elsewhere=(
        Elsewhere(
            "PyTorch 2.13",
            "2026-11",
            "y = torch.stack(xs) @ w  # one launch: better than streams where it can be done\n"
            "# else: with torch.cuda.stream(side), and then current_stream().wait_stream(side)",
        ),
    ),
    slips=(tips.Slip("R", waits, {"equal": True}, "the guide waits right after each launch, so nothing overlaps."),),
    devices=("sim",),
    torch=None,
    differs_in_torch="Streams exist only on a GPU, and small products may gain nothing from them there.",
)
