"""What all widgets share: a frame rendered in Python, shown by one ES module, answering messages one at a time."""

from __future__ import annotations

import contextvars
import dataclasses
import re
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import anywidget
import traitlets

from tinygrad_edu.common.lines import describe_line, failing_line
from tinygrad_edu.common.wording import first_line, shown
from tinygrad_edu.errors import EduError
from tinygrad_edu.observe import machine, surroundings
from tinygrad_edu.observe.stopping import Stoppable, Stopped
from tinygrad_edu.views.frame import Frame, Progress
from tinygrad_edu.views.given import finite, flags, refusal, texts
from tinygrad_edu.views.tokens import stylesheet

from . import paint
from .registry import enter

_STATIC = Path(__file__).parent / "static"
_SCRIPTS = ("edu", "alone", "projector", "motion", "reel")  # the browser takes one module
_PATIENCE = 0.2  # seconds before progress is shown, and between two updates

Tell = Callable[[int, int, float], bool]
Job = Callable[[Tell], Any]


class EduWidget(anywidget.AnyWidget):
    """Base of the widgets. A subclass defines its frame and what each act does to its state.

    ``class BufferMap(EduWidget, room=buffers)`` registers it, with the part of `tinygrad_edu.views` that it
    shows.

    Messages arrive on threads that the kernel chooses, even while a cell runs. So acts are done one after another,
    under the engine's settings (`no_grad`, guard, device) in force where the widget was made. Whatever happens in an
    act, the browser gets an answer.
    """

    _esm = "\n".join((_STATIC / f"{name}.js").read_text(encoding="utf-8") for name in _SCRIPTS)
    _css = stylesheet()
    html = traitlets.Unicode().tag(sync=True)
    label = traitlets.Unicode().tag(sync=True)
    key = traitlets.Unicode().tag(sync=True)  # by which the browser finds this widget's model
    presenting = traitlets.Bool(False).tag(sync=True)
    with_code = traitlets.Bool(False).tag(sync=True)  # while presenting: the notebook stays in sight
    answers = traitlets.Int(0).tag(sync=True)  # how many acts have been done: the browser waits for it
    awaited: ClassVar[frozenset[str]] = frozenset()  # acts whose work `act` waits for; the browser does not
    mirrors: ClassVar[dict[str, str]] = {}  # a trait that shows a part of the state: the act that sets it

    def __init_subclass__(cls, *, room: ModuleType | None = None, **options: Any) -> None:
        super().__init_subclass__(**options)
        if room is not None:
            enter(cls, room)

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._settings = contextvars.copy_context()
        self._notice = ""  # why the last act was refused, for widgets whose state does not hold it
        self.progress: Progress | None = None  # of the work under way, once it has taken a while
        self._work: _Work | None = None
        key = uuid.uuid4().hex
        super().__init__(label=type(self).__name__, model_id=key, key=key)
        self.on_msg(self._receive)
        self._show()
        if mirrored := tuple(self.mirrored()):
            self._register_validator(EduWidget._trait_set, mirrored)

    def frame(self) -> Frame:
        """The frame of the current state."""
        raise NotImplementedError

    def data(self) -> Any:
        """The state as plain data."""
        raise NotImplementedError

    def _act(self, act: str, value: Any) -> None:
        """Change the state. Raises KeyError for an unknown act."""
        raise NotImplementedError

    def mirrored(self) -> dict[str, Any]:
        """The values of the traits that show the state: those in `mirrors`, and others, which can only be read."""
        return {}

    def _trait_set(self, proposal: Any) -> Any:
        """A program, a link or the browser sets a trait: do its act. The trait takes what the state has afterwards, and
        so never shows what was refused."""
        name, value = proposal["trait"].name, proposal["value"]
        if value != self.mirrored()[name] and name in self.mirrors:
            self._answer(self.mirrors[name], value, patient=True)
        found = self.mirrored()[name]
        if found != value:  # whoever set it has to learn what holds
            self.send_state(name)
        return found

    def act(self, act: str, value: Any = None) -> None:
        """Do what a press of the control ``act`` does. Drives a widget without a browser.

        The picture shows what the widget refuses. Raises `KeyError` for an unknown act, with those there are.
        """
        texts(f"{type(self).__name__}.act", act=act)
        try:
            self._answer(act, value, patient=False)
        except KeyError as error:
            if error.args != (act,):
                raise
            there = ", ".join(dict.fromkeys(re.findall(r'data-act="([^"]+)"', self.html))) or "none"
            raise KeyError(f"{act!r}: {type(self).__name__} has no such control; on show are {there}") from None
        if act in self.awaited:
            self.wait()

    def _answer(self, act: str, value: Any, patient: bool) -> None:
        with self._lock:
            self._notice = ""
            try:
                if act == "halt":
                    self._halt()
                else:
                    self._settings.copy().run(self._act, act, value)
            except EduError as error:
                self._refuse(error)
            except Exception as error:
                if not patient:
                    raise
                self._notice = _not_done(act, value, error)
            finally:
                try:
                    self._show()
                finally:
                    self.answers += 1

    def _refuse(self, error: EduError) -> None:
        """Show a refusal."""
        self._notice = error.sentence()

    def _receive(self, _: Any, content: Any, __: Any) -> None:
        """A message from the browser. If it cannot be carried out, the answer says so: nobody could catch an error."""
        if isinstance(content, dict) and isinstance(content.get("act"), str):
            self._answer(content["act"], content.get("value"), patient=True)

    @property
    def working(self) -> bool:
        """Whether work started by an act is still under way."""
        return self._work is not None

    def work(self, job: Job, then: Callable[[Any], None]) -> None:
        """Do ``job(tell)`` on a new thread, under this widget's settings, and then ``then(result)``.

        For work that takes longer than an answer may. The job calls ``tell(done, total, seconds_left)`` now and then,
        to show its progress, and ends early if that returns False: *Stop*, the act ``halt``, was pressed. A job that
        does not is ended by `observe.stopping.Stopped`, or given up after a second. ``then`` changes the state; it is
        not called for a job that was given up, or left by `abandon`. Only an act may begin work, one at a time.
        """
        if self._work is None:
            self._work = _Work(self, job, then)
            self._work.start()

    def abandon(self) -> None:
        """Let the work under way end soon, and forget its result."""
        if self._work is not None:
            self._work.halt()
            self._work = self.progress = None

    def wait(self, seconds: float = 60.0) -> None:
        """Wait for the work under way. Raises `TimeoutError` after ``seconds``."""
        if finite(f"{type(self).__name__}.wait", "seconds", seconds) < 0:
            raise refusal(f"{type(self).__name__}.wait", "seconds", seconds, "it is a time to wait", "write seconds=60")
        work = self._work
        if work is not None:
            work.join(seconds)
            if work.is_alive():
                raise TimeoutError(f"{type(self).__name__} has been at work for {seconds:g} s")

    def _halt(self) -> None:
        if self._work is not None:
            self._work.halt()

    def _failed(self) -> None:
        """The work under way has ended without a result. For subclasses that keep what began it."""

    def _gave_up(self) -> None:
        """The work under way cannot be ended, and its result is forgotten. For subclasses that keep what began it."""
        self._notice = "It could not be stopped: it is in a call that Python cannot interrupt. It was given up."

    def _show(self) -> None:
        self.html = self._framed().html()
        for name, value in self.mirrored().items():
            self.set_trait(name, value)  # also where others may only read it

    def _framed(self) -> Frame:
        """The frame, with the refusal or progress of the last act."""
        frame = dataclasses.replace(self.frame(), progress=self.progress)
        if not self._notice:
            return frame
        return dataclasses.replace(frame, message=self._notice, text=f"{frame.text}\n▲ {self._notice}")

    def present(self, on: bool = True, *, code: bool = False) -> None:
        """Fill the window, in type for a projector; ``False`` ends it, and so does Escape.

        PageDown and PageUp, the keys of a remote control, press the next and the last step, or else what the question
        asks to be done next. With ``code=True`` the type is large, but the widget stays in its place among the cells.
        """
        flags(f"{type(self).__name__}.present", on=on, code=code)
        self.with_code = code
        self.presenting = on

    def text(self) -> str:
        """All that is said: every value that the picture shows, and the words around it."""
        return self._framed().words()

    def _still(self) -> Frame:
        """The frame of a picture, which has no controls."""
        return self._framed()

    def svg(self) -> str:
        """A standalone picture."""
        return self._still().svg()

    def save(self, path: str | Path, *, width: float | None = None, theme: str = "light") -> None:
        """Write the picture to a file that ends in ``.svg``, ``.png`` or ``.pdf``.

        ``width`` is in pixels of a web page, 96 to an inch; a PNG has twice the picture's own by default. ``theme`` is
        "light" or "dark". PNG and PDF need matplotlib. Raises `ArgumentError` for another ending, and where nothing
        can be written.
        """
        paint.save(f"{type(self).__name__}.save", self._still(), path, width, theme)

    def to_html(self) -> str:
        """A page with the picture, the text and no controls."""
        return self._still().page()

    def __repr__(self) -> str:
        frame = self._framed()
        return frame.summary or frame.text

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        found = super()._repr_mimebundle_(**kwargs)
        bundle, metadata = found if isinstance(found, tuple) else (found, {})
        frame = self._still()
        still = {"text/html": frame.still(), "image/svg+xml": frame.svg(), "text/plain": repr(self)}
        return {**(bundle or {}), **still}, metadata


