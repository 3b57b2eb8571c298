"""A million float32 are added up as precisely as ten, whatever their layout: compared with float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tinygrad_edu.backends import CPU
from tinygrad_edu.backends.sums import FEW, add

Array = Any
EPS = 2.0**-23
SHAPES = [(1_000_000,), (500_000, 2), (2, 500_000), (1000, 1000), (2, 250_000, 2), (100, 100, 100), (65, 7, 311)]
SHAPES += [(40, 30), (64, 64), (64,), (1, 5), (5, 1), (300, 7), (7, 300)]  # some sums of few numbers are products


def transposed(x: Array) -> Array:
    return np.ascontiguousarray(x.T).T


def with_gaps(x: Array) -> Array:
    return np.repeat(x, 2, -1)[..., ::2]


def backwards(x: Array) -> Array:
    return np.ascontiguousarray(x[..., ::-1])[..., ::-1]


def expanded(x: Array) -> Array:
    return np.broadcast_to(x[:1], x.shape)


LAYOUTS: list[Callable[[Array], Array]] = [np.array, transposed, with_gaps, backwards, expanded]
VALUES: dict[str, Callable[[np.random.Generator, Any], Array]] = {
    "a tenth": lambda rng, shape: np.full(shape, 0.1),
    "of both signs": lambda rng, shape: rng.normal(size=shape),
}


def every(ndim: int) -> list[Any]:
    """All choices of axes: single ones, pairs, and all."""
    return [*range(ndim), -1, *((a, b) for a in range(ndim) for b in range(a + 1, ndim)), None]


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("values", VALUES)
def test_sums_along_every_axis(values: str, shape: tuple[int, ...], layout: Callable[[Array], Array]) -> None:
    x = layout(VALUES[values](np.random.default_rng(3), shape).astype("f4"))
    wide = x.astype("f8")
    for axis in every(len(shape)):
        for keepdims in (False, True):
            found = CPU.xp.sum(x, axis, keepdims)
            expected = np.sum(wide, axis, keepdims=keepdims)
            assert (found.dtype, found.shape) == (np.float32, expected.shape), axis
            bound = 8 * EPS * np.sum(abs(wide), axis, keepdims=keepdims)
            assert np.all(abs(found - expected) <= bound), (axis, float((abs(found - expected) / bound).max() * 8))


@pytest.mark.parametrize("dtype", ["float16", "uint8", "int8", "int32", "bool", "float64"])
def test_other_dtypes(dtype: str) -> None:
    """Integers come exact, in int64; halves are added up in float32."""
    x = np.random.default_rng(4).uniform(0, 100 if "int" in dtype else 0.4, (70_000, 3)).astype(dtype)
    for axis in (0, 1, None):
        found = CPU.xp.sum(x, axis)
        assert found.dtype == (dtype if "float" in dtype else "int64")
        np.testing.assert_allclose(found, np.sum(x.astype("f8"), axis), rtol={"float16": 1e-3}.get(dtype, 1e-12))


@pytest.mark.parametrize("count", range(FEW - 2, 5 * FEW))
def test_what_does_not_divide_into_parts(count: int) -> None:
    """Every element is added once: integers show it."""
    x = np.arange(count * 3).reshape(count, 3)
    np.testing.assert_array_equal(add(x, 0, None, False), x.sum(0))
    np.testing.assert_array_equal(add(x.T, -1, None, True), x.T.sum(-1, keepdims=True))


def test_no_elements_and_no_axes() -> None:
    for shape in ((0, 100), (100, 0), (0,), (), (1, 1, 200)):
        for axis in every(len(shape)) if shape else [None, ()]:
            np.testing.assert_array_equal(add(np.ones(shape), axis, None, False), np.ones(shape).sum(axis))


def test_a_sum_of_everything_is_a_number_of_numpy() -> None:
    """As from `np.sum`, whichever way it was added."""
    assert type(CPU.xp.sum(np.ones((3, 400, 400), "f4")[:, ::2, ::2])) is np.float32


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_running_sums_and_products(name: str, axis: int) -> None:
    x = np.random.default_rng(5).uniform(0.999, 1.001, (2, 50_000)).astype("f4")
    x = np.swapaxes(x, 0, 1 - axis)
    found, expected = getattr(CPU.xp, name)(x, axis), getattr(np, name)(x.astype("f8"), axis)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, rtol=EPS)


TALL = np.full((1_000_000, 2), 0.1, "f4")
FUNCTIONS: dict[str, tuple[Callable[[Any], Any], float]] = {
    "sum": (lambda x: x.sum(0), 1e5),
    "mean": (lambda x: x.mean(0), 0.1),
    "einsum of one": (lambda x: tg.einsum("ij->j", x), 1e5),
    "einsum of two": (lambda x: tg.einsum("ij,ij->j", x, x), 1e4),
    "norm": (lambda x: x.norm(2, 0), 100.0),
    "1-norm": (lambda x: x.norm(1, 0), 1e5),
    "logsumexp": (lambda x: tg.logsumexp(x, 0), 0.1 + np.log(1e6)),
    "softmax": (lambda x: 1e6 * tg.softmax(x, 0)[-1], 1.0),
    "running sum": (lambda x: x.cumsum(0)[-1], 1e5),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_is_made_of_sums(name: str) -> None:
    function, expected = FUNCTIONS[name]
    tolerance = 1e-3 if name == "einsum of two" else 2e-6  # BLAS adds up its products in a few long rows
    np.testing.assert_allclose(function(tg.tensor(TALL)).array, expected, rtol=tolerance)


def test_equal_numbers_hardly_vary() -> None:
    """Their mean is rounded, and the distances from it are all the same: they are no variance."""
    assert float(tg.tensor(TALL).var(0).max()) < 1e-15


def test_a_variance_is_no_less_precise_than_its_elements() -> None:
    """Two numbers far from 0 and close to each other."""
    x = tg.tensor([[1000.0, 1000.125], [5.0, 5.0000005]])
    np.testing.assert_allclose(x.var(1).array, np.var(x.array.astype("f8"), 1, ddof=1), rtol=1e-6)


def test_gradients_are_sums_too() -> None:
    """Of a bias, of what was stretched, and back along a running sum."""
    bias, row = tg.zeros(2, requires_grad=True), tg.ones(1, 2, requires_grad=True)
    x = tg.zeros(1_000_000, 2, requires_grad=True)
    ((x.cumsum(0) + bias + row) * tg.tensor(TALL)).sum().backward()
    for g in (bias.grad, row.grad, x.grad[0]):
        np.testing.assert_allclose(g.array.reshape(-1), [1e5, 1e5], rtol=1e-6)


@pytest.mark.parametrize("count", [17_000, 1_000_000])
def test_norms_of_long_rows(count: int) -> None:
    """BLAS adds them up, which drifts as well where rows are long."""
    x = np.full((2, count), 0.1, "f4") + np.arange(count, dtype="f4") % 3
    wide, functional = x.astype("f8"), tg.nn.functional
    root = wide / np.sqrt((wide**2).mean(1, keepdims=True) + 1e-5)
    layer = (wide - wide.mean(1, keepdims=True)) / np.sqrt(wide.var(1, keepdims=True) + 1e-5)
    found = functional.rms_norm(tg.tensor(x), (count,), eps=1e-5).array
    np.testing.assert_allclose(found, root, rtol=1e-6)
    for result in (
        functional.layer_norm(tg.tensor(x), (count,)).array,
        functional.group_norm(tg.tensor(x.reshape(2, 1, -1)), 1).array.reshape(x.shape),
    ):
        np.testing.assert_allclose(result, layer, atol=2e-6)
