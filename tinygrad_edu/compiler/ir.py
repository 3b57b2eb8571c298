"""The small language that a trace is written in: equations over variables, each defined once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class Var:
    """A value of known shape and dtype. Two variables are equal only if they are the same object."""

    number: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    def __str__(self) -> str:
        return f"v{self.number}"

    @property
    def type(self) -> str:
        """``f32[3,4]``."""
        return f"{_short(self.dtype)}[{','.join(map(str, self.shape))}]"


@dataclass(frozen=True)
class Equation:
    """``outs = name(*args)``. Arguments are variables, constants, or tuples of both.

    Nearly all have one result. A *kernel* has a ``body``, a program of its own over ``args``, and may have several.
    ``reads`` are the variables in ``args``.
    """

    outs: tuple[Var, ...]
    name: str
    args: tuple[Any, ...]
    body: Program | None = None
    reads: list[Var] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "reads", variables(self.args))

    @property
    def out(self) -> Var:
        """The one result."""
        (out,) = self.outs
        return out

    @property
    def head(self) -> str:
        """Its first line."""
        outs = ", ".join([f"{out}: {out.type}" for out in self.outs])
        return f"{outs} = {self.name}({', '.join(map(show, self.args))}){'' if self.body is None else ':'}"

    def __str__(self) -> str:
        inside = () if self.body is None else self.body.equations
        return "\n".join([self.head, *(f"    {equation}" for equation in inside)])


@dataclass(frozen=True)
class Program:
    """Equations in order, from ``inputs`` to ``outputs``. Checked when made: a variable is defined before its use."""

    inputs: tuple[Var, ...]
    equations: tuple[Equation, ...]
    outputs: tuple[Var, ...]

    def __post_init__(self) -> None:
        known = set(self.inputs)
        if len(known) < len(self.inputs):
            raise ValueError("two inputs are the same variable")
        for equation in self.equations:
            if not known.issuperset(equation.reads):
                unknown = next(var for var in equation.reads if var not in known)
                raise ValueError(f"{equation} uses {unknown}, which is not defined before it")
            for out in equation.outs:
                if out in known:
                    raise ValueError(f"{equation} defines {out} a second time")
                known.add(out)
        for var in self.outputs:
            if var not in known:
                raise ValueError(f"the output {var} is not defined")

    def __str__(self) -> str:
        head = ", ".join(f"{var}: {var.type}" for var in self.inputs)
        lines = [f"program({head}):", *(f"  {equation}" for equation in self.equations)]
        return "\n".join([*lines, f"  return {', '.join(map(str, self.outputs))}"])


def variables(tree: Any) -> list[Var]:
    """The variables in a tree of arguments."""
    if type(tree) is not tuple:
        return [tree] if type(tree) is Var else []
    found: list[Var] = []
    for item in tree:
        if type(item) is Var:
            found.append(item)
        elif type(item) is tuple:
            found += variables(item)
    return found


def substitute(tree: Any, value: Callable[[Var], Any]) -> Any:
    """The tree with each variable replaced by ``value(variable)``."""
    if isinstance(tree, Var):
        return value(tree)
    return tuple(substitute(item, value) for item in tree) if isinstance(tree, tuple) else tree


def show(tree: Any) -> str:
    """An argument as the listing prints it; for a constant array only its type."""
    if isinstance(tree, Var):
        return str(tree)
    if isinstance(tree, tuple):
        return f"({', '.join(map(show, tree))}{',' * (len(tree) == 1)})"
    if isinstance(tree, np.ndarray):
        return f"const {_short(tree.dtype)}[{','.join(map(str, tree.shape))}]"
    if isinstance(tree, slice):
        parts = (tree.start, tree.stop) if tree.step is None else (tree.start, tree.stop, tree.step)
        return ":".join("" if part is None else str(part) for part in parts)
    return tree.name if isinstance(tree, np.dtype) else str(tree)


@cache
def _short(dtype: np.dtype[Any]) -> str:
    return dtype.name.replace("float", "f").replace("uint", "u").replace("int", "i")
