"""Roofline: predicting, running on either machine, picking."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tinygrad_edu_widgets import Roofline

import tinygrad_edu as tg
from tinygrad_edu import sim
from tinygrad_edu.errors import ArgumentError
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
