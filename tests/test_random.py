"""Random tensors: what they hold, and that one call seeds them all."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg


def draw() -> list[Any]:
    """One of each."""
    made = (
        tg.randn(3),
        tg.rand(2, 2),
        tg.randint(0, 100, (4,)),
        tg.randperm(5),
        tg.zeros(3).normal_(),
        tg.zeros(3).uniform_(),
    )
    return [t.tolist() for t in made]


def test_the_seed_decides_everything() -> None:
    tg.manual_seed(3)
    first, second = draw(), draw()
    assert first != second
    tg.manual_seed(3)
    assert draw() == first
    tg.manual_seed(4)
    assert draw() != first


def test_every_seed_has_a_stream_of_its_own() -> None:
    streams = set()
    for seed in (0, 1, 2, 3, 2**31, 2**32, 2**40, -1):
        tg.manual_seed(seed)
        streams.add(str(draw()))
    assert len(streams) == 8


def test_without_a_seed_numbers_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tg.random, "_state", tg.random._State())
    first = draw()
    monkeypatch.setattr(tg.random, "_state", tg.random._State())
    assert draw() != first


def test_negative_seeds_are_seeds() -> None:
    tg.manual_seed(-1)
    first = draw()
    tg.manual_seed(-1)
    assert draw() == first


def test_threads_have_streams_of_their_own_that_follow_the_seed() -> None:
    def in_thread(name: str) -> list[Any]:
        found: list[Any] = []
        thread = threading.Thread(target=lambda: found.append(draw()), name=name)
        thread.start()
        thread.join()
        return found[0]

    tg.manual_seed(1)
    here, a, b = draw(), in_thread("a"), in_thread("b")
    assert len({str(x) for x in (here, a, b)}) == 3
    tg.manual_seed(1)
    assert [in_thread("b"), in_thread("a"), draw()] == [b, a, here]


def test_distributions() -> None:
    normal, uniform = tg.randn(20000).array, tg.rand(20000).array
    assert abs(normal.mean()) < 0.03
    assert abs(normal.std() - 1) < 0.03
    assert abs(uniform.mean() - 0.5) < 0.01
    assert uniform.min() >= 0
    assert set(tg.randint(2, 5, (1000,)).array) == {2, 3, 4}
    assert sorted(tg.randperm(50).tolist()) == list(range(50))
    moved = tg.zeros(20000).normal_(5.0, 2.0).array
    assert abs(moved.mean() - 5) < 0.1
    assert abs(moved.std() - 2) < 0.1
    spread = tg.zeros(20000).uniform_(-3.0, -1.0).array
    assert -3 <= spread.min() < -2.99 < -1.01 < spread.max() <= -1


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_uniform_numbers_stay_below_one_in_every_dtype(dtype: str) -> None:
    """Rounding a float64 to float16 would give 1 now and then."""
    drawn = tg.rand(50000, dtype=dtype)
    assert drawn.dtype == tg.dtypes.as_dtype(dtype)
    assert drawn.array.max() < 1
    assert drawn.array.max() > 0.99


def test_shapes_dtypes_and_devices() -> None:
    assert tg.randn(2, 3).shape == tg.randn((2, 3)).shape == tg.rand([2, 3]).shape == (2, 3)
    assert tg.randn(()).shape == ()
    assert [t.dtype for t in (tg.randn(1), tg.rand(1), tg.randint(0, 2, (1,)), tg.randperm(1))] == [
        np.float32, np.float32, np.int64, np.int64,
    ]  # fmt: skip
    assert tg.randn(2, dtype="float64", requires_grad=True).requires_grad
    assert tg.rand(2, device="far").device == "far"
    assert tg.randint(0, 9, (2,), dtype="uint8").dtype == np.uint8
    assert tg.randperm(0).tolist() == []
