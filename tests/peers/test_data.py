"""Loaders, samplers and collation with PyTorch's arguments: the same batches, lengths and refusals."""

from __future__ import annotations

import itertools
from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install -e '.[peers]'")
pytestmark = pytest.mark.peers

Point = namedtuple("Point", "x y")


def plain(batch: Any) -> Any:
    """Values, dtypes and the types that hold them."""
    if isinstance(batch, (tg.Tensor, torch.Tensor)):
        return str(batch.dtype).removeprefix("torch."), batch.tolist()
    if isinstance(batch, dict):
        return {key: plain(value) for key, value in batch.items()}
    return (type(batch), [plain(part) for part in batch]) if isinstance(batch, (list, tuple)) else batch


def both(program: Any) -> tuple[Any, Any]:
    """What the program gives with either library: a value, that it made an object, or that it was refused."""
    results: list[Any] = []
    for m, data in ((tg, tg.data), (torch, torch.utils.data)):
        try:
            found = program(m, data)
        except (ValueError, TypeError, RuntimeError, IndexError, AssertionError):
            results.append("refused")
        else:
            known = found is None or isinstance(found, (int, float, str, bytes, list, tuple, dict, set))
            results.append(found if known else "made")
    return results[0], results[1]


@pytest.mark.parametrize("sample", [
    lambda m, i: m.ones(2) * i,
    lambda m, i: (m.ones(2) * i, i),
    lambda m, i: np.full((2, 1), i, "int8"),
    lambda m, i: np.float32(i),
    lambda m, i: np.bool_(i % 2),
    lambda m, i: float(i),
    lambda m, i: i % 2 == 0,
    lambda m, i: 1 if i == 0 else 1.5,
    lambda m, i: f"text {i}",
    lambda m, i: b"raw",
    lambda m, i: {"a": i, "b": {"c": [m.zeros(1), (i, float(i))]}},
    lambda m, i: Point(i, m.ones(2)),
    lambda m, i: [i, [i, i]],
    lambda m, i: (),
    lambda m, i: None,
    lambda m, i: {i},
    lambda m, i: m.ones(i + 1),
    lambda m, i: np.ones(i + 1),
    lambda m, i: [0] * (i + 1),
    lambda m, i: (m.tensor(i), np.array(i, "uint8")),
])  # fmt: skip
def test_collation(sample: Any) -> None:
    ours, theirs = both(lambda m, data: plain(data.default_collate([sample(m, i) for i in range(3)])))
    assert ours == theirs
    ours, theirs = both(lambda m, data: plain(data.default_convert(sample(m, 2))))
    assert ours == theirs


ARGUMENTS = {
    "batch_size": (None, 1, 3, 0),
    "shuffle": (None, False, True),
    "sampler": (None, [3, 1, 2]),
    "batch_sampler": (None, [[1, 2], [0]]),
    "drop_last": (False, True),
}
NO_WORKERS: dict[str, Any] = {"num_workers": 0, "pin_memory": False, "timeout": 0, "worker_init_fn": len}


@pytest.mark.parametrize("given", list(itertools.product(*ARGUMENTS.values())), ids=str)
def test_arguments(given: Any) -> None:
    """All together: what one takes the other takes, and gives the same."""
    options = dict(zip(ARGUMENTS, given, strict=True))

    def program(m: Any, data: Any) -> Any:
        dataset = data.TensorDataset(m.arange(7), m.arange(7) * 10)
        loader = data.DataLoader(dataset, **options, **NO_WORKERS)
        batches = [plain(batch) for batch in loader]
        return len(loader), [np.shape(batch[1][1][1]) for batch in batches] if options["shuffle"] else batches

    ours, theirs = both(program)
    assert ours == theirs


@pytest.mark.parametrize("lengths", [
    [3, 7], [10], [1], [0.5, 0.5], [0.3, 0.3, 0.4], [0.25, 0.75], [1 / 3, 1 / 3, 1 / 3], [1.0], [3, 3], [0.5, 0.4],
    [0.8, 0.1, 0.1], [10, 0],
], ids=str)  # fmt: skip
def test_splits_are_as_large(lengths: list[float]) -> None:
    ours, theirs = both(lambda m, data: [len(part) for part in data.random_split(range(10), lengths)])
    assert ours == theirs


