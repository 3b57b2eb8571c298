"""The memory guard, for users: switch it, ask it, and hear from it.

with guard.on(): ...          # scope or decorator; a write to a held array raises MemoryGuardError on the way out
with guard.off(): ...         # no locks: faster for many small tensors, once the code is known to be right
with guard.verify(): ...      # also find, by checksum, what was written past the lock
guard.turn_off()              # for every thread, until guard.turn_on()
print(guard.explain(array))   # who holds this array, since which line, and the ways out

NumPy offers ways past a lock: a view that was taken before it, a second array over the same buffer, setting
``flags.writeable`` by hand, and ``np.add.at`` with the ``at`` of all other ufuncs, which write to read-only arrays.
"""

from __future__ import annotations

import ast
import linecache
import sys
import weakref
from contextlib import suppress
from types import FrameType, TracebackType
from typing import Any

import numpy as np

from ..common.lines import own
from ..core.base import TensorBase
from ..core.graph import Node
from ..core.storage import find
from ..errors import MemoryGuardError
from ..settings import modes, scoped, set_default
from .checksums import verify_all, watched

__all__ = ["MemoryGuardError", "explain", "is_on", "let_go", "off", "on", "turn_off", "turn_on", "verify"]

_READ_ONLY = ("read-only", "readonly")  # what NumPy says


class _Guarded(scoped):
    """A scope in which a write to a held array raises `MemoryGuardError`, not NumPy's ValueError without a reason."""

    level: str

    def __init__(self) -> None:
        super().__init__(guard=self.level)

    def afresh(self) -> scoped:
        return type(self)()

    def _leave(self, kind: Any = None, error: Any = None, traceback: Any = None) -> None:
        super()._leave(kind, error, traceback)
        if isinstance(error, ValueError):
            found = explain_exception(error, traceback)
            if found is not None:
                raise found from error


class on(_Guarded):
    """Arrays that the graph needs are read-only. The default; as a scope it also explains a refused write."""

    level = "on"


class off(_Guarded):
    """Nothing is locked."""

    level = "off"


class verify(_Guarded):
    """As `on`, and saved arrays are compared with their checksums: at backward, and on leaving the scope."""

    level = "verify"

    def __init__(self) -> None:
        super().__init__()
        self._earlier: list[weakref.WeakSet[Any]] = []  # a stack, as in `scoped`

    def __enter__(self) -> Any:
        self._earlier.append(watched())
        return super().__enter__()

    def _leave(self, kind: Any = None, error: Any = None, traceback: Any = None) -> None:
        super()._leave(kind, error, traceback)
        earlier = self._earlier.pop()
        if error is None:
            verify_all(earlier)


def turn_on() -> None:
    """Guard everywhere: in every thread, outside explicit scopes."""
    set_default(guard="on")


def turn_off() -> None:
    """Guard nowhere, until `turn_on`. Test your code with the guard on first."""
    set_default(guard="off")


def is_on() -> bool:
    """Whether arrays are being locked here."""
    return modes().guard != "off"


def explain(array: Any) -> str:
    """Who holds this array and since which line, and how to be able to write to it."""
    if not isinstance(array, np.ndarray):
        return f"not a NumPy array but of type {type(array).__name__}: the guard has nothing to do with it"
    found = explanation(array)
    if found is not None:
        return str(found)
    if array.flags.writeable:
        return f"array {array.shape} {array.dtype}: no operation holds it, it can be written to"
    return (
        f"array {array.shape} {array.dtype}: no operation holds it, yet it is read-only: "
        "it was made so elsewhere, or is a view taken while its base was locked (take the view again)"
    )


def holders(array: Any) -> list[Node]:
    """The graph nodes that keep this array locked, oldest first."""
    storage = find(array) if isinstance(array, np.ndarray) else None
    lock = None if storage is None else storage.lock()
    if lock is None:
        return []
    nodes = [node for reference in lock.holders if (node := reference()) is not None and node.saved is not None]
    return sorted(set(nodes), key=lambda node: node.number)


