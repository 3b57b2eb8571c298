"""Scoped values: what a scope holds, where it ends, and who sees it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu import settings
from tinygrad_edu.errors import ArgumentError
from tinygrad_edu.settings import Modes, modes, scoped, set_default


def in_thread(function: Callable[[], Any]) -> Any:
    """What ``function`` returns in a thread of its own."""
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(function()))
    thread.start()
    thread.join()
    return found[0]


def test_the_defaults() -> None:
    shown = {name: getattr(modes(), name) for name in Modes.__slots__}
    assert shown == {
        "device": "cpu", "dtype": "float32", "grad": True, "guard": "on", "observers": (), "plain": True,
        "promotion": "torch", "scope": None, "inference": False, "line": None,
    }  # fmt: skip


def test_a_scope_holds_its_values_and_gives_them_back() -> None:
    with scoped(grad=False, dtype="float64"):
        assert not modes().grad
        assert tg.tensor(1.5).dtype == tg.float64
        with scoped(grad=True):
            assert modes().grad
            assert modes().dtype == "float64"
        assert not modes().grad
    assert modes().grad
    assert tg.tensor(1.5).dtype == tg.float32


def test_a_scope_ends_with_an_exception() -> None:
    with pytest.raises(KeyError), tg.no_grad():
        raise KeyError
    assert tg.is_grad_enabled()


def test_one_scope_object_can_be_entered_twice() -> None:
    off = tg.no_grad()
    with off:
        with off:
            assert not tg.is_grad_enabled()
        assert not tg.is_grad_enabled()
    assert tg.is_grad_enabled()


def test_plain_says_whether_the_fast_path_is_open() -> None:
    assert Modes().plain
    assert not Modes(guard="verify").plain
    assert not Modes(observers=(object(),)).plain
    assert Modes(guard="off").plain


def test_what_is_no_setting_is_refused_before_entry() -> None:
    with pytest.raises(TypeError) as caught:
        scoped(grads=False)
    assert str(caught.value) == (
        "no such setting: grads; there are device, dtype, grad, guard, inference, line, observers, promotion, scope"
    )
    with teaches(ArgumentError, "guard='loud'", "the guard's levels are off, on, verify", "name one of these"):
        scoped(guard="loud")


def test_no_grad_and_enable_grad_as_scopes_and_decorators() -> None:
    x = tg.ones(2, requires_grad=True)

    @tg.no_grad()
    def outside(y: tg.Tensor) -> tg.Tensor:
        """Doubles."""
        return y * 2

    @tg.enable_grad()
    def inside(y: tg.Tensor) -> tg.Tensor:
        return y * 2

    assert not outside(x).requires_grad
    assert (outside.__name__, outside.__doc__) == ("outside", "Doubles.")
    with tg.no_grad():
        assert not (x * 2).requires_grad
        assert inside(x).requires_grad
    assert (x * 2).requires_grad


def test_set_grad_enabled_in_its_three_forms() -> None:
    with tg.set_grad_enabled(False):
        assert not tg.is_grad_enabled()
    assert tg.is_grad_enabled()

    @tg.set_grad_enabled(False)
    def outside() -> bool:
        return tg.is_grad_enabled()

    assert tg.is_grad_enabled()
    assert not outside()

    def at_once() -> bool:
        tg.set_grad_enabled(False)
        return tg.is_grad_enabled()

    assert in_thread(at_once) is False  # in a thread of its own, so that nothing is left switched here
    assert tg.is_grad_enabled()


def test_a_new_thread_starts_with_the_default() -> None:
    with tg.no_grad():
        assert in_thread(tg.is_grad_enabled)


def test_a_decorated_function_runs_in_two_threads_at_once() -> None:
    together = threading.Barrier(2, timeout=10)

    @tg.no_grad()
    def meet() -> bool:
        together.wait()  # both are inside
        found = tg.is_grad_enabled()
        together.wait()
        return found

    found: list[bool] = []

    def work() -> None:
        found.extend([meet(), tg.is_grad_enabled()])

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [False, False, True, True]


def test_tasks_do_not_see_each_others_scopes() -> None:
    async def off(entered: asyncio.Event, leave: asyncio.Event) -> bool:
        with tg.no_grad():
            entered.set()
            await leave.wait()
            return tg.is_grad_enabled()

    async def main() -> tuple[bool, bool]:
        entered, leave = asyncio.Event(), asyncio.Event()
        task = asyncio.create_task(off(entered, leave))
        await entered.wait()
        here = tg.is_grad_enabled()
        leave.set()
        return here, await task

    assert asyncio.run(main()) == (True, False)


def test_set_grad_enabled_outlives_the_task_that_calls_it() -> None:
    """A notebook runs each cell with an await in a task of its own, and the next cell must know of it."""

    async def cell(mode: bool) -> None:
        tg.set_grad_enabled(mode)
        await asyncio.sleep(0)

    try:
        asyncio.run(cell(False))
        assert not tg.is_grad_enabled()
        assert in_thread(tg.is_grad_enabled)
        set_default(dtype="float64")
        assert not tg.is_grad_enabled()
        asyncio.run(cell(True))
        assert tg.is_grad_enabled()
    finally:
        set_default(dtype="float32", grad=True)


def test_set_grad_enabled_as_a_block_is_its_tasks_own() -> None:
    async def main(off: Callable[[], Any]) -> tuple[bool, bool, bool]:
        entered, leave = asyncio.Event(), asyncio.Event()

        async def task() -> bool:
            with off():
                entered.set()
                await leave.wait()
                return tg.is_grad_enabled()

        running = asyncio.create_task(task())
        await entered.wait()
        here = tg.is_grad_enabled()
        leave.set()
        return here, await running, tg.is_grad_enabled()

    assert asyncio.run(main(lambda: tg.set_grad_enabled(False))) == (True, False, True)
    with tg.no_grad():
        assert asyncio.run(main(lambda: tg.set_grad_enabled(True))) == (False, True, False)


def test_one_object_of_set_grad_enabled_is_several_blocks() -> None:
    off = tg.set_grad_enabled(False)
    for _ in range(2):
        with off:
            assert not tg.is_grad_enabled()
        assert tg.is_grad_enabled()


def test_set_default_reaches_every_thread_but_no_open_scope() -> None:
    try:
        with scoped(dtype="float16"):
            set_default(dtype="float64")
            assert modes().dtype == "float64"  # asked for here, so it holds here
            with scoped(grad=False):
                assert modes().dtype == "float64"
        assert modes().dtype == "float64"
        assert in_thread(lambda: modes().dtype) == "float64"

        with scoped(grad=False):
            in_thread(lambda: set_default(dtype="float16"))
            assert modes().dtype == "float64"  # this scope was open already
        assert modes().dtype == "float16"
    finally:
        set_default(dtype="float32")


def test_set_default_keeps_the_fast_path_flag_right() -> None:
    try:
        set_default(guard="verify")
        assert not modes().plain
    finally:
        set_default(guard="on")
    assert modes().plain


def test_inference_mode() -> None:
    """As in PyTorch: no recording, whatever is switched inside, until inference_mode(False)."""
    x = tg.ones(2, requires_grad=True)
    with tg.inference_mode():
        assert tg.is_inference_mode_enabled()
        assert not (x * 2).requires_grad
        with tg.enable_grad():
            assert not (x * 2).requires_grad
        with tg.inference_mode(False):
            assert (x * 2).requires_grad
    with tg.no_grad(), tg.inference_mode(False):
        assert (x * 2).requires_grad
    assert not tg.is_inference_mode_enabled()

    @tg.inference_mode()
    def predict() -> tg.Tensor:
        return x * 2

    assert not predict().requires_grad


def test_promotion_is_a_scope() -> None:
    x = tg.tensor([1, 2])
    with settings.promotion("numpy"):
        assert (x * 0.5).dtype.name == "float64"
    assert (x * 0.5).dtype.name == "float32"
    with teaches(ArgumentError, "promotion='tensorflow'", "the tables are torch, numpy, jax", "name one of these"):
        settings.promotion("tensorflow")


def test_a_generator_keeps_its_mode_between_its_steps() -> None:
    x = tg.ones(1, requires_grad=True)

    @tg.no_grad()
    def steps() -> Any:
        sent = yield (x * 2).requires_grad
        yield (sent, (x * 2).requires_grad)
        return "done"

    generator = steps()
    assert next(generator) is False
    assert tg.is_grad_enabled()
    assert generator.send("in") == ("in", False)
    assert list(steps()) == [False, (None, False)]


def test_decorators_without_brackets() -> None:
    x = tg.ones(1, requires_grad=True)

    @tg.no_grad
    def off() -> bool:
        return (x * 2).requires_grad

    @tg.enable_grad
    def on() -> bool:
        return (x * 2).requires_grad

    with tg.no_grad():
        assert (off(), on()) == (False, True)
    assert off.__name__ == "off"


def test_modes_that_are_kept_follow_a_switch_at_once() -> None:
    before = tg.is_grad_enabled()
    with tg.no_grad():
        pass
    try:
        tg.set_grad_enabled(False)
        with tg.enable_grad():
            assert tg.is_grad_enabled()
        set_default(dtype="float64")
        with tg.enable_grad():
            assert modes().dtype == "float64"
    finally:
        set_default(dtype="float32")
        tg.set_grad_enabled(before)


def test_the_switches_stand_beside_the_gradients_too() -> None:
    """As in PyTorch: ``with torch.autograd.set_grad_enabled(training):``."""
    for name in ("enable_grad", "inference_mode", "no_grad", "set_grad_enabled"):
        assert getattr(tg.autograd, name) is getattr(tg, name)
