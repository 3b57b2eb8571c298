"""Data sets that are made of others, and samplers."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu.data import (
    BatchSampler,
    ConcatDataset,
    DataLoader,
    Dataset,
    IterableDataset,
    RandomSampler,
    Sampler,
    SequentialSampler,
    Subset,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
    digits,
    random_split,
)
from tinygrad_edu.errors import ArgumentError, IndexRangeError


class Numbers(Dataset):
    """The numbers from ``start`` on."""

    def __init__(self, count: int, start: int = 0) -> None:
        self.count, self.start = count, start

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> int:
        return range(self.start, self.start + self.count)[index]


def test_what_a_subclass_must_say_is_said() -> None:
    with pytest.raises(NotImplementedError, match=r"Dataset has no __getitem__\(\): define it"):
        Dataset()[0]
    with pytest.raises(TypeError, match=r"Dataset has no __len__\(\): define it"):
        len(Dataset())
    with pytest.raises(NotImplementedError, match=r"IterableDataset has no __iter__\(\): define it"):
        iter(IterableDataset())
    with pytest.raises(NotImplementedError, match=r"Sampler has no __iter__\(\): define it"):
        iter(Sampler())


def test_hints_as_in_pytorch() -> None:
    class Hinted(Dataset[int]):
        def __len__(self) -> int:
            return 3

        def __getitem__(self, index: int) -> int:
            return index

    class Backwards(Sampler[int]):
        def __iter__(self) -> Any:
            return iter([2, 1, 0])

    assert [batch.tolist() for batch in DataLoader(Hinted(), 2, sampler=Backwards())] == [[2, 1], [0]]


def test_one_behind_the_other() -> None:
    joined = Numbers(3) + Numbers(0) + Numbers(2, 10)
    assert isinstance(joined, ConcatDataset)
    assert (len(joined), list(joined), joined[-1], joined[-5]) == (5, [0, 1, 2, 10, 11], 11, 0)
    assert joined.cumulative_sizes == [3, 5]
    for index in (5, -6):
        why = "there are 5 samples, so it lies between -5 and 4"
        with teaches(IndexRangeError, f"sample {index} of a ConcatDataset", why, "count the samples from 0", "joined["):
            joined[index]
    with pytest.raises(ArgumentError, match="there is nothing to join"):
        ConcatDataset([])
    with pytest.raises(ArgumentError, match="its samples have no numbers"):
        Numbers(2) + IterableDataset()


def test_subsets() -> None:
    part = Subset(Numbers(10), [7, 2, 2])
    assert (len(part), list(part), part[-1]) == (3, [7, 2, 2], 2)
    assert list(Subset(part, np.array([1, 0]))) == [2, 7]
    assert list(Subset(Numbers(10), tg.tensor([3, 4]))) == [3, 4]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 30), st.lists(st.integers(1, 9), min_size=1, max_size=4))
def test_a_split_is_disjoint_and_complete(count: int, weights: list[int]) -> None:
    shares = [w / sum(weights) for w in weights]
    parts = random_split(Numbers(count), shares)
    assert sorted(x for part in parts for x in part) == list(range(count))
    floors = [int(count * share) for share in shares]
    left = count - sum(floors)
    assert [len(part) for part in parts] == [
        n + left // len(floors) + (i < left % len(floors)) for i, n in enumerate(floors)
    ]


def test_a_split_by_numbers_follows_the_seed() -> None:
    def split(**given: Any) -> list[list[int]]:
        return [list(part) for part in random_split(Numbers(20), [15, 5], **given)]

    tg.manual_seed(1)
    first = split()
    assert [len(part) for part in first] == [15, 5]
    assert split() != first
    tg.manual_seed(1)
    assert split() == first
    assert split(generator=np.random.default_rng(5)) == split(generator=np.random.default_rng(5))
    assert first[0] != sorted(first[0])


@pytest.mark.parametrize(
    ("lengths", "why"),
    [
        ([3, 4], "they add up to 7, neither to 10 samples nor to 1"),
        ([0.5, 0.4], "they add up to 0.9, neither to 10 samples nor to 1"),
        ([9.5, 0.5], "they add up to 10, neither to 10 samples nor to 1"),
        ([], "they add up to 0, neither to 10 samples nor to 1"),
        ([11, -1], "a part cannot be smaller than nothing"),
        ([1.5, -0.5], "a part cannot be smaller than nothing"),
        ([float("nan")], "a part cannot be smaller than nothing"),
    ],
)
def test_splits_that_do_not_add_up(lengths: Any, why: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        random_split(Numbers(10), lengths)
    assert caught.value.tried == f"random_split of 10 samples into {lengths}"
    assert caught.value.why == why


def test_the_digits_can_be_split_too() -> None:
    found = digits()
    train, test = random_split(TensorDataset(found.images, found.labels), [0.8, 0.2], np.random.default_rng(0))
    assert (len(train), len(test)) == (1438, 359)
    images, labels = next(iter(DataLoader(test, 359)))
    assert (images.shape, labels.shape) == ((359, 8, 8), (359,))


# Samplers ---------------------------------------------------------------------------------------------------------


def test_in_order() -> None:
    assert list(SequentialSampler("abc")) == [0, 1, 2]
    assert len(SequentialSampler("abc")) == 3


def test_at_random() -> None:
    sampler = RandomSampler(range(10))
    first, second = list(sampler), list(sampler)
    assert sorted(first) == sorted(second) == list(range(10))
    assert first != second
    assert all(type(i) is int for i in first)
    assert (len(sampler), sampler.num_samples) == (10, 10)


@pytest.mark.parametrize(("count", "wanted"), [(4, 3), (4, 4), (4, 10), (1, 5)])
def test_none_comes_again_before_all_have_come(count: int, wanted: int) -> None:
    drawn = list(RandomSampler(range(count), num_samples=wanted))
    assert len(drawn) == wanted
    for start in range(0, wanted, count):
        part = drawn[start : start + count]
        assert len(set(part)) == len(part)


def test_with_replacement() -> None:
    counts = Counter(RandomSampler(range(4), replacement=True, num_samples=4000))
    assert sum(counts.values()) == 4000
    assert set(counts) == {0, 1, 2, 3}
    assert all(abs(n - 1000) < 6 * 28 for n in counts.values())  # six standard deviations
    assert len(RandomSampler(range(4), replacement=True)) == 4


def test_subsets_at_random() -> None:
    sampler = SubsetRandomSampler([5, 6, 8])
    walks = {tuple(sampler) for _ in range(50)}
    assert {tuple(sorted(walk)) for walk in walks} == {(5, 6, 8)}
    assert len(walks) == 6
    assert len(sampler) == 3


def test_by_weight() -> None:
    counts = Counter(WeightedRandomSampler([1.0, 0.0, 3.0], 4000))
    assert set(counts) == {0, 2}
    assert abs(counts[2] - 3000) < 6 * 28
    alone = WeightedRandomSampler(tg.tensor([1, 0, 3, 1]), 3, replacement=False)
    assert all(sorted(alone) == [0, 2, 3] for _ in range(20))
    assert len(alone) == 3


def test_rare_classes_are_seen_as_often_as_others() -> None:
    labels = np.array([0] * 90 + [1] * 10)
    sampler = WeightedRandomSampler(1 / np.bincount(labels)[labels], 2000)
    seen = np.concatenate([y.numpy() for (y,) in DataLoader(TensorDataset(labels), 100, sampler=sampler)])
    assert abs(seen.mean() - 0.5) < 0.07


def test_batches_of_a_sampler() -> None:
    assert list(BatchSampler(range(5), 2, False)) == [[0, 1], [2, 3], [4]]
    assert list(BatchSampler(iter(range(5)), 2, True)) == [[0, 1], [2, 3]]
    assert [len(BatchSampler(range(n), 2, drop)) for n in (4, 5) for drop in (False, True)] == [2, 2, 3, 2]


@pytest.mark.parametrize("make", [
    lambda rng: RandomSampler(range(20), generator=rng),
    lambda rng: RandomSampler(range(20), True, 7, rng),
    lambda rng: SubsetRandomSampler(range(20), rng),
    lambda rng: WeightedRandomSampler(range(20), 9, True, rng),
    lambda rng: random_split(range(20), [7, 13], rng)[0],
])  # fmt: skip
def test_samplers_follow_their_generator_or_the_seed(make: Any) -> None:
    assert list(make(np.random.default_rng(1))) == list(make(np.random.default_rng(1)))
    assert list(make(np.random.default_rng(1))) != list(make(np.random.default_rng(2)))
    tg.manual_seed(3)
    first = list(make(None))
    assert list(make(tg.Generator().manual_seed(3))) == first
    tg.manual_seed(3)
    assert list(make(None)) == first


WEIGHTS = "it takes one finite weight from 0 up for each sample, and not all may be 0"


@pytest.mark.parametrize(
    ("make", "tried", "why"),
    [
        (lambda: RandomSampler(range(3), num_samples=0), "RandomSampler with num_samples=0",
         "at least one sample is drawn"),
        (lambda: RandomSampler(range(3), num_samples=2.5), "RandomSampler with num_samples=2.5",
         "at least one sample is drawn"),
        (lambda: list(RandomSampler([], num_samples=2)), "RandomSampler of 2 samples", "the data set is empty"),
        (lambda: RandomSampler([1], generator="x"), "generator='x'",
         "random numbers come from a Generator, but this is a str"),
        (lambda: WeightedRandomSampler([1.0], 0), "WeightedRandomSampler with num_samples=0",
         "at least one sample is drawn"),
        (lambda: WeightedRandomSampler([1.0, -1.0], 1), "WeightedRandomSampler with weights (2,)", WEIGHTS),
        (lambda: WeightedRandomSampler([0.0, 0.0], 1), "WeightedRandomSampler with weights (2,)", WEIGHTS),
        (lambda: WeightedRandomSampler([1.0, float("nan")], 1), "WeightedRandomSampler with weights (2,)", WEIGHTS),
        (lambda: WeightedRandomSampler([[1.0]], 1), "WeightedRandomSampler with weights (1, 1)", WEIGHTS),
        (lambda: WeightedRandomSampler([1.0, 0.0], 2, False), "WeightedRandomSampler with weights (2,)",
         "1 samples have a weight that is not 0, but 2 are wanted"),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)  # fmt: skip
def test_samplers_that_cannot_be(make: Any, tried: str, why: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        make()
    assert (caught.value.tried, caught.value.why) == (tried, why)


def test_an_empty_data_set_has_no_samples() -> None:
    assert list(RandomSampler([])) == list(RandomSampler([], replacement=True)) == []
