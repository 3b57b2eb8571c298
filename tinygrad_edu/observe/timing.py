"""Time one function, two side by side, or two over a range of sizes, in a way that you can believe.

Why these statistics? Noise on a computer only ever adds time, and it comes in spells. So the two functions take turns:
a spell falls on both of a pair and cancels in their ratio, and the median ignores the few pairs that it hits unequally.
(`timeit` advises the least time, which nobody gets in daily use; means and standard deviations, as in pyperf and
hyperfine, follow the few slow runs.) The interval is that of the sign test. It assumes no shape of the distribution,
and is exact even for few pairs, where a bootstrap claims differences that do not exist.
"""

from __future__ import annotations

import gc
import inspect
import itertools
import math
import numbers
import operator
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ..common.lines import describe_line, failing_line, user_line
from ..common.wording import said
from ..errors import ArgumentError, TimingError
from .machine import RESOLUTION, Conditions, Progress, quiet
from .results import Comparison, Sweep, Timing
from .stopping import Stopped

__all__ = ["Comparison", "Conditions", "Sweep", "Timing", "compare", "measure", "sweep"]

Function = Callable[..., object]

FEWEST, LEAST, MOST = 4, 6, 60  # repeats, if the budget decides: LEAST may take twice the budget, FEWEST any time
ENOUGH = 50e-6  # seconds for one reading of the clock: then the clock itself is less than a thousandth of it
WARM = 0.25  # the part of the budget after which no warm-up begins
MANY = 2**16  # loops, for a function too fast for any clock

DEFERRED = (inspect.isgeneratorfunction, inspect.iscoroutinefunction, inspect.isasyncgenfunction)

_clock = time.perf_counter


def measure(
    function: Function, *, setup: Callable[[], Any] | None = None, repeats: int | None = None, warmup: int = 3,
    budget: float = 1.0, progress: Progress | None = None,
) -> Timing:  # fmt: skip
    """Time ``function()``, ``repeats`` times after ``warmup`` calls, or as often as ``budget`` seconds allow (6 to 60).

    Calls that are too slow for that are repeated four times, after fewer warm-ups.

    Fast functions are called several times in a row, until that takes 50 µs; `Timing.loops` says how often. For a
    function that changes its inputs, ``setup()`` is called before every call, outside the timing, and returns a tuple
    of arguments, one argument, or None; loops are then 1. With ``warmup=0`` the very first call counts as a repeat.

    ``progress(done, total, seconds_left)`` is called between repeats. If it returns False, the result is what was
    measured until then. Raises `ArgumentError` for arguments that do not fit, and `TimingError`, chained, if the
    function raises.
    """
    check_arguments({"function": function}, setup, repeats, warmup, budget, progress)
    runner = _Runner(name_of(function), function, setup)
    with quiet(progress):
        _run([runner], repeats, warmup, budget, progress)
    if not runner.times:
        raise _nothing_measured(f"measure({runner.name})")
    return runner.timing()


def compare(
    slow: Function, fast: Function, *, setup: Callable[[], Any] | None = None, repeats: int | None = None,
    warmup: int = 3, budget: float = 2.0, progress: Progress | None = None, names: Sequence[str] = ("slow", "fast"),
    threads: int | None = 1,
) -> Comparison:  # fmt: skip
    """Time ``slow()`` and ``fast()`` in turns, and say which is faster, and by how much.

    The one that begins changes from pair to pair. ``budget`` is for both together. BLAS has so many ``threads``; with
    None, as many as it had. Everything else is as in `measure`.
    """
    check_arguments({"slow": slow, "fast": fast}, setup, repeats, warmup, budget, progress)
    check_names(names)
    with quiet(progress, threads) as conditions:
        found = _compare((slow, fast), names, conditions, setup, repeats, warmup, budget, progress)
    if found is None:
        raise _nothing_measured(f"compare({', '.join(names)})")
    return found


