"""What the memory guard does to a few lines of code: who locked which array, since which line, until when."""

from __future__ import annotations

import ast
import contextvars
import itertools
import linecache
from dataclasses import dataclass
from typing import Any

import numpy as np

import tinygrad_edu

from ... import guard as public_guard
from ...common.lines import own, resolve_line
from ...common.wording import exact, shown
from ...errors import ArgumentError, EduError
from ...guard import holders
from ...tensor import Tensor
from ..marks import shorten
from ..streams import streams_kept

LEVELS = ("on", "off")
_serial = itertools.count(1)


@dataclass(frozen=True)
class Holding:
    """An array that a node holds at some moment."""

    name: str
    op: str
    row: int | None  # of the op
    nodes: int


@dataclass(frozen=True)
class Moment:
    """The state after one line, and what happened in it."""

    row: int
    holds: tuple[Holding, ...]
    refused: str = ""  # why the guard refused the line
    error: str = ""  # any other error ends the run
    in_backward: bool = False  # was the error raised by backward?
    arrays: tuple[tuple[str, tuple[str, ...], int], ...] = ()  # name, first values, bytes
    target: str = ""  # the name of the array that the line writes into


@dataclass(frozen=True)
class Story:
    """A program run once, with the guard on or off."""

    lines: tuple[str, ...]
    guard: str
    moments: tuple[Moment, ...]
    gradients: tuple[tuple[str, tuple[str, ...]], ...]


def run(source: str, guard: str) -> Story:
    """Execute a program line by line. A write that the guard refuses is noted, and the program goes on."""
    lines = tuple(source.strip("\n").split("\n"))
    filename = f"<lens {next(_serial)}>"
    try:
        statements = ast.parse("\n".join(lines), filename).body
    except (SyntaxError, ValueError) as error:  # a null character is a ValueError
        place = min(getattr(error, "lineno", None) or 1, len(lines)) - 1
        return Story(lines, guard, (Moment(place, (), error=f"SyntaxError: {getattr(error, 'msg', error)}"),), ())
    linecache.cache[filename] = (len(source), None, [line + "\n" for line in lines], filename)
    try:  # in its own context: modes that the program sets end with it
        return contextvars.copy_context().run(_execute, lines, statements, filename, guard)
    finally:
        del linecache.cache[filename]


def _execute(lines: tuple[str, ...], statements: list[ast.stmt], filename: str, guard: str) -> Story:
    names: dict[str, Any] = {"np": np, "tg": tinygrad_edu}
    names |= {"tensor": tinygrad_edu.tensor, "from_numpy": tinygrad_edu.from_numpy}
    given = set(names)
    moments: list[Moment] = []
    level = public_guard.on if guard == "on" else public_guard.off
    for statement in statements:
        row, refused, failed, in_backward = (statement.end_lineno or statement.lineno) - 1, "", "", False
        try:
            with level():
                exec(compile(ast.Module([statement], []), filename, "exec"), names)
        except (Exception, SystemExit) as error:  # whatever the learner's code raises is shown, not swallowed
            in_backward = _in_backward(error)
            if isinstance(error, public_guard.MemoryGuardError) and not in_backward:
                refused = error.why
            else:
                failed, row = _said(error), _row_of(error, filename, statement, row)
        arrays = tuple((n, _few(v), v.nbytes) for n, v in names.items() if n not in given and isinstance(v, np.ndarray))
        holds, target = _holdings(names, filename), _target(statement)
        moments.append(Moment(row, holds, refused, failed, in_backward and bool(failed), arrays, target))
        if failed:
            break
    tensors = [(n, v) for n, v in names.items() if isinstance(v, Tensor) and v.grad is not None]
    return Story(lines, guard, tuple(moments), tuple((f"{n}.grad", _few(v.grad.array)) for n, v in tensors))


def _said(error: BaseException) -> str:
    """The error in one line: its kind, and its first line, or the whole sentence of one of ours."""
    said = [error.sentence()] if isinstance(error, EduError) else str(error).strip().splitlines()
    return f"{type(error).__name__}: {said[0]}" if said else type(error).__name__


def _steps(error: BaseException) -> list[tuple[str, str, int]]:
    """File, function and line of every call that led to the error, outermost first."""
    found = []
    step = error.__traceback__
    while step is not None:
        found.append((step.tb_frame.f_code.co_filename, step.tb_frame.f_code.co_name, step.tb_lineno))
        step = step.tb_next
    return found


def _in_backward(error: BaseException) -> bool:
    return any(name == "backward" and own[file] for file, name, _ in _steps(error))


def _row_of(error: BaseException, filename: str, statement: ast.stmt, row: int) -> int:
    """The row inside a statement of several lines on which it failed."""
    inside = [line - 1 for file, _, line in _steps(error) if file == filename]
    return next((line for line in reversed(inside) if statement.lineno - 1 <= line <= row), row)


