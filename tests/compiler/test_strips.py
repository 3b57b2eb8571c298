"""Large kernels in strips, on one thread and on several: the same numbers to the last bit."""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import tinygrad_edu as tg
from tests.compiler.test_random_programs import CHOICES, INPUTS, Choice, check_outside, check_step
from tests.support import teaches
from tinygrad_edu.compiler import compile, numba_code, numpy_code, optimised, passes, running, trace
from tinygrad_edu.compiler.strips import _POOLS, shared
from tinygrad_edu.errors import ArgumentError, DtypeError
from tinygrad_edu.nn import functional as F

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


# Reductions ------------------------------------------------------------------------------------------------------


@contextmanager
def small_strips(loops: bool = False, jit: bool = False) -> Iterator[None]:
    """Arrays of any size run in strips of a few numbers, or as loops that Numba would compile."""
    with pytest.MonkeyPatch.context() as patch:
        for module, name, value in [
            (passes, "STRIPS", 0), (passes, "FEW_COLUMNS", 1), (numpy_code, "STRIPS", 0), (numpy_code, "STRIP", 16),
            (numba_code, "LEAST", 0), (numba_code, "PART", 3), (running, "loops", lambda *given: None),
        ]:  # fmt: skip
            patch.setattr(module, name, value)
        if loops and not jit:  # as Python: a program takes a second to compile
            patch.setattr(numba_code, "machine_code", functools.partial(numba_code.machine_code, jit=False))
        yield


@given(choices=CHOICES, inputs=INPUTS)
@settings(max_examples=300, deadline=None)
def test_random_programs_in_strips(choices: list[Choice], inputs: Any) -> None:
    with small_strips():
        check_outside(choices, inputs)
        check_step(choices, inputs)


@given(choices=CHOICES, inputs=INPUTS)
@settings(max_examples=200, deadline=None)
def test_random_programs_on_threads(choices: list[Choice], inputs: Any) -> None:
    with small_strips():
        check_step(choices, inputs, options={"threads": 2})


@given(choices=CHOICES, inputs=INPUTS)
@settings(max_examples=300, deadline=None)
def test_random_programs_as_loops(choices: list[Choice], inputs: Any) -> None:
    with small_strips(loops=True):
        check_outside(choices, inputs, backend="numba")
        check_step(choices, inputs, backend="numba")


@given(choices=CHOICES, inputs=INPUTS)
@settings(max_examples=8, deadline=None)
def test_random_programs_as_machine_code(choices: list[Choice], inputs: Any) -> None:
    with small_strips(loops=True, jit=True):
        check_step(choices, inputs, backend="numba")


def softmax_step(x: Any) -> Any:
    x.grad = None
    loss = (F.softmax(x * 0.5, 1) * x).sum()
    loss.backward()
    return loss


@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_a_softmax_its_gradient_and_a_sum_are_one_kernel(backend: str) -> None:
    ours, theirs = (X.detach().requires_grad_() for _ in range(2))
    fast = compile(softmax_step, backend=backend, fullgraph=True)
    for _ in range(2):
        assert fast(ours).item() == pytest.approx(softmax_step(theirs).item(), rel=1e-5)
        np.testing.assert_allclose(ours.grad.array, theirs.grad.array, rtol=1e-4, atol=1e-7)
    (program,) = fast.ledger[0].programs
    (kernel,) = program.equations
    assert kernel.body is not None
    assert sorted(one.name for one in kernel.body.equations if one.name in passes.REDUCTIONS) == ["amax", *["sum"] * 3]
    assert fast.ledger[0].codes[0].buffer_bytes == 0, "nothing of the whole size is kept"


@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_nan_and_inf_stay_in_their_rows(backend: str) -> None:
    x = X.detach().clone()
    x[3, 7], x[5, 0], x[600, 299] = float("nan"), float("inf"), float("-inf")

    def f(x: Any) -> Any:
        return F.softmax(x * 2, 1), (x + 1).amax(1, keepdim=True), (x * 1).amin(1, keepdim=True)

    with np.errstate(all="ignore"):
        found, expected = compile(f, backend=backend, fullgraph=True)(x), f(x)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one.array, other.array, rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("shape", [(3_000_001,), (3, 1_000_001), (1_000_001, 3)])
