"""A program and the seams between its operations: which are closed, which were found to stay open, what that costs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...common.wording import shown
from ...compiler.cost import Cost, cost_of
from ...compiler.interpret import interpret
from ...compiler.ir import Equation, Program
from ...compiler.passes import ELEMENTWISE, VIEWS, kernel, optimised
from ...compiler.trace import trace
from ...errors import IndexRangeError
from ...nn import functional as F
from ...tensor import Tensor
from ...tensor.random import rand, seeded
from ..given import refusal

MOST = 16  # operations of a program
SIZES = tuple(1 << power for power in range(6, 23, 4))  # numbers in the first tensor of an example
ROW = 64  # of them in a row


def _gelu(x: Tensor) -> Tensor:
    return 0.5 * x * (1 + (0.8 * (x + 0.045 * x * x * x)).tanh())


def _scores(x: Tensor, w: Tensor) -> Tensor:
    return ((x @ w) * 0.5 + 1).relu()


def _rows(n: int) -> tuple[Tensor, ...]:
    return (rand(max(n // ROW, 1), ROW),)


EXAMPLES: dict[str, tuple[Callable[..., Any], Callable[[int], tuple[Tensor, ...]]]] = {
    "an activation": (_gelu, _rows),
    "softmax": (lambda x: F.softmax(x, 1), _rows),
    "rows to mean 0": (lambda x: (x - x.mean(1, keepdim=True)).tanh() * 2, _rows),
    "a layer": (_scores, lambda n: (*_rows(n), rand(ROW, ROW))),
}


@dataclass(frozen=True)
class Timing:
    """Median and middle half of the seconds of a run: as written, yours and the compiler's."""

    written: tuple[float, float, float]
    yours: tuple[float, float, float]
    compiler: tuple[float, float, float]
    runs: int
    conditions: str = ""


@dataclass(frozen=True, eq=False)
class FusionState:
    """A program, the seams that are closed, whether the compiler's choice is shown, and times once they are measured.

    Seam i is between operations i and i + 1. Which ones stay open is for the learner to find out: ``tried`` are those
    that were pressed in vain, and ``stuck`` is the one among them that was pressed last.
    """

    program: Program
    example: str  # of `EXAMPLES`; "" for a program of the user's
    numbers: int = 0  # of an example, the size
    closed: frozenset[int] = frozenset()
    tried: frozenset[int] = frozenset()
    stuck: int | None = None
    revealed: bool = False
    timing: Timing | None = None
    ask: str = ""

    @property
    def merged(self) -> bool:
        """Whether every seam is closed that can be."""
        return bool(self.closed) and self.closed == closable(self.program)

    @property
    def yours(self) -> Program:
        """The program with the learner's kernels."""
        return built(self.program, self.closed)

    @property
    def compiled(self) -> Program:
        """The compiler's, after all passes."""
        return optimised(self.program)

    @property
    def costs(self) -> dict[str, Cost]:
        """What is shown, by name."""
        found = {"as written": cost_of(self.program), "yours": cost_of(self.yours)}
        return {**found, "compiler": cost_of(self.compiled)} if self.revealed else found


def read(program: Program, example: str = "", numbers: int = 0, ask: str = "") -> FusionState:
    """The state for a program. Raises `ArgumentError` for one that is too long, or has nothing to merge."""
    if len(program.equations) > MOST:
        why = f"the recording has {len(program.equations)} operations, and {MOST} can be drawn"
        raise refusal("FusionBuilder", "function", None, why, "show a part of it")
    if not any(not barrier(program, seam) for seam in range(len(program.equations) - 1)):
        why = "no two neighbouring operations of the recording could be one kernel"
        raise refusal("FusionBuilder", "function", None, why, "give one with elementwise operations, such as x * 2 + 1")
    return FusionState(program, example, numbers, ask=ask)


def traced(example: str, numbers: int) -> tuple[Program, tuple[Any, ...]]:
    """The recording of an example, and its inputs as arrays."""
    function, make = EXAMPLES[example]
    with seeded(0):
        tensors = make(numbers)
    return trace(function, *tensors), tuple(one.array for one in tensors)