def sweep(
    slow: Function, fast: Function, sizes: Sequence[int], *, make: Callable[[int], Any], fresh: bool = False,
    repeats: int | None = None, warmup: int = 3, budget: float = 4.0, progress: Progress | None = None,
    names: Sequence[str] = ("slow", "fast"),
) -> Sweep:  # fmt: skip
    """Compare ``slow(make(size))`` with ``fast(make(size))`` at each of ``sizes``, which ascend.

    ``make`` returns a tuple of arguments, one argument, or None. It is called once for each size, or, if ``fresh``,
    before every call. ``budget`` is for all sizes together: larger ones get what small ones leave. ``progress``
    is called between repeats and counts sizes, or the repeats if there is only one size.
    """
    check_arguments({"slow": slow, "fast": fast, "make": make}, None, repeats, warmup, budget, progress)
    check_names(names)
    sizes = checked_sizes(sizes)
    end = _clock() + budget
    done: list[Comparison] = []
    with quiet(progress) as conditions:
        for i, size in enumerate(sizes):
            share = max((end - _clock()) / (len(sizes) - i), RESOLUTION)
            again = partial(make, size) if fresh else None
            try:
                inputs = () if fresh else arguments(make(size))
            except Exception as error:
                raise _raised(f"make({size})", f"make({size})", error) from error
            pair = partial(slow, *inputs), partial(fast, *inputs)
            counting = _counting(progress, i, len(sizes), end) if progress and len(sizes) > 1 else progress
            one = _compare(pair, names, conditions, again, repeats, warmup, share, counting)
            done += [] if one is None else [one]
            if one is None or one.stopped:
                break
    if not done:
        raise _nothing_measured(f"sweep({', '.join(names)})")
    return Sweep(sizes[: len(done)], tuple(done), stopped=len(done) < len(sizes) or done[-1].stopped)


def _counting(progress: Progress, place: int, total: int, end: float) -> Progress:
    """Progress that counts sizes instead of repeats."""
    return lambda _, __, left: progress(place, total, max(left, end - _clock()))


def name_of(function: Any) -> str:
    """The name to show for a function."""
    return getattr(function, "__name__", type(function).__name__)


def arguments(value: Any) -> tuple[Any, ...]:
    """The result of ``setup`` or ``make`` as arguments: a tuple of them, a single one, or none."""
    return value if isinstance(value, tuple) else () if value is None else (value,)


# How it is measured ----------------------------------------------------------------------------------------------


class _Runner:
    """A function, and the times of its calls so far."""

    def __init__(self, name: str, function: Function, setup: Callable[[], Any] | None) -> None:
        self.name, self.function, self.setup = name, function, setup
        self.warmups: list[float] = []
        self.times: list[float] = []
        self.loops = 1

    def seconds(self, when: str) -> float:
        """Seconds per call, over as many calls as there are loops."""
        function = self.function
        if self.setup is not None:
            try:
                function = partial(function, *arguments(self.setup()))
            except Exception as error:
                raise _raised(f"inputs of {self.name}, {when}", "what makes them", error) from error
        rounds = itertools.repeat(None, self.loops)
        gc.collect(0)  # only recent objects: older ones have been looked through before
        try:
            start = _clock()
            for _ in rounds:
                function()
            end = _clock()
        except (Exception, SystemExit) as error:
            raise _raised(f"timing {self.name}, {when}", self.name, error) from error
        return max(end - start, RESOLUTION) / self.loops

    def choose_loops(self) -> None:
        """Double the loops until a reading of the clock covers enough time."""
        if self.setup is not None:
            return
        when = "while its loops were chosen"
        covered = self.warmups[-1] if self.warmups else self.seconds(when)
        while covered < ENOUGH and self.loops < MANY:
            self.loops *= 2
            covered = self.seconds(when) * self.loops

    def timing(self) -> Timing:
        return Timing(self.name, tuple(self.times), tuple(self.warmups), self.loops)


def _compare(
    functions: Sequence[Function], names: Sequence[str], conditions: Conditions, setup: Callable[[], Any] | None,
    repeats: int | None, warmup: int, budget: float, progress: Progress | None,
) -> Comparison | None:  # fmt: skip
    """The comparison, or None if it was stopped before there was one pair."""
    pair = [_Runner(name, function, setup) for name, function in zip(names, functions, strict=True)]
    stopped = _run(pair, repeats, warmup, budget, progress)
    slow, fast = (one.timing() for one in pair)
    if not fast.times:
        return None
    return Comparison(slow, fast, tuple(map(operator.truediv, slow.times, fast.times)), conditions, stopped)


