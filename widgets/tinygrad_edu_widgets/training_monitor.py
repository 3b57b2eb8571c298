"""Watch a loss fall while a cell runs."""

from __future__ import annotations

import dataclasses
import time
from typing import Any

from tinygrad_edu.views import training
from tinygrad_edu.views.frame import Frame

from .base import EduWidget


class TrainingMonitor(EduWidget, room=training):
    """A progress bar and a loss curve: ``monitor = TrainingMonitor(epochs)``, then ``monitor.log(loss=…, accuracy=…)``.

    Gestures: hover a point to read it. Buttons do nothing while a cell runs: the notebook's own ■ ends the loop.
    """

    def __init__(self, epochs: int, *, ask: str = "How fast will the loss fall?") -> None:
        self.state = training.TrainingState(epochs)
        self._ask, self._drawn = ask, 0.0
        super().__init__()

    def frame(self) -> Frame:
        """The frame of the current state."""
        return training.frame(self.state, self._ask)

    def data(self) -> Any:
        """The logged numbers."""
        return dataclasses.asdict(self.state)

    def log(self, loss: float, accuracy: float | None = None) -> None:
        """Add one epoch. The picture follows at most twenty times a second, and always at the end."""
        with self._lock:
            self.state = training.add(self.state, float(loss), None if accuracy is None else float(accuracy))
            now = time.monotonic()
            last = len(self.state.losses) >= self.state.epochs
            if last or now - self._drawn > 0.05:
                self._drawn = now
                self._show()

    def _act(self, act: str, value: Any) -> None:
        raise KeyError(act)
