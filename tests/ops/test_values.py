"""Results and gradients that are special: ties, edges, narrow dtypes. Numbers are worked out by hand or by NumPy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.ops.cases import CASES
from tests.ops.test_gradients import test_second_derivative as check_second_derivative
from tinygrad_edu.ops import unary
from tinygrad_edu.ops.normalise import RMSNorm

F = tg.nn.functional


def grad(function: Any, *values: Any, dtype: str = "float64") -> list[Any]:
    """The gradients of ``function(...).sum()``."""
    leaves = [tg.tensor(v, dtype=dtype, requires_grad=True) for v in values]
    function(*leaves).sum().backward()
    return [x.grad.tolist() for x in leaves]


def test_maximum_and_minimum_share_ties() -> None:
    x, y = [1.0, 2.0, 3.0], [2.0, 2.0, 2.0]
    assert grad(tg.maximum, x, y) == [[0.0, 0.5, 1.0], [1.0, 0.5, 0.0]]
    assert grad(tg.minimum, x, y) == [[1.0, 0.5, 0.0], [0.0, 0.5, 1.0]]


def test_kinks_have_the_slopes_of_pytorch() -> None:
    assert grad(tg.relu, [-1.0, 0.0, 2.0]) == [[0.0, 0.0, 1.0]]
    assert grad(tg.abs, [-1.0, 0.0, 2.0]) == [[-1.0, 0.0, 1.0]]
    assert grad(lambda x: tg.clamp(x, 0.0, 1.0), [-0.5, 0.0, 0.5, 1.0, 1.5]) == [[0.0, 1.0, 1.0, 1.0, 0.0]]
    assert grad(lambda x: x.sign(), [-2.0, 0.0, 2.0]) == [[0.0, 0.0, 0.0]]


def test_largest_elements_share_the_gradient_but_pooling_takes_the_first() -> None:
    x = [[1.0, 3.0, 3.0, 3.0]]
    assert grad(lambda x: x.amax(1), x) == [[[0.0, 1 / 3, 1 / 3, 1 / 3]]]
    assert grad(lambda x: x.amin(1) + x.amax(1), [[2.0, 2.0]]) == [[[1.0, 1.0]]]
    assert grad(lambda x: F.max_pool2d(x.reshape(1, 1, 2, 2), 2), [[1.0, 3.0], [3.0, 3.0]]) == [
        [[0.0, 1.0], [0.0, 0.0]]
    ]
    assert tg.tensor([[1.0, 3.0, 3.0]]).argmax(1).tolist() == [1]


@pytest.mark.parametrize(
    ("x", "y", "slope_x", "slope_y"),
    [
        (0.0, 0.0, 0.0, 0.0),  # x ** 0 is 1 everywhere
        (0.0, 1.0, 1.0, 0.0),
        (0.0, 2.0, 0.0, 0.0),
        (2.0, 3.0, 12.0, 8 * math.log(2)),
        (-2.0, 0.0, 0.0, None),
    ],
)
def test_powers_at_zero(x: float, y: float, slope_x: float, slope_y: float | None) -> None:
    base = tg.tensor(x, dtype="float64", requires_grad=True)
    exponent = tg.tensor(y, dtype="float64", requires_grad=slope_y is not None)
    (base**exponent).backward()
    assert base.grad.item() == pytest.approx(slope_x)
    if slope_y is not None:
        assert exponent.grad.item() == pytest.approx(slope_y)
    assert grad(lambda b: b**y, [x]) == [[pytest.approx(slope_x)]]


def test_a_number_to_the_power_of_a_tensor_keeps_the_dtype() -> None:
    x = tg.tensor([0.0, 1.0], requires_grad=True)
    (2**x).sum().backward()
    assert x.grad.dtype == np.float32
    np.testing.assert_allclose(x.grad.array, [math.log(2), 2 * math.log(2)], rtol=1e-6)


def test_a_repeated_index_adds_its_gradients() -> None:
    assert grad(lambda x: x[[0, 0, 2]] * tg.tensor([1.0, 10.0, 100.0]), [5.0, 6.0, 7.0]) == [[11.0, 0.0, 100.0]]


@pytest.mark.parametrize("make", [tg.tensor, np.array])
def test_an_index_may_change_after_its_use(make: Any) -> None:
    """Backward goes back to where was read, not to where would be read now."""
    x, places = tg.zeros(3, requires_grad=True), make([0, 1])
    read = x[places] * tg.tensor([1.0, 10.0])
    written = tg.zeros(3).clone()
    written[places] = read
    places[0] = 2
    written.sum().backward()
    assert x.grad.tolist() == [1.0, 10.0, 0.0]


def test_stable_forms() -> None:
    """Large numbers overflow nowhere."""
    x = tg.tensor([1000.0, 0.0, -1000.0], dtype="float64")
    assert x.softmax(0).tolist() == [1.0, 0.0, 0.0]
    assert x.log_softmax(0).tolist() == [0.0, -1000.0, -2000.0]
    assert x.logsumexp(0).item() == 1000.0
    assert x.sigmoid().tolist() == [1.0, 0.5, 0.0]


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8", "int16", "int32", "int64"])
def test_sums_of_integers_are_int64(dtype: str) -> None:
    total = tg.ones(300, dtype=dtype).sum()
    assert (total.item(), total.dtype) == (300, np.int64)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_narrow_sums_lose_nothing_on_the_way(dtype: str) -> None:
    """Sums are rounded once: one by one, a thousand bfloat16 ones make 256."""
    assert tg.ones(1000, dtype=dtype).sum().item() == 1000
    assert tg.full((4096,), 100.0, dtype=dtype).mean().item() == 100  # the sum itself is beyond float16
    assert tg.ones(1000, dtype=dtype).sum().dtype == tg.dtypes.as_dtype(dtype)


def test_means_of_nothing_are_nan() -> None:
    assert math.isnan(tg.zeros(0).mean().item())
    assert tg.zeros(0, 2).sum(0).tolist() == [0.0, 0.0]


def test_integers_divide_as_floats() -> None:
    x = tg.tensor([1, 2, 4])
    assert (x / 2).tolist() == [0.5, 1.0, 2.0]
    assert [(x / 2).dtype, x.float().mean().dtype, x.exp().dtype] == [np.float32] * 3


def test_clamp_keeps_the_dtype_of_floats_and_widens_integers() -> None:
    x = tg.tensor([-1, 0, 1])
    assert tg.clamp(x, 0).tolist() == [0, 0, 1]
    assert tg.clamp(x, 0).dtype == np.int64
    assert tg.clamp(x, max=0.5).tolist() == [-1.0, 0.0, 0.5]
    assert tg.clamp(x, max=0.5).dtype == np.float32
    assert tg.ones(2).clamp(min=np.float64(2)).dtype == np.float32
    assert tg.ones(2).clamp(min=np.int64(2)).tolist() == [2.0, 2.0]


def test_cast_brings_the_gradient_home() -> None:
    x = tg.tensor([1.0, 2.0], dtype="float16", requires_grad=True)
    y = x.double()
    assert y.dtype == np.float64
    (y * y).sum().backward()
    assert (x.grad.tolist(), x.grad.dtype) == ([2.0, 4.0], np.float16)


def test_expand_to_the_same_shape_is_an_ordinary_view() -> None:
    x = tg.zeros(3)
    x.expand(3).add_(1)
    assert x.tolist() == [1.0, 1.0, 1.0]


def test_pooling_pads_with_what_never_wins() -> None:
    assert F.max_pool2d(-tg.ones(1, 1, 2, 2), 2, padding=1).tolist() == [[[[-1.0, -1.0], [-1.0, -1.0]]]]
    ints = F.max_pool2d(tg.full((1, 1, 2, 2), -5), 2, padding=1)
    assert (ints.amax().item(), ints.dtype) == (-5, np.int64)


def test_convolution_against_loops() -> None:
    rng = np.random.default_rng(3)
    x, w, b = rng.normal(size=(2, 3, 5, 6)), rng.normal(size=(4, 3, 2, 3)), rng.normal(size=4)
    stride, padding = (2, 1), (1, 2)
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (2, 2)))
    oh, ow = (5 + 2 - 2) // 2 + 1, (6 + 4 - 3) // 1 + 1
    expected = np.zeros((2, 4, oh, ow))
    for i in range(oh):
        for j in range(ow):
            window = padded[:, :, 2 * i : 2 * i + 2, j : j + 3]
            expected[:, :, i, j] = np.tensordot(window, w, ([1, 2, 3], [1, 2, 3])) + b
    found = F.conv2d(tg.tensor(x), tg.tensor(w), tg.tensor(b), stride=stride, padding=padding)
    np.testing.assert_allclose(found.array, expected, rtol=1e-12)


def test_elementwise_against_numpy() -> None:
    x = np.linspace(0.1, 3, 7)
    for name in ("exp", "log", "sqrt", "sin", "cos", "tanh", "sign"):
        np.testing.assert_array_equal(getattr(unary, name)(tg.tensor(x)).array, getattr(np, name)(x))
    np.testing.assert_allclose(tg.sigmoid(tg.tensor(x)).array, 1 / (1 + np.exp(-x)), rtol=1e-14)


def test_a_cache_taken_for_a_constant_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """What rms_norm keeps depends on its input: second derivatives are wrong when that is forgotten."""
    case = next(case for case in CASES if case.op == "rms_norm")
    check_second_derivative(case)
    monkeypatch.setattr(RMSNorm, "caches", "constant")
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        check_second_derivative(case)


def test_only_the_arrays_that_are_saved_stay_alive() -> None:
    """What an op keeps is what its `saves` name: add keeps nothing, mul both operands, exp its result."""
    x, y = tg.ones(3, requires_grad=True), tg.ones(3, requires_grad=True)
    assert (x + y).grad_fn.saved == ()
    product = (x * y).grad_fn.saved
    assert product[0] is x.array
    assert product[1] is y.array
    assert (x * tg.ones(3)).grad_fn.saved[0] is None  # y wants no gradient, so x is not kept
    matrix, constant = tg.ones(3, 3, requires_grad=True), tg.ones(3, 3)
    assert (matrix @ constant).grad_fn.saved[:2] == (None, constant.array)
    assert (constant @ matrix).grad_fn.saved[:2] == (constant.array, None)
    assert F.linear(constant, matrix).grad_fn.saved[:2] == (constant.array, None)
    assert F.linear(matrix, constant).grad_fn.saved[:2] == (None, constant.array)
    out = x.exp()
    assert out.grad_fn.saved[0] is out.array
    assert x.to("far").grad_fn.saved == ("cpu",)
