"""What code that somebody else wrote may change around it, and how all of it is put back.

A learner's program runs inside the notebook's own process. It may change the working directory, the warning filters,
the collector, the defaults of this package and much else that the whole process shares. `left_as_found` puts all of
that back when the program has ended, was stopped, or was given up.

It cannot put back what it does not know of: attributes of other modules (``np.ones = None``), files, sockets, and what
C code keeps for itself. And nothing in Python survives ``os._exit()``, which ends the process at once.
"""

from __future__ import annotations

import builtins
import gc
import locale
import os
import random
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from .. import settings
from ..common.blocks import block
from . import limit
from .stopping import undisturbed, undoing

Pair = tuple[Callable[[], Any], Callable[[Any], Any]]  # how to read something, and how to put it back

# Attributes that programs like to exchange, by module.
_ATTRIBUTES = {
    sys: ("stdin", "stdout", "stderr", "excepthook", "displayhook", "breakpointhook"),
    threading: ("excepthook",),
}


def _entries(where: Any, ours: Callable[[str], bool] = lambda name: True) -> Pair:
    """A dict's entries, and how to make them what they were. It is never emptied, not even for a moment: other threads
    are looking names up."""

    def put(before: dict[str, Any]) -> None:
        for name in [name for name in where if name not in before and ours(name)]:
            del where[name]
        for name, value in before.items():
            if where.get(name) is not value and where.get(name) != value and ours(name):
                where[name] = value

    return lambda: dict(where), put


def _items(where: list[Any]) -> Pair:
    """A list's items, and how to make them what they were."""

    def put(before: list[Any]) -> None:
        if where != before:
            where[:] = before

    return lambda: list(where), put


def _filters(before: tuple[Any, list[Any]]) -> None:
    """The list of the warnings' filters is another one inside `warnings.catch_warnings`."""
    warned: Any = warnings
    if warned.filters is not before[0] or warned.filters != before[1]:
        warned.filters = before[0]
        warned.filters[:] = before[1]
        warned._filters_mutated()  # or it would go on with what it remembers


def _attributes() -> Pair:
    def put(before: list[tuple[Any, str, Any]]) -> None:
        for module, name, value in before:
            setattr(module, name, value)

    return lambda: [(m, name, getattr(m, name)) for m, names in _ATTRIBUTES.items() for name in names], put


def _collector(before: tuple[bool, tuple[int, int, int]]) -> None:
    (gc.enable if before[0] else gc.disable)()
    gc.set_threshold(*before[1])


def _directory() -> str:
    try:
        return os.getcwd()
    except OSError:  # somebody has removed it
        return ""


def _set_locale(before: str) -> None:
    if locale.setlocale(locale.LC_ALL) != before:
        locale.setlocale(locale.LC_ALL, before)


def _interrupts(before: Any) -> None:
    if threading.current_thread() is threading.main_thread() and before is not None:
        signal.signal(signal.SIGINT, before)


# What belongs to the process: how to read it, and how to put it back.
_SHARED: tuple[Pair, ...] = (
    (lambda: (gc.isenabled(), gc.get_threshold()), _collector),
    (_directory, lambda before: os.chdir(before) if before and _directory() != before else None),
    _items(sys.path),
    _items(sys.meta_path),
    _entries(os.environ),
    (lambda: (warnings.filters, list(warnings.filters)), _filters),
    (lambda: locale.setlocale(locale.LC_ALL), _set_locale),
    (sys.getrecursionlimit, sys.setrecursionlimit),
    (sys.getswitchinterval, sys.setswitchinterval),
    (threading.gettrace, threading.settrace),
    (threading.getprofile, threading.setprofile),
    (lambda: signal.getsignal(signal.SIGINT), _interrupts),
    _attributes(),
    _entries(vars(builtins), lambda name: name != "_"),  # where the prompt keeps the last value
    (settings.defaults, settings.put_back_defaults),
    (np.random.get_state, np.random.set_state),
    (random.getstate, random.setstate),
)
# What belongs to one thread, and is put back by that thread.
_OWN: tuple[Pair, ...] = (
    (sys.gettrace, sys.settrace),
    (sys.getprofile, sys.setprofile),
    (np.geterr, lambda before: np.seterr(**before)),
    (np.geterrcall, np.seterrcall),
    (np.get_printoptions, lambda before: np.set_printoptions(**before)),
)


class _Found:
    """How everything was before the first of the programs that run now."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.inside: dict[int, int] = {}  # how many blocks a thread has open
        self.before: list[Any] = []

    def enter(self, thread: int) -> int:
        """Returns how many blocks the thread had open before: what `leave` goes back to."""
        with self.lock:
            if not self.inside:
                self.before = [read() for read, _ in _SHARED]
                limit.limit()
            depth = self.inside.get(thread, 0)
            self.inside[thread] = depth + 1
            return depth

    def leave(self, thread: int, depth: int) -> None:
        with self.lock:
            if thread not in self.inside:
                return  # given up meanwhile
            if depth:
                self.inside[thread] = depth
                return
            del self.inside[thread]
            if not self.inside:
                limit.lift()
            for (_, put), before in zip(_SHARED, self.before, strict=True):
                put(before)


_found = _Found()


@block
def left_as_found() -> Iterator[None]:
    """Whatever the block does to the process and to this thread, afterwards all is as it was.

    Programs may run in several threads at once. What is put back is then how it was before the first of them. A change
    that another thread made on purpose meanwhile is undone too.
    """
    thread = threading.get_ident()
    with undoing() as undo:
        with undisturbed():
            own = [partial(put, read()) for read, put in _OWN]
            undo.append(partial(_found.leave, thread, _found.enter(thread)))
            undo += own
        yield


def give_up(thread: int) -> None:
    """Put back what is shared, for a thread that cannot do it itself."""
    _found.leave(thread, 0)
