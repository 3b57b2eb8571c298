"""The books of a watch: which buffers are alive, whose they are, and what was there before."""

from __future__ import annotations

import weakref
from collections import deque
from dataclasses import dataclass
from typing import Any, NamedTuple

from ...common.lines import Line
from ...core.base import TensorBase
from ...core.graph import Leaf
from ...nn.module import Module
from ...optim.optimizer import Optimizer
from ..counters import buffer_of, bytes_of
from .parts import OWNERS, Held, Life

NOISE = 64_000  # bytes: Python's own objects come and go
# Whose a buffer may become: a tensor that wants a gradient since, and the result of a checkpoint, made without a graph.
TURNS: tuple[tuple[str, str], ...] = (("data", "parameter"), ("temporary", "activation"))


class Made(NamedTuple):
    """What made a buffer."""

    op: str = ""
    line: Line = None
    scope: Any = None

    @property
    def module(self) -> str:
        """The path of the module whose call was in progress."""
        return "" if self.scope is None else ".".join(self.scope.path())


class Page(NamedTuple):
    """The books at one moment."""

    number: int
    live: tuple[int, ...]
    lost: int

    @property
    def known(self) -> int:
        """The bytes of what was made since the beginning and is alive. What was there before does not count."""
        return sum(self.live) + self.lost


class _Ref(weakref.ref[Any]):
    """A weak reference that knows its key, so that all can share one callback.

    A callback of its own would be freed with the buffer: in the program's time, as if the program had freed it.
    """

    __slots__ = ("key",)
    key: int


@dataclass
class _Known:
    """What is remembered of a living buffer."""

    buffer: weakref.ref[Any]
    life: Life
    new: bool  # made since the beginning

    @property
    def held(self) -> Held:
        """The buffer in words and numbers."""
        return self.life.held


class Books:
    """Bytes by owner. ``live`` is what was made, minus what was there and is gone; ``base`` is what was there."""

    def __init__(self, turns: tuple[tuple[str, str], ...] = TURNS) -> None:
        self.turns = turns
        self.live = dict.fromkeys(OWNERS, 0)
        self.base = dict.fromkeys(OWNERS, 0)
        self.made = dict.fromkeys(OWNERS, 0)  # since `page` was called last
        self.lives: list[Life] = []  # of all buffers, also of those that are gone
        self.unexplained = 0  # bytes that came since the beginning, and of which no known buffer is the reason
        self._pages = 0
        self._lost = 0  # bytes of what was there and is gone
        self._known: dict[int, _Known] = {}
        gone: deque[int] = deque()  # keys of buffers that were freed since the last look, in any thread
        self._gone, self._cross_out = gone, lambda ref: gone.append(ref.key)

    def page(self) -> Page:
        """The books now; what is made is counted from here on."""
        self.forget()
        self.made = dict.fromkeys(OWNERS, 0)
        self._pages += 1
        return Page(self._pages, tuple(self.live.values()), self._lost)

    def born(self, array: Any, owner: str, made: Made) -> None:
        """Enter a buffer, if it is new."""
        buffer = buffer_of(array)
        self.forget()
        if buffer is not None and id(buffer) not in self._known:
            size = bytes_of(buffer)
            self.live[owner] += size
            self.made[owner] += size
            self._enter(buffer, owner, made, new=True)

    def find(self, value: Any) -> bool:
        """Enter what was there before: tensors, and those of modules and optimisers. Returns whether it is one."""
        if isinstance(value, TensorBase):
            leaf = isinstance(value.node, Leaf)
            self._was_there(value.array, "parameter" if leaf else "data" if value.node is None else "activation")
            if leaf and value.gradient is not None:
                self._was_there(value.gradient.array, "gradient")
        elif isinstance(value, Optimizer):
            for tensor in (tensor for group in value.param_groups for tensor in group["params"]):
                self.find(tensor)
            for array in value.memory():
                self._was_there(array, "optimiser")
        elif isinstance(value, Module):
            for tensor in (*value.parameters(), *value.buffers()):
                self._was_there(tensor.array, "parameter")
                self.find(tensor)
        else:
            return False
        return True

    def _was_there(self, array: Any, owner: str) -> None:
        buffer = buffer_of(array)
        self.forget()
        if buffer is None:
            return
        known = self._known.get(id(buffer))
        if known is None:
            # NumPy may have made it since: then its bytes have come without a reason so far.
            new = NOISE < (nbytes := bytes_of(buffer)) <= self.unexplained
            self.unexplained -= nbytes if new else 0
            (self.live if new else self.base)[owner] += nbytes
            self._enter(buffer, owner, Made(), new)
        elif (known.held.owner, owner) in self.turns:
            where, held = self.live if known.new else self.base, known.held
            where[held.owner] -= held.nbytes
            where[owner] += held.nbytes
            if known.new:
                known.life.died = self._pages  # of its first owner; for the second it goes on
            else:
                self.lives.remove(known.life)
            self._enter(buffer, owner, Made(held.op, held.line), known.new)

    def _enter(self, buffer: Any, owner: str, made: Made, new: bool) -> None:
        key, ref = id(buffer), _Ref(buffer, self._cross_out)
        ref.key = key
        held = Held(owner, bytes_of(buffer), tuple(buffer.shape), str(buffer.dtype), made.op, made.line, made.module)
        life = Life(held, self._pages if new else 0)
        self.lives.append(life)
        self._known[key] = _Known(ref, life, new)

    def forget(self) -> None:
        """Cross out what was freed."""
        while self._gone:
            known = self._known.pop(self._gone.popleft(), None)
            if known is not None:
                known.life.died = self._pages
                self.live[known.held.owner] -= known.held.nbytes
                self._lost += 0 if known.new else known.held.nbytes

    def alive(self) -> dict[int, Held]:
        """The living buffers, by what `key_of` says."""
        self.forget()
        return {key: known.held for key, known in self._known.items()}

    @staticmethod
    def key_of(array: Any) -> int:
        """The key of an array's buffer; 0 if it has none."""
        buffer = buffer_of(array)
        return 0 if buffer is None else id(buffer)
