"""What readers of generated code find: the line of the user's that each statement comes from, and the code itself in a
traceback."""

from __future__ import annotations

import itertools
import linecache
import weakref
from collections.abc import Iterator, Mapping
from typing import Any

from ..common.lines import Line, describe_line
from .ir import Equation, Var

MOST = 3  # lines of the user's that are named for one statement
_NUMBERS = itertools.count(1)


def lines_of(equation: Equation, line_of: Mapping[Var, Line]) -> list[str]:
    """The lines of the user's that an equation comes from; those of a kernel come from several."""
    made = [out for one in _parts(equation) for out in one.outs]
    found = dict.fromkeys(filter(None, (describe_line(line_of[var]) for var in made if var in line_of)))
    lines = list(found)
    return lines if len(lines) <= MOST else [*lines[: MOST - 1], f"and {len(lines) - MOST + 1} lines more"]


def _parts(equation: Equation) -> Iterator[Equation]:
    if equation.body is None:
        yield equation
    else:
        yield from equation.body.equations


def named(code: Any) -> str:
    """A file name for the code, under which a traceback finds its ``source`` for as long as it lives."""
    name, known = f"<compiled program {next(_NUMBERS)}>", weakref.ref(code)

    def source() -> str:
        found = known()
        return "" if found is None else str(found.source)

    cache: Any = linecache.cache
    cache[name] = (source,)  # called when somebody looks
    weakref.finalize(code, cache.pop, name, None)
    return name
