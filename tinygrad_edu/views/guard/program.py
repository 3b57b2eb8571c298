"""A program of a few lines, run once with the guard on or off: what every line locks, releases and overwrites."""

from __future__ import annotations

import ast
import builtins
import contextvars
import itertools
import linecache
import re
import threading
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np

import tinygrad_edu

from ... import guard as public_guard
from ...common.lines import own, resolve_line
from ...common.wording import exact, first_line, shown
from ...core.graph import Node
from ...errors import EduError
from ...guard import holders
from ...guard.checksums import checksum
from ...observe.stopping import Stopped
from ...tensor import Tensor
from ...tensor.random import seeded
from ..hosted import hosted, names_for
from ..streams import fresh_streams

FEW = 6  # numbers of an array that are shown
_serial = itertools.count(1)
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")  # another one in each run


@dataclass(frozen=True)
class Holding:
    """An array that is locked, and the oldest node that holds it."""

    name: str
    op: str
    row: int | None  # of the op
    nodes: int
    array: int  # arrays are counted in the order in which they were first seen


@dataclass(frozen=True)
class Seen:
    """A NumPy array that the program has a name for."""

    name: str
    values: tuple[str, ...]
    nbytes: int
    array: int
    writeable: bool
    held: bool  # does a node hold these bytes? A view that was taken before the lock can be written to all the same
    others: tuple[str, ...] = ()  # the other names, of arrays and of tensors, that stand for some of these bytes


@dataclass(frozen=True)
class Moment:
    """The state after one statement, and what happened in it. ``row`` is its last line, or the one that failed."""

    row: int
    holds: tuple[Holding, ...]  # by all arrays that are locked, with a name or without
    refused: str = ""  # why the guard refused the line
    raised: str = ""  # the kind of error that the refusal is: NumPy's own, unless the program explains it itself
    error: str = ""  # any other error ends the run
    in_backward: bool = False  # was the error raised by backward?
    arrays: tuple[Seen, ...] = ()
    gone: tuple[int, ...] = ()  # arrays that exist no more
    holder: Holding | None = None  # who held the array that the line was refused to write into
    overwrote: bool = False  # have values changed that the graph still holds?
    writes: bool = False  # did the statement write into an array?


@dataclass(frozen=True)
class Story:
    """A program run once, with the guard on or off."""

    lines: tuple[str, ...]
    guard: str
    moments: tuple[Moment, ...]
    gradients: tuple[tuple[str, tuple[str, ...]], ...]
    labels: tuple[str, ...] = ()  # of the arrays, in the order in which they were seen: "a", "b", "2nd a"
    bits: tuple[str, ...] = ()  # of the gradients: equal for those that are equal to the last digit
    correct: tuple[tuple[str, tuple[str, ...]], ...] = ()  # what backward gives with the values that forward saw,
    # for each gradient that is another one, because something wrote over those values


def run(source: str, guard: str) -> Story:
    """Execute a program line by line. A write that the guard refuses is noted, and the program goes on.

    It draws the same random numbers in each run, and leaves the process as it found it.
    """
    lines = tuple(source.strip("\n").split("\n"))
    filename = f"<lens {next(_serial)}>"
    try:
        statements = ast.parse("\n".join(lines), filename).body
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:  # a null character is a ValueError
        place = min(getattr(error, "lineno", None) or 1, len(lines)) - 1
        kind = "SyntaxError" if isinstance(error, (SyntaxError, ValueError)) else type(error).__name__
        return Story(lines, guard, (Moment(place, (), error=f"{kind}: {getattr(error, 'msg', error)}"),), ())
    linecache.cache[filename] = (len(source), None, [line + "\n" for line in lines], filename)
    again = contextvars.copy_context  # each time in its own context: modes that the program sets end with it
    try:
        story = again().run(_execute, lines, statements, filename, guard)
        if story.gradients and any(moment.overwrote for moment in story.moments):
            kept = again().run(_execute, lines, statements, filename, guard, keep=True)
            right = dict(zip((name for name, _ in kept.gradients), kept.bits, strict=True))
            other = {n for (n, _), bits in zip(story.gradients, story.bits, strict=True) if right.get(n, bits) != bits}
            story = Story(**{**vars(story), "correct": tuple(pair for pair in kept.gradients if pair[0] in other)})
        return story
    finally:
        linecache.cache.pop(filename, None)


def _execute(
    lines: tuple[str, ...], statements: list[ast.stmt], filename: str, guard: str, *, keep: bool = False
) -> Story:
    """One run. With ``keep`` every node gets copies of what it saved, so that nothing can change them, and the program
    prints nothing: once is enough."""
    names = names_for({
        "np": np, "tg": tinygrad_edu, "tensor": tinygrad_edu.tensor, "from_numpy": tinygrad_edu.from_numpy
    }, silent=keep or guard == "off")  # fmt: skip
    arrays, graph, moments = _Arrays(names, filename), _Saved(keep), []
    level = public_guard.on if guard == "on" else public_guard.off
    with hosted(names), seeded(0), fresh_streams():
        for statement in statements:
            before, values = graph.changed(), arrays.checksums()
            ended = arrays.ended(statement, _step(statement, filename, names, level))
            moment = arrays.moment(ended)  # the error is gone now, and holds nothing any more
            graph.note(names)
            after = graph.changed()
            moments.append(
                replaced(
                    moment, overwrote=bool(after - before), writes=arrays.changed(values) or _stores(statement, names)
                )
            )
            if moment.error:
                break
        tensors = [(n, v) for n, v in names.items() if isinstance(v, Tensor) and v.grad is not None]
        gradients = tuple((f"{n}.grad", few(v.grad.array)) for n, v in tensors)
        bits = tuple(_bits(v.grad.array) for _, v in tensors)
    return Story(lines, guard, tuple(moments), gradients, tuple(arrays.labels), bits)


