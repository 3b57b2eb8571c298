"""Watch a loss fall while a cell runs."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from numbers import Real
from threading import Timer
from types import TracebackType
from typing import Any, Self

import traitlets
from IPython.core.getipython import get_ipython

from tinygrad_edu.common.wording import shown
from tinygrad_edu.errors import ArgumentError, DtypeError, EduError
from tinygrad_edu.inputs.arguments import whole
from tinygrad_edu.views import training
from tinygrad_edu.views.frame import Frame
from tinygrad_edu.views.given import texts
from tinygrad_edu.views.training.words import is_share

from . import charts
from .base import EduWidget
from .pacing import rest

_clock = time.monotonic
_SHARE = 0.05  # of the loop's time, that drawing may take


class TrainingMonitor(EduWidget, room=training):
    """A progress bar and a loss curve: ``monitor = TrainingMonitor(epochs)``, then ``monitor.log(loss=…, accuracy=…)``.

    Other numbers keep their names: ``monitor.log(loss, val_loss=…, test_accuracy=…)``. ``unit`` is what one record
    stands for. In a ``with monitor:`` block each run starts empty, and the monitor knows how it ended; in a notebook it
    also sees that the cell has ended.

    Gestures: hover a point to read it. Buttons do nothing while a cell runs: the notebook's own ■ ends the loop.
    """

    count = traitlets.Int(0, read_only=True).tag(sync=True)  # records in the picture
    loss = traitlets.Float(None, allow_none=True, read_only=True).tag(sync=True)  # the last one in it
    ended = traitlets.Bool(False, read_only=True).tag(sync=True)

    def __init__(self, epochs: int, *, ask: str = "How fast will the loss fall?", unit: str = "epoch") -> None:
        texts("TrainingMonitor", ask=ask)
        epochs = whole("TrainingMonitor", "epochs", epochs)
        if epochs < 0:
            raise ArgumentError(
                f"TrainingMonitor with epochs={epochs}", "a run has 0 epochs or more", "count up from 0"
            )
        if not isinstance(unit, str) or not unit.strip():
            why, mend = "it is the word for what one record stands for", "write unit='step', for example"
            raise ArgumentError(f"TrainingMonitor with unit={shown(unit)}", why, mend)
        self.state = training.TrainingState(epochs, unit=unit)
        self._ask = ask
        self._due = -math.inf  # when the next drawing may begin
        self._behind = False  # whether the picture lacks a record
        self._timer: Timer | None = None
        self._watched: Callable[[Any], None] | None = None  # what the notebook calls when the cell has ended
        super().__init__()

    def frame(self) -> Frame:
        """The frame of the current state."""
        with self._lock:  # a thread may log meanwhile
            return training.frame(self.state, self._ask)

    def mirrored(self) -> dict[str, Any]:
        """How far the run is. It follows the picture, so it may lag behind the records by as much."""
        losses = self.state.series.get("loss")
        last = losses.newest[1] if losses else None
        last = last if last is not None and math.isfinite(last) else None  # JSON has no word for nan
        return {"count": self.state.count, "loss": last, "ended": bool(self.state.ended)}

    def data(self) -> Any:
        """The recorded numbers. None stands for a number that a record does not have."""
        state = self.state
        others = [name for name in state.series if name not in ("loss", "accuracy")]
        return {
            "epochs": state.epochs, "losses": state.column("loss"), "accuracies": state.column("accuracy"),
            "others": {name: state.column(name) for name in others}, "ended": state.ended,
        }  # fmt: skip

    def log(self, loss: float | None = None, accuracy: float | None = None, **others: float | None) -> None:
        """Add one record. An accuracy is a fraction from 0 to 1; any other keyword is shown under its own name.

        ``fit(…, on_epoch=lambda history: monitor.log(**history.epochs[-1]))`` logs what `fit` has measured: ``epoch``
        is only checked against the number of records.

        Drawing takes at most a twentieth of the loop's time. The picture always catches up with the last record.

        Raises `DtypeError` for what is not one number, `ArgumentError` for an accuracy above 1 or below 0, for a record
        without numbers, and for another epoch than the next.
        """
        epoch = others.pop("epoch", None)
        if epoch is not None and (isinstance(epoch, bool) or not isinstance(epoch, Real)):
            why = "an epoch is the number of this record, counted from 1"
            raise ArgumentError(f"log with epoch={shown(epoch, 40)}", why, "leave it out, or give a whole number")
        given = {"loss": loss, "accuracy": accuracy, **others}
        numbers = {name: _number(name, value) for name, value in given.items() if value is not None}
        if not numbers:
            raise ArgumentError("log()", "the record has no number", "give at least a loss: monitor.log(loss)")
        with self._lock:
            if epoch is not None and epoch != self.state.count + 1:
                why = f"{self.state.count} records have come so far, so the next is number {self.state.count + 1}"
                raise ArgumentError(f"log with epoch={shown(epoch)}", why, "call restart() before another run")
            self.state = training.add(self.state, **numbers)
            self._watch()
            now = _clock()
            if self.state.complete or now >= self._due:
                self._draw()
            else:
                self._draw_later(now)

    def restart(self) -> None:
        """Forget all records."""
        with self._lock:
            self.state = training.restarted(self.state)
            self._draw()

    def wait(self, seconds: float = 60.0) -> None:
        """Wait until the picture shows the newest record. Raises `TimeoutError` after ``seconds``."""
        end = time.monotonic() + seconds
        while True:
            with self._lock:  # which is held while the picture is drawn
                timer = self._timer
            if timer is None:
                return
            timer.join(max(0.0, end - time.monotonic()))
            if timer.is_alive():
                raise TimeoutError(f"TrainingMonitor has not caught up after {seconds:g} s")

    def __enter__(self) -> Self:
        self.restart()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._end(kind)

    def _end(self, kind: type[BaseException] | None) -> None:
        """The loop is over. Show how, and its last record."""
        with self._lock:
            if not self.state.ended:
                self.state = training.end(self.state, "" if kind is None else kind.__name__)
                self._draw()

    def _draw(self) -> None:
        """Draw, and leave the loop its share of the time before the next drawing. That is counted from the end of this
        one, however long it took."""
        self._behind = False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        start = _clock()
        try:
            self._show()
        finally:
            end = _clock()
            self._due = end + rest(end - start, _SHARE)

    def _draw_later(self, now: float) -> None:
        """If no other record comes in time, a timer draws this one."""
        self._behind = True
        if self._timer is None:
            self._timer = Timer(self._due - now, self._catch_up)
            self._timer.daemon = True
            self._timer.start()

    def _catch_up(self) -> None:
        with self._lock:
            self._timer = None
            if self._behind:
                now = _clock()
                if now >= self._due:
                    self._draw()
                else:
                    self._draw_later(now)

    def _watch(self) -> None:
        """In a notebook: learn when the cell that logs has ended, and with which exception."""
        shell = get_ipython()
        if shell is None or self._watched is not None:
            return

        def ended(result: Any) -> None:
            shell.events.unregister("post_run_cell", ended)
            self._watched = None
            error = result.error_before_exec or result.error_in_exec
            self._end(None if error is None else type(error))

        self._watched = ended
        shell.events.register("post_run_cell", ended)

    def plot(self, ax: Any = None) -> Any:
        """Draw the loss with matplotlib, on ``ax`` or on axes of its own, and return the axes.

        Every record has its mark; nan and ∞ have theirs above the frame.

        Raises `MissingPackageError` if matplotlib is not installed.
        """
        ax = charts.axes_for("TrainingMonitor.plot", ax)
        with self._lock:
            return charts.losses(self.state, ax)

    def _act(self, act: str, value: Any) -> None:
        raise KeyError(act)


def _number(name: str, value: Any) -> float:
    """One number, from one or from a tensor with a single element."""
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError, EduError):
        why, mend = "it takes one number", "take one element, x[0].item(), or a mean, x.mean().item()"
        raise DtypeError(f"log with {name}={shown(value)}", why, mend) from None
    if is_share(name) and math.isfinite(found) and not 0 <= found <= 1 + 1e-6:
        why, mend = "an accuracy is a fraction from 0 to 1", "log correct / total; divide a percentage by 100"
        raise ArgumentError(f"log with {name}={shown(value)}", why, mend)
    return found
