"""Broadcasting both ways: stretched axes that are read again, and in backward the sum over the reads."""

from __future__ import annotations

import itertools
import math
import numbers
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...autograd import grad
from ...common.wording import shown
from ...core.inplace import own_buffer
from ...dtypes import as_dtype, is_float
from ...errors import ArgumentError, EduError, IndexRangeError, ShapeError
from ...ops.arithmetic import add, div, mul, sub
from ...settings import enable_grad, modes, no_grad
from ...tensor import Tensor, as_tensor, wrap
from ..given import typed

OPS: dict[str, Callable[[Any, Any], Any]] = {"+": add, "-": sub, "*": mul, "/": div}
UPSTREAMS = ("ones", "made up")
PATTERN = (1, 0, 2, 1, 0, 1, 1, 0, 3, 0, 0, 1, 0, 2, 1)  # the first numbers of "made up": their sums differ
AXES = 3  # that can be drawn
LARGEST = 4_000_000  # elements of c: a slip of the hand must not fill the memory
MOST = (3, 5, 5)  # places of each drawn axis, before those between are left out

Shape = tuple[int, ...]
Place = tuple[int, int, int]  # an index of c, filled up with zeros from the left
Plan = tuple[tuple[int | None, ...], ...]  # the drawn places along three axes; None where some are left out


@dataclass(frozen=True)
class Reading:
    """A tensor as c's shape reads it. Values are those of the drawn places of c, never all of a large array."""

    name: str
    shape: Shape
    strides: Shape  # bytes, of the view that has c's shape: 0 where an axis is stretched
    nbytes: int
    more: int  # extra bytes that the view takes
    values: tuple[float, ...]


@dataclass(frozen=True)
class Sums:
    """A gradient, and the terms that add up to it: one for each read, at the drawn places of c."""

    values: tuple[float, ...]
    terms: tuple[float, ...]


@dataclass(frozen=True)
class Backward:
    """The result of the engine's backward. ``upstream`` is the gradient that arrives at c."""

    upstream: tuple[float, ...]
    sums: tuple[Sums, Sums]  # of a and of b


@dataclass(frozen=True)
class Refusal:
    """Why there is no c."""

    tried: str
    why: str
    mend: str
    axes: tuple[int, ...] = ()  # counted from the right, as -1, -2: those that clash


@dataclass(frozen=True)
class LabState:
    """What the lab shows. Before a prediction ``backward`` has not been computed."""

    shapes: tuple[Shape, Shape]
    op: str = "+"
    dtype: str = ""
    readings: tuple[Reading, ...] = ()  # a, b, c; nothing where the shapes do not fit
    refusal: Refusal | None = None
    upstream: str = "made up"
    backward: Backward | None = None
    locked: bool = True  # until a prediction is committed
    draft: str | None = None
    said: str | None = None  # the prediction, while its shapes are shown
    picked: str | None = None  # "a:3" is the fourth number of a
    message: str = ""


# Reading ---------------------------------------------------------------------------------------------------------


def operand(value: Any, step: int, name: str = "") -> Tensor:
    """A new float tensor from a shape, a tuple (filled with ``step``, 2 ``step``, …), or from numbers.

    A flat list of whole numbers could be meant as either, so it is refused. Raises `ArgumentError` for that and for
    what holds no numbers, and `ShapeError` for more than three axes or too many elements.
    """
    if isinstance(value, tuple) and not any(isinstance(item, (tuple, list)) for item in value):
        shape = _sizes(value, name)
        _allowed(shape, name)
        return wrap((np.arange(1, math.prod(shape) + 1) * float(step)).reshape(shape).astype(as_dtype(modes().dtype)))
    tried = _called(name, value)
    if isinstance(value, list) and value and all(map(_whole, value)):
        why = "it could be a shape, or numbers"
        raise ArgumentError(tried, why, f"write {tuple(value)} for the shape, or tensor({value}) for the numbers")
    try:
        given = as_tensor(value).detach()
    except EduError as error:
        raise ArgumentError(tried, error.why, "give a shape, such as (3, 1), or a tensor") from None
    _allowed(tuple(given.shape), name)
    return given.clone() if is_float(given.dtype) else given.to(modes().dtype)


