"""Whether two ways give the same numbers: trees of tensors, arrays and numbers, within a tolerance."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tinygrad_edu as tg
from tinygrad_edu.inputs.trees import tensors_in
from tinygrad_edu.tips.counting import agree, plain

NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1.0, 1.0 + 1e-6),
        (1, 1.0),
        (True, 1),
        (tg.tensor([1.0, 2.0]), np.array([1.0, 2.0])),
        (tg.tensor([1.0, 1000.0]), tg.tensor([1.001, 1000.0])),  # small beside the largest
        (tg.tensor([NAN, 1.0]), tg.tensor([NAN, 1.0 + 1e-6])),
        (tg.tensor([INF, -INF, 1.0]), tg.tensor([INF, -INF, 1.0 + 1e-6])),
        (tg.tensor([1, 2]), tg.tensor([1.0, 2.0])),
        (tg.tensor([True, False]), tg.tensor([True, False])),
        (tg.zeros(0, 3), tg.zeros(0, 3)),
        (np.array([1.0], ml_dtypes.bfloat16), np.array([1.0], np.float32)),
        ((tg.ones(2), [1, {"a": tg.ones(1)}]), [tg.ones(2), (1, {"a": tg.ones(1)})]),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ((), []),
        (None, None),
        ("text", "text"),
    ],
    ids=str,
)
def test_they_agree(one: Any, other: Any) -> None:
    assert agree(one, other, 1e-5)
    assert agree(other, one, 1e-5)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1.0, 1.0 + 1e-4),
        (100_000_000, 100_000_001),  # integers are counted, not measured
        (2**53, 2**53 + 1),
        (tg.ones(2), tg.ones(2, 1)),
        (tg.ones(2), tg.ones(3)),
        (tg.ones(1), tg.tensor(1.0)),
        (tg.tensor([NAN, 1.0]), tg.tensor([NAN, 2.0])),
        (tg.tensor([NAN]), tg.tensor([1.0])),
        (tg.tensor([INF, 1.0]), tg.tensor([INF, 2.0])),  # an infinite number hides nothing
        (tg.tensor([INF]), tg.tensor([-INF])),
        (tg.tensor([True, False]), tg.tensor([True, True])),
        ([tg.ones(2), tg.ones(2)], tg.ones(2, 2)),
        ([tg.ones(2)], [tg.ones(2), tg.ones(2)]),
        ({"a": 1}, {"b": 1}),
        ({"a": 1}, [1]),
        (None, tg.ones(2)),
        (None, 0),
        ("1", 1),
    ],
    ids=str,
)
def test_they_do_not_agree(one: Any, other: Any) -> None:
    assert not agree(one, other, 1e-5)
    assert not agree(other, one, 1e-5)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1), st.floats(0, 0.9))
def test_the_tolerance_is_that_of_the_largest(values: list[float], share: float) -> None:
    numbers = np.array(values)
    step = 1e-3 * np.abs(numbers).max()
    assert agree(numbers + share * step, numbers, 1e-3)
    assert step < 1e-300 or not agree(numbers + 1.1 * step, numbers, 1e-3)


def test_without_tolerance_every_bit_counts() -> None:
    assert agree(tg.tensor([0.1, NAN]), tg.tensor([0.1, NAN]), 0.0)
    assert not agree(np.nextafter(1.0, 2.0), 1.0, 0.0)


def test_plain_values_are_copies() -> None:
    tensor, array = tg.zeros(2), np.zeros(2)
    kept = plain({"a": (tensor, array), "b": "text"})
    tensor.add_(1)
    array += 1
    np.testing.assert_equal(kept, {"a": [np.zeros(2), np.zeros(2)], "b": "text"})


def test_tensors_of_a_tree() -> None:
    a, b, c = tg.ones(1), tg.ones(2), tg.ones(3)
    assert [t.shape[0] for t in tensors_in([a, {"b": (b, 3)}, None, "x", c])] == [1, 2, 3]
