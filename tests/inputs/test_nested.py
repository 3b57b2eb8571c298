"""Nested lists as tensors: dtypes, shapes, and lists that no tensor can be made of. PyTorch's answers: tests/peers."""

from __future__ import annotations

import enum
import time
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu.errors import AutogradError, DtypeError, EduError, OutOfMemoryError, ShapeError

RAGGED = "its rows differ in length or depth", "pad the rows to one length, or keep a list of tensors"


class Level(enum.IntEnum):
    LOW = 2


@pytest.mark.parametrize(
    ("data", "shape", "dtype"),
    [
        ([np.float64(1.5)], (1,), "float64"),
        ([np.float32(1.5), 2.5], (2,), "float32"),
        ([np.int8(1), True], (2,), "int8"),
        ([np.int8(1), 1], (2,), "int64"),
        ([np.arange(2), np.arange(2.0)], (2, 2), "float64"),
        ([np.array(1.5)], (1,), "float64"),
        ([tg.ones(1)], (1,), "float32"),
        ([[tg.ones(1, 1)], [tg.tensor(2)]], (2, 1), "float32"),
        ([tg.tensor(1.0, dtype="bfloat16")], (1,), "bfloat16"),
        ([tg.tensor(1.0, dtype="bfloat16").numpy(force=True)], (1,), "bfloat16"),
        ([], (0,), "float32"),
        ([[], []], (2, 0), "float32"),
        ([np.zeros((0, 3))], (1, 0), "float64"),
        ([range(3), (0, 1, 2)], (2, 3), "int64"),
        ([Level.LOW], (1,), "int64"),
    ],
    ids=repr,
)
def test_shapes_and_dtypes(data: Any, shape: tuple[int, ...], dtype: str) -> None:
    found = tg.tensor(data)
    assert (found.shape, found.dtype.name) == (shape, dtype)
    assert (tg.as_tensor(data).shape, tg.as_tensor(data).dtype) == (found.shape, found.dtype)
    assert tg.tensor(data, dtype="float64").dtype == tg.float64


@pytest.mark.parametrize(
    "data", [[1, [2]], [[1], 2], [[1, 2], [3]], [[1], []], [np.ones(2), [1]], [[1, 2], np.ones((2, 2))]], ids=repr
)
def test_ragged_lists(data: Any) -> None:
    with teaches(ShapeError, "a tensor from list", *RAGGED):
        tg.tensor(data)


def test_a_tensor_of_several_numbers_is_no_number() -> None:
    why = "a tensor (2,) is among its numbers, and only a single element is a number"
    with teaches(ShapeError, "a tensor from a list with tensors", why, "join them with stack([…]) or cat([…])"):
        tg.tensor([tg.ones(2), tg.ones(2)])
    with pytest.raises(AutogradError, match="forget how they were computed"):
        tg.tensor([tg.ones(1, requires_grad=True)])


def test_numbers_beyond_all_dtypes() -> None:
    for data in ([2**63], [-(2**63) - 1], [2**63, -1], [[10**400, 1.5]]):
        with pytest.raises(DtypeError, match="that does not fit into 64 bits"):
            tg.tensor(data)
    for value in (2.0**63, float("nan"), -1e30):
        with pytest.raises(DtypeError, match="int64 holds the integers from"):
            tg.tensor([value], dtype="int64")
    assert tg.tensor([-(2**63), 2**63 - 1]).tolist() == [-(2**63), 2**63 - 1]
    assert tg.tensor([2**53 + 1, True]).tolist() == [2**53 + 1, 1]


def absurd() -> dict[str, Any]:
    deep: Any = 0
    for _ in range(2000):
        deep = [deep]
    within: list[Any] = []
    within.append(within)
    behind: list[Any] = [1.0]
    behind.append(behind)
    doubled: Any = [0]
    for _ in range(50):
        doubled = [doubled, doubled]
    return {"deep": deep, "within itself": within, "itself behind": behind, "doubled": doubled}


@pytest.mark.parametrize("name", absurd())
def test_lists_without_end(name: str) -> None:
    data = absurd()[name]
    began = time.perf_counter()
    with pytest.raises(OutOfMemoryError if name == "doubled" else ShapeError):
        tg.tensor(data)
    x = tg.ones(3)
    for use in (lambda: x + data, lambda: x[data], lambda: x.__setitem__(data, 1), lambda: tg.stack([x, data])):
        with pytest.raises(EduError):
            use()
    assert time.perf_counter() - began < 5
