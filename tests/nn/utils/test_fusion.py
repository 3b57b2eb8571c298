"""Batch norms folded into the layer before: the numbers of both layers, as in PyTorch, and what cannot be folded."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tinygrad_edu import nn
from tinygrad_edu.errors import ArgumentError
from tinygrad_edu.nn.utils import fuse_conv_bn_eval, fuse_linear_bn_eval

CONVOLUTIONS: list[Any] = [
    (lambda m: m.Conv1d(3, 4, 2), (2, 3, 7), False), (lambda m: m.Conv2d(3, 4, 3, bias=False), (2, 3, 6, 6), False),
    (lambda m: m.Conv2d(4, 4, 3, groups=2, padding=1), (2, 4, 6, 6), False),
    (lambda m: m.Conv3d(2, 4, 2), (1, 2, 3, 3, 3), False), (lambda m: m.ConvTranspose2d(3, 4, 2), (2, 3, 5, 5), True),
]  # fmt: skip


def norm_of(axes: int, affine: bool, m: Any = nn, dtype: Any = None) -> Any:
    kind = {1: m.BatchNorm1d, 2: m.BatchNorm2d, 3: m.BatchNorm3d}[axes]
    return kind(4, affine=affine)


def filled(layer: Any, lib: Any = tg) -> Any:
    """A layer whose parameters and statistics are as after training."""
    rng = np.random.default_rng(1)
    for name, value in [*layer.named_parameters(), *layer.named_buffers()]:
        if value.ndim:
            drawn = rng.uniform(0.5, 2, tuple(value.shape)) if "var" in name else rng.normal(size=tuple(value.shape))
            with lib.no_grad():
                value.copy_(lib.tensor(drawn.astype(np.float32)))
    return layer.eval()


@pytest.mark.parametrize("make, shape, transpose", CONVOLUTIONS)
@pytest.mark.parametrize("affine", [True, False])
def test_one_layer_gives_the_numbers_of_two(make: Any, shape: tuple[int, ...], transpose: bool, affine: bool) -> None:
    conv, bn = filled(make(nn)), filled(norm_of(len(shape) - 2, affine))
    x = tg.randn(*shape)
    before = conv.weight.numpy(force=True).copy()
    fused = fuse_conv_bn_eval(conv, bn, transpose)
    np.testing.assert_allclose(fused(x).numpy(force=True), bn(conv(x)).numpy(force=True), rtol=1e-4, atol=1e-4)
    assert type(fused) is type(conv) and (conv.weight.numpy(force=True) == before).all(), (
        "the layer that was given stays"
    )
    assert fused.weight.requires_grad and isinstance(fused.bias, nn.Parameter)


@pytest.mark.parametrize("bias", [True, False])
def test_a_linear_layer(bias: bool) -> None:
    linear, bn = filled(nn.Linear(3, 4, bias=bias)), filled(nn.BatchNorm1d(4))
    x = tg.randn(5, 3)
    fused = fuse_linear_bn_eval(linear, bn)
    np.testing.assert_allclose(fused(x).numpy(force=True), bn(linear(x)).numpy(force=True), rtol=1e-4, atol=1e-5)


@pytest.mark.peers
@pytest.mark.parametrize("make, shape, transpose", CONVOLUTIONS)
def test_as_in_pytorch(make: Any, shape: tuple[int, ...], transpose: bool) -> None:
    torch = pytest.importorskip("torch", reason="needs PyTorch: pip install -e '.[peers]'")
    ours = fuse_conv_bn_eval(filled(make(nn)), filled(norm_of(len(shape) - 2, True)), transpose)
    theirs = torch.nn.utils.fuse_conv_bn_eval(
        filled(make(torch.nn), torch), filled(norm_of(len(shape) - 2, True, torch.nn), torch), transpose
    )
    for name in ("weight", "bias"):
        np.testing.assert_allclose(
            getattr(ours, name).numpy(force=True), getattr(theirs, name).detach().numpy(), rtol=1e-5, atol=1e-6
        )


@pytest.mark.parametrize("call, why", [
    (lambda: fuse_conv_bn_eval(nn.Linear(2, 4).eval(), nn.BatchNorm2d(4).eval()), "it is no convolution"),
    (lambda: fuse_linear_bn_eval(nn.Conv2d(2, 4, 1).eval(), nn.BatchNorm2d(4).eval()), "it is no Linear"),
    (lambda: fuse_conv_bn_eval(nn.Conv2d(2, 4, 1), nn.BatchNorm2d(4).eval()), "depends on the batch, and no fixed"),
    (lambda: fuse_conv_bn_eval(nn.Conv2d(2, 4, 1).eval(), nn.BatchNorm2d(4)), "depends on the batch, and no fixed"),
    (lambda: fuse_conv_bn_eval(nn.Conv2d(2, 4, 1).eval(), nn.BatchNorm2d(3).eval()), "gives 4 channels"),
    (lambda: fuse_conv_bn_eval(nn.Conv2d(2, 4, 1).eval(), nn.BatchNorm2d(4, track_running_stats=False).eval()),
     "no running statistics"),
    (lambda: fuse_conv_bn_eval(nn.Conv2d(2, 4, 1).eval(), nn.ReLU().eval()), "no running statistics"),
    (lambda: fuse_conv_bn_eval(nn.Conv2d(2, 4, 1).eval(), nn.BatchNorm2d(4).eval(), True), "an ordinary convolution"),
    (lambda: fuse_conv_bn_eval(nn.ConvTranspose2d(2, 4, 1).eval(), nn.BatchNorm2d(4).eval()), "a transposed conv"),
    (lambda: fuse_conv_bn_eval(nn.ConvTranspose2d(2, 4, 1, groups=2).eval(), nn.BatchNorm2d(4).eval(), True),
     "lists the outputs of one group only"),
])  # fmt: skip
def test_what_cannot_be_folded(call: Any, why: str) -> None:
    with pytest.raises(ArgumentError, match=why):
        call()
