"""Widgets that show the moment of their making are asked to look again after each cell and after each other's acts."""

from __future__ import annotations

import weakref
from typing import Any, Protocol

from IPython import get_ipython


class Watcher(Protocol):
    """A widget that can see whether what it shows still holds."""

    def look(self) -> None:
        """Look, and say so if it does not."""


# No lock: the collector may close a widget at any point, in the thread that would be holding it. Each step is atomic.
_WATCHERS: dict[int, weakref.ref[Watcher]] = {}
_hooked: list[Any] = []  # the shell that tells us when a cell has run


def watch(one: Watcher) -> None:
    """Let a widget hear of other widgets' acts and of later cells."""
    key = id(one)
    _WATCHERS[key] = weakref.ref(one, lambda _: _WATCHERS.pop(key, None))
    shell = get_ipython()
    if shell is not None and shell not in _hooked:
        _hooked.append(shell)
        shell.events.register("post_run_cell", lambda result: look_around())


def forget(one: Watcher) -> None:
    """Leave a widget in peace."""
    _WATCHERS.pop(id(one), None)


def look_around(doer: object = None) -> None:
    """Let every watcher but the one that has just acted look."""
    for reference in list(_WATCHERS.values()):
        one = reference()
        if one is not None and one is not doer:
            one.look()
