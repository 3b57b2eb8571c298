"""Programs in files: a tree of names and numbers, and tensors. Nothing in such a file is code that is run.

A program that is read is not believed. Each part is checked as it is decoded, only functions of the agreed list are
known, and before it can be used it is run once on ones, to see that every result is what the file says it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

import numpy as np

from ..backends import ALL_NAMES, room
from ..backends.proxy import OPERATORS
from ..dtypes import as_dtype
from ..errors import EduError, StateFileError
from ..tensor import Tensor, wrap
from .interpret import misfit
from .ir import Equation, Program, Var

T = TypeVar("T")
VERSION = 1
FORMAT = "tinygrad_edu program"
KNOWN = frozenset(OPERATORS) | frozenset(ALL_NAMES)
MOST = 200_000  # equations of a program that is read
_TEXT = re.compile(r"[A-Za-z,.>-]*")  # the only texts are equations of einsum


# Writing -----------------------------------------------------------------------------------------------------------


def encode(program: Program, arrays: dict[str, Any]) -> dict[str, Any]:
    """The program as dicts, lists and numbers. Arrays in it go to ``arrays``, under names."""

    def part(value: Any) -> Any:
        if isinstance(value, Var):
            return {"var": value.number}
        if isinstance(value, tuple):
            return [part(item) for item in value]
        if isinstance(value, slice):
            return {"slice": [part(value.start), part(value.stop), part(value.step)]}
        if value is Ellipsis:
            return {"ellipsis": True}
        if isinstance(value, np.dtype):
            return {"dtype": value.name}
        if isinstance(value, (np.ndarray, np.generic)):
            name = f"constant {len(arrays)}"
            arrays[name] = wrap(np.array(value))
            return {"array": name, "scalar": isinstance(value, np.generic)}
        return value

    def var(one: Var) -> list[Any]:
        return [one.number, list(one.shape), one.dtype.name]

    return {
        "inputs": [var(one) for one in program.inputs],
        "equations": [
            [[var(one) for one in equation.outs], equation.name, part(equation.args)] for equation in program.equations
        ],
        "outputs": [one.number for one in program.outputs],
    }


# Reading -----------------------------------------------------------------------------------------------------------


class _Wrong(Exception):
    """Something in a tree that is no part of a program."""


def _refuse(why: str) -> NoReturn:
    raise _Wrong(why)


def decode(tree: Any, arrays: dict[str, Any], path: str) -> Program:
    """The program that `encode` has written. Raises `StateFileError` for anything else."""
    return _sound(lambda: _Decoder(arrays).program(tree), path)


def prove(program: Program, given: list[Any], path: str) -> None:
    """Run it on these arrays, and numbers in place of None. Raises `StateFileError` if it gives something else."""
    _sound(lambda: _try(program, given), path)


def _sound(do: Callable[[], T], path: str) -> T:
    """What it gives; whatever goes wrong is a fault of the file."""
    try:
        return do()
    except _Wrong as error:
        why = str(error)
    except (EduError, ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError, MemoryError) as error:
        why = f"it does not run ({type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''})"
    raise StateFileError(f"load of {path}", f"the program in it is not sound: {why}", "save it again with jit.save")


class _Decoder:
    def __init__(self, arrays: dict[str, Any]) -> None:
        self.arrays: dict[str, Any] = arrays
        self.vars: dict[int, Var] = {}

    def program(self, tree: Any) -> Program:
        if not isinstance(tree, dict) or set(tree) != {"inputs", "equations", "outputs"}:
            _refuse("it has other parts than inputs, equations and outputs")
        inputs = tuple(self._var(one) for one in self._list(tree["inputs"]))
        listed = self._list(tree["equations"])
        if len(listed) > MOST:
            _refuse(f"it has {len(listed)} equations")
        equations = tuple(self._equation(one) for one in listed)
        outputs = tuple(self._known(one) for one in self._list(tree["outputs"]))
        return Program(inputs, equations, outputs)

    def _list(self, value: Any) -> list[Any]:
        return value if isinstance(value, list) else _refuse(f"a list is a {type(value).__name__}")

    def _three(self, tree: Any, what: str) -> list[Any]:
        parts = self._list(tree)
        return parts if len(parts) == 3 else _refuse(f"{what} has other parts")

    def _var(self, tree: Any) -> Var:
        number, shape, name = self._three(tree, "a variable")
        sizes = self._list(shape)
        if not _is_count(number) or not all(map(_is_count, sizes)) or not isinstance(name, str) or number in self.vars:
            _refuse("a variable has no number, shape and dtype of its own")
        dtype = as_dtype(name)
        room.check("a variable of the program", tuple(sizes), dtype.itemsize)
        made = self.vars[number] = Var(number, tuple(sizes), dtype)
        return made

    def _known(self, number: Any) -> Var:
        if not _is_count(number) or number not in self.vars:
            _refuse(f"there is no variable {number!r} at that place")
        return self.vars[number]

    def _equation(self, tree: Any) -> Equation:
        outs, name, args = self._three(tree, "an equation")
        if not isinstance(name, str) or name not in KNOWN:
            _refuse(f"there is no function {str(name)[:40]!r}")
        given = self._part(args)
        if not isinstance(given, tuple) or len(self._list(outs)) != 1:
            _refuse("an equation has one result, and a list of arguments")
        return Equation((self._var(outs[0]),), name, given)

    def _part(self, tree: Any) -> Any:
        if isinstance(tree, list):
            return tuple([self._part(item) for item in tree])
        if isinstance(tree, str):
            return tree if _TEXT.fullmatch(tree) else _refuse("a text is no equation of einsum")
        if tree is None or isinstance(tree, (bool, int, float)):
            return tree
        if isinstance(tree, dict):
            return self._special(tree)
        return _refuse(f"an argument is a {type(tree).__name__}")

    def _special(self, tree: dict[str, Any]) -> Any:
        match tree:
            case {"var": number} if len(tree) == 1:
                return self._known(number)
            case {"slice": list(parts)} if len(tree) == 1 and len(parts) == 3:
                return slice(*(self._part(one) for one in parts))
            case {"ellipsis": True} if len(tree) == 1:
                return Ellipsis
            case {"dtype": str(name)} if len(tree) == 1:
                return as_dtype(name)
            case {"array": str(name), "scalar": bool(scalar)} if len(tree) == 2 and name in self.arrays:
                array = self.arrays[name].array
                return array[()] if scalar and not array.ndim else array
        return _refuse("an argument has an unknown form")


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**48


def _try(program: Program, given: list[Any]) -> None:
    """Run it, and compare each result with what the program says of it. Arguments are ones, or positions 0."""
    stand_ins = (np.full(var.shape, 0 if var.dtype.kind in "iu" else 1, var.dtype) for var in program.inputs)
    if wrong := misfit(program, [one if array is None else array for one, array in zip(stand_ins, given, strict=True)]):
        _refuse(wrong)


def tensors_of(tree: Any, path: str) -> dict[str, Tensor]:
    """Names and tensors, checked. Raises `StateFileError` for anything else."""
    if not isinstance(tree, dict) or not all(isinstance(one, Tensor) for one in tree.values()):
        why = "its tensors are no dict of names and tensors"
        raise StateFileError(f"load of {path}", why, "save it again with jit.save")
    return tree
