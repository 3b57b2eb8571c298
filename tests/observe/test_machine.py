"""What a measurement says about the machine, and how it keeps the machine still."""

from __future__ import annotations

import gc
import sys
import threading
import time
from typing import Any

import numpy as np
import pytest

from tests.support import teaches
from tinygrad_edu.errors import TimingError
from tinygrad_edu.observe import machine
from tinygrad_edu.observe.timing import compare, measure


def test_the_collector_is_off_meanwhile_and_on_again_after() -> None:
    seen = []
    found = compare(lambda: seen.append(gc.isenabled()), lambda: None, repeats=3)
    assert set(seen) == {False}
    assert gc.isenabled()
    assert found.conditions.gc == "off"


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        measure(int, repeats=3)
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_the_collector_is_on_again_after_an_error() -> None:
    with pytest.raises(TimingError):
        measure(lambda: 1 / 0)
    assert gc.isenabled()


def test_blas_has_one_thread_meanwhile() -> None:
    threadpoolctl = pytest.importorskip("threadpoolctl")

    def threads() -> list[int]:
        return [one["num_threads"] for one in threadpoolctl.threadpool_info()]

    before, seen = threads(), []
    found = compare(lambda: seen.append(threads()), lambda: None, setup=lambda: None, repeats=3)
    assert threads() == before
    assert all(one == [1] * len(one) for one in seen)
    assert found.conditions.threads == (1 if before else None)


def test_blas_has_one_thread_in_whichever_thread_measures() -> None:
    """The first to set a limit keeps that right, by threadpoolctl's rules: so it is taken over, and given back."""
    threadpoolctl = pytest.importorskip("threadpoolctl")
    before = [one["num_threads"] for one in threadpoolctl.threadpool_info()]
    seen: list[tuple[int | None, list[int]]] = []

    def look() -> None:
        with machine.quiet() as found:
            seen.append((found.threads, [one["num_threads"] for one in threadpoolctl.threadpool_info()]))

    for _ in range(2):
        look()
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
        assert [one["num_threads"] for one in threadpoolctl.threadpool_info()] == before
    assert seen == [(1 if before else None, [1] * len(before))] * 4


def test_threads_that_measure_wait_for_each_other() -> None:
    inside: list[int] = []
    seen: list[int] = []

    def function() -> None:
        inside.append(1)
        seen.append(len(inside))
        inside.pop()

    def run() -> None:
        with machine.quiet():
            for _ in range(200):
                function()
                time.sleep(0)

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(seen) == {1}
    assert gc.isenabled()


class Busy:
    """Somebody else, who measures and does not end."""

    def __enter__(self) -> None:
        self.begun, self.end = threading.Event(), threading.Event()
        self.thread = threading.Thread(target=self.measure)
        self.thread.start()
        assert self.begun.wait(60)

    def measure(self) -> None:
        with machine.quiet():
            self.begun.set()
            assert self.end.wait(60)

    def __exit__(self, *_: object) -> None:
        self.end.set()
        self.thread.join(60)


def test_who_waits_for_a_turn_can_be_stopped() -> None:
    said: list[tuple[int, int, float]] = []

    def progress(*how_far: Any) -> bool:
        said.append(how_far)
        return len(said) < 2

    with Busy(), teaches(
        TimingError, "measuring", "it was stopped before its turn came", "let it wait, or stop the other"
    ):  # fmt: skip
        measure(int, progress=progress)
    assert [how_far[:2] for how_far in said] == [(0, 1), (0, 1)]
    assert machine.PATIENCE > said[0][2] > said[1][2] > 0
    assert len(measure(int, repeats=3).times) == 3


def test_nobody_waits_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "PATIENCE", 0.0)
    why = "another measurement has not ended in 0 s"
    with Busy(), teaches(
        TimingError, "measuring", why, "stop the other; if it does not end, restart the kernel"
    ):  # fmt: skip
        compare(int, int)


def test_who_measures_may_measure_inside() -> None:
    assert len(measure(lambda: measure(int, repeats=3), repeats=3).times) == 3


def test_without_threadpoolctl_threads_are_not_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "threadpoolctl", None)
    found = compare(int, int, repeats=3).conditions
    assert found.threads is None
    assert ", threads not limited · gc off" in found.text()


def test_conditions_name_this_machine() -> None:
    found = machine.conditions(1)
    assert found.numpy == np.__version__
    assert found.python == ".".join(map(str, sys.version_info[:3]))
    assert found.cpu
    assert found.cores >= 1
    assert found.clock > 0
