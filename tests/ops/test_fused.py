"""Operations that are fused: what they save, beside the same by several operations, and what they refuse."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu import amp
from tinygrad_edu.errors import ArgumentError, DtypeError, InplaceError, ShapeError
from tinygrad_edu.observe import Counters

F = tg.nn.functional
BENDS: dict[str, Callable[[Any], Any]] = {
    "relu": F.relu, "tanh": F.tanh, "sigmoid": F.sigmoid, "gelu": F.gelu, "silu": F.silu, "identity": lambda x: x,
}  # fmt: skip
FROM_RESULT = ("relu", "tanh", "sigmoid")
both = pytest.mark.parametrize("activation", BENDS)
LARGE = (300, 300)  # elements: more than a piece


@pytest.fixture
def draw() -> Callable[..., tg.Tensor]:
    generator = tg.Generator().manual_seed(0)
    return lambda *shape: tg.randn(*shape, generator=generator)


def counted(function: Callable[[], Any]) -> Counters:
    with Counters() as found:
        result = function()
    del result
    return found


# The same numbers, with less ------------------------------------------------------------------------------------------


@both
def test_dense_is_one_operation_and_one_buffer(activation: str, draw: Any) -> None:
    x, w, b = draw(64, 32), draw(16, 32), draw(16)
    apart = counted(lambda: BENDS[activation](x @ w.T + b))
    fused = counted(lambda: F.fused_dense_bias_activation(x, w, b, activation))
    result = 64 * 16 * 4
    assert (fused.calls, fused.allocated) == (1, result)
    assert apart.calls == (3 if activation == "identity" else 4) and apart.allocated >= 2 * result
    found = F.fused_dense_bias_activation(x, w, b, activation)
    np.testing.assert_allclose(found.array, BENDS[activation](F.linear(x, w, b)).array, rtol=1e-5, atol=1e-6)


@both
def test_conv_is_one_operation_and_one_buffer(activation: str, draw: Any) -> None:
    x, w, b = draw(2, 3, 8, 8), draw(4, 3, 3, 3), draw(4)
    fused = counted(lambda: F.fused_conv_bias_activation(x, w, b, activation, padding=1))
    assert (fused.calls, fused.allocated) == (1, 2 * 4 * 8 * 8 * 4)
    for how in ({"padding": "same", "dilation": 2}, {"stride": (2, 1), "padding": (0, 1)}):
        found = F.fused_conv_bias_activation(x, w, b, activation, **how)
        np.testing.assert_allclose(found.array, BENDS[activation](F.conv2d(x, w, b, **how)).array, atol=1e-5)
    song, k = draw(2, 3, 9), draw(4, 3, 3)
    found = F.fused_conv_bias_activation(song, k, b, activation, stride=2)
    np.testing.assert_allclose(found.array, BENDS[activation](F.conv1d(song, k, b, stride=2)).array, atol=1e-5)


@both
def test_a_bias_is_added_on_the_way(activation: str, draw: Any) -> None:
    x, b = draw(*LARGE), draw(LARGE[1])
    fused = counted(lambda: F.bias_activation(x, b, activation))
    assert (fused.calls, fused.allocated) == (1, x.nbytes)
    expected = BENDS[activation](x + b)
    np.testing.assert_allclose(F.bias_activation(x, b, activation).array, expected.array, rtol=1e-6, atol=1e-6)
    there = counted(lambda: F.bias_activation_(x, b, activation))
    assert (there.calls, there.allocated) == (1, 0)
    np.testing.assert_allclose(x.array, expected.array, rtol=1e-6, atol=1e-6)


def peak(function: Callable[[], Any]) -> int:
    """The most bytes that were allocated at once, those that an operation needs meanwhile included."""
    function()
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("activation", FROM_RESULT)
def test_nothing_is_written_between_product_and_result(activation: str, draw: Any) -> None:
    """No array of their size is made on the way, only pieces."""
    x, w, b = draw(1024, 8), draw(1024, 8), draw(1024)
    whole = 1024 * 1024 * 4
    assert peak(lambda: BENDS[activation](F.linear(x, w, b))) > 2 * whole
    assert whole < peak(lambda: F.fused_dense_bias_activation(x, w, b, activation)) < 1.4 * whole
    y = draw(1024, 1024)
    assert whole < peak(lambda: F.bias_activation(y, b, activation)) < 1.4 * whole
    assert peak(lambda: F.bias_activation_(y, b, activation)) < 0.4 * whole
    assert peak(lambda: F.fast_activation_(y, activation)) < 0.4 * whole


@pytest.mark.parametrize("activation", [*FROM_RESULT, "gelu", "silu"])
def test_pieces_fit_together_whatever_the_layout(activation: str, draw: Any) -> None:
    images, w, b = draw(2, 32, 40, 40), draw(40, 32, 1, 1), draw(40)
    for x in (images, images.contiguous(memory_format=tg.channels_last)):
        found = F.fused_conv_bias_activation(x, w, b, activation)
        expected = BENDS[activation](F.conv2d(x, w, b))
        np.testing.assert_allclose(found.array, expected.array, rtol=1e-5, atol=1e-5)
        assert found.stride() == expected.stride()
    for y in (draw(*LARGE), draw(*LARGE).T, draw(2, *LARGE)[:, ::2], draw(1, 100_000), draw(100_000)):
        row = draw(y.shape[-1])
        expected = BENDS[activation](y + row)
        np.testing.assert_allclose(F.bias_activation(y, row, activation).array, expected.array, rtol=1e-6, atol=1e-6)
        assert F.bias_activation_(y, row, activation) is y
        np.testing.assert_allclose(y.array, expected.array, rtol=1e-6, atol=1e-6)


@both
def test_what_backward_keeps(activation: str, draw: Any) -> None:
    """Of relu, tanh and sigmoid only the result, which there is anyway; of gelu and silu the sum."""
    x, w, b = draw(8, 4), draw(5, 4).requires_grad_(), draw(5).requires_grad_()
    with Counters() as fused:
        y = F.fused_dense_bias_activation(x, w, b, activation)
    assert fused.allocated == y.nbytes * (2 if activation in ("gelu", "silu") else 1)
    y.sum().backward()
    grads = [w.grad, b.grad]
    w.grad = b.grad = None
    BENDS[activation](F.linear(x, w, b)).sum().backward()
    for ours, expected in zip(grads, (w.grad, b.grad), strict=True):
        assert ours is not None and expected is not None
        np.testing.assert_allclose(ours.array, expected.array, rtol=1e-5, atol=1e-6)


def test_autocast_treats_them_as_products(draw: Any) -> None:
    x, w, b = draw(4, 3), draw(2, 3), draw(2)
    with amp.autocast("cpu", dtype="bfloat16"):
        for activation in ("relu", "gelu"):
            assert F.fused_dense_bias_activation(x, w, b, activation).dtype == tg.bfloat16
            image, kernel = draw(1, 3, 4, 4), draw(2, 3, 2, 2)
            assert F.fused_conv_bias_activation(image, kernel, b, activation).dtype == tg.bfloat16


# Fast forms -----------------------------------------------------------------------------------------------------------


def test_the_fast_forms_are_as_near_as_they_say() -> None:
    x = tg.linspace(-30.0, 30.0, 600_001)
    exact = x.double()
    off = {name: (F.fast_activation(x, name) - BENDS[name](exact)).abs() for name in BENDS}
    assert off["sigmoid"].max().item() < 1e-7
    assert (off["silu"] <= 2e-7 * exact.abs()).all()
    assert 4e-4 < off["gelu"].max().item() < 5e-4
    for name in ("relu", "tanh", "identity"):
        np.testing.assert_array_equal(F.fast_activation(x, name).array, BENDS[name](x).array)
    assert F.sigmoid(tg.tensor(-30.0)).item() > 0 == F.fast_activation(tg.tensor(-30.0), "sigmoid").item()


@both
def test_fast_forms_in_place(activation: str, draw: Any) -> None:
    x = draw(*LARGE)
    expected = F.fast_activation(x, activation)
    held = x.clone()
    with Counters() as there:
        assert F.fast_activation_(held, activation) is held
    assert there.allocated == 0
    np.testing.assert_array_equal(held.array, expected.array)


@pytest.mark.parametrize("activation", BENDS)
def test_fast_forms_far_out(activation: str) -> None:
    x = tg.tensor([-1e4, 1e4], requires_grad=True)
    y = F.fast_activation(x, activation)
    y.sum().backward()
    assert np.isfinite(y.detach().array).all() and x.grad is not None and np.isfinite(x.grad.array).all()


# In place -------------------------------------------------------------------------------------------------------------


@both
def test_in_place_has_the_gradients_of_the_plain_form(activation: str, draw: Any) -> None:
    values, row = draw(3, 4).double(), draw(4).double()
    grads = []
    for form in (F.bias_activation_, F.bias_activation):
        x, b = values.clone().requires_grad_(), row.clone().requires_grad_()
        (form(x * 2, b, activation) * values).sum().backward()
        grads.append((x.grad, b.grad))
    for ours, expected in zip(*grads, strict=True):
        assert ours is not None and expected is not None
        np.testing.assert_allclose(ours.array, expected.array, rtol=1e-12)


@both
def test_in_place_obeys_the_rules(activation: str, draw: Any) -> None:
    leaf, b = draw(3, 4).requires_grad_(), draw(4)
    with pytest.raises(InplaceError, match="a leaf that requires grad"):
        F.bias_activation_(leaf, b, activation)
    if activation == "identity":
        assert F.fast_activation_(leaf, activation) is leaf, "nothing is written"
    else:
        with pytest.raises(InplaceError, match="a leaf that requires grad"):
            F.fast_activation_(leaf, activation)
    y = leaf.exp()  # whose slope is its result
    F.bias_activation_(y, b, activation)
    with pytest.raises(InplaceError):
        y.sum().backward()


def test_a_bias_in_the_same_memory_is_read_as_it_was(draw: Any) -> None:
    x = draw(400, 400)
    expected = F.relu(x + x[0].clone())
    F.bias_activation_(x, x[0], "relu")
    np.testing.assert_array_equal(x.array, expected.array)


# What they refuse -----------------------------------------------------------------------------------------------------

NAMES = "'relu', 'tanh', 'sigmoid', 'gelu', 'silu', 'identity'"


def test_an_unknown_activation() -> None:
    x = tg.ones(2, 3)
    calls: dict[str, Callable[[Any], Any]] = {
        "fused_dense_bias_activation": lambda a: F.fused_dense_bias_activation(x, x, tg.ones(2), a),
        "fused_conv_bias_activation": lambda a: F.fused_conv_bias_activation(x[None], x[None], tg.ones(1), a),
        "bias_activation": lambda a: F.bias_activation(x, x, a), "fast_activation": lambda a: F.fast_activation(x, a),
        "bias_activation_": lambda a: F.bias_activation_(x, x, a),
        "fast_activation_": lambda a: F.fast_activation_(x, a),
    }  # fmt: skip
    for name, call in calls.items():
        with teaches(
            ArgumentError, f"{name} with activation='selu'", "there is no such activation", f"use one of {NAMES}"
        ):
            call("selu")
        with pytest.raises(ArgumentError):
            call(F.relu)


@both
def test_shapes_that_do_not_fit(activation: str) -> None:
    x = tg.ones(2, 3)
    with pytest.raises(ShapeError, match=r"a bias \(2,\) cannot be stretched to the shape \(2, 3\)"):
        F.bias_activation(x, tg.ones(2), activation)
    with pytest.raises(ShapeError, match=r"a bias \(2, 3\) cannot be stretched to the shape \(3,\)"):
        F.bias_activation(x[0], x, activation)
    for bias in (tg.ones(2), tg.ones(4, 2, 3)):
        with pytest.raises(ShapeError):
            F.bias_activation_(x, bias, activation)
    assert x.tolist() == tg.ones(2, 3).tolist()
    with pytest.raises(ShapeError, match="the layer takes 4 features"):
        F.fused_dense_bias_activation(x, tg.ones(5, 4), tg.ones(5), activation)
    with pytest.raises(ShapeError, match="there are 5 outputs"):
        F.fused_dense_bias_activation(x, tg.ones(5, 3), tg.ones(2), activation)
    with pytest.raises(ShapeError, match="the image has 3"):
        F.fused_conv_bias_activation(tg.ones(1, 3, 4, 4), tg.ones(2, 2, 2, 2), None, activation)
    with pytest.raises(ShapeError, match="but the bias has shape"):
        F.fused_conv_bias_activation(tg.ones(1, 2, 4, 4), tg.ones(2, 2, 2, 2), tg.ones(3), activation)


def test_what_is_no_float_and_what_is_no_tensor() -> None:
    whole = tg.tensor([1, 2])
    for call in (lambda: F.bias_activation(whole, whole, "tanh"), lambda: F.fast_activation(whole, "sigmoid")):
        with pytest.raises(DtypeError):
            call()
    with teaches(
        DtypeError, "bias_activation_ with input=[1.0]", "input takes a tensor, but this is a list",
        "it writes to a tensor: make it one first",
    ):  # fmt: skip
        F.bias_activation_([1.0], tg.ones(1), "relu")
    assert F.fused_dense_bias_activation([[1.0, 2.0]], [[3.0, -4.0]], [1.0], "identity").tolist() == [[-4.0]]
