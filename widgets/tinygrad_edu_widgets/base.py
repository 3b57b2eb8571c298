"""What all widgets share: a frame rendered in Python, shown by one ES module, answering messages one at a time."""

from __future__ import annotations

import contextvars
import dataclasses
import threading
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from tinygrad_edu.errors import EduError
from tinygrad_edu.views.frame import Frame
from tinygrad_edu.views.tokens import stylesheet

_STATIC = Path(__file__).parent / "static"


class EduWidget(anywidget.AnyWidget):
    """Base of the widgets. A subclass says what its frame is and what each act does to its state.

    Messages arrive on threads of the kernel's choosing, also while a cell runs. So acts are done one after another,
    under the engine's settings (`no_grad`, guard, device) that held where the widget was made. Whatever becomes of an
    act, the browser is answered.
    """

    _esm = _STATIC / "edu.js"
    _css = stylesheet()
    html = traitlets.Unicode().tag(sync=True)
    label = traitlets.Unicode().tag(sync=True)
    presenting = traitlets.Bool(False).tag(sync=True)
    answers = traitlets.Int(0).tag(sync=True)  # how many acts have been done: the browser waits for it

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._settings = contextvars.copy_context()
        self._notice = ""  # why the last act was refused, in widgets whose state has no place for it
        super().__init__(label=type(self).__name__)
        self.on_msg(self._receive)
        self._show()

    def frame(self) -> Frame:
        """The widget as it stands."""
        raise NotImplementedError

    def data(self) -> Any:
        """The state as plain data."""
        raise NotImplementedError

    def _act(self, act: str, value: Any) -> None:
        """Change the state. Raises KeyError for an act that there is none of."""
        raise NotImplementedError

    def act(self, act: str, value: Any = None) -> None:
        """Do what a press of the control ``act`` does. Drives a widget without a browser.

        What the widget refuses, it says in its picture. Raises `KeyError` for an act that there is none of.
        """
        self._answer(act, value, patient=False)

    def _answer(self, act: str, value: Any, patient: bool) -> None:
        with self._lock:
            self._notice = ""
            try:
                self._settings.copy().run(self._act, act, value)
            except EduError as error:
                self._refuse(error)
            except Exception as error:
                if not patient:
                    raise
                self._notice = f"{act} was not done: {first_line(error)}"
            finally:
                try:
                    self._show()
                finally:
                    self.answers += 1

    def _refuse(self, error: EduError) -> None:
        """Show a refusal."""
        self._notice = error.sentence()

    def _receive(self, _: Any, content: Any, __: Any) -> None:
        """A message from the browser. One that cannot be followed is answered in words: nobody could catch an error."""
        if isinstance(content, dict) and isinstance(content.get("act"), str):
            self._answer(content["act"], content.get("value"), patient=True)

    def _show(self) -> None:
        self.html = self._framed().html()

    def _framed(self) -> Frame:
        """The frame, with what the last act met."""
        frame = self.frame()
        if not self._notice:
            return frame
        return dataclasses.replace(frame, message=self._notice, text=f"{frame.text}\n▲ {self._notice}")

    def present(self, on: bool = True) -> None:
        """Large type for a projector, or back."""
        self.presenting = on

    def text(self) -> str:
        """The text twin: every value that the picture shows."""
        return self._framed().text

    def svg(self) -> str:
        """A standalone picture."""
        return self._framed().svg()

    def to_html(self) -> str:
        """A page with the picture, the text and no controls."""
        return self._framed().page()

    def __repr__(self) -> str:
        frame = self._framed()
        return frame.summary or frame.text

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        found = super()._repr_mimebundle_(**kwargs)
        bundle, metadata = found if isinstance(found, tuple) else (found, {})
        return {**(bundle or {}), "image/svg+xml": self.svg(), "text/plain": repr(self)}, metadata


def first_line(error: BaseException) -> str:
    """``ValueError: what it says``, without the rest."""
    said = str(error).strip().splitlines()
    return f"{type(error).__name__}: {said[0]}" if said else type(error).__name__
