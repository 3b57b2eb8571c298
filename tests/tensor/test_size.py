"""A size is a tuple, and knows how many elements it stands for."""

from __future__ import annotations

import copy
import pickle

import pytest

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu.errors import DtypeError


def test_a_size_is_a_tuple_with_a_number_of_elements() -> None:
    size = tg.zeros(2, 3, 4).size()
    assert type(size) is type(tg.zeros(2).shape) is tg.Size
    assert (size, hash(size), repr(size), size.numel()) == ((2, 3, 4), hash((2, 3, 4)), "(2, 3, 4)", 24)
    assert (size[0], size[-1], size[1:].numel(), tg.zeros(()).size().numel()) == (2, 4, 12, 1)
    assert tg.zeros(size).shape == tg.Size([2, 3, 4]) == tg.Size(tg.tensor([2, 3, 4]))
    assert tg.zeros(2, 0).size().numel() == 0


def test_a_tensor_is_made_from_the_shape_of_another() -> None:
    """Not with the shape for its elements: in PyTorch a tuple of numbers is data, and a size is not."""
    x = tg.zeros(2, 3)
    assert tg.Tensor(x.shape).shape == tg.FloatTensor(x.shape).shape == (2, 3)
    assert tg.Tensor((2, 3)).tolist() == [2.0, 3.0]


def test_what_is_made_of_a_size_is_one_too() -> None:
    size = tg.Size([2, 3])
    made = [(size + (4,), (2, 3, 4)), ((4,) + size, (4, 2, 3)), (size * 2, (2, 3) * 2), (2 * size, (2, 3) * 2)]  # noqa: RUF005
    made += [(size[:1], (2,)), (copy.copy(size), (2, 3)), (copy.deepcopy(size), (2, 3)), (tg.Size(), ())]
    for found, expected in (*made, (pickle.loads(pickle.dumps(size)), (2, 3))):
        assert (type(found), found) == (tg.Size, expected)
    with pytest.raises(TypeError):
        size + [4]  # noqa: RUF005


def test_sizes_that_are_none() -> None:
    for wrong in ([2.5], 3, ["a"]):
        with teaches(DtypeError, f"Size({wrong!r})", "a size is made of integers", "give a list of them: Size([2, 3])"):
            tg.Size(wrong)  # type: ignore[arg-type]
