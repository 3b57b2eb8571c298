"""Checks around every test: what a test switches, locks or starts must not outlive it."""

from __future__ import annotations

import gc
import os
import random
import sys
import threading
from collections.abc import Iterator
from typing import Any

import hypothesis
import pytest

from tests import second_device  # noqa: F401  (registers the device "far" for all tests)
from tests.support import FAILED
from tinygrad_edu import backends, settings, sim
from tinygrad_edu.core import storage
from tinygrad_edu.observe import machine
from tinygrad_edu.tensor import random as tg_random

backends.get("sim")  # made now, so that tests over all devices find it

hypothesis.settings.register_profile("unhurried", deadline=None)  # another program's load is no fault of the code
hypothesis.settings.load_profile("unhurried")


# Who sets it draws the same cases again. Set here, it reaches the processes that tests are run in.
SEED = os.environ.setdefault("TINYGRAD_EDU_SEED", str(random.SystemRandom().randrange(10_000)))


def pytest_report_header() -> str:
    """Which cases are drawn."""
    return f"cases are drawn with TINYGRAD_EDU_SEED={SEED}; the others are slow"


@pytest.hookimpl(tryfirst=True)  # before those that are slow are left out
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of the cases of a test that is ``drawn(share)``, all but that share are slow; one is always drawn."""
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("drawn"):
            cases.setdefault(item.nodeid.split("[")[0], []).append(item)
    for name, found in cases.items():
        share = found[0].get_closest_marker("drawn").args[0]  # type: ignore[union-attr]
        random.Random(f"{SEED} {name}").shuffle(found)
        for item in found[max(1, round(share * len(found))) :]:
            item.add_marker(pytest.mark.slow)


@pytest.fixture(autouse=True, scope="module")
def widgets_are_closed() -> Iterator[None]:
    """Widgets live until they are closed: what the tests of a file made goes with it, and the tensors that it holds.

    Those that have a stand-in for the way to the browser are only forgotten.
    """
    before = set(_widgets())
    yield
    alive = _widgets()
    if made := set(alive) - before:
        from comm.base_comm import BaseComm

        for one in map(alive.pop, made):
            if isinstance(one.comm, BaseComm):
                one.close()
    gc.collect()


def _widgets() -> dict[str, Any]:
    """All that live, in a program that knows of widgets."""
    module = sys.modules.get("ipywidgets.widgets.widget")
    return {} if module is None else module._instances


@pytest.fixture
def draw(request: pytest.FixtureRequest) -> random.Random:
    """For a test that draws within."""
    return random.Random(f"{SEED} {request.node.nodeid}")


@pytest.fixture(autouse=True)
def the_simulated_machine_is_the_usual_one() -> Iterator[None]:
    """A test, or an example in the documentation, may choose another machine for itself."""
    yield
    if sim.machine().table != sim.Machine().table:
        gc.collect()
        sim.use("T4")


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


def locked() -> list[storage.Storage]:
    """Those that the guard holds, or will give back."""
    return [one for one in list(storage._STORAGES.values()) if one.lock() or one.restore]


@pytest.fixture(autouse=True)
def no_lock_leaks(request: pytest.FixtureRequest) -> Iterator[None]:
    """No array stays locked by the guard once the test's own names are gone."""
    before = {id(one): one for one in locked()}  # by what several tests share
    yield
    if request.node.stash.get(FAILED, False):
        return
    if any(id(one) not in before for one in locked()):  # graphs in a traceback or a cycle of the test itself
        gc.collect()
    assert [one for one in locked() if id(one) not in before] == []


@pytest.fixture(autouse=True)
def no_threads_left() -> Iterator[None]:
    """A test joins the threads that it starts."""
    before = set(threading.enumerate())
    yield
    left = {one for one in threading.enumerate() if one not in before}
    pools = ("asyncio_", "strips_")  # Playwright's, and that of compiled kernels: they stay
    left = {one for one in left if not one.name.startswith(pools)}
    for one in left:
        one.join(1.0)  # it may be ending: a pool that is gone wakes its threads to tell them so
    assert {one for one in left if one.is_alive()} == set()


@pytest.fixture(autouse=True)
def cuda_is_not_simulated() -> Iterator[None]:
    """For one test only: whatever imports `compat.torch` lets the simulated accelerator serve as "cuda"."""
    yield
    backends.simulate_cuda()()


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
