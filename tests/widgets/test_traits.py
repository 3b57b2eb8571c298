"""What part of a widget's state can be observed and linked as a trait, and what setting that trait does."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest
import traitlets
from tinygrad_edu_widgets import PredictGate
from tinygrad_edu_widgets.base import EduWidget

from tinygrad_edu.errors import ArgumentError
from tinygrad_edu.views.frame import Frame


class Dial(EduWidget):
    """A number from 0 to 9."""

    mirrors: ClassVar[dict[str, str]] = {"place": "turn"}
    place = traitlets.Int(0).tag(sync=True)

    def __init__(self, at: int = 0) -> None:
        self.at = at
        super().__init__()

    def mirrored(self) -> dict[str, Any]:
        return {"place": self.at}

    def frame(self) -> Frame:
        return PredictGate("?", lambda: 1).frame()

    def _act(self, act: str, value: Any) -> None:
        if act != "turn":
            raise KeyError(act)
        if not 0 <= value <= 9:
            raise ArgumentError(f"place = {value}", "a dial has ten places", "choose one from 0 to 9")
        self.at = value


def test_a_trait_shows_the_state_from_the_start_and_after_each_act() -> None:
    dial = Dial(3)
    seen: list[int] = []
    dial.observe(lambda change: seen.append(change["new"]), "place")
    assert dial.place == 3
    dial.act("turn", 5)
    assert (dial.place, seen) == (5, [5])


def test_setting_a_trait_does_its_act_once() -> None:
    dial = Dial()
    dial.place = 4
    assert (dial.at, dial.place, dial.answers) == (4, 4, 1)


def test_a_trait_never_takes_a_refused_value_and_the_widget_says_why() -> None:
    dial = Dial(2)
    dial.place = 12
    assert (dial.at, dial.place) == (2, 2)
    assert "a dial has ten places" in dial.text()


def test_two_widgets_can_be_linked() -> None:
    one, two = Dial(1), Dial(7)
    link = traitlets.link((one, "place"), (two, "place"))
    assert two.at == 1
    two.act("turn", 6)
    assert one.at == 6
    for other in (one, two):
        other.place = 99
        assert (one.place, one.at, two.place, two.at) == (6, 6, 6, 6)
    link.unlink()


def test_the_browser_can_set_a_trait() -> None:
    dial = Dial()
    dial.set_state({"place": 8})
    assert (dial.at, dial.place) == (8, 8)
    dial.set_state({"place": 12})
    assert (dial.at, dial.place) == (8, 8)
    assert "a dial has ten places" in dial.html


def test_a_value_of_another_kind_is_refused_by_the_trait() -> None:
    dial = Dial()
    with pytest.raises(traitlets.TraitError):
        dial.place = "far"
    assert dial.at == 0
