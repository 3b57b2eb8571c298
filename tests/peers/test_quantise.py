"""Numbers in 8 bits against PyTorch's."""

from __future__ import annotations

import numpy as np
import pytest

import tinygrad_edu as tg
from tinygrad_edu.quantise import integer_product, quantise_tensor, to_float8

torch = pytest.importorskip("torch", reason="needs PyTorch")


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_values_are_those_of_pytorch(symmetric: bool, axis: int | None) -> None:
    values = np.random.default_rng(0).normal(size=(40, 30)).astype("f4") * np.float32(3)
    ours = quantise_tensor(tg.tensor(values), axis, symmetric=symmetric)
    scale, zero = torch.tensor(ours.scale.numpy()), torch.tensor(ours.zero_point.numpy().astype("i8"))
    if axis is None:
        theirs = torch.fake_quantize_per_tensor_affine(torch.tensor(values), scale, zero.to(torch.int32), -128, 127)
    else:
        theirs = torch.fake_quantize_per_channel_affine(
            torch.tensor(values), scale, zero.to(torch.int32), axis, -128, 127
        )
    far = np.abs(ours.dequantise().numpy() - theirs.numpy()) > 1e-5
    assert far.mean() < 0.002, "but for numbers halfway between two: PyTorch multiplies by 1 / scale"
    assert np.abs(ours.dequantise().numpy() - theirs.numpy()).max() <= float(scale.max()) * 1.001


def test_products_are_those_of_pytorch() -> None:
    rng = np.random.default_rng(0)
    x, y = (rng.integers(-128, 128, shape).astype("i1") for shape in ((32, 600), (600, 24)))
    theirs = torch._int_mm(torch.tensor(x), torch.tensor(y))
    assert np.array_equal(integer_product(tg.tensor(x), tg.tensor(y)).numpy(), theirs.numpy())


@pytest.mark.parametrize("kind", ["e4m3fn", "e5m2"])
def test_float8_is_that_of_pytorch(kind: str) -> None:
    values = np.random.default_rng(0).normal(size=(40, 30)).astype("f4") * np.float32(3)
    ours = to_float8(tg.tensor(values), kind)
    theirs = (torch.tensor(values) / torch.tensor(ours.scale.numpy())).to(getattr(torch, f"float8_{kind}"))
    assert np.array_equal(ours.values.numpy(), theirs.view(torch.uint8).numpy())
