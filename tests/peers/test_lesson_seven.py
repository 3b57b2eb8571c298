"""What lesson 7 says of PyTorch, JAX and MyGrad."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import mygrad
import numpy as np
import torch
from torch.utils.checkpoint import checkpoint, checkpoint_sequential


def test_the_guides_share_is_wrong_in_pytorch_and_jax_too() -> None:
    w = torch.ones(1000, requires_grad=True)
    for start in range(0, 1000, 300):
        (w[start : start + 300].mean() / 4).backward()  # type: ignore[no-untyped-call]
    assert w.grad is not None
    assert abs(w.grad[-1] / w.grad[0] - 3.0) < 1e-5

    def part(v, start):  # type: ignore[no-untyped-def]
        return v[start : start + 300].mean()

    v = jnp.ones(1000)
    guide = sum(jax.grad(part)(v, start) / 4 for start in range(0, 1000, 300))
    right = sum(jax.grad(part)(v, start) * (min(300, 1000 - start) / 1000) for start in range(0, 1000, 300))
    np.testing.assert_allclose(guide[-1] / guide[0], 3.0, rtol=1e-5)
    np.testing.assert_allclose(right, jax.grad(lambda value: value.mean())(v), rtol=1e-5)


def test_a_late_lambda_gives_a_wrong_gradient_in_pytorch_without_an_error() -> None:
    def gradient(bound: bool) -> torch.Tensor:
        x = torch.ones(3, requires_grad=True)
        y = x
        for times in (2.0, 5.0):
            if bound:
                y = checkpoint(lambda value, times=times: (times * value).sin(), y, use_reentrant=False)
            else:
                y = checkpoint(lambda value: (times * value).sin(), y, use_reentrant=False)  # noqa: B023
        y.sum().backward()  # type: ignore[no-untyped-call]
        assert x.grad is not None
        return x.grad

    x = torch.ones(3, requires_grad=True)
    (5.0 * (2.0 * x).sin()).sin().sum().backward()  # type: ignore[no-untyped-call]
    assert x.grad is not None
    assert torch.allclose(gradient(True), x.grad)
    assert not torch.allclose(gradient(False), x.grad, rtol=0.1)


def test_checkpoints_elsewhere() -> None:
    x = torch.ones(3, requires_grad=True)
    checkpoint_sequential([torch.tanh, torch.sin], 2, x, use_reentrant=False).sum().backward()
    assert x.grad is not None

    def f(value):  # type: ignore[no-untyped-def]
        return jnp.sin(jnp.tanh(value)).sum()

    np.testing.assert_allclose(jax.grad(jax.checkpoint(f))(jnp.ones(3)), x.grad.numpy(), rtol=1e-5)


def test_a_deleted_name_leaves_what_the_graph_saved_in_pytorch() -> None:
    saved = []
    with torch.autograd.graph.saved_tensors_hooks(
        lambda t: saved.append(t.untyped_storage().nbytes()) or t, lambda t: t
    ):
        y = torch.ones(1000, requires_grad=True).tanh()
    assert saved == [4000]  # tanh keeps its own result
    del y


def test_gradients_do_not_add_in_mygrad() -> None:
    w = mygrad.tensor([1.0])
    for _ in range(2):
        (2 * w).sum().backward()
    assert w.grad == 2.0