def chosen(state: FusionState, example: Any) -> FusionState:
    """Another example. Raises `IndexRangeError` for one that there is not."""
    if example not in EXAMPLES:
        mend = f"take one of {', '.join(EXAMPLES)}"
        raise IndexRangeError(f"the example {shown(example, 40)}", "there is no such one", mend)
    numbers = state.numbers or SIZES[2]
    return read(traced(example, numbers)[0], example, numbers, state.ask)


def resize(state: FusionState, numbers: Any) -> FusionState:
    """The same example with more numbers or fewer: the seams stay as they are."""
    if numbers not in SIZES or not state.example:
        mend = f"take one of {', '.join(map(str, SIZES))}"
        raise IndexRangeError(f"{shown(numbers, 40)} numbers", "there is no such size here", mend)
    return replace(state, program=traced(state.example, numbers)[0], numbers=numbers, timing=None)


def barrier(program: Program, seam: int) -> str:
    """Why two neighbours cannot be in one kernel; "" where they can."""
    pair = program.equations[seam : seam + 2]
    for one in pair:
        if one.name in VIEWS:
            return f"{one.name} only looks at memory in another way: it costs nothing"
        if one.name not in ELEMENTWISE:
            return f"{one.name} needs many numbers for one of its results: what goes number by number ends there"
    first, second = (one.outs[0].shape for one in pair)
    if first == ():
        return "a single number is not worth a kernel: the compiler leaves it alone"
    return "" if first == second else f"one goes over {list(first)}, the other over {list(second)}"


def press(state: FusionState, seam: Any) -> FusionState:
    """Close a seam, or open it again; one that stays open says so from now on. Raises `IndexRangeError` for no seam."""
    place = int(str(seam)) if str(seam).isdecimal() else -1
    if not 0 <= place < len(state.program.equations) - 1:
        raise IndexRangeError(f"the seam {shown(seam, 40)}", "there is no such one", "press one that is drawn")
    if barrier(state.program, place):
        return replace(state, tried=state.tried | {place}, stuck=place)
    return replace(state, closed=state.closed ^ {place}, stuck=None, timing=None)


def everything(state: FusionState) -> FusionState:
    """Close every seam that can be, so that all others stay open; or open all, where all of those are closed."""
    if state.merged:
        return replace(state, closed=frozenset(), stuck=None, timing=None)
    closed = closable(state.program)
    tried = frozenset(range(len(state.program.equations) - 1)) - closed
    return replace(state, closed=closed, tried=tried, stuck=None, timing=None)


def closable(program: Program) -> frozenset[int]:
    """The seams that can be closed."""
    return frozenset(i for i in range(len(program.equations) - 1) if not barrier(program, i))


def finish(state: FusionState, timing: Timing) -> FusionState:
    """Show times."""
    return replace(state, timing=timing, revealed=True)


def groups(program: Program, closed: frozenset[int]) -> list[list[Equation]]:
    """The operations of each kernel, in order."""
    found: list[list[Equation]] = []
    for place, equation in enumerate(program.equations):
        if place and place - 1 in closed:
            found[-1].append(equation)
        else:
            found.append([equation])
    return found


def built(program: Program, closed: frozenset[int]) -> Program:
    """The program with a kernel for each group. What others read of its results is written, the rest is not."""
    equations: list[Equation] = []
    for group in groups(program, closed):
        equations += kernel(group, program) if len(group) > 1 else group
    return Program(program.inputs, tuple(equations), program.outputs)


def handed_on(state: FusionState) -> tuple[int, int]:
    """Values that operations of a kernel hand on to each other: how many stay inside, and how many are written too."""
    inside = written = 0
    for one in state.yours.equations:
        if one.body is None:
            continue
        reads = {var for inner in one.body.equations for var in inner.reads}
        passed = {var for inner in one.body.equations for var in inner.outs} & reads
        written += len(passed & set(one.outs))
        inside += len(passed - set(one.outs))
    return inside, written


def agrees(state: FusionState, arrays: Sequence[Any]) -> bool:
    """Whether the learner's program gives the numbers of the one that was written."""
    pairs = zip(interpret(state.yours, *arrays), interpret(state.program, *arrays), strict=True)
    return all(np.array_equal(found, right, equal_nan=True) for found, right in pairs)


def elements(state: FusionState) -> int:
    """How many numbers the largest array has."""
    return max(math.prod(one.outs[0].shape) for one in state.program.equations)
