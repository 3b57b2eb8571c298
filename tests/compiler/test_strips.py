"""Large kernels in strips, on one thread and on several: the same numbers to the last bit."""

from __future__ import annotations

import os
import threading
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu.compiler import compile
from tinygrad_edu.compiler.strips import _POOLS, shared
from tinygrad_edu.errors import ArgumentError, DtypeError

X = tg.tensor(np.random.default_rng(0).normal(size=(701, 300)).astype("f4"), requires_grad=True)
ROW = tg.arange(300.0)


MEND = "name one of leave_out, keep_unused, threads"


def chain(x: Any) -> Any:
    y = (x * 2 + ROW).sigmoid() - tg.where(x > 0, x, ROW) + x.tanh().relu()
    return y * y, y / 0


def alone(x: Any) -> Any:
    return x + 1


@pytest.mark.parametrize("function", [chain, alone])
@pytest.mark.parametrize("threads", [2, 3, 64])
def test_several_threads_change_no_bit(function: Any, threads: int) -> None:
    one, several = compile(function, fullgraph=True), compile(function, fullgraph=True, options={"threads": threads})
    for _ in range(2):
        with np.errstate(all="ignore"):  # each thread has NumPy's settings of this one
            found, expected = several(X), one(X)
        for ours, theirs in zip(*(x if isinstance(x, tuple) else (x,) for x in (found, expected)), strict=True):
            assert ours.detach().array.tobytes() == theirs.detach().array.tobytes()
    if function is chain:
        assert "shared" in several.ledger[0].source and "shared" not in one.ledger[0].source


def test_a_whole_step_on_two_threads() -> None:
    def step_of(weight: Any) -> Any:
        def step() -> Any:
            weight.grad = None
            loss = (weight * 2).tanh().square().sum()
            loss.backward()
            with tg.no_grad():
                weight.sub_(weight.grad, alpha=0.1)
            return loss

        return step

    start = X.detach()
    one, two = start.clone().requires_grad_(), start.clone().requires_grad_()
    usual, fast = step_of(one), compile(step_of(two), options={"threads": 2}, fullgraph=True)
    for _ in range(3):
        assert fast().item() == pytest.approx(usual().item(), rel=1e-5)
    np.testing.assert_allclose(two.detach().array, one.detach().array, rtol=1e-5, atol=1e-6)


def test_each_thread_takes_whole_strips_and_all_rows_are_done_once() -> None:
    for size, rows, threads in [(10, 3, 2), (10, 3, 9), (1, 4, 2), (24, 4, 3), (25, 4, 3)]:
        done: list[tuple[int, int, int, str]] = []
        part = lambda start, stop, own: done.append((start, stop, own, threading.current_thread().name))  # noqa: B023, E731
        shared(part, size, rows, [(i,) for i in range(threads)])
        done.sort()
        assert [one[0] for one in done] == [0, *(one[1] for one in done[:-1])] and done[-1][1] == size
        assert all(start % rows == 0 for start, *_ in done) and [one[2] for one in done] == list(range(len(done)))
        assert done[0][3] == threading.current_thread().name and len(done) <= threads


def test_an_error_of_any_thread_is_raised_when_all_have_ended() -> None:
    for bad in (0, 8):
        ended = []

        def part(start: int, stop: int) -> None:
            if start == bad:  # noqa: B023
                raise FloatingPointError("of one strip")
            ended.append(start)  # noqa: B023

        with pytest.raises(FloatingPointError, match="of one strip"):
            shared(part, 12, 4, [(), (), ()])
        assert sorted(ended) == sorted({0, 4, 8} - {bad})


def test_numpys_settings_hold_in_every_thread() -> None:
    found = []
    with np.errstate(divide="raise"):
        shared(lambda start, stop: found.append(np.geterr()["divide"]), 8, 4, [(), ()])
    assert found == ["raise", "raise"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no such processes here")
def test_a_forked_process_makes_threads_of_its_own() -> None:
    done: list[int] = []
    shared(lambda start, stop: done.append(start), 8, 4, [(), ()])
    assert _POOLS
    child = os.fork()
    if not child:  # pragma: no cover
        again: list[int] = []
        shared(lambda start, stop: again.append(start), 8, 4, [(), ()])
        os._exit(0 if sorted(again) == [0, 4] else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_options_that_there_are_not() -> None:
    with teaches(
        ArgumentError, "compile(options={'threads': 0})", "there can be 1 to 256 threads", "use the number of cores"
    ):
        compile(alone, options={"threads": 0})
    with pytest.raises(DtypeError, match="threads is an integer, but this is a str"):
        compile(alone, options={"threads": "two"})
    with teaches(ArgumentError, "compile(options={'thread': …})", "there is no such option", MEND):
        compile(alone, options={"thread": 2})
