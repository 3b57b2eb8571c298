"""The cell magic %%advise: the report stands in place of the cell's value."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import tinygrad_edu as tg

pytest.importorskip("IPython")
from IPython.core.compilerop import CachingCompiler
from IPython.core.error import UsageError
from IPython.core.inputtransformer2 import TransformerManager
from tinygrad_edu_widgets.advice_magic import AdviceMagics


@pytest.fixture
def shell() -> Any:
    names = {"tg": tg, "x": tg.rand(64, 8), "model": tg.nn.Linear(8, 2)}
    compiler, transform = CachingCompiler(), TransformerManager().transform_cell
    return SimpleNamespace(user_ns=names, compile=compiler, transform_cell=transform, execution_count=1)


CELL = "with tg.no_grad():\n    answers = [model(x[i : i + 1]) for i in range(64)]\n"


def test_the_report(shell: Any) -> None:
    report = AdviceMagics(shell).advise("", CELL).report
    assert [one.slug for one in report] == ["vectorise"]
    assert len(shell.user_ns["answers"]) == 64
    assert "line 3: answers" in report[0].line  # the first one is that of the magic
    shown = report._repr_markdown_()
    assert shown.count('\n| **Call the model once, for all samples**<br>`TipBrowser("vectorise")` | `') == 1
    assert "linear ran 64 times in a step, each time for one row" in shown


def test_nothing_applies(shell: Any) -> None:
    report = AdviceMagics(shell).advise("", "model(x)").report
    assert report._repr_markdown_() == report.text()
    assert "No tip applies that shows in a run" in report.text()


def test_an_error_in_the_cell(shell: Any, capsys: Any) -> None:
    with pytest.raises(ZeroDivisionError):
        AdviceMagics(shell).advise("", CELL + "1 / 0\n")
    assert "1 tip applies" in capsys.readouterr().out


def test_what_it_takes(shell: Any) -> None:
    with pytest.raises(UsageError, match="it takes nothing after it"):
        AdviceMagics(shell).advise("now", "model(x)")


def test_habits_that_can_be_left_out_are_measured(shell: Any, capsys: Any) -> None:
    cell = (
        "from tinygrad_edu.data import Chores, DataLoader\n"
        "for batch in DataLoader(Chores(24, 'waits', 5), batch_size=4):\n    print('read')\n"
    )
    (one,) = AdviceMagics(shell).advise("--measure", cell).report
    assert one.again is not None and one.again.before > 1.5 * one.again.after
    assert capsys.readouterr().out == "read\n" * 6
