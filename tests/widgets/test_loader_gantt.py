"""LoaderGantt: settings, a prediction, a run; one's own data set; and the magic for the loops of a cell."""

from __future__ import annotations

from typing import Any

import pytest
from tinygrad_edu_widgets import LoaderGantt

from tests.support import run_python
from tinygrad_edu.data import Chores, DataLoader
from tinygrad_edu.data.timeline import passes
from tinygrad_edu.errors import ArgumentError
from tinygrad_edu.views import loading


def test_a_prediction_is_committed_and_the_loop_runs() -> None:
    widget = LoaderGantt(workers=0)
    assert widget.stalled is None and not widget.committed and "after you commit" in widget.text()
    widget.predict(40)
    assert widget.committed and 0.5 < (widget.stalled or 0) < 1, "16 ms to read, 6 to use"
    assert "you said 40 %" in widget.text() and "**" not in widget.text()
    assert len(widget.state.runs) == 3 and len(widget.data()["runs"][0]["passes"]) == 2
    widget.act("workers", 2)
    assert not widget.committed and "belongs to another setting" in widget.text()
    widget.act("reset")
    assert widget.stalled is None


def test_kept_threads_start_once() -> None:
    widget = LoaderGantt()
    for act, value in {"kind": "thread", "kept": "on"}.items():
        widget.act(act, value)
    widget.predict(10)
    run = widget.state.run
    assert run is not None and [len(one.starts) for one in run.passes] == [2, 0]


def test_ones_own_data_set_and_step() -> None:
    used: list[Any] = []
    widget = LoaderGantt(Chores(6, "Python", 0), used.append, batch_size=3, workers=0, drop_last=True)
    assert "For which share of the time does the loop wait" in widget.text() and "a sample" not in widget.text()
    widget.predict(50)
    assert len(used) == 2 * (1 + 3 * 2)
    widget.act("again")
    widget.wait()
    assert len(used) == 4 * (1 + 3 * 2)


def test_without_a_question_it_runs_at_once() -> None:
    widget = LoaderGantt(Chores(6, "waits", 1), workers=0, predict=False)
    assert widget.stalled is not None and "you said" not in widget.text()


def test_a_step_that_fails_is_shown_and_the_prediction_is_open() -> None:
    widget = LoaderGantt(Chores(4), lambda batch: 1 // 0, workers=0)
    widget.predict(50)
    assert "it raised ZeroDivisionError" in widget.text() and not widget.committed


@pytest.mark.parametrize("given, why", [
    ({"workers": 9}, "it is how many read ahead"), ({"dataset": iter(())}, "a length"), ({"step": 3}, "step is called"),
    ({"batch_size": 0}, "a batch has at least one sample"), ({"ask": 3}, "ask is a text"),
    ({"dataset": range(4), "sampler": [1], "shuffle": True}, "both decide the order"),
])  # fmt: skip
def test_arguments_that_do_not_fit(given: dict[str, Any], why: str) -> None:
    with pytest.raises(ArgumentError, match=why):
        LoaderGantt(**given)


SHELL = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
loop = "for batch in DataLoader(Chores(6, 'waits', 1), 2): pass"
shell.run_cell("%load_ext tinygrad_edu_widgets\\nfrom tinygrad_edu.data import Chores, DataLoader")
shell.run_cell("w = get_ipython().run_cell_magic('loader', '', " + repr(loop + "\\n" + loop) + ")")
shell.run_cell("print([len(one.pieces) for one in w.state.runs[0].passes], batch[1].tolist())")
shell.run_cell("print(w.text())")
shell.run_cell("%%loader\\n1 + 1")
shell.run_cell("%%loader\\n" + loop.replace("pass", "break"))
shell.run_cell("%%loader quickly\\n1")
shell.run_cell("%%loader\\nx = (")
"""


def test_the_magic_in_a_shell() -> None:
    done = run_python(SHELL, "-W", "ignore")
    assert done.returncode == 0, done.stderr
    said, errors = done.stdout, done.stdout + done.stderr
    assert "[3, 3] [4, 5]" in said and "LoaderGantt: Where does this loop wait for its batches?" in said
    assert said.count("samples a second") == 1 and "you said" not in said
    assert errors.count("no pass over a DataLoader has begun and ended in it") == 2
    assert "UsageError: %%loader quickly: it takes nothing after it" in errors
    assert "UsageError: %%loader: line 2 of the cell cannot be read" in errors


def test_a_widget_of_a_loop_that_was_watched_has_nothing_to_set() -> None:
    with passes() as seen:
        list(DataLoader(Chores(4, "waits", 0), 2))
    widget = LoaderGantt.of(loading.read(seen, "here"))
    assert widget.stalled is not None and "Commit" not in widget.html
    with pytest.raises(KeyError):
        widget.act("commit")
