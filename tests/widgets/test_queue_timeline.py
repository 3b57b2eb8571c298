"""QueueTimeline: predicting, running on the simulated device, picking, knobs and machines."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from tinygrad_edu_widgets import QueueTimeline

import tinygrad_edu as tg
from tests.support import run_python
from tinygrad_edu.errors import ArgumentError
from tinygrad_edu.views import queue
from tinygrad_edu.views.queue.words import FAILED, HIDDEN


@pytest.fixture(autouse=True)
def t4() -> Iterator[None]:
    tg.sim.use("T4")
    yield
    tg.sim.use("T4")


class Counted:
    """A run that counts how often it is run, and with what."""

    def __init__(self) -> None:
        self.calls: list[int] = []

    def __call__(self, n: int = 200) -> None:
        self.calls.append(n)
        x = tg.ones(n, n, device="sim")
        (x @ x).sum().item()


def test_nothing_runs_before_the_commit() -> None:
    run = Counted()
    widget = QueueTimeline(run)
    widget.act("draft", queue.BUSY[3])
    widget.act("machine", "A100")
    widget.act("gap")
    assert run.calls == [] and HIDDEN in widget.text() and "µs" not in widget.text()
    widget.act("commit")
    assert run.calls == [200, 200] and widget.committed, "once to reserve memory, once to be seen"
    assert "on a simulated A100" in widget.text()
    widget.act("commit")
    assert len(run.calls) == 2


def test_a_prediction_stays_beside_the_result() -> None:
    widget = QueueTimeline(Counted())
    widget.predict(queue.BUSY[3])
    right = queue.answer(widget.state)
    assert ("As you predicted" in widget.text()) == (right == queue.BUSY[3])
    other = QueueTimeline(Counted())
    other.predict("perhaps")
    assert "it is not offered" in other.text() and not other.committed


def test_it_is_the_same_each_time_and_the_device_is_left_as_it_was() -> None:
    tg.sim.use("H100")
    widgets = [QueueTimeline(Counted(), machine="T4", shown=True) for _ in range(2)]
    one, other = (widget.state.runs[0].items for widget in widgets)
    assert [(i.lane, i.name, i.start, i.end) for i in one] == [(i.lane, i.name, i.start, i.end) for i in other]
    assert tg.sim.machine().preset == "H100" and widgets[0].state.runs[0].machine == "T4"


def test_a_knob_runs_it_again() -> None:
    run = Counted()
    widget = QueueTimeline(run, knobs={"n": (100, 400)}, shown=True)
    before = widget.state.runs[0].end
    assert run.calls == [100, 100] and "n: 100" in widget.text()
    widget.act("knob:n", "400")
    widget.wait()
    assert run.calls[-1] == 400 and widget.state.runs[0].end > before and "n: 400" in widget.text()
    widget.act("knob:n", "400")
    widget.wait()
    assert len(run.calls) == 4, "it stands there already"
    widget.act("knob:n", 7)
    assert "the knob has no such value" in widget.text()


def test_another_machine_runs_it_again() -> None:
    widget = QueueTimeline(Counted(), lambda: Counted()(400), shown=True)
    slow = widget.state.runs[1].end
    widget.machine = "H100"
    widget.wait()
    assert widget.state.runs[1].end < slow and "preset H100" in widget.text()


def test_work_is_picked_and_the_longest_gap() -> None:
    widget = QueueTimeline(Counted(), shown=True)
    kernel = next(
        i for i, item in enumerate(widget.state.runs[0].items) if item.name == "matmul" and item.kind == "kernel"
    )
    widget.act("pick", f"0:{kernel}")
    assert "stream 0: matmul, " in widget.text() and "(x @ x).sum().item()" in widget.text()
    widget.act("gap")
    assert "idle " in queue.picked_text(widget.state)
    widget.act("pick", "0:999")
    assert "▲ the work '0:999': there is no such piece" in widget.text()


def test_a_finished_timeline_is_shown() -> None:
    with tg.sim.timeline() as seen:
        Counted()()
    widget = QueueTimeline(seen, shown=True)
    assert widget.state.runs[0].end == seen.end and ">H100<" not in widget.html
    widget.act("machine", "H100")
    assert "it cannot be chosen here" in widget.text()


def test_a_race_a_lack_of_memory_and_a_learner_s_error_are_told() -> None:
    def races() -> None:
        side, x = tg.accelerator.Stream(), tg.ones(300, 300, device="sim")
        side.wait_stream(tg.accelerator.current_stream())
        with tg.accelerator.stream(side):
            y = x @ x
        y + 1

    def too_large() -> None:
        tg.accelerator.set_per_process_memory_fraction(0.0001)
        try:
            tg.ones(2000, 2000, device="sim")
        finally:
            tg.accelerator.set_per_process_memory_fraction(1.0)

    def fails() -> None:
        raise RuntimeError("of the learner")

    for run, words in (
        (races, "nothing makes one wait for the other"), (too_large, "bytes are asked for"),
        (fails, "RuntimeError: of the learner (test_queue_timeline.py, line"),
    ):  # fmt: skip
        widget = QueueTimeline(run, shown=True)
        assert words in widget.text() and (FAILED in widget.text()) == (run is not races)
        if run is races:  # the picture shows how a real device goes on
            assert "A race: add on 'sim stream 0' reads" in widget.text() and "error" not in widget.frame().why
            names = [item.name for item in widget.state.runs[0].items if item.kind == "kernel"]
            assert names == ["ones", "matmul", "add"] and tg.sim.on_race("error") == "error"
        else:
            assert "QueueTimeline: The run ended without a result." in widget.frame().summary
        widget.act("reset")
        assert HIDDEN in widget.text()
    tg.sim.synchronize()


def test_a_race_that_is_no_error_is_told_once() -> None:
    before = tg.sim.on_race("warn")
    try:
        side, fixed, x = tg.accelerator.Stream(), tg.ones(300, 300).pin_memory(), tg.ones(300, 300, device="sim")

        def run() -> None:
            with tg.accelerator.stream(side):
                y = fixed.to("sim", non_blocking=True)
            x @ y

        widget = QueueTimeline(run, shown=True)
        assert widget.text().count("A race: matmul on 'sim stream 0' reads") == 1
    finally:
        tg.sim.on_race(before)


def test_a_knob_that_fails_leaves_no_picture_of_another_setting() -> None:
    def part(n: int) -> None:
        if n == 2:
            raise ValueError("not two")
        tg.ones(4, device="sim")

    widget = QueueTimeline(part, knobs={"n": (1, 2)}, shown=True)
    widget.act("knob:n", "2")
    widget.wait()
    assert widget.state.runs == () and "ValueError: not two" in widget.text() and FAILED in widget.text()
    widget.act("gap")
    assert "kernel runs in" not in widget.text() and widget.timelines == []
    widget.act("knob:n", "1")
    widget.wait()
    assert "a kernel runs in 33 % of 7.50 µs" in widget.text() and len(widget.timelines) == 1


def test_a_prediction_is_judged_in_the_setting_that_it_was_made_for() -> None:
    widget = QueueTimeline(Counted(), knobs={"n": (200, 1000)})
    widget.predict(queue.BUSY[2])
    told = queue.verdict(widget.state)
    assert "redicted: " in told
    widget.act("knob:n", "1000")
    widget.wait()
    assert queue.verdict(widget.state).startswith("Result: ")
    widget.act("knob:n", "200")
    widget.wait()
    assert queue.verdict(widget.state) == told


def test_the_host_can_wait_after_any_kernel() -> None:
    def loop() -> None:
        x = tg.ones(200, 200, device="sim")
        for _ in range(6):
            x = x * 1.0

    widget = QueueTimeline(loop, shown=True)
    before = [item.kind for item in widget.state.runs[0].items]
    widget.act("stop", 3)
    widget.wait()
    run = widget.state.runs[0]
    places = [i for i, item in enumerate(run.items) if item.kind == "kernel"]
    assert run.items[places[2] + 1].kind == "wait" and run.items[places[2] + 1].end == run.items[places[2]].end
    assert sum(item.kind == "wait" for item in run.items) == before.count("wait") + 1
    assert "the host also waits after kernel 3" in widget.text()
    gap = next(gap for gap in run.gaps if gap.before is run.items[places[3]])
    assert queue.gap_text(gap).endswith("the host launches again after a synchronisation")
    widget.act("stop", 8)
    assert "there is no such kernel" in widget.text()


def test_gaps_are_picked_too_and_the_longest_of_both_runs_in_turn() -> None:
    widget = QueueTimeline(Counted(), lambda: tg.sim.host_work(9) or Counted()(), shown=True)
    widget.act("gap")
    assert widget.state.gap is not None and widget.state.gap[0] == 1
    assert "the host is busy with host work" in queue.picked_text(widget.state)
    widget.act("gap")
    assert widget.state.gap[0] == 0
    widget.act("idle", "0:0")
    assert queue.picked_text(widget.state).startswith("idle 5.00 µs before ones: the host launches ones")
    assert widget.html.count('tabindex="0" data-rove') >= 2, "Tab comes to what is picked, in both sizes"
    widget.act("idle", "0:99")
    assert "there is no such gap" in widget.text()


def test_the_machine_in_use_is_the_one_that_is_shown() -> None:
    tg.sim.use("T4", launch=50_000)
    widget = QueueTimeline(Counted(), shown=True)
    assert "preset T4 with launch=50000, virtual time" in widget.text()
    assert widget.state.runs[0].items[0].duration == 50_000
    tg.sim.use("A100")
    assert QueueTimeline(Counted(), shown=True).machine == "A100"


def test_only_what_was_run_before_is_said_to_have_its_memory() -> None:
    with tg.sim.timeline() as seen:
        Counted()()
    told = "memory reserved by a run before"
    assert told not in QueueTimeline(seen, shown=True).text() and told in QueueTimeline(Counted(), shown=True).text()
    assert "What was recorded is hidden until you commit to a prediction." in QueueTimeline(seen).text()


def test_what_has_not_run_is_refused() -> None:
    def generator() -> Iterator[int]:
        tg.ones(3, device="sim")
        yield 1

    assert "whose code has not run" in QueueTimeline(generator, shown=True).text()


def test_ten_thousand_pieces_can_be_used() -> None:
    """Each press draws it again; gaps are found once."""

    def long() -> None:
        x = tg.ones(10, device="sim")
        for _ in range(5000):
            x = x + 1

    widget = QueueTimeline(long, shown=True)
    widget.wait()
    begun = time.perf_counter()
    widget.act("gap")
    assert "idle " in widget.text() and time.perf_counter() - begun < 10, "a second on a quiet machine"


def test_a_run_can_be_stopped() -> None:
    begun = threading.Event()

    def run() -> None:
        x = tg.ones(4, device="sim")
        while True:
            x = x + 1
            begun.set()

    widget = QueueTimeline(run)
    widget.act("draft", queue.BUSY[0])
    widget._handle_custom_msg({"act": "commit", "value": None}, [])
    assert begun.wait(60) and widget.working
    widget.act("halt")
    widget.wait()
    assert "It was stopped." in widget.text()


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"run": 3}, "run is a function that can be run, or a finished timeline"),
        ({"run": lambda x: x}, "run is called with the knobs only"),
        ({"run": list, "names": ("a",)}, "names are two texts"),
        ({"run": list, "knobs": {"n": 3}}, "knobs are names of parameters"),
        ({"run": list, "knobs": {"n": (1, "1")}}, "two values of n read alike"),
        ({"run": list, "knobs": {"n": ()}}, "knobs are names of parameters"),
        ({"run": list, "machine": "abacus"}, "no such machine is known"),
    ],
)
def test_what_cannot_be_shown_is_refused(given: dict[str, Any], why: str) -> None:
    with pytest.raises(ArgumentError, match=why):
        QueueTimeline(**given)


def test_without_work_it_says_so() -> None:
    assert "nothing happened on the device" in QueueTimeline(lambda: None, shown=True).text()


# The cell magic ------------------------------------------------------------------------------------------------------

SHELL = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_cell("%load_ext tinygrad_edu_widgets\\nimport tinygrad_edu as tg\\nx, device = tg.ones(300, 300), 'sim'")
shell.run_cell("%%timeline -n two pageable\\ny = x.to('sim') @ x.to('sim')")
shell.run_cell("x = x.pin_memory()")
shell.run_cell("w = get_ipython().run_cell_magic('timeline', '-n two pinned --shown', 'z = x.to(device)')")
shell.run_cell("print(w.text())")
shell.run_cell("%%timeline --what\\n1")
shell.run_cell("%%timeline\\n1")
shell.run_cell("%%timeline\\nx = (")
shell.run_cell("%%timeline\\nmissing + 1")
shell.run_cell("%%timeline --shown\\ny = x.to(device) @ x.to(device)\\n1 / 0")
shell.run_cell("%%timeline -n")
"""


