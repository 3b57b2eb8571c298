"""Pooling: against loops, in corner cases, and what it says when it cannot be done."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu.errors import ArgumentError, DtypeError, EduError, ShapeError

F = tg.nn.functional
INF, NAN = float("inf"), float("nan")


def test_padding_never_wins() -> None:
    assert F.max_pool2d(-tg.ones(1, 1, 2, 2), 2, padding=1).tolist() == [[[[-1.0, -1.0], [-1.0, -1.0]]]]
    for dtype, low in (("int64", -(2**63)), ("int8", -128), ("uint8", 0)):
        values, places = F.max_pool2d(tg.full((1, 2, 2), low, dtype=dtype), 2, padding=1, return_indices=True)
        assert (values.tolist(), values.dtype) == ([[[low, low], [low, low]]], np.dtype(dtype))
        assert (places.shape, places.dtype) == ((1, 2, 2), np.int64)


def test_a_window_of_the_smallest_number_has_a_gradient() -> None:
    """Though padding holds the same number, it is no place to send a gradient to."""
    x = tg.full((1, 2, 2), -INF, requires_grad=True)
    F.max_pool2d(x, 2, padding=1).sum().backward()
    assert x.grad.tolist() == [[[1.0, 1.0], [1.0, 1.0]]]


def test_an_infinite_gradient_stays_where_it_belongs() -> None:
    x = tg.tensor([[1.0, 2.0, 3.0, 4.0]], requires_grad=True)
    F.max_pool1d(x, 2).backward(tg.tensor([[INF, 1.0]]))
    assert x.grad.tolist() == [[0.0, INF, 0.0, 1.0]]


def test_nan_wins() -> None:
    x = tg.tensor([[1.0, NAN, 3.0, 4.0]])
    values, places = F.max_pool1d(x, 2, return_indices=True)
    np.testing.assert_array_equal(values.array, [[NAN, 4.0]])
    assert places.tolist() == [[1, 3]]


def test_of_equal_elements_the_first_is_taken() -> None:
    x = tg.tensor([[[1.0, 3.0, 3.0], [3.0, 3.0, 2.0]]], requires_grad=True)
    values, places = F.max_pool2d(x, 2, stride=1, return_indices=True)
    values.backward(tg.tensor([[[1.0, 10.0]]]))
    assert x.grad.tolist() == [[[0.0, 11.0, 0.0], [0.0, 0.0, 0.0]]]
    assert places.tolist() == [[[1, 1]]]


def test_places_are_those_of_the_flattened_image() -> None:
    """Whatever the padding: reading the image there gives the values."""
    x = tg.tensor(np.random.default_rng(0).permutation(2 * 3 * 7 * 6).reshape(2, 3, 7, 6))
    how = {"stride": (2, 1), "padding": (1, 0), "dilation": (1, 2), "ceil_mode": True}
    values, places = F.max_pool2d(x, (3, 2), return_indices=True, **how)
    read = np.take_along_axis(x.array.reshape(2, 3, -1), places.array.reshape(2, 3, -1), 2)
    np.testing.assert_array_equal(read, values.array.reshape(2, 3, -1))


def test_a_pool_of_single_elements_is_a_copy() -> None:
    x = tg.ones(1, 1, 2, 2)
    for pooled in (F.max_pool2d(x, 1), F.avg_pool2d(x, 1)):
        assert not np.shares_memory(pooled.array, x.array)


def test_what_the_mean_counts() -> None:
    x = tg.tensor([[2.0, 4.0, 6.0]])
    assert F.avg_pool1d(x, 2, padding=1).tolist() == [[1.0, 5.0]]
    assert F.avg_pool1d(x, 2, padding=1, count_include_pad=False).tolist() == [[2.0, 5.0]]
    assert F.avg_pool1d(x, 2, ceil_mode=True).tolist() == [[3.0, 6.0]]  # the last window reaches beyond: 6 alone
    assert F.avg_pool1d(x, 3, 2, padding=1, ceil_mode=True).tolist() == [[2.0, pytest.approx(10 / 3)]]
    assert F.avg_pool2d(x.reshape(1, 1, 3), (1, 3), divisor_override=2).tolist() == [[[6.0]]]


def test_means_of_integers_are_cut_off() -> None:
    x = tg.tensor([[[-3, -4], [0, 0]]])
    assert F.avg_pool2d(x, 2).tolist() == [[[-1]]]
    assert F.avg_pool2d(-x, 2).tolist() == [[[1]]]
    assert F.avg_pool2d(-x, 2, divisor_override=-2).tolist() == [[[-3]]]
    assert F.avg_pool2d(x, 2).dtype == np.int64


def test_an_infinity_spoils_its_own_window_alone() -> None:
    x = tg.tensor([[[INF, 1.0, 2.0, 4.0]]])
    assert F.avg_pool2d(x, (1, 2)).tolist() == [[[INF, 3.0]]]
    assert F.adaptive_avg_pool2d(x, (1, 3)).tolist() == [[[INF, 1.5, 3.0]]]


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 7, 9])
def test_adaptive_windows(size: int) -> None:
    """Window i reaches from floor(i n / size) to ceil((i + 1) n / size)."""
    x = np.random.default_rng(0).normal(size=(2, 7, 5))
    rows = [x[:, 7 * i // size : -(-7 * (i + 1) // size)].mean(1) for i in range(size)]
    found = F.adaptive_avg_pool2d(tg.tensor(x), (size, None))
    np.testing.assert_allclose(found.array, np.stack(rows, 1), rtol=1e-12)
    assert F.adaptive_avg_pool2d(tg.tensor(x), size).shape == (2, size, size)


def test_an_empty_batch() -> None:
    x = tg.zeros(0, 2, 4, 4, requires_grad=True)
    for pooled in (F.max_pool2d(x, 2), F.avg_pool2d(x, 2), F.adaptive_avg_pool2d(x, 2)):
        assert pooled.shape == (0, 2, 2, 2)
        assert tg.autograd.grad(pooled.sum(), x)[0].shape == (0, 2, 4, 4)


HOW = "kernel=(2, 2), stride=(2, 2), padding=(0, 0), dilation=(1, 1), ceil_mode=False"
MEAN = "kernel=(3,), stride=(3,), padding=(0,), ceil_mode=False, count_include_pad=True"
WRONG: list[tuple[Callable[[], Any], type[EduError], str, str, str]] = [
    (
        lambda: F.max_pool2d(tg.ones(4, 4), 2),
        ShapeError,
        f"max_pool2d((4, 4) float32, {HOW}) on cpu",
        "images come as (N, C, H, W) or (C, H, W), but this has 2 axes",
        "add the missing axes: x.unsqueeze(0)",
    ),
    (
        lambda: F.max_pool2d(tg.ones(1, 1, 4, 4), 2, padding=2),
        ShapeError,
        f"max_pool2d((1, 1, 4, 4) float32, {HOW.replace('(0, 0)', '(2, 2)')}) on cpu",
        "padding (2, 2) is more than half of the window (2, 2): some windows would be empty",
        "use less padding, or a larger window",
    ),
    (
        lambda: F.max_pool2d(tg.ones(1, 1, 4), 2),
        ShapeError,
        f"max_pool2d((1, 1, 4) float32, {HOW}) on cpu",
        "a window of (2, 2) does not fit into (1, 4)",
        "use a smaller window",
    ),
    (
        lambda: F.max_pool2d(tg.ones(1, 4, 4), 2, dilation=0),
        ShapeError,
        f"max_pool2d((1, 4, 4) float32, {HOW.replace('(1, 1)', '(0, 0)')}) on cpu",
        "the dilation is (0, 0), but it must be at least 1",
        "use dilation=1 or more",
    ),
    (
        lambda: F.max_pool2d(tg.ones(1, 5, 1), 2, padding=(0, 1), dilation=2),
        ShapeError,
        f"max_pool2d((1, 5, 1) float32, {HOW.replace('(0, 0)', '(0, 1)').replace('(1, 1)', '(2, 2)')}) on cpu",
        "with dilation (2, 2), a window may see padding on both sides of (5, 1), and nothing of it",
        "use less dilation, or no padding",
    ),
    (
        lambda: F.max_pool2d(tg.ones(2, 0, 4, 4), 2),
        ShapeError,
        f"max_pool2d((2, 0, 4, 4) float32, {HOW}) on cpu",
        "without channels or without places there are no windows",
        "check how the tensor came to be empty",
    ),
    (
        lambda: F.avg_pool1d(tg.ones(4), 3),
        ShapeError,
        f"avg_pool1d((4,) float32, {MEAN}) on cpu",
        "sequences come as (N, C, L) or (C, L), but this has 1 axis",
        "add the missing axes: x.unsqueeze(0)",
    ),
    (
        lambda: F.avg_pool1d(tg.ones(1, 4), 3, padding=-1),
        ShapeError,
        f"avg_pool1d((1, 4) float32, {MEAN.replace('(0,)', '(-1,)')}) on cpu",
        "the padding is (-1,), but it must be at least 0",
        "use padding=0 or more",
    ),
    (
        lambda: F.avg_pool1d(tg.ones(1, 4), (3, 3)),
        ShapeError,
        "kernel_size=(3, 3)",
        "it has 2 parts, but windows move along 1 axis",
        "use one number: kernel_size=1",
    ),
    (
        lambda: F.avg_pool2d(tg.ones(1, 4, 4).bool(), 2),
        DtypeError,
        "avg_pool2d((1, 4, 4) bool)",
        "bools cannot be added up",
        "convert it: x.float()",
    ),
    (
        lambda: F.avg_pool2d(tg.ones(1, 4, 4), 2, divisor_override=0),
        ArgumentError,
        "divisor_override=0",
        "no sum can be divided by 0",
        "leave it out, or give another number",
    ),
    (
        lambda: F.adaptive_avg_pool2d(tg.ones(4, 4), 2),
        ShapeError,
        "adaptive_avg_pool2d of a tensor (4, 4) to 2",
        "it takes images (N, C, H, W) or (C, H, W) with at least one pixel, and a size for H and one for W",
        "add the missing axes: x.unsqueeze(0), and give a pair: (1, 1)",
    ),
    (
        lambda: F.adaptive_avg_pool2d(tg.ones(1, 4, 4), (0, 1)),
        ArgumentError,
        "adaptive_avg_pool2d to (0, 1)",
        "a result without pixels would hold no mean",
        "use sizes of 1 or more",
    ),
    (
        lambda: F.adaptive_avg_pool2d(tg.ones(1, 4, 4, dtype="int64"), 1),
        DtypeError,
        "adaptive_avg_pool2d((1, 4, 4) int64, size=(1, 1)) on cpu",
        "int64 has no fractions, but the result needs them",
        "convert it first: x.float()",
    ),
]


@pytest.mark.parametrize(("call", "kind", "tried", "why", "mend"), WRONG, ids=[w[3][:40] for w in WRONG])
def test_text(call: Callable[[], Any], kind: type[EduError], tried: str, why: str, mend: str) -> None:
    with teaches(kind, tried, why, mend, "lambda: F."):
        call()
