"""Attention block by block beside PyTorch's own blocks, and the choice between the two by the same names."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tinygrad_edu.nn.attention import SDPBackend, local_attention, sdpa_kernel

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install -e '.[peers]'")
pytestmark = pytest.mark.peers


def both(
    shape: tuple[int, ...], keys: tuple[int, ...], ours: Any, theirs: Any, backend: str = "FLASH_ATTENTION"
) -> None:
    """Equal results and gradients, where both may work in the same way only."""
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=size).astype("f4") for size in (shape, keys, keys)]
    g = rng.normal(size=shape).astype("f4")
    mine = [tg.tensor(x, requires_grad=True) for x in arrays]
    other = [torch.tensor(x, requires_grad=True) for x in arrays]
    with sdpa_kernel(SDPBackend[backend]):
        found = ours(*mine)
    with torch.nn.attention.sdpa_kernel(getattr(torch.nn.attention.SDPBackend, backend)):
        expected = theirs(*other)
    np.testing.assert_allclose(found.detach().array, expected.detach().numpy(), atol=2e-6)
    slopes = tg.autograd.grad(found, mine, tg.tensor(g)), torch.autograd.grad(expected, other, torch.tensor(g))
    for one, another in zip(*slopes, strict=True):
        np.testing.assert_allclose(one.array, another.numpy(), atol=2e-5)


@pytest.mark.parametrize("backend", ["MATH", "FLASH_ATTENTION"])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("length", [5, 256, 600])
def test_by_the_same_names(length: int, causal: bool, backend: str) -> None:
    shape = (1, 2, length, 16)
    both(
        shape, shape,
        lambda *xs: tg.nn.functional.scaled_dot_product_attention(*xs, is_causal=causal),
        lambda *xs: torch.nn.functional.scaled_dot_product_attention(*xs, is_causal=causal),
        backend,
    )  # fmt: skip


@pytest.mark.parametrize("kind", ["bool", "float"])
def test_with_masks(kind: str) -> None:
    mask = np.random.default_rng(1).random((300, 400)) < 0.5
    added: Any = mask if kind == "bool" else np.where(mask, 0.5, -2.0).astype("f4")
    both(
        (1, 2, 300, 8), (1, 2, 400, 8),
        lambda *xs: tg.nn.functional.scaled_dot_product_attention(*xs, tg.tensor(added)),
        lambda *xs: torch.nn.functional.scaled_dot_product_attention(*xs, torch.tensor(added)),
    )  # fmt: skip


@pytest.mark.parametrize("window", [1, 40, 300])
def test_a_window_is_a_mask_there(window: int) -> None:
    shape = (1, 2, 257, 8)
    behind = np.arange(257)[:, None] - np.arange(257)
    near = torch.tensor((behind >= 0) & (behind < window))
    both(
        shape, shape,
        lambda *xs: local_attention(*xs, window=window),
        lambda *xs: torch.nn.functional.scaled_dot_product_attention(*xs, near),
    )  # fmt: skip


def test_long_rows_without_a_choice() -> None:
    """So many scores that blocks are taken."""
    shape = (1, 1, 1100, 4)
    rng = np.random.default_rng(2)
    q, k, v = (rng.normal(size=shape).astype("f4") for _ in range(3))
    found = tg.nn.functional.scaled_dot_product_attention(*map(tg.tensor, (q, k, v)), is_causal=True)
    expected = torch.nn.functional.scaled_dot_product_attention(*map(torch.tensor, (q, k, v)), is_causal=True)
    np.testing.assert_allclose(found.array, expected.numpy(), atol=2e-6)


def test_the_names_are_pytorchs() -> None:
    for one in SDPBackend:
        assert one.value == getattr(torch.nn.attention.SDPBackend, one.name).value
