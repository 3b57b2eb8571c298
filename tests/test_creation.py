"""Tensors from a shape, and tensors joined."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tinygrad_edu.errors import DeviceError, DtypeError, ShapeError


def same(found: tg.Tensor, values: Any, dtype: Any) -> None:
    assert found.tolist() == values
    assert found.dtype == dtype


def test_values_and_dtypes() -> None:
    same(tg.zeros(2, 1), [[0.0], [0.0]], np.float32)
    same(tg.zeros((2,)), [0.0, 0.0], np.float32)
    same(tg.ones([2], dtype="int8"), [1, 1], np.int8)
    same(tg.zeros(()), 0.0, np.float32)
    same(tg.full((2,), 7), [7, 7], np.int64)
    same(tg.full((2,), 7.0), [7.0, 7.0], np.float32)
    same(tg.full((1,), True), [True], np.bool_)
    same(tg.full((1,), np.int64(3)), [3], np.int64)
    same(tg.full((1,), np.float64(3)), [3.0], np.float32)
    same(tg.full((1,), tg.tensor(3)), [3], np.int64)
    same(tg.arange(3), [0, 1, 2], np.int64)
    same(tg.arange(1, 7, 2), [1, 3, 5], np.int64)
    same(tg.arange(0, 1, 0.25), [0.0, 0.25, 0.5, 0.75], np.float32)
    same(tg.arange(2, dtype="float64"), [0.0, 1.0], np.float64)
    same(tg.arange(5, 0, -2), [5, 3, 1], np.int64)


def test_the_default_dtype_is_a_setting() -> None:
    with tg.settings.scoped(dtype="float64"):
        assert [t.dtype for t in (tg.zeros(1), tg.full((1,), 0.5), tg.arange(0.5), tg.rand(1))] == [np.float64] * 4


def test_likeness() -> None:
    x = tg.ones(2, 3, dtype="float16")
    same(tg.zeros_like(x), [[0.0] * 3] * 2, np.float16)
    same(tg.ones_like(np.zeros(2)), [1.0, 1.0], np.float64)
    same(tg.zeros_like(x, dtype="int32"), [[0] * 3] * 2, np.int32)
    assert tg.ones_like(x, requires_grad=True).requires_grad
    assert tg.zeros_like(tg.ones(2, device="far")).device == "far"
    assert tg.zeros_like(tg.tensor(2.0) * 2).shape == ()


def test_devices_and_gradients() -> None:
    for made in (
        tg.zeros(2, device="far"),
        tg.ones(2, device="far"),
        tg.full((2,), 1.0, device="far"),
        tg.arange(2, device="far"),
    ):
        assert made.device == "far"
    with tg.settings.scoped(device="far"):
        assert tg.zeros(1).device == "far"
    assert tg.ones(1, requires_grad=True).is_leaf
    with pytest.raises(DeviceError, match="device 'nowhere'"):
        tg.zeros(1, device="nowhere")
    with pytest.raises(DtypeError, match="requires_grad on a tensor of dtype int64"):
        tg.arange(3, requires_grad=True)


def test_sizes_that_cannot_be() -> None:
    with pytest.raises(ShapeError) as caught:
        tg.zeros(2, -1)
    assert caught.value.tried == "zeros((2, -1))"
    assert caught.value.why == "negative dimensions are not allowed"
    assert caught.value.mend == "sizes are integers from 0 up"
    assert caught.value.line.endswith(": tg.zeros(2, -1)")
    with pytest.raises(ShapeError, match=r"^ones\(\(2\.5,\)\)"):
        tg.ones(2.5)
    with pytest.raises(ShapeError, match=r"^arange\(0, 1, 0\)"):
        tg.arange(0, 1, 0)


def test_cat_and_stack() -> None:
    a, b = tg.tensor([[1.0, 2.0]]), tg.tensor([[3.0, 4.0]])
    assert tg.cat([a, b]).tolist() == [[1, 2], [3, 4]]
    assert tg.cat((a, b), -1).tolist() == [[1, 2, 3, 4]]
    assert tg.stack([a, b]).shape == (2, 1, 2)
    assert tg.stack([a, b], -1).tolist() == [[[1, 3], [2, 4]]]
    assert tg.stack([1.0, tg.tensor(2.0), np.float32(3)]).tolist() == [1, 2, 3]
    assert tg.cat([a, tg.tensor([[5]])], 1).dtype == np.float32
    assert tg.cat([np.ones(1), [2.0]]).dtype == np.float64


def test_cat_hands_each_its_gradient() -> None:
    a, b = tg.ones(2, 1, requires_grad=True), tg.ones(2, 2, requires_grad=True)
    (tg.cat([a, b, a], 1) * tg.tensor([[1.0, 2.0, 3.0, 4.0]])).sum().backward()
    assert (a.grad.tolist(), b.grad.tolist()) == ([[5.0], [5.0]], [[2.0, 3.0], [2.0, 3.0]])


def test_a_copy_even_of_one() -> None:
    a = tg.ones(2)
    tg.cat([a]).zero_()
    assert a.tolist() == [1.0, 1.0]


def test_joining_what_cannot_be() -> None:
    with pytest.raises(ShapeError, match="cat of no tensors\n  why:  there is nothing to take a shape from\n"):
        tg.cat([])
    with pytest.raises(ShapeError, match=r"the shapes \(1, 2\), \(1, 3\) differ in more than axis 0"):
        tg.stack([tg.ones(2), tg.ones(3)])
