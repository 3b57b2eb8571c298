"""The training monitor: what is logged is shown, the loop hardly waits for it, and it knows how the run ended."""

from __future__ import annotations

import io
import math
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from IPython.core.events import EventManager, available_events
from tinygrad_edu_widgets import TrainingMonitor, training_monitor

import tinygrad_edu as tg
from tests.observe.clock import MILLISECOND, Clock
from tests.support import run_python
from tinygrad_edu import data, nn, optim, training
from tinygrad_edu.errors import ArgumentError, DtypeError, MissingPackageError


@pytest.fixture(autouse=True)
def joined_timers(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A test joins the threads that it starts."""
    made: list[threading.Timer] = []

    def timer(*given: Any) -> threading.Timer:
        made.append(threading.Timer(*given))
        return made[-1]

    monkeypatch.setattr(training_monitor, "Timer", timer)
    yield
    for one in made:
        one.cancel()
        one.join()


def test_it_logs_numbers_and_tensors() -> None:
    monitor = TrainingMonitor(2)
    assert repr(monitor) == "TrainingMonitor: nothing logged yet, at epoch 0 of 2."
    monitor.log(loss=tg.tensor(2.0), accuracy=tg.tensor(0.25), test_accuracy=np.float32(0.5))
    monitor.log(loss=0.1, lr=None)
    assert monitor.data() == {
        "epochs": 2, "losses": (2.0, 0.1), "accuracies": (0.25, None), "others": {"test_accuracy": (0.5, None)},
        "ended": "",
    }  # fmt: skip
    assert monitor._framed().text.splitlines()[1:] == [
        "epoch 2 of 2 · complete",
        "loss: newest 0.100, lowest 0.100 at epoch 2, highest 2.00 at epoch 1",
        "accuracy: newest 25.0 % at epoch 1, lowest 25.0 % at epoch 1, highest 25.0 % at epoch 1",
        "test accuracy: newest 50.0 % at epoch 1, lowest 50.0 % at epoch 1, highest 50.0 % at epoch 1",
        "loss by epoch: 1: 2.00, 2: 0.100",
    ]
    assert repr(monitor).endswith("the loss fell to less than a tenth of what it was after epoch 1.")
    assert "epoch 2 of 2" in monitor.html


def test_more_epochs_than_announced() -> None:
    monitor = TrainingMonitor(1)
    for _ in range(4):
        monitor.log(loss=1.0)
    assert "epoch 4 of 1 · running" in monitor.text()


def test_it_takes_what_fit_has_measured() -> None:
    tg.manual_seed(0)
    model, x = nn.Linear(2, 1), tg.ones(4, 2)
    loader, monitor = data.DataLoader(data.TensorDataset(x, tg.ones(4, 1)), batch_size=2), TrainingMonitor(3)
    sgd = optim.SGD(model.parameters(), lr=0.1)
    history = training.fit(
        model, loader, nn.MSELoss(), sgd, 3, validate=loader, progress=False,
        scheduler=optim.lr_scheduler.StepLR(sgd, 1), on_epoch=lambda history: monitor.log(**history.epochs[-1]),
    )  # fmt: skip
    found = monitor.data()
    assert found["losses"] == tuple(history["loss"])
    assert found["others"] == {name: tuple(history[name]) for name in ("lr", "val_loss")}
    assert "validation loss: newest" in monitor.text()


@pytest.mark.parametrize(
    ("given", "tried"),
    [
        ({}, "log()"),
        ({"loss": None}, "log()"),
        ({"loss": "low"}, "log with loss='low'"),
        ({"loss": [1.0, 2.0]}, "log with loss=[1.0, 2.0]"),
        ({"loss": 1j}, "log with loss=1j"),
        ({"loss": 10**400}, "log with loss=1000000000000000000"),
        ({"loss": tg.ones(2)}, "log with loss=tensor([1., 1.])"),
        ({"loss": 1.0, "accuracy": 98.6}, "log with accuracy=98.6"),
        ({"loss": 1.0, "val_accuracy": -0.5}, "log with val_accuracy=-0.5"),
        ({"loss": 1.0, "epoch": 2}, "log with epoch=2"),
    ],
)
def test_a_record_that_cannot_be_shown_is_refused_whole(given: dict[str, Any], tried: str) -> None:
    monitor = TrainingMonitor(3)
    with pytest.raises((ArgumentError, DtypeError)) as caught:
        monitor.log(**given)
    assert caught.value.tried.startswith(tried)
    assert monitor.state.count == 0


@pytest.mark.parametrize(
    "given", [{"epochs": -1}, {"epochs": 2.5}, {"epochs": 3, "unit": ""}, {"epochs": 3, "unit": 4}]
)
def test_a_monitor_that_cannot_be(given: dict[str, Any]) -> None:
    with pytest.raises((ArgumentError, DtypeError)) as caught:
        TrainingMonitor(**given)
    name, value = list(given.items())[-1]
    assert caught.value.tried == f"TrainingMonitor with {name}={value!r}"


# Time ------------------------------------------------------------------------------------------------------------


class Timed:
    """A monitor by a clock that the test moves. Each drawing takes ``seconds``; a timer waits until it is fired."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, epochs: int, seconds: float) -> None:
        self.clock, self.seconds, self.begun = Clock(), seconds, []
        self.waiting: list[tuple[float, Callable[[], None]]] = []
        monkeypatch.setattr(training_monitor, "_clock", self.clock)
        monkeypatch.setattr(training_monitor, "Timer", self.timer)
        self.monitor = TrainingMonitor(epochs)
        show = self.monitor._show

        def slow_show() -> None:
            self.begun.append(self.clock.now)
            show()
            self.clock.now += self.seconds

        monkeypatch.setattr(self.monitor, "_show", slow_show)

    def timer(self, seconds: float, then: Callable[[], None]) -> Any:
        assert seconds > 0
        entry = (self.clock.now + seconds, then)
        return SimpleNamespace(start=lambda: self.waiting.append(entry), cancel=lambda: self.waiting.remove(entry))

    def loop(self, losses: Any, seconds: float) -> None:
        """Log, and let the rest of the loop take its time."""
        for loss in losses:
            self.clock.now += seconds
            self.fire()
            self.monitor.log(loss)

    def fire(self) -> None:
        """The timers whose time has come."""
        due = [one for one in self.waiting if one[0] <= self.clock.now]
        for one in due:
            self.waiting.remove(one)
            one[1]()

    @property
    def shown(self) -> str:
        """The epoch that the page shows."""
        return self.monitor.html.split('class="b f13" x="0" y="12">')[1].split(" ·")[0]


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 120), st.integers(0, 40), st.integers(0, 40))
def test_drawing_takes_at_most_a_twentieth_of_the_time(records: int, pause: int, cost: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        timed = Timed(patch, 1000, cost * 8 * MILLISECOND)
        timed.loop(range(records), pause * MILLISECOND)
        assert timed.begun
        for before, after in zip(timed.begun, timed.begun[1:], strict=False):
            rest = after - before - timed.seconds  # counted from the end of a drawing
            assert rest >= max(0.05, 19 * timed.seconds) - 1e-9
        timed.clock.now += 1000
        timed.fire()
        assert not timed.waiting
        assert timed.shown == f"epoch {records} of 1000"


def test_a_fast_loop_is_drawn_a_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    timed = Timed(monkeypatch, 1000, 16 * MILLISECOND)
    timed.loop(range(1000), MILLISECOND)
    assert len(timed.begun) == 5  # at once, every 0.3 s, and at the end
    assert timed.clock.now < 1.06 * 1000 * MILLISECOND + 2 * timed.seconds
    assert timed.shown == "epoch 1000 of 1000"


def test_a_slow_loop_is_drawn_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    timed = Timed(monkeypatch, 10, 16 * MILLISECOND)
    for epoch in range(1, 11):
        timed.loop([1.0], 1.0)
        assert timed.shown == f"epoch {epoch} of 10"
    assert (len(timed.begun), timed.waiting) == (10, [])


def test_more_records_than_announced_are_not_drawn_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    timed = Timed(monkeypatch, 2, 16 * MILLISECOND)
    timed.loop(range(100), MILLISECOND)
    assert len(timed.begun) == 2


def test_a_record_that_nothing_follows_is_drawn_by_a_timer(monkeypatch: pytest.MonkeyPatch) -> None:
    timed = Timed(monkeypatch, 10, 16 * MILLISECOND)
    timed.loop([3.0, 2.0, 1.0], MILLISECOND)
    assert timed.shown == "epoch 1 of 10" and len(timed.waiting) == 1
    timed.clock.now += 1
    timed.fire()
    assert timed.shown == "epoch 3 of 10" and not timed.waiting


def test_the_real_timer_catches_up() -> None:
    monitor = TrainingMonitor(1000)
    for loss in (3.0, 2.0, 1.0):
        monitor.log(loss)
    monitor.wait()
    assert "epoch 3 of 1000" in monitor.html
    monitor.wait(0)  # at once


def test_waiting_has_an_end() -> None:
    monitor = TrainingMonitor(1000)
    monitor._due = training_monitor._clock() + 100
    monitor.log(1.0)
    with pytest.raises(TimeoutError, match="has not caught up after 0 s"):
        monitor.wait(0)


def test_logging_from_threads_while_others_read() -> None:
    monitor = TrainingMonitor(4000)
    threads = [threading.Thread(target=lambda: [monitor.log(1.0, val_loss=2.0) for _ in range(1000)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        assert "TrainingMonitor" in monitor.text()
    assert monitor.data()["losses"] == (1.0,) * 4000
    assert "epoch 4000 of 4000 · complete" in monitor.html


# The end of a run ------------------------------------------------------------------------------------------------


def test_a_with_block_is_one_run() -> None:
    monitor = TrainingMonitor(5)
    with monitor as entered:
        monitor.log(2.0)
        monitor.log(1.0)
        assert "running" in monitor.text()
    assert entered is monitor
    assert "epoch 2 of 5 · stopped" in monitor.html
    with pytest.raises(ZeroDivisionError), monitor:
        assert "epoch 0 of 5 · nothing logged yet" in monitor.html  # an earlier run is forgotten
        for epoch in range(3):
            monitor.log(3.0 - epoch)
        raise ZeroDivisionError
    assert "epoch 3 of 5 · interrupted by ZeroDivisionError" in monitor.html
    assert monitor.data()["losses"] == (3.0, 2.0, 1.0)
    monitor.log(0.5)
    assert "epoch 4 of 5 · running" in monitor.text()
    monitor.restart()
    assert monitor.data()["losses"] == () and "nothing logged yet" in monitor.html
    with monitor:
        pass
    assert "stopped before the first epoch" in monitor.html


@contextmanager
def cell(monkeypatch: pytest.MonkeyPatch, error: BaseException | None = None) -> Iterator[EventManager]:
    """A cell of a notebook, which ends with that error."""
    shell: Any = SimpleNamespace(showtraceback=lambda: pytest.fail("a callback failed"))
    shell.events = EventManager(shell, available_events)
    monkeypatch.setattr(training_monitor, "get_ipython", lambda: shell)
    yield shell.events
    shell.events.trigger("post_run_cell", SimpleNamespace(error_before_exec=None, error_in_exec=error))
    assert shell.events.callbacks["post_run_cell"] == []


@pytest.mark.parametrize(
    ("records", "error", "words"),
    [
        (3, None, "epoch 3 of 5 · stopped"),
        (3, KeyboardInterrupt(), "epoch 3 of 5 · interrupted by KeyboardInterrupt"),
        (3, ValueError("x"), "epoch 3 of 5 · interrupted by ValueError"),
        (5, None, "epoch 5 of 5 · complete"),
        (5, ValueError("after the loop"), "epoch 5 of 5 · complete"),
    ],
)
def test_the_end_of_a_cell_is_seen(
    monkeypatch: pytest.MonkeyPatch, records: int, error: BaseException | None, words: str
) -> None:
    monitor = TrainingMonitor(5)
    with cell(monkeypatch, error) as events:
        for epoch in range(records):
            monitor.log(1 / (epoch + 1))
        assert len(events.callbacks["post_run_cell"]) == 1
        assert (records == 5) or "running" in monitor.text()
    assert words in monitor.html
    with cell(monkeypatch):  # and in the next one
        monitor.log(0.1)
        assert "running" in monitor.text()


def test_a_with_block_in_a_cell_ends_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monitor = TrainingMonitor(5)
    with cell(monkeypatch, ValueError("afterwards")), monitor:
        monitor.log(math.nan)
    assert "epoch 1 of 5 · stopped" in monitor.html


SHELL = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance(colors="nocolor")
shell.history_manager.enabled = False
shell.run_cell("from tinygrad_edu_widgets import TrainingMonitor\\nmonitor = TrainingMonitor(5)")
for cell in ("monitor.log(2)\\nmonitor.log(1)\\n1 / 0", "monitor.log(1)", "for loss in (1, 1.2): monitor.log(loss)"):
    shell.run_cell(cell)
    print(monitor := shell.user_ns["monitor"], "epoch 2 of 5 ·" in monitor.html)
"""


def test_cells_of_a_real_shell() -> None:
    done = run_python(SHELL, "-W", "ignore")
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stdout.splitlines() if line.startswith("TrainingMonitor")] == [
        "TrainingMonitor: interrupted by ZeroDivisionError after epoch 2 of 5; the loss fell. True",
        "TrainingMonitor: stopped after epoch 3 of 5; the loss fell. False",
        "TrainingMonitor: complete, at epoch 5 of 5; the loss fell. False",
    ]


# A figure of matplotlib --------------------------------------------------------------------------------------------


def test_matplotlib_draws_the_same_records() -> None:
    figure = pytest.importorskip("matplotlib.figure", reason="matplotlib is not installed here").Figure
    monitor = TrainingMonitor(9, unit="step")
    losses = (2.0, math.nan, 1.0, math.inf, math.nan, -0.5)
    for loss in losses:
        monitor.log(loss)
    ax = figure().subplots()
    assert monitor.plot(ax) is ax
    drawn = {line.get_label(): line.get_xydata().tolist() for line in ax.lines}
    kept = [[i, v] for i, v in drawn.pop("loss") if v == v]
    assert kept == [[1, 2.0], [3, 1.0], [6, -0.5]]
    assert {sign: [x for x, _ in drawn[sign]] for sign in ("nan", "∞")} == {"nan": [2, 5], "∞": [4]}
    assert [one.get_text() for one in ax.texts] == ["nan", "∞"]
    assert (ax.get_xlim(), ax.get_xlabel(), ax.get_ylabel()) == ((0, 9), "step", "loss")
    assert ax.get_ylim()[0] < -0.5 and ax.get_ylim()[1] > 2
    assert all(tick == round(tick) for tick in ax.get_xticks())
    ax.figure.savefig(io.BytesIO())


def test_matplotlib_makes_axes_of_its_own() -> None:
    matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed here")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    ax = TrainingMonitor(3).plot()
    assert ax.figure.number in pyplot.get_fignums()
    pyplot.close(ax.figure)


def test_without_matplotlib_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingPackageError) as caught:
        TrainingMonitor(3).plot()
    assert isinstance(caught.value, ImportError)
    assert caught.value.mend == "pip install matplotlib"
