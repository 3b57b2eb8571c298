"""One function, many lengths: `compile(dynamic=True)` records it for two, and fills in what a third one needs.

A recording is made of numbers: `reshape(v3, (16, 4))` does not say where the 16 comes from. But two recordings, for 16
and for 24 rows, differ in the numbers that follow from the rows, and in no others. How each follows is known, because
lengths take notes while the function is recorded: a `Length` is an int that writes down what is computed from it, and
what it is compared with. For a third length the notes are gone through again: every number is computed anew, and every
comparison must come out as it did. Where it does not, where a number is of unknown origin, or where the two recordings
are not of one kind, the function is recorded as ever.
"""

from __future__ import annotations

import functools
import math
from dataclasses import fields, is_dataclass
from types import CellType, FunctionType
from typing import Any, NamedTuple

import numpy as np

from ..core.base import TensorBase
from ..errors import EduError
from .capture import Script, Segment
from .interpret import misfit
from .ir import Program, Var
from .lengths import LEFT, OPERATIONS, Note, Notes, bare

MOST = 8  # recordings, and programs that were filled in, of one family


class NoFormError(Exception):
    """Two recordings that do not tell what a third one would be."""


class General:
    """Two recordings of one function, from which those for other lengths are made.

    Raises `NoFormError` if the recordings are not of one kind.
    """

    def __init__(self, one: Recording, other: Recording) -> None:
        self.one, self.other = one, other
        pairs: list[Any] = [
            (i, axis, a, b)
            for i, (x, y) in enumerate(zip(one.shapes, other.shapes, strict=True))
            for axis, (a, b) in enumerate(zip(x, y, strict=True))
            if a != b
        ]
        self.place, self.roots = pairs[0][:2], pairs[0][2:]
        self.run = other.run
        if [note.name for note in one.notes.list] != [note.name for note in other.notes.list]:
            raise NoFormError("other lines run for another length")
        if one.notes.failed or other.notes.failed:
            raise NoFormError("an error was caught, which another length may not raise")
        self.notes = list(dict.fromkeys(zip(one.notes.list, other.notes.list, strict=True)))
        again = self.script(other.shapes)
        if _listing(again) != _listing(other.script):
            raise NoFormError("what is filled in for a known length is not what was recorded for it")

    def script(self, shapes: list[tuple[int, ...]]) -> Script:
        """The recording for arguments of these shapes. Raises `NoFormError` if it cannot be told."""
        i, axis = self.place
        numbers = _Numbers(self.roots, shapes[i][axis])
        for given, x, y in zip(shapes, self.one.shapes, self.other.shapes, strict=True):
            for a, b in zip(x, y, strict=True):
                numbers.meet(a, b)
            if given != tuple(map(numbers.third, x, y)):
                raise NoFormError("several lengths vary")
        for note in self.notes:
            numbers.follow(*note)
        script: Script = _Third(numbers, (self.one.notes, self.other.notes)).of(self.one.script, self.other.script)
        for step in [*script.steps, script.backward]:
            if isinstance(step, Segment):
                _check(step.program)
        return script


class Recording(NamedTuple):
    """A script with the shapes of the arguments that it was recorded for, and what was done with lengths."""

    shapes: list[tuple[int, ...]]
    script: Script
    notes: Notes
    run: Any  # which it became


class Family:
    """Recordings that differ in lengths only, and what was filled in from them."""

    def __init__(self) -> None:
        self.recordings: list[Recording] = []
        self.forms: list[General] = []
        self.filled: list[Any] = []  # runs, the latest last
        self.why = ""  # the last one was not filled in

    def add(self, now: Recording) -> None:
        """Another recording: with an earlier one, it may tell what any other would be."""
        refused = []
        for before in reversed(self.recordings):
            if before.shapes != now.shapes and not before.run.watched.changed():
                try:
                    self.forms.insert(0, General(before, now))
                    break
                except NoFormError as error:
                    refused.append(str(error))
        else:
            self.why = next(iter(refused), "")
        self.recordings = [*self.recordings[1 - MOST :], now]

    def fill(self, shapes: list[tuple[int, ...]]) -> tuple[Script, General] | None:
        """The script for arguments of these shapes, and where it comes from."""
        for form in self.forms:
            try:
                return form.script(shapes), form
            except NoFormError as error:
                self.why = str(error)
        return None

    def keep(self, run: Any) -> list[Any]:
        """Keep a run that was filled in. Those that are too many are given back: they can be filled in again."""
        self.filled.append(run)
        gone, self.filled = self.filled[:-MOST], self.filled[-MOST:]
        return gone


