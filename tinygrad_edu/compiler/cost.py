"""What a program asks of a machine: launches, arithmetic, bytes moved, bytes allocated, and the most held at once.

All of it is known from shapes alone, before anything runs. An equation is one launch, and so is a kernel, whatever its
body has: a device starts it once. The CPU makes a NumPy call for each operation of a kernel instead. Each equation
reads its operands once and writes its results once; a view costs nothing.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ..backends.cpu import is_basic
from ..common.wording import bytes_text, plural, seconds_text, si
from .interpret import function_of, run_equation
from .ir import Equation, Program, Var, substitute, variables
from .passes import POINTWISE, VIEWS

MADE = frozenset("zeros_like ones_like".split())  # of a shape: they read nothing
ADDED = frozenset("sum prod amax amin argmax argmin any all cumsum cumprod scatter_add col2im".split())
ARITHMETIC = POINTWISE - {"astype", "where"}
GATHERS = frozenset("getitem take_along_axis".split())  # they read what they hand on, and where that is
RUNS = 5  # of each equation, when it is timed


class Cost(NamedTuple):
    """Launches, operations on numbers, bytes read and written, bytes allocated, and the most of those held at once."""

    launches: int = 0
    flops: int = 0
    read: int = 0
    written: int = 0
    allocated: int = 0
    peak: int = 0

    @property
    def moved(self) -> int:
        """Bytes that go between memory and processor."""
        return self.read + self.written


class Row(NamedTuple):
    """An equation, what it costs, and the seconds that it took where it was timed (the median)."""

    equation: Equation
    cost: Cost
    seconds: float | None = None


def cost_of(program: Program) -> Cost:
    """What the whole program costs. Its inputs are there already; results of all equations count as allocated.

    >>> import tinygrad_edu as tg
    >>> from tinygrad_edu.compiler import cost_of, optimised, trace
    >>> program = trace(lambda x: (x * 2 + 1).exp(), tg.ones(1000))
    >>> cost_of(program).launches, cost_of(optimised(program)).launches
    (3, 1)
    """
    parts = [row.cost for row in rows(program)]
    whole = Cost(*[sum(column) for column in zip(*parts, strict=True)]) if parts else Cost()
    return whole._replace(peak=max((one.peak for one in parts), default=0))


def rows(program: Program, *arrays: Any) -> list[Row]:
    """Each equation with its cost; ``peak`` is what is held while it runs. With ``arrays`` as inputs they are timed."""
    layout = _Layout(program)
    seconds = _timed(program, arrays) if arrays or not program.inputs else [None] * len(program.equations)
    costs = _held([layout.cost(one) for one in program.equations], program, layout)
    return [Row(*parts) for parts in zip(program.equations, costs, seconds, strict=True)]


def table(program: Program, *arrays: Any) -> str:
    """The rows in columns, for people: operations, bytes read, written and allocated, and time where it is measured.

    The last line adds them up. Launches are what a device starts, NumPy calls what the CPU makes in their place: one
    for each operation, on an array that is not cut into strips.
    """
    found = rows(program, *arrays)
    timed = [row.seconds for row in found if row.seconds is not None]
    lines = [_cells(str(row.equation).split("\n")[0], row.cost, row.seconds) for row in found]
    count, calls = cost_of(program).launches, calls_of(program)
    counted = f"{count} launch{'es' * (count != 1)}, {plural(calls, 'NumPy call')}"
    total = _cells(counted, cost_of(program), sum(timed) if timed else None)
    head = ["equation", "flops", "read", "written", "held", *(["time"] if timed else [])]
    return "\n".join(_aligned([head, *lines, total]))


def calls_of(program: Program) -> int:
    """How often NumPy is called for it, on arrays that are not cut into strips: once for each operation, but for views.

    >>> import tinygrad_edu as tg
    >>> from tinygrad_edu.compiler import optimised, trace
    >>> calls_of(optimised(trace(lambda x: (x * 2 + 1).exp(), tg.ones(1000))))
    3
    """
    layout = _Layout(program)
    launched = [one for one in program.equations if layout.cost(one).launches]
    return sum(1 if one.body is None else len(one.body.equations) for one in launched)


class _Layout:
    """Which memory each variable shows, and how: found with arrays of the same strides that hold nothing."""

    def __init__(self, program: Program) -> None:
        self.array: dict[Var, Any] = {}
        self.root: dict[Var, Var] = {}
        for var in program.inputs:
            self._new(var)
        for equation in program.equations:
            if not self._view(equation):
                for out in equation.outs:
                    self._new(out)

    def _new(self, var: Var) -> None:
        steps = np.cumprod([1, *var.shape[:0:-1]])[::-1] * var.dtype.itemsize if var.shape else ()
        self.array[var], self.root[var] = as_strided(np.empty(1, var.dtype), var.shape, tuple(map(int, steps))), var

    def _view(self, equation: Equation) -> bool:
        """Note a result that looks at the memory of its operand. False for all others."""
        name, args = equation.name, equation.args
        if equation.body is not None or name not in {*VIEWS, "contiguous"} or not isinstance(args[0], Var):
            return False
        if variables(args[1:]) or (name == "getitem" and not is_basic(args[1])):
            return False
        source = self.array[args[0]]
        if name == "contiguous":
            found = source if source.flags.c_contiguous else None
        elif name == "reshape":
            found = _reshaped(source, args[1])
        else:
            found = function_of(equation)(source, *args[1:])
        if found is None:
            return False
        self.array[equation.out], self.root[equation.out] = found, self.root[args[0]]
        return True

    def is_view(self, equation: Equation) -> bool:
        """Whether it only looks at memory that is there."""
        return equation.body is None and self.root[equation.outs[0]] is not equation.outs[0]

    def cost(self, equation: Equation) -> Cost:
        """What one equation costs; of its peak, only its own results."""
        constant = equation.name == "copy" and not equation.reads
        if self.is_view(equation) or constant:
            return Cost()
        operands = set() if equation.name in MADE else set(equation.reads)
        reads = {var: min(_bytes(var), _bytes(self.root[var])) for var in operands}  # one row, stretched, is one row
        if equation.name in GATHERS:
            reads[equation.args[0]] = min(_bytes(equation.out), reads[equation.args[0]])
        read = sum(reads.values()) + sum(one.nbytes for one in _constants(equation.args))
        written = sum(map(_bytes, equation.outs))
        flops = sum(map(flops_of, equation.body.equations)) if equation.body is not None else flops_of(equation)
        return Cost(1, flops, read, written, written)


def flops_of(equation: Equation) -> int:
    """Operations on numbers: one for each element of an elementwise result, one for each that a reduction takes in.

    A multiplication and the addition after it are two, so a product of (m, k) and (k, n) matrices has 2·m·k·n.
    """
    name, args, out = equation.name, equation.args, equation.outs[0]
    size = math.prod(out.shape)
    shapes: list[tuple[int, ...]] = [getattr(one, "shape", ()) for one in args]
    if name == "matmul":
        return 2 * size * shapes[0][-1]
    if name == "einsum":
        first, second = args[0].partition("->")[0].split(",")
        return 2 * math.prod(dict([*zip(first, shapes[1], strict=True), *zip(second, shapes[2], strict=True)]).values())
    if name == "conv":
        return 2 * size * math.prod(shapes[1][1:])
    if name == "conv_input":
        return 2 * math.prod(shapes[0]) * math.prod(shapes[1][1:])
    if name == "conv_kernel":
        return 2 * math.prod(shapes[1]) * math.prod(out.shape[1:])
    if name in ADDED:
        values = args[2] if name == "scatter_add" else args[0]
        return math.prod(getattr(values, "shape", ()))
    return size if name in ARITHMETIC else 0


def _held(costs: list[Cost], program: Program, layout: _Layout) -> list[Cost]:
    """The costs with what is held while each equation runs: results that somebody still reads, and its own."""
    last = {layout.root[var]: i for i, one in enumerate(program.equations) for var in one.reads}
    last |= {layout.root[var]: len(costs) for var in program.outputs}
    inputs, live, found = set(program.inputs), dict[Var, int](), []
    for i, (equation, cost) in enumerate(zip(program.equations, costs, strict=True)):
        if cost.launches:
            live |= {out: _bytes(out) for out in equation.outs}
        found.append(cost._replace(peak=sum(live.values())))
        gone = {layout.root[var] for var in (*equation.reads, *equation.outs)} - inputs
        for var in gone:
            if last.get(var, i) <= i:
                live.pop(var, None)
    return found


def _timed(program: Program, arrays: tuple[Any, ...]) -> list[float]:
    """Seconds of each equation: the median of some runs, one equation after the other."""
    taken: list[list[float]] = []
    for _ in range(RUNS):
        values = dict(zip(program.inputs, arrays, strict=True))
        once = []
        for equation in program.equations:
            given = substitute(equation.args, values.__getitem__)
            start = time.perf_counter()
            found = run_equation(equation, given)
            once.append(time.perf_counter() - start)
            values.update(zip(equation.outs, found, strict=True))
        taken.append(once)
    return [float(np.median(one)) for one in zip(*taken, strict=True)]


def _constants(tree: Any) -> Iterator[Any]:
    """The arrays that were there before the program."""
    for one in tree:
        if isinstance(one, tuple):
            yield from _constants(one)
        elif isinstance(one, np.ndarray):
            yield one


def _reshaped(array: Any, shape: tuple[int, ...]) -> Any:
    try:
        return array.reshape(shape, copy=False)
    except ValueError:  # the elements do not lie as that would need
        return None


def _bytes(var: Var) -> int:
    return math.prod(var.shape) * var.dtype.itemsize


def _cells(name: str, cost: Cost, seconds: float | None) -> list[str]:
    flops = str(cost.flops) if cost.flops < 1000 else si(cost.flops, "").strip()
    cells = [name, flops, *map(bytes_text, (cost.read, cost.written, cost.peak))]
    return cells if seconds is None else [*cells, seconds_text(seconds)]


def _aligned(lines: list[list[str]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for first, *rest in lines:
        yield "  ".join([first.ljust(widths[0]), *(c.rjust(w) for c, w in zip(rest, widths[1:], strict=True))])
