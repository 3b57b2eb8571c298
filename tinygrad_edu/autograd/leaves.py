"""What can happen to a leaf between forward and backward: ``requires_grad_(False)``, and ``x.data = …``."""

from __future__ import annotations

import sys
import weakref
from functools import partial
from typing import Any

from ..core.base import TensorBase
from ..core.graph import Leaf, Node
from ..core.storage import clock, find, written_all

WAITED_FOR: weakref.WeakSet[Leaf] = weakref.WeakSet()  # leaves that have had hooks which wait for .grad
_ASLEEP: dict[int, tuple[Leaf, weakref.ref[Any]]] = {}  # leaves whose requires_grad is switched off for now
_MOVES: dict[int, Moves] = {}


def wake(tensor: TensorBase) -> None:
    """Let gradients arrive at this tensor, those of older graphs too, and run its hooks.

    So a leaf that slept gets its old node back, which older graphs point to and which has the hooks.
    """
    asleep = _ASLEEP.pop(id(tensor), None)
    tensor.node = Leaf(tensor) if asleep is None else asleep[0]


def put_to_sleep(tensor: TensorBase) -> None:
    """Let no gradients arrive at this leaf, until it wakes."""
    key, leaf = id(tensor), tensor.node
    assert isinstance(leaf, Leaf)
    tensor.node = None
    _ASLEEP[key] = (leaf, weakref.ref(tensor, partial(_ASLEEP.pop, key)))


def move(tensor: TensorBase) -> None:
    """Note that ``tensor`` is about to show other memory: ``x.data = …``."""
    storage, moves = tensor.storage, _MOVES.get(id(tensor))
    if moves is None:
        if not _held(tensor):
            return  # no operation can have saved it
        moves = _MOVES[id(tensor)] = Moves(tensor)
    moves.leave(storage, tensor)


def _held(tensor: TensorBase) -> bool:
    """Whether anything but tensors refers to this tensor's array: an operation may have saved it."""
    array, storage = tensor.array, tensor.storage
    sharers = {id(t) for reference in storage.views if (t := reference()) is not None and t.array is array}
    return storage.alias is not None or sys.getrefcount(array) > len(sharers) + 2  # this name, and that of the call


class Moves:
    """When a tensor was given other memory. Operations that saved it compute with what it shows now, as in PyTorch."""

    __slots__ = ("__weakref__", "last", "scalars", "spoiled", "steps", "tensor")

    def __init__(self, tensor: TensorBase) -> None:
        key = id(tensor)
        self.tensor = weakref.ref(tensor, partial(_MOVES.pop, key))
        self.steps: list[tuple[weakref.ref[Any], Any, Node | None, int]] = []  # array, scalar it replaced, node, when
        self.last = 0  # number of the newest step
        self.spoiled: tuple[int, Any] = (0, None)  # the newest step to memory that was written there, and the writer
        self.scalars: tuple[Any, ...] = ()

    def leave(self, storage: Any, tensor: TensorBase) -> None:
        """``tensor`` leaves this storage now."""
        if storage.stamp > self.last > 0:
            self.spoiled = (self.last, storage.writer)
        written_all([], "", None)  # sets the clock: backward will look closer at all older nodes
        self.last = clock.last_write
        self.steps = [step for step in self.steps if step[0]() is not None]
        scalar = None if storage.alias is None else storage.alias[0]
        self.steps.append((weakref.ref(tensor.array), scalar, tensor.node, self.last))
        if scalar is not None:
            self.scalars += (tensor.array,)  # it keeps alive the storage that knows the NumPy scalar
        storage.left = {**storage.left, id(tensor): weakref.ref(self)}

    def follow(self, array: Any, node: Node | None, since: int) -> tuple[Any, Any]:
        """What the tensor shows now, if it was an operand with this node and left ``array`` after ``since``.

        Otherwise ``array``. Second comes who has written to it since, or to other memory that the tensor showed on
        the way; None if nobody has.
        """
        tensor = self.tensor()
        for reference, scalar, owner, when in self.steps:
            if when > since and owner is node and any(one is array for one in (reference(), scalar)):
                shown: Any = array if tensor is None else tensor.array
                if shown.dtype != array.dtype:
                    break
                storage = find(shown)
                if storage is not None and storage.stamp > self.last:
                    return shown, storage.writer
                return shown, self.spoiled[1] if when <= self.spoiled[0] else None
        return array, None
