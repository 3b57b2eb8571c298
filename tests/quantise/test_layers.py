"""Layers in 8 bits: near those that they stand for, exact in their sums, a quarter of the bytes, saved and loaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tinygrad_edu import nn
from tinygrad_edu.errors import ArgumentError
from tinygrad_edu.nn import functional as F
from tinygrad_edu.nn.utils import dtype_report
from tinygrad_edu.quantise import QuantisedConv2d, QuantisedLinear, quantise

CONVOLUTIONS: dict[str, dict[str, Any]] = {
    "plain": {}, "padded": {"padding": 1}, "same": {"padding": "same"}, "strided": {"stride": 2, "padding": 1},
    "dilated": {"dilation": 2, "padding": 2}, "grouped": {"groups": 2},
    "reflected": {"padding": 1, "padding_mode": "reflect"},
    "without bias": {"bias": False}, "depthwise": {"groups": 4},
}  # fmt: skip


@pytest.fixture(autouse=True)
def _seeded() -> None:
    tg.manual_seed(0)


@pytest.mark.parametrize("per_channel", [True, False])
@pytest.mark.parametrize("static", [True, False])
def test_a_linear_layer_is_off_by_no_more_than_its_steps_allow(per_channel: bool, static: bool) -> None:
    layer, x = nn.Linear(600, 20), tg.randn(30, 600)
    small = quantise(layer, [x] if static else None, per_channel=per_channel)
    assert isinstance(small, QuantisedLinear) and small.weight.dtype == "int8"
    off = np.abs(small(x).numpy() - layer(x).detach().numpy())
    sx = (x.max().item() - min(x.min().item(), 0)) / 255
    sw = np.broadcast_to(small.scale.numpy(), (20,))
    w, given = np.abs(layer.weight.detach().numpy()), np.abs(x.numpy())
    most = sx / 2 * w.sum(1) + (given.sum(1)[:, None] + 600 * sx / 2) * sw / 2
    assert np.all(off <= most + 1e-4) and off.max() < 0.2
    assert ("static" if static else "dynamic") in repr(small)


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_a_convolution_is_that_of_its_whole_numbers(name: str) -> None:
    """Against a convolution in float64 of the numbers that weights and images stand for."""
    layer = nn.Conv2d(4, 8, 3, **CONVOLUTIONS[name])
    images = tg.randn(2, 4, 9, 9)
    small = quantise(layer)
    assert isinstance(small, QuantisedConv2d)
    padded, padding = layer._padded(images)
    taken = small._input(padded).dequantise().double()
    weights = small.weight.double() * small.scale.double().reshape(-1, 1, 1, 1)
    bias = None if layer.bias is None else layer.bias.detach().double()
    exact = F.conv2d(taken, weights, bias, layer.stride, padding, layer.dilation, layer.groups)
    np.testing.assert_allclose(small(images).numpy(), exact.numpy(), rtol=1e-5, atol=1e-5)
    assert np.abs(small(images).numpy() - layer(images).detach().numpy()).max() < 0.1
    assert small(images[0]).shape == layer(images[0]).shape, "one image"


@pytest.mark.parametrize("groups", [1, 2])
def test_many_channels_are_summed_exactly(groups: int) -> None:
    """300 channels of 9 numbers do not fit into the 2**24 that float32 counts to."""
    layer = nn.Conv2d(300, 2, 3, groups=groups, bias=False)
    layer.weight.detach()[...] = 1.0
    images = tg.ones(1, 300, 3, 3)
    small = quantise(layer)
    sums = 300 * 9 / groups
    assert small(images).reshape(-1).tolist() == pytest.approx([sums, sums], rel=1e-6)


def test_static_inputs_are_clamped_and_dynamic_ones_are_not() -> None:
    layer = nn.Linear(1, 1, bias=False)
    layer.weight.detach()[...] = 1.0
    static, dynamic = quantise(layer, [tg.tensor([[1.0]]), tg.tensor([[-1.0]])]), quantise(layer)
    far = tg.tensor([[4.0]])
    assert static(far).item() == pytest.approx(1, abs=0.02) and dynamic(far).item() == pytest.approx(4, abs=0.05)


def model() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(16 * 16, 64), nn.ReLU(),
        nn.Linear(64, 10),
    )  # fmt: skip


def test_a_model_has_a_quarter_of_the_bytes_and_its_scales() -> None:
    net = model()
    small = quantise(net)
    weights = sum(p.nbytes for name, p in net.named_parameters() if name.endswith("weight"))
    found = {str(row.dtype): row.nbytes for row in dtype_report(small).rows}
    biases, scales = 4 * (16 + 64 + 10), 4 * (16 + 64 + 10)
    assert found == {"int8": weights // 4, "float32": biases + scales}
    assert not list(small.parameters()), "nothing to train"
    assert type(net[0]) is nn.Conv2d and net.training and not small.training, "the model is left as it was"
    assert not small(tg.randn(2, 1, 8, 8)).requires_grad


@pytest.mark.parametrize("static", [True, False])
def test_a_state_file_brings_it_back(tmp_path: Path, static: bool) -> None:
    net, images = model(), tg.randn(3, 1, 8, 8)
    data = [images] if static else None
    small = quantise(net, data)
    tg.save(small.state_dict(), tmp_path / "small.safetensors")
    other = quantise(model(), [images * 2] if static else None)
    assert other(images).tolist() != small(images).tolist()
    other.load_state_dict(tg.load(tmp_path / "small.safetensors"))
    assert other(images).tolist() == small(images).tolist()
    assert (tmp_path / "small.safetensors").stat().st_size < 0.3 * sum(p.nbytes for p in net.parameters()) + 4096


def test_it_runs_on_the_simulated_device() -> None:
    net, images = model(), tg.randn(3, 1, 8, 8)
    small = quantise(net, [images])
    here = small(images)
    assert small.to("sim")(images.to("sim")).cpu().tolist() == here.tolist()


@pytest.mark.parametrize(("call", "words"), [
    (lambda: quantise(nn.ReLU()), "it has no Linear and no Conv2d"), (lambda: quantise(3), "it is no module"),
    (lambda: quantise(nn.Linear(2, 2), []), "no input has reached"),
])  # fmt: skip
def test_what_cannot_be_quantised(call: Any, words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        call()