def _not_done(act: str, value: Any, error: Exception) -> str:
    """What was given, why it could not be done, and how to go on."""
    if isinstance(error, KeyError) and error.args == (act,):
        return f"{shown(act, 40)}: this widget has no such control. Press one that it shows."
    given = act if value is None else f"{act} = {shown(value, 40)}"
    return f"{given}: this cannot be done here ({first_line(error)}). Give another value, or press Reset."


class _Work(Stoppable):
    """The work of a widget, which answers other acts meanwhile."""

    def __init__(self, widget: EduWidget, job: Job, then: Callable[[Any], None]) -> None:
        settings = widget._settings.copy()
        super().__init__(lambda: settings.run(job, self.tell), self.give_up, f"{type(widget).__name__} at work")
        self.widget, self.then = widget, then
        self.shown = time.monotonic()
        self.timer = threading.Timer(max(_PATIENCE, 0.0), self.show, [Progress(0, 0, 0.0)])
        self.timer.daemon = True

    def start(self) -> None:
        """Begin; if it takes a while, the widget says so, and offers *Stop*."""
        self.timer.start()
        super().start()

    def ended(self) -> None:
        """Show the result, unless the widget has gone on to something else."""
        self.timer.cancel()
        self.timer.join()
        widget = self.widget
        with widget._lock:
            if widget._work is not self:
                return
            widget._work = widget.progress = None
            try:
                self._end()
            finally:
                self.result = self.failure = None  # the traceback of an error would keep the learner's arrays locked
                widget._show()

    def _end(self) -> None:
        widget = self.widget
        try:
            if self.failure is not None:
                raise self.failure
            widget._settings.copy().run(self.then, self.result)
        except EduError as error:
            widget._refuse(error)
        except Stopped:
            widget._failed()
            widget._notice = "It was stopped."
        except BaseException as error:
            widget._failed()
            place = describe_line(failing_line(error)).partition(": ")[0]
            where = f" ({place})" * bool(place)
            widget._notice = (
                f"The work ended with an error: {first_line(error)}{where}. Change what was run, and run it again."
            )

    def tell(self, done: int, total: int, left: float) -> bool:
        """Show the job's progress, not too often. Returns whether to go on."""
        with self.undisturbed():
            if time.monotonic() - self.shown > _PATIENCE:
                self.show(Progress(done, total, left))
            return not self.stop.is_set()

    def show(self, progress: Progress) -> None:
        """Show how far it is, while it goes on."""
        with self.widget._lock:
            if self.widget._work is self and not self.stop.is_set() and (progress.total or not self.widget.progress):
                self.shown = time.monotonic()
                self.widget.progress = progress
                self.widget._show()

    def give_up(self) -> None:
        """Go on without it: let others measure, and forget its result."""
        machine.give_up(self.ident or 0)
        surroundings.give_up(self.ident or 0)
        widget = self.widget
        with widget._lock:
            if widget._work is self:
                widget._work = widget.progress = None
                widget._gave_up()
                widget._show()
