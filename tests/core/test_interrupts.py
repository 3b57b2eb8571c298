"""Ctrl-C at any moment: what was switched, locked or half made is as it was, and the next step is right."""

from __future__ import annotations

import gc
import random
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tinygrad_edu import nn, optim
from tinygrad_edu.core import storage
from tinygrad_edu.core.slow import Interceptor
from tinygrad_edu.errors import InplaceError
from tinygrad_edu.observe import Counters
from tinygrad_edu.observe.machine import quiet
from tinygrad_edu.settings import modes

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timer sends signals on Windows")


@pytest.fixture(autouse=True)
def clock() -> Iterator[None]:
    """The alarm clock interrupts, in place of ending tests that take too long."""
    handler = signal.signal(signal.SIGALRM, signal.default_int_handler)
    rest, _ = signal.setitimer(signal.ITIMER_REAL, 0)
    yield
    signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, rest)


@pytest.fixture(autouse=True)
def swallowed(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What did not get out of a finaliser, apart from interrupts, which Python never lets out of one."""
    others: list[Any] = []

    def hook(failed: Any) -> None:
        if failed.exc_type is not KeyboardInterrupt:
            others.append(failed.exc_value)

    monkeypatch.setattr(sys, "unraisablehook", hook)
    return others


def interrupted(work: Callable[[], object], delay: float) -> BaseException | None:
    """The interrupt that ``work`` ended in, if it was not done before."""
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, delay)
            work()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt as error:
        return error
    return None


def again_and_again(work: Callable[[], object], check: Callable[[], object], seconds: float, least: int = 10) -> int:
    """Interrupt ``work`` at random points. Returns how often that was."""
    seed = random.randrange(2**32)
    print("seed", seed)  # shown if the test fails
    rng, count, end = random.Random(seed), 0, time.monotonic() + seconds
    start = time.perf_counter()
    for _ in range(5):
        work()
    usual = (time.perf_counter() - start) / 5
    while time.monotonic() < end or (count < least * seconds and time.monotonic() < end + PATIENCE):
        error = interrupted(work, rng.uniform(1e-6, 1.1 * usual))
        count += error is not None
        assert modes() is MODES
        assert gc.isenabled()
        del error
        check()
    print("interrupted", count)
    assert count >= least * seconds
    return count


MODES = modes()
PATIENCE = 60.0  # seconds more, where a busy machine lets few interrupts fall into the work


class Watching(Interceptor):
    """Sees all, and changes nothing."""


def _seconds(normal: float) -> list[object]:
    return [normal, pytest.param(40.0, marks=pytest.mark.slow)]


def _locked() -> list[Any]:
    return [one for one in list(storage._STORAGES.values()) if one.lock() or one.restore]


@pytest.mark.parametrize("seconds", _seconds(2.0))
@pytest.mark.parametrize(
    "make",
    [
        lambda ps: optim.SGD(ps, lr=0.1),
        lambda ps: optim.SGD(ps, lr=0.1, momentum=0.9, nesterov=True),
        lambda ps: optim.AdamW(ps, lr=0.1, weight_decay=0.1),
    ],
    ids=["SGD", "Nesterov", "AdamW"],
)
def test_a_training_step(make: Callable[[Any], Any], seconds: float, swallowed: list[Any]) -> None:
    a, b = np.ones((2, 8)), np.zeros((2, 4))
    model = nn.Sequential(nn.Linear(8, 300), nn.ReLU(), nn.Linear(300, 4)).double()  # large parameters and small ones
    copy = nn.Sequential(nn.Linear(8, 300), nn.ReLU(), nn.Linear(300, 4)).double()
    model[0].register_forward_hook(lambda module, inputs, output: output * 1.0)
    optimizer = make(model.parameters())

    def step() -> None:
        optimizer.zero_grad()
        with Watching():
            loss = ((model(tg.from_numpy(a)) - tg.from_numpy(b)) ** 2).mean()
        with tg.no_grad():
            model(tg.from_numpy(a))
        loss.backward()
        optimizer.step()
        with tg.guard.on(), tg.set_grad_enabled(True):
            copy.load_state_dict(model.state_dict())

    def back() -> None:
        for p, values in zip(parameters, old, strict=True):
            p.data = tg.tensor(values)
        optimizer.load_state_dict(start)

    step()
    parameters = list(model.parameters())
    old = [p.detach().clone().numpy() for p in parameters]
    start = optimizer.state_dict()
    start["state"] = {i: {k: v.clone() for k, v in entry.items()} for i, entry in start["state"].items()}
    step()
    new = [p.detach().clone().numpy() for p in parameters]

    def work() -> None:
        back()
        step()

    def check() -> None:
        for p, before, after, twin in zip(parameters, old, new, copy.parameters(), strict=True):
            assert (p.array == before).all() or (p.array == after).all()
            assert (twin.array == before).all() or (twin.array == after).all()
        assert (modes().scope, modes().line) == (None, None)
        assert a.flags.writeable
        assert b.flags.writeable
        back()
        assert _locked() == []

    work()
    check()
    again_and_again(work, check, seconds)
    work()
    assert all((p.array == after).all() for p, after in zip(parameters, new, strict=True))
    assert all((p.array == after).all() for p, after in zip(copy.parameters(), new, strict=True))
    assert swallowed == []


@pytest.mark.parametrize("seconds", _seconds(1.0))
def test_scopes_of_all_kinds(seconds: float, swallowed: list[Any]) -> None:
    """Some of them are over in a microsecond: so the worst moments come often."""
    off = tg.no_grad()

    @tg.no_grad()
    def decorated() -> None:
        pass

    def work() -> None:
        for _ in range(3):
            with tg.no_grad():
                pass
            with tg.enable_grad(), tg.inference_mode(), tg.guard.off(), tg.guard.verify(), Watching(), Counters():
                pass
            with off, off, tg.settings.scoped(dtype="float64"):
                decorated()

    again_and_again(work, lambda: None, seconds)
    assert swallowed == []


@pytest.mark.parametrize("seconds", _seconds(1.0))
def test_measuring(seconds: float) -> None:
    """The collector of garbage is switched on again, and nobody waits for a measurement that was stopped."""

    def work() -> None:
        with quiet():
            pass

    again_and_again(work, lambda: None, seconds, least=1)  # it collects garbage, which takes long in a large process


def test_a_mode_ends_before_anybody_sees_the_interrupt() -> None:
    """Not only once the traceback is gone: a notebook keeps it."""
    errors: list[BaseException] = []

    def work() -> None:
        for _ in range(100):
            with tg.no_grad():
                pass

    end = time.monotonic() + 1.0
    while time.monotonic() < end or (len(errors) <= 50 and time.monotonic() < end + PATIENCE):
        error = interrupted(work, random.uniform(1e-6, 2e-4))
        assert tg.is_grad_enabled()
        if error is not None:
            errors.append(error)
    assert len(errors) > 50


def test_a_scope_that_is_entered_for_good_stays() -> None:
    before = modes()
    try:
        tg.no_grad().__enter__()
        gc.collect()
        assert not tg.is_grad_enabled()
    finally:
        tg.settings.MODES.set(before)


def test_a_scope_that_is_entered_and_left_by_hand() -> None:
    scope = tg.no_grad()
    assert hasattr(scope, "__exit__")
    for _ in range(2):
        scope.__enter__()
        assert callable(scope.__exit__)
        assert not tg.is_grad_enabled()
        scope.__exit__(None, None, None)
        assert tg.is_grad_enabled()
    with ExitStack() as stack:
        stack.enter_context(scope)
        stack.enter_context(Watching())
        assert not tg.is_grad_enabled()
    assert modes() is MODES


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x.add_(1.0),
        lambda x: tg.add(x, 1.0, out=x),
        lambda x: x.__setitem__(slice(None), 7.0),
        lambda x: x.sigmoid_(),
        lambda x: _watched(x.add_, 1.0),
    ],
    ids=["short", "out", "item", "body", "watched"],
)
def test_a_write_that_is_interrupted_is_noted(write: Callable[[Any], object]) -> None:
    """NumPy goes on to its end, and Python hears of the interrupt before anything could have been noted."""
    w = tg.tensor(2.0, dtype="float64", requires_grad=True)
    x = tg.zeros(2_000_000, dtype="float64")
    start = time.perf_counter()
    write(x)
    usual = time.perf_counter() - start
    found, rng, end = 0, random.Random(0), time.monotonic() + PATIENCE
    while found < 3:
        assert time.monotonic() < end, "no interrupt fell into a write"
        x = tg.zeros(2_000_000, dtype="float64")
        y = x * w
        with tg.no_grad():
            if interrupted(lambda: write(x), rng.uniform(0.1, 1.1) * usual) is None:  # noqa: B023  (called at once)
                usual *= 0.9  # the write had ended: on a machine that does other work too, times come and go
                continue
        if (x.numpy() == 0).all():
            usual *= 1.1  # it had not begun
        else:
            found += 1
            with pytest.raises(InplaceError, match="overwritten"):
                y.sum().backward()


def _watched(work: Callable[..., object], *args: Any) -> None:
    with Watching():
        work(*args)
