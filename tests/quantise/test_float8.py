"""Floats in 8 bits: off by a share of themselves, as bytes, with a scale."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import tinygrad_edu as tg
from tinygrad_edu.errors import ArgumentError, DtypeError
from tinygrad_edu.quantise import quantise_tensor, to_float8

KINDS = {"e4m3fn": (ml_dtypes.float8_e4m3fn, 1 / 16), "e5m2": (ml_dtypes.float8_e5m2, 1 / 8)}
ARRAYS = hnp.arrays(
    np.float32, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5),
    elements=st.floats(-1e6, 1e6, width=32, allow_subnormal=False),
)  # fmt: skip


@given(values=ARRAYS, kind=st.sampled_from(sorted(KINDS)))
def test_each_number_is_off_by_a_share_of_itself(values: Any, kind: str) -> None:
    found = to_float8(tg.tensor(values), kind)
    assert found.values.dtype == "uint8" and found.values.shape == values.shape
    dtype, share = KINDS[kind]
    smallest = float(ml_dtypes.finfo(dtype).smallest_subnormal) * float(found.scale.item())
    off = np.abs(found.dequantise().numpy().astype("f8") - values)
    assert np.all(off <= np.maximum(share * np.abs(values), 0.5 * smallest) * 1.001 + 1e-37)
    if values.size and np.abs(values).max() > 1e-30:
        largest = np.abs(values).argmax()
        assert found.dequantise().numpy().ravel()[largest] == pytest.approx(values.ravel()[largest], rel=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_without_a_scale_the_bytes_are_those_of_ml_dtypes(kind: str) -> None:
    values = np.random.default_rng(0).normal(size=(50, 20)).astype("f4")
    found = to_float8(tg.tensor(values), kind, scale=1.0)
    assert np.array_equal(found.values.numpy(), values.astype(KINDS[kind][0]).view(np.uint8))


def test_what_a_scale_does_not_reach_is_clamped() -> None:
    assert to_float8(tg.tensor([1e4, -1e9]), scale=1.0).dequantise().tolist() == [448, -448]
    assert to_float8(tg.tensor([1e4, -1e9]), "e5m2", scale=tg.tensor(1.0)).dequantise().tolist() == [10240, -57344]


def test_beside_an_outlier_small_numbers_keep_digits_that_int8_loses() -> None:
    x = tg.tensor([100.0, 0.01, -0.02])
    assert quantise_tensor(x).dequantise().tolist()[1:] == [0, 0]
    assert np.allclose(to_float8(x).dequantise().numpy(), x.numpy(), rtol=1 / 16)


def test_bytes_and_the_simulated_device() -> None:
    x = tg.randn(30, 20)
    near, far = to_float8(x), to_float8(x.to("sim"))
    assert near.nbytes == 30 * 20 + 4
    assert far.values.device == "sim" == far.dequantise().device
    assert far.values.tolist() == near.values.tolist()


@pytest.mark.parametrize(("call", "error", "words"), [
    (lambda: to_float8(tg.arange(3)), DtypeError, "it takes floats"),
    (lambda: to_float8([1.0]), DtypeError, "it takes floats"),
    (lambda: to_float8(tg.ones(2), "e3m4"), ArgumentError, "the kinds are e4m3fn, e5m2"),
    (lambda: to_float8(tg.tensor([1.0, float("inf")])), ArgumentError, "not finite"),
])  # fmt: skip
def test_what_has_no_place_is_refused(call: Any, error: Any, words: str) -> None:
    with pytest.raises(error, match=words):
        call()