class _Numbers:
    """What each number is for a third length, known by what it was for the first two."""

    def __init__(self, roots: tuple[int, int], length: int) -> None:
        self.roots, self.length = roots, length
        self.known: dict[tuple[Any, Any], Any] = {roots: length}

    def third(self, a: Any, b: Any) -> Any:
        """For a number that was ``a``, and then ``b``. Raises `NoFormError` if nothing tells."""
        if type(a) is type(b) and (a == b or a != a != b != b):  # equal, or both of them no numbers at all
            return bare(a)
        found = self.known.get((bare(a), bare(b)))
        if found is None:
            raise NoFormError(f"{a} for {self.roots[0]}, {b} for {self.roots[1]}: where it comes from is not known")
        return found

    def follow(self, one: Note, other: Note) -> None:
        """Do for the third length what was done for two."""
        if one.name == "shape":
            for a, b in zip(one.found, other.found, strict=True):
                self.meet(a, b)
            return
        given = tuple(map(self.third, one.given, other.given))
        if one.name == LEFT:
            if one.given != other.given:
                raise NoFormError("an int is made of a length, as by len, range or int: use x.shape[0]")
            return
        try:
            found = OPERATIONS[one.name](*given)
        except ArithmeticError as error:
            raise NoFormError(f"{one.name} of {' and '.join(map(str, given))}: {error}") from None
        if type(one.found) is not bool and one.found != other.found:
            if self.known.setdefault((one.found, other.found), found) != found:
                raise NoFormError(f"{one.found} and {other.found} come from two formulas")
        elif one.found != other.found or found != one.found:
            raise NoFormError(f"a decision was {one.found}, and would be {found}")

    def meet(self, a: int, b: int) -> None:
        """A length of an array: it grows with the first one in whole steps, if at all. Shapes are checked later."""
        (n, m), length = self.roots, self.length
        if a == b or (a, b) in self.known:
            return
        steps, rest = divmod(b - a, m - n)
        if rest:
            raise NoFormError(f"an axis of {a} for {n} and of {b} for {m}")
        self.known[a, b] = a + steps * (length - n)


