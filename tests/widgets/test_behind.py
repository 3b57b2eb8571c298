"""A picture behind a gate: closed until the commit, closed again by *Ask again*, folded in a saved notebook."""

from __future__ import annotations

import base64
import re
from typing import Any

import pytest
from tinygrad_edu_widgets import Behind, BufferMap, PredictGate, TimingRace

import tinygrad_edu as tg
from tinygrad_edu.errors import ArgumentError


def behind() -> Behind:
    x = tg.arange(12.0).reshape(3, 4)
    gate = PredictGate("Is a slice a copy?", lambda: "no", choices=["yes", "no"])
    return Behind(gate, BufferMap(x=x, s=x[1:]))


def test_it_opens_with_the_commit_and_closes_with_ask_again() -> None:
    both = behind()
    assert (both.opened, both.children) == (False, (both.gate,))
    both.gate.act("draft", "yes")
    assert not both.opened
    both.gate.act("commit")
    assert both.children == (both.gate, both.picture)
    both.gate.act("reset")
    assert not both.opened


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


def test_what_is_saved_shows_the_question_and_folds_the_picture() -> None:
    both = behind()
    bundle = both._repr_mimebundle_()
    assert "Run this notebook to answer." in bundle["image/svg+xml"]
    assert bundle["text/plain"] == repr(both.gate)
    before, folded = bundle["text/html"].split("<details>")
    pictures = [base64.b64decode(found).decode() for found in re.findall('base64,([^"]+)', bundle["text/html"])]
    assert pictures == [both.gate.svg(), both.picture.svg()]
    assert "buffer A" not in before
    assert "share" not in before
    assert "buffer A on cpu: 48 bytes" in folded
    assert folded.startswith("<summary>")


@pytest.mark.parametrize("gate, picture", [(3, 4), (None, BufferMap(x=tg.ones(2)))])
def test_what_is_no_gate_is_refused(gate: Any, picture: Any) -> None:
    with pytest.raises(ArgumentError, match="give a PredictGate or a TimingRace"):
        Behind(gate, picture)
    with pytest.raises(ArgumentError, match="it is a widget of this package"):
        Behind(behind().gate, "picture")
