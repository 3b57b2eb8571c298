"""Counting what a block starts."""

from __future__ import annotations

import multiprocessing
import threading
from concurrent.futures import ThreadPoolExecutor

from tinygrad_edu.observe.starts import starts


def nothing() -> None: ...


def run(thread: threading.Thread) -> None:
    thread.start()
    thread.join()


def test_threads_and_those_that_they_start() -> None:
    start = threading.Thread.start
    with starts() as seen:
        run(threading.Thread(target=nothing))
        run(threading.Thread(target=lambda: run(threading.Thread(target=nothing))))
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(abs, range(8)))
    assert 4 <= seen.threads <= 5 and seen.processes == 0  # a pool whose first thread is free needs no second
    assert threading.Thread.start is start
    run(threading.Thread(target=nothing))
    assert seen.threads <= 5


def test_processes() -> None:
    with starts() as seen:
        process = multiprocessing.get_context("spawn").Process(target=nothing)
        process.start()
        process.join()
    assert (seen.threads, seen.processes, process.exitcode) == (0, 1, 0)


def test_what_others_start_meanwhile_does_not_count() -> None:
    inside, done = threading.Event(), threading.Event()

    def other() -> None:
        inside.wait(10)
        run(threading.Thread(target=nothing))
        done.set()

    thread = threading.Thread(target=other)
    thread.start()
    with starts() as seen:
        inside.set()
        assert done.wait(10)
    thread.join()
    assert seen.threads == 0


def test_blocks_within_each_other() -> None:
    with starts() as outer:
        with starts() as inner:
            run(threading.Thread(target=nothing))
        run(threading.Thread(target=nothing))
    assert (inner.threads, outer.threads) == (1, 2)
