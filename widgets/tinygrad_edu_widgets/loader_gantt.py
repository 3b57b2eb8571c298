"""Workers that read ahead and a loop that trains: set the workers, predict how long the loop waits, and run it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any, ClassVar

import traitlets

from tinygrad_edu.errors import EduError
from tinygrad_edu.observe.machine import Conditions
from tinygrad_edu.views import loading
from tinygrad_edu.views.frame import Frame
from tinygrad_edu.views.given import callables, flags, refusal, texts, typed, whole

from .base import EduWidget, Tell

Measured = tuple[tuple[loading.Run, ...], Conditions, float]
PATIENCE = 120.0  # seconds that a program waits for all runs


class LoaderGantt(EduWidget, room=loading):
    """``LoaderGantt()`` draws who reads each batch, which lie ready, and where training waits for one.

    Without arguments a sample costs about two milliseconds: it waits, sorts in NumPy, or loops in Python.
    ``LoaderGantt(dataset, step)`` reads your own data set, in batches of ``batch_size``, and calls ``step(batch)`` with
    each (without a step it waits for 6 ms); further arguments go to `DataLoader`. Once the learner has committed to the
    share of time for which the loop waits, it runs once without workers, and then for two epochs, three times; the run
    in the middle is drawn. With ``predict=False`` nobody is asked.

    Gestures: set the workers, how far ahead they read, whether they are processes or threads, whether they are kept
    from one epoch to the next, and what a sample costs; move the prediction, *Commit and run*; hover a batch; *Run
    again* (a), *Ask again* (r), *Stop*.
    """

    mirrors: ClassVar[dict[str, str]] = {"workers": "workers", "prediction": "draft"}
    workers = traitlets.Int(2).tag(sync=True)
    prediction = traitlets.Int(20).tag(sync=True)  # per cent
    committed = traitlets.Bool(False, read_only=True).tag(sync=True)
    stalled = traitlets.Float(None, allow_none=True, read_only=True).tag(sync=True)  # a share, once measured

    def __init__(
        self, dataset: Any = None, step: Callable[[Any], Any] | None = None, *, batch_size: int = 8, workers: int = 2,
        ask: str = "", why: str = "", predict: bool = True, **options: Any,
    ) -> None:  # fmt: skip
        texts("LoaderGantt", ask=ask, why=why)
        flags("LoaderGantt", predict=predict)
        if step is not None:
            callables("LoaderGantt", step=step)
        if whole("LoaderGantt", "workers", workers) not in loading.WORKERS:
            raise refusal("LoaderGantt", "workers", workers, "it is how many read ahead", "write workers=2, or up to 8")
        self._subject = loading.Subject(dataset, step, whole("LoaderGantt", "batch_size", batch_size), **options)
        self._subject.loader(loading.Setting(workers=0))  # arguments that do not fit are refused here
        self.state = loading.LoadingState(
            loading.Setting(workers=workers), own=not (dataset is step is None), ask=ask, reason=why
        )
        if not predict:
            setting = self.state.setting
            self._finish(setting, self._subject.measure(setting, lambda *_: True))
            self.state = replace(self.state, asked=False)
        super().__init__()

    @classmethod
    def of(cls, state: loading.LoadingState) -> LoaderGantt:
        """A widget of a loop that was watched: there is nothing to set, and nothing to predict."""
        widget = cls.__new__(cls)
        widget.state = state
        EduWidget.__init__(widget)
        return widget

    def frame(self) -> Frame:
        """The frame of the current state."""
        return loading.frame(self.state, self.working)

    def data(self) -> Any:
        """Every pass with its batches, in seconds, as plain data."""
        return asdict(self.state)

    def mirrored(self) -> dict[str, Any]:
        """How many workers, the prediction, and what was measured."""
        state = self.state
        run = state.run
        return {
            "workers": state.setting.workers, "prediction": state.draft, "committed": state.said is not None,
            "stalled": None if run is None else run.stalled,
        }  # fmt: skip

    def predict(self, value: int) -> None:
        """Commit to a prediction from code, in per cent, and wait for the result."""
        self.act("draft", value)
        if not self.state.message:
            self.act("commit")
            self.wait(PATIENCE)

    def _act(self, act: str, value: Any) -> None:
        self.state = replace(self.state, message="")
        if self.state.watched:
            raise KeyError(act)
        if act in ("workers", "prefetch"):
            self.state = loading.choose(self.state, act, typed(act, value))
        elif act in ("kind", "kept", "cost"):
            self.state = loading.choose(self.state, act, value)
        elif act == "draft":
            if self.state.said is None:
                self.state = loading.draft(self.state, value)
        elif act == "commit":
            if self.state.said is None:
                self.state = replace(self.state, said=self.state.draft)
                self._run()
        elif act == "again":
            if self.state.said is not None or not self.state.asked:
                self._run()
        elif act == "reset" and self.state.asked:
            self.abandon()
            self.state = replace(self.state, said=None, runs=(), done=None)
        else:
            raise KeyError(act)

    def _run(self) -> None:
        setting, subject = self.state.setting, self._subject

        def job(tell: Tell) -> Measured:
            return subject.measure(setting, tell)

        self.work(job, lambda found: self._finish(setting, found))

    def _finish(self, setting: loading.Setting, found: Measured) -> None:
        runs, conditions, alone = found
        self.state = loading.finish(self.state, setting, runs, conditions.text(), alone)

    def _failed(self) -> None:
        self.state = replace(self.state, said=None)

    def _gave_up(self) -> None:
        super()._gave_up()
        self._failed()

    def _refuse(self, error: EduError) -> None:
        said = self.state.said if self.state.runs or self.working else None
        self.state = replace(self.state, said=said, message=error.sentence())
