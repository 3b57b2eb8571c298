"""AdviceReport: tips chosen, one opened at the program's sizes and run inside it, and the way back."""

from __future__ import annotations

import pytest
from tinygrad_edu_widgets import AdviceReport, TipBrowser

import tinygrad_edu as tg
from tests.widgets.test_every_widget import advised
from tinygrad_edu import tips
from tinygrad_edu.errors import ArgumentError


def test_rows_are_chosen() -> None:
    widget = advised()
    assert "**" not in widget.text() and "▸ 1. Call the model once" in widget.text()
    widget.act("step")
    assert widget.at == 1 and "run again: 2.00 ms as written, 1.00 ms without (simulated): 2.0×" in widget.text()
    widget.act("back")
    widget.act("pick", 2)
    assert widget.at == 2 and "memory that grows with every step" in widget.html
    with pytest.raises(KeyError, match="has no such control"):
        widget.act("commit")


def test_a_tip_opens_at_the_programs_sizes_and_runs_there() -> None:
    widget = advised()
    widget.act("open")
    browser = widget.opened
    assert isinstance(browser, TipBrowser) and browser.slug == "vectorise"
    assert browser.tip.setting(browser.state.visit.setting)["n"] == 64
    assert "Back to the report" in widget.html and widget.text() == browser.text()
    question = browser.tip.question
    widget.act("draft", question.choices[0])  # type: ignore[index]
    widget.act("commit")
    assert browser.committed
    widget.act("run")
    browser.wait(60)
    assert browser.result is not None and browser.result.setting["n"] == 64
    assert browser.result.verdict in widget.html, "what runs in its own thread is shown"
    widget.act("report")
    assert widget.opened is None and "▸ 1. Call the model once" in widget.text()
    widget.act("open")
    assert widget.opened is not browser


def test_what_a_tip_refuses_is_shown_and_the_way_back_stays() -> None:
    widget = advised()
    widget.act("open")
    widget.act("draft", "nothing")
    assert "Back to the report" in widget.html and "it is not one of the choices" in widget.text()


def test_a_run_can_be_stopped() -> None:
    widget = advised()
    widget.act("open")
    widget.act("halt")
    assert widget.opened is not None and not widget.opened.working


def test_its_own_program() -> None:
    x, model = tg.rand(64, 8), tg.nn.Linear(8, 2)
    with tips.advise() as report, tg.no_grad():
        [model(x[i : i + 1]) for i in range(64)]
    widget = AdviceReport(report, ask="What is slow?")
    assert widget.text().startswith("AdviceReport: What is slow?") and "linear ran 64 times" in widget.text()
    assert repr(widget) == "AdviceReport: 1 tip applies: vectorise" and widget.data()["found"][0]["slug"] == "vectorise"
    with pytest.raises(ArgumentError, match=r"with tips.advise\(\) as report"):
        AdviceReport([1])
