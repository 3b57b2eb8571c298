"""A picture behind a gate: folded until the commit, folded again by *Ask again*, and in a saved notebook."""

from __future__ import annotations

import base64
import re
from typing import Any

import pytest
from tinygrad_edu_widgets import Behind, BufferMap, PredictGate, TimingRace
from tinygrad_edu_widgets.behind import Folded

import tinygrad_edu as tg
from tinygrad_edu.errors import ArgumentError


def behind() -> Behind:
    x = tg.arange(12.0).reshape(3, 4)
    gate = PredictGate("Is a slice a copy?", lambda: "no", choices=["yes", "no"])
    return Behind(gate, BufferMap(x=x, s=x[1:]))


def test_it_opens_with_the_commit_and_closes_with_ask_again() -> None:
    both = behind()
    assert isinstance(both.shown(), Folded)
    both.gate.act("draft", "yes")
    assert not both.opened
    both.gate.act("commit")
    assert both.shown() is both.picture
    both.gate.act("reset")
    assert isinstance(both.shown(), Folded)


def test_a_race_is_a_gate_too() -> None:
    race = TimingRace(lambda: 1, lambda: 1, budget=0.01)
    both = Behind(race, BufferMap(x=tg.ones(2)))
    assert not both.opened
    race.predict(2)
    assert both.opened


def test_a_gate_that_is_committed_already_hides_nothing() -> None:
    gate = behind().gate
    gate.predict("no")
    assert Behind(gate, BufferMap(x=tg.ones(2))).opened


class Places:
    """Stands for the notebook: what it was told to show, and to show instead."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.outputs: list[tuple[str, Any]] = []
        monkeypatch.setattr("tinygrad_edu_widgets.behind.show", lambda what: self.outputs.append(("show", what)))
        monkeypatch.setattr("tinygrad_edu_widgets.behind.place_in_notebook", lambda: self)

    def display(self, what: Any) -> None:
        self.outputs.append(("show", what))

    def update(self, what: Any) -> None:
        self.outputs.append(("instead", what))


def test_the_place_below_the_gate_is_filled_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    both, places = behind(), Places(monkeypatch)
    both._ipython_display_()
    (_, gate), (_, folded) = places.outputs
    assert gate is both.gate
    assert isinstance(folded, Folded)
    both.gate.predict("yes")
    assert places.outputs[2:] == [("instead", both.picture)]
    both.gate.act("reset")
    assert isinstance(places.outputs[3][1], Folded)
    assert len(places.outputs) == 4


def test_what_is_saved_folds_the_picture_with_its_text() -> None:
    both = behind()
    folded = both.folded()._repr_html_()
    assert repr(both.folded()) == "After your prediction: what happened (folded)"
    assert folded.startswith("<details><summary>After your prediction")
    (picture,) = (base64.b64decode(found).decode() for found in re.findall('base64,([^"]+)', folded))
    assert picture == both.picture.svg()
    assert "buffer A on cpu: 48 bytes" in folded
    assert repr(both) == "Behind(PredictGate, BufferMap)"


@pytest.mark.parametrize("gate", [3, None, BufferMap(x=tg.ones(2))])
def test_what_is_no_gate_is_refused(gate: Any) -> None:
    with pytest.raises(ArgumentError, match="give a PredictGate or a TimingRace"):
        Behind(gate, BufferMap(x=tg.ones(2)))
    with pytest.raises(ArgumentError, match="it is a widget of this package"):
        Behind(behind().gate, "picture")
