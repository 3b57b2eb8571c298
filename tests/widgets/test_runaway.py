"""Learner's code that does not end, or that leaves switches as it likes: it can be stopped, and all is as before."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from tinygrad_edu_widgets import GuardLens, TimingRace, TipBrowser
from tinygrad_edu_widgets.base import EduWidget

import tinygrad_edu as tg
from tinygrad_edu.observe import stopping
from tinygrad_edu.observe.timing import measure
from tinygrad_edu.settings import modes
from tinygrad_edu.tensor.random import generator

LOOP = "while True: pass"
STUBBORN = "while True:\n    try:\n        while True: pass\n    except Exception: pass"


def switches() -> dict[str, Any]:
    m = modes()
    return {
        "collector": gc.isenabled(), "grad": m.grad, "guard": m.guard, "dtype": tg.get_default_dtype(),
        "device": tg.get_default_device(), "numpy": np.random.get_state()[1].tolist(),  # type: ignore[index]
        "ours": str(generator().bit_generator.state),
    }  # fmt: skip


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    before = switches()
    yield
    assert switches() == before
    assert len(measure(int, repeats=3).times) == 3, "nobody holds the clock"


def until(holds: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < end, what
        time.sleep(0.005)


def press(widget: EduWidget, act: str, value: Any = None) -> None:
    """As the browser does, which waits for no work."""
    widget._answer(act, value, patient=True)


def stop(widget: EduWidget) -> None:
    until(lambda: "halt" in widget.html, "Stop appears")
    assert "running" in widget.html
    thread = widget._work
    press(widget, "halt")
    until(lambda: not widget.working, "it ends")
    assert thread is not None
    thread.join(20)


@pytest.mark.parametrize(
    "code", [LOOP, STUBBORN, f"x = tg.ones(2, requires_grad=True)\nwith tg.no_grad():\n    {LOOP}"]
)
def test_the_guard_lens_stops_a_loop_and_keeps_what_was_typed(code: str) -> None:
    widget = GuardLens()
    press(widget, "edit")
    press(widget, "code", code)
    stop(widget)
    assert "it was stopped" in widget.text()
    assert code.splitlines()[-1] in widget.text()
    widget.act("code", "a = np.ones(2)")
    assert "stopped" not in widget.text()
    widget.act("reset")
    assert "y.backward()" in widget.text()


@pytest.mark.parametrize(
    "code", ["raise SystemExit(3)", "import sys; sys.exit()", "raise KeyError('mine')", "x = input()"]
)
def test_the_guard_lens_shows_what_ends_a_program(code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_input(*_: object) -> str:
        raise EOFError("nobody can answer")

    monkeypatch.setattr("builtins.input", no_input)
    widget = GuardLens()
    widget.act("code", code)
    assert "▲ Error" in widget.text()
    assert not widget.working


@pytest.fixture
def hanging(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """A call that does not return, as a long sleep or a huge product."""
    back = threading.Event()
    monkeypatch.setattr(stopping, "PATIENCE", 0.01)
    monkeypatch.setattr(stopping, "LIMIT", 0.2)
    monkeypatch.setattr(np, "hang", lambda: back.wait(20), raising=False)
    others = set(threading.enumerate())
    yield back
    back.set()
    for thread in set(threading.enumerate()) - others:
        thread.join(20)


def test_what_hangs_in_a_call_is_given_up_and_said_so(hanging: threading.Event) -> None:
    widget = GuardLens()
    press(widget, "code", "np.hang()")
    until(lambda: widget.progress is not None, "Stop appears")
    press(widget, "halt")
    until(lambda: not widget.working, "it is given up")
    assert "It was given up." in widget.text()
    assert "np.hang()" in widget.text(), "what was typed is kept"
    widget.act("code", "a = np.ones(2)")
    assert "a = np.ones(2)" in widget.text()


def test_a_race_that_hangs_lets_others_measure(hanging: threading.Event) -> None:
    race = TimingRace(lambda: hanging.wait(20), lambda: None)
    press(race, "draft", 1)
    press(race, "commit")
    until(lambda: not gc.isenabled(), "the race has begun")
    until(lambda: race.progress is not None, "Stop appears")
    press(race, "halt")
    until(lambda: not race.working, "it is given up")
    assert gc.isenabled()
    assert len(measure(int, repeats=3).times) == 3


def test_a_race_in_a_loop_is_stopped() -> None:
    def for_ever() -> None:
        while True:
            pass

    race = TimingRace(for_ever, int)
    press(race, "draft", 1)
    press(race, "commit")
    stop(race)
    assert race.data()["result"] is None


@pytest.mark.parametrize("where", ["def A(x, read_only):\n    while True: pass", f"{LOOP}\ndef A(x, read_only): pass"])
def test_a_tip_in_a_loop_is_stopped(where: str) -> None:
    widget = TipBrowser("share-storage")
    widget.predict(widget.tip.question.choices[0])
    press(widget, "edit")
    press(widget, "code:slow", where)
    press(widget, "run")
    stop(widget)
    assert "It was stopped." in widget.text()
    assert widget.result is None
    press(widget, "restore")
    assert widget.run() is not None


def test_reset_ends_a_loop_too() -> None:
    widget = TipBrowser("share-storage")
    widget.predict(widget.tip.question.choices[0])
    press(widget, "code:slow", "def A(x, read_only):\n    while True: pass")
    press(widget, "run")
    thread = widget._work
    press(widget, "reset")
    assert thread is not None
    thread.join(20)
    assert not thread.is_alive()


def test_two_widgets_do_not_disturb_each_other() -> None:
    first, second = GuardLens(), GuardLens()
    press(first, "code", LOOP)
    press(second, "code", "a = np.ones(3)\nb = a + 1")
    second.wait()
    assert "b = a + 1" in second.text()
    stop(first)
    assert "it was stopped" in first.text() and "stopped" not in second.text()