@pytest.mark.parametrize("program", [
    lambda m, data: list(data.ConcatDataset([[1, 2], [], [3]])),
    lambda m, data: data.ConcatDataset([[1, 2], [3]])[-1],
    lambda m, data: data.ConcatDataset([[1, 2], [3]])[3],
    lambda m, data: data.ConcatDataset([[1, 2], [3]])[-4],
    lambda m, data: data.ConcatDataset([]),
    lambda m, data: data.ConcatDataset([[1], [2, 3]]).cumulative_sizes,
    lambda m, data: list(data.Subset("abcde", [3, 1])),
    lambda m, data: len(data.RandomSampler(range(5), num_samples=12)),
    lambda m, data: len(list(data.RandomSampler(range(5), num_samples=12))),
    lambda m, data: sorted(list(data.RandomSampler(range(5), num_samples=12))[:10]),
    lambda m, data: len(list(data.RandomSampler(range(5), replacement=True))),
    lambda m, data: data.RandomSampler(range(5), num_samples=0),
    lambda m, data: data.RandomSampler(range(5), num_samples=1.5),
    lambda m, data: sorted(data.SubsetRandomSampler([4, 2])),
    lambda m, data: sorted(data.WeightedRandomSampler([0.0, 1.0, 2.0], 2, replacement=False)),
    lambda m, data: list(data.WeightedRandomSampler([0.0, 1.0], 3)),
    lambda m, data: data.WeightedRandomSampler([0.0, 1.0], 0),
    lambda m, data: list(data.BatchSampler(range(5), 2, False)),
    lambda m, data: len(data.BatchSampler(range(5), 2, True)),
    lambda m, data: data.BatchSampler(range(5), 0, True),
    lambda m, data: data.TensorDataset(m.ones(2), m.ones(3)),
    lambda m, data: [len(part) for part in data.random_split(range(4), [3, 1], m.Generator().manual_seed(1))],
    lambda m, data: len(data.DataLoader([1, 2, 3], 2, shuffle=True, generator=m.Generator())),
    lambda m, data: data.DataLoader([1], num_workers=-1),
    lambda m, data: data.DataLoader([1], prefetch_factor=2),
    lambda m, data: data.DataLoader([1], num_workers=1, prefetch_factor=-1),
    lambda m, data: data.DataLoader([1], persistent_workers=True),
    lambda m, data: data.DataLoader([1], num_workers=1, timeout=-1),
    lambda m, data: data.DataLoader([1], multiprocessing_context="spawn"),
    lambda m, data: data.DataLoader([1], num_workers=1, multiprocessing_context="magic"),
    lambda m, data: (data.DataLoader([1]).prefetch_factor, data.DataLoader([1], num_workers=2).prefetch_factor),
    lambda m, data: data.get_worker_info(),
    lambda m, data: m.Generator().initial_seed(),
    lambda m, data: m.Generator().manual_seed(-5).initial_seed(),
    lambda m, data: m.Generator(device="cpu").set_state(m.ones(3)),
    lambda m, data: str(m.Generator().get_state().dtype).removeprefix("torch."),
    lambda m, data: m.rand(2, generator=3),
])  # fmt: skip
def test_programs(program: Any) -> None:
    ours, theirs = both(program)
    assert ours == theirs


class Labels:
    """Samples with a number of their own, and one that tells who read them."""

    def __init__(self, data: Any, fails_at: int = -1) -> None:
        self.data, self.fails_at = data, fails_at

    def __len__(self) -> int:
        return 11

    def __getitem__(self, number: int) -> Any:
        if number == self.fails_at:
            raise KeyError(number)
        info = self.data.get_worker_info()
        return number, -1 if info is None else info.id


def streams(data: Any, split: bool) -> Any:
    class Stream(data.IterableDataset):  # type: ignore[misc]
        def __iter__(self) -> Any:
            info = data.get_worker_info() if split else None
            return iter(range(10) if info is None else range(info.id, 10, info.num_workers))

    return Stream()


TWO: dict[str, Any] = {"num_workers": 2, "multiprocessing_context": "fork"}
WORKERS: list[Callable[[Any, Any], Any]] = [
    lambda m, data: data.DataLoader(Labels(data), 2, **TWO),
    lambda m, data: data.DataLoader(Labels(data), 2, **TWO, drop_last=True),
    lambda m, data: data.DataLoader(Labels(data), None, **TWO),
    lambda m, data: data.DataLoader(Labels(data), 2, **TWO, persistent_workers=True, prefetch_factor=1),
    lambda m, data: data.DataLoader(Labels(data), batch_sampler=[[4], [1, 2], [0]], **TWO),
    lambda m, data: data.DataLoader(Labels(data, 4), 2, **TWO),
    lambda m, data: data.DataLoader(streams(data, True), 3, **TWO),
    lambda m, data: data.DataLoader(streams(data, True), 3, **TWO, drop_last=True),
    lambda m, data: data.DataLoader(streams(data, True), None, **TWO),
]


def passes(loader: Any) -> list[Any]:
    """Two passes, with the kinds of the errors on the way."""
    found: list[Any] = []
    for _ in range(2):
        batches = iter(loader)
        while True:
            try:
                found.append(plain(next(batches)))
            except StopIteration:
                break
            except Exception as error:
                found.append(type(error).__name__)
    return found


@pytest.mark.parametrize("make", WORKERS, ids=[str(one) for one in range(len(WORKERS))])
def test_workers_read_the_same_batches(make: Callable[[Any, Any], Any]) -> None:
    """Who reads what, in which order, how a stream is split, and that a pass goes on after an error."""
    ours, theirs = both(lambda m, data: passes(make(m, data)))
    assert ours == theirs
