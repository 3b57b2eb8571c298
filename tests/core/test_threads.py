"""Threads that share arrays: what the guard promises holds at every switch between them, and no record is lost."""

from __future__ import annotations

import gc
import random
import sys
import threading
import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest

import tinygrad_edu as tg
from tinygrad_edu.core import storage
from tinygrad_edu.core.storage import find

THREADS = 4


@pytest.fixture(autouse=True)
def eager_switching() -> Iterator[None]:
    """Let threads take turns as often as Python can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def together(work: Callable[[int], None], seconds: float) -> None:
    """Run ``work(number of the thread)`` again and again in several threads; the first failure ends all."""
    failed: list[BaseException] = []
    ready = threading.Barrier(THREADS, timeout=20)

    def repeat(number: int) -> None:
        try:
            ready.wait()
            end = time.monotonic() + seconds
            while time.monotonic() < end and not failed:
                work(number)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=repeat, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]


def leaf(*shape: int) -> tg.Tensor:
    return tg.ones(*shape, dtype="float64", requires_grad=True)


def _seconds(normal: float) -> list[object]:
    return [normal, pytest.param(30.0, marks=pytest.mark.slow)]


@pytest.mark.parametrize("seconds", _seconds(1.0))
def test_an_array_is_locked_while_any_node_of_any_thread_lives(seconds: float) -> None:
    a = np.ones(3)
    x = tg.from_numpy(a)
    leaves = [leaf(3) for _ in range(THREADS)]

    def work(number: int) -> None:
        held = x * leaves[number]
        assert not a.flags.writeable
        del held

    together(work, seconds)
    assert a.flags.writeable
    assert (find(a).lock(), find(a).restore) == (None, [])


@pytest.mark.parametrize("seconds", _seconds(1.0))
def test_an_array_handed_out_is_locked_whoever_saved_it_before(seconds: float) -> None:
    w = leaf(3)

    def work(number: int) -> None:
        x = tg.zeros(3, dtype="float64") + number
        held = [x * w]
        a = x.numpy()
        assert not a.flags.writeable
        held.append(x * w)
        held.pop(0)
        assert not a.flags.writeable
        arrays[number].append(a)
        del arrays[number][:-100]

    arrays: list[list[np.ndarray]] = [[] for _ in range(THREADS)]
    together(work, seconds)  # not asserted inside: a search for savers may hold the nodes of all threads for a moment
    assert all(a.flags.writeable for some in arrays for a in some)


@pytest.mark.parametrize("seconds", _seconds(1.0))
def test_views_and_writes_of_many_threads(seconds: float) -> None:
    """Each thread writes a row of its own: no value is lost, every write is stamped, and the storage stays one."""
    owner = np.zeros((THREADS, 3))
    base = tg.from_numpy(owner)
    known, newest = find(owner), [0] * THREADS
    written = [0] * THREADS

    def work(number: int) -> None:
        row = base[number]
        before = known.stamp
        row.add_(1.0)
        written[number] += 1
        newest[number] = known.stamp
        assert known.stamp > before
        assert row.storage is known is find(row.array)

    together(work, seconds)
    assert owner.tolist() == [[float(n)] * 3 for n in written]
    assert find(owner) is known
    assert known.stamp == max(newest) == storage.clock.last_write


@pytest.mark.parametrize("seconds", _seconds(1.0))
def test_storages_come_and_go_with_their_arrays(seconds: float) -> None:
    """Ids are used again at once: an array must never meet what was known of another."""
    gc.collect()
    before = len(storage._STORAGES)

    def work(number: int) -> None:
        a = np.zeros(random.randrange(1, 4))
        assert find(a) is None
        x = tg.from_numpy(a)
        assert find(a) is x.storage
        assert (x.storage.stamp, x.storage.lock(), x.storage.owner()) == (0, None, a)
        x.add_(1.0)
        scalar = tg.tensor([1.0, 2.0]).sum()
        scalar.add_(number)
        assert scalar.item() == 3 + number

    together(work, seconds)
    gc.collect()
    assert len(storage._STORAGES) == before


@pytest.mark.parametrize("seconds", _seconds(1.0))
def test_every_view_is_known_whoever_made_it(seconds: float) -> None:
    """Those that are gone are taken off the list now and then, and no other is lost with them."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        x = leaf(3) * 1.0
        kept: list[list[tg.Tensor]] = [[] for _ in range(THREADS)]

        def work(number: int) -> None:
            x[:1]  # noqa: B023  (gone at once)
            if len(kept[number]) < 200:  # noqa: B023
                kept[number].append(x[:1])  # noqa: B023

        together(work, 0.05)
        known = {id(reference()) for reference in x.storage.views}
        assert all(id(view) in known for views in kept for view in views)
        x.mul_(2.0)
        assert all(view.item() == 2.0 and view.requires_grad for views in kept for view in views)
