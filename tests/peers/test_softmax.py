"""Softmax without an axis, as old programs call it: PyTorch's choice, and its words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install -e '.[peers]'")
pytestmark = pytest.mark.peers


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "softmin"])
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 3, 4), (2, 3, 4, 2), (2, 3, 1, 2, 2)], ids=str)
def test_the_axis_that_nobody_named(name: str, shape: tuple[int, ...]) -> None:
    values, found = np.random.default_rng(0).normal(size=shape), []
    for m in (tg, torch):
        with pytest.warns(UserWarning, match="Implicit dimension choice") as caught:
            result: Any = getattr(m.nn.functional, name)(m.tensor(values))
        found.append((result.numpy(), [str(record.message) for record in caught]))
    (ours, words), (theirs, expected) = found
    assert words == expected
    np.testing.assert_allclose(ours, theirs, atol=1e-15)


@pytest.mark.parametrize("m", [tg, torch], ids=["here", "PyTorch"])
def test_tensors_themselves_are_told_the_axis(m: Any) -> None:
    for call in (lambda: m.softmax(m.ones(2)), lambda: m.ones(2).log_softmax()):
        with pytest.raises(TypeError, match="dim"):
            call()
