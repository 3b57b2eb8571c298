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


class Origin:
    """Where statements come from: for each variable the line of the user's that made it."""

    def __init__(self, line_of: Mapping[Var, Line]) -> None:
        self._line_of = line_of
        self._told: dict[Line, str] = {}  # to describe one takes a while, and many share one

    def lines(self, equation: Equation) -> list[str]:
        """The lines that an equation comes from; those of a kernel may be several."""
        made = [out for one in _parts(equation) for out in one.outs]
        found = [self._tell(line) for line in dict.fromkeys(self._line_of.get(var) for var in made) if line]
        lines = list(dict.fromkeys(found))  # one line may have several places
        return lines if len(lines) <= MOST else [*lines[: MOST - 1], f"and {len(lines) - MOST + 1} lines more"]

    def _tell(self, line: Line) -> str:
        if line not in self._told:
            self._told[line] = describe_line(line)
        return self._told[line]


def _parts(equation: Equation) -> Iterator[Equation]:
    if equation.body is None:
        yield equation
    else:
        yield from equation.body.equations


def named(source: str, owner: Any) -> str:
    """A file name for the source, under which a traceback finds its lines for as long as the owner lives."""
    name = f"<compiled program {next(_NUMBERS)}>"
    linecache.cache[name] = len(source), None, source.splitlines(keepends=True), name
    weakref.finalize(owner, linecache.cache.pop, name, None)
    return name
