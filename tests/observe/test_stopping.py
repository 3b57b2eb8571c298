"""Threads that can be stopped: in a loop, in a loop that catches everything, and in a call that does not return."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from tinygrad_edu.observe import machine, stopping
from tinygrad_edu.observe.stopping import Stoppable, Stopped
from tinygrad_edu.observe.timing import compare


def begun(job: Callable[[threading.Event], Any], gave_up: Callable[[], None] = lambda: None) -> Stoppable:
    """The thread, once its job says that it has begun."""
    here = threading.Event()
    thread = Stoppable(lambda: job(here), gave_up, "job")
    thread.start()
    assert here.wait(20)
    return thread


def stopped(thread: Stoppable) -> float:
    """The seconds that it took."""
    start = time.monotonic()
    thread.halt()
    thread.join(20)
    assert not thread.is_alive()
    return time.monotonic() - start


def for_ever(here: threading.Event) -> None:
    here.set()
    while True:
        pass


def stubborn(here: threading.Event) -> None:
    """Catches what it can, a few times."""
    here.set()
    for _ in range(5):
        try:
            while True:
                pass
        except:  # noqa: E722
            continue
    while True:
        pass


@pytest.mark.parametrize("job", [for_ever, stubborn])
def test_a_loop_is_stopped(job: Callable[[threading.Event], Any]) -> None:
    thread = begun(job)
    assert stopped(thread) < 10 * stopping.LIMIT
    assert isinstance(thread.failure, Stopped)


def test_a_job_that_looks_ends_by_itself() -> None:
    def polite(here: threading.Event) -> str:
        here.set()
        assert thread_of_it().stop.wait(20)
        return "done"

    def thread_of_it() -> Stoppable:
        found = threading.current_thread()
        assert isinstance(found, Stoppable)
        return found

    thread = begun(polite)
    stopped(thread)
    assert (thread.result, thread.failure) == ("done", None)


def test_what_ends_by_itself_is_not_disturbed() -> None:
    """However close the stop comes to the end: a result, or `Stopped`, and never both or neither."""
    for pause in range(40):
        ended = threading.Event()

        class Watched(Stoppable):
            def ended(self) -> None:
                for _ in range(1000):  # here nothing may arrive any more
                    pass
                ended.set()  # noqa: B023

        thread = Watched(lambda: sum(range(20_000)), lambda: None, "job")
        thread.start()
        time.sleep(pause * 1e-4)
        thread.stop.set()
        for _ in range(200):
            with thread._door:
                if thread._open:
                    stopping.interrupt(thread.ident)
        thread.join(20)
        assert ended.is_set()
        assert (thread.result is None) != (thread.failure is None)
        assert thread.failure is None or isinstance(thread.failure, Stopped)


def test_a_call_that_does_not_return_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stopping, "PATIENCE", 0.01)
    monkeypatch.setattr(stopping, "LIMIT", 0.1)
    gone, back = threading.Event(), threading.Event()

    def hang(here: threading.Event) -> None:
        here.set()
        back.wait(20)  # a call to C: nothing in Python happens meanwhile

    thread = begun(hang, gone.set)
    thread.halt()
    assert gone.wait(20)
    assert thread.is_alive()
    back.set()
    thread.join(20)
    assert isinstance(thread.failure, Stopped)


def test_a_job_is_told_to_end_however_late_its_time_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """A collection of garbage lets no other thread run: when it is over, all the time to try may have passed."""
    monkeypatch.setattr(stopping, "LIMIT", 0.0)
    monkeypatch.setattr(stopping, "PATIENCE", 0.0)

    def loop(here: threading.Event) -> None:
        here.set()
        while True:
            pass

    thread = begun(loop)
    thread.halt()
    thread.join(20)
    assert not thread.is_alive()


def test_a_loop_that_begins_after_it_was_given_up_ends_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stopping, "PATIENCE", 0.01)
    monkeypatch.setattr(stopping, "LIMIT", 0.05)
    gone, back = threading.Event(), threading.Event()

    def hang(here: threading.Event) -> None:
        here.set()
        try:
            back.wait(20)
        except BaseException:
            while True:
                pass

    thread = begun(hang, gone.set)
    thread.halt()
    assert gone.wait(20)
    back.set()
    thread.join(20)
    assert not thread.is_alive()


def test_a_measurement_that_hangs_gives_its_turn_away() -> None:
    """The collector is on again, and others can measure, before the call returns and after it."""
    back = threading.Event()

    def hang(here: threading.Event) -> None:
        with machine.quiet():
            here.set()
            back.wait(20)

    thread = begun(hang)
    assert not gc.isenabled()
    machine.give_up(thread.ident or 0)
    assert gc.isenabled()
    assert len(compare(int, float, repeats=3).ratios) == 3
    with machine.quiet():
        back.set()
        thread.join(20)
        assert not gc.isenabled(), "the late one leaves the switches of the present measurement alone"
    assert gc.isenabled()


def busy(seconds: float) -> None:
    """In Python, where `Stopped` can come."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


def test_what_is_put_back_is_put_back_to_its_end() -> None:
    """`Stopped` is sent again and again, and must not break off what cleans up."""
    done: list[str] = []

    def job(here: threading.Event) -> None:
        with stopping.undoing() as undo:
            undo.append(lambda: done.append("first"))
            undo.append(lambda: (busy(4 * stopping._AGAIN), done.append("second")))
            for_ever(here)

    thread = begun(job)
    stopped(thread)
    assert done == ["second", "first"]
    assert isinstance(thread.failure, Stopped)


def test_one_failure_does_not_keep_the_others_from_being_put_back() -> None:
    done: list[str] = []
    with pytest.raises(ZeroDivisionError), stopping.undoing() as undo:
        undo.append(lambda: done.append("first"))
        undo.append(lambda: 1 / 0)
    assert done == ["first"]


def test_a_stopped_measurement_gives_its_turn_away_however_long_that_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    class Slow:
        def __init__(self) -> None:
            self.lock = threading.RLock()
            self.acquire = self.lock.acquire

        def release(self) -> None:
            busy(4 * stopping._AGAIN)
            self.lock.release()

    turn = machine._Turn()
    monkeypatch.setattr(turn, "lock", Slow())
    monkeypatch.setattr(machine, "_turns", [turn])

    def job(here: threading.Event) -> None:
        with machine.quiet():
            for_ever(here)

    thread = begun(job)
    stopped(thread)
    assert turn.lock.acquire(timeout=0.1), "another thread's turn"
    assert (turn.thread, turn.undo, gc.isenabled()) == (0, [], True)


def test_only_the_thread_whose_turn_it_is_loses_it() -> None:
    with machine.quiet():
        machine.give_up(-1)
        assert not gc.isenabled()
        with machine.quiet():
            pass
        assert not gc.isenabled(), "an inner measurement ends before the outer one"
    assert gc.isenabled()


def test_a_stopped_comparison_keeps_what_was_measured() -> None:
    calls: list[int] = []

    def slow() -> None:
        time.sleep(0.001)
        calls.append(1)
        if len(calls) > 20:
            raise Stopped

    found = compare(slow, int, repeats=50, warmup=0)
    assert found.stopped
    assert len(found.slow.times) == len(found.fast.times) == len(found.ratios) > 0
