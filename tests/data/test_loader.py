"""Data sets and the batches that a loader makes of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tinygrad_edu.data import DataLoader, TensorDataset
from tinygrad_edu.errors import ShapeError


def pairs(count: int = 10) -> TensorDataset:
    """Sample i is (i, i, i) with label 10 i."""
    return TensorDataset(tg.arange(count, dtype="float32").reshape(count, 1).expand(count, 3), tg.arange(count) * 10)


def firsts(loader: Any) -> list[list[float]]:
    return [batch[0].array[:, 0].tolist() for batch in loader]


def test_batches_in_order() -> None:
    loader = DataLoader(pairs(), batch_size=4)
    assert firsts(loader) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert [tuple(b.shape) for batch in loader for b in batch] == [(4, 3), (4,), (4, 3), (4,), (2, 3), (2,)]
    assert all((x.array[:, 0] * 10 == y.array).all() for x, y in loader)


@pytest.mark.parametrize(
    ("count", "size", "drop", "lengths"),
    [
        (10, 4, False, [4, 4, 2]),
        (10, 4, True, [4, 4]),
        (8, 4, True, [4, 4]),
        (3, 4, True, []),
        (3, 4, False, [3]),
        (0, 4, False, []),
    ],
)
def test_lengths(count: int, size: int, drop: bool, lengths: list[int]) -> None:
    loader = DataLoader(pairs(count), batch_size=size, drop_last=drop)
    assert len(loader) == len(lengths)
    assert [len(labels) for _, labels in loader] == lengths


def test_shuffling_follows_the_seed_and_differs_each_time() -> None:
    loader = DataLoader(pairs(), batch_size=5, shuffle=True)
    tg.manual_seed(1)
    first, second = firsts(loader), firsts(loader)
    assert sorted(i for batch in first for i in batch) == list(range(10))
    assert first != second
    tg.manual_seed(1)
    assert [firsts(loader), firsts(loader)] == [first, second]
    tg.manual_seed(2)
    assert firsts(loader) != first


def test_shuffling_keeps_samples_together() -> None:
    assert all((x.array[:, 0] * 10 == y.array).all() for x, y in DataLoader(pairs(), batch_size=3, shuffle=True))


class Squares:
    """A data set of one's own: a length and integer indexing."""

    def __init__(self, make: Any) -> None:
        self.make = make

    def __len__(self) -> int:
        return 5

    def __getitem__(self, index: int) -> Any:
        assert type(index) is int
        return self.make(index)


def test_other_data_sets() -> None:
    (x, y), (_, last) = DataLoader(Squares(lambda i: (tg.full((2,), i * i), i)), batch_size=3)
    assert x.tolist() == [[0, 0], [1, 1], [4, 4]]
    assert (y.tolist(), last.tolist()) == ([0, 1, 2], [3, 4])
    batches = list(DataLoader(Squares(lambda i: np.array([i, -i])), batch_size=5))
    assert batches[0].tolist() == [[0, 0], [1, -1], [2, -2], [3, -3], [4, -4]]
    assert [b.tolist() for b in DataLoader([1.5, 2.5, 3.5], batch_size=2)] == [[1.5, 2.5], [3.5]]


def test_tensor_dataset() -> None:
    data = pairs()
    assert len(data) == 10
    x, y = data[3]
    assert (x.tolist(), y.item()) == ([3.0, 3.0, 3.0], 30)
    assert [t.shape for t in data[2:5]] == [(3, 3), (3,)]
    from_arrays = TensorDataset(np.zeros((4, 2)), [0, 1, 2, 3])
    assert (from_arrays[1][0].dtype, from_arrays[1][1].dtype) == (np.float64, np.int64)


def test_tensors_that_do_not_belong_together() -> None:
    with pytest.raises(ShapeError) as caught:
        TensorDataset(tg.zeros(3, 2), tg.zeros(4))
    assert caught.value.tried == "TensorDataset of tensors with [3, 4] samples"
    assert caught.value.why == "sample i is element i of each, so all have equally many"
    assert caught.value.mend == "check that images and labels come from the same rows"
    with pytest.raises(ShapeError, match=r"tensors with \[\] samples"):
        TensorDataset()
    with pytest.raises(ShapeError, match=r"len\(\) of a 0-d tensor"):
        TensorDataset(tg.tensor(1.0))


@pytest.mark.parametrize("size", [0, -3])
def test_a_batch_has_a_sample(size: int) -> None:
    with pytest.raises(ValueError, match=f"batch_size={size}: a batch has at least one sample"):
        DataLoader(pairs(), batch_size=size)
