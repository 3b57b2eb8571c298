"""Work that takes longer than an answer may: progress, Stop, and what becomes of its result."""

from __future__ import annotations

import dataclasses
import inspect
import threading
from typing import Any

import pytest
from tinygrad_edu_widgets import base
from tinygrad_edu_widgets.base import EduWidget, Tell

from tests.widgets.pages import check
from tinygrad_edu.errors import ArgumentError
from tinygrad_edu.settings import modes, no_grad
from tinygrad_edu.views import predict
from tinygrad_edu.views.frame import Frame


class Worker(EduWidget):
    """Counts to ten, a step each time that it is let."""

    def __init__(self, fail: BaseException | None = None) -> None:
        self.step, self.reached = threading.Semaphore(0), threading.Event()
        self.fail, self.found, self.grad = fail, None, True
        super().__init__()

    def frame(self) -> Frame:
        frame = predict.frame(predict.GateState(predict.question("How far?")))
        return dataclasses.replace(frame, text=f"found {self.found}")

    def _act(self, act: str, value: Any) -> None:
        if act == "go":
            self.work(self.count, self.keep)
        elif act == "leave":
            self.abandon()

    def count(self, tell: Tell) -> int:
        self.grad = modes().grad
        for i in range(10):
            if self.fail is not None:
                raise self.fail
            assert self.step.acquire(timeout=20)
            if not tell(i + 1, 10, 9.0 - i):
                return i + 1
            self.reached.set()
        return 10

    def keep(self, found: int) -> None:
        self.found = found

    def begin(self) -> None:
        self.act("go")
        self.one_step()

    def finish(self) -> None:
        self.step.release(9)
        self.wait(20)

    def one_step(self) -> None:
        self.reached.clear()
        self.step.release()
        assert self.reached.wait(20)


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "_PATIENCE", -1.0)


def test_an_act_is_answered_while_work_goes_on() -> None:
    widget = Worker()
    widget.act("go")
    assert (widget.answers, widget.working, widget.found) == (1, True, None)
    widget.one_step()
    widget.act("other")
    assert widget.answers == 2
    widget.finish()
    assert (widget.found, widget.working, widget.progress) == (10, False, None)
    assert "found 10" in widget.html


def test_progress_is_shown_and_goes_away() -> None:
    widget = Worker()
    widget.begin()
    page = check(widget.html, live=True)
    bar = next(e for e in page.elements if e.attributes.get("role") == "progressbar")
    assert (bar.attributes["aria-valuenow"], bar.attributes["aria-valuemax"]) == ("1", "10")
    assert "1 of 10, about 9.00 s left" in widget.html
    assert ("halt", None) in page.acts()
    assert "stale" in widget.html
    widget.finish()
    assert "progressbar" not in widget.html
    assert "stale" not in widget.html


def test_quick_work_shows_no_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "_PATIENCE", 60.0)
    widget = Worker()
    widget.begin()
    assert widget.progress is None
    widget.finish()


def test_stop_takes_effect_at_the_next_step() -> None:
    widget = Worker()
    widget.begin()
    widget.act("halt")
    assert widget.working
    widget.step.release()
    widget.wait(20)
    assert widget.found == 2


def test_stop_without_work_is_no_harm() -> None:
    widget = Worker()
    widget.act("halt")
    assert widget.answers == 1
    widget.wait(1)


def test_only_one_work_at_a_time() -> None:
    widget = Worker()
    widget.begin()
    first = widget._work
    widget.act("go")
    assert widget._work is first
    widget.finish()


def test_abandoned_work_is_forgotten() -> None:
    widget = Worker()
    widget.begin()
    thread = widget._work
    assert thread is not None
    widget.act("leave")
    assert not widget.working
    assert "progressbar" not in widget.html
    widget.step.release()
    thread.join(20)
    assert (widget.found, widget.progress) == (None, None)


def test_work_runs_under_the_settings_of_the_widget() -> None:
    with no_grad():
        widget = Worker()
    widget.step.release(10)
    widget.act("go")
    widget.wait(20)
    assert widget.grad is False
    assert modes().grad


@pytest.mark.parametrize(
    "error, words",
    [
        (
            ZeroDivisionError("by nothing"),
            "The work ended with an error: ZeroDivisionError: by nothing (test_work.py, line LINE). "
            "Change what was run, and run it again.",
        ),
        (
            SystemExit(3),  # or it would be at work for ever
            "The work ended with an error: SystemExit: 3 (test_work.py, line LINE). "
            "Change what was run, and run it again.",
        ),
        (ArgumentError("the size 0", "it is none", "take 1"), "the size 0: it is none. Take 1."),
    ],
)
def test_work_that_fails_says_so_and_can_begin_again(error: BaseException, words: str) -> None:
    widget = Worker(error)
    widget.act("go")
    widget.wait(20)
    line = inspect.getsourcelines(Worker.count)[1] + 4
    assert widget._framed().text.endswith(f"▲ {words.replace('LINE', str(line))}")
    assert 'role="alert"' in widget.html
    widget.fail = None
    widget.step.release(10)
    widget.act("go")
    widget.wait(20)
    assert widget._framed().text == "found 10"


def test_waiting_has_an_end() -> None:
    widget = Worker()
    widget.act("go")
    with pytest.raises(TimeoutError, match=r"Worker has been at work for 0\.01 s"):
        widget.wait(0.01)
    widget.step.release(10)
    widget.wait(20)
