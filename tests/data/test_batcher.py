"""Requests that come one by one are answered together: fullness, waiting, what is left, errors, threads."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future
from typing import Any

import pytest

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu.data import Batcher
from tinygrad_edu.errors import ArgumentError

LONG = 600.0  # seconds: nobody waits that long


def number(i: float) -> tg.Tensor:
    return tg.tensor(float(i))


def test_full_batches_go_at_once_and_the_rest_at_the_end() -> None:
    with Batcher(lambda x: x * 2, 4, max_wait=LONG) as answer:
        later = [answer.submit(number(i)) for i in range(10)]
        assert [one.result(10).item() for one in later[:8]] == [0, 2, 4, 6, 8, 10, 12, 14]
        assert not later[8].done()
    assert [one.result(0).item() for one in later[8:]] == [16, 18]
    assert answer.batches == [4, 4, 2]
    assert len(answer.waits) == 10


def test_nobody_waits_longer_than_max_wait() -> None:
    with Batcher(lambda x: x + 1, 1000, max_wait=0.02) as answer:
        began = time.monotonic()
        assert answer(number(1)).item() == 2
        assert time.monotonic() - began >= 0.02
    assert answer.batches == [1]
    assert answer.waits[0] >= 0.02


def test_map_keeps_the_order_and_reads_no_more_than_it_needs() -> None:
    read: list[int] = []

    def requests() -> Any:
        for i in range(100):
            read.append(i)
            yield number(i)

    with Batcher(lambda x: -x, 5, max_wait=LONG) as answer:
        found = answer.map(requests())
        assert next(found).item() == 0
        assert len(read) == 11
        assert [one.item() for one in found] == [-i for i in range(1, 100)]
    assert answer.batches == [5] * 20


def test_many_threads() -> None:
    found: dict[int, float] = {}
    with Batcher(lambda x: x * x, 8, max_wait=0.001) as answer:

        def ask(i: int) -> None:
            found[i] = answer(number(i)).item()

        threads = [threading.Thread(target=ask, args=(i,)) for i in range(40)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == {i: float(i * i) for i in range(40)}
    assert sum(answer.batches) == 40


def test_who_asked_gets_the_error_and_others_get_answers() -> None:
    def root(x: tg.Tensor) -> tg.Tensor:
        if x.min().item() < 0:
            raise ZeroDivisionError("below zero")
        return x.sqrt()

    with Batcher(root, 2, max_wait=LONG) as answer:
        bad = [answer.submit(number(i)) for i in (-1, 4)]
        good = [answer.submit(number(i)) for i in (9, 16)]
        for one in bad:
            with pytest.raises(ZeroDivisionError, match="below zero"):
                one.result(10)
        assert [one.result(10).item() for one in good] == [3, 4]
    assert answer.batches == [2]


def test_what_is_cancelled_is_not_computed() -> None:
    seen: list[int] = []

    def function(x: tg.Tensor) -> tg.Tensor:
        seen.append(len(x))
        return x

    with Batcher(function, 3, max_wait=LONG) as answer:
        first, second = answer.submit(number(1)), answer.submit(number(2))
        assert first.cancel()
    assert second.result(0).item() == 2
    with Batcher(function, 3, max_wait=LONG) as answer:
        assert answer.submit(number(1)).cancel()
    assert seen == [1]


def test_it_runs_with_the_settings_of_its_maker() -> None:
    w = tg.ones(3, requires_grad=True)
    with tg.no_grad(), Batcher(lambda x: x * w, 1) as answer:
        assert not answer(tg.ones(3)).requires_grad
    with Batcher(lambda x: x * w, 1) as answer:
        assert answer(tg.ones(3)).requires_grad


def test_answers_must_be_as_many_as_requests() -> None:
    with Batcher(lambda x: x.sum(0, keepdim=True), 2, max_wait=LONG) as answer:
        later = [answer.submit(tg.ones(3)) for _ in range(2)]
        for one in later:
            with pytest.raises(ArgumentError, match="it gave 1 answers to 2 requests"):
                one.result(10)


def test_closed() -> None:
    answer = Batcher(lambda x: x, 2)
    answer.close()
    answer.close()
    assert not any(thread.name == "Batcher" for thread in threading.enumerate())
    with pytest.raises(RuntimeError, match="this Batcher is closed: make a new one"):
        answer.submit(number(1))


def test_tuples_are_collated() -> None:
    with Batcher(lambda pair: pair[0] + pair[1], 2, max_wait=LONG) as answer:
        later: list[Future[Any]] = [answer.submit((number(i), number(10))) for i in range(2)]
    assert [one.result(0).item() for one in later] == [10, 11]


def test_what_it_takes() -> None:
    with teaches(ArgumentError, "Batcher(batch_size=0)", "a batch has at least one request", "give 1"):
        Batcher(lambda x: x, 0)
    for junk in (-1, "soon", True, float("nan")):
        with pytest.raises(ArgumentError, match="it is a time in seconds"):
            Batcher(lambda x: x, 1, max_wait=junk)