def _target(statement: ast.stmt) -> str:
    """The array that a statement writes into: ``a`` of ``a[0] = 1``, of ``a += 1`` and of ``a.sort()``."""
    for node in ast.walk(statement):
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            return node.target.id
        of = node.value if isinstance(node, (ast.Attribute, ast.Subscript)) else None
        written = isinstance(node, ast.Attribute) or isinstance(getattr(node, "ctx", None), ast.Store)
        if written and isinstance(of, ast.Name):
            return of.id
    return ""


def _few(array: Any) -> tuple[str, ...]:
    flat = np.asarray(array).ravel()
    return tuple(map(_word, flat[:6])) + (("…",) if flat.size > 6 else ())


def _word(value: Any) -> str:
    try:
        return str(value) if np.iscomplexobj(value) else exact(value)
    except (TypeError, ValueError):  # an array of something other than numbers
        return shorten(str(value), 12)


def _holdings(names: dict[str, Any], filename: str) -> tuple[Holding, ...]:
    found = []
    for name, value in names.items():
        if isinstance(value, np.ndarray) and (nodes := holders(value)):
            place = resolve_line(nodes[0].line)
            row = place[1] - 1 if place is not None and place[0] == filename else None
            found.append(Holding(name, nodes[0].op.name, row, len(nodes)))
    return tuple(found)


@dataclass(frozen=True)
class LensState:
    """Both runs of one program, and where the learner looks."""

    on: Story
    off: Story
    guard: str = "on"
    row: int = 0

    @property
    def story(self) -> Story:
        """The run that is shown."""
        return self.on if self.guard == "on" else self.off


def lens(source: str, guard: str = "on") -> LensState:
    """Both runs, looking at the first refused write, or at the end."""
    known_guard(guard)
    with streams_kept() as begin:
        on = run(source, "on")
        begin()  # both runs draw the same random numbers, so only the guard makes a difference
        off = run(source, "off")
    row = next((m.row for m in on.moments if m.refused), on.moments[-1].row if on.moments else 0)
    return LensState(on, off, guard, row)


def unfinished(source: str, guard: str, why: str) -> LensState:
    """A program that did not end by itself. Nothing is known of it but its lines."""
    lines = tuple(source.strip("\n").split("\n"))
    moment = Moment(len(lines) - 1, (), error=why)
    return LensState(Story(lines, "on", (moment,), ()), Story(lines, "off", (moment,), ()), guard, moment.row)


def spans(story: Story) -> list[tuple[str, int, int | None]]:
    """For each array: its name, the line that locked it, and the line that released it (None: still locked)."""
    found: list[tuple[str, int, int | None]] = []
    open_: dict[str, int] = {}
    for moment in story.moments:
        held = {h.name for h in moment.holds}
        for name in [n for n in open_ if n not in held]:
            found.append((name, open_.pop(name), moment.row))
        for hold in moment.holds:
            open_.setdefault(hold.name, moment.row)
    return found + [(name, start, None) for name, start in open_.items()]


def writes(line: str) -> bool:
    """Whether a line writes into an array: ``a[…] = …`` or ``a += …`` with an index."""
    try:
        body = ast.parse(line.strip()).body
    except SyntaxError:
        return False
    return bool(body) and any(
        isinstance(target, ast.Subscript)
        for statement in body
        for target in (statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)])
    )


def known_guard(guard: Any) -> str:
    """``on`` or ``off``. Raises `ArgumentError` for anything else."""
    if not (isinstance(guard, str) and guard in LEVELS):
        raise ArgumentError(f"guard={shown(guard)}", "the guard is on or off", 'give guard="on" or guard="off"')
    return guard


def failure(state: LensState) -> Moment | None:
    """The moment of a refusal or an error: at the line looked at, or else the one that ended the run, or the first."""
    failed = [m for m in state.story.moments if m.refused or m.error]
    here, ended = [m for m in failed if m.row == state.row], [m for m in failed if m.error]
    return next(iter([*here, *ended, *failed]), None)


def calls_backward(story: Story) -> bool:
    """Whether ``backward`` is called anywhere in the program."""
    try:
        calls = [node.func for node in ast.walk(ast.parse("\n".join(story.lines))) if isinstance(node, ast.Call)]
    except (SyntaxError, ValueError):
        return False
    return any("backward" in (getattr(call, "attr", ""), getattr(call, "id", "")) for call in calls)


def at(state: LensState) -> Moment | None:
    """The moment at the line looked at: the last one up to it."""
    before = [m for m in state.story.moments if m.row <= state.row]
    return before[-1] if before else None