def explanation(array: Any) -> MemoryGuardError | None:
    """Why this array is read-only: which op holds it, since which line, and the ways out. None when no op holds it."""
    nodes = holders(array)
    if not nodes:
        return None
    first, more = nodes[0], len(nodes) - 1
    others = f" ({more} more node{' holds' if more == 1 else 's hold'} it too)" if more else ""
    return MemoryGuardError(
        f"write to an array {tuple(array.shape)} {array.dtype}",
        f"{first.op.name} saved it and needs the old values for its backward{others}",
        f"write after backward(), write to a copy (a.copy()), or {_let_go(set(nodes))}",
        first.line,
    )


# Who holds it in a notebook, which keeps more than names ---------------------------------------------------------


def _let_go(nodes: set[Node]) -> str:
    """How to let go of what needs these nodes: in a notebook by the names that hold it there."""
    shell = _shell()
    if shell is None:
        return "let the loss go (del loss)"
    shown = [f"Out[{place}]" for place, value in shell.user_ns.get("Out", {}).items() if _leads_to(value, nodes)]
    kept = {name: value for name, value in shell.user_ns.items() if not name.startswith("_") and name != "Out"}
    names = [name for name, value in kept.items() if _leads_to(value, nodes)]
    ways = [f"let go of {', '.join(names)} (del {', '.join(names)})"] if names else []
    if shown:
        ways.append(f"let go of what was shown ({', '.join(shown)}): guard.let_go(), and end such a line with ;")
    error = getattr(sys, "last_value", None)
    step = None if error is None else error.__traceback__
    while step is not None:
        frame, step = step.tb_frame, step.tb_next
        if frame.f_locals is not shell.user_ns and any(_leads_to(value, nodes) for value in frame.f_locals.values()):
            name = frame.f_code.co_name
            ways.append(f"let go of the last error, whose traceback holds what {name}() had: guard.let_go()")
            break
    return ", and ".join(ways) or "let the loss go (del loss)"


def _leads_to(value: Any, nodes: set[Node]) -> bool:
    """Whether a tensor, or one in a list, tuple or dict, was computed through one of the nodes."""
    todo = [one.node for one in _tensors(value) if one.node is not None]
    seen = set(todo)
    while todo:
        node = todo.pop()
        if node in nodes:
            return True
        new = {parent for parent in node.parents if parent is not None} - seen
        seen |= new
        todo += new
    return False


def let_go() -> None:
    """Let go of what a notebook keeps alive: results that were shown, if they have a graph, and the last traceback.

    ``Out[3]``, ``_3`` and ``_`` are gone then, and ``%debug`` has nothing to show.
    """
    _clear_frames(getattr(sys, "last_value", None), ours=False)
    shell = _shell()
    if shell is None:
        return
    for kept in (shell.user_ns.get("Out", {}), shell.user_ns, shell.user_ns_hidden, vars(shell.displayhook)):
        for name in [name for name, value in kept.items() if not str(name).strip("_0123456789") and _has_graph(value)]:
            kept[name] = None


def _has_graph(value: Any) -> bool:
    return any(one.node is not None for one in _tensors(value))


def _tensors(value: Any) -> list[TensorBase]:
    inside = value.values() if type(value) is dict else value if type(value) in (list, tuple) else (value,)
    return [one for one in inside if isinstance(one, TensorBase)]


