"""The fold at the end of a lesson."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from tinygrad_edu_widgets import BroadcastLab

from tinygrad_edu.lessons import REASONS, answers


def test_it_marks_the_right_choice_and_gives_every_reason() -> None:
    found = answers(twice="Twice: `w.grad`?", stride="One number?")._repr_html_()
    said = REASONS["twice"]
    assert isinstance(said, dict)
    assert [choice for choice in said if f"✓ <em>{choice}</em>" in found] == ["12"]
    assert [choice for choice in said if f"✗ <em>{choice}</em>" in found] == ["0", "6", "36"]
    assert "<strong>Twice: <code>w.grad</code>?</strong>" in found
    assert "<b>lines of 64 bytes</b>" in found


def test_it_is_closed_and_holds_pictures_and_text() -> None:
    made = answers(BroadcastLab((3, 1), (1, 4), predict=False), "1 < 2", twice="Twice?")
    found = made._repr_html_()
    assert found.startswith("<details><summary>Open this at the end") and found.endswith("</details>")
    assert ">1 &lt; 2</pre>" in found
    assert 'src="data:image/svg+xml;base64,' in found and "∂a" in found
    assert repr(made) == "1 answer, with reasons, in a fold"
    HTMLParser().feed(found)


def test_an_unknown_reason_is_refused() -> None:
    with pytest.raises(KeyError, match="nothing"):
        answers(nothing="?")._repr_html_()
