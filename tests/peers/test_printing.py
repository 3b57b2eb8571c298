"""What print shows, next to PyTorch: the same text, whatever the numbers, shapes and options."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hn

import tinygrad_edu as tg

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.peers


@pytest.fixture(autouse=True)
def defaults() -> Iterator[None]:
    yield
    for module in (tg, torch):
        module.set_printoptions(profile="default")


def same(array: Any, **marks: Any) -> None:
    texts = [repr(module.tensor(array).requires_grad_(marks.get("requires_grad", False))) for module in (tg, torch)]
    ours, theirs = (re.sub(r",\s+(dtype=|requires)(torch\.)?", r", \1", text) for text in texts)  # one name is longer
    assert ours == theirs


SHAPES = st.one_of(
    hn.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=8),
    st.sampled_from([(40,), (30, 60), (1001,), (9, 9, 20), (2, 3, 200)]),
)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_any_numbers(data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(["float32", "float64", "float16", "int64", "uint8", "int8", "bool"]))
    shape = data.draw(SHAPES)
    special = [0.0, -0.0, 1.0, -1.0, 0.5, 1e5, 1e-5, 1e8, 2e8, 1e-9, 123.456, np.nan, np.inf, -np.inf, 1000.0, 1001.0]
    if dtype.startswith("float"):
        width = int(dtype[-2:])
        number = st.one_of(st.sampled_from(special), st.floats(width=width))  # type: ignore[arg-type]
        elements = number.map(lambda x: float(np.clip(x, -6e4, 6e4))) if width == 16 else number
    else:
        elements = hn.from_dtype(np.dtype(dtype))
    array = data.draw(hn.arrays(dtype, shape, elements=elements, fill=elements))
    same(array, requires_grad=dtype.startswith("float") and data.draw(st.booleans()))


@pytest.mark.parametrize(
    "options",
    [
        {"precision": 2}, {"precision": 0}, {"precision": 10, "linewidth": 60}, {"threshold": 5}, {"edgeitems": 1},
        {"threshold": 5, "edgeitems": 2}, {"profile": "short"}, {"profile": "full"}, {"sci_mode": True},
        {"sci_mode": False}, {"profile": "short", "linewidth": 200}, {"linewidth": 10},
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "array",
    [
        np.arange(20.0) / 8, np.arange(2000), np.float32(1e5), np.array([1e5, 1.0]), np.ones((3, 4, 5), "f4") / 3,
        np.array([np.nan, np.inf, 0.0]), np.zeros((2, 0)), np.arange(24).reshape(2, 3, 4), np.float32(np.pi),
    ],
)  # fmt: skip
def test_options(options: dict[str, Any], array: Any) -> None:
    for module in (tg, torch):
        module.set_printoptions(**options)
    same(array)


def test_options_last_until_they_are_changed() -> None:
    for module in (tg, torch):
        module.set_printoptions(precision=2, sci_mode=True)
    same(np.array([1.5, 2.0]))
    for module in (tg, torch):
        module.set_printoptions(edgeitems=1, threshold=3)
    same(np.arange(8.0) / 3)
