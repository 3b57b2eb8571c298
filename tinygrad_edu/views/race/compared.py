"""Do both functions of a race do the same? A race between two that do not says nothing about speed."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from collections.abc import Generator as Generating
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ...common.wording import first_line, plural, shape_text, shown
from ...errors import EduError
from ...observe.timing import arguments
from ...tips.counting import plain
from ..streams import streams_kept

TOLERANCE = 1e-4  # of the largest: the order of a sum changes float32 by about as much
NUMERIC = "biufc"
IDENTITY: Any = object.__eq__  # the comparison of a type that has none of its own
UNKNOWN = "which cannot be compared"


@dataclass(frozen=True)
class Agreement:
    """Whether both gave the same at one size. None if nothing could be compared; ``how`` says why, or how they differ.

    ``how`` is a clause, ``A gives 1, B gives 2``; "" if they agree.
    """

    same: bool | None
    how: str = ""


def agreement(slow: Callable[..., Any], fast: Callable[..., Any], make: Callable[[int], Any], size: int) -> Agreement:
    """Call both once with the same inputs and random numbers; compare what they return and what they write.

    The learner's own streams of random numbers are afterwards as they were.
    """
    with streams_kept() as begin:
        letter = "A"
        try:
            begin()
            given = arguments(make(size))
            before = _inputs(given)
            begin()
            one = _seen(slow(*given))
            after, letter = _inputs(given), "B"
            writes = difference(before, after)
            if writes or not given:  # without arguments, what they share is out of sight
                begin()
                given = arguments(make(size))
                if difference(before, _inputs(given)):
                    return Agreement(None, "A changes its inputs, and each call is given others: nothing to compare")
            begin()
            other = _seen(fast(*given))
        except (Exception, SystemExit) as error:  # after a race that went well: whatever it is, it is told
            told = error.sentence() if isinstance(error, EduError) else first_line(error)
            return Agreement(None, f"called once more, {letter} raised {told}".rstrip(".: "))
        return _judged(one, other, bool(writes), difference(after, _inputs(given)))


def _judged(one: Any, other: Any, writes: bool, written: str) -> Agreement:
    """The verdict on two results, and on what has been written to the inputs."""
    how = "" if one is other is None else difference(one, other)
    if how:
        return Agreement(None if UNKNOWN in how else False, how)
    if written:
        return Agreement(False, f"they leave their inputs different: {written}")
    if one is None and not writes:
        return Agreement(None, "neither returns a result, so only their times are compared")
    return Agreement(True)


def _seen(value: Any) -> Any:
    """A result as it is now: arrays are copied, and what has not run yet is closed."""
    if isinstance(value, (Generating, Coroutine)):
        value.close()
        return partial(_seen, type(value).__name__)  # stands for it, and equals nothing
    return plain(value)


def _inputs(given: tuple[Any, ...]) -> Any:
    """All inputs as they are now; a single one by itself, so that a difference is not told to be in item 0."""
    return plain(given[0] if len(given) == 1 else given)


def difference(a: Any, b: Any) -> str:
    """How two results differ, as a clause; "" if they hold the same.

    A list of numbers and an array with the same numbers are the same. Floats may differ by a ten-thousandth of the
    largest.
    """
    for letter, value in (("A", a), ("B", b)):
        if isinstance(value, partial):
            return f"{letter} gives a {value.args[0]}, and none of it has run"
    if a is b:
        return ""
    one, other = _array(a), _array(b)
    if one is not None and other is not None:
        return _different_numbers(one, other)
    if isinstance(a, dict) and isinstance(b, dict):
        if a.keys() != b.keys():
            return f"A has the keys {shown(list(a), 40)}, B {shown(list(b), 40)}"
        return next((f"at {shown(k, 20)}, {how}" for k in a if (how := difference(a[k], b[k]))), "")
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        if len(a) != len(b):
            return f"A gives {plural(len(a), 'item')}, B {plural(len(b), 'item')}"
        found = (difference(x, y) for x, y in zip(a, b, strict=True))
        return next((f"in item {i}, {how}" for i, how in enumerate(found) if how), "")
    return _different_objects(a, b)


def _array(value: Any) -> Any:
    """Numbers as an array; None for anything else."""
    numeric = isinstance(value, (int, float, complex, list, tuple)) or hasattr(value, "__array__")
    if not numeric:
        return None
    try:
        found = np.asarray(value)
    except (ValueError, TypeError, RuntimeError, OverflowError):  # rows of several lengths; another library's tensor
        return None
    return found if found.dtype.kind in NUMERIC and (found.size or hasattr(value, "__array__")) else None


def _different_numbers(a: Any, b: Any) -> str:
    if a.shape != b.shape:
        return f"A gives {_kind(a)}, B {_kind(b)}"
    exact = a.dtype.kind in "biu" and b.dtype.kind in "biu"
    x, y = (v if exact or v.dtype.kind == "c" else v.astype(np.float64) for v in (a, b))
    if exact:
        apart = np.asarray(x != y)
    else:
        steps = [8 * float(np.finfo(v.dtype).eps) for v in (a, b) if v.dtype.kind in "fc"]  # coarse in 16 bits
        largest = max(np.abs(v).max(initial=0.0, where=np.isfinite(v)) for v in (x, y))
        apart = ~np.isclose(x, y, rtol=0, atol=max(TOLERANCE, *steps) * largest, equal_nan=True)
    if not apart.any():
        return ""
    place = tuple(int(i) for i in np.argwhere(apart)[0]) if a.ndim else ()
    one, other = _told(a[place].item(), b[place].item())
    if not a.ndim:
        return f"A gives {one}, B gives {other}"
    where = ", ".join(map(str, place))
    first = f"the first, at [{where}], is {one} in A and {other} in B"
    return f"{int(apart.sum())} of {plural(a.size, 'number')} differ; {first}"


def _kind(array: Any) -> str:
    return f"an array {shape_text(array.shape)}" if array.ndim else "a single number"


def _told(a: Any, b: Any) -> tuple[str, str]:
    """Two numbers with as many digits as tell them apart."""
    if isinstance(a, (int, complex)) or isinstance(b, (int, complex)):
        return shown(a, 24), shown(b, 24)
    pairs = ((f"{a:.{digits}g}", f"{b:.{digits}g}") for digits in range(3, 18))
    one, other = next((pair for pair in pairs if pair[0] != pair[1]), (repr(a), repr(b)))
    return one.replace("-", "−"), other.replace("-", "−")


def _different_objects(a: Any, b: Any) -> str:
    kinds = " and ".join(dict.fromkeys(type(value).__name__ for value in (a, b)))
    if type(a) is type(b) and type(a).__eq__ is IDENTITY:
        return f"they give a {kinds}, {UNKNOWN}"
    try:
        equal = bool(a == b)
    except Exception:  # anybody's __eq__
        return f"they give a {kinds}, {UNKNOWN}"
    told = ["nothing" if value is None else shown(value, 40) for value in (a, b)]
    return "" if equal else f"A gives {told[0]}, B gives {told[1]}"
