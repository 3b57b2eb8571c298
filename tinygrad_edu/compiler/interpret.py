"""What a program means: its equations, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..backends.cpu import XP
from ..backends.proxy import OPERATORS
from .ir import Equation, Program, Var, substitute


def function_of(equation: Equation, xp: Any = XP) -> Callable[..., Any]:
    """What an equation without a body does to arrays, those of NumPy or of another namespace."""
    found: Callable[..., Any] = getattr(xp, equation.name, None) or OPERATORS[equation.name]
    return found


def run_equation(equation: Equation, given: tuple[Any, ...], xp: Any = XP) -> tuple[Any, ...]:
    """The results of one equation, for arrays in place of its variables."""
    if equation.body is not None:
        return interpret(equation.body, *given, xp=xp)
    return (function_of(equation, xp)(*given),)


def misfit(program: Program, arrays: Iterable[Any]) -> str:
    """What gives another type than the program says of it, when it runs on these arrays; "" if nothing does.

    What is computed does not matter, and each value is let go after its last use.
    """
    values: dict[Var, Any] = dict(zip(program.inputs, arrays, strict=True))
    last = {var: i for i, one in enumerate(program.equations) for var in one.reads}
    with np.errstate(all="ignore"):
        for i, equation in enumerate(program.equations):
            found = run_equation(equation, substitute(equation.args, values.__getitem__))
            for out, array in zip(equation.outs, found, strict=True):
                if tuple(getattr(array, "shape", (-1,))) != out.shape or getattr(array, "dtype", None) != out.dtype:
                    return f"{equation.name} does not give {out.type}"
                values[out] = array
            for var in dict.fromkeys(v for v in equation.reads if last[v] == i):
                del values[var]
    return ""


def interpret(program: Program, *arrays: Any, xp: Any = XP) -> tuple[Any, ...]:
    """Run ``program`` on raw arrays of the shapes it was traced with. Returns its outputs as arrays.

    ``xp`` is the namespace of their world, by default NumPy's.

    Raises ValueError for other shapes or dtypes: the program was written for one signature.
    """
    if len(arrays) != len(program.inputs):
        raise ValueError(f"the program takes {len(program.inputs)} arrays, not {len(arrays)}")
    values: dict[Var, Any] = {}
    for var, array in zip(program.inputs, arrays, strict=True):
        if tuple(array.shape) != var.shape or array.dtype != var.dtype:
            raise ValueError(
                f"{var} is {var.type}, not {array.dtype}{list(array.shape)}: trace again for this signature"
            )
        values[var] = array
    for equation in program.equations:
        found = run_equation(equation, substitute(equation.args, values.__getitem__), xp)
        values.update(zip(equation.outs, found, strict=True))
    return tuple(values[var] for var in program.outputs)
