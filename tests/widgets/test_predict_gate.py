"""The gate's lock is real: before the commit the result exists nowhere."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tinygrad_edu_widgets.predict_gate as module
from tinygrad_edu_widgets import PredictGate, export_predictions

import tinygrad_edu as tg
from tinygrad_edu.errors import ArgumentError
from tinygrad_edu.views.predict import Outcome


@pytest.fixture(autouse=True)
def fresh_list() -> Iterator[None]:
    kept, module._PREDICTIONS[:] = list(module._PREDICTIONS), []
    yield
    module._PREDICTIONS[:] = kept


class Reveal:
    """Counts how often it is asked."""

    def __init__(self, *answers: Any) -> None:
        self.answers, self.calls = list(answers), 0

    def __call__(self) -> Any:
        self.calls += 1
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, BaseException):
            raise answer
        return answer


def everything(widget: PredictGate) -> str:
    """All that leaves Python, or can be read there."""
    bundle = widget._repr_mimebundle_()
    parts = (widget.get_state(), bundle, widget.html, repr(widget), widget.text(), widget.svg(), widget.to_html())
    return "".join(map(str, (*parts, widget.data(), vars(widget.state))))


SECRET = "7919"
KINDS: dict[str, tuple[Any, dict[str, Any], Any]] = {
    "choice": (SECRET, {"choices": ["one", "two", SECRET]}, "one"),
    "number": (7919.0, {"low": 0, "high": 10}, 3),
    "curve": ([7919.0, 7919.0], {"xs": [1, 2], "high": 10_000}, [0, 1]),
}


@pytest.mark.parametrize("kind", KINDS)
def test_before_the_commit_the_result_is_nowhere(kind: str) -> None:
    answer, offer, mine = KINDS[kind]
    reveal = Reveal(Outcome(answer, why="because of a secret", conditions="kept close"))
    widget = PredictGate("Which?", reveal, why="another secret", **offer)

    def hidden() -> bool:
        said = everything(widget)
        told = [word for word in ("7\u2009919", "secret", "kept close") if word in said]
        return told == [] and (kind == "choice" or SECRET not in said)

    assert hidden()
    widget.act("draft", mine)
    assert hidden()
    assert reveal.calls == 0
    assert not widget.committed
    assert export_predictions() == []
    widget.act("commit")
    assert reveal.calls == 1
    assert widget.committed
    assert not hidden()
    assert "because of a secret" in widget.html
    assert "kept close" in widget.html


def test_reasons_are_nowhere_before_the_commit_and_answer_each_wrong_choice_after_it() -> None:
    why = {"one": "It is not the first.", "two": "The grounds lie **here**."}
    widget = PredictGate("Which?", Reveal("two"), choices=["one", "two"], why=why)
    widget.act("draft", "one")
    assert not [words for words in ("not the first", "grounds lie") if words in everything(widget)]
    assert "Run this notebook to answer." in widget.svg()
    widget.act("commit")
    assert widget.data()["outcome"]["wrong"] == (("one", why["one"]),)
    for shown in (widget.html, widget.svg(), widget.text()):
        assert "It is not the first." in shown
        assert "Run this notebook" not in shown
    with pytest.raises(ArgumentError, match="the choices are one, two"):
        PredictGate("Which?", Reveal("two"), choices=["one", "two"], why={"three": ""})


def test_it_is_revealed_once_and_what_comes_later_is_ignored() -> None:
    reveal = Reveal(4)
    widget = PredictGate("How many?", reveal, high=10)
    widget.predict(3)
    shown = widget.html
    for act, value in (("commit", None), ("draft", 5), ("clear", None), ("draw", [1]), ("nudge", [0, 1])):
        widget.act(act, value)
    assert (reveal.calls, widget.html) == (1, shown)
    widget.act("reset")
    assert not widget.committed
    widget.predict(5)
    assert reveal.calls == 2
    assert [entry["predicted"] for entry in export_predictions()] == [3.0, 5.0]


def test_two_commits_at_once_reveal_once() -> None:
    reveal = Reveal(4)
    widget = PredictGate("How many?", reveal, high=10)
    widget.act("draft", 3)
    threads = [threading.Thread(target=widget.act, args=("commit",)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert reveal.calls == 1
    assert len(export_predictions()) == 1


def test_an_empty_prediction_cannot_be_committed() -> None:
    reveal = Reveal(4)
    widget = PredictGate("How many?", reveal)
    for empty in ("", None):
        widget.act("draft", empty)
        widget.act("commit")
    assert reveal.calls == 0
    assert not widget.committed


@pytest.mark.parametrize(
    "failure, words",
    [
        (ZeroDivisionError("division by zero"), "ZeroDivisionError: division by zero"),
        (AssertionError(), "AssertionError"),
        ("many", "ValueError: could not convert string to float: 'many'"),
        (float("nan"), "the result nan: the question asks for a finite number. Fix reveal()."),
        (None, "TypeError: float() argument must be a string or a real number, not 'NoneType'"),
    ],
)
def test_a_reveal_that_fails_leaves_the_prediction(failure: Any, words: str) -> None:
    reveal = Reveal(failure, 4)
    widget = PredictGate("How many?", reveal, high=10)
    widget.predict(3)
    assert not widget.committed
    assert widget.state.draft == 3.0
    assert widget._framed().text.endswith(f"▲ The result could not be computed. {words}")
    assert 'role="alert"' in widget.html
    assert export_predictions() == []
    widget.act("commit")
    assert widget.committed
    assert "▲" not in widget.text()


def test_results_become_plain_data() -> None:
    for found, offer, mine, value in (
        (np.float32(2.5), {}, 1, 2.5),
        (tg.tensor(2.5), {}, 1, 2.5),
        (np.array([0.5, 1.0]), {"xs": np.arange(2)}, np.array([0.0, 1.0]), (0.5, 1.0)),
        (tg.tensor([0.5, 1.0]), {"xs": range(2)}, [0, 1], (0.5, 1.0)),
        (2, {"choices": [1, 2]}, 1, "2"),
    ):
        widget = PredictGate("?", Reveal(found), **offer)
        widget.predict(mine)
        assert widget.committed, widget.text()
        assert widget.data()["outcome"]["value"] == value
        assert type(widget.data()["outcome"]["value"]) is type(value)
    json.dumps(export_predictions())


def test_predictions_are_exported_as_json(tmp_path: Path) -> None:
    PredictGate("Welche Größe?", Reveal(4), high=10).predict(3)
    PredictGate("Draw.", Reveal([1, 2]), xs=[0, 1], high=3).predict([0.5, 9])
    found = export_predictions(tmp_path / "mine.json")
    assert found == [
        {"question": "Welche Größe?", "predicted": 3.0, "result": 4.0},
        {"question": "Draw.", "predicted": (0.5, 9.0), "result": (1.0, 2.0)},
    ]
    written = (tmp_path / "mine.json").read_text(encoding="utf-8")
    assert "Größe" in written
    assert json.loads(written)[1] == {"question": "Draw.", "predicted": [0.5, 9.0], "result": [1.0, 2.0]}
    found[0]["question"] = "changed"
    assert export_predictions()[0]["question"] == "Welche Größe?"


def test_a_curve_is_drawn_nudged_and_drawn_again() -> None:
    widget = PredictGate("Draw.", Reveal([0, 0, 0]), xs=[0, 1, 2], low=-5, high=5)
    widget.act("draw", [0, 0.5, 2])
    assert widget.state.draft == (-5.0, 0.0, 5.0)
    widget.act("nudge", [1, 1])
    widget.act("nudge", [2, 1])
    assert widget.state.draft == (-5.0, 0.2, 5.0)
    widget.act("clear")
    assert widget.state.draft is None
    assert "Start level" in widget.html
    widget.act("level")
    assert widget.state.draft == (0.0, 0.0, 0.0)
    assert widget.html.count('role="slider"') == 6  # three points in each width


def test_refused_predictions_say_why() -> None:
    widget = PredictGate("?", Reveal("a"), choices=["a", "b"])
    widget.act("draft", "c")
    assert widget._framed().text.endswith("▲ the prediction 'c': the choices are a, b. Take one of these.")
    assert widget.state.draft is None
    widget.act("draft", "b")
    assert "▲" not in widget.text()


def test_the_reveal_runs_under_the_modes_of_its_maker() -> None:
    with tg.no_grad():
        widget = PredictGate("Is it on?", tg.is_grad_enabled, choices=["True", "False"])
    widget.predict("True")
    assert widget.data()["outcome"]["value"] == "False"


def test_a_gate_about_a_part_of_the_machine_says_which() -> None:
    def html(**about: Any) -> str:
        return PredictGate("Which?", lambda: "a", choices=["a", "b"], **about).html

    assert "The machine:" not in html()
    assert "Shown here: tensors, buffers." in html(about=["buffers", "tensors"])
    assert "Shown here: queue." in html(about="queue")
    with pytest.raises(ArgumentError, match="the stages are names, tensors, buffers, device, queue"):
        html(about=("stack",))