def test_a_long_sum_keeps_its_digits(backend: str, shape: tuple[int, ...]) -> None:
    """Added one by one, three million float32 are off in the fourth digit."""
    x = tg.tensor(np.random.default_rng(0).uniform(0, 1, shape).astype("f4"))
    found = compile(lambda x: (x * 3).sum(), backend=backend, fullgraph=True)(x).item()
    assert found == pytest.approx((x.array * np.float32(3)).sum(dtype="f8"), rel=3e-7)


def test_a_kernel_goes_on_after_what_stands_between() -> None:
    """A sum reads what a kernel makes: what comes after it, and reads the same, is still a part of that kernel."""

    def f(x: Any) -> Any:
        y = x.exp()
        return y.sum(0), y * x + 1  # down the columns, which no kernel of the CPU does

    def g(x: Any) -> Any:
        y = x.exp()
        return y - y.sum()  # which reads the sum, and so has to wait

    first, second = (optimised(trace(one, X.detach())) for one in (f, g))
    assert [one.name for one in first.equations] == ["kernel", "sum"]
    assert [one.name for one in second.equations] == ["kernel", "sub"]


# Results that go to memory that is there ---------------------------------------------------------------------------

W, V = tg.randn(300, 40), tg.randn(40, 700)
WRITES = {
    "kernel": (lambda to, x: to.copy_(x * 2 + 1), (300, 701)),
    "product": (lambda to, x: to.copy_(W @ V), (300, 700)),
    "sum": (lambda to, x: to.copy_(x[:, :9].sum(0, keepdim=True)), (1, 9)),
    "largest": (lambda to, x: to.copy_((x[:, :9] * 2).amax(1, keepdim=True)), (300, 1)),
    "softmax": (lambda to, x: to.copy_(F.softmax(x * 2, 1)), (300, 701)),
    "few": (lambda to, x: to.copy_(x[:3, :4] * 2 + 1), (3, 4)),
}


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("view", ["turned", "every other"])
@pytest.mark.parametrize("name", WRITES)
def test_what_is_written_may_lie_in_memory_in_any_way(name: str, view: str, backend: str) -> None:
    write, (rows, columns) = WRITES[name]
    memories = [tg.zeros(2 * columns, 2 * rows) for _ in range(2)]
    ours, theirs = (m[:columns, :rows].t() if view == "turned" else m.t()[::2, ::2] for m in memories)
    x = X.detach().t().contiguous()

    def f(x: Any) -> Any:
        write(ours, x)
        return x * 1

    fast = compile(f, backend=backend, fullgraph=True)
    write(theirs, x)
    for _ in range(2):
        ours.zero_()
        fast(x)
        np.testing.assert_allclose(memories[0].array, memories[1].array, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_numbers_beside_reduced_rows(backend: str) -> None:
    for number in (tg.tensor(2.0), tg.tensor([2.0]), tg.tensor([[2.0]])):
        x = X.detach().requires_grad_()

        def f(x: Any, s: Any) -> Any:
            m = x.sum(1, keepdim=True) * s
            return (x - m) * s, x / (x.exp().sum(1, keepdim=True) * s), x.amax(1, keepdim=True).mean()

        found, expected = compile(f, backend=backend, fullgraph=True)(x, number), f(x, number)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one.detach().array, other.detach().array, rtol=1e-4, atol=1e-3)
        found[2].backward()
        ours, x.grad = x.grad.array, None
        expected[2].backward()
        np.testing.assert_allclose(ours, x.grad.array, rtol=1e-5)


@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_a_mean_of_a_very_long_row_keeps_its_digits(backend: str) -> None:
    x = tg.full((3, 2_000_000), 0.1)
    found = compile(lambda x: (x + 1).mean(1, keepdim=True) * 2, backend=backend, fullgraph=True)(x)
    np.testing.assert_allclose(found.array, 2.2, rtol=1e-6)
