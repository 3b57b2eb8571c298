"""Roofline: predicting, running on either machine, picking."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from tinygrad_edu_widgets import Roofline

import tinygrad_edu as tg
from tinygrad_edu import sim
from tinygrad_edu.common.wording import seconds_text
from tinygrad_edu.compiler import cost_of
from tinygrad_edu.errors import ArgumentError
from tinygrad_edu.observe.roofline import simulated
from tinygrad_edu.views.roofline.words import FAILED, HIDDEN


@pytest.fixture(autouse=True)
def t4() -> Iterator[None]:
    sim.use("T4")
    yield
    sim.use("T4")


class Counted:
    """A program that counts on which devices it was run."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def __call__(self, device: str) -> None:
        self.calls.append(device)
        x = tg.ones(200, 200, device=device)
        (x @ x).relu()


def test_nothing_runs_before_the_commit() -> None:
    run = Counted()
    widget = Roofline(run, machine="T4")
    widget.act("draft", "moving its bytes")
    widget.act("machine", "A100")
    assert run.calls == [] and HIDDEN in widget.text() and "FLOP/s" not in widget.text()
    widget.act("commit")
    assert run.calls == ["sim"] * 4 and widget.committed
    assert "A100: 19.5 TFLOP/s" in widget.text() and widget.state.result is not None
    assert sim.machine().preset == "T4"


def test_it_is_run_on_the_machine_that_is_chosen_and_never_on_both() -> None:
    run = Counted()
    widget = Roofline(run, shown=True)
    widget.wait()
    assert set(run.calls) == {"cpu"} and "measured" in widget.html
    run.calls.clear()
    widget.act("machine", "H100")
    assert set(run.calls) == {"sim"} and "H100: 67.0 TFLOP/s" in widget.text() and "this machine:" not in widget.text()
    run.calls.clear()
    widget.act("run")
    widget.wait()
    assert run.calls == ["sim"] * 4


def test_a_prediction_is_judged_for_its_machine() -> None:
    widget = Roofline(Counted(), machine="T4")
    widget.predict("moving its bytes")
    told = widget.text().splitlines()[1]
    assert "redicted: " in told
    widget.act("machine", "laptop")
    assert widget.text().splitlines()[1].startswith("Result: ")


def test_operations_are_picked() -> None:
    widget = Roofline(Counted(), machine="T4", shown=True)
    assert "operation 1, matmul" in widget.text()
    widget.act("pick", 1)
    assert "operation 2, " in widget.text()
    widget.act("pick", 7)
    assert "there is no such one" in widget.text()
    widget.act("reset")
    assert HIDDEN in widget.text()


def test_without_a_device_it_is_for_this_machine_alone() -> None:
    x = tg.ones(50, 50)
    widget = Roofline(lambda: x @ x, shown=True)
    widget.wait()
    assert "matmul" in widget.text() and ">T4<" not in widget.html
    with pytest.raises(ArgumentError, match="it does not take the device"):
        Roofline(lambda: x @ x, machine="T4")


def test_what_fails_leaves_no_other_picture() -> None:
    def fails(device: str) -> None:
        if device == "sim":
            raise ValueError("not here")
        tg.ones(9) + 1

    widget = Roofline(fails, shown=True)
    widget.wait()
    widget.act("machine", "T4")
    assert widget.state.result is None and FAILED in widget.text() and "ValueError: not here" in widget.text()
    widget.act("machine", "this machine")
    assert widget.state.result is not None


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"run": 3}, "run is a function of the device"),
        ({"run": lambda a, b: a}, "it takes the device, or nothing"),
        ({"run": Counted(), "machine": "abacus"}, "there is no such machine"),
    ],
)
def test_what_cannot_be_shown_is_refused(given: dict[str, object], why: str) -> None:
    with pytest.raises(ArgumentError, match=why):
        Roofline(**given)  # type: ignore[arg-type]


# As written, and compiled --------------------------------------------------------------------------------------------


def softmax(x: tg.Tensor, w: tg.Tensor) -> tg.Tensor:
    h = ((x @ w) * 0.5 + 1.0).exp()
    return h / h.sum(1, keepdim=True)


class OnDevice:
    """The same on one device, with tensors that were there before. It notes how often it is run as written."""

    def __init__(self, device: str) -> None:
        self.x, self.w = tg.rand(64, 128, device=device), tg.rand(128, 128, device=device)

    def __call__(self, device: str) -> tg.Tensor:
        return softmax(self.x, self.w)


def test_both_forms_are_drawn_and_told() -> None:
    widget = Roofline(OnDevice("sim"), machine="T4", shown=True)
    assert "compiled" not in widget.text() and ">compiled<" in widget.html
    written = widget.state.result
    widget.act("form", "compiled")
    state, told = widget.state, widget.text()
    assert state.result is not None and state.other == written and state.result.compiled and widget.form == "compiled"
    both = [f"{one.count} kernels, {seconds_text(one.whole)} a run" for one in (state.other, state.result)]  # type: ignore[union-attr]
    assert f"as written {both[0]}; compiled {both[1]}" in told
    assert "filled: compiled; hollow: as written" in told and repr(widget) == widget.frame().text
    assert simulated(lambda: tg.compile(softmax)(widget._run_on.x, widget._run_on.w), "T4", True) == state.result  # type: ignore[attr-defined]
    widget.act("form", "as written")
    assert widget.state.result == written and widget.state.other == state.result
    assert "filled: as written; hollow: compiled" in widget.text()
    assert f"as written {both[0]}; compiled {both[1]}" in widget.text(), "in the same order"


