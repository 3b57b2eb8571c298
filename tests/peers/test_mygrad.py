"""`compat.mygrad` beside MyGrad itself: the same program gives the same values, gradients and constants."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import tinygrad_edu.compat.mygrad as ours

pytestmark = pytest.mark.peers
theirs = pytest.importorskip("mygrad", reason="needs MyGrad: pip install -e '.[peers]'")

KEYS: list[Any] = [0, slice(1, None), slice(None, None, 2), (slice(None), 0), ..., (slice(None), slice(0, 1))]


def program(mg: Any, seed: int) -> list[Any]:
    """Views, writes and operations at random, and a walk back. Returns all that can be seen."""
    draw = random.Random(seed)
    numbers = np.random.default_rng(seed)
    tensors = [mg.tensor(numbers.normal(size=(3, 2)) + 2.0, constant=i == 2) for i in range(3)]
    raw = numbers.normal(size=(3, 2))
    seen: list[Any] = []
    for _ in range(draw.randint(3, 12)):
        x, y = draw.choice(tensors), draw.choice(tensors)
        what = draw.randrange(8)
        if what == 0:
            tensors.append(mg.multiply(x, y) if x.shape == y.shape else x * 2.0)
        elif what == 1:
            tensors.append(mg.exp(x * 0.1))
        elif what == 2:
            tensors.append(raw * x if x.shape == raw.shape else x + 1.0)
        elif what == 3 and x.ndim == 2:
            tensors.append(x[draw.choice(KEYS)])
        elif what == 4:
            tensors.append(mg.sum(x, axis=0, keepdims=draw.random() < 0.5) if x.ndim else x * x)
        elif what == 5 and x.ndim:
            x[0] = draw.choice([1.5, y.data.ravel()[0]])
        elif what == 6:
            x *= 1.5
        else:
            tensors.append(x.reshape(-1))
    total = sum(mg.sum(one) for one in tensors)
    total.backward()
    for one in tensors:
        grad = None if one.grad is None else one.grad.copy()
        if one.base is not None and (grad is None or grad.size):
            grad = "of a view"  # MyGrad gives none where its base's gradient cannot be looked at in this shape
        seen += [one.data.copy(), one.constant, grad]
    return seen


@pytest.mark.parametrize("seed", range(200))
def test_programs(seed: int) -> None:
    found, expected = program(ours, seed), program(theirs, seed)
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        if isinstance(other, np.ndarray):
            np.testing.assert_allclose(one, other, rtol=1e-10)
        else:
            assert type(one) is type(other) and one == other
