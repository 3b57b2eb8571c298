"""What all widgets share: a frame rendered in Python, shown by one ES module, answering messages one at a time."""

from __future__ import annotations

import contextvars
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
    under the engine's settings (`no_grad`, guard, device) that held where the widget was made.
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
        """Do what a press of the control ``act`` does. Drives a widget without a browser."""
        with self._lock:
            try:
                self._settings.copy().run(self._act, act, value)
            except EduError as error:
                self._refuse(error)
            self._show()
            self.answers += 1

    def _refuse(self, error: EduError) -> None:
        """Show a refusal. Widgets without a place for it let it through."""
        raise error

    def _receive(self, _: Any, content: Any, __: Any) -> None:
        if isinstance(content, dict) and isinstance(content.get("act"), str):
            self.act(content["act"], content.get("value"))

    def _show(self) -> None:
        self.html = self.frame().html()

    def present(self, on: bool = True) -> None:
        """Large type for a projector, or back."""
        self.presenting = on

    def text(self) -> str:
        """The text twin: every value that the picture shows."""
        return self.frame().text

    def svg(self) -> str:
        """A standalone picture."""
        return self.frame().svg()

    def to_html(self) -> str:
        """A page with the picture, the text and no controls."""
        return self.frame().page()

    def __repr__(self) -> str:
        return self.text()

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        found = super()._repr_mimebundle_(**kwargs)
        bundle, metadata = found if isinstance(found, tuple) else (found, {})
        frame = self.frame()
        return {**(bundle or {}), "image/svg+xml": frame.svg(), "text/plain": frame.text}, metadata