def test_what_is_known_is_not_run_again_and_the_recording_is_not_measured() -> None:
    run = OnDevice("cpu")
    widget = Roofline(run, shown=True)
    widget.wait()
    widget.act("form", "compiled")
    program = widget._program._run
    (trace,) = program.ledger
    assert trace.calls == 2 + 1 + 2 * 9, "made, tried, warmed, and nine times unwatched and watched"
    for form in ("as written", "compiled"):
        widget.act("form", form)
    assert trace.calls == 21
    widget.act("run")
    assert len(program.ledger) == 1 and trace.calls == 21 + 1 + 1 + 18, "it is compiled once"
    assert widget.state.result is not None and widget.state.other is not None
    assert widget.state.result.peaks.rate == widget.state.other.peaks.rate, "one roof"


def test_a_saved_notebook_has_counts_and_no_times() -> None:
    run = OnDevice("cpu")
    widget = Roofline(lambda: run("cpu"), shown=True)
    widget.wait()
    widget.act("form", "compiled")
    kernels = cost_of(widget._program._run.ledger[0].programs[0]).launches
    assert repr(widget) == f"Roofline: measured; as written 6 operations of forward; compiled {kernels} kernels"
    assert f"program of {kernels} kernels takes 100 % of the programs' time" in widget.text()
    assert re.search(r"as written 6 operations of forward, \d\S* [mnµ]?s a run; compiled", widget.text())
    assert "of each program as a whole" in widget.html


def test_another_machine_has_both_forms_too() -> None:
    widget = Roofline(OnDevice("sim"), machine="T4", shown=True)
    widget.act("form", "compiled")
    widget.act("machine", "A100")
    state = widget.state
    assert state.result is not None and state.other is not None and state.form == "compiled"
    assert state.result.compiled and not state.other.compiled
    assert state.result.peaks.rate == state.other.peaks.rate == sim.Machine("A100")["float32"]
    widget.act("reset")
    assert widget.form == "as written" and widget.state.result is None and widget.state.other is None


def test_a_prediction_is_for_the_function_as_written() -> None:
    widget = Roofline(OnDevice("sim"), machine="T4")
    widget.predict("its arithmetic")
    assert "redicted" in widget.text().splitlines()[1]
    widget.act("form", "compiled")
    assert widget.text().splitlines()[1].startswith("Result: ")
    widget.act("form", "as written")
    assert "redicted" in widget.text().splitlines()[1]


X = tg.rand(16, 16)


def reads() -> tg.Tensor:
    return X * X.sum().item()


def prints() -> tg.Tensor:
    print(end="")
    return X * 2.0


def draws() -> tg.Tensor:
    return X * float(np.random.rand())


def keeps_nothing() -> None:
    X @ X


@pytest.mark.parametrize(
    ("run", "why"),
    [
        (reads, "reading a traced value (item, numpy, print): a replay would not ask again"),
        (prints, "print"),
        (draws, "random numbers of Python or NumPy: the numbers drawn now would be those of every later call"),
        (keeps_nothing, "a roofline of the compiled function: nothing of it is left to run"),
        (Counted(), "a change of Python"),
    ],
)
def test_what_cannot_be_compiled_says_why_and_stays_as_written(run: Any, why: str) -> None:
    widget = Roofline(run, shown=True)
    widget.wait()
    before = widget.state.result
    widget.act("form", "compiled")
    assert widget.state.result == before and widget.form == "as written" and widget.state.other is None
    assert f"▲ {why}" in widget.text() and 'role="alert"' in widget.html
    widget.act("pick", 0)
    assert "▲" not in widget.text()


def test_a_function_that_is_watched_is_not_called_compiled() -> None:
    run = OnDevice("cpu")
    with tg.amp.autocast("cpu", dtype=tg.bfloat16):
        widget = Roofline(lambda: run("cpu"), shown=True)
        widget.wait()
    widget.act("form", "compiled")
    assert widget.form == "as written" and "it ran as it is written: somebody watches each operation" in widget.text()


def test_a_form_that_there_is_not_is_refused() -> None:
    widget = Roofline(OnDevice("sim"), machine="T4")
    widget.act("form", "faster")
    assert "the form 'faster': there is no such form. Take one of as written, compiled." in widget.text()
    widget.form = "compiled"
    widget.act("show")
    widget.wait()
    assert widget.state.result is not None and widget.state.result.compiled and widget.state.other is not None


def test_the_compiled_form_can_be_left_out() -> None:
    widget = Roofline(OnDevice("sim"), machine="T4", shown=True, compiled=False)
    assert ">compiled<" not in widget.html
    widget.act("form", "compiled")
    assert "there is no such form" in widget.text() and widget.state.form == "as written"