def test_the_magic_in_a_shell() -> None:
    pytest.importorskip("IPython")
    done = run_python(SHELL, "-W", "ignore")
    assert done.returncode == 0, done.stderr
    said = done.stdout
    assert "QueueTimeline: hidden until predicted" in said
    assert "pageable: " in said and "pinned: " in said and "× the" in said
    assert ", line 2: y = x.to('sim') @ x.to('sim')" in said, "lines count from %%timeline"
    errors = done.stdout + done.stderr
    assert "UsageError: %%timeline --what: there are -n with a name, then a label, and --shown." in errors
    assert "UsageError: a timeline without work: nothing happened on the device in it" in errors
    assert "UsageError: %%timeline: line 2 of the cell cannot be read" in errors
    assert "name 'missing' is not defined" in errors
    failed = said.partition("name 'missing' is not defined")[2]
    assert failed.index("QueueTimeline: Result: ") < failed.index("ZeroDivisionError"), "what led to it can be seen"
    assert "Write %%timeline -n lesson and a label" in errors


def test_a_recorded_timeline_cannot_wait_anywhere_else() -> None:
    with tg.sim.timeline() as seen:
        tg.ones(3, device="sim") * 2.0
    widget = QueueTimeline(seen, shown=True)
    widget.act("stop", 1)
    assert "does not run again" in widget.html and widget.state.stop == 0


