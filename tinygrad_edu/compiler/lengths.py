"""Lengths that take notes: what a function computes from the shapes of its arrays, and what it compares them with."""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

import numpy as np

from ..errors import EduError

OURS = __name__.partition(".")[0]
LEFT = "left"  # the name of a note: an int was made of a length


class Note(NamedTuple):
    """Something done with lengths: the name of an operation, what it was given, and what came out."""

    name: str
    given: tuple[Any, ...]
    found: Any


class Notes:
    """What was done with lengths in one recording, in order; and the arrays that were made of nothing else."""

    def __init__(self) -> None:
        self.list: list[Note] = []
        self.arrays: dict[int, Any] = {}  # by id; such as zeros, and the numbers from 0 on
        self.recorder: Any = None
        self.failed = False  # has something been tried that was not possible? For another length it may be

    def read(self, shape: tuple[int, ...]) -> tuple[Any, ...]:
        """The shape of an array, in lengths that take notes."""
        self.list.append(Note("shape", (), shape))
        return tuple(map(Length, shape))

    def leave(self, numbers: Any) -> Any:
        """Numbers that take no notes: what becomes of them is known only if they are the same for every length."""
        self.list.append(Note(LEFT, (numbers,), None))
        return numbers

    def copied(self, array: Any, copy: Any) -> None:
        """A copy of an array is made of nothing else, too; and so is that of a view of the whole."""
        whole = array if array.base is None or array.base.size != array.size else array.base
        if id(array) in self.arrays or id(whole) in self.arrays:
            self.arrays[id(copy)] = copy


NOTES: ContextVar[Notes | None] = ContextVar("the notes of this recording", default=None)


@contextmanager
def noting() -> Iterator[Notes]:
    """Let lengths take notes in this block."""
    notes, errors = Notes(), EduError.made
    token = NOTES.set(notes)
    try:
        yield notes
    finally:
        NOTES.reset(token)
        notes.failed = EduError.made != errors


def bare(value: Any) -> Any:
    """A length as a usual number, in a tuple too; anything else as it is."""
    if type(value) in (Length, Share):
        return value.number
    return tuple(map(bare, value)) if type(value) is tuple else value


def _note(name: str, given: tuple[Any, ...], found: Any) -> Any:
    """Write it down. Returns what was found, as a number that takes notes too."""
    notes = NOTES.get()
    if notes is None:
        return found
    notes.list.append(Note(name, given, found))
    kind = KINDS.get(type(found))
    return found if kind is None else kind(found)


def _binary(name: str, turned: bool = False) -> Callable[[Any, Any], Any]:
    do = OPERATIONS[name]

    def call(self: Any, other: Any) -> Any:
        given = (bare(other), self.number) if turned else (self.number, bare(other))
        if type(bare(other)) not in (bool, int, float):
            return NotImplemented
        return _note(name, given, do(*given))

    return call


def _unary(name: str) -> Callable[[Any], Any]:
    do = OPERATIONS[name]
    return lambda self: _note(name, (self.number,), do(self.number))


def _left(length: Any, given: Any) -> Any:
    """A number that takes notes no more. The library may have it: it does the same for every length."""
    caller = str(sys._getframe(2).f_globals.get("__name__"))
    notes = NOTES.get()
    if notes is not None and caller.partition(".")[0] != OURS:
        notes.leave(length.number)
    return given


class Length:
    """A length of an array that is recorded: an int, as far as anybody can tell, that takes notes.

    It is none, since nobody hears of it when Python itself makes a number of an int, as ``range`` and ``len`` do.
    """

    __slots__ = ("number",)
    kind: type = int

    def __init__(self, number: Any) -> None:
        self.number = number

    __class__ = property(lambda self: self.kind)  # what isinstance sees

    def __hash__(self) -> int:
        return hash(_left(self, self.number))

    def __index__(self) -> int:
        return int(_left(self, self.number))

    def __int__(self) -> int:
        return int(_left(self, self.number))

    def __float__(self) -> float:
        return float(_left(self, self.number))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(_left(self, self.number), dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **more: Any) -> Any:
        return getattr(ufunc, method)(*_left(self, bare(inputs)), **more)

    def __repr__(self) -> str:
        return repr(_left(self, self.number))

    def __format__(self, spec: str) -> str:
        return format(_left(self, self.number), spec)

    def __round__(self, digits: int | None = None) -> Any:
        return _note("round", (self.number, digits), OPERATIONS["round"](self.number, digits))

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __getattr__(self, name: str) -> Any:
        return getattr(_left(self, self.number), name)


class Share(Length):
    """A number with a fraction that was computed from lengths."""

    __slots__ = ()
    kind = float
    __index__ = None  # type: ignore[assignment]


KINDS: dict[type, Callable[[Any], Any]] = {int: Length, float: Share}
_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "truediv": operator.truediv, "pow": operator.pow,
    "floordiv": operator.floordiv, "mod": operator.mod, "and": operator.and_, "or": operator.or_, "xor": operator.xor,
    "lshift": operator.lshift, "rshift": operator.rshift,
}  # fmt: skip
_COMPARISONS = {name: getattr(operator, name) for name in ("lt", "le", "eq", "ne", "gt", "ge")}
_UNARY: dict[str, Callable[[Any], Any]] = {
    "neg": operator.neg, "pos": operator.pos, "abs": abs, "invert": operator.invert, "bool": bool,
    "trunc": math.trunc, "floor": math.floor, "ceil": math.ceil,
}  # fmt: skip
OPERATIONS: dict[str, Callable[..., Any]] = {**_BINARY, **_COMPARISONS, **_UNARY, "round": round}

for _name in _UNARY:
    setattr(Length, f"__{_name}__", _unary(_name))
for _name in (*_BINARY, *_COMPARISONS):
    setattr(Length, f"__{_name}__", _binary(_name))
for _name in _BINARY:
    setattr(Length, f"__r{_name}__", _binary(_name, turned=True))
