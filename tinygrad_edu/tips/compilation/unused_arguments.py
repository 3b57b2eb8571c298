"""Let the compiler leave out what is never read."""

from __future__ import annotations

from typing import Any

import tinygrad_edu as tg
from tinygrad_edu import Tensor, tips
from tinygrad_edu.tips import Choice, Claim, Elsewhere, Limit, Number, Picture, Question, Result, Size, Source, Tip

tips.declare(tips.Fact("program inputs", "inputs of the program", "count", "arrays that the compiled program takes"))


def layer(x: Tensor, weight: Tensor, scale: Tensor | None, mask: Tensor | None) -> Tensor:
    y = x @ weight
    return y if scale is None else y * scale


def masked(x: Tensor, weight: Tensor, scale: Tensor | None, mask: Tensor | None) -> Tensor:
    y = layer(x, weight, scale, mask)
    return y if mask is None else y * mask


def inputs(generator: tg.Generator, n: int, mask: str) -> dict[str, Any]:
    return {
        "function": layer if mask == "given, never read" else masked,
        "x": tg.randn(n, n, generator=generator),
        "weight": tg.randn(n, n, generator=generator),
        "scale": tg.rand(n, generator=generator),
        "mask": tg.ones(n, n),
    }


def result(compiled: Any, *arguments: Tensor | None) -> Any:
    y = compiled(*arguments)
    return y, tips.Aside(len(compiled.ledger[0].programs[0].inputs))


def slow(function: Any, x: Tensor, weight: Tensor, scale: Tensor, mask: Tensor) -> Any:
    return result(tg.compile(function, options={"keep_unused": True}), x, weight, scale, mask)


def fast(function: Any, x: Tensor, weight: Tensor, scale: Tensor, mask: Tensor) -> Any:
    return result(tg.compile(function), x, weight, scale, mask)


def nothing(function: Any, x: Tensor, weight: Tensor, scale: Tensor, mask: Tensor) -> Any:
    return result(tg.compile(layer, options={"keep_unused": True}), x, weight, scale, None)


def taken(result: Result) -> float:
    return float(result.fast["program inputs"])


TIP = Tip(
    slug="unused-arguments",
    title="Let the compiler leave out what is never read",
    theme="compilation",
    why="A program lists **what it reads**; an argument that no operation reads is in no line of it.",
    about=(
        "A layer with options often takes tensors that one setting does not need. Run as it is written, Python hands "
        "them on at a cost of nanoseconds, and on a device they are brought there for nothing. The compiler sees that "
        "no operation reads them, so the program does not take them. An argument that is None is not even in the "
        "recording: it is a value of Python, and lines behind `is None` did not run. JAX's `jit` does the same, and "
        "has a switch to keep them, `keep_unused`. The gain is small. What matters more is the reverse: an argument "
        "that you thought mattered, and that the program does not take, is a bug you can now see."
    ),
    sources=(
        Source(
            "M",
            "Is there a performance penalty for having unused function parameters?",
            "a small penalty in eager mode; dropped under jit; None vanishes as well",
        ),
    ),
    parameters=(
        Size("n", 256, 8, 1024, "rows and columns"),
        Choice("mask", "given, never read", ("given, never read", "given and read"), "what happens to the mask"),
    ),
    inputs=inputs,
    slow=slow,
    fast=fast,
    also=(tips.Way("None", nothing, words="None is a value of Python. It is no input, even if unused ones are kept."),),
    claims=(
        Claim("program inputs", slow=4, fast=3),
        Claim("program inputs", same=True, ways=("None", "fast")),
    ),
    limits=(Limit({"mask": "given and read"}, "false here", "What is read has to be there."),),
    question=Question(
        "The function takes four tensors, and never reads the mask. How many does the compiled program take?",
        Number(0, 6, "tensors"),
        taken,
        tempting=4.0,
        refutation="There is a line for each operation. None names the mask, so the program does not take it.",
    ),
    explain="How would you find out, from the listing alone, that a model ignores its mask?",
    symptoms=("an argument seems to have no effect",),
    picture=Picture("FusionBuilder", dict),
    elsewhere=(
        Elsewhere("JAX 0.10", "2026-11", "f = jax.jit(layer, keep_unused=False)  # the default"),
        Elsewhere(
            "PyTorch 2.13",
            "2026-11",
            "f = torch.compile(lambda x, w, unread: x @ w, backend='eager')\ny = f(x, weight, mask)",
        ),
    ),
    reads={"program inputs": lambda found: found[1].value},
    torch=None,
    differs_in_torch="torch.compile leaves them out too, and tells nobody how many inputs its graphs have.",
)
