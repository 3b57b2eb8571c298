"""What is known of a buffer: when it was last written and by whom, which tensors view it, which arrays the user has.

Nothing is kept for a buffer until something asks: most intermediate results never get a `Storage`. One counter keeps
the order. Every graph node takes a number from it when it is made and every write takes one too, so *"was this
buffer overwritten after that node saved it?"* is one comparison, and saving costs nothing.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable
from functools import partial
from types import NoneType
from typing import Any

from .. import backends
from ..common.locks import Lock

number: Callable[[], int] = itertools.count(1).__next__  # atomic, so threads share it


class _Clock:
    """The number of the newest write anywhere. Backward looks closer only at nodes that are older."""

    __slots__ = ("last_write",)

    def __init__(self) -> None:
        self.last_write = 0


clock = _Clock()


writing = Lock()  # held while a write takes its number: see `Storage.written`

Restore = list[tuple[Any, bool]]  # arrays, and whether to make each of them writable


class Storage:
    """What is known of one buffer. It lives as long as the array that owns the memory."""

    __slots__ = (
        "alias", "left", "lock", "owner", "reachable", "restore", "searched", "stale", "stamp", "users", "views",
        "writer",
    )  # fmt: skip

    def __init__(self, owner: weakref.ref[Any]) -> None:
        self.owner = owner
        self.stamp = 0  # number of the last write
        self.writer: tuple[str, Any] = ("", None)  # the op that wrote, and its source line
        self.alias: Any = None  # the NumPy scalar that this 0-d buffer replaced, which nodes may have saved
        self.views: list[weakref.ref[Any]] = []  # tensors that share it, as far as known; after a write, look at these
        self.stale: dict[int, weakref.ref[Any]] = {}  # by id: views that have not looked since the last write
        self.left: dict[int, weakref.ref[Any]] = {}  # by id: `Moves` of tensors that were here
        self.users: list[weakref.ref[Any]] = []  # who else has arrays of it: each has a method `memory`
        self.reachable: list[weakref.ref[Any]] = []  # arrays in the user's hands: what the guard locks
        self.lock: Callable[[], Any] = NoneType  # a weak reference to the guard's lock; before, what gives None too
        self.searched = False  # has the guard looked for nodes that saved it before it could be reached?
        self.restore: Restore = []  # what undoes the lock, owner first

    def written(self, writer: str, line: Any) -> None:
        """Note a write that has just happened."""
        with writing:  # or a late thread could set the clock back, and backward would not look closer
            self.stamp = clock.last_write = number()
        self.writer = (writer, line)


def written_all(storages: list[Storage], writer: str, line: Any) -> None:
    """Note writes to many buffers, by one writer, that have just happened. They share a number."""
    with writing:
        stamp = clock.last_write = number()
        for storage in storages:
            storage.stamp, storage.writer = stamp, (writer, line)


_STORAGES: dict[int, Storage] = {}


def find(array: Any) -> Storage | None:
    """The storage of this array's buffer, if there is one. A NumPy scalar is found by the buffer that replaced it."""
    owner = backends.of(array).owner(array) if getattr(array, "base", None) is not None else array
    return _STORAGES.get(id(owner))


def storage_of(array: Any) -> Storage:
    """The storage of this array's buffer, made now if need be. Not for NumPy scalars, which own no buffer."""
    owner = backends.of(array).owner(array)
    key = id(owner)
    storage = _STORAGES.get(key)
    if storage is None:
        storage = _STORAGES.setdefault(key, Storage(_forgetting(owner, key)))  # the same for two threads at once
    return storage


def _forgetting(owner: Any, key: int) -> weakref.ref[Any]:
    """A weak reference that removes the entry ``key`` when the array goes.

    It does so without a line of Python. There an interrupt (Ctrl-C) could come and be lost, and the entry would be
    left for the next array with that id.
    """
    return weakref.ref(owner, partial(_STORAGES.pop, key))  # it is called with itself: `pop` takes that as a default


def replace_scalar(scalar: Any, array: Any) -> Storage:
    """A tensor held a NumPy scalar and now holds this 0-d array: writes to it count as writes to the scalar."""
    storage = storage_of(array)
    if type(scalar).__name__ not in ("bool", "bool_"):  # NumPy has only two of those, and everybody shares them
        storage.alias = (scalar, _forgetting(array, id(scalar)))
        _STORAGES[id(scalar)] = storage
    return storage
