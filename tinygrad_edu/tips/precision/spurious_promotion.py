"""Keep float64 out of a float32 program."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import tinygrad_edu as tg
from tinygrad_edu import Tensor
from tinygrad_edu.common.wording import bytes_text
from tinygrad_edu.observe.promotion import Promotions
from tinygrad_edu.tips import FREE, Choice, Claim, Elsewhere, Limit, Picture, Question, Result, Size, Source, Tip, Way
from tinygrad_edu.tips.signs import Seen, Sign, spent
from tinygrad_edu.tips.ways import Shown


def inputs(generator: tg.Generator, n: int, mean: str) -> dict[str, Any]:
    x, gain = tg.rand(n, 256, generator=generator), tg.rand(256, generator=generator)
    found = np.full(256, 0.5) if mean == "one for each column" else np.float64(0.5)  # NumPy computes in float64
    return {"x": x, "mean": tg.tensor(found), "gain": gain}


def slow(x: Tensor, mean: Tensor, gain: Tensor) -> Tensor:
    y = (x - mean) * gain
    return y.tanh()


def fast(x: Tensor, mean: Tensor, gain: Tensor) -> Tensor:
    y = (x - mean.to(x.dtype)) * gain
    return y.tanh()


def traced(x: Tensor, mean: Tensor, gain: Tensor) -> Any:
    with Promotions() as seen:
        slow(x, mean, gain)
    first = seen.first
    if first is None or first.culprit is None:
        return Shown("The first operation that widened", "none")
    culprit = first.culprit
    code = first.line.partition(": ")[2]
    came = f"{first.name} gives {first.dtype}, given {culprit.dtype} {culprit.shape}"
    return Shown("The first operation that widened", f"{code}\n{came}")


def needed(result: Result) -> str:
    times = result.slow["allocated"] / result.fast["allocated"]
    return "as many" if times < 1.2 else "about twice as many" if times < 2.2 else "more than twice as many"


def picture() -> dict[str, Any]:
    x = tg.arange(3.0)
    return {"x, float32": x, "x - mean, float64": x - tg.tensor(np.full(3, 0.5))}


def applies(seen: Seen) -> Iterator[Sign]:
    wide = {seen.row(place.line) for place in seen.places if place.device != "cpu" and place.dtype == "float64"}
    there = spent(work for work in seen.kernels() if seen.row(work.line) in wide)  # what came of it, on a device
    for line, (name, count, narrow) in seen.widened.items():
        if narrow >= 1000:
            told = f"{name} widened float32 to float64, {count} times"
            saves = f"{bytes_text(narrow)} too many there"
            yield Sign(line, told, there or seen.seconds_at(line), virtual=there > 0, saves=saves)


TIP = Tip(
    slug="spurious-promotion",
    title="Keep float64 out of a float32 program",
    theme="precision",
    why="Where dtypes meet, **the wider one wins**, and all that is computed from the result is as wide.",
    about=(
        "NumPy makes float64 unless it is told otherwise: means, linspace, random numbers, lists of floats. One such "
        "array meets a float32 tensor, and the result is float64, without a word. The narrow operand is copied first, "
        "every later result has twice the bytes, and gradients as well; on many GPUs float64 is 32 or 64 times as "
        "slow. Convert where data come in: `torch.tensor(a, dtype=torch.float32)`. A Python number, or a tensor "
        "without axes, widens nothing in PyTorch; in NumPy an `np.float64` number does. To find where it comes from, "
        "run the program in `observe.promotion.Promotions`: it names the first operation that widened, and its line."
    ),
    sources=(Source("L", "Spurious Type-Promotion", "float64 data make a float32 model run in float64"),),
    parameters=(
        Size("n", 512, 1, 2048, "the number of rows, of 256 numbers each"),
        Choice("mean", "one for each column", ("one for each column", "one number"), "what is subtracted"),
    ),
    inputs=inputs,
    slow=slow,
    fast=fast,
    claims=(Claim("allocated", times=2), Claim("peak", times=1.5), Claim("held", times=2), Claim("time")),
    limits=(Limit({"mean": "one number"}, "no difference", "A tensor without axes takes on the dtype of the other."),),
    question=Question(
        "`x` and `gain` are float32; `mean` is float64, one number for each column. How many bytes does A allocate?",
        ("as many", "about twice as many", "more than twice as many"),
        needed,
        tempting="about twice as many",
        refutation="Each result has twice the bytes, and `x` itself is copied into float64 before it is used.",
    ),
    also=(Way("traced", traced, FREE, "Names the operation and the operand."),),
    explain="Which arrays does A make that B does not, and how large is each?",
    symptoms=("out of memory", "my loop is slow", "a result has an unexpected dtype"),
    picture=Picture("BufferMap", picture),
    elsewhere=(
        Elsewhere("PyTorch 2.13", "2026-11", "y = ((x - mean.to(x.dtype)) * gain).tanh()"),
        Elsewhere("Lux 1.0", "2026-11", "x = f32(x)  # converts every array of a tree"),
    ),
    devices=("cpu", "sim", "cuda"),
    applies=applies,
)
