"""What a program means: its equations, one after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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
