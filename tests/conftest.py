"""Checks around every test: what a test switches, locks or starts must not outlive it."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator

import hypothesis
import pytest

from tests import second_device  # noqa: F401  (registers the device "far" for all tests)
from tests.support import FAILED
from tinygrad_edu import settings
from tinygrad_edu.core import storage
from tinygrad_edu.observe import machine
from tinygrad_edu.tensor import random as tg_random

hypothesis.settings.register_profile("unhurried", deadline=None)  # another program's load is no fault of the code
hypothesis.settings.load_profile("unhurried")


@pytest.fixture(autouse=True)
def modes_are_restored() -> Iterator[None]:
    """Every switch is back at its default after the test."""
    before = {name: getattr(settings.modes(), name) for name in settings.Modes.__slots__}
    assert settings.modes() is settings._HERE
    yield
    after, now = {name: getattr(settings.modes(), name) for name in settings.Modes.__slots__}, settings.modes()
    settings.MODES.set(settings._HERE)  # so that the next test does not pay for this one
    settings.set_default(**{name: value for name, value in before.items() if name != "plain"})
    assert after == before
    assert now is settings._HERE


def _leave_out_what_stays() -> None:
    """Let collections of garbage pass over what is there now. Each measurement begins with one."""
    gc.collect()
    gc.freeze()


def pytest_collection_finish() -> None:
    """The tests themselves are many, and stay to the end."""
    _leave_out_what_stays()


@pytest.fixture(autouse=True, scope="module")
def small_heap() -> None:
    """And so do other libraries, and what they have made, once a test has imported them."""
    _leave_out_what_stays()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Remember whether the test failed: then its traceback keeps graphs alive, and that is no leak."""
    report = yield
    item.stash[FAILED] = item.stash.get(FAILED, False) or report.failed
    return report


@pytest.fixture(autouse=True)
def no_lock_leaks(request: pytest.FixtureRequest) -> Iterator[None]:
    """No array stays locked by the guard once the test's own names are gone."""
    yield
    if request.node.stash.get(FAILED, False):
        return
    held = [one for one in list(storage._STORAGES.values()) if one.lock() or one.restore]
    if held:  # graphs in a traceback or a cycle of the test itself
        del held
        gc.collect()
    assert [one for one in list(storage._STORAGES.values()) if one.lock() or one.restore] == []


@pytest.fixture(autouse=True)
def no_threads_left() -> Iterator[None]:
    """A test joins the threads that it starts."""
    before = set(threading.enumerate())
    yield
    left = {one for one in threading.enumerate() if one not in before}
    assert {one for one in left if not one.name.startswith("asyncio_")} == set()  # those are Playwright's pool


@pytest.fixture(autouse=True)
def nobody_measures() -> Iterator[None]:
    """A measurement has given its turn away, and the collector is at work: else the next one waits for ever."""
    yield
    left = machine._turns[0].thread, gc.isenabled()
    machine._turns[0] = machine._Turn()  # so that the next test does not pay for this one
    gc.enable()
    assert left == (0, True)


@pytest.fixture(autouse=True)
def seeded() -> None:
    """Random numbers are the same in every run, whatever ran before."""
    tg_random.manual_seed(0)
