"""Shapes and strides: what they say, against what NumPy does."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import tinygrad_edu as tg
from tinygrad_edu.backends import CPU
from tinygrad_edu.backends.layout import channels_last, contiguous, lay, lay_as_leaf, order, overlaps, viewable

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


# How results lie ------------------------------------------------------------------------------------------------------


def laid(axes: tuple[int, ...], *shape: int) -> Any:
    """Numbers of that shape, whose axes follow each other in memory as ``axes`` say."""
    count = int(np.prod(shape))
    array = np.arange(count, dtype="f4").reshape([shape[i] for i in axes])
    return array.transpose(np.argsort(axes))


@pytest.mark.parametrize("axes", list(permutations(range(4))))
def test_the_order_of_axes(axes: tuple[int, ...]) -> None:
    x = laid(axes, 2, 3, 4, 5)
    assert order(x.shape, x.strides) == axes
    assert order(x.shape, tuple(-stride for stride in x.strides)) == axes
    assert channels_last(x.shape, x.strides) == (axes == (0, 2, 3, 1))
    y = lay(CPU.xp, np.ascontiguousarray(x), x.strides)
    assert y.strides == x.strides
    np.testing.assert_array_equal(y, x)


def test_axes_along_which_nothing_moves_keep_their_place() -> None:
    assert order((2, 3, 4), (0, 4, 1)) == (0, 1, 2)
    assert order((2, 3, 4), (3, 1, 0)) == (0, 1, 2)
    assert order((2, 3, 4), (1, 0, 2)) == (2, 1, 0), "those around it may change places"
    assert order((3, 1, 3), (1, 1, 1)) == (0, 2, 1), "of equal strides, the longer axis is outside"


def test_channels_last_may_have_gaps_but_no_overlap() -> None:
    assert channels_last((2, 3, 4, 4), (96, 1, 24, 6))
    assert not channels_last((2, 3, 4, 4), (0, 1, 12, 3))
    assert not channels_last((2, 3, 4, 4), (48, 0, 12, 3))
    assert not channels_last((2, 0, 4, 4), (48, 1, 12, 3))
    assert not channels_last((3, 4, 4), (1, 12, 3))


def test_a_gradient_lies_as_its_leaf() -> None:
    g = np.arange(6.0).reshape(2, 3)
    assert lay_as_leaf(CPU.xp, g, (24, 8)) is g
    assert lay_as_leaf(CPU.xp, g, (8, 16)).strides == (8, 16)
    assert lay_as_leaf(CPU.xp, g.T, (48, 16)).strides == (16, 8), "in rows, for a leaf with gaps"


def test_what_keeps_the_order_and_what_does_not() -> None:
    x = tg.from_numpy(laid((2, 0, 1), 2, 3, 4))
    for same in (x.clone(), x.double(), x.exp(), x.flip(0), x.sort().values, tg.zeros_like(x), tg.rand_like(x)):
        assert order(tuple(same.shape), same.stride()) == (2, 0, 1)
    for rows in (x.softmax(0), x.sum(1), x.cumsum(0), tg.cat([x, x]), x.roll(1, 0), x.gather(0, (x < 0).long())):
        assert rows.is_contiguous()


def test_results_can_be_viewed_and_written_through() -> None:
    """Reading by tensors, stretched parts, and layouts of operands that nobody thinks of."""
    x = tg.arange(6.0).reshape(2, 3)
    picked = x[:, tg.tensor([0, 1])]
    picked.reshape(-1).zero_()
    assert picked.tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert x.index_select(1, tg.tensor([2])).view(-1).tolist() == [2.0, 5.0]
    stretched = tg.ones(1, 2, 1).expand(3, 2, 2)
    assert tg.cat([stretched, stretched], 2).view(-1).shape == (24,)
    assert stretched.clone().view(-1).shape == (12,)


def test_a_leaf_and_its_gradient() -> None:
    """Also where the gradient comes out turned, or shared."""
    for leaf in (tg.ones(3, 2), tg.from_numpy(laid((1, 0), 3, 2)), tg.ones(3, 4)[:, ::2].detach()):
        leaf.requires_grad_()
        (leaf.T @ tg.ones(3, 1)).sum().backward()
        assert leaf.grad is not None
        dense = leaf.stride() in ((2, 1), (1, 3))
        assert leaf.grad.stride() == (leaf.stride() if dense else (2, 1))
