"""Orderings: which of equal elements is meant, where nan stands, and what happens without an axis."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu.errors import DtypeError, IndexRangeError, ShapeError
from tinygrad_edu.ops.sorting import ValuesAndIndices

INF, NAN = math.inf, math.nan


def slope(function: Any, values: Any) -> Any:
    """The gradient of ``function(...)``, weighted 1, 10, 100, …"""
    x = tg.tensor(values, dtype="float64", requires_grad=True)
    y = function(x)
    y.backward(tg.tensor(10.0 ** np.arange(y.numel()).reshape(y.shape)))
    return x.grad.tolist()


# kthvalue ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("keep", [False, True])
def test_kthvalue(keep: bool) -> None:
    x = np.random.default_rng(0).permutation(24).astype(float).reshape(2, 3, 4)
    for dim in range(-3, 3):
        for k in range(1, x.shape[dim] + 1):
            values, indices = tg.tensor(x).kthvalue(k, dim, keep)
            expected = np.take(np.sort(x, dim), [k - 1] if keep else k - 1, dim)
            np.testing.assert_array_equal(values.numpy(), expected)
            found = tg.gather(tg.tensor(x), dim, indices if keep else indices.unsqueeze(dim))
            assert (found == (values if keep else values.unsqueeze(dim))).all()
            assert indices.dtype == np.int64
    assert slope(lambda x: tg.kthvalue(x, 2).values, [3.0, 1.0, 2.0]) == [0.0, 0.0, 1.0]
    assert math.isnan(tg.tensor([NAN, 1.0]).kthvalue(2).values.item())
    assert tg.tensor(3.0).kthvalue(1).values.item() == 3.0


def test_no_kthvalue() -> None:
    x = tg.zeros(2, 3)
    for k in (0, 4, -1):
        tried, why = (
            f"kthvalue(k={k}) of a tensor (2, 3) float32",
            "there are 3 elements along dim=-1, and k counts them from 1",
        )
        with teaches(IndexRangeError, tried, why, "ask for a k up to that, or along another axis"):
            x.kthvalue(k)
    tried, why = "kthvalue(k=1.5) of a tensor (2, 3) float32", "k counts elements, so it is an integer"
    with teaches(DtypeError, tried, why, "pass a whole number"):
        x.kthvalue(1.5)
    with teaches(DtypeError, "kthvalue(k=1) of a tensor (2, 3) bool", "bools are not in order", "convert it: x.long()"):
        x.bool().kthvalue(1)


# median -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 2, 5, 8])
def test_the_lower_one_in_the_middle(count: int) -> None:
    x = np.random.default_rng(count).integers(0, 4, (3, count)).astype("f8")
    expected = np.sort(x, axis=1)[:, (count - 1) // 2]
    for keep in (False, True):
        values, indices = tg.tensor(x).median(1, keep)
        assert values.shape == indices.shape == ((3, 1) if keep else (3,))
        assert values.flatten().tolist() == expected.tolist()
        assert [row[i] for row, i in zip(x, indices.flatten().tolist(), strict=True)] == expected.tolist()
    assert tg.median(tg.tensor(x)).item() == np.sort(x.ravel())[(3 * count - 1) // 2]
    assert tg.tensor(x).long().median(0).values.dtype == np.int64


def test_equal_elements_in_the_middle() -> None:
    """Over everything they share the gradient, along an axis one takes it all."""
    third = pytest.approx(1 / 3)
    assert slope(tg.median, [2.0, 2.0, 1.0, 3.0, 2.0]) == [third, third, 0.0, 0.0, third]
    assert slope(lambda x: x.median(0).values, [2.0, 2.0, 1.0, 3.0, 2.0]) == [0.0, 1.0, 0.0, 0.0, 0.0]


def test_nan_is_in_no_middle() -> None:
    values, indices = tg.tensor([[3.0, NAN, 1.0, NAN], [1.0, 2.0, 3.0, 4.0]]).median(1)
    assert (math.isnan(values[0].item()), values[1].item(), indices.tolist()) == (True, 2.0, [1, 1])
    assert math.isnan(tg.tensor([1.0, NAN]).median().item())
    assert tg.tensor([-INF, INF, INF]).median().item() == INF


def test_the_median_of_one_number() -> None:
    values, indices = tg.tensor(3.0).median(0, True)
    assert (values.shape, values.item(), indices.item()) == ((), 3.0, 0)


def test_no_median() -> None:
    with teaches(
        ShapeError, "median() of a tensor (0,) float32", "there is no element", "check how the tensor came to be empty"
    ):
        tg.zeros(0).median()
    with teaches(DtypeError, "median(dim=0) of a tensor (2,) bool", "bools have no order", "convert it: x.long()"):
        tg.tensor([True, False]).median(0)


# max and min --------------------------------------------------------------------------------------------------


def test_the_largest_of_all_of_each_row_and_of_two() -> None:
    x = tg.tensor([[1.0, 5.0], [7.0, 2.0]])
    assert [x.max().item(), x.min().item()] == [7.0, 1.0]
    rows = x.max(1)
    assert (rows.values.tolist(), rows.indices.tolist(), rows.indices.dtype) == ([5.0, 7.0], [1, 0], np.int64)
    values, indices = tg.min(x, dim=-2, keepdim=True)
    assert (values.tolist(), indices.tolist()) == ([[1.0, 2.0]], [[0, 1]])
    two = tg.full((2, 2), 3.0)
    assert tg.max(x, two).tolist() == tg.max(x, other=two).tolist() == tg.maximum(x, two).tolist()
    assert x.min(two).tolist() == tg.minimum(x, two).tolist()


@pytest.mark.parametrize("name", ["max", "min"])
def test_equal_elements(name: str) -> None:
    """Over everything they share the gradient, along an axis the first takes it all."""
    best = getattr(tg, name)
    assert slope(best, [2.0, 2.0]) == [0.5, 0.5]
    for keep in (False, True):
        assert slope(lambda x, k=keep: best(x, 1, k).values, [[2.0, 2.0], [4.0, 4.0]]) == [[1.0, 0.0], [10.0, 0.0]]
    assert slope(lambda x: best(x, 0).values, [[2.0, 2.0], [2.0, 2.0]]) == [[1.0, 10.0], [0.0, 0.0]]


@pytest.mark.parametrize("name", ["max", "min"])
def test_nan_wins(name: str) -> None:
    best = getattr(tg, name)
    x = [1.0, NAN, NAN]
    assert math.isnan(best(tg.tensor(x)).item())
    assert best(tg.tensor(x), 0).indices.item() == 1
    assert slope(lambda x: best(x, 0).values, x) == [0.0, 1.0, 0.0]
    assert slope(best, x) == [0.0, 0.5, 0.5]


@pytest.mark.parametrize("name", ["max", "min"])
def test_extremes_without_axis_or_elements(name: str) -> None:
    best = getattr(tg, name)
    values, indices = best(tg.tensor(3.0), 0)
    assert (values.item(), indices.item(), indices.shape) == (3.0, 0, ())
    assert slope(lambda x: best(x, 0).values, 3.0) == 1.0
    assert best(tg.zeros(0, 3), 1).values.shape == (0,)
    for dim in (None, 0):
        with pytest.raises(ShapeError, match="axis 0 has no elements"):
            best(tg.zeros(0, 3), dim)
    why, mend = f"without dim, {name} gives one element, which has no axis to keep", f"use a{name}(keepdim=True)"
    with teaches(DtypeError, f"{name} with keepdim and no dim", why, mend, line="best(tg.ones(2)"):
        best(tg.ones(2), keepdim=True)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "bfloat16"])
def test_extremes_keep_the_dtype(dtype: str) -> None:
    x = tg.tensor([[0, 1], [1, 0]], dtype=dtype)
    for found in (x.max(), x.min(1).values, x.max(1, True).values, x.sort().values, x.topk(1).values, x.unique()):
        assert found.dtype == x.dtype
    assert x.max(1).indices.tolist() == [1, 0]


def test_values_are_no_views() -> None:
    """A write to the result must not reach the operand, nor anything else."""
    x = tg.tensor([[1.0, 5.0], [7.0, 2.0]])
    for result in (x.max(1), x.max(1, True), x.sort(), x.topk(1), x[0, 0].max(0), x[0, 0].sort()):
        for part in result:
            assert part.origin is None
        result.values.zero_()
    assert x.tolist() == [[1.0, 5.0], [7.0, 2.0]]


# sort, argsort, topk ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_nan_is_sorted_as_the_largest(dtype: str) -> None:
    x = tg.tensor([NAN, 1.0, INF, NAN, -INF], dtype=dtype)
    assert x.argsort().tolist() == [4, 1, 2, 0, 3]
    assert x.argsort(descending=True).tolist() == [0, 3, 2, 1, 4]
    assert x.topk(2).indices.tolist() == [0, 3]
    assert x.topk(2, largest=False).indices.tolist() == [4, 1]


@pytest.mark.parametrize("stable", [True, False])
def test_equal_elements_keep_their_order(stable: bool) -> None:
    x = tg.tensor([1, 0] * 20)
    ones, zeros = list(range(0, 40, 2)), list(range(1, 40, 2))
    assert x.argsort(stable=stable).tolist() == zeros + ones
    assert x.sort(descending=True, stable=stable).indices.tolist() == ones + zeros
    assert x.topk(3).indices.tolist() == [0, 2, 4]
    signed = tg.tensor([0.0, -0.0, 0.0]).sort()
    assert signed.indices.tolist() == [0, 1, 2]


def test_sorting_along_an_axis_and_back() -> None:
    x = tg.tensor([[3.0, 1.0], [2.0, 5.0]])
    assert isinstance(x.sort(), ValuesAndIndices)
    assert x.sort(0).values.tolist() == [[2.0, 1.0], [3.0, 5.0]]
    assert x.sort(dim=-1, descending=True).values.tolist() == [[3.0, 1.0], [5.0, 2.0]]
    assert slope(lambda x: x.sort(0).values, [[3.0, 1.0], [2.0, 5.0]]) == [[100.0, 10.0], [1.0, 1000.0]]
    assert slope(lambda x: x.topk(2).values, [3.0, 1.0, 2.0]) == [1.0, 0.0, 10.0]
    with pytest.raises(ShapeError, match="so dim lies between -2 and 1"):
        x.sort(2)


def test_a_single_element_is_in_order() -> None:
    x = tg.tensor(3.0, requires_grad=True)
    for result in (x.sort(), x.sort(0), x.topk(1), x.topk(0), x.topk(1, dim=0)):
        assert (result.values.item(), result.indices.item(), result.values.shape) == (3.0, 0, ())
    assert x.argsort().item() == 0
    x.sort().values.backward()
    assert x.grad.item() == 1.0
    assert [part.shape for part in tg.zeros(0, 2).sort(0)] == [(0, 2), (0, 2)]


def test_how_many_there_can_be() -> None:
    x = tg.tensor([[3.0, 1.0, 2.0]])
    assert [part.shape for part in x.topk(0)] == [(1, 0), (1, 0)]
    assert x.topk(k=np.int64(3), dim=1, sorted=False).values.tolist() == [[3.0, 2.0, 1.0]]
    mend = "ask for fewer, or along another axis"
    for k in (4, -1):
        why = "there are 3 elements along dim=-1, so k lies between 0 and 3"
        with teaches(IndexRangeError, f"topk(k={k}) of a tensor (1, 3)", why, mend, line="x.topk(k)"):
            x.topk(k)
    with pytest.raises(IndexRangeError, match="there are 1 elements along dim=0"):
        tg.topk(5.0, 2, 0)
    why = "k counts elements, so it is an integer"
    with teaches(DtypeError, "topk(k=1.5) of a tensor (1, 3)", why, "pass a whole number", line="x.topk(1.5)"):
        x.topk(1.5)


# unique -------------------------------------------------------------------------------------------------------


def test_each_value_once() -> None:
    x = tg.tensor([[3, 1], [3, 2]])
    assert x.unique().tolist() == [1, 2, 3]
    values, inverse, counts = tg.unique(x, return_inverse=True, return_counts=True)
    assert (inverse.tolist(), counts.tolist()) == ([[2, 0], [2, 1]], [1, 1, 2])
    assert values[inverse].tolist() == x.tolist()
    assert [part.tolist() for part in x.unique(return_counts=True)] == [[1, 2, 3], [1, 1, 2]]
    assert [part.dtype for part in (inverse, counts)] == [np.int64, np.int64]
    assert x.unique(sorted=False).tolist() == [1, 2, 3]


def test_each_slice_once() -> None:
    x = tg.tensor([[3, 1, 3], [2, 1, 2]])
    values, inverse, counts = x.unique(dim=1, return_inverse=True, return_counts=True)
    assert (values.tolist(), inverse.tolist(), counts.tolist()) == ([[1, 3], [1, 2]], [1, 0, 1], [1, 2])
    assert x.unique(dim=-2).tolist() == [[2, 1, 2], [3, 1, 3]]


def test_unique_where_it_is_special() -> None:
    values, inverse, counts = tg.unique(tg.tensor([NAN, 3.0, NAN]), return_inverse=True, return_counts=True)
    np.testing.assert_array_equal(values.array, [3.0, NAN, NAN])  # nan equals nothing
    assert (inverse.tolist(), counts.tolist()) == ([1, 0, 2], [1, 1, 1])
    values, inverse = tg.unique(tg.tensor(7.0), return_inverse=True)
    assert (values.tolist(), inverse.shape) == ([7.0], ())
    values, inverse = tg.unique(tg.zeros(0, 2), return_inverse=True)
    assert (values.shape, inverse.shape) == ((0,), (0, 2))
    assert tg.unique(tg.zeros(0, 2), dim=0).shape == (0, 2)
    assert tg.unique(tg.tensor([2.0, 0.5, 2.0], dtype="bfloat16")).tolist() == [0.5, 2.0]
    assert not tg.unique(tg.ones(2, requires_grad=True)).requires_grad
    tried, why = "unique(dim=1) of a tensor (0, 2)", "its slices have no elements to tell them apart"
    with teaches(ShapeError, tried, why, "leave dim out", line="tg.zeros(0, 2)"):
        tg.unique(tg.zeros(0, 2), dim=1)
    with pytest.raises(ShapeError, match="it has 0 axes"):
        tg.unique(tg.tensor(7.0), dim=0)


def test_what_is_found_stays_on_the_device() -> None:
    x = tg.tensor([3.0, 1.0, 3.0], device="far", requires_grad=True)
    parts = (*x.unique(return_inverse=True, return_counts=True), *x.max(0), *x.sort(), *x.topk(2), x.argsort())
    assert {part.device for part in parts} == {"far"}
    x.topk(2).values.sum().backward()
    assert (x.grad.device, x.grad.tolist()) == ("far", [1.0, 0.0, 1.0])
