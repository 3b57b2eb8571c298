"""Running code that a learner wrote: what it may ask for here, and what it leaves behind."""

from __future__ import annotations

import builtins
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..errors import ArgumentError
from ..observe.stopping import Stoppable, interrupt
from ..observe.surroundings import left_as_found

MOST = 20_000  # characters that a program may print
_WAIT = 0.3  # seconds for the threads of a program to end, once they are told


class _Printer:
    """``print``, until it has printed enough: a page that is sent a hundred megabytes stops answering."""

    def __init__(self, most: int) -> None:
        self.left = most

    def __call__(self, *values: Any, sep: str | None = " ", end: str | None = "\n", **others: Any) -> None:
        if others.get("file") is not None:
            print(*values, sep=sep, end=end, **others)
        elif self.left > 0:
            said = (" " if sep is None else sep).join(map(str, values)) + ("\n" if end is None else end)
            shown, self.left = said[: self.left], self.left - len(said)
            print(shown, end="", **others)
            if self.left <= 0:
                print(f"\n… {MOST} characters are printed, and the rest is left out")


def _no_input(*_: object) -> str:
    raise ArgumentError("input()", "nobody can type an answer into this program", 'write the answer: name = "Ada"')


def _no_debugger(*_: object, **__: object) -> None:
    why = "nobody can answer a debugger in this program"
    raise ArgumentError("breakpoint()", why, "print what you want to see, or run the code in a cell")


def names_for(given: dict[str, Any], silent: bool = False) -> dict[str, Any]:
    """The names that a program begins with. Its ``input``, ``breakpoint`` and ``print`` are made for this place."""
    own = {"input": _no_input, "breakpoint": _no_debugger, "print": _Printer(0 if silent else MOST)}
    return {**given, "__name__": "__main__", "__builtins__": {**vars(builtins), **own}}


@contextmanager
def hosted(names: dict[str, Any] | None = None) -> Iterator[None]:
    """A block that runs a program, with these names: afterwards all is as before, and its threads are ended.

    A thread that sits in a call which Python cannot interrupt goes on until that call returns.
    """
    before = set(threading.enumerate())
    with left_as_found():
        try:
            yield
        finally:
            if names is not None:
                _end_threads(names, before)


def _end_threads(names: dict[str, Any], before: set[threading.Thread]) -> None:
    """Stop the threads whose code is that of this program; those of other widgets and cells are let be."""
    left = [one for one in threading.enumerate() if one not in before and _belongs(one, names)]
    for _ in range(2):  # a thread may catch the first; told again too soon, it would be disturbed while it ends
        for one in left:
            interrupt(one.ident, SystemExit)  # which ends a thread without a traceback
        end = time.monotonic() + _WAIT
        for one in left:
            one.join(max(0.0, end - time.monotonic()))
        left = [one for one in left if one.is_alive()]


def _belongs(thread: threading.Thread, names: dict[str, Any]) -> bool:
    """Whether a function of the program is what the thread does."""
    if isinstance(thread, Stoppable):
        return False
    function = getattr(thread, "_target", None) or getattr(type(thread), "run", None)
    return getattr(getattr(function, "__func__", function), "__globals__", None) is names
