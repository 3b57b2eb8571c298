"""Widgets that show the moment of their making are asked to look again after each cell and after each other's acts."""

from __future__ import annotations

import threading
import weakref
from typing import Any, Protocol

from IPython import get_ipython


class Watcher(Protocol):
    """A widget that can see whether what it shows still holds."""

    def look(self) -> None:
        """Look, and say so if it does not."""


_WATCHERS: weakref.WeakSet[Watcher] = weakref.WeakSet()
_watching = threading.Lock()
_hooked: list[Any] = []  # the shell that tells us when a cell has run


def watch(one: Watcher) -> None:
    """Let a widget hear of other widgets' acts and of later cells."""
    with _watching:
        _WATCHERS.add(one)
    shell = get_ipython()
    if shell is not None and shell not in _hooked:
        _hooked.append(shell)
        shell.events.register("post_run_cell", lambda result: look_around())


def forget(one: Watcher) -> None:
    """Leave a widget in peace."""
    with _watching:
        _WATCHERS.discard(one)


def look_around(doer: object = None) -> None:
    """Let every watcher but the one that has just acted look."""
    with _watching:
        others = [one for one in _WATCHERS if one is not doer]
    for one in others:
        one.look()