def _whole(size: Any) -> bool:
    return isinstance(size, numbers.Integral) and not isinstance(size, bool)


def _called(name: str, value: Any) -> str:
    """``BroadcastLab(a=…)``; what was typed has no such name."""
    return f"BroadcastLab({name}={shown(value, 40)})" if name else f"the shape {shown(value, 40)}"


def _sizes(value: tuple[Any, ...], name: str) -> Shape:
    if not all(map(_whole, value)):
        why, mend = "a tuple is a shape, and its sizes are whole numbers", "write (3, 1), or give numbers as a tensor"
        raise ArgumentError(_called(name, value), why, mend)
    return tuple(map(int, value))


def _allowed(shape: Shape, name: str = "") -> None:
    tried = f"{name} with the shape {shape}" if name else f"the shape {shape}"
    if len(shape) > AXES:
        mend = "leave out axes, such as those of size 1, or take a part of a tensor: x[0]"
        raise ShapeError(tried, f"the lab draws up to {AXES} axes, and this has {len(shape)}", mend)
    if any(size < 0 for size in shape):
        raise ShapeError(tried, "an axis cannot have fewer than 0 elements", "use 0 or more")
    if math.prod(shape) > LARGEST:
        raise ShapeError(tried, f"it has {math.prod(shape)} elements", f"stay below {LARGEST}")


def parse_shape(text: Any) -> Shape:
    """The shape that ``3, 1``, ``(3, 1)``, ``3×1`` or ``()`` means. Raises `ShapeError` for anything else."""
    words = str(text).translate(str.maketrans("()[],×x", " " * 7)).split()
    if not all(word.isdecimal() and len(word) < 10 for word in words):
        raise ShapeError(f"the shape {str(text)[:20]!r}", "a shape is a list of sizes", "type sizes, such as 3, 1")
    shape = tuple(map(int, words))
    _allowed(shape)
    return shape


def known_op(op: Any) -> str:
    """The sign of an operation, given as its sign or PyTorch's name. Raises `ArgumentError` for an unknown one."""
    names = {call.__name__: sign for sign, call in OPS.items()}
    found = names.get(op, op) if isinstance(op, str) else ""
    if found not in OPS:
        raise ArgumentError(
            f"the operation op={shown(op, 40)}", "the lab does not have it", f"use one of {', '.join(OPS)}"
        )
    return found


def read(a: Tensor, b: Tensor, op: str) -> LabState:
    """The forward half: c, and how its places read a and b. If the shapes do not fit, the state holds a refusal."""
    shapes = (tuple(a.shape), tuple(b.shape))
    state = LabState(shapes, op)
    try:
        _not_too_large(*shapes)
        with no_grad():
            c = OPS[op](a, b)
    except ShapeError as error:
        return replace(state, refusal=Refusal(error.tried, error.why, error.mend, clashes(*shapes)))
    shown = plan(tuple(c.shape))
    readings = tuple(_reading(name, t, tuple(c.shape), shown) for name, t in (("a", a), ("b", b), ("c", c)))
    return replace(state, dtype=c.dtype.name, readings=readings)


def _not_too_large(a: Shape, b: Shape) -> None:
    shape = c_shape(a, b)
    if shape is not None and math.prod(shape) > LARGEST:
        why = f"c would have shape {shape}, {math.prod(shape)} elements"
        raise ShapeError(f"a {a} with b {b}", why, "make an axis shorter, or check that it should be stretched at all")


def _reading(name: str, tensor: Tensor, shape: Shape, shown: Plan) -> Reading:
    own, view = own_buffer(tensor), own_buffer(tensor.expand(shape))
    shared = not view.size or np.shares_memory(own, view)
    more = 0 if shared else int(view.nbytes)
    return Reading(name, tuple(own.shape), tuple(view.strides), int(own.nbytes), more, _values(view, shown))