def _run(
    runners: Sequence[_Runner], repeats: int | None, warmup: int, budget: float, progress: Progress | None
) -> bool:
    """Fill the runners with times, in turn. Returns whether it was stopped."""
    begin, most = _clock(), repeats or MOST

    def spent() -> float:
        """How many budgets."""
        return (_clock() - begin) / budget if repeats is None else 0.0

    def stop(done: int, pace: float) -> bool:
        total = most
        if repeats is None and pace:
            once, twice = (done + int((limit - spent()) * budget / pace) for limit in (1, 2))
            total = min(most, max(once, min(LEAST, twice), FEWEST, done))
        return progress is not None and progress(done, total, (total - done) * pace or budget) is False

    try:
        for i in range(warmup):
            if i and spent() > WARM:
                break
            if stop(0, 0.0):
                return True
            for one in _turn(runners, i):
                one.warmups.append(one.seconds(f"in warm-up {i + 1}"))
        for one in runners:
            if not warmup:
                one.times.append(one.seconds("at repeat 1"))
            one.choose_loops()
        first = done = len(runners[0].times)
        start = _clock()
        while done < most and (spent() < 1 or (done < LEAST and spent() < 2) or done < FEWEST):
            if stop(done, (_clock() - start) / max(done - first, 1)):
                return True
            for one in _turn(runners, done):
                one.times.append(one.seconds(f"at repeat {done + 1}"))
            done += 1
    except Stopped:  # in the middle of a call: what was measured before it is kept
        even = min(len(one.times) for one in runners)
        for one in runners:
            del one.times[even:]
        return True
    if progress is not None:
        progress(done, done, 0.0)
    return False


def _turn(runners: Sequence[_Runner], place: int) -> Sequence[_Runner]:
    """The one that begins changes every time, so none is always first."""
    return runners if place % 2 == 0 else runners[::-1]


# What cannot be --------------------------------------------------------------------------------------------------


def _raised(tried: str, name: str, error: BaseException) -> TimingError:
    mend = f"call {name} by itself first, with the same arguments"
    return TimingError(tried, f"it raised {said(error)}", mend, _line_of(error))


def _line_of(error: BaseException) -> str:
    """The line in the function that was called; if that is not Python code, the line that asked for the timing."""
    return describe_line(failing_line(error) or user_line())


def _nothing_measured(tried: str) -> TimingError:
    why, mend = "it was stopped before the first repeat was done", "let it run until `done` is 1"
    return TimingError(tried, why, mend)


def check_arguments(
    functions: dict[str, Any], setup: Any, repeats: int | None, warmup: int, budget: float, progress: Any
) -> None:
    """Raise `ArgumentError` for something that cannot be timed."""
    for name, function in {**functions, "setup": setup, "progress": progress}.items():
        if not callable(function) and (function is not None or name in functions):
            raise _refusal(f"{name}={function!r}", "it cannot be called", "give a function, such as a lambda")
        if name in functions and any(kind(function) for kind in DEFERRED):
            why = "calling it only makes a generator or a coroutine, and runs nothing"
            run = "asyncio.run" if inspect.iscoroutinefunction(function) else "list"
            mend = f"time what runs it: lambda: {run}({name_of(function)}())"
            raise _refusal(f"{name}={name_of(function)}", why, mend)
    if repeats is not None and not (_whole(repeats) and repeats >= 3):
        why = "fewer than three repeats show no spread"
        raise _refusal(f"repeats={repeats!r}", why, "give a whole number from 3 up, or None")
    if not (_whole(warmup) and warmup >= 0):
        raise _refusal(f"warmup={warmup!r}", "it counts calls", "give a whole number from 0 up")
    if not (isinstance(budget, numbers.Real) and 0 < budget < math.inf):
        raise _refusal(f"budget={budget!r}", "it is seconds to spend", "give a number above 0")


def check_names(names: Any) -> None:
    """Raise `ArgumentError` unless there are two names."""
    two = isinstance(names, (tuple, list)) and len(names) == 2
    if not two or not all(isinstance(name, str) and name for name in names):
        raise _refusal(f"names={names!r}", "there are two functions to name", 'give two, such as ("loop", "dot")')


def checked_sizes(given: Any) -> tuple[int, ...]:
    """The sizes as whole numbers. Raises `ArgumentError` unless they ascend from 1 or more."""
    try:
        sizes = tuple(given)
    except TypeError:  # a single one, or a 0-d array
        sizes = (given,)
    if not sizes:
        raise _refusal(f"sizes={sizes}", "there is no size to measure", "give some, such as (10, 100, 1000)")
    if not all(_whole(size) and size > 0 for size in sizes):
        raise _refusal(f"sizes={sizes}", "a size is a count, at least 1", "give whole numbers from 1 up")
    if any(low >= high for low, high in itertools.pairwise(sizes)):
        mend = f"write {tuple(sorted(set(sizes)))}"
        raise _refusal(f"sizes={sizes}", "sizes must ascend, each of them once", mend)
    return tuple(map(int, sizes))


def _whole(value: Any) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def _refusal(given: str, why: str, mend: str) -> ArgumentError:
    return ArgumentError(f"timing with {given}", why, mend)
