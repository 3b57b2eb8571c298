"""A computation as a tree, from its result to what it was given, with the dtype of everything as plain data."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...common.wording import shown
from ...dtypes import PROMOTIONS, is_float
from ...errors import ArgumentError, IndexRangeError
from ...observe.promotion import Cost, Operand, Promotions, Step
from ...observe.results import Comparison

TABLES = tuple(PROMOTIONS)
MOST = 26  # rows: of a longer program, what stayed narrow is folded
LIMIT = 60  # rows in all
NUMBER = "Python number"
AS_GIVEN = "as given"


@dataclass(frozen=True)
class Input:
    """Something that the function is given, and what it can be made. ``options`` is empty for what stays as it is."""

    name: str
    kind: str  # "tensor", "array", "scalar" of NumPy, "number", "model", or "" for anything else
    given: str  # its dtype, `NUMBER`, or `AS_GIVEN` for what has several dtypes
    options: tuple[str, ...] = ()


@dataclass(frozen=True)
class Leaf:
    """Something that no step made. ``name`` is empty for what has none."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    nbytes: int
    wide: bool
    origin: str
    plain: bool  # a Python number


@dataclass(frozen=True)
class Trace:
    """One run. ``roots`` are steps whose results the function returned, and the culprit if none of them needs it."""

    steps: tuple[Step, ...]
    roots: tuple[int, ...]
    first: int | None  # the first step that widened
    narrow: int | None  # bytes of a float before that
    cost: Cost
    source: Operand | None = None  # where the wide dtype comes from
    failure: str = ""  # why the run ended before its end
    refused: tuple[str, tuple[Operand, ...], str] | None = None  # the operation that ended it, what met, and its line

    def wide(self, dtype: Any, place: int | None = None) -> bool:
        """Whether a float is wider than floats were before the culprit. What was computed before it is not."""
        if self.first is None or self.narrow is None or not is_float(dtype) or dtype.itemsize <= self.narrow:
            return False
        return place is None or place >= self.first


@dataclass(frozen=True)
class PromotionState:
    """What is asked, how the function was run, what came out, and where the learner looks.

    ``made`` holds what inputs were made, by name. ``opened`` are the steps whose rows are shown although they would be
    folded. ``timing`` compares the run as it is with one whose culprit is narrow.
    """

    inputs: tuple[Input, ...]
    trace: Trace
    table: str = "torch"
    ask: str = ""
    made: tuple[tuple[str, str], ...] = ()
    picked: str = ""  # a row's key
    opened: frozenset[int] = frozenset()
    timing: Comparison | None = None

    def choice(self, name: str) -> str:
        """What an input is now."""
        return dict(self.made).get(name) or next(one.given for one in self.inputs if one.name == name)


@dataclass(frozen=True)
class Row:
    """One row of the tree. ``parent`` is the place of a row above."""

    key: str  # "s3" a step, "l3.1" an operand of one, "f3" a fold, "a3.0" a step that is shown above, "x" what
    # was refused, "m" no more
    depth: int
    parent: int | None
    step: int | None = None
    leaf: Leaf | None = None
    folded: int = 0  # steps that it stands for, or rows


# Reading a run ------------------------------------------------------------------------------------------------------


def read(seen: Promotions, results: Sequence[Any], failure: str = "") -> Trace:
    """What was seen of a run that returned these tensors, or ended with a failure."""
    steps, first = tuple(seen.steps), seen.first
    refused = seen.unfinished if failure else None
    roots = list(dict.fromkeys(place for one in results if (place := seen.maker(one)) is not None))
    if not roots and steps and refused is None:
        roots = [steps[-1].place]
    met = [one.step for one in refused[1] if one.step is not None] if refused else []
    if first is not None and not any(first.place in _below(steps, root) for root in (*roots, *met)):
        roots.append(first.place)
    source = None if first is None or first.culprit is None else seen.source(first.culprit)
    place = None if first is None else first.place
    return Trace(steps, tuple(roots), place, seen.narrow, seen.cost, source, failure, refused)


def _below(steps: Sequence[Step], root: int) -> set[int]:
    """A step, and all that it was computed from."""
    found: set[int] = set()
    waiting = [root]
    while waiting:
        place = waiting.pop()
        if place not in found:
            found.add(place)
            waiting += [one.step for one in steps[place].operands if one.step is not None]
    return found


_NAME = re.compile(r"^the (?:parameter|buffer) '(.*)'$")


def leaf_of(trace: Trace, operand: Operand) -> Leaf:
    """An operand that no step made."""
    size = 1
    for length in operand.shape:
        size *= length
    found = _NAME.match(operand.name)
    wide = not operand.plain and trace.wide(operand.dtype)
    nbytes = 0 if operand.plain else size * operand.dtype.itemsize
    dtype = "" if operand.plain else operand.dtype.name
    name = found[1] if found else operand.name
    return Leaf(name, dtype, operand.shape, nbytes, wide, operand.origin, operand.plain)


# The tree -----------------------------------------------------------------------------------------------------------


def rows(state: PromotionState) -> list[Row]:
    """The rows that are shown, from each result to what it was computed from."""
    whole = list(_tree(state.trace, frozenset()))
    if len(whole) <= MOST:
        return whole
    found = list(_tree(state.trace, _foldable(state.trace) - state.opened))
    return found if len(found) <= LIMIT else _cut(state, found)


