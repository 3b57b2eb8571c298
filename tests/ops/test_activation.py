"""Activations where they are special: far out, at their corners, in place, and what they refuse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu.errors import ArgumentError, DtypeError, InplaceError

F = tg.nn.functional
BENDS: dict[str, Callable[..., Any]] = {
    "leaky_relu": F.leaky_relu, "elu": F.elu, "silu": F.silu, "softplus": F.softplus, "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", BENDS)
def test_far_out_nothing_overflows(name: str, dtype: str) -> None:
    """Warnings are errors here. To the right each is x itself, to the left flat or a line."""
    x = tg.tensor([-1e4, 1e4], dtype=dtype, requires_grad=True)
    y = BENDS[name](x)
    y.sum().backward()
    left, slope = {"leaky_relu": (-100.0, 0.01), "elu": (-1.0, 0.0)}.get(name, (0.0, 0.0))
    np.testing.assert_allclose(y.detach().array, [left, 1e4], rtol=1e-7)
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.array, [slope, 1.0], rtol=1e-7)


@pytest.mark.parametrize("name", BENDS)
def test_nan_stays(name: str) -> None:
    assert np.isnan(BENDS[name](tg.tensor(float("nan"))).item())


def test_slopes_at_the_corner() -> None:
    slopes = {"leaky_relu": 0.01, "elu": 1.0, "silu": 0.5, "softplus": 0.5, "gelu": 0.5, "gelu_tanh": 0.5}
    for name, slope in slopes.items():
        x = tg.tensor(0.0, dtype="float64", requires_grad=True)
        BENDS[name](x).backward()
        assert x.grad is not None and x.grad.item() == slope
    x = tg.tensor(0.0, dtype="float64", requires_grad=True)
    F.elu(x, alpha=0.25).backward()
    assert x.grad is not None and x.grad.item() == 0.25


def test_curvatures_at_0() -> None:
    """The smooth ones are put together from parts with corners there, which must not be seen."""
    for name, curvature in {"silu": 0.5, "softplus": 0.25, "gelu": np.sqrt(2 / np.pi)}.items():
        x = tg.tensor(0.0, dtype="float64", requires_grad=True)
        (slope,) = tg.autograd.grad(BENDS[name](x), x, create_graph=True)
        (found,) = tg.autograd.grad(slope, x)
        assert found.item() == pytest.approx(curvature, rel=1e-14)


def test_small_values_are_precise() -> None:
    """Far to the left, silu and softplus are tiny, and not 0."""
    x = tg.tensor([-30.0], dtype="float64")
    np.testing.assert_allclose(F.silu(x).array, [-30 * np.exp(-30.0)], rtol=1e-12)
    np.testing.assert_allclose(F.softplus(x).array, [np.exp(-30.0)], rtol=1e-12)
    np.testing.assert_allclose(F.elu(tg.tensor([-1e-10], dtype="float64")).array, [-1e-10], rtol=1e-9)


def test_softplus_is_x_beyond_its_threshold() -> None:
    x = tg.tensor([0.9, 1.1], dtype="float64")
    assert F.softplus(x, beta=2, threshold=2).tolist() == [np.log1p(np.exp(1.8)) / 2, 1.1]


def test_the_two_forms_of_gelu_differ_a_little() -> None:
    x = tg.tensor(np.linspace(-6, 6, 1001))
    apart = np.abs(F.gelu(x).array - F.gelu(x, approximate="tanh").array).max()
    assert 1e-4 < apart < 5e-4


@pytest.mark.parametrize("name", BENDS)
@pytest.mark.parametrize("x", [tg.tensor([1, 2]), tg.tensor([True]), tg.tensor(3)])
def test_integers_are_refused(name: str, x: tg.Tensor) -> None:
    with pytest.raises(DtypeError, match="has no fractions, but the result needs them"):
        BENDS[name](x)
    if name == "leaky_relu":
        with pytest.raises(DtypeError, match="has no fractions"):
            F.leaky_relu(x, 2)


def test_an_unknown_approximation() -> None:
    mend = "use 'none' or 'tanh'"
    with teaches(ArgumentError, "gelu with approximate='sigmoid'", "there is no such approximation", mend):
        F.gelu(tg.ones(2), approximate="sigmoid")


@pytest.mark.parametrize("name", ["relu", "leaky_relu", "elu", "silu"])
def test_in_place(name: str) -> None:
    """The same numbers and gradients, in the buffer of x."""
    function = getattr(F, name)
    values = np.array([-1.5, 0.5, 2.0])
    plain, leaf = tg.tensor(values, requires_grad=True), tg.tensor(values, requires_grad=True)
    expected = function(plain)
    buffer = leaf * 1.0
    address = buffer.data_ptr()
    found = function(buffer, inplace=True)
    assert found is buffer
    assert buffer.data_ptr() == address
    assert found.tolist() == expected.tolist()
    expected.sum().backward()
    found.sum().backward()
    assert leaf.grad is not None and plain.grad is not None
    assert leaf.grad.tolist() == plain.grad.tolist()
    with pytest.raises(InplaceError, match=f"{name}_ on a tensor"):
        function(leaf, inplace=True)
