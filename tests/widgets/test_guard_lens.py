"""The guard lens: switching, walking, editing."""

from __future__ import annotations

from typing import Any

import pytest
from tinygrad_edu_widgets import GuardLens

from tests.support import teaches
from tinygrad_edu.errors import ArgumentError


def marked(widget: GuardLens) -> str:
    return next(line for line in widget.text().splitlines() if line.startswith(">"))


def test_switching_keeps_the_line() -> None:
    widget = GuardLens()
    assert marked(widget) == "> 4 a[0] = 10.0   # refused"
    widget.act("guard", "off")
    assert marked(widget) == "> 4 a[0] = 10.0   # allowed"
    assert "t.grad  [20, 4, 6]  wrong" in widget.text()
    widget.act("guard", "on")
    assert marked(widget) == "> 4 a[0] = 10.0   # refused"


def test_walking_stops_at_the_ends() -> None:
    widget = GuardLens()
    for _ in range(9):
        widget.act("up")
    assert marked(widget) == "> 1 a = np.array([1., 2., 3.])"
    for _ in range(9):
        widget.act("down")
    assert marked(widget) == "> 6 a[0] = 10.0   # allowed"
    widget.act("row", "99")
    assert widget.state.row == 5
    widget.act("row", "2")
    assert marked(widget) == "> 3 y = (t * t).sum()   # a locked"


def test_the_code_is_edited_and_reset() -> None:
    widget = GuardLens(guard="off")
    widget.act("edit")
    assert "<textarea" in widget.html
    widget.act("code", "a = np.ones(2)\na[0] = <5")
    assert "▲ Error in line 2" in widget.text()
    assert "a[0] = &lt;5</textarea>" in widget.html
    widget.act("code", "a = np.ones(2)\na[0] = 5")
    assert marked(widget).startswith("> 2 a[0] = 5")
    assert widget.state.guard == "off"
    widget.act("edit")
    assert "<textarea" not in widget.html
    widget.act("reset")
    assert "y.backward()" in widget.text()
    assert widget.state.guard == "off"


def test_code_of_ones_own() -> None:
    widget = GuardLens("\n\nx = tg.ones(2)\n", ask="Which?")
    assert widget._framed().text.splitlines()[1] == "> 1 x = tg.ones(2)"
    assert "Which?" in widget.html
    assert set(widget.data()) == {"on", "off", "guard", "row"}


@pytest.mark.parametrize("guard", ["maybe", "", "On", None, True, ["on"]])
def test_a_guard_that_is_neither_on_nor_off_is_refused(guard: Any) -> None:
    with teaches(ArgumentError, f"guard={guard!r}", "the guard is on or off", 'give guard="on" or guard="off"'):
        GuardLens(guard=guard)
    widget = GuardLens()
    widget.act("guard", guard)
    assert widget._framed().text.endswith('the guard is on or off. Give guard="on" or guard="off".')
    assert widget.state.guard == "on"


def test_a_program_is_a_text() -> None:
    with teaches(ArgumentError, "GuardLens(code=3)", "code is a text", 'write code="…"'):
        GuardLens(3)  # type: ignore[arg-type]
