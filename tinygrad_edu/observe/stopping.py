"""Threads that can be stopped, for code that somebody else wrote: it may loop for ever, or wait and never return."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from ..common.blocks import block

PATIENCE = 0.4  # seconds that a job has to end by itself, between two of its steps
LIMIT = 1.0  # seconds after which a job that goes on is given up
_AGAIN = 0.05  # seconds between two attempts: a bare `except:` may swallow one
_LATER = 0.5  # and once it is given up


class Stopped(BaseException):
    """Raised in a thread that is stopped, at its next step in Python. ``except Exception`` lets it pass."""


class Stoppable(threading.Thread):
    """A thread that does ``job()``. `halt` ends it: by `stop`, which the job may look at, or else by `Stopped`.

    Python can interrupt a thread between two instructions, but not inside a call to C. If the job is still in one after
    a second, ``gave_up`` is called: the thread then goes on by itself until that call returns, and ends there.
    """

    def __init__(self, job: Callable[[], Any], gave_up: Callable[[], None], name: str) -> None:
        super().__init__(name=name, daemon=True)
        self.stop = threading.Event()
        self.result: Any = None
        self.failure: BaseException | None = None
        self._job, self._gave_up = job, gave_up
        self._open = False  # may `Stopped` be sent? Only while the job's own code runs
        self._door = threading.Lock()
        self._helper: threading.Thread | None = None

    def run(self) -> None:
        """Do the job; `result` or `failure` holds what came of it."""
        try:
            try:
                self._let_in()
                self.result = self._job()
            except BaseException as error:  # nobody could catch it here, not even SystemExit
                self.failure = error
            self._shut()
        except Stopped:  # it was sent before the door was shut, and the job had ended by then
            self._shut()
        self.ended()

    def ended(self) -> None:
        """Called in the thread when the job has ended, and cannot be interrupted any more. For subclasses."""

    @contextmanager
    def undisturbed(self) -> Iterator[None]:
        """A part of the job in which `Stopped` cannot come."""
        self._shut()
        try:
            yield
        finally:
            self._let_in()

    def halt(self) -> None:
        """Let the job end soon. Returns at once."""
        if not self.stop.is_set():
            self.stop.set()
            self._helper = threading.Thread(target=self._insist, name=f"{self.name}, stopping", daemon=True)
            self._helper.start()

    def join(self, timeout: float | None = None) -> None:
        """Wait until the thread has ended, and who stopped it too."""
        super().join(timeout)
        helper = self._helper
        if helper is not None and helper is not threading.current_thread() and not self.is_alive():
            helper.join()

    def _insist(self) -> None:
        self.join(PATIENCE)
        end = time.monotonic() + LIMIT - PATIENCE  # from here: a call may have let no other thread run till now
        again = _AGAIN
        while self.is_alive():
            with self._door:
                if self._open:
                    interrupt(self.ident)
            self.join(again)
            if again == _AGAIN and time.monotonic() > end and self.is_alive():
                self._gave_up()
                again = _LATER  # what comes after that call may be a loop

    def _let_in(self) -> None:
        with self._door:
            self._open = True

    def _shut(self) -> None:
        while True:
            try:
                with self._door:
                    self._open = False
                for _ in range(100):  # Python looks for exceptions from outside at each turn: what was sent comes now
                    pass
                return
            except Stopped:
                continue


@contextmanager
def undisturbed() -> Iterator[None]:
    """A part of the present job, if there is one, in which `Stopped` cannot come."""
    thread = threading.current_thread()
    with thread.undisturbed() if isinstance(thread, Stoppable) else nullcontext():
        yield


@block
def undoing() -> Iterator[list[Callable[[], object]]]:
    """Gives a list for what the block has to put back. When it ends, however it does, each of these actions is done to
    its end, last first. One that is interrupted is done again, so a second time must do no harm.

    `Stopped` is sent again and again: in a plain ``finally`` it could come once more.
    """
    undo: list[Callable[[], object]] = []
    failure: BaseException | None = None
    try:
        yield undo
    finally:
        while undo:
            try:
                with undisturbed():
                    while undo:
                        undo[-1]()
                        undo.pop()
            except Stopped:  # it may come until `undisturbed` has begun
                continue
            except KeyboardInterrupt as error:
                failure = error
            except BaseException as error:  # the others have to be done as well
                failure = error
                undo.pop()
        if failure is not None:
            raise failure


def interrupt(thread: int | None, kind: type[BaseException] = Stopped) -> None:
    """Let `Stopped` be raised in a thread at its next step in Python.

    Python could also take it back, with NULL, but would then look for it at every step from there on, and find nothing
    (3.11).
    """
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread or 0), ctypes.py_object(kind))
