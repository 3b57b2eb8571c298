"""Watch the memory guard lock and release arrays, line by line."""

from __future__ import annotations

import dataclasses
from dataclasses import replace
from typing import Any, ClassVar

import traitlets

from tinygrad_edu.observe.stopping import Stopped
from tinygrad_edu.views import guard
from tinygrad_edu.views.frame import Frame
from tinygrad_edu.views.given import texts, typed
from tinygrad_edu.views.guard import LensState

from .base import EduWidget, Tell

EXAMPLE = """\
a = np.array([1., 2., 3.])
t = from_numpy(a).requires_grad_()
y = (t * t).sum()
a[0] = 10.0
y.backward()
a[0] = 10.0"""


class GuardLens(EduWidget, room=guard):
    """``GuardLens(code)`` runs a few lines with the guard on and off, and shows who held which array when.

    The program knows ``np``, ``tg`` (this package), ``tensor`` and ``from_numpy``. Gestures: *guard* on or off; press
    a line, or go *up* and *down* (keys ↑ ↓); *Edit the code*, then *Done*; *Stop*, if it runs on; *Reset* (r).
    """

    awaited = frozenset({"code"})
    mirrors: ClassVar[dict[str, str]] = {"code": "code", "guard": "guard", "row": "row"}
    code = traitlets.Unicode().tag(sync=True)  # to set it runs it: `wait()` for the result
    guard = traitlets.Unicode("on").tag(sync=True)
    row = traitlets.Int(0).tag(sync=True)  # the line that is shown, from 0

    def __init__(self, code: str = EXAMPLE, *, ask: str = "", guard: str = "on") -> None:
        texts("GuardLens", code=code, ask=ask)
        self._code = code.strip("\n")
        self._ask = ask or "Which line may write to the array, and which may not?"
        self._guard = guard
        self._start()
        super().__init__()

    def _start(self) -> None:
        self.state, self._editing = guard.lens(self._code, self._guard), False
        self._typed = self._code

    def frame(self) -> Frame:
        """The frame of the current state."""
        return guard.frame(self.state, self._ask, self._editing)

    def mirrored(self) -> dict[str, Any]:
        """The program, the guard, and the line that is shown."""
        return {"code": self._typed, "guard": self.state.guard, "row": self.state.row}

    def data(self) -> Any:
        """Both runs as plain data."""
        return dataclasses.asdict(self.state)

    def _act(self, act: str, value: Any) -> None:
        last = len(self.state.story.lines) - 1
        if act == "guard":
            self.state = replace(self.state, guard=guard.known_guard(value))
        elif act == "row":
            self.state = replace(self.state, row=max(0, min(typed(act, value), last)))
        elif act in ("up", "down"):
            self.state = replace(self.state, row=max(0, min(self.state.row + (1 if act == "down" else -1), last)))
        elif act == "edit":
            self._editing = not self._editing
        elif act == "code":
            self._run(str(value))
        elif act == "reset":
            self.abandon()
            self._start()
        else:
            raise KeyError(act)

    def _run(self, code: str) -> None:
        """Run what the learner typed, where it can be stopped."""
        self.abandon()
        self._typed, level = code, self.state.guard

        def job(tell: Tell) -> LensState:
            try:
                return guard.lens(code, level)
            except Stopped:
                return guard.unfinished(code, level, "it was stopped")

        self.work(job, self._ran)

    def _ran(self, found: LensState) -> None:
        self.state = replace(found, guard=self.state.guard)

    def _gave_up(self) -> None:
        super()._gave_up()
        self.state = guard.unfinished(self._typed, self.state.guard, "it could not be stopped")
