"""MemoryRiver: predicting, running, walking through the events; and the cell magic."""

from __future__ import annotations

import threading
import time
from typing import Any

import matplotlib.pyplot as plt
import pytest
import traitlets
from tinygrad_edu_widgets import MemoryRiver, memory_river
from tinygrad_edu_widgets.memory_magic import joined, read_line

import tinygrad_edu as tg
from tests.support import run_python, teaches
from tinygrad_edu.errors import ArgumentError, IndexRangeError
from tinygrad_edu.observe.memory import NOISE, Memory, mark
from tinygrad_edu.views import river
from tinygrad_edu.views.river import words

N = 250_000  # elements of 1 MB


def forward() -> None:
    with tg.no_grad():
        tg.ones(N).exp().sum()


class Counted:
    """A run that counts how often it is run."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self) -> None:
        self.times += 1
        x = tg.ones(N, requires_grad=True)
        (x.exp() * x.tanh()).sum().backward()


def made(**options: Any) -> tuple[MemoryRiver, Counted]:
    run = Counted()
    return MemoryRiver(run, forward, **options), run


def test_nothing_is_run_before_the_commit() -> None:
    widget, run = made()
    widget.act("draft", "gradients")
    assert run.times == 0 and widget.data()["rivers"] == () and widget.peak is None
    assert words.WAITING in widget.text() and "MB" not in widget.html
    widget.act("commit")
    assert run.times == 1 and widget.committed
    assert widget.peak == pytest.approx(6_000_000, abs=6 * NOISE)
    widget.act("commit")
    assert run.times == 1, "a second commit runs nothing"


def test_a_commit_without_a_choice_does_nothing() -> None:
    widget, run = made()
    widget.act("commit")
    assert run.times == 0 and not widget.committed


def test_shown_asks_nothing() -> None:
    widget, run = made(shown=True)
    assert run.times == 1 and not widget.committed and widget.peak is not None
    assert "You predicted" not in widget.text() and "commit" not in widget.html


def test_it_begins_at_the_peak_and_walks() -> None:
    widget, _ = made(shown=True)
    top = widget.state.rivers[0].peak
    assert (widget.which, widget.event) == ("A", top)
    widget.act("back")
    widget.act("back")
    assert widget.event == top - 2
    widget.act("step")
    assert widget.event == top - 1
    widget.act("event", "0")
    widget.act("back")
    assert widget.event == 0
    widget.act("event", 10**6)
    assert widget.event == widget.events - 1
    widget.act("at", "B:1")
    assert (widget.which, widget.event) == ("B", 1)
    assert "> event 2" in widget.text()
    widget.act("peak")
    assert widget.event == widget.state.rivers[1].peak
    widget.act("which", "A")
    assert widget.which == "A" and 0 <= widget.event < widget.events
    widget.act("reset")
    assert widget.events == 0 and words.WAITING in widget.text()


@pytest.mark.parametrize("at", ["C:0", "A:x", "A", "", None, 3])
def test_a_column_that_there_is_not_is_refused(at: Any) -> None:
    widget, _ = made(shown=True)
    before = widget.state
    widget.act("at", at)
    assert widget.state == before and "▲" in widget.text()


def test_traits_are_set_linked_and_refused() -> None:
    one, _ = made(shown=True)
    two, _ = made(shown=True)
    link = traitlets.link((one, "event"), (two, "event"))
    one.event = 2
    assert two.event == 2 and two.state.event == 2
    two.event = 10**6
    assert one.event == two.event == two.events - 1
    link.unlink()
    one.which = "B"
    assert one.state.which == 1
    one.which = "C"
    assert one.which == "B" and "the runs are A and B" in one.text()
    one.act("reset")
    one.prediction = "weights"
    assert one.prediction is None and "it is no owner of memory" in one.text()
    one.prediction = "gradient"
    assert one.state.draft == "gradient"


def test_a_prediction_stays_beside_what_was_measured() -> None:
    widget, _ = made()
    widget.predict("optimiser")
    assert widget.text().splitlines()[1].startswith("You predicted the optimiser. At the peak of A, ")
    assert "optimiser: 0 bytes, 0 bytes ◇ you" in widget.text()
    widget.act("draft", "data")
    assert widget.prediction == "optimiser", "it cannot be changed afterwards"


def test_a_finished_watch_is_shown_with_the_names_of_this_moment() -> None:
    with Memory() as seen:
        left = tg.ones(N, requires_grad=True)
        left * 2
    widget = MemoryRiver(seen, shown=True)
    told = widget.text()
    assert "what names keep when this picture was made:\n" in told
    assert "  left keeps 1.00 MB, it alone 1.00 MB" in told
    del left
    assert "left keeps" in widget.text(), "it shows the moment of its making"


def test_what_a_run_raised_is_told_and_can_be_tried_again() -> None:
    def run() -> None:
        tg.ones(3) + tg.ones(4)

    widget = MemoryRiver(run)
    widget.predict("data")
    assert words.FAILED in widget.text() and "▲" in widget.text() and widget.peak is None
    widget.act("reset")
    assert words.WAITING in widget.text() and "▲" not in widget.text()

    def other() -> None:
        raise RuntimeError("of the learner")

    widget = MemoryRiver(other, shown=True)
    assert "RuntimeError: of the learner (test_memory_river.py, line " in widget.text()
    assert words.FAILED in widget.text() and "Commit" not in widget.html, "nobody was asked for a prediction"
    widget.act("reset")
    assert words.WAITING in widget.text() and "Commit" in widget.html


def test_a_run_without_tensors_is_refused() -> None:
    widget = MemoryRiver(lambda: None, shown=True)
    assert "nothing was seen in this run" in widget.text()


def test_a_run_can_be_stopped() -> None:
    begun = threading.Event()

    def run() -> None:
        x = tg.ones(10)
        while True:
            x = x + 1
            begun.set()

    widget = MemoryRiver(run)
    widget.act("draft", "data")
    widget._handle_custom_msg({"act": "commit", "value": None}, [])
    assert begun.wait(60) and widget.working
    assert words.RUNNING in widget.text()
    widget.act("halt")
    widget.wait()
    assert "It was stopped." in widget.text() and words.FAILED in widget.text()
    with Memory() as after:
        tg.ones(N) + 1
    assert after.peak >= 8 * N, "watching works as before"


def test_a_cell_does_not_wait_for_a_long_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_river, "SHORT", 0.05)
    free = threading.Event()

    def run() -> None:
        tg.ones(3) + 1
        assert free.wait(60)

    widget = MemoryRiver(run, shown=True)
    assert widget.working and words.RUNNING in widget.text() and ">Stop<" in widget.html
    assert words.WAITING not in widget.html and "Commit" not in widget.html
    free.set()
    widget.wait()
    assert widget.events >= 1 and words.RUNNING not in widget.text()


def test_while_a_run_is_watched_nothing_is_drawn() -> None:
    """To draw takes memory, which would count as *elsewhere*."""
    drawn: list[int] = []

    class Noted(MemoryRiver):
        def frame(self) -> Any:
            drawn.append(1)
            return super().frame()

    def run() -> None:
        before = len(drawn)
        tg.ones(3) + 1
        time.sleep(0.5)  # longer than it takes until other widgets show that they are at work
        assert len(drawn) == before

    widget = Noted(run)
    widget.predict("data")
    assert widget.events >= 1 and len(drawn) >= 3


def test_marks_stand_on_the_axis() -> None:
    def run() -> None:
        x = tg.ones(N)
        mark("made")
        x * 2

    widget = MemoryRiver(run, shown=True)
    figure = widget.frame().wide
    assert "made" in figure.canvas.text_items and "mark made" in widget.text()


def test_the_chart_has_the_bytes_of_each_event() -> None:
    widget, _ = made()
    with teaches(
        ArgumentError, "MemoryRiver.plot()", "nothing is shown before a prediction",
        'call predict("activation") first, or write shown=True',
    ):  # fmt: skip
        widget.plot()
    widget.predict("data")
    ax = widget.plot()
    bands = {patch.get_label(): patch.get_data() for patch in ax.patches}
    events = widget.state.river.events
    floor = [0.0] * len(events)
    for place, owner in enumerate(river.STACK):
        counts = [event.most[place] / 1e6 for event in events]
        if any(counts):
            drawn = bands[words.LABELS[owner]]
            assert list(drawn.values - drawn.baseline) == pytest.approx(counts, abs=1e-9)
            assert list(drawn.baseline) == pytest.approx(floor)
            floor = list(drawn.values)
        else:
            assert words.LABELS[owner] not in bands
    assert ax.get_ylabel() == "MB" and ax.get_xlim() == (0, len(events))
    plt.close("all")


# What cannot be drawn -----------------------------------------------------------------------------------------------


def test_what_is_no_run_is_refused() -> None:
    why, mend = "run is a function that can be run, or a finished Memory", "write run=lambda: model(x).sum().backward()"
    with teaches(ArgumentError, "MemoryRiver(run=3)", why, mend):
        MemoryRiver(3)  # type: ignore[arg-type]
    why = "run is called without arguments, but missing a required argument: 'x'"
    with teaches(ArgumentError, "MemoryRiver(run=needs)", why, "wrap it: run=lambda: …"):
        MemoryRiver(needs)
    with teaches(
        ArgumentError, "MemoryRiver(other=needs)", why.replace("run is", "other is"), "wrap it: other=lambda: …"
    ):
        MemoryRiver(forward, needs)
    with pytest.raises(ArgumentError, match="nothing was seen in this run"):
        MemoryRiver(Memory())
    with Memory() as going, pytest.raises(ArgumentError, match="its block is under way"):
        MemoryRiver(going)


def needs(x: Any) -> None:
    """It cannot be called without an argument."""


@pytest.mark.parametrize("names", ["ab", ("a",), ("a", ""), ("a", 3), None, 5])
def test_names_are_two_texts(names: Any) -> None:
    with pytest.raises(ArgumentError, match="names are two texts, one for each run"):
        MemoryRiver(forward, names=names)


def test_a_word_that_is_no_owner_is_refused_in_the_picture() -> None:
    widget, run = made()
    widget.predict("weights")
    assert "▲ the prediction 'weights': it is no owner of memory" in widget.text() and run.times == 0
    with pytest.raises(IndexRangeError):
        river.prediction("weights")


# The cell magic -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("", ("", "", False)),
        ("--shown", ("", "", True)),
        ("with a graph", ("", "with a graph", False)),
        ("-n lesson", ("lesson", "", False)),
        ("-n lesson no_grad --shown", ("lesson", "no_grad", True)),
    ],
)
def test_first_lines(line: str, found: tuple[str, str, bool]) -> None:
    assert read_line(line) == found


@pytest.mark.parametrize("line", ["-n", "-n --shown", "--compare", "-n a -m b", "-x"])
def test_a_first_line_that_says_something_else_is_refused(line: str) -> None:
    why, mend = "there are -n with a name, then a label, and --shown", "write %%memory -n lesson and a label"
    with teaches(ArgumentError, f"%%memory {line}", why, mend):
        read_line(line)


def named(name: str) -> river.River:
    return river.River(name, (), (), ())


def test_a_second_run_of_a_name_stands_under_the_first() -> None:
    runs = joined([], named("A"), "")
    assert [one.name for one in runs] == ["A"]
    runs = joined(runs, named("A"), "")
    assert [one.name for one in runs] == ["A", "B"]
    runs = joined(runs, named("no_grad"), "no_grad")
    assert [one.name for one in runs] == ["A", "no_grad"]
    again = joined([named("x"), named("y")], named("x"), "x")
    assert [one.name for one in again] == ["x", "y"], "a run takes the place of one with its label"


SHELL = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance(colors="nocolor")
shell.history_manager.enabled = False
shell.run_cell("%load_ext tinygrad_edu_widgets")
shell.run_cell("import tinygrad_edu as tg")
shell.run_cell("%%memory -n two recorded\\nx = tg.ones(250_000, requires_grad=True)\\ny = x * 2")
shell.run_cell("print(y.shape)")
shell.run_cell("w = get_ipython().run_cell_magic('memory', '-n two no_grad --shown', 'z = (x * 3).detach()')")
shell.run_cell("print(w.text())")
shell.run_cell("%%memory --what\\n1")
shell.run_cell("%%memory\\n1")
shell.run_cell("%%memory\\nx = (")
shell.run_cell("%%memory\\nx = 1\\nreturn x")
shell.run_cell("%%memory\\nx = 1\\nmissing + 1")
"""


def test_the_magic_in_a_shell() -> None:
    pytest.importorskip("IPython")
    done = run_python(SHELL, "-W", "ignore")
    assert done.returncode == 0, done.stderr
    said = done.stdout
    assert "MemoryRiver: memory of recorded, hidden until predicted.\n(250000,)\n" in said
    assert "A recorded; " in said and "B no_grad; " in said
    assert "what names keep after the cell:" in said and "  x keeps 1.00 MB, it alone 1.00 MB" in said
    assert ", line 3: y = x * 2" in said, "lines count from %%memory"
    errors = done.stdout + done.stderr
    assert "UsageError: %%memory --what: there are -n with a name, then a label, and --shown." in errors
    assert "UsageError: MemoryRiver of A: nothing was seen in this run" in errors
    assert "UsageError: %%memory: line 2 of the cell cannot be read: '(' was never closed." in errors
    assert "UsageError: %%memory: line 3 of the cell cannot be read: 'return' outside function." in errors
    assert "NameError: name 'missing' is not defined" in errors