def _tree(trace: Trace, folded: frozenset[int] | set[int]) -> Iterator[Row]:
    """Depth first, without recursion: programs may be deep. Each step is unfolded once."""
    seen: set[int] = set()
    waiting: list[tuple[Operand | int, str, int, int | None]] = []
    waiting += [(root, f"r{root}", 0, None) for root in reversed(trace.roots)]
    place = -1
    if trace.refused is not None:
        place = 0
        yield Row("x", 0, None)
        waiting += [(one, f"x.{at}", 1, 0) for at, one in reversed(list(enumerate(trace.refused[1])))]
    while waiting:
        what, key, depth, parent = waiting.pop()
        step = what if isinstance(what, int) else what.step
        place += 1
        if step is None:
            assert isinstance(what, Operand)
            yield Row(f"l{key}", depth, parent, leaf=leaf_of(trace, what))
        elif step in seen:
            yield Row(f"a{key}", depth, parent, step)
        elif step in folded:
            inside = _below(trace.steps, step)
            seen |= inside
            yield Row(f"f{step}", depth, parent, step, folded=len(inside))
        else:
            seen.add(step)
            yield Row(f"s{step}", depth, parent, step)
            operands = trace.steps[step].operands
            waiting += [
                (one, f"{step}.{at}", depth + 1, place) for at, one in reversed(list(enumerate(operands)))
            ]  # fmt: skip


def _foldable(trace: Trace) -> set[int]:
    """Steps that need only what stayed narrow, and stand for more than two: each can be the head of a fold."""
    sizes: dict[int, int] = {}
    for step in trace.steps:  # each comes after all that it needs
        below = [sizes.get(one.step, 0) for one in step.operands if one.step is not None]
        if not trace.wide(step.dtype, step.place) and all(below):
            sizes[step.place] = 1 + sum(below)
    return {place for place, size in sizes.items() if size > 2} - set(trace.roots)


def _cut(state: PromotionState, found: list[Row]) -> list[Row]:
    """The head of a tree that is too long; and the culprit with its operands, which may come later."""
    first = next((i for i, row in enumerate(found) if row.key == f"s{state.trace.first}"), 0)
    last = first + 1
    while last < len(found) and found[last].depth > found[first].depth:
        last += 1
    if last <= LIMIT:
        return [*found[:LIMIT], Row("m", 0, None, folded=len(found) - LIMIT)]
    tail = found[first : first + min(last - first, MOST)]
    start = LIMIT + 1 - first  # where the tail's rows come to stand
    moved = [replace(row, parent=None if i == 0 else (row.parent or 0) + start) for i, row in enumerate(tail)]
    left = len(found) - LIMIT - len(tail)
    return [*found[:LIMIT], Row("m", 0, None, folded=left), *moved]


# What a learner does ------------------------------------------------------------------------------------------------


def suspect(state: PromotionState) -> Input | None:
    """The input that the wide dtype comes from, if it is one that can be made another dtype."""
    name = "" if state.trace.source is None else state.trace.source.name
    return changeable(state, name)


def changeable(state: PromotionState, name: str) -> Input | None:
    """The input of this name, or the model with this parameter, if it can be made another dtype."""
    return next((one for one in state.inputs if one.options and one.name in (name, name.split(".")[0])), None)


def in_hand(state: PromotionState) -> Input | None:
    """The input that can be made another dtype now: the one picked, else the last changed, the culprit, the first."""
    row = next((row for row in rows(state) if row.key == state.picked), None)
    picked = changeable(state, row.leaf.name) if row is not None and row.leaf is not None else None
    changed = changeable(state, state.made[-1][0]) if state.made else None
    return picked or changed or suspect(state) or next((one for one in state.inputs if one.options), None)


def pick(state: PromotionState, given: Any) -> PromotionState:
    """Look at a row; of a fold, show what its head needs. Raises `IndexRangeError` where there is none."""
    row = next((row for row in rows(state) if row.key == given and row.key != "m"), None)
    if row is None:
        raise IndexRangeError(f"the row {shown(given, 40)}", "there is no such one", "press one that is drawn")
    if row.folded and row.step is not None:
        return replace(state, opened=state.opened | {row.step}, picked=f"s{row.step}")
    return replace(state, picked=row.key)


def known_table(given: Any) -> str:
    """``torch``, ``numpy`` or ``jax``. Raises `ArgumentError` for anything else."""
    if not (isinstance(given, str) and given in TABLES):
        raise ArgumentError(f"table={shown(given, 40)}", f"the tables are {', '.join(TABLES)}", 'give table="numpy"')
    return given


def make(state: PromotionState, name: str, given: Any) -> PromotionState:
    """Make an input another dtype. Raises `IndexRangeError` for what it cannot be made."""
    one = next((one for one in state.inputs if one.name == name), None)
    if one is None or given not in one.options:
        mend = f"take one of {', '.join(one.options)}" if one is not None and one.options else "take another input"
        raise IndexRangeError(f"{shown(name, 40)} as {shown(given, 40)}", "that cannot be chosen here", mend)
    made: Mapping[str, str] = {**dict(state.made), name: given}
    return replace(state, made=tuple(made.items()))


def finish(state: PromotionState, trace: Trace) -> PromotionState:
    """Show another run: what was opened, picked and timed was of the one before."""
    return replace(state, trace=trace, picked=_usual(trace), opened=frozenset(), timing=None)


def _usual(trace: Trace) -> str:
    """The row to look at first: the culprit, or what was refused, or the result."""
    if trace.first is None and trace.refused is not None:
        return "x"
    place = trace.first if trace.first is not None else next(iter(trace.roots), None)
    return "" if place is None else f"s{place}"
