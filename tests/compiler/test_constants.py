"""Arrays that are known when a program is made: numbers where that is the same, and arrays where it is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tinygrad_edu.compiler import compile, optimised, trace
from tinygrad_edu.nn import functional as F

SMALL = tg.tensor(np.arange(15, dtype="f4").reshape(5, 3) - 7)
LARGE = tg.tensor(np.random.default_rng(0).normal(size=(700, 300)).astype("f4"))

KNOWN: dict[str, Callable[[Any], Any]] = {
    "sum of ones": lambda x: (tg.ones_like(x) + tg.ones_like(x)).sum(),
    "a count": lambda x: x / (tg.ones_like(x) + tg.zeros_like(x)).sum(),
    "nothing else": lambda x: tg.ones_like(x) + tg.zeros_like(x),
    "reshaped": lambda x: (tg.ones_like(x) * -tg.ones_like(x)).reshape(-1),
    "turned": lambda x: (tg.ones_like(x) - tg.ones_like(x)).t() @ x,
    "two branches": lambda x: tg.where(x > 0, tg.ones_like(x), tg.zeros_like(x)) @ x.t(),
    "a branch": lambda x: tg.where(x > 0, x, tg.zeros(*x.shape)),
    "a row": lambda x: tg.where(x > 0, tg.arange(float(x.shape[1])), x),
    "times two of them": lambda x: (x * (tg.ones_like(x) + tg.ones_like(x))).sum(),
    "negative": lambda x: (-tg.ones_like(x)) * x - (-tg.zeros_like(x)),
    "negative, twice": lambda x: (-tg.ones_like(x)).neg() + (-tg.ones_like(x)),
    "masked": lambda x: (x * tg.triu(tg.ones(*x.shape))) + 1,
    "a column": lambda x: (x + tg.arange(float(x.shape[0])).unsqueeze(1)) * 2,
    "a causal mask": lambda x: F.softmax(x.masked_fill(tg.triu(tg.ones(*x.shape)).bool(), -1e9), 1),
    "filled": lambda x: x + tg.full(x.shape, 0.5) * 2,
    "not in order": lambda x: (x * tg.arange(float(x.numel())).reshape(x.shape[1], x.shape[0]).t()).tanh() + 1,
    "of 16 bits": lambda x: x.half() * tg.full(x.shape, 0.1, dtype="float16") + 1,
    "maximum": lambda x: tg.maximum(x, tg.zeros_like(x)) * 2,
}


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("x", [SMALL, LARGE], ids=["small", "large"])
@pytest.mark.parametrize("name", KNOWN)
def test_they_give_what_they_give_eagerly(name: str, x: Any, backend: str) -> None:
    function = KNOWN[name]
    ours, theirs = x.clone().requires_grad_(), x.clone().requires_grad_()
    fast = compile(function, backend=backend, fullgraph=True)
    for _ in range(2):
        found, expected = fast(ours), function(theirs)
        assert found.dtype == expected.dtype and found.shape == expected.shape
        np.testing.assert_allclose(found.detach().array, expected.detach().array, rtol=1e-3, atol=1e-5)
        if expected.requires_grad:
            found.float().sum().backward()
            expected.float().sum().backward()
            np.testing.assert_allclose(ours.grad.array, theirs.grad.array, rtol=1e-3, atol=1e-5)


def test_a_number_stands_for_an_array_that_is_one_throughout() -> None:
    program = optimised(trace(lambda x: x * tg.ones_like(x) + (-tg.ones_like(x)) * x, SMALL))
    assert "ones_like" not in str(program) and "const" not in str(program)