def _clear_frames(error: BaseException | None, ours: bool) -> None:
    """Empty the frames of an error and of those that it came from: those of this package, or all."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        step = error.__traceback__
        while step is not None:
            frame, step = step.tb_frame, step.tb_next
            if own[frame.f_code.co_filename] or not ours:
                with suppress(RuntimeError):  # it is still running
                    frame.clear()
                    _ = frame.f_locals  # if somebody looked at them before, a copy was kept: this refreshes it
        error = error.__cause__ or error.__context__


# How the explanation reaches whoever wrote ``x[:] = 0`` --------------------------------------------------------


def explain_exception(error: BaseException, traceback: TracebackType | None) -> MemoryGuardError | None:
    """The explanation of NumPy's "read-only" complaint, if an array that the guard holds is behind it."""
    if isinstance(error, MemoryGuardError) or not any(words in str(error) for words in _READ_ONLY):
        return None
    levels = []
    while traceback is not None:
        levels.append(traceback)
        traceback = traceback.tb_next
    for level in reversed(levels):  # outwards, to the first that has arrays: NumPy's compiled frames show none
        arrays = _arrays_at(level.tb_frame, _failing_source(level))
        if arrays:
            return next((found for array in arrays if (found := explanation(array)) is not None), None)
    return None


def _failing_source(traceback: TracebackType) -> str:
    """The expression or statement that failed, cut out of its source; empty when there is no source."""
    code = traceback.tb_frame.f_code
    row, last, start, end = list(code.co_positions())[traceback.tb_lasti // 2]
    if row is None or last is None or start is None or end is None:
        return ""
    lines = [linecache.getline(code.co_filename, n).encode() for n in range(row, last + 1)]
    lines[-1] = lines[-1][:end]  # columns count bytes
    return b"".join(lines)[start:].decode(errors="replace")


def _arrays_at(frame: FrameType, source: str) -> list[np.ndarray[Any, Any]]:
    """The arrays that the failing source names; where it names none, all that its frame has."""
    scope = {**frame.f_globals, **frame.f_locals}
    try:
        tree: ast.AST = ast.parse(source)
    except SyntaxError:
        tree = ast.Module([], [])
    named = [
        _look_up(node, scope) for node in ast.walk(tree) if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript))
    ]
    arrays = [value for value in named if isinstance(value, np.ndarray)]
    return arrays or [value for value in frame.f_locals.values() if isinstance(value, np.ndarray)]


def _look_up(node: ast.AST, scope: dict[str, Any]) -> Any:
    """The value of ``a``, ``a.b``, ``a["b"]`` or ``a[i]``, without running anybody's code."""
    if isinstance(node, ast.Name):
        return scope.get(node.id)
    if isinstance(node, ast.Attribute):
        return getattr(_look_up(node.value, scope), "__dict__", {}).get(node.attr)
    if isinstance(node, ast.Subscript):
        owner = _look_up(node.value, scope)
        try:
            index = ast.literal_eval(node.slice)
        except ValueError:
            index = _look_up(node.slice, scope)
        if type(owner) in (dict, list, tuple) and type(index) in (str, int):
            try:
                return owner[index]
            except LookupError:
                return None
    return None


class _Hooks:
    """Installed once, when the first array is shared: programs that share none do not pay for it."""

    installed = False


def _shell() -> Any:
    """IPython, where it is running."""
    ipython = sys.modules.get("IPython")
    return None if ipython is None else ipython.get_ipython()


def listen() -> None:
    """Let uncaught errors, in scripts and in notebooks, carry the guard's explanation as a note."""
    if _Hooks.installed:
        return
    _Hooks.installed = True
    previous = sys.excepthook

    def excepthook(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        _add_note(error, traceback)
        previous(kind, error, traceback)

    sys.excepthook = excepthook
    shell = _shell()
    if shell is not None:
        # An error must not keep arrays locked, so this package's own frames are emptied. The user's stay, for %debug.
        shell.events.register("post_run_cell", lambda result: _clear_frames(result.error_in_exec, ours=True))
    if shell is not None and not shell.custom_exceptions:

        def in_notebook(shell: Any, kind: Any, error: Any, traceback: Any, tb_offset: Any = None) -> None:
            _add_note(error, traceback)
            shell.showtraceback((kind, error, traceback), tb_offset=tb_offset)

        shell.set_custom_exc((ValueError,), in_notebook)


def _add_note(error: BaseException, traceback: TracebackType | None) -> None:
    found = explain_exception(error, traceback)
    if found is not None:
        error.add_note(f"\nmemory guard: {found}")
