"""Numbers in 8 bits: off by at most half a step, exact where they promise it, and refused where they have no place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import tinygrad_edu as tg
from tinygrad_edu.errors import ArgumentError, DtypeError, ShapeError
from tinygrad_edu.quantise import integer_product, quantise_tensor, scale_of

ARRAYS = hnp.arrays(
    np.float32, hnp.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=5),
    elements=st.floats(-1e6, 1e6, width=32, allow_subnormal=False),
)  # fmt: skip


@given(values=ARRAYS, symmetric=st.booleans(), channels=st.booleans())
def test_each_number_is_off_by_at_most_half_its_scale(values: Any, symmetric: bool, channels: bool) -> None:
    found = quantise_tensor(tg.tensor(values), 0 if channels else None, symmetric=symmetric)
    assert found.values.dtype == "int8" and found.values.shape == values.shape
    scale = found.scale.numpy().astype("f8")
    scale = scale.reshape(-1, *[1] * (values.ndim - 1)) if channels else scale
    off = np.abs(found.dequantise().numpy().astype("f8") - values)
    assert np.all(off <= 0.5 * scale + 1e-6 * np.abs(values) + 1e-30)
    zeros = found.dequantise().numpy()[values == 0]
    assert not zeros.any(), "0 is exact"
    if symmetric:
        assert not found.zero_point.numpy().any() and (values.size == 0 or found.values.numpy().min() >= -127)


def test_one_outlier_costs_all_others_their_digits_unless_each_channel_has_its_own_scale() -> None:
    x = tg.tensor([[0.01, -0.02, 0.03], [100.0, -50.0, 20.0]])
    one, each = quantise_tensor(x), quantise_tensor(x, 0)
    assert one.dequantise()[0].tolist() == [0, 0, 0]
    assert np.allclose(each.dequantise()[0].numpy(), x[0].numpy(), rtol=0.02)


def test_a_zero_point_uses_all_values_for_numbers_of_one_sign() -> None:
    x = tg.linspace(0, 1, 256)
    skewed, even = quantise_tensor(x, symmetric=False), quantise_tensor(x)
    assert sorted(skewed.values.tolist()) == list(range(-128, 128)) and skewed.zero_point.item() == -128
    assert len(set(even.values.tolist())) == 128
    assert skewed.scale.item() == pytest.approx(even.scale.item() / 2, rel=0.01)


def test_what_a_given_scale_does_not_reach_is_clamped() -> None:
    scale, zero = scale_of(-1.0, 1.0)
    found = quantise_tensor(tg.tensor([-5.0, 0.5, 5.0]), scale=scale, zero_point=zero)
    assert found.values.tolist() == [-128, 64, 127]


@given(
    rows=st.integers(0, 3), inner=st.integers(0, 1200), columns=st.integers(0, 3), seed=st.integers(0, 99),
    large=st.booleans(),
)  # fmt: skip
def test_products_of_whole_numbers_are_exact(rows: int, inner: int, columns: int, seed: int, large: bool) -> None:
    rng = np.random.default_rng(seed)
    shape = (rows, inner), (inner, columns)
    x, y = (np.full(s, 255) if large else rng.integers(-255, 256, s) for s in shape)
    found = integer_product(tg.tensor(x.astype("f4")), tg.tensor(y.astype("f4")))
    assert found.dtype == "int32" and np.array_equal(found.numpy(), x.astype("i8") @ y.astype("i8"))


def test_long_sums_are_kept_in_64_bits() -> None:
    x = tg.full((1, 40_000), 255.0)
    found = integer_product(x, x.T)
    assert found.dtype == "int64" and found.item() == 40_000 * 255 * 255 > 2**31


def test_batches_of_rows() -> None:
    x, y = tg.randint(-128, 128, (2, 3, 300)), tg.randint(-128, 128, (300, 4))
    assert np.array_equal(integer_product(x, y).numpy(), x.numpy() @ y.numpy())


def test_bytes() -> None:
    found = quantise_tensor(tg.randn(100, 50), 0)
    assert found.nbytes == 100 * 50 + 100 * 4 + 100 * 4


@pytest.mark.parametrize(("call", "error", "words"), [
    (lambda: quantise_tensor(tg.arange(3)), DtypeError, "it takes floats"),
    (lambda: quantise_tensor([1.0]), DtypeError, "it takes floats"),
    (lambda: quantise_tensor(tg.ones(2), 1), ShapeError, "no such axis"),
    (lambda: quantise_tensor(tg.tensor([1.0, float("nan")])), ArgumentError, "not finite"),
])  # fmt: skip
def test_what_has_no_place_is_refused(call: Any, error: Any, words: str) -> None:
    with pytest.raises(error, match=words):
        call()


def test_it_works_on_the_simulated_device() -> None:
    x = tg.randn(4, 6)
    near, far = quantise_tensor(x, 0, symmetric=False), quantise_tensor(x.to("sim"), 0, symmetric=False)
    assert far.values.device == "sim" and far.values.tolist() == near.values.tolist()
