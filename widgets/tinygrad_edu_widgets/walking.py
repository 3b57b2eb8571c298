"""Widgets of many steps, which the browser plays without waiting for Python."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol

import traitlets

from tinygrad_edu.views.reel import Reel

from .base import EduWidget


class Played(Protocol):
    """A frame that stands at one step of a reel."""

    @property
    def reel(self) -> Reel:
        """All its steps."""

    @property
    def standing(self) -> tuple[Any, ...]:
        """What it shows beside its step."""


class _Late(traitlets.Unicode[str, str]):
    """A page that is made when somebody asks for it: while the browser walks by itself, nobody does."""

    def get(self, obj: Any, cls: Any = None) -> Any:
        obj.catch_up()
        return super().get(obj, cls)


class Walking(EduWidget):
    """Base of widgets whose frames have a reel. They answer the act ``goto``, with a step.

    Python sends a page and its reel. From then on the browser walks through the steps, tells Python where it is, and
    asks for parts of the reel that it has not got. The page is sent anew only if something else than the step has
    changed.
    """

    mirrors: ClassVar[dict[str, str]] = {"step": "goto"}
    html = _Late().tag(sync=True)
    step = traitlets.Int(0).tag(sync=True)
    steps = traitlets.Int(0, read_only=True).tag(sync=True)
    reel = traitlets.Dict().tag(sync=True)

    def __init__(self) -> None:
        self._behind: Any = None  # the frame of a page that was not made yet
        self._shown: tuple[Any, ...] | None = None  # what the page in the browser shows beside its step
        self._playing: Reel | None = None  # the reel that the browser has
        self._count = 0  # of reels sent: the browser may still get an answer about the one before
        super().__init__()

    def mirrored(self) -> dict[str, Any]:
        """The step."""
        raise NotImplementedError

    def _show(self) -> None:
        frame: Any = self._framed()
        with self.hold_sync():
            if frame.standing == self._shown:
                self._behind = frame
            else:
                self._behind, self.html = None, frame.html()
            if frame.reel is not self._playing:
                self._count += 1
                told = frame.reel.told(self.mirrored()["step"])
                self.reel = {"id": self._count, "trait": "step", "act": self.mirrors["step"], **told}
            for name, value in self.mirrored().items():
                self.set_trait(name, value)
        self._shown, self._playing = frame.standing, frame.reel

    def catch_up(self) -> None:
        """Make the page of the current step. The browser has made its own."""
        frame, self._behind = self._behind, None
        if frame is not None:
            self._trait_values["html"] = frame.html()

    def _receive(self, widget: Any, content: Any, buffers: Any) -> None:
        if isinstance(content, dict) and content.get("act") == "reel":
            with self._lock:
                step = content.get("value")
                if self._playing is not None and isinstance(step, int):
                    self.send({"reel": self._playing.chunk(step), "id": self._count})
        else:
            super()._receive(widget, content, buffers)
