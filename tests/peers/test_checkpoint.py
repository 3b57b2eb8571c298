"""Checkpoints beside PyTorch's: names, arguments, values and gradients."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tinygrad_edu.utils import checkpoint as ours

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install -e '.[peers]'")
theirs = pytest.importorskip("torch.utils.checkpoint")
pytestmark = pytest.mark.peers


def test_names_and_arguments_are_pytorchs() -> None:
    assert set(ours.__all__) <= set(theirs.__all__)
    assert issubclass(theirs.CheckpointError, RuntimeError) and issubclass(ours.CheckpointError, RuntimeError)
    for name in ("checkpoint", "checkpoint_sequential"):
        mine, other = (inspect.signature(getattr(m, name)).parameters for m in (ours, theirs))
        assert [n for n in mine if n != "preserve_rng_state"] == list(other)
        assert all(mine[n].kind is other[n].kind for n in other)
        plain = [n for n in other if not callable(other[n].default)]
        assert all(mine[n].default == other[n].default for n in plain if other[n].default is not inspect._empty)


def model(m: Any) -> Any:
    """Eight layers with the same numbers in both."""
    rng, layers = np.random.default_rng(0), []
    for _ in range(8):
        linear = m.nn.Linear(5, 5)
        values = rng.normal(size=(5, 5)).astype(np.float32), rng.normal(size=5).astype(np.float32)
        linear.load_state_dict({"weight": m.tensor(values[0]), "bias": m.tensor(values[1])})
        layers += [linear, m.nn.Tanh()]
    return m.nn.Sequential(*layers)


@pytest.mark.parametrize("segments", [1, 3, 5, 16])
def test_a_model_in_segments(segments: int) -> None:
    found = []
    for m, place in ((tg, ours), (torch, theirs)):
        net = model(m)
        x = m.tensor(np.linspace(-1, 1, 15).reshape(3, 5).astype(np.float32), requires_grad=True)
        y = place.checkpoint_sequential(net, segments, x, use_reentrant=False)
        inner = place.checkpoint(lambda x, net=net, place=place: place.checkpoint(net[:4], x, use_reentrant=False) * x,
                                 x, use_reentrant=False)  # fmt: skip
        (y.sum() + inner.sum()).backward()
        found.append([y.detach().numpy(), x.grad.numpy(), *(p.grad.numpy() for p in net.parameters())])
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


def test_second_derivatives() -> None:
    found = []
    for m, place in ((tg, ours), (torch, theirs)):
        x = m.tensor([0.3, -0.8, 1.1], requires_grad=True)
        y = place.checkpoint(lambda x: x.tanh() * x.exp(), x, use_reentrant=False)
        (g,) = m.autograd.grad(y.sum(), x, create_graph=True)
        (h,) = m.autograd.grad((g * g).sum(), x)
        found.append((g.detach().numpy(), h.numpy()))
    np.testing.assert_allclose(*(np.concatenate(one) for one in found), rtol=1e-5)


def test_batch_norm_moves_its_statistics_twice() -> None:
    found = []
    for m, place in ((tg, ours), (torch, theirs)):
        norm, x = m.nn.BatchNorm1d(2), m.tensor([[1.0, 2.0], [3.0, 6.0]], requires_grad=True)
        place.checkpoint(norm, x, use_reentrant=False).sum().backward()
        found.append((norm.num_batches_tracked.item(), norm.running_mean.numpy()))
    assert found[0][0] == found[1][0] == 2
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-6)
