"""Predict first: the result is shown only after a prediction is committed."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import traitlets

from tinygrad_edu.common.wording import first_line
from tinygrad_edu.errors import EduError
from tinygrad_edu.views import predict
from tinygrad_edu.views.frame import STAGES, Frame
from tinygrad_edu.views.given import callables, refusal

from . import charts
from .base import EduWidget

_PREDICTIONS: list[dict[str, Any]] = []


class PredictGate(EduWidget, room=predict):
    """``PredictGate("Which?", reveal, choices=[…])`` asks; ``reveal()`` is called when the learner commits.

    Before that the result does not exist anywhere, neither in a trait, a message, the page nor the saved notebook:
    ``reveal`` has not run. It returns a choice, a number or a curve's heights, or an `Outcome` with a reason and a
    badge. Without ``choices`` and ``xs`` it asks for a number between ``low`` and ``high``; with ``xs`` the learner
    draws a curve. ``why`` is the reason for the result, said after the commit: a sentence, or one for each choice, such
    as ``{"24": "…", "28": "…"}``; then each wrong choice is answered, too. A gate has no
    machine strip, unless its question is about a part of the machine: ``about=("buffers",)`` names the stages, out of
    names, tensors, buffers, device and queue.

    Gestures: choose (arrow keys in the group), type, or draw (or *Start level*, and move each point by ↑ and ↓);
    *Commit*; *Draw again*; *Ask again* afterwards.
    """

    mirrors: ClassVar[dict[str, str]] = {"prediction": "draft"}
    prediction = traitlets.Any(None).tag(sync=True)  # not yet committed: a choice, a number, a curve's heights, or None
    committed = traitlets.Bool(False, read_only=True).tag(sync=True)
    result = traitlets.Any(None, read_only=True).tag(sync=True)  # None until the learner has committed

    def __init__(
        self, ask: str, reveal: Callable[[], Any], *, why: predict.Why = "", about: Sequence[str] = (), **offer: Any
    ) -> None:
        callables("PredictGate", reveal=reveal)
        self._about = _stages(about)
        self.state = predict.GateState(predict.question(ask, **offer))
        self._reveal, self._why = reveal, predict.checked_why(self.state.question, why)
        super().__init__()

    def frame(self) -> Frame:
        """The frame of the current state."""
        return predict.frame(self.state, about=self._about)

    def _still(self) -> Frame:
        """Before the commit a picture offers the choices, since it has no controls."""
        return self._framed() if self.state.committed else predict.frame(self.state, still=True, about=self._about)

    def data(self) -> Any:
        """Question, prediction and, once committed, the outcome."""
        return dataclasses.asdict(self.state)

    def mirrored(self) -> dict[str, Any]:
        """Prediction and result."""
        outcome = self.state.outcome
        result = None if outcome is None else outcome.value
        if isinstance(result, tuple):  # a curve: JSON has no word for what is not finite
            result = tuple(height if math.isfinite(height) else None for height in result)
        return {"prediction": self.state.draft, "committed": self.state.committed, "result": result}

    def predict(self, value: Any) -> None:
        """Commit to a prediction from code."""
        self.act("draft", value)
        self.act("commit")

    def plot(self, ax: Any = None) -> Any:
        """Draw prediction and result, a number or a curve, with matplotlib, on ``ax`` or on new axes.

        Returns the axes. Raises `ArgumentError` for a choice, and `MissingPackageError` if matplotlib is not installed.
        """
        return charts.prediction(self.state, charts.axes_for("PredictGate.plot", ax))

    def _act(self, act: str, value: Any) -> None:
        q, state = self.state.question, self.state
        if act == "reset":
            self.state = predict.GateState(q)
        elif state.committed:
            return  # a message that was still under way
        elif act == "draft":
            empty = value is None or (isinstance(value, str) and not value)
            self.state = predict.GateState(q, None if empty else predict.draft(q, value))
        elif act == "draw":
            low, high = predict.span(state)
            heights: Sequence[float] = [low + float(v) * (high - low) for v in value]
            self.state = predict.GateState(q, predict.draft(q, predict.within(state, heights)))
        elif act == "level":
            self.state = predict.GateState(q, predict.draft(q, [(q.low + q.high) / 2 for _ in q.xs]))
        elif act == "nudge":
            place, direction = value
            heights, (low, high) = list(state.draft or ()), predict.span(state)
            heights[int(place)] += int(direction) * (high - low) / 50
            self.state = predict.GateState(q, predict.draft(q, predict.within(state, heights)))
        elif act == "clear":
            self.state = predict.GateState(q)
        elif act == "commit":
            self._commit()
        else:
            raise KeyError(act)

    def _commit(self) -> None:
        if self.state.draft is None:
            return
        q = self.state.question
        try:
            outcome = predict.outcome(q, self._reveal(), self._why)
        except Exception as error:  # by the author of the question: the prediction stays, and can be committed again
            why = error.sentence() if isinstance(error, EduError) else first_line(error)
            self.state = dataclasses.replace(self.state, message=f"The result could not be computed. {why}")
            return
        self.state = dataclasses.replace(self.state, committed=True, outcome=outcome, message="")
        note_prediction(q.ask, self.state.draft, outcome.value)

    def _refuse(self, error: EduError) -> None:
        self.state = dataclasses.replace(self.state, draft=None, message=error.sentence())


def _stages(about: Any) -> tuple[str, ...]:
    """The stages, in the order of the machine. Raises `ArgumentError` for anything else."""
    given = (about,) if isinstance(about, str) and about else about
    if not isinstance(given, (tuple, list)) or any(stage not in STAGES for stage in given):
        raise refusal("PredictGate", "about", about, f"the stages are {', '.join(STAGES)}", 'write about=("buffers",)')
    return tuple(stage for stage in STAGES if stage in given)


def note_prediction(question: str, predicted: Any, result: Any) -> None:
    """Keep a committed prediction, with its result, for `export_predictions`."""
    _PREDICTIONS.append({"question": question, "predicted": predicted, "result": result})


def export_predictions(path: str | Path | None = None) -> list[dict[str, Any]]:
    """Every prediction committed so far, in order: question, prediction, result. Written as JSON if ``path``."""
    if path is not None:
        if not isinstance(path, (str, Path)):
            raise refusal("export_predictions", "path", path, "path is where to write them", 'write path="mine.json"')
        Path(path).write_text(json.dumps(_PREDICTIONS, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return [dict(entry) for entry in _PREDICTIONS]