def replaced(moment: Moment, **changes: Any) -> Moment:
    """A changed copy."""
    return Moment(**{**vars(moment), **changes})


def _step(statement: ast.stmt, filename: str, names: dict[str, Any], level: Any) -> BaseException | None:
    """Execute one statement. Returns what it raised: whatever a learner's code raises is shown, not swallowed."""
    code, kept = _compiled(statement, filename), builtins.__dict__.copy()
    if isinstance(code, SyntaxError):
        return code
    try:
        with level():
            try:
                exec(code, names)
            finally:  # at once: nothing here works without len
                builtins.__dict__.update(kept)
    except Stopped:
        raise
    except KeyboardInterrupt:
        if threading.current_thread() is threading.main_thread():
            raise  # from the keyboard
        return KeyboardInterrupt()
    except BaseException as error:
        return error
    return None


def _compiled(statement: ast.stmt, filename: str) -> Any:
    """The code of one statement, or why it is none: some errors are found only here, such as a return outside of any
    function."""
    try:
        return compile(ast.Module([statement], []), filename, "exec")
    except SyntaxError as error:
        return error


class _Arrays:
    """The arrays that a program has made so far, followed for as long as they exist, also without a name."""

    def __init__(self, names: dict[str, Any], filename: str) -> None:
        self.names, self.filename, self.given = names, filename, set(names)
        self.known: list[weakref.ref[Any]] = []
        self.labels: list[str] = []

    def named(self) -> list[tuple[str, Any]]:
        """Each name of the program that stands for an array."""
        found = list(self.names.items())
        return [(n, v) for n, v in found if n not in self.given and isinstance(v, np.ndarray)]

    def number(self, name: str, array: Any) -> int:
        """Which array it is. A new one gets a label: its name, or "2nd a" if another one had that name before."""
        for place, reference in enumerate(self.known):
            if reference() is array:
                return place
        self.known.append(weakref.ref(array))
        times = sum(label.split(" ")[-1] == name for label in self.labels)
        self.labels.append(f"{_ordinal(times + 1)} {name}" if times else name)
        return len(self.known) - 1

    def checksums(self) -> dict[int, int]:
        """The values of all arrays, shortly."""
        alive = ((place, reference()) for place, reference in enumerate(self.known))
        return {place: checksum(array) for place, array in alive if array is not None and not array.dtype.hasobject}

    def changed(self, before: dict[int, int]) -> bool:
        """Whether the values of any of them have changed."""
        now = self.checksums()
        return any(now.get(place, value) != value for place, value in before.items())

    def ended(self, statement: ast.stmt, error: BaseException | None) -> Moment:
        """How a statement ended, without the state after it."""
        row = (statement.end_lineno or statement.lineno) - 1
        if error is None:
            return Moment(row, ())
        row, in_backward = _row_of(error, self.filename, statement, row), _in_backward(error)
        if isinstance(error, public_guard.MemoryGuardError) and not in_backward:
            inside = any(file == self.filename for file, _, _ in _steps(error))
            raised = error if inside or error.__cause__ is None else error.__cause__  # the lens explains it, else
            return Moment(row, (), refused=error.why, raised=type(raised).__name__, holder=self._refuser(error))
        return Moment(row, (), error=_said(error), in_backward=in_backward)

    def moment(self, ended: Moment) -> Moment:
        """The state after a statement."""
        seen = tuple(
            Seen(n, few(v), v.nbytes, self.number(n, v), bool(v.flags.writeable), bool(holders(v)), self._sharing(n, v))
            for n, v in self.named()
        )
        gone = tuple(place for place, reference in enumerate(self.known) if reference() is None)
        return replaced(ended, holds=self._holds(), arrays=seen, gone=gone)

    def _sharing(self, name: str, array: Any) -> tuple[str, ...]:
        """The other names that stand for bytes of an array."""
        tensors = [(n, v.array) for n, v in list(self.names.items()) if n not in self.given and isinstance(v, Tensor)]
        found = [*self.named(), *tensors]
        return tuple(n for n, v in found if n != name and isinstance(v, np.ndarray) and _overlap(v, array))

    def _holds(self) -> tuple[Holding, ...]:
        alive = ((place, reference()) for place, reference in enumerate(self.known))
        found = ((place, array) for place, array in alive if array is not None and not array.flags.writeable)
        return tuple(holding for place, array in found if (holding := self._holding(place, array)) is not None)

    def _holding(self, place: int, array: Any) -> Holding | None:
        nodes = holders(array)
        if not nodes:
            return None
        at = resolve_line(nodes[0].line)
        row = at[1] - 1 if at is not None and at[0] == self.filename else None
        return Holding(self.labels[place], nodes[0].op.name, row, len(nodes), place)

    def _refuser(self, error: BaseException) -> Holding | None:
        """Who held the array that was written to: the error says why in the words of one of the arrays."""
        why = getattr(error, "why", "")
        held = [(h, r()) for h in self._holds() if (r := self.known[h.array]) is not None]
        same = [h for h, array in held if (found := public_guard.explanation(array)) and str(found) == str(error)]
        alike = same or [h for h, _ in held if why.startswith(f"{h.op} saved it")]
        return alike[0] if len({(h.op, h.row) for h in alike}) == 1 else None


