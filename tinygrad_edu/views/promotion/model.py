"""A computation as a tree, from its result to what it was given, with the dtype of everything as plain data."""

from __future__ import annotations

import math
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
MOST = 26  # rows: of a longer program, what stayed narrow is folded, and then what lies above the culprit
HEAD = 8  # rows that are shown above it all the same
LIMIT = 300  # rows in all
AT_ONCE = 10  # steps that a press on a fold shows
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
    source: Operand | None = None  # where the wide dtype comes from: the first one's, or that of what was refused
    other: Operand | None = None  # where the dtype comes from that it met
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
    folded; with -1 among them, all are. ``timing`` compares the run as it is with one that is fixed.
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

    key: str  # "s3" a step, "l3.1" an operand of one, "f3" a fold, "a3.0" what is shown above already, "x" what was
    # refused, "m0" rows that are left out
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
    pair: tuple[Operand | None, Operand | None] = (None, None)
    if first is not None and first.culprit is not None:
        pair = first.culprit, _met(first.operands, first.culprit)
    elif refused is not None:
        floats = [one for one in refused[1] if is_float(one.dtype) and not one.plain]
        wide = max(floats, key=lambda one: one.dtype.itemsize, default=None)
        pair = wide, _met(refused[1], wide)
    source, other = (None if one is None else seen.source(one) for one in pair)
    place = None if first is None else first.place
    return Trace(steps, tuple(roots), place, seen.narrow, seen.cost, source, other, failure, refused)


def _met(operands: Sequence[Operand], culprit: Operand | None) -> Operand | None:
    """The narrowest float that the culprit met."""
    others = [one for one in operands if one is not culprit and not one.plain and is_float(one.dtype)]
    return min(others, key=lambda one: one.dtype.itemsize, default=None)


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


def leaf_of(trace: Trace, operand: Operand, place: int | None = None) -> Leaf:
    """An operand that no step made, of the step at this place. What was used before the culprit is not wide."""
    found = _NAME.match(operand.name)
    wide = not operand.plain and trace.wide(operand.dtype, place)
    nbytes = 0 if operand.plain else math.prod(operand.shape) * operand.dtype.itemsize
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
    if len(found) <= MOST:
        return found
    return _cut(state, found) if -1 not in state.opened else _capped(found)


def _tree(trace: Trace, folded: frozenset[int] | set[int]) -> Iterator[Row]:
    """Depth first, without recursion: programs may be deep. Each step is unfolded once, and each name told once."""
    seen: set[int | str] = set()
    waiting: list[tuple[Operand | int, str, int, int | None, int | None]] = []
    waiting += [(root, f"r{root}", 0, None, None) for root in reversed(trace.roots)]
    row = -1
    if trace.refused is not None:
        row = 0
        yield Row("x", 0, None)
        waiting += [(one, f"x.{at}", 1, 0, None) for at, one in reversed(list(enumerate(trace.refused[1])))]
    while waiting:
        what, key, depth, parent, above = waiting.pop()
        row += 1
        if isinstance(what, Operand) and what.step is None:
            again = what.name in seen
            yield Row(f"{'a' if again else 'l'}{key}", depth, parent, leaf=leaf_of(trace, what, above))
            seen |= {what.name} - {""}
            continue
        step = what if isinstance(what, int) else what.step
        assert step is not None
        if step in seen:
            yield Row(f"a{key}", depth, parent, step)
        elif step in folded:
            inside = _below(trace.steps, step)
            seen |= inside
            yield Row(f"f{step}", depth, parent, step, folded=len(inside))
        else:
            seen.add(step)
            yield Row(f"s{step}", depth, parent, step)
            operands = list(enumerate(trace.steps[step].operands))
            waiting += [(one, f"{step}.{at}", depth + 1, row, step) for at, one in reversed(operands)]


def _foldable(trace: Trace) -> set[int]:
    """Steps that need only what stayed narrow, and stand for more than two: each can be the head of a fold."""
    sizes: dict[int, int] = {}
    for step in trace.steps:  # each comes after all that it needs
        below = [sizes.get(one.step, 0) for one in step.operands if one.step is not None]
        if not trace.wide(step.dtype, step.place) and all(below):
            sizes[step.place] = 1 + sum(below)
    return {place for place, size in sizes.items() if size > 2} - set(trace.roots)


def _cut(state: PromotionState, found: list[Row]) -> list[Row]:
    """A tree that is too long: its head, and the culprit with what it was computed from."""
    first = next((i for i, row in enumerate(found) if row.key == f"s{state.trace.first}"), 0)
    last = first + 1
    while last < len(found) and found[last].depth > found[first].depth:
        last += 1
    if last <= MOST:
        return [*found[:MOST], Row("m0", 0, None, folded=len(found) - MOST)]
    head, tail = found[: min(HEAD, first)], found[first : min(last, first + MOST)]
    start = len(head) + bool(first > len(head)) - first  # by how much the rows of the tail move
    moved = [replace(row, parent=None if i == 0 else (row.parent or 0) + start) for i, row in enumerate(tail)]
    between, after = first - len(head), len(found) - first - len(tail)
    gap = [Row("m0", head[-1].depth + 1 if head else 0, None, folded=between)] if between else []
    return [*head, *gap, *moved, *([Row("m1", 0, None, folded=after)] if after else [])]


def _capped(found: list[Row]) -> list[Row]:
    """No more rows than a page can bear."""
    return [*found[:LIMIT], Row("m", 0, None, folded=len(found) - LIMIT)] if len(found) > LIMIT else found


# What a learner does ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fix:
    """One conversion after which that operation widens nothing: what, and to which dtype."""

    operand: Operand
    to: str
    others: str  # the dtype of everything else, where one operand alone is narrow


def fix(state: PromotionState) -> Fix | None:
    """How to mend it: make the culprit as narrow as what it met; or, if only that is narrow, make that wide."""
    source, other = state.trace.source, state.trace.other
    if source is None:
        return None
    to = "float32" if other is None else other.dtype.name
    if other is not None and is_float(source.dtype) and source.dtype.itemsize > other.dtype.itemsize:
        leaves = {one for step in state.trace.steps for one in step.operands if one.step is None and not one.plain}
        wide, narrow = (sum(one.dtype == kind for one in leaves) for kind in (source.dtype, other.dtype))
        if narrow < wide and other.step is None:
            return Fix(other, source.dtype.name, to)
    return Fix(source, to, "") if source.dtype.name != to else None


def suspect(state: PromotionState) -> Input | None:
    """The input that the fix converts, if it is one that can be made another dtype."""
    found = fix(state)
    return None if found is None else changeable(state, found.operand.name)


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
    """Look at a row; show what a fold or a gap stands for. Raises `IndexRangeError` where there is none."""
    row = next((row for row in rows(state) if row.key == given and row.key != "m"), None)
    if row is None:
        raise IndexRangeError(f"the row {shown(given, 40)}", "there is no such one", "press one that is drawn")
    if row.key[0] == "m":
        return replace(state, opened=state.opened | {-1})
    if row.folded and row.step is not None:
        return replace(state, opened=state.opened | _opening(state.trace, row.step), picked=f"s{row.step}")
    return replace(state, picked=row.key)


def _opening(trace: Trace, head: int) -> set[int]:
    """A fold's head, and the next few steps below it."""
    found: dict[int, None] = {}
    waiting = [head]
    while waiting and len(found) < AT_ONCE:
        place = waiting.pop(0)
        found[place] = None
        waiting += [one.step for one in trace.steps[place].operands if one.step is not None]
    return set(found)


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