def _values(array: Any, shown: Plan) -> tuple[float, ...]:
    filled = array[(None,) * (AXES - array.ndim)]
    return tuple(float(filled[place]) for place in places(shown))


def pattern(state: LabState) -> Any:
    """The first numbers of "made up": as many as c has."""
    return np.resize(np.array(PATTERN, dtype=float), math.prod(state.readings[2].shape))


def reveal(state: LabState, a: Tensor, b: Tensor, mine: Any = None) -> LabState:
    """The state with its backward half: the engine's gradients, and its gradient for every single read.

    ``mine`` is a flat array: the gradient that arrives at c if ``state.upstream`` is "made up".
    """
    if state.refusal or not state.readings:
        return replace(state, backward=None)
    shape = state.readings[2].shape
    shown = plan(shape)
    with enable_grad():
        leaves = [t.detach().requires_grad_() for t in (a, b)]
        c = OPS[state.op](*leaves)
        numbers = np.ones(c.numel()) if state.upstream == "ones" else pattern(state) if mine is None else mine
        g = wrap(numbers.reshape(shape).astype(c.dtype))
        found = grad(c, leaves, g)
        reads = [leaf.expand(shape) for leaf in leaves]  # with c's shape, so that no read is added to another
        terms = grad(OPS[state.op](*reads), reads, g)
        sums = [Sums(_values(own_buffer(f.expand(shape)), shown), _values(own_buffer(t), shown))
                for f, t in zip(found, terms, strict=True)]  # fmt: skip
    return replace(state, backward=Backward(_values(own_buffer(g), shown), (sums[0], sums[1])))


# Shapes ----------------------------------------------------------------------------------------------------------


def c_shape(a: Shape, b: Shape) -> Shape | None:
    """The shape that both are stretched to; None if they do not fit."""
    return None if clashes(a, b) else tuple(max(m, n) if 0 not in (m, n) else 0 for m, n in columns(a, b))


def columns(a: Shape, b: Shape) -> list[tuple[int, int]]:
    """The sizes that meet on each axis, aligned from the right; a missing axis counts as 1."""
    length = max(len(a), len(b))
    filled = ((1,) * (length - len(shape)) + shape for shape in (a, b))
    return list(zip(*filled, strict=True))


def clashes(a: Shape, b: Shape) -> tuple[int, ...]:
    """The axes, counted from the right, on which two shapes do not fit."""
    meeting = columns(a, b)
    return tuple(i - len(meeting) for i, (m, n) in enumerate(meeting) if m != n and 1 not in (m, n))


def plan(shape: Shape) -> Plan:
    """Which places of c are drawn, along three axes: all, or the first, a gap, and the last."""
    return tuple(_along(size, most) for size, most in zip(filled(shape), MOST, strict=True))


def _along(size: int, most: int) -> tuple[int | None, ...]:
    return tuple(range(size)) if size <= most else (*range(most - 2), None, size - 1)


def filled(shape: Shape) -> Place:
    """The shape with three axes: those that are missing count as 1."""
    one, two, three = (1,) * (AXES - len(shape)) + shape
    return one, two, three


def places(shown: Plan) -> list[Place]:
    """Every drawn place of c, in order."""
    return [(i, j, k) for i, j, k in itertools.product(*([i for i in axis if i is not None] for axis in shown))]


def stretched(shape: Shape, onto: Shape) -> tuple[int, ...]:
    """The axes of ``onto``, counted from the left, along which ``shape`` is read again."""
    lead = len(onto) - len(shape)
    return tuple(i for i, size in enumerate(onto) if size != 1 and (i < lead or shape[i - lead] == 1))


def source(shape: Shape, place: Place) -> Place:
    """The place of the number that is read at a place of c."""
    i, j, k = (0 if size == 1 else at for size, at in zip(filled(shape), place, strict=True))
    return i, j, k


def flat(shape: Shape, place: Place) -> int:
    """The position of that number in its tensor, counted row by row from 0."""
    position = 0
    for size, at in zip(filled(shape), place, strict=True):
        position = position * size + at
    return position


