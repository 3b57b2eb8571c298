"""What a program says about its run: its lines, the names of its tensors, and the module calls it is made of."""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from collections.abc import Callable, Iterator
from types import CodeType, FrameType
from typing import Any

from ...common.lines import resolve_line
from ...nn.module import Module, Scope
from ...tensor import Tensor


def call(function: Callable[..., Any], arguments: dict[str, Any], by_position: int, found: dict[str, Any]) -> Any:
    """Call the function, and read its local names as it returns."""
    code: CodeType | None = getattr(inspect.unwrap(function), "__code__", None)

    def profile(frame: FrameType, event: str, _: Any) -> None:
        if event == "return" and frame.f_code is code:
            found.update(frame.f_locals)

    items = list(arguments.items())
    by_place, by_name = [value for _, value in items[:by_position]], dict(items[by_position:])
    previous = sys.getprofile()
    if previous is not None and not callable(previous):
        return function(*by_place, **by_name)  # %prun is at work, and could not be put back: no local names then
    sys.setprofile(profile)
    try:
        return function(*by_place, **by_name)
    finally:
        sys.setprofile(previous)


def outside(function: Any) -> Iterator[tuple[str, Tensor]]:
    """The tensors that a function finds outside itself, under the names it has for them; parameters by their paths."""
    program = inspect.unwrap(getattr(function, "__func__", function))
    if inspect.isfunction(program):
        variables = inspect.getclosurevars(program)
        for scope in (variables.nonlocals, variables.globals):
            yield from tensors_in(dict(scope))
    elif isinstance(function, Module):
        yield from function.named_parameters()


def visible(function: Any) -> dict[str, Tensor]:
    """All tensors by the names that they have where a function was written, and in it."""
    program = inspect.unwrap(getattr(function, "__func__", function))
    around = getattr(program, "__globals__", {})
    return {**{name: value for name, value in around.items() if isinstance(value, Tensor)}, **dict(outside(function))}


def tensors_in(scope: dict[str, Any]) -> Iterator[tuple[str, Tensor]]:
    """The tensors of a scope, and the parameters of its modules."""
    for name, value in scope.items():
        if isinstance(value, Module):
            yield from value.named_parameters()
        elif isinstance(value, Tensor):
            yield name, value


def lines_of(function: Any) -> tuple[tuple[str, ...], int, str]:
    """The function's body, the row of its first line, and its file; empty if the source is not available."""
    try:
        lines, start = inspect.getsourcelines(function)
        filename = inspect.getfile(inspect.unwrap(function))
    except (OSError, TypeError):
        return (), 0, ""
    text = textwrap.dedent("".join(lines)).rstrip().split("\n")
    header = _header(text)
    return tuple(textwrap.dedent("\n".join(text[header:])).split("\n")), start + header, filename


def _header(lines: list[str]) -> int:
    """How many lines come before a function's body. None before a lambda, or a body beside its ``def``."""
    try:
        first = ast.parse("\n".join(lines)).body[0]
    except (SyntaxError, IndexError):  # a lambda inside a larger expression
        return 0
    if not isinstance(first, ast.FunctionDef):
        return 0
    statement = first.body[0]
    row = min(part.lineno for part in (statement, *getattr(statement, "decorator_list", ()))) - 1
    return 0 if lines[row][: statement.col_offset].strip(" @") else row


def row_of(line: Any, scope: Scope | None, start: int, count: int, filename: str) -> int | None:
    """Which line of the code an operation belongs to: its own, or that of the module call it was made in."""
    for candidate in (line, scope.line if scope is not None else None):
        place = resolve_line(candidate)
        if place is not None and place[0] == filename and 0 <= place[1] - start < count:
            return place[1] - start
    return None


def groups_of(scope: Scope | None, known: dict[int, int]) -> tuple[tuple[int, str], ...]:
    """The module calls around an operation, outermost first, each with its number and label."""
    chain: list[tuple[int, str]] = []
    while scope is not None:
        chain.append((known.setdefault(id(scope), len(known)), scope.label))
        scope = scope.parent
    return tuple(reversed(chain))
