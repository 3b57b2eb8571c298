"""Let each shape find its fastest algorithm, or fix one."""

from __future__ import annotations

from itertools import cycle
from typing import Any

import tinygrad_edu as tg
from tinygrad_edu import Tensor, tips
from tinygrad_edu.backends import algorithms, autotune, cudnn
from tinygrad_edu.nn.functional import conv2d
from tinygrad_edu.tips import Choice, Claim, Elsewhere, Limit, Picture, Question, Result, Size, Source, Tip, Way

tips.declare(tips.Fact("results", "different results", "count", "how many results differ from each other in some bit"))


def inputs(generator: tg.Generator, kernel: int, shapes: str, deterministic: str) -> dict[str, Any]:
    x, weight = (tg.randn(*size, generator=generator) for size in ((1, 4, 64, 64), (4, 4, kernel, kernel)))
    parts = [x] if shapes == "constant" else [x[..., i:] for i in range(8)]
    return {"parts": parts, "weight": weight, "deterministic": deterministic == "yes"}


@tips.prepared
def slow(parts: list[Tensor], weight: Tensor, deterministic: bool) -> Any:
    turn = cycle(parts)
    return lambda: conv2d(next(turn), weight)


@tips.prepared
def fast(parts: list[Tensor], weight: Tensor, deterministic: bool) -> Any:
    turn = cycle(parts)
    autotune.forget()

    def step() -> Tensor:
        with cudnn.flags(enabled=True, benchmark=True, deterministic=deterministic):
            return conv2d(next(turn), weight)

    return step


def whichever_wins(parts: list[Tensor], weight: Tensor, deterministic: bool) -> int:
    given = (parts[0].numpy(), weight.numpy(), (1, 1), (0, 0), (1, 1), 1)
    return len({way(*given).tobytes() for way in algorithms.WAYS.values()})


def always_one(parts: list[Tensor], weight: Tensor, deterministic: bool) -> int:
    with cudnn.flags(enabled=True, benchmark=True, deterministic=True):
        return len({conv2d(parts[0], weight).numpy().tobytes() for _ in range(4)})


def later(result: Result) -> str:
    first, now = result.fast["at"]["first"]["tries"], result.fast["tries"]
    return "none" if now == 0 else "one" if now < first else "all of them"


TIP = Tip(
    slug="autotune",
    title="Let each shape find its fastest algorithm, or fix one",
    theme="compute",
    why="Which algorithm is fastest depends on shapes and machine, so **it is tried once and remembered**.",
    about=(
        "A convolution can gather its windows for one large product, add up a product for each place in the kernel, "
        "change the layout, or multiply frequencies. A always gathers. In B, `benchmark` times all of them when a "
        "shape is new, and takes the fastest from then on. That call is slow, so it pays where shapes stay. The "
        "algorithms round in different order, so their last bits differ, and another may win in the next run. With "
        "`deterministic` one is taken always, and bits repeat. `autotune.table()` shows what was chosen."
    ),
    sources=(Source("P", "Set Benchmark Mode", "benchmark for constant sizes; deterministic is slower"),),
    parameters=(
        Size("kernel", 15, 2, 31, "rows and columns of the kernels"),
        Choice("shapes", "constant", ("constant", "changing"), "the images' shapes, from call to call"),
        Choice("deterministic", "no", ("no", "yes"), "whether B is also to be deterministic"),
    ),
    inputs=inputs,
    slow=slow,
    fast=fast,
    also=(
        Way("whichever wins", whichever_wins, tips.FREE, "All that may win give equal numbers, and different bits."),
        Way("always one", always_one, tips.FREE, "`deterministic`: the same bits in each call."),
    ),
    claims=(
        Claim("tries", when="first", slow=0, fast=len(algorithms.WAYS)),
        Claim("time", when="first", price=True),
        Claim("tries", same=True),
    ),
    limits=(
        Limit({"shapes": "changing"}, "false here", "Each shape is new, so each call times all algorithms again."),
        Limit({"deterministic": "yes"}, "no difference", "`deterministic` fixes the algorithm: there is no choice."),
    ),
    question=Question(
        "In its first call B times every algorithm. How many does it time in the second call with the same shapes?",
        ("none", "one", "all of them"),
        later,
        tempting="all of them",
        refutation="The choice is kept for this shape; only another shape would make it time again.",
    ),
    explain="Why may two runs of B on the same machine give different last bits, and two of the last way not?",
    symptoms=("the first run is slow", "my convolutions are slow", "my results change from run to run"),
    picture=Picture("TimingRace", dict),
    elsewhere=(
        Elsewhere(
            "PyTorch 2.13",
            "2026-11",
            "with torch.backends.cudnn.flags(benchmark=True):\n    y = torch.conv2d(*parts, weight)",
        ),
    ),
    reads={"results": lambda found: found if isinstance(found, int) else 1},
    torch=None,
    differs_in_torch="Its switches are for cuDNN, on a GPU; on a CPU, oneDNN chooses by rules and times nothing.",
)
