"""Shapes and strides: what they say, against what NumPy does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tinygrad_edu.backends.layout import contiguous, overlaps, viewable

SHAPES = st.lists(st.integers(1, 4), max_size=4).map(tuple)


@st.composite
def laid_out(draw: Any) -> np.ndarray:
    """An array of int64 that was cut, turned, stretched and reversed."""
    shape = draw(SHAPES)
    array = np.arange(int(np.prod(shape))).reshape(shape)
    for _ in range(draw(st.integers(0, 4))):
        kind = draw(st.sampled_from(("turn", "cut", "stretch", "new axis", "diagonal")))
        if kind == "turn":
            array = array.transpose(draw(st.permutations(range(array.ndim))))
        elif kind == "cut" and array.ndim:
            at, start, step = (
                draw(st.integers(0, array.ndim - 1)),
                draw(st.integers(0, 1)),
                draw(st.sampled_from((1, 2, -1))),
            )
            array = array[(*(slice(None),) * at, slice(start, None, step))]
        elif kind == "stretch" and array.size < 100:
            array = np.broadcast_to(array, (draw(st.integers(1, 3)), *array.shape))
        elif kind == "new axis":
            array = np.expand_dims(array, draw(st.integers(0, array.ndim)))
        elif kind == "diagonal" and array.ndim > 1:
            array = array.diagonal(draw(st.integers(-1, 1)))
    return array


@st.composite
def filled_by(draw: Any, count: int) -> tuple[int, ...]:
    """Sizes that ``count`` elements fill."""
    sizes: list[int] = []
    while count > 1:
        size = draw(st.sampled_from([n for n in range(2, count + 1) if count % n == 0]))
        sizes.append(size)
        count //= size
    for _ in range(draw(st.integers(0, 2))):
        sizes.insert(draw(st.integers(0, len(sizes))), 1)
    return tuple(sizes)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(laid_out(), st.data())
def test_what_can_be_viewed_is_what_numpy_does_not_copy(array: np.ndarray, data: Any) -> None:
    assume(array.size)
    wanted = data.draw(filled_by(array.size))
    assert viewable(array.shape, array.strides, wanted) == np.shares_memory(array.reshape(wanted), array)


def test_what_holds_nothing_can_be_viewed_as_anything_empty() -> None:
    assert viewable((2, 0), (7, 3), (0, 5))


@settings(max_examples=300, deadline=None, derandomize=True)
@given(laid_out())
def test_contiguous(array: np.ndarray) -> None:
    assert contiguous(array.shape, array.strides, array.itemsize) == array.flags.c_contiguous


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(-9, 9)), max_size=4))
def test_overlaps(axes: list[tuple[int, int]]) -> None:
    """Every place, looked at one by one."""
    shape, strides = tuple(size for size, _ in axes), tuple(stride for _, stride in axes)
    places = [sum(i * stride for i, stride in zip(at, strides, strict=True)) for at in np.ndindex(*shape)]
    assert overlaps(shape, strides) == (len(set(places)) < len(places))


@pytest.mark.parametrize(
    ("shape", "strides", "expected"),
    [
        ((2, 3), (3, 2), False),  # 0 2 4 and 3 5 7: woven into each other
        ((2, 3), (4, 2), True),
        ((10**6, 10**3), (8, 8), True),  # told without looking at each of 10 ** 9 elements
        ((10**5, 10**4), (10**4, 1), False),
        ((5, 1), (0, 0), True),
        ((1, 1), (0, 0), False),
        ((), (), False),
    ],
)
def test_overlaps_by_example(shape: tuple[int, ...], strides: tuple[int, ...], expected: bool) -> None:
    assert overlaps(shape, strides) == expected
