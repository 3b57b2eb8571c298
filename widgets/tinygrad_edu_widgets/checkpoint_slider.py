"""Segments against peak against what is computed again: predict first, then each number of segments is run."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

import traitlets

from tinygrad_edu import nn
from tinygrad_edu.errors import ArgumentError, EduError
from tinygrad_edu.observe.timing import Comparison
from tinygrad_edu.tensor import random
from tinygrad_edu.views import checkpoints
from tinygrad_edu.views.frame import Frame
from tinygrad_edu.views.given import finite, flags, refusal, texts

from . import charts
from .base import EduWidget, Tell

PATIENCE = 600.0  # seconds that a program waits for all runs
LAYERS = 16  # of the models that are there without arguments
MODELS = {"narrow, batch 1024": (64, 1024), "wide, batch 8": (256, 8)}  # the width of each layer, and the rows


class CheckpointSlider(EduWidget, room=checkpoints):
    """``CheckpointSlider(model, x)`` cuts a row of layers into segments, and shows what that does to the memory peak.

    ``model`` is an `nn.Sequential`, or a list of modules and functions; ``x`` goes into the first. ``loss`` makes one
    number of the result, and is its sum by default. Without arguments there are two small models to choose from.

    Without cuts the model is run at once. Once the learner has committed to the number of segments with the lowest
    peak, forward and backward are run with each number of them by `checkpoint_sequential`, and every byte that is alive
    is counted, with its owner. All runs are made with copies, so parameters, gradients and running statistics of the
    model stay as they are. With more than 48 layers, some numbers of segments are left out.

    Gestures: move the slider to where you expect the lowest peak, *Commit and measure*; then the slider, or a press on
    a bar (Enter), shows that run; *Time this run* races it against the run without cuts, for about ``budget`` seconds;
    *Stop* keeps what was measured, and *Measure the rest* goes on; a press on a model's name changes the model; *Ask
    again* (r) hides the result.
    """

    mirrors: ClassVar[dict[str, str]] = {"segments": "segments", "prediction": "draft", "model": "model"}
    segments = traitlets.Int(1).tag(sync=True)  # of the run that is shown
    prediction = traitlets.Int(1).tag(sync=True)
    model = traitlets.Unicode("").tag(sync=True)  # which of the two; "" for a model that was given
    committed = traitlets.Bool(False, read_only=True).tag(sync=True)
    peak = traitlets.Int(None, allow_none=True, read_only=True).tag(sync=True)  # bytes, of that run, once measured

    def __init__(
        self, model: Any = None, x: Any = None, *, loss: Callable[[Any], Any] | None = None, ask: str = "",
        why: str = "", predict: bool = True, budget: float = 2.0,
    ) -> None:  # fmt: skip
        texts("CheckpointSlider", ask=ask, why=why)
        flags("CheckpointSlider", predict=predict)
        if finite("CheckpointSlider", "budget", budget) <= 0:
            why_not = "it is seconds to spend on the clock"
            raise refusal("CheckpointSlider", "budget", budget, why_not, "write budget=2")
        self._budget, self._loss, self._words = budget, loss, (ask, why)
        self._given = None if model is None and x is None else (model, x)
        self.state: checkpoints.SliderState
        self._choose("" if self._given else next(iter(MODELS)))
        if not predict:
            self.state = replace(self.state, said=0)  # nobody was asked
            self.state = checkpoints.finish(self.state, self._subject.sweep(self._missing(), _on))
            self.state = replace(self.state, segments=self.state.lowest[0])
        super().__init__()

    def _choose(self, name: str) -> None:
        """Begin with a model: its run without cuts, and the question."""
        model, x = _made(name) if self._given is None else self._given
        self._subject = checkpoints.Subject(model, x, self._loss)
        plain, layers, (ask, why) = self._subject.plain(), self._subject.count, self._words
        middle = max(round(layers / 2), 1)
        models = tuple(MODELS) if self._given is None else ()
        empty = checkpoints.SliderState(
            layers, self._subject.cut(), (plain,), ask=ask, why=why, models=models, model=name
        )
        self.state = checkpoints.draft(empty, middle)

    def frame(self) -> Frame:
        """The frame of the current state."""
        return checkpoints.frame(self.state, self.working)

    def mirrored(self) -> dict[str, Any]:
        """The run that is shown, the prediction, and what was measured."""
        state = self.state
        return {
            "segments": state.segments, "prediction": state.draft, "model": state.model,
            "committed": state.said is not None, "peak": state.shown.peak if state.measured else None,
        }  # fmt: skip

    def data(self) -> Any:
        """The prediction and every run, with the bytes by owner in each operation, as plain data."""
        state = self.state
        runs = [
            {**dataclasses.asdict(run), "parts": checkpoints.parts(state.layers, run.segments), "peak": run.peak,
             "owners": dict(zip(checkpoints.OWNERS, run.owners, strict=True)),
             "predicted": checkpoints.expected(state, run).predicted}
            for run in state.runs
        ]  # fmt: skip
        times = {count: found.to_dict() for count, found in state.times}
        return {**dataclasses.asdict(replace(state, runs=(), times=())), "runs": runs, "times": times}

    def predict(self, value: int) -> None:
        """Commit to a prediction from code, and wait for the result."""
        self.act("draft", value)
        if self.state.message:  # it cannot be predicted
            return
        self.act("commit")
        self.wait(PATIENCE)
        if self.state.measured and self.state.said != int(value) and not self.state.message:
            self._ask(f"{value} is not among the numbers that are measured; {self.state.said} is the nearest.")

    def plot(self, ax: Any = None) -> Any:
        """Draw the peaks by owner with matplotlib, and what arithmetic predicts, on ``ax`` or on new axes.

        Returns the axes. Raises `ArgumentError` before the prediction, and `MissingPackageError` if matplotlib is not
        installed.
        """
        return charts.peaks(self.state, charts.axes_for("CheckpointSlider.plot", ax))

    def _act(self, act: str, value: Any) -> None:
        self.state = replace(self.state, message="")
        if act == "draft":
            if self.state.said is None:
                self.state = checkpoints.draft(self.state, value)
        elif act == "commit":
            if self.state.said is None:
                self.state = replace(self.state, said=self.state.draft)
                self._measure()
        elif act == "rest":
            if self.state.said is not None:
                self._measure()
        elif act == "segments":
            self.state = checkpoints.pick(self.state, value)
        elif act == "time":
            self._time()
        elif act == "model":
            self._change(value)
        elif act == "reset":
            self.abandon()
            self.state = replace(self.state, said=None, segments=1, runs=self.state.runs[:1], times=())
        else:
            raise KeyError(act)

    def _change(self, name: Any) -> None:
        if name not in self.state.models:
            there = " or ".join(self.state.models) or "none: it was given"
            raise ArgumentError(f"model {name!r:.40}", "there is no such model", f"choose {there}")
        self.abandon()
        self._choose(name)

    def _missing(self) -> list[int]:
        reached = [run.segments for run in self.state.runs]
        return [count for count in self.state.counts if count not in reached]

    def _measure(self) -> None:
        missing, subject = self._missing(), self._subject
        self.work(lambda tell: subject.sweep(missing, tell), self._finish)

    def _finish(self, runs: tuple[checkpoints.Run, ...]) -> None:
        self.state = checkpoints.finish(self.state, runs)
        if not self.state.measured:
            self._ask("It was stopped before the first run with cuts was done.")

    def _ask(self, message: str) -> None:
        """Show why there is no result; without one, the prediction is still open."""
        said = self.state.said if self.state.measured else None
        self.state = replace(self.state, said=said, message=message)

    def _failed(self) -> None:
        self._ask("")

    def _gave_up(self) -> None:
        super()._gave_up()
        self._ask("")

    def _time(self) -> None:
        state, subject, budget = self.state, self._subject, self._budget
        count = state.segments
        if not state.measured or count == 1:
            why = "it is raced against the run without cuts"
            raise ArgumentError(f"time with segments = {count}", why, "commit, and choose 2 segments or more")

        def job(tell: Tell) -> Comparison:
            return subject.time(count, budget, tell)

        self.work(job, lambda found: self._timed(count, found))

    def _timed(self, count: int, found: Comparison) -> None:
        self.state = replace(self.state, times=(*((n, t) for n, t in self.state.times if n != count), (count, found)))

    def _refuse(self, error: EduError) -> None:
        if self.working:
            self.state = replace(self.state, message=error.sentence())
        else:
            self._ask(error.sentence())


def _on(*_: Any) -> bool:
    """Go on."""
    return True


def _made(name: str) -> tuple[Any, Any]:
    """One of the two models, with what goes in. The learner's random numbers stay where they are."""
    width, rows = MODELS[name]
    with random.seeded(0):
        layers = [nn.Sequential(nn.Linear(width, width), nn.Tanh()) for _ in range(LAYERS)]
        return nn.Sequential(*layers), random.randn(rows, width)