class _Third:
    """Goes through two recordings side by side, and makes a third one."""

    def __init__(self, numbers: _Numbers, notes: tuple[Notes, Notes]) -> None:
        self.numbers, self.notes = numbers, notes
        self.made: dict[tuple[int, int], Any] = {}  # what is one thing in several places stays one

    def of(self, a: Any, b: Any) -> Any:
        """What stands where ``a`` stood, and ``b``."""
        if type(bare(a)) is not type(bare(b)):
            raise NoFormError(f"{_kind(a)} here, {_kind(b)} there")
        if isinstance(a, (int, float)):
            return self.numbers.third(a, b)
        if isinstance(a, (tuple, list)):
            if len(a) != len(b):
                raise NoFormError("one of the recordings is longer")
            parts = [self.of(x, y) for x, y in zip(a, b, strict=True)]
            return type(a)(*parts) if hasattr(a, "_fields") else type(a)(parts)
        if a is b:
            return a
        found = self.made.get((id(a), id(b)))
        if found is None:
            found = self.made[id(a), id(b)] = self._new(a, b)
        return found

    def _new(self, a: Any, b: Any) -> Any:
        if isinstance(a, Script):
            return self._script(a, b)
        if isinstance(a, Segment):
            program = self.of(a.program, b.program)
            made = {out.number: out for equation in program.equations for out in equation.outs}
            told = [
                {made[var.number]: value for var, value in table.items() if var.number in made}
                for table in (a.body_of, a.line_of)
            ]
            parts = [self.of(getattr(a, one), getattr(b, one)) for one in ("feeds", "sinks", "cleared", "stepped")]
            return Segment(program, *parts, *told)
        if isinstance(a, Var):
            for x, y in zip(a.shape, b.shape, strict=False):
                self.numbers.meet(x, y)
            return Var(self.of(a.number, b.number), self.of(a.shape, b.shape), self.of(a.dtype, b.dtype))
        if isinstance(a, np.ndarray):
            return self._array(a, b)
        if isinstance(a, dict) and len(a) == len(b):
            return {self.of(x, y): self.of(a[x], b[y]) for x, y in zip(a, b, strict=True)}
        if isinstance(a, slice):
            return slice(self.of(a.start, b.start), self.of(a.stop, b.stop), self.of(a.step, b.step))
        if isinstance(a, functools.partial):
            return functools.partial(
                self.of(a.func, b.func), *self.of(a.args, b.args), **self.of(a.keywords, b.keywords)
            )
        if isinstance(a, FunctionType) and a.__code__ is b.__code__:
            return self._function(a, b)
        if is_dataclass(a) and not isinstance(a, type):
            return type(a)(*(self.of(getattr(a, one.name), getattr(b, one.name)) for one in fields(a) if one.init))
        if isinstance(a, TensorBase) and a.array.ndim == b.array.ndim == 0 and _equal(a.array, b.array):
            return a  # a number that was made a tensor inside
        if isinstance(a, (str, bytes, complex, np.generic, np.dtype)) and a == b:
            return a
        raise NoFormError(f"another {_kind(a)} for another length")

    def _script(self, a: Script, b: Script) -> Script:
        limits = a.limits, b.limits
        if len(limits[0]) != len(limits[1]):
            raise NoFormError("other numbers are checked for another length")
        parts = {
            one.name: self.of(getattr(a, one.name), getattr(b, one.name)) for one in fields(a) if one.name != "limits"
        }
        made = Script(**parts)
        made.limits = [
            (self.of(f, g), min(low, lower), max(high, higher))
            for (f, low, high), (g, lower, higher) in zip(*limits, strict=True)
        ]
        return made

    def _array(self, a: Any, b: Any) -> Any:
        """An array that the function made: of one number throughout, or of the numbers from some number on."""
        if _equal(a, b):
            return a
        plain = all(id(x) in notes.arrays for x, notes in zip((a, b), self.notes, strict=True))
        if a.dtype == b.dtype and a.ndim == b.ndim == 0 and plain and a.dtype.kind in "iuf":
            return np.array(self.of(a.item(), b.item()), a.dtype)
        if a.dtype == b.dtype and a.ndim == b.ndim and min(a.size, b.size) > 1 and plain:
            shape = self.of(a.shape, b.shape)
            start = a.flat[0]
            if start == b.flat[0] and all(np.array_equal(x, np.full_like(x, start)) for x in (a, b)):
                return np.full(shape, start, a.dtype)
            if a.dtype.kind in "iuf":
                step = a.flat[1] - start
                rule = [
                    (start + step * np.arange(math.prod(s))).astype(a.dtype).reshape(s)
                    for s in (a.shape, b.shape, shape)
                ]
                if np.array_equal(a, rule[0]) and np.array_equal(b, rule[1]):
                    return rule[2]
        raise NoFormError(f"an array {list(a.shape)} that was made inside")

    def _function(self, a: FunctionType, b: FunctionType) -> FunctionType:
        """A function that was made while recording, such as one that draws random numbers: with what it closes over."""
        cells = tuple(
            CellType(self.of(x.cell_contents, y.cell_contents))
            for x, y in zip(a.__closure__ or (), b.__closure__ or (), strict=True)
        )
        made = FunctionType(a.__code__, a.__globals__, a.__name__, self.of(a.__defaults__, b.__defaults__), cells)
        made.__kwdefaults__ = self.of(a.__kwdefaults__, b.__kwdefaults__)
        return made


def _equal(a: Any, b: Any) -> bool:
    return bool(type(a) is type(b) and a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes())


def _kind(value: Any) -> str:
    return type(value).__name__.lower()


def _listing(script: Script) -> list[str]:
    return [str(one.program) for one in [*script.steps, script.backward] if isinstance(one, Segment)]


def _check(program: Program) -> None:
    """Whether the shapes are those that come out, for zeros."""
    try:
        wrong = misfit(program, [np.zeros(var.shape, var.dtype) for var in program.inputs])
    except (EduError, ValueError, TypeError, IndexError, ArithmeticError) as error:
        raise NoFormError(f"something is not possible: {error}") from None
    if wrong:
        raise NoFormError(wrong)


def loose(key: Any) -> Any:
    """A key in which the lengths of arguments do not count, where there is more than one element along an axis."""
    if isinstance(key, tuple) and len(key) == 5 and isinstance(key[0], tuple) and isinstance(key[1], np.dtype):
        return (tuple(n if n < 2 else -1 for n in key[0]), *key[1:])
    return tuple(map(loose, key)) if isinstance(key, tuple) else key