def index_text(name: str, shape: Shape, place: Sequence[int]) -> str:
    """``a[1, 0]``; the bare name for a single number."""
    return f"{name}[{', '.join(map(str, place[AXES - len(shape) :]))}]" if shape else name


def reads(state: LabState, which: int) -> int:
    """How often each number of a (0) or b (1) is read."""
    shape = state.readings[2].shape
    return math.prod(shape[i] for i in stretched(state.shapes[which], shape))


# Predicting and pointing -----------------------------------------------------------------------------------------


def choices(state: LabState) -> tuple[str, ...]:
    """The shapes to choose from: those shown, whichever is right, and that of a single number."""
    a, b = state.shapes
    offered = {state.readings[2].shape, a, b, a[::-1], (1, *a)[:AXES], (), (1,), (1, 1)}
    ranked = sorted(offered, key=lambda shape: (shape not in (state.readings[2].shape, a, b), len(shape), shape))
    return tuple(map(str, sorted(ranked[:3], key=lambda shape: (len(shape), shape))))


def draft(state: LabState, value: Any) -> LabState:
    """The state with an uncommitted prediction. Raises `IndexRangeError` for one that is not offered."""
    offered = choices(state) if state.readings else ()
    if str(value) not in offered:
        raise IndexRangeError(f"the prediction {value!r}", f"the choices are {', '.join(offered)}", "take one of these")
    return replace(state, draft=str(value), message="")


def point(state: LabState, key: str) -> LabState:
    """Point at one number, ``a:3``. Pointing at it again removes the mark."""
    name, _, position = key.partition(":")
    counts = {r.name: math.prod(r.shape) for r in state.readings if r.name != "c"}
    place = typed(f"point at {name or 'a number'}", position)
    if name not in counts:
        why = "a number of c comes from one of a and one of b"
        raise IndexRangeError(f"pointing at {name or 'a number'}", why, "point at one of those, to follow it into c")
    if not 0 <= place < counts[name]:
        why = f"{name} has {counts[name]} numbers, counted from 0"
        raise IndexRangeError(f"pointing at number {position} of {name}", why, "point at one of them")
    return replace(state, picked=None if state.picked == key else key, message="")


# The sums ----------------------------------------------------------------------------------------------------------


def lines(state: LabState, which: int, base: Place) -> list[list[float | None]]:
    """The terms of one number of a gradient, a line for each place along the axes before the last."""
    return [line for _, line in placed_lines(state, which, base)]


def placed_lines(state: LabState, which: int, base: Place) -> list[tuple[int | None, list[float | None]]]:
    """The same, each with its place along the first of three axes."""
    assert state.backward is not None
    shape = state.readings[2].shape
    shown, known = plan(shape), dict(zip(places(plan(shape)), state.backward.sums[which].terms, strict=True))
    again = {i + AXES - len(shape) for i in stretched(state.shapes[which], shape)}
    along = [shown[axis] if axis in again else (base[axis],) for axis in range(AXES)]
    found: list[tuple[int | None, list[float | None]]] = []
    for i, j in itertools.product(*along[:2]):
        gap = i is None or j is None
        line = [None if i is None or j is None or k is None else known[i, j, k] for k in along[2]]
        if not gap:
            found.append((i, line))
        elif not found or found[-1][1] != [None]:
            found.append((i, [None]))
    return found


def bases(state: LabState, which: int) -> list[Place]:
    """The drawn numbers of a or b, by their places."""
    shape = state.shapes[which]
    return list(dict.fromkeys(source(shape, place) for place in places(plan(state.readings[2].shape))))


def value_at(state: LabState, values: Sequence[float], place: Place) -> float:
    """The value at a drawn place of c."""
    return values[places(plan(state.readings[2].shape)).index(place)]


def picked_base(state: LabState) -> Place | None:
    """The place of the number pointed at, if it is drawn."""
    if state.picked is None:
        return None
    name, _, position = state.picked.partition(":")
    which = "ab".index(name)
    return next((b for b in bases(state, which) if flat(state.shapes[which], b) == int(position)), None)
