"""Attend block by block."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tinygrad_edu as tg
from tinygrad_edu import Tensor
from tinygrad_edu.common.wording import bytes_text
from tinygrad_edu.nn.attention import SDPBackend, local_attention, sdpa_kernel
from tinygrad_edu.nn.functional import scaled_dot_product_attention
from tinygrad_edu.tips import Claim, Elsewhere, Limit, Over, Picture, Question, Result, Size, Source, Tip, Way
from tinygrad_edu.tips.outcomes import DIFFERS
from tinygrad_edu.tips.signs import Seen, Sign

HEADS, FEATURES, LENGTHS = 4, 32, (768, 960, 1152, 1344, 1536)


def inputs(generator: tg.Generator, n: int, window: int) -> dict[str, Any]:
    q, k, v = (tg.randn(1, HEADS, n, FEATURES, generator=generator).requires_grad_() for _ in "qkv")
    return {"q": q, "k": k, "v": v, "window": window}


def slow(q: Tensor, k: Tensor, v: Tensor, window: int) -> Any:
    with sdpa_kernel(SDPBackend.MATH):
        out = scaled_dot_product_attention(q, k, v, is_causal=True)
    out.sum().backward()
    return out.detach(), q.grad, k.grad, v.grad


def fast(q: Tensor, k: Tensor, v: Tensor, window: int) -> Any:
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        out = scaled_dot_product_attention(q, k, v, is_causal=True)
    out.sum().backward()
    return out.detach(), q.grad, k.grad, v.grad


def local_window(q: Tensor, k: Tensor, v: Tensor, window: int) -> Any:
    out = local_attention(q, k, v, window)
    out.sum().backward()
    return out.detach(), q.grad, k.grad, v.grad


def torch_local_window(q: Any, k: Any, v: Any, window: int) -> Any:
    look = q.new_ones(q.shape[2], k.shape[2]).tril().bool()
    look &= ~look.tril(-window)
    out = scaled_dot_product_attention(q, k, v, look)
    out.sum().backward()
    return out.detach(), q.grad, k.grad, v.grad


def needs(result: Result) -> str:
    share = result.fast["peak"] / result.slow["peak"]
    return "more than half" if share > 0.5 else "a fifth to a half" if share > 0.2 else "less than a fifth"


def applies(seen: Seen) -> Iterator[Sign]:
    for place in seen.at("softmax"):
        square = len(place.shape) > 1 and place.shape[-1] == place.shape[-2] >= 128
        if square and ("matmul" in str(place.tree) or "einsum" in str(place.tree)):
            told = f"a softmax over {place.shape[-1]} × {place.shape[-1]} scores of a product"
            yield Sign(place.line, told, place.seconds, saves=f"{bytes_text(place.nbytes // place.count)} of scores")


TIP = Tip(
    slug="efficient-attention",
    title="Attend block by block",
    theme="compute",
    why="A row of attention is a mean, and **a mean can be taken block by block**, so no matrix of scores is kept.",
    about=(
        "A computes the score of each row with each key, and keeps all of them for backward: memory grows with the "
        "square of the length. B takes a block of keys at a time. For each row it remembers the largest score, the sum "
        "and the mean so far, and scales both down when a larger score comes. Backward computes the scores of a block "
        "again from one number for each row. The numbers are the same, so this is done by default for long inputs. It "
        "has no dropout. C looks only at the last rows, a window: it computes something else, and time and memory both "
        "grow with the length."
    ),
    sources=(Source("R", "Optimized Attention", "sparse attention past a length of 1024"),),
    parameters=(Size("n", 1024, 1, 1536, "rows and keys"), Size("window", 64, 1, 256, "how many rows C looks at")),
    inputs=inputs,
    slow=slow,
    fast=fast,
    also=(
        Way("a local window", local_window, DIFFERS, "Far rows count for nothing: another model, to be trained so."),
    ),
    torch={"a local window": torch_local_window},
    claims=(
        Claim("peak", times=5),
        Claim("peak", over=Over("n", LENGTHS, slow="quadratic", fast="linear")),
        Claim("peak", ways=("slow", "a local window"), over=Over("n", LENGTHS, slow="quadratic", fast="linear")),
        Claim("time", ways=("fast", "a local window")),
    ),
    limits=(
        Limit({"n": 128}, "no difference", "All rows are one block, and a row of scores is as long as the features."),
        Limit({"n": 1}, "no difference", "There is one score for each head, and one number for each row in B."),
    ),
    question=Question(
        "There are 1024 rows and 4 heads of 32 features. How much of A's peak does B need, forward and backward?",
        ("more than half", "a fifth to a half", "less than a fifth"),
        needs,
        tempting="more than half",
        refutation="Backward needs the scores, but of one block at a time, and it can compute those again.",
    ),
    explain="Why is one number for each row enough to compute the weights of a block again?",
    symptoms=("out of memory", "memory grows with the square of the length"),
    picture=Picture("MemoryRiver", dict),
    elsewhere=(
        Elsewhere(
            "PyTorch 2.13",
            "2026-11",
            "from torch.nn.attention import SDPBackend, sdpa_kernel\n"
            "with sdpa_kernel(SDPBackend.FLASH_ATTENTION):\n"
            "    y = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)",
        ),
    ),
    devices=("cpu", "cuda"),
    differs_in_torch="A and B are the same there. C is a mask, so a whole matrix; `flex_attention`, compiled, is not.",
    applies=applies,
)
