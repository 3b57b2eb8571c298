"""How far sums of a million float32 are from the same sums in float64, here and in PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install -e '.[peers]'")
pytestmark = pytest.mark.peers

EPS = 2.0**-23
FLOOR = 4  # errors of so many units in the last place are nobody's fault
SHAPES = {"row": (10**6,), "tall": (500_000, 2), "middle": (2, 250_000, 2), "cube": (100, 100, 100)}
MORE = {"wide": (2, 500_000), "square": (1000, 1000)}
LAYOUTS: dict[str, Callable[[Any, Any], Any]] = {
    "contiguous": lambda m, x: m.from_numpy(x),
    "transposed": lambda m, x: m.from_numpy(np.ascontiguousarray(x.T)).permute(*reversed(range(x.ndim))),
    "sliced": lambda m, x: m.from_numpy(np.repeat(x, 2, -1))[..., ::2],
    "expanded": lambda m, x: m.from_numpy(x)[:1].expand(*x.shape),
}
VALUES: dict[str, Callable[[np.random.Generator, Any], Any]] = {
    "a tenth": lambda rng, shape: np.full(shape, 0.1),
    "of both signs": lambda rng, shape: rng.normal(size=shape),
}
# The function, and what its errors are measured by, in float64: what was added up, or the result.
Function = Callable[[Any, Any, int], Any]
SUMS: dict[str, tuple[Function, Function]] = {
    "sum": (lambda m, x, d: x.sum(d), lambda m, x, d: x.abs().sum(d)),
    "mean": (lambda m, x, d: x.mean(d), lambda m, x, d: x.abs().mean(d)),
    "cumsum": (lambda m, x, d: x.cumsum(d), lambda m, x, d: x.abs().cumsum(d)),
    "norm": (lambda m, x, d: x.norm(2, d), lambda m, x, d: x.norm(2, d)),
    "1-norm": (lambda m, x, d: x.norm(1, d), lambda m, x, d: x.norm(1, d)),
    "3-norm": (lambda m, x, d: x.norm(3, d), lambda m, x, d: x.norm(3, d)),
    "var": (lambda m, x, d: x.var(d), lambda m, x, d: x.var(d).clamp(min=0.01)),
    "std": (lambda m, x, d: x.std(d), lambda m, x, d: x.std(d).clamp(min=0.1)),
    "logsumexp": (lambda m, x, d: m.logsumexp(x, d), lambda m, x, d: m.logsumexp(x, d).abs().clamp(min=1)),
    "softmax": (lambda m, x, d: m.softmax(x, d), lambda m, x, d: m.softmax(x, d)),
    "log_softmax": (lambda m, x, d: m.log_softmax(x, d), lambda m, x, d: m.log_softmax(x, d).abs().clamp(min=1)),
    "einsum": (lambda m, x, d: m.einsum("...i->...", x.movedim(d, -1)), lambda m, x, d: x.abs().sum(d)),
    "product of two": (lambda m, x, d: m.einsum("...i,...i->...", x, x), lambda m, x, d: (x * x).sum(-1)),
}


def compare(shape: tuple[int, ...], layout: str, values: str) -> None:
    """Along every axis, no error is twice PyTorch's."""
    numbers = VALUES[values](np.random.default_rng(3), shape).astype("f4")
    x, y = (LAYOUTS[layout](m, numbers) for m in (tg, torch))
    for name, (function, measure) in SUMS.items():
        for dim in range(len(shape)):
            exact, unit = function(torch, y.double(), dim).numpy(), measure(torch, y.double(), dim).numpy() * EPS
            ours, theirs = (
                (abs(found.numpy() - exact) / unit).max() for found in (function(tg, x, dim), function(torch, y, dim))
            )
            assert ours <= max(2 * theirs, FLOOR), (name, dim, ours, theirs)


@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("shape", ["tall", "cube"])
@pytest.mark.parametrize("layout", ["contiguous", "transposed"])
def test_no_error_is_twice_that_of_pytorch(layout: str, shape: str, values: str) -> None:
    compare(SHAPES[shape], layout, values)


@pytest.mark.slow
@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("shape", {**SHAPES, **MORE})
@pytest.mark.parametrize("layout", LAYOUTS)
def test_in_every_layout(layout: str, shape: str, values: str) -> None:
    compare({**SHAPES, **MORE}[shape], layout, values)


def test_products() -> None:
    """Of a million factors, each rounding counts once, in whatever order: the errors add up as a random walk."""
    x = np.exp(np.random.default_rng(4).normal(size=(500_000, 2)) * 1e-3).astype("f4")
    exact = np.prod(x.astype("f8"), 0)
    for m in (tg, torch):
        for layout in ("contiguous", "transposed"):
            found = LAYOUTS[layout](m, x).prod(0).numpy()
            assert (abs(found - exact) / exact / EPS).max() < 500_000**0.5


@pytest.mark.parametrize("weight", [False, True])
def test_the_gradient_of_a_bias(weight: bool) -> None:
    """Of a layer over many rows, and of what is stretched by hand."""
    g = np.random.default_rng(5).random((200_000, 3)).astype("f4")
    errors = []
    for m in (tg, torch):
        bias = m.zeros(3, requires_grad=True)
        w = m.ones(3, 2, requires_grad=True)
        x = m.ones(200_000, 2)
        out = m.nn.functional.linear(x, w, bias) if weight else (m.ones(200_000, 1) + bias)
        out.backward(m.from_numpy(g))
        exact = g.astype("f8").sum(0)
        errors.append((abs(bias.grad.numpy() - exact) / exact / EPS).max())
    assert errors[0] <= max(2 * errors[1], FLOOR), errors


@pytest.mark.parametrize("name", ["layer_norm", "rms_norm", "group_norm", "batch_norm"])
def test_norms_of_long_rows(name: str) -> None:
    x = np.random.default_rng(6).random((2, 1, 500_000)).astype("f4")
    calls: dict[str, Function] = {
        "layer_norm": lambda m, x, d: m.nn.functional.layer_norm(x, (500_000,)),
        "rms_norm": lambda m, x, d: m.nn.functional.rms_norm(x, (500_000,), eps=1e-5),
        "group_norm": lambda m, x, d: m.nn.functional.group_norm(x, 1),
        "batch_norm": lambda m, x, d: m.nn.functional.batch_norm(x, None, None, training=True),
    }
    exact = calls[name](torch, torch.from_numpy(x).double(), 0).numpy()
    ours, theirs = (abs(calls[name](m, m.from_numpy(x), 0).numpy() - exact).max() / EPS for m in (tg, torch))
    assert ours <= max(2 * theirs, FLOOR), (ours, theirs)
