"""Data sets and the batches that a loader makes of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu.data import BatchSampler, DataLoader, IterableDataset, Subset, TensorDataset, default_collate
from tinygrad_edu.errors import ArgumentError, ShapeError


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
    assert caught.value.why == "sample i is element i of each, so all need the same length"
    assert caught.value.mend == "check that images and labels come from the same rows"
    with pytest.raises(ShapeError, match=r"tensors with \[\] samples"):
        TensorDataset()
    with pytest.raises(ShapeError, match=r"len\(\) of a 0-d tensor"):
        TensorDataset(tg.tensor(1.0))


@pytest.mark.parametrize("size", [0, -3])
def test_a_batch_has_a_sample(size: int) -> None:
    with teaches(
        ArgumentError, f"batch_size={size}", "a batch has at least one sample", "use 1 or more", "DataLoader("
    ):
        DataLoader(pairs(), batch_size=size)


# PyTorch's arguments ----------------------------------------------------------------------------------------------


def test_samplers_take_the_place_of_the_order() -> None:
    loader = DataLoader(pairs(), 2, sampler=[7, 1, 3])
    assert firsts(loader) == [[7, 1], [3]]
    assert len(loader) == 2
    assert firsts(DataLoader(pairs(), batch_sampler=[[1], [2, 3, 4]])) == [[1], [2, 3, 4]]
    assert len(DataLoader(pairs(), batch_sampler=BatchSampler(range(9), 4, True))) == 2


@pytest.mark.parametrize("make", [np.random.default_rng, lambda seed: tg.Generator().manual_seed(seed)])
def test_a_generator_of_its_own(make: Any) -> None:
    tg.manual_seed(0)
    loaders = [DataLoader(pairs(), 5, shuffle=True, generator=make(3)) for _ in range(2)]
    first = [firsts(loaders[0]) for _ in range(2)]
    tg.manual_seed(99)
    assert [firsts(loaders[1]) for _ in range(2)] == first
    assert first[0] != first[1]


def test_a_batch_can_be_changed() -> None:
    """It is a list, as in PyTorch."""
    for dataset in (pairs(), [*pairs()]):
        batch = next(iter(DataLoader(dataset, 2)))
        batch[0] = batch[0] * 2
        assert batch[0].tolist() == [[0, 0, 0], [2, 2, 2]]


def test_no_batches() -> None:
    """``batch_size=None``: samples as they are, arrays as tensors."""
    loader = DataLoader(Squares(lambda i: (np.full(2, i), {"n": i}, "text")), batch_size=None)
    assert len(loader) == 5
    x, numbers, text = list(loader)[3]
    assert (type(x), x.tolist(), numbers, text) == (tg.Tensor, [3, 3], {"n": 3}, "text")
    assert [x.item() for x in DataLoader(tg.arange(3), batch_size=None, collate_fn=lambda x: x * 2)] == [0, 2, 4]


def test_a_collate_function_of_ones_own_gets_the_samples() -> None:
    seen = []
    loader = DataLoader(pairs(4), 3, collate_fn=lambda samples: seen.append(samples) or len(samples))
    assert list(loader) == [3, 1]
    assert [[type(sample) for sample in batch] for batch in seen] == [[tuple] * 3, [tuple]]


class Stream(IterableDataset):
    """The numbers from 0 up, one after the other."""

    def __init__(self, count: int, length: int | None = None) -> None:
        self.count, self.length = count, length

    def __iter__(self) -> Any:
        return iter(range(self.count))

    def __len__(self) -> int:
        return super().__len__() if self.length is None else self.length


def test_streams() -> None:
    assert [b.tolist() for b in DataLoader(Stream(5), 2)] == [[0, 1], [2, 3], [4]]
    assert [b.tolist() for b in DataLoader(Stream(5), 2, drop_last=True)] == [[0, 1], [2, 3]]
    assert list(DataLoader(Stream(3), None)) == [0, 1, 2]
    assert [len(DataLoader(Stream(5, 5), size, drop_last=drop)) for size, drop in ((2, False), (2, True))] == [3, 2]
    assert len(DataLoader(Stream(5, 5), None)) == 5
    with pytest.raises(TypeError, match=r"Stream has no __len__\(\): define it"):
        len(DataLoader(Stream(5), 2))


@pytest.mark.parametrize(
    ("given", "tried", "why", "mend"),
    [
        ({"num_workers": -1}, "DataLoader with num_workers=-1",
         "it is how many processes or threads help to read, from 0 up", "leave it out"),
        ({"num_workers": None}, "DataLoader with num_workers=None",
         "it is how many processes or threads help to read, from 0 up", "leave it out"),
        ({"shuffle": True, "sampler": [1]}, "DataLoader with shuffle=… and sampler=…",
         "both decide the order", "leave one out; RandomSampler shuffles"),
        *[({"batch_sampler": [[1]], **more}, "DataLoader with a batch_sampler and more",
           "a batch_sampler itself decides which samples make up a batch",
           "leave out batch_size, shuffle, sampler and drop_last")
          for more in ({"batch_size": 2}, {"shuffle": True}, {"sampler": [1]}, {"drop_last": True})],
        ({"batch_size": None, "drop_last": True}, "DataLoader with batch_size=None and drop_last=True",
         "batch_size=None makes no batches, so none can be too small", "leave one out"),
        ({"generator": 3}, "generator=3",
         "random numbers come from a Generator, but this is a int", "use Generator().manual_seed(0)"),
        ({"batch_size": 2.5}, "batch_size=2.5", "a batch has at least one sample", "use 1 or more"),
        ({"batch_size": True}, "batch_size=True", "a batch has at least one sample", "use 1 or more"),
    ],
    ids=lambda value: str(value)[:40],
)  # fmt: skip
def test_arguments_that_exclude_each_other(given: dict[str, Any], tried: str, why: str, mend: str) -> None:
    with teaches(ArgumentError, tried, why, mend, "DataLoader("):
        DataLoader(pairs(), **given)


@pytest.mark.parametrize("given", [{"shuffle": True}, {"sampler": [1]}, {"batch_sampler": [[1]]}], ids=str)
def test_a_stream_has_its_own_order(given: dict[str, Any]) -> None:
    why = "an IterableDataset has its own order, and its samples have no numbers"
    mend = "leave it out, and shuffle in the data set"
    with teaches(ArgumentError, f"DataLoader with {next(iter(given))}=…", why, mend, "DataLoader("):
        DataLoader(Stream(3), **given)
    with teaches(ArgumentError, "batch_size=0", "a batch has at least one sample", "use 1 or more", "DataLoader("):
        DataLoader(Stream(3), batch_size=0)


# The fast way is the slow way -------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_reading_a_batch_at_once_is_collating_its_samples(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 8))
    tensors = [
        tg.from_numpy(np.arange(count * math.prod(shape)).reshape(count, *shape).astype(dtype))
        for dtype, shape in data.draw(st.lists(st.tuples(
            st.sampled_from(["bool", "int8", "int64", "float16", "float32", "float64"]),
            st.sampled_from([(), (2,), (2, 3), (0,)])), min_size=1, max_size=3))
    ]  # fmt: skip
    dataset: Any = TensorDataset(*tensors)
    for _ in range(data.draw(st.integers(0, 2))):
        dataset = Subset(dataset, data.draw(st.lists(st.integers(-len(dataset), len(dataset) - 1), min_size=1)))
    size = data.draw(st.integers(1, 4))
    fast = list(DataLoader(dataset, size))
    slow = list(DataLoader(dataset, size, collate_fn=lambda samples: [default_collate(samples)]))
    assert len(fast) == len(slow)
    for ours, (theirs,) in zip(fast, slow, strict=True):
        assert (type(ours), type(theirs), len(ours)) == (list, list, len(tensors))
        for a, b in zip(ours, theirs, strict=True):
            assert (a.dtype, a.shape, a.tolist()) == (b.dtype, b.shape, b.tolist())


def test_batches_share_no_memory_with_the_data() -> None:
    data = TensorDataset(tg.zeros(4, 2))
    for (batch,) in DataLoader(data, 4):
        batch += 1
    assert data.tensors[0].sum().item() == 0


def test_a_subclass_is_asked_for_each_sample() -> None:
    """One that changes what it gives would be passed over."""

    class Doubled(TensorDataset):
        def __getitem__(self, index: Any) -> Any:
            return tuple(t * 2 for t in super().__getitem__(index))

    class Tenfold(Subset):
        def __getitem__(self, index: Any) -> Any:
            return tuple(t * 10 for t in super().__getitem__(index))

    assert firsts(DataLoader(Doubled(tg.ones(2, 1)), 2)) == [[2, 2]]
    assert firsts(DataLoader(Subset(Doubled(tg.ones(2, 1)), [1, 0]), 2)) == [[2, 2]]
    assert firsts(DataLoader(Tenfold(TensorDataset(tg.ones(2, 1)), [0]), 2)) == [[10]]
