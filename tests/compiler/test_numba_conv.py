"""Convolutions by Numba: the numbers of the usual ones, in any shape, and in which cases they are used."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tinygrad_edu as tg
from tinygrad_edu.backends import convolution
from tinygrad_edu.backends.cpu import XP
from tinygrad_edu.compiler import compile, numba_code, numba_conv
from tinygrad_edu.compiler.ir import Equation, Var
from tinygrad_edu.compiler.numba_conv import CHANNELS, Convolution
from tinygrad_edu.nn import functional as F

Pairs = st.tuples(st.integers(1, 3), st.integers(1, 3))


def var(number: int, array: Any) -> Var:
    return Var(number, array.shape, array.dtype)


def tried(name: str, x: Any, y: Any, how: tuple[Any, ...], jit: bool) -> tuple[Any, Any]:
    """What the loops give, and what the body does; None where the loops leave it to the body."""
    body = getattr(XP, name)
    expected = body(x, y, *how)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(numba_conv, "LEAST", 0)
        if not jit:  # as Python: to compile one takes half a second
            patch.setattr(numba_conv, "machine_code", functools.partial(numba_code.machine_code, jit=False))
        found = Convolution.of(Equation((var(2, expected),), name, (var(0, x), var(1, y), *how)))
        if found is None:
            return None, expected
        for _ in range(2):  # its memory is used again
            out = np.full(expected.shape, 7, expected.dtype)
            found.run(x, y, out)
    return out, expected


def check(
    images: int, channels: int, kernels: int, size: Any, kernel: Any, padding: Any, dilation: Any, jit: bool = False
) -> None:
    """All three, on images and kernels of these shapes."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(images, channels, *size)).astype("f4")
    weight = rng.normal(size=(kernels, channels, *kernel)).astype("f4")
    one = (1, 1)
    if any(n + 2 * p < d * (k - 1) + 1 for n, p, d, k in zip(size, padding, dilation, kernel, strict=True)):
        return
    g = rng.normal(size=convolution.conv(x, weight, one, padding, dilation, 1).shape).astype("f4")
    for name, a, b, how in [
        ("conv", x, weight, (one, padding, dilation, 1, None)),
        ("conv_input", g, weight, (size, one, padding, dilation, 1)),
        ("conv_kernel", x, g, (kernel, one, padding, dilation, 1)),
    ]:
        found, expected = tried(name, a, b, how, jit)
        assert (found is None) == (kernel == one), "1 × 1 is a product of matrices"
        if found is not None:
            np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4, err_msg=name)


@given(
    images=st.integers(1, 2), channels=st.integers(1, 3), kernels=st.integers(1, 6),
    size=st.tuples(st.integers(1, 6), st.integers(1, 6)), kernel=Pairs,
    padding=st.tuples(st.integers(0, 4), st.integers(0, 4)), dilation=Pairs,
)  # fmt: skip
@settings(max_examples=200, deadline=None)
def test_any_shape(
    images: int, channels: int, kernels: int, size: Any, kernel: Any, padding: Any, dilation: Any
) -> None:
    check(images, channels, kernels, size, kernel, padding, dilation)


@pytest.mark.parametrize("kernel, padding", [((3, 3), (1, 1)), ((2, 5), (0, 3))])
def test_as_machine_code(kernel: Any, padding: Any) -> None:
    check(3, 5, 6, (9, 11), kernel, padding, (1, 2), jit=True)


@pytest.mark.parametrize("bad", [np.inf, np.nan])
def test_inf_and_nan_stay_where_they_are_seen(bad: float) -> None:
    """Between two rows of a frame are places that no window sees. What is computed there must not show."""
    weight = tg.randn(4, 2, 3, 3, requires_grad=True)
    x = tg.randn(8, 2, 20, 20)
    x[0, 0, 3, 19] = bad

    def f(x: Any) -> Any:
        weight.grad = None
        y = F.conv2d(x, weight, padding=1)
        y.tanh().sum().backward()
        return y * 1

    with np.errstate(all="ignore"):
        fast = compile(f, backend="numba", fullgraph=True)
        found, ours = fast(x), weight.grad.array.copy()
        expected = f(x)
    assert len(fast.ledger[0].codes[0].kernels) >= 2
    np.testing.assert_allclose(found.array, expected.array, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(ours, weight.grad.array, rtol=1e-4, atol=1e-4)


ONE = np.zeros((2, 3, 8, 8), "f4"), np.zeros((4, 3, 3, 3), "f4")


@pytest.mark.parametrize(
    "x, weight, how",
    [
        (*ONE, ((2, 2), (1, 1), (1, 1), 1, None)),
        (np.zeros((2, 4, 8, 8), "f4"), np.zeros((4, 2, 3, 3), "f4"), ((1, 1), (1, 1), (1, 1), 2, None)),
        (np.zeros((2, CHANNELS + 1, 8, 8), "f4"), np.zeros((4, CHANNELS + 1, 3, 3), "f4"),
         ((1, 1), (0, 0), (1, 1), 1, None)),
        (np.zeros((2, 3, 8, 8), "f2"), np.zeros((4, 3, 3, 3), "f2"), ((1, 1), (0, 0), (1, 1), 1, None)),
        (np.zeros((2, 3, 8, 8), "f4"), np.zeros((4, 3, 6, 6), "f4"), ((1, 1), (0, 0), (1, 1), 1, None)),
        (np.zeros((0, 3, 8, 8), "f4"), np.zeros((4, 3, 3, 3), "f4"), ((1, 1), (0, 0), (1, 1), 1, None)),
    ],
    ids=["a stride", "groups", "many channels", "16 bits", "a large kernel", "no images"],
)  # fmt: skip
def test_what_is_left_to_the_usual_body(x: Any, weight: Any, how: Any) -> None:
    assert tried("conv", x, weight, how, jit=False)[0] is None
    assert tried("conv", *ONE, ((1, 1), (0, 0), (1, 1), 1, None), jit=False)[0] is not None


def test_a_training_step_of_a_convolutional_network() -> None:
    losses = []
    for backend in ("", "numba"):
        tg.manual_seed(0)
        nn = tg.nn
        model = nn.Sequential(
            nn.Conv2d(1, 5, 3, padding=1), nn.BatchNorm2d(5), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(5, 6, 3, stride=2), nn.GELU(), nn.Conv2d(6, 4, (2, 3)), nn.Flatten(), nn.Linear(100, 3),
        )  # fmt: skip
        optimizer = tg.optim.Adam(model.parameters(), lr=0.01)
        x, labels = tg.randn(8, 1, 28, 32), tg.tensor([0, 1, 2, 0, 1, 2, 0, 1])

        def step(model: Any = model, optimizer: Any = optimizer, x: Any = x, labels: Any = labels) -> Any:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), labels)
            loss.backward()
            optimizer.step()
            return loss

        fast = compile(step, backend=backend, fullgraph=True) if backend else step
        losses.append([fast().item() for _ in range(4)])
    assert "conv_" in fast.ledger[0].source
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-4)
    assert losses[0][-1] < losses[0][0]
