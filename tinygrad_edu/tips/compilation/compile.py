"""Compile what runs many times."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tinygrad_edu as tg
from tinygrad_edu import Tensor
from tinygrad_edu.tips import Choice, Claim, Elsewhere, Figure, Limit, Picture, Question, Result, Size, Source, Tip, Way
from tinygrad_edu.tips.ways import prepared


def curve(x: Tensor, w: Tensor) -> Tensor:
    y = x @ w
    return 0.5 * y * (1 + (0.8 * (y + 0.045 * y * y * y)).tanh()) + x


def inputs(generator: tg.Generator, rows: int, work: str) -> dict[str, Any]:
    x, w = tg.randn(rows, 256, generator=generator), tg.randn(256, 256, generator=generator) / 16
    return {"x": x, "w": w, "work": curve if work == "a product and a curve" else tg.matmul}


@prepared
def slow(x: Tensor, w: Tensor, work: Callable[..., Tensor]) -> Callable[[], Tensor]:
    return lambda: work(x, w)


@prepared
def fast(x: Tensor, w: Tensor, work: Callable[..., Tensor]) -> Callable[[], Tensor]:
    compiled = tg.compile(work)
    return lambda: compiled(x, w)


@prepared
def at_once(x: Tensor, w: Tensor, work: Callable[..., Tensor]) -> Callable[[], Tensor]:
    compiled = tg.compile(work, mode="reduce-overhead")
    return lambda: compiled(x, w)


@prepared
def tuned(x: Tensor, w: Tensor, work: Callable[..., Tensor]) -> Callable[[], Tensor]:
    compiled = tg.compile(work, mode="max-autotune")
    return lambda: compiled(x, w)


def saved(result: Result) -> str:
    return "most of them" if result.slow["allocated"] > 3 * result.fast["allocated"] else "hardly any"


TIP = Tip(
    slug="compile",
    title="Compile what runs many times",
    theme="compilation",
    why="A compiler sees the **whole** program, so what one operation hands to the next need not go through memory.",
    about=(
        "Without a compiler each operation is looked up, checked and carried out, and its result goes into new memory, "
        "from where the next one fetches it. `compile` runs the function once and writes down what it does to arrays. "
        "From that listing it makes one function: neighbouring elementwise operations become one kernel, and memory is "
        "planned once. The first call pays for that, so compile what runs many times with inputs of one shape. "
        "A product of large matrices gains nothing; it is one kernel anyway. Where the host cannot launch kernels "
        'fast enough, `mode="reduce-overhead"` launches all of them with one command (a CUDA graph). '
        '`"max-autotune"` tries several forms of the code first, so its first call takes longer still.'
    ),
    sources=(
        Source(
            "P",
            "torch.compile (PyTorch 2.0+)",
            "30–200 % faster, depending on the model; three modes, fullgraph, dynamic",
        ),
    ),
    parameters=(
        Size("rows", 1024, 1, 4096, "rows of 256 numbers"),
        Choice("work", "a product and a curve", ("a product and a curve", "a product"), "what the function does"),
    ),
    inputs=inputs,
    slow=slow,
    fast=fast,
    also=(
        Way("reduce-overhead", at_once, words="The host launches all kernels with one command."),
        Way("max-autotune", tuned, words="The first call tries several forms of the code."),
    ),
    claims=(
        Claim("calls", times=3),
        Claim("allocated", times=5),
        Claim("calls", price=True, when="first"),
        Claim("time"),
    ),
    limits=(Limit({"work": "a product"}, "no difference", "One product is one kernel, compiled or not."),),
    figures=(Figure("time", 1.3, "P", "30 % faster at least"), Figure("time", 3.0, "P", "200 % faster at most")),
    question=Question(
        "A makes a buffer for the result of each operation. How much of that memory does B do without?",
        ("hardly any", "most of them"),
        saved,
        tempting="hardly any",
        refutation="Results in between stay in a strip of rows that fits the cache. Only the last one is written out.",
    ),
    explain="Which of A's buffers does nobody outside the function ever see?",
    symptoms=("my loop is slow", "the processor or GPU is hardly busy"),
    picture=Picture("TimingRace", dict),
    elsewhere=(
        Elsewhere(
            "PyTorch 2.13",
            "2026-11",
            "f = torch.compile(lambda x, w: (x @ w).tanh() + x, backend='eager')  # or 'inductor'\ny = f(x, w)",
        ),
        Elsewhere("JAX 0.10", "2026-11", "y = jax.jit(work)(x, w)"),
    ),
    devices=("cpu", "sim"),
    torch=None,
    differs_in_torch="torch.compile needs a C++ compiler, and its kernels are not seen by the profiler's counters.",
)
