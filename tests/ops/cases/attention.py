"""Attention, embeddings and dropout."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.ops.cases.base import Make, bools, case, integers, normal


def plain(torch: Any, *xs: Any, **how: Any) -> Any:
    """PyTorch's attention, by the path whose derivatives it knows to every order."""
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        return torch.nn.functional.scaled_dot_product_attention(*xs, **how)


def blind(*shape: int) -> Make:
    """A mask whose first row may look at nothing."""
    return lambda rng: np.arange(shape[0]).reshape(-1, 1) * np.ones(shape) > 0


QKV = (normal(2, 3, 2), normal(2, 4, 2), normal(2, 4, 3))
case("scaled_dot_product_attention", "plain", *QKV, scale=0.7, torch=lambda torch, *xs: plain(torch, *xs, scale=0.7))
case(
    "scaled_dot_product_attention", "causal", *QKV, scale=0.7, causal=True,
    torch=lambda torch, *xs: plain(torch, *xs, scale=0.7, is_causal=True),
)  # fmt: skip
for _note, _mask in (("bools", bools(2, 3, 4)), ("blind", blind(3, 4)), ("added", normal(3, 4))):
    case(
        "scaled_dot_product_attention", _note, *QKV, _mask, scale=0.7,
        torch=lambda torch, *xs: plain(torch, *xs, scale=0.7), halves=2.0,
    )  # fmt: skip
case(
    "scaled_dot_product_attention", "shared", normal(2, 2, 3, 2), normal(2, 1, 2, 2), normal(1, 2, 3), scale=1.0,
    torch=lambda torch, *xs: plain(torch, *xs, scale=1.0), halves=2.0,
)  # fmt: skip
case(
    "scaled_dot_product_attention", "dropout", *QKV, normal(3, 4), bools(2, 3, 4), scale=0.7, dropout_p=0.5, halves=2.0
)

for _note, _how in (
    ("plain", {}), ("causal", {"causal": True}), ("local", {"window": 2}), ("one block", {"block": 9}),
):  # fmt: skip
    case(
        "blockwise_attention", _note, *QKV, scale=0.7, **{"block": 2, **_how},
        torch=None if "window" in _how else lambda torch, *xs, c="causal" in _how: plain(
            torch, *xs, scale=0.7, is_causal=c
        ),
    )  # fmt: skip
for _note, _mask in (
    ("bools", bools(2, 3, 4)), ("blind", blind(3, 4)), ("added", normal(3, 4)), ("a number for each row", normal(3, 1)),
):  # fmt: skip
    case(
        "blockwise_attention", _note, *QKV, _mask, scale=0.7, block=2,
        torch=lambda torch, *xs: plain(torch, *xs, scale=0.7), halves=2.0,
    )  # fmt: skip
case("blockwise_attention", "hidden twice", *QKV, normal(4), scale=0.7, causal=True, block=2, halves=2.0)
case(
    "blockwise_attention", "shared", normal(2, 2, 3, 2), normal(2, 1, 2, 2), normal(1, 2, 3), scale=1.0, block=1,
    torch=lambda torch, *xs: plain(torch, *xs, scale=1.0), halves=2.0,
)  # fmt: skip

case(
    "embedding", "rows", normal(5, 3), integers(5, 2, 3),
    torch=lambda torch, w, i: torch.nn.functional.embedding(i, w),
)  # fmt: skip
case(
    "embedding", "options", normal(5, 3), lambda rng: rng.permutation(4), padding_idx=4, scale_grad_by_freq=True,
    torch=lambda torch, w, i: torch.nn.functional.embedding(i, w, padding_idx=4),
)  # fmt: skip
case("dropout", "half", normal(3, 4), bools(3, 4), p=0.5, torch=lambda torch, x, keep: torch.where(keep, x * 2, 0.0))
case("dropout", "all", normal(3), bools(3), p=1.0, torch=lambda torch, x, keep: x * 0)
