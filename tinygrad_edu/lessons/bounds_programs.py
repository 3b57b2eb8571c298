"""The programs of the lesson on what bounds code: points on springs, a chain, and batches that end with a remainder."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from ..common.wording import bytes_text, plural, ratio_with_spread, seconds_text, si
from ..compiler import TraceError, compile, cost_of, optimised, table, trace
from ..compiler.cost import calls_of
from ..compiler.ir import Equation, Program
from ..compiler.passes import ELEMENTWISE, VIEWS
from ..errors import ArgumentError
from ..nn import functional as F
from ..observe import roofline
from ..observe.timing import compare, measure
from ..tensor import Tensor
from ..tensor.creation import ones, zeros
from ..tensor.random import rand, seeded
from ..views.predict import Outcome
from ..views.roofline import CHOICES
from .bounds_recorded import crossed, machine_code, when
from .reasons import because

RATES = tuple(0.1 / (1 + step) for step in range(6))
SECONDS = 0.6  # for one comparison
ARITHMETIC = 100_000 * 6 * 3 / 1e9  # seconds for the program that crawls, at a billion operations a second
WAITING = "The tables of your function appear here, once both predictions are right."
SIZES = (100, 1_000, 10_000, 100_000, 1_000_000)  # of the array that is doubled
TIMES = 20  # that it is doubled, so that it is in the cache
CHAINED = 8_000_000  # numbers


def at_rest(numbers: int) -> tuple[Tensor, Tensor]:
    """Where so many points are at the beginning, and how fast they move."""
    return zeros(numbers), ones(numbers)


def swing(position: Tensor, velocity: Tensor, steps: int = 200) -> Tensor:
    """Points on springs: where they are after some steps, of six operations each."""
    for _ in range(steps):
        velocity = velocity - 0.01 * (position + 0.1 * velocity)
        position = position + 0.01 * velocity
    return position


def how_long(
    key: str, longest: dict[str, float], one: Callable[[], object], other: Callable[[], object], of: str
) -> Outcome:
    """How many times as long ``other`` takes, as a choice: the first of ``longest`` that is not exceeded.

    ``key`` names the reasons. What was measured is said after them, and that it is the time ``of`` so many steps.
    """
    found = compare(other, one, budget=SECONDS)
    choice = next(name for name, ratio in longest.items() if found.ratio <= ratio)
    times = f"{of}: {found.fast.text()}, then {found.slow.text()}: {ratio_with_spread(found.ratio, found.middle)}"
    runs = f"{len(found.ratios)} pairs, in turns, after {len(found.slow.warmups)} warm-ups"
    return Outcome(
        choice,
        f"{because(key, choice)} {times}, median (middle half).",
        f"{runs} · {found.conditions.text()}",
        "measured",
    )


def told(predicted: Any, run: Callable[[], object]) -> None:
    """Print a prediction in milliseconds beside what is measured. Without one, nothing runs."""
    if not isinstance(predicted, (int, float)) or isinstance(predicted, bool):
        print("Predict first: put a number of milliseconds in place of the dots.")
        return
    began = time.perf_counter()
    run()  # it is recorded here
    first = time.perf_counter() - began
    found = measure(run, budget=SECONDS)
    print(f"predicted: {predicted:g} ms")
    print(f"measured: {found.text()}, median (middle half) of {len(found.times)} runs after a warm-up")
    print(f"The first run, in which the program is made, took {seconds_text(first)}.")
    times = f"{found.median / ARITHMETIC:.0f} times the {seconds_text(ARITHMETIC)} computed for the arithmetic"
    print(f"That is still {times}: each operation is still a NumPy call.")
    took, first = machine_code()
    print(f"As machine code, instructions made for one processor, it took {seconds_text(took)}, the first run")
    print(f"{seconds_text(first)} (recorded on {when()}: AMD EPYC, backend='numba', which the course does not need).")


def crossing(guess: Any) -> None:
    """Print what limits ``x * 2`` at each of `SIZES`, and from how many numbers on it is bytes. Without a guess, none.

    Each is measured `TIMES` times in a row, so that its numbers are in the cache where they fit.
    """
    if not _number(guess):
        print("Guess first: put a number in place of the dots.")
        return
    tensors = [rand(size) for size in SIZES]

    def run() -> None:
        for x in tensors:
            for _ in range(TIMES):
                x * 2

    found = roofline.measured(run)
    limits = {point.flops: point for point in found.points}
    print(f"your guess: {guess:,.0f} numbers\n\n{'numbers':>9}  {'measured':>8}  {'computed: start':>15}  {'bytes':>8}")
    for size in SIZES:
        point = limits[size]
        needs = point.needs(found.peaks)
        told = (point.seconds, needs["start"], needs["bytes"])
        cells = [f"{seconds_text(one):>{wide}}" for one, wide in zip(told, (8, 15, 8), strict=True)]
        print(f"{size:>9,}  {'  '.join(cells)}  {CHOICES[point.bound(found.peaks)]}")
    print(f"\nComputed from both: bytes take longer than a start from about {crossed(found.peaks)}.")
    print(off(guess / found.peaks.crossing(8)))
    print("(Where one cost is not far larger, it is paid besides. A computed rate includes the fastest of these runs.)")
    assert found.conditions is not None
    print(f"medians of {plural(found.runs, 'run')} · {found.conditions.text()}")


def off(ratio: float) -> str:
    """How far a guess is from what was found."""
    if ratio <= 0:
        return "Your guess is no count: it is not above 0."
    times = max(ratio, 1 / ratio)
    if times <= 2:
        return "Your guess is right within a factor of 2."
    return f"Your guess is about {times:,.0f} times too {'large' if ratio > 1 else 'small'}."


def beside(guess: Any) -> None:
    """Print what is computed from the bytes of the chain, beside a guess in milliseconds and what is measured."""
    if not isinstance(guess, (tuple, list)) or len(guess) != 2 or not all(map(_number, guess)):
        print("Compute first: put two numbers of milliseconds in place of the dots, such as [90, 10].")
        return
    x, fast = rand(CHAINED), compile(chain)
    double = measure(lambda: x * 2, budget=SECONDS)
    found = compare(lambda: chain(x), lambda: fast(x), budget=2 * SECONDS)
    one = 2 * x.nbytes  # bytes that a single operation moves
    print(f"measured: x * 2 moves {bytes_text(one)} in {double.text()}, which is {si(one / double.median, 'B/s')}")
    for name, mine, nbytes, took in zip(
        ("as written", "compiled"), guess, moved(chain, x), (found.slow, found.fast), strict=True
    ):
        computed = seconds_text(double.median * nbytes / one)
        print(f"{name:10}  {bytes_text(nbytes):>7}  yours {mine:g} ms, computed {computed}, measured {took.text()}")
    print(f"medians (middle half), {plural(len(found.ratios), 'pair')} in turns")


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def merges(guess: Any, program: Program) -> None:
    """Judge a guess at the lines that become one kernel, and print the program as it is compiled."""
    if guess is ...:
        print("First write your guess in place of the dots, then run the cell.")
        return
    made = {str(one.outs[0]): one for one in program.equations}
    if not isinstance(guess, (list, tuple, set)) or not guess or not set(map(str, guess)) <= set(made):
        print(f"Give a list of lines, such as ['v1', 'v2']; there are {', '.join(made)}.")
        return
    said, compiled = set(map(str, guess)), optimised(program)
    kernel = max((one for one in compiled.equations if one.body), key=lambda one: len(one.body.equations))  # type: ignore[union-attr]
    assert kernel.body is not None
    right = {str(one.outs[0]) for one in kernel.body.equations}
    print("Right." if said == right else "Not quite.")
    shape = list(kernel.outs[0].shape)
    for name, one in made.items():
        if name not in right:
            print(f"  {name} stays out: {alone(one)}{f', not {shape}' if one.name in ELEMENTWISE else ''}.")
        elif name not in said:
            print(f"  {name} belongs to it: {one.name} works number by number, and its result is {shape}, too.")
    print(f"\n{compiled}")


def alone(equation: Equation) -> str:
    """Why an operation is a launch of its own: ``the result of div is [4, 1]``."""
    if equation.name == "power":
        return "this compiler merges no power"
    if equation.name not in ELEMENTWISE:
        return f"{equation.name} does not work number by number"
    shape = equation.outs[0].shape
    return f"the result of {equation.name} is {list(shape) if shape else 'a single number'}"


def miscounted(program: Program, before: int, after: int) -> str:
    """Which operation was counted wrongly, where so many were predicted as recorded and as launches; or nothing."""
    compiled = optimised(program)
    recorded, launched = cost_of(program).launches, cost_of(compiled).launches
    if before != recorded:
        names = [one.name for one in program.equations]
        sums, hints = [one.out for one in program.equations if one.name == "sum"], []
        if before < recorded and any(one.name == "div" and one.args[0] in sums for one in program.equations):
            hints.append("a mean is two: sum and div.")
        if before < recorded and len(optimised(program, ("fuse",)).equations) < len(names):
            hints.append("what is written twice is recorded twice, and computed once only when compiled.")
        if before > recorded and (views := sorted(set(names) & VIEWS)):
            hints.append(f"{views[0]} only looks at memory, and is none.")
        hints.append(f"it has {'more' if before < recorded else 'fewer'}. Each sign and each function is one.")
        return f"its recording does not have {before} operations: {hints[0]}"
    if after == launched:
        return ""
    told = f"not {after} launches are left: "
    singles = [one for one in compiled.equations if one.body is None and one.name not in VIEWS and one.name != "copy"]
    kernels = [one.body.equations for one in compiled.equations if one.body is not None]
    if after < launched:
        odd = next((one for one in singles if one.name not in ELEMENTWISE or one.outs[0].shape == ()), None)
        if odd is not None:
            return f"{told}{odd.outs[0]} is one by itself: {alone(odd)}."
        return f"{told}what does not work number by number parts those before it from those behind it."
    names = sorted({one.name for one in program.equations} - VIEWS)
    gone = next((name for name in names if _times(program, name) > _times(compiled, name)), "")
    if gone or not kernels:
        return f"{told}{gone} is computed less often than it is written: equal operations run once."
    one, other = (f"{part.name} ({part.outs[0]})" for part in max(kernels, key=len)[:2])
    return f"{told}{one} and {other} are in one kernel, since their results have one shape."


def _times(program: Program, name: str) -> int:
    """How often an operation is in a program, those of its kernels included."""
    parts = [part for one in program.equations for part in (one.body.equations if one.body else [one])]
    return sum(one.name == name for one in parts)


def tables(answer: Any) -> None:
    """Print both tables of a function, once both numbers are right: ``answer = (function, before, after)``."""
    if not isinstance(answer, (tuple, list)) or len(answer) != 3 or not callable(answer[0]):
        print(WAITING)
        return
    try:
        program = trace(answer[0], 0.5 * ones(1000))
    except TraceError:
        return  # the check says why
    compiled = optimised(program)
    if tuple(answer[1:]) != (cost_of(program).launches, cost_of(compiled).launches):
        print(WAITING)
        return
    print(f"as recorded:\n{table(program)}\n\nas compiled:\n{table(compiled)}")
    print("\nread, written: bytes moved; held: bytes that results occupy while the line runs.")


def chain(x: Tensor) -> Tensor:
    """Eight elementwise operations, one after the other."""
    return (-((x * 2 + 1).abs() - 3) * 0.5 + 1).abs()


def moved(function: Callable[..., Any], *tensors: Tensor) -> tuple[int, int]:
    """Bytes to and from memory: as it is written, and after the passes of the compiler."""
    program = trace(function, *tensors)
    return cost_of(program).moved, cost_of(optimised(program)).moved


def calls(function: Callable[..., Any], *tensors: Tensor) -> tuple[int, int]:
    """NumPy calls: as it is written, and after the passes of the compiler."""
    program = trace(function, *tensors)
    return calls_of(program), calls_of(optimised(program))


def launches(function: Callable[..., Any], *tensors: Tensor) -> tuple[int, int]:
    """Launches on a device: as it is written, and after the passes of the compiler."""
    program = trace(function, *tensors)
    return cost_of(program).launches, cost_of(optimised(program)).launches


def product(x: Tensor, w: Tensor) -> Tensor:
    """One product of matrices."""
    return x @ w


def scaled(x: Tensor, rate: Any) -> Tensor:
    """What is done to each batch. Rows of zeros add nothing to it."""
    return (x * rate).tanh().square().sum()


def batches(rows: int = 72, size: int = 16) -> list[Tensor]:
    """Batches of 16 rows, the last of which has only 8."""
    with seeded(0):
        x = rand(rows, 4)
    return list(x.split(size))


def programs(function: Callable[..., Any], calls: list[tuple[Any, ...]]) -> int:
    """How many programs are made for these calls."""
    compiled = compile(function)
    for given in calls:
        compiled(*given)
    return len(compiled.ledger)


def padded(x: Tensor, rows: int) -> Tensor:
    """The batch with rows of zeros below it, up to so many. Raises `ArgumentError` for fewer rows than it has."""
    if rows < len(x):
        why = "rows of the batch would be cut off"
        raise ArgumentError(f"padded(x, {rows}) of {len(x)} rows", why, f"use {len(x)} rows or more")
    return F.pad(x, (0, 0, 0, rows - len(x)))
