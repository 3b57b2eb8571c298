"""DLPack with PyTorch and JAX: the same memory."""

from __future__ import annotations

import pytest

import tinygrad_edu as tg


def test_pytorch_shares_memory_both_ways() -> None:
    torch = pytest.importorskip("torch", reason="needs PyTorch: pip install -e '.[peers]'")
    theirs = torch.zeros(2, 3)
    ours = tg.from_dlpack(theirs)
    ours[0, 0] = 1
    assert theirs[0, 0] == 1
    again = torch.from_dlpack(ours)
    theirs[1, 1] = 2
    assert again[1, 1] == 2 and ours[1, 1].item() == 2
    with pytest.raises(tg.errors.DtypeError, match="bfloat16 goes by way of float32"):
        tg.from_dlpack(theirs.bfloat16())
    with pytest.raises(tg.errors.DtypeError, match="detach it"):
        tg.from_dlpack(theirs.requires_grad_())


def test_jax_reads_it() -> None:
    jnp = pytest.importorskip("jax.numpy", reason="needs JAX: pip install -e '.[peers]'")
    x = tg.arange(6.0).reshape(2, 3)
    assert jnp.from_dlpack(x).tolist() == x.tolist()
    assert tg.from_dlpack(jnp.ones((2, 2)), copy=True).tolist() == [[1.0, 1.0], [1.0, 1.0]]