def _overlap(one: Any, other: Any) -> bool:
    """Whether two arrays have bytes in common."""
    try:
        return bool(np.shares_memory(one, other, max_work=10_000))  # type: ignore[arg-type]  # any number will do
    except np.exceptions.TooHardError:  # strange strides: then whether their ranges meet
        return bool(np.may_share_memory(one, other))


class _Saved:
    """The nodes of all graphs that a program has a name for, and what the values that they saved looked like then."""

    def __init__(self, keep: bool) -> None:
        self.keep = keep
        self.known: weakref.WeakKeyDictionary[Node, tuple[tuple[Any, int], ...]] = weakref.WeakKeyDictionary()

    def note(self, names: dict[str, Any]) -> None:
        """Remember the nodes that are new."""
        for node in _nodes(names):
            if node not in self.known:
                if self.keep and node.saved is not None:
                    node.saved = tuple(v.copy() if isinstance(v, np.ndarray) else v for v in node.saved)
                arrays = [a for a in node.saved or () if isinstance(a, np.ndarray) and not a.dtype.hasobject]
                self.known[node] = tuple((a, checksum(a)) for a in arrays)

    def changed(self) -> set[weakref.ref[Node]]:
        """The nodes that still hold values which have changed."""
        found = set()
        for node, kept in list(self.known.items()):
            if node.saved is None:
                self.known[node] = ()  # keep nothing alive that backward has let go
            elif any(checksum(array) != before for array, before in kept):
                found.add(weakref.ref(node))
        return found


def _nodes(names: dict[str, Any]) -> Iterator[Node]:
    """Every node behind the tensors that have a name."""
    todo = [value.node for value in list(names.values()) if isinstance(value, Tensor)]
    seen: set[int] = set()
    while todo:
        node = todo.pop()
        if type(node) is Node and id(node) not in seen:
            seen.add(id(node))
            todo += node.parents
            yield node


def _ordinal(count: int) -> str:
    return f"{count}{ {2: 'nd', 3: 'rd'}.get(count, 'th') }"


def _said(error: BaseException) -> str:
    """The error in one line: its kind, and its first line, or the whole sentence of one of ours."""
    if isinstance(error, EduError) and type(error).__module__.startswith("tinygrad_edu."):
        return f"{type(error).__name__}: {error.sentence()}"
    said = f"SyntaxError: {error.msg}" if isinstance(error, SyntaxError) else first_line(error)
    return _ADDRESS.sub("", said)


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
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:  # the guard's explanation points to NumPy's error
        seen.add(id(cause))
        inside = [line - 1 for file, _, line in _steps(cause) if file == filename]
        found = next((line for line in reversed(inside) if statement.lineno - 1 <= line <= row), None)
        if found is not None:
            return found
        cause = cause.__cause__
    return row


def _stores(statement: ast.stmt, names: dict[str, Any]) -> bool:
    """Whether a plain statement writes into an array: ``a[…] = …``, ``a[…] += …`` or ``a += …``."""
    if isinstance(statement, ast.Assign):
        found = [target.value for target in statement.targets if isinstance(target, ast.Subscript)]
    elif isinstance(statement, ast.AugAssign):
        found = [statement.target.value if isinstance(statement.target, ast.Subscript) else statement.target]
    else:
        return False
    return any(isinstance(of, ast.Name) and isinstance(names.get(of.id), np.ndarray) for of in found)


def calls_backward(tree: ast.AST) -> bool:
    """Whether ``backward`` or ``grad`` is called in a part of a program."""
    calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return any({"backward", "grad"} & {getattr(call, "attr", ""), getattr(call, "id", "")} for call in calls)


def few(array: Any) -> tuple[str, ...]:
    """The first numbers of an array."""
    flat = np.asarray(array).ravel()
    return tuple(map(_word, flat[:FEW])) + (("…",) if flat.size > FEW else ())


def _word(value: Any) -> str:
    try:
        return str(value) if np.iscomplexobj(value) else exact(value)
    except (TypeError, ValueError):  # an array of something other than numbers
        return value if isinstance(value, str) and len(value) <= 12 else shown(value, 12)


def _bits(array: Any) -> str:
    values = np.ascontiguousarray(array)
    return blake2b(values.tobytes() + str((values.shape, values.dtype)).encode(), digest_size=8).hexdigest()
