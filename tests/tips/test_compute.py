"""What the tips on compute rest on: work that is shared, and counts of what operations do inside."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import tinygrad_edu as tg
from tinygrad_edu import tips
from tinygrad_edu.backends import autotune, cudnn
from tinygrad_edu.observe.counters import Counters
from tinygrad_edu.observe.starts import starts
from tinygrad_edu.tips.compute.cpu_threads import blas_threads
from tinygrad_edu.tips.shares import shared


@pytest.mark.parametrize("workers", [0, 1, 2, 3, 9])
@pytest.mark.parametrize("count", [0, 1, 5])
def test_each_part_is_done_once_and_comes_back_in_order(count: int, workers: int) -> None:
    done: list[tuple[int, int]] = []

    def work(part: int) -> int:
        done.append((part, threading.get_ident()))
        return part * part

    with starts() as seen:
        found = shared(work, range(count), workers)
    assert found == [part * part for part in range(count)]
    assert sorted(part for part, _ in done) == list(range(count))
    assert seen.threads == max(0, min(workers, count) - 1)


def test_workers_are_at_work_together() -> None:
    """Each waits until all three are there: one after the other, they would wait for ever."""
    together = threading.Barrier(3)
    assert shared(lambda part: together.wait(60) * 0 + part, (4, 5, 6), 3) == [4, 5, 6]


def test_under_a_lock_there_is_only_one_at_work() -> None:
    lock, inside, most = threading.Lock(), [0], [0]

    def work(part: int) -> None:
        with lock:
            inside[0] += 1
            most[0] = max(most[0], inside[0])
            inside[0] -= 1

    shared(work, range(50), 4)
    assert most == [1]


def test_threads_of_blas_are_put_back_after_an_error() -> None:
    pytest.importorskip("threadpoolctl")
    before = tg.get_num_threads()
    with pytest.raises(ZeroDivisionError), blas_threads(before + 1):
        1 / 0  # noqa: B018
    assert tg.get_num_threads() == before


def counted(run: Any) -> tuple[int, int]:
    with Counters() as found:
        run()
    return found.conversions, found.tries


def test_counters_see_layouts_that_change_inside() -> None:
    x = tg.randn(2, 4, 5, 5).contiguous(memory_format=tg.channels_last)
    w, grouped = tg.randn(4, 4, 3, 3, requires_grad=True), tg.randn(4, 1, 3, 3)
    assert counted(lambda: tg.nn.functional.conv2d(x, w)) == (0, 0)
    assert counted(lambda: tg.nn.functional.conv2d(x, grouped, groups=4)) == (2, 0)
    assert counted(lambda: tg.nn.functional.conv2d(x, w).sum().backward()) == (1, 0), "the gradient of a sum"


def test_counters_see_algorithms_that_are_timed() -> None:
    x, w = tg.randn(1, 2, 5, 5), tg.randn(2, 2, 3, 3)
    run = lambda: tg.nn.functional.conv2d(x, w)  # noqa: E731
    autotune.forget()
    assert counted(run) == (0, 0)
    with cudnn.flags(benchmark=True):
        assert [counted(run) for _ in range(3)] == [(0, 4), (0, 0), (0, 0)]
    autotune.forget()


def test_the_switches_are_as_before_after_the_tip() -> None:
    before = cudnn.benchmark, cudnn.deterministic
    tips.run(tips.find("autotune"), clock=False)
    assert (cudnn.benchmark, cudnn.deterministic) == before