def test_a_race_that_only_the_rehearsal_meets_is_told() -> None:
    first = [True]

    def once() -> None:
        side = tg.accelerator.Stream()
        x = tg.ones(64, 64, device="sim")
        with tg.accelerator.stream(side):
            if first:
                first.clear()
                x * 2.0  # nobody has waited for x

    before = tg.sim.on_race("warn")
    try:
        widget = QueueTimeline(once, shown=True)
    finally:
        tg.sim.finish()
        tg.sim.on_race(before)
    assert len(widget.state.runs[0].races) == 1 and "A race:" in widget.text()


FAIR = """
from IPython.core.interactiveshell import InteractiveShell
import tinygrad_edu as tg
import tinygrad_edu_widgets
shell = InteractiveShell.instance()
shell.run_cell("%load_ext tinygrad_edu_widgets")
shell.user_ns["tg"] = tg
cell = "x = tg.ones(600, 600, device='sim')\\nfor _ in range(3):\\n    x = x @ x\\ndel x"
for label in ("first", "second"):
    w = shell.run_cell_magic("timeline", f"-n fair {label} --shown", cell)
one, other = w.timelines
print(one.end == other.end, any(work.kind == "reserve" for work in other))
"""


def test_cells_that_are_compared_begin_alike() -> None:
    """Each reserves its own memory, whichever comes first."""
    pytest.importorskip("IPython")
    done = run_python(FAIR, "-W", "ignore")
    assert done.stdout.split()[-2:] == ["True", "True"], done.stderr
