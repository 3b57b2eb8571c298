"""A whole program over small arrays as one function of loops, by Numba: there, calls of NumPy take longer than numbers.

Each array is flat memory. A variable has a `Place`: a name, an offset, and for each axis how many elements apart two
neighbours lie; so a view is another place, and no work. Loops of the same text are compiled once. What has none, such
as a sort, leaves the whole program to `numpy_code`: `loops` gives None.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import numpy as np

from ..backends.cpu import is_basic
from ..common.lines import Line
from .cost import calls_of
from .interpret import function_of
from .ir import Equation, Program, Var, variables
from .numba_code import FORMS, KINDS, expression, machine_code
from .numpy_code import Code
from .passes import ELEMENTWISE, FILLED, REDUCTIONS, VIEWS, roots
from .source import Origin, named

LEAST_CALLS = 8  # of NumPy: fewer cost little more than the call of the loops itself
MOST_ADDED = 1 << 17  # multiplications in a product: more are quicker by the library for matrices
MOST_ELEMENTS = 1 << 14  # of an equation, on average: NumPy's calls are a small part of more
MOST_NESTS = 100  # of loops, which take a fifth of a second each to compile
COMPARED = 8  # pairs of arrays in a nest: LLVM gives up computing several numbers at once where there are more
LOOKED_AT = 24  # operations
AHEAD = 4  # rows of the second matrix of a product that are added up at once
ROWS = 4  # of the first that each of those numbers is used for at once
LANES = 8  # numbers that machine code computes at once
_COMBINED = {"sum": "{0} + {1}", "prod": "{0} * {1}", "amax": FORMS["maximum"], "amin": FORMS["minimum"]}


class NoLoop(Exception):
    """Something has no loop here."""


@dataclass(frozen=True)
class Place:
    """Where the elements of an array lie: in the memory of this name, from ``offset`` on, so many elements apart."""

    memory: str
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def in_order(self) -> bool:
        """Whether they lie row by row."""
        return self.strides == _row_by_row(self.shape)

    @property
    def lowest(self) -> int:
        """Its first element in memory."""
        return self.offset + sum(min(0, (n - 1) * step) for n, step in zip(self.shape, self.strides, strict=True))

    @property
    def start(self) -> int:
        """How far from there its first index lies."""
        return self.offset - self.lowest

    @property
    def span(self) -> int:
        """How many elements of the memory lie from its first to its last."""
        return 1 + sum(abs((n - 1) * step) for n, step in zip(self.shape, self.strides, strict=True))

    def stretched(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The strides with which it has this shape, which it is broadcast to."""
        missing = len(shape) - len(self.shape)
        own = [0 if n == 1 else step for n, step in zip(self.shape, self.strides, strict=True)]
        return (*[0] * missing, *own)


def loops(
    program: Program, into: Mapping[int, tuple[str, int]], line_of: Mapping[Var, Line] | None = None, jit: bool = True
) -> Loops | None:
    """The program as loops; None where it has none, or where they would not pay.

    Without ``jit`` they are Python, which is slow, and means the same.
    """
    elements = sum(math.prod(out.shape) for one in program.equations for out in one.outs)
    if calls_of(program) < LEAST_CALLS or elements > MOST_ELEMENTS * len(program.equations):
        return None
    try:
        return Loops(program, dict(into), line_of or {}, jit)
    except NoLoop:
        return None


class Loops:
    """A generated function with its source, as `numpy_code.Code` is."""

    calls = 1

    def __init__(
        self, program: Program, into: dict[int, tuple[str, int]], line_of: Mapping[Var, Line], jit: bool
    ) -> None:
        self.program, self.into, self.origin = program, into, Origin(line_of)
        self.fallbacks: list[str] = []
        self.kernels: list[Any] = []
        writer = _Writer(program, into, self.origin)
        self.source = writer.source
        self.slabs: list[Any] = [np.zeros(size, kind) for kind, size in writer.sizes.items()]
        self._plain: Code | None = None
        nests = {name: machine_code(text, free, jit, inner=True) for text, (name, free) in writer.nests.items()}
        memories = {_memory(kind): slab for kind, slab in zip(writer.sizes, self.slabs, strict=True)}
        main = machine_code(writer.main, False, jit, nests)
        space = {"main": main, "steps": writer.table(), "empty": np.empty, "plainly": self._plainly}
        space |= {**memories, **writer.constants}
        exec(compile(writer.source, named(writer.source, self), "exec"), space)
        self.run: Callable[..., Any] = space["run"]

    @property
    def buffer_bytes(self) -> int:
        """The memory that it keeps from call to call."""
        return sum(slab.nbytes for slab in self.slabs)

    def _plainly(self, *arrays: Any) -> Any:
        """By NumPy: where memory that is written lies in another way, or an index is beyond, which NumPy tells best."""
        if self._plain is None:
            self._plain = Code(self.program, self.into)
        return self._plain.run(*arrays)


class _Writer:
    """Writes functions of one nest of loops each, ``main``, which goes through a table of them, and ``run`` around it.

    A row of the table says which nest, and where each of its operands begins. So the same loops for another step of a
    recurrent network are another row, and no code: Numba and LLVM take seconds for some hundred calls.
    """

    def __init__(self, program: Program, into: dict[int, tuple[str, int]], origin: Origin) -> None:
        self.program, self.into = program, into
        self.place: dict[Var, Place] = {}
        self.sizes: dict[np.dtype[Any], int] = {}  # elements of the memory that is kept, by dtype
        self.free: dict[tuple[np.dtype[Any], int], list[Place]] = {}
        self.own: dict[Var, Place] = {}  # memory that is given back after the last use
        self.root = roots(program)
        self.nests: dict[str, tuple[str, bool]] = {}  # the name, and whether sums may be rearranged, by their text
        self.kinds: dict[tuple[str, ...], int] = {}  # a nest with the memories of its operands, and its number
        self.steps: list[list[int]] = []  # such a number, and where each operand begins
        self.constants: dict[str, Any] = {}
        self.lines: list[str] = []  # the listing
        self.head: list[str] = []
        self._more = count()
        self._begin()
        last = self._last_uses()
        for i, equation in enumerate(program.equations):
            self.lines.append(equation.head)
            self.lines += [f"  {line}" for line in origin.lines(equation)]
            self._write(equation)
            for var in dict.fromkeys(self._root(one) for one in (*equation.reads, *equation.outs)):
                if last.get(var, i) <= i and var in self.own:
                    self._give_back(self.own.pop(var), var.dtype)
        self.main, self.source = self._finish(self._end())

    # The whole -----------------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        """Inputs as flat memory. Single numbers are copied into it."""
        for i, var in enumerate(self.program.inputs):
            if var.shape:
                self.head.append(f"m{i} = contiguous(a{i}).reshape({math.prod(var.shape)})")
                self.place[var] = Place(f"m{i}", 0, var.shape, _row_by_row(var.shape))
                _kind(var.dtype)
            else:
                place = self.place[var] = self._new((), var.dtype)
                self.head.append(f"{place.memory}[{place.offset}] = {_kind(var.dtype)}(a{i})")

    def _last_uses(self) -> dict[Var, int]:
        last = {self._root(v): i for i, one in enumerate(self.program.equations) for v in one.reads}
        return last | {self._root(var): len(self.program.equations) for var in self.program.outputs}

    def _root(self, var: Var) -> Var:
        return self.root.get(var, var)

    def _end(self) -> list[str]:
        """Outputs to where they go, when all is computed: what was an input until then is saved first.

        Returns the names of those that are given back.
        """
        given = set(self.program.inputs)
        outside = [var for place, var in enumerate(self.program.outputs) if place not in self.into]
        if any(self._root(var) in given for var in outside) or len({self._root(v) for v in outside}) < len(outside):
            raise NoLoop("results that share memory")
        for var in self.program.outputs:
            if self._root(var) in given:
                self.place[var] = self._copied(self.place[var], var.dtype)
        returned = []
        for place, var in enumerate(self.program.outputs):
            kind, number = self.into.get(place, ("returned", place))
            if kind == "returned" and var in self.root and not self.place[var].in_order:
                raise NoLoop("a view that is returned")
            own = f"m{number}" if kind == "input" and self.program.inputs[number].shape else f"w{number}"
            name = {"input": own, "returned": f"r{place}"}.get(kind, f"d{place}")
            if kind == "returned":
                returned.append(name)
            copy = _copy(var)
            self._elementwise([copy], {copy.out: Place(name, 0, var.shape, _row_by_row(var.shape))})
        return returned

    def _finish(self, returned: list[str]) -> tuple[str, str]:
        """The text of ``main``, and that of everything."""
        inputs, outputs = self.program.inputs, self.program.outputs
        takes = [f"a{i}" for i in range(len(inputs))]
        writes = sorted({number for kind, number in self.into.values() if kind == "input"})
        numbers = [i for i in writes if not inputs[i].shape]  # main gets these as numbers, so their memory besides
        given = [f"d{place}" for place, (kind, _) in self.into.items() if kind != "input"]
        kept = [*(_memory(kind) for kind in self.sizes), *self.constants, "steps"]
        names = [*takes, *(f"w{i}" for i in numbers), *given, *returned, *kept]
        branches = []
        for (nest, *memories), number in self.kinds.items():
            operands = [f"{memory}, s[{i}]" for i, memory in enumerate(memories, 1)]
            branches += [f"{'el' if number else ''}if s[0] == {number}:", f"    {nest}({', '.join(operands)})"]
        main = _function("main", names, [*self.head, *_nested(["for s in steps:"], branches)])

        passed = [a if var.shape else f"{_python(var.dtype)}({a})" for a, var in zip(takes, inputs, strict=True)]
        flat = [f"{name}.reshape(-1)" for name in (*(f"a{i}" for i in numbers), *given, *returned)]
        instead, body = f"return plainly({', '.join([*takes, *given])})", list[str]()
        if targets := [*(f"a{i}" for i in writes), *given]:
            body += _nested([f"if not ({' and '.join(f'{one}.flags.c_contiguous' for one in targets)}):"], [instead])
        for name in returned:
            var = outputs[int(name[1:])]
            self.constants[f"dtype_{name}"] = var.dtype
            body.append(f"{name} = empty({var.shape}, dtype_{name})")
        body += [*_nested(["try:"], [f"main({', '.join([*passed, *flat, *kept])})"]),
                 *_nested(["except IndexError:"], [instead]),
                 f"return ({', '.join(returned)}{',' * (len(returned) == 1)})"]  # fmt: skip
        texts = [text.replace("def run(", f"def {name}(", 1) for text, (name, _) in self.nests.items()]
        shown = [*"\n".join([*texts, main]).splitlines(), "", "The steps:", *self.lines]
        commented = "".join(
            f"# {line}".rstrip() + "\n" for line in ("Compiled by Numba, and not run from here:", *shown)
        )
        return main.replace("def main(", "def run(", 1), commented + _function("run", [*takes, *given], body)

    def table(self) -> Any:
        """The steps as an array, each row as long as the longest."""
        width = max(map(len, self.steps))
        return np.array([[*step, *[0] * (width - len(step))] for step in self.steps], np.int64)

    # Memory --------------------------------------------------------------------------------------------------------

    def _new(self, shape: tuple[int, ...], dtype: np.dtype[Any], zeros: bool = False) -> Place:
        """A place that nothing else uses now; with ``zeros`` one that nothing has used, and that holds these."""
        _kind(dtype)
        size = math.prod(shape)
        spare = None if zeros else self.free.get((dtype, size))
        if spare:
            offset = spare.pop().offset
        else:
            offset = self.sizes.get(dtype, 0)
            self.sizes[dtype] = offset + -(-size // 16) * 16
        return Place(_memory(dtype), offset, shape, _row_by_row(shape))

    def _give_back(self, place: Place, dtype: np.dtype[Any]) -> None:
        self.free.setdefault((dtype, math.prod(place.shape)), []).append(place)

    def _make(self, var: Var) -> Place:
        """Memory for a result."""
        self.own[var] = self.place[var] = self._new(var.shape, var.dtype)
        return self.place[var]

    def _copied(self, place: Place, dtype: np.dtype[Any], width: int | None = None) -> Place:
        """A copy, row by row, in memory that stays its own. Rows may have a ``width``, with zeros at their ends."""
        source, shape = Var(-1 - next(self._more), place.shape, dtype), place.shape
        padded = shape if width is None else (*shape[:-1], width)
        to = replace(self._new(padded, dtype, zeros=padded != shape), shape=shape)
        self.place[source] = place
        equation = _copy(source)
        self._elementwise([equation], {equation.out: to})
        return to

    def _var(self, value: Any) -> Any:
        """A constant array as a variable."""
        if not isinstance(value, (np.ndarray, np.generic)):
            return value
        _kind(value.dtype)
        if not value.size:
            raise NoLoop("a constant without elements")
        var, name = Var(-1 - next(self._more), tuple(value.shape), value.dtype), f"c{len(self.constants)}"
        self.constants[name] = np.ascontiguousarray(value).reshape(-1)
        self.place[var] = Place(name, 0, var.shape, _row_by_row(var.shape))
        return var

    def _at(self, value: Any) -> Place:
        """The place of an array."""
        value = self._var(value)
        if not isinstance(value, Var):
            raise NoLoop("no array")
        return self.place[value]

    # Equations -----------------------------------------------------------------------------------------------------

    def _write(self, equation: Equation) -> None:
        if any(not math.prod(v.shape) for v in (*equation.outs, *equation.reads)):
            raise NoLoop("an array without elements")
        if equation.body is not None:
            if not self._mixed(equation.body):
                self._elementwise(equation.body.equations, {out: self._make(out) for out in equation.outs})
                return
            for one in equation.body.equations:
                if one.name in VIEWS and not set(one.outs).isdisjoint(equation.outs):
                    raise NoLoop("a view that a kernel gives")
                self._write(one)
            return
        method = getattr(self, f"_do_{equation.name}", None)
        if equation.name in ELEMENTWISE or equation.name == "copy":
            self._elementwise([equation], {equation.out: self._make(equation.out)})
        elif equation.name in REDUCTIONS:
            self._reduce(equation)
        elif equation.name in FILLED:
            self._fill(equation.out, FILLED[equation.name])
        elif equation.name in VIEWS and (equation.name != "getitem" or is_basic(equation.args[1])):
            self._view(equation)
        elif method is not None:
            method(equation)
        else:
            raise NoLoop(equation.name)

    def _mixed(self, body: Program) -> bool:
        """Whether a kernel is more than operations on each element of one shape."""
        shape = body.equations[0].out.shape
        return any(one.name not in ELEMENTWISE or one.out.shape != shape for one in body.equations)

    def _elementwise(self, equations: Sequence[Equation], targets: Mapping[Var, Place]) -> None:
        """Operations on each element, in nests of loops with few enough arrays for LLVM to compute several numbers at
        once. What a later nest reads lies in memory until the last has read it."""
        equations = [Equation(one.outs, one.name, tuple(map(self._var, one.args))) for one in equations]
        last = {var: i for i, one in enumerate(equations) for var in one.reads}
        start, between = 0, list[Var]()
        while start < len(equations):
            stop = start + 1
            for end in range(start + 2, min(len(equations), start + LOOKED_AT) + 1):
                if _compared(equations[start:end], targets, last, end) <= COMPARED:
                    stop = end
            later = [
                one.out for one in equations[start:stop] if one.out not in targets and last.get(one.out, 0) >= stop
            ]
            for var in later:
                self.place[var] = self._new(var.shape, var.dtype)
            between += later
            made = [one.out for one in equations[start:stop]]
            ends = {var: targets.get(var) or self.place[var] for var in made if var in targets or var in later}
            self._nest(equations[start:stop], ends)
            self.place.update(ends)
            start = stop
        for var in between:
            self._give_back(self.place[var], var.dtype)

    def _nest(self, equations: Sequence[Equation], targets: Mapping[Var, Place]) -> None:
        """One nest of loops."""
        shape = equations[0].out.shape
        made = {one.out for one in equations}
        given = list(dict.fromkeys(v for one in equations for v in one.reads if v not in made))
        places = [self.place[var] for var in given]
        nest = _Nest(shape, [*(one.stretched(shape) for one in places), *(one.strides for one in targets.values())])
        names = {var: f"x{i}" for i, var in enumerate(given)}
        once, lines = list[str](), list[str]()
        for i, place in enumerate(places):
            load = f"x{i} = a{i}[{nest.index(i, place)}]"
            (lines if any(place.stretched(shape)) else once).append(load)
        for i, one in enumerate(equations):
            names[one.out] = f"t{i}"
            lines.append(f"t{i} = {_kind(one.out.dtype)}({_text(one, names)})")
        for i, (var, place) in enumerate(targets.items()):
            lines.append(f"o{i}[{nest.index(len(places) + i, place)}] = {names[var]}")
        self._step([*once, *nest.text(lines)], a=places, o=list(targets.values()))

    def _step(self, lines: list[str], rearranged: bool = False, **operands: Sequence[Place]) -> None:
        """A row of the table: these loops over operands, which are called a0, a1 and so on by their letter."""
        places = {f"{letter}{i}": place for letter, some in operands.items() for i, place in enumerate(some)}
        parts = [f"{name} = {name}_[{name}_start : {name}_start + {place.span}]" for name, place in places.items()]
        text = _function("run", [f"{name}_, {name}_start" for name in places], [*parts, *lines])
        name, _ = self.nests.setdefault(text, (f"loop{len(self.nests)}", rearranged))
        if len(self.nests) > MOST_NESTS:
            raise NoLoop("too many loops to compile")
        number = self.kinds.setdefault((name, *(place.memory for place in places.values())), len(self.kinds))
        self.steps.append([number, *(place.lowest for place in places.values())])
        self.lines.append(f"    {name}({', '.join(f'{p.memory}[{p.lowest}:]' for p in places.values())})")

    def _fill(self, out: Var, value: float) -> None:
        self._step([f"o0[:] = {_kind(out.dtype)}({value!r})"], o=[self._make(out)])

    def _view(self, equation: Equation) -> None:
        """Another place, as NumPy computes it for memory of this size. What NumPy would copy is copied."""
        if variables(equation.args[1:]):
            raise NoLoop("a view that depends on numbers")
        x = self._var(equation.args[0])
        found = _seen(equation, self.place[x])
        if found is None:
            found = _seen(equation, self._copied(self.place[x], x.dtype))
            assert found is not None
        self.place[equation.out] = found

    def _reduce(self, equation: Equation) -> None:
        """Sums and their like: into a local number where the axes that go away lie closest, else row by row."""
        (x, axis), out, name = equation.args[:2], equation.out, equation.name
        place = self._at(x)
        rank = len(place.shape)
        gone = sorted({one % rank for one in (range(rank) if axis is None else np.atleast_1d(axis).tolist())})
        if len(equation.args) > 3 or (x.dtype.kind == "b" and name != "sum"):
            raise NoLoop(name)
        kept = [i for i in range(rank) if i not in gone]
        kind, to = _kind(out.dtype), self._make(out)
        start = {"sum": "0", "prod": "1"}.get(name) or _limit(out.dtype, name)
        flat = _row_by_row(tuple(place.shape[i] for i in kept))
        read = f"a0[{_at(place)}]"
        cell = f"o0[{_sum(0, _numbers(kept), flat)}]"
        outer, inner = ([f"for i{i} in range({place.shape[i]}):" for i in axes] for axes in (kept, gone))
        if not kept or not gone or min(abs(place.strides[i]) for i in gone) <= min(abs(place.strides[i]) for i in kept):
            wide = "f8" if kind == "f4" and name == "sum" else kind
            add = f"s = {wide}({_COMBINED[name].format(f'{wide}({read})', 's')})"
            lines = _nested(outer, [f"s = {wide}({start})", *_nested(inner, [add]), f"{cell} = {kind}(s)"])
        else:
            add = f"{cell} = {kind}({_COMBINED[name].format(f'{kind}({read})', cell)})"
            lines = [f"o0[:] = {kind}({start})", *_nested([*inner, *outer], [add])]
        self._step(lines, name == "sum", a=[place], o=[to])

    def _do_matmul(self, equation: Equation) -> None:
        """Numbers of some rows of the first matrix times some rows of the second, so that each number that is loaded is
        used several times. Rows end in zeros, where machine code takes some numbers at once."""
        x, y = (self._at(arg) for arg in equation.args)
        out = equation.out
        kinds = {_kind(arg.dtype) for arg in (*equation.args, out)}
        if len(kinds) > 1 or kinds & {"b1", "u1"}:
            raise NoLoop("a product of two dtypes")
        (kind,) = kinds
        first, second = _matrix(x, 0), _matrix(y, 1)
        (rows, added), columns = first.shape[-2:], second.shape[-1]
        batch = np.broadcast_shapes(first.shape[:-2], second.shape[:-2])
        if rows * added * columns > MOST_ADDED:
            raise NoLoop("a large product")
        width = columns if columns < LANES // 2 else -(-columns // LANES) * LANES
        packed = None
        if width > columns or (second.strides[-1] != 1 and columns > 1):
            packed = second = self._copied(second, out.dtype, width)
        to = self.own[out] = self._new((*batch, rows, width), out.dtype)
        row, column = to.strides[-2:-1] * (len(x.shape) > 1), to.strides[-1:] * (len(y.shape) > 1)
        self.place[out] = replace(to, shape=out.shape, strides=(*to.strides[:-2], *row, *column))
        second = replace(second, shape=(*second.shape[:-1], width))
        self._step(_product(first, second, to, kind), True, a=[first, second], o=[to])
        if packed is not None and width == columns:
            self._give_back(packed, out.dtype)

    # Indices -------------------------------------------------------------------------------------------------------

    def _indices(self, x: Place, index: Any) -> tuple[list[str], list[Place], tuple[int, ...], str]:
        """Lines that read the numbers of an index and look whether each is within its axis, the arrays that hold them,
        the shape of what is indexed, and where one of its elements is."""
        parts = [self._var(one) for one in (index if isinstance(index, tuple) else (index,))]
        arrays = [one for one in parts if isinstance(one, Var)]
        if len(parts) > len(x.shape) or any(not isinstance(one, (Var, int)) or isinstance(one, bool) for one in parts):
            raise NoLoop("an index of several kinds")
        if any(one.dtype.kind != "i" or one.dtype.name not in KINDS or not one.shape for one in arrays):
            raise NoLoop("an index of another kind")
        shape = np.broadcast_shapes(*(one.shape for one in arrays))
        lines = []
        for k, one in enumerate(parts):
            word = str(one)
            if isinstance(one, Var):
                place = self.place[one]
                word = f"p{arrays.index(one)}[{_at(place, place.stretched(shape))}]"
            size = x.shape[k]
            lines += [f"k{k} = {word}", f"if k{k} < 0:", f"    k{k} += {size}", f"if k{k} < 0 or k{k} >= {size}:",
                      "    raise IndexError('an index is out of bounds')"]  # fmt: skip
        whole = (*shape, *x.shape[len(parts) :])
        words = [*(f"k{k}" for k in range(len(parts))), *_numbers(range(len(shape), len(whole)))]
        return lines, [self.place[one] for one in arrays], whole, _sum(x.start, words, x.strides)

    def _do_getitem(self, equation: Equation) -> None:
        place, out = self._at(equation.args[0]), equation.out
        lines, arrays, shape, at = self._indices(place, equation.args[1])
        if out.shape != shape:
            raise NoLoop("an index of several kinds")
        to = self._make(out)
        copy = f"o0[{_at(to)}] = a0[{at}]"
        self._step(_nested(_heads(shape), [*lines, copy]), p=arrays, a=[place], o=[to])

    def _do_put(self, equation: Equation) -> None:
        """A copy of the first operand with other values at an index."""
        x, index, values = equation.args
        to = self._make(equation.out)
        self._elementwise([Equation(equation.outs, "copy", (x,))], {equation.out: to})
        self._assign(to, equation.out.dtype, index, values, added=False)

    def _do_scatter_add(self, equation: Equation) -> None:
        """Zeros, with values added at an index."""
        _, index, values = equation.args
        self._fill(equation.out, 0)
        self._assign(self.place[equation.out], equation.out.dtype, index, values, added=True)

    def _assign(self, to: Place, dtype: np.dtype[Any], index: Any, values: Any, added: bool) -> None:
        """``to[index] = values``, or ``+=``."""
        values, kind = self._var(values), _kind(dtype)
        if is_basic(index):
            source = Var(-1 - next(self._more), to.shape, dtype)
            found = _seen(Equation((source,), "getitem", (source, index)), to)
            if found is None:
                raise NoLoop("an index")
            lines, arrays, shape = list[str](), list[Place](), found.shape
            at = _sum(found.offset - to.lowest, _numbers(range(len(shape))), found.strides)
        else:
            lines, arrays, shape, at = self._indices(to, index)
        word, given = repr(values), list[Place]()
        if isinstance(values, Var):
            place = self.place[values]
            if len(place.shape) > len(shape):
                raise NoLoop("values with more axes than there is room for")
            word, given = f"a0[{_at(place, place.stretched(shape))}]", [place]
        sum_ = f"{kind}(o0[{at}] + {word})" if added else f"{kind}({word})"
        self._step(_nested(_heads(shape), [*lines, f"o0[{at}] = {sum_}"]), p=arrays, a=given, o=[to])

    def _do_concatenate(self, equation: Equation) -> None:
        (parts, axis), out = equation.args[:2], equation.out
        to, start = self._make(out), 0
        axis %= len(out.shape)
        for part in map(self._var, parts):
            place = Place(to.memory, to.offset + start * to.strides[axis], part.shape, to.strides)
            made = Var(-1 - next(self._more), part.shape, out.dtype)
            self._elementwise([Equation((made,), "copy", (part,))], {made: place})
            start += part.shape[axis]


class _Nest:
    """Loops over a shape, as few as the strides of all arrays allow."""

    def __init__(self, shape: tuple[int, ...], strides: Sequence[Sequence[int]]) -> None:
        axes = [(n, [s[i] for s in strides]) for i, n in enumerate(shape) if n > 1]
        self.axes: list[tuple[int, list[int]]] = []
        for n, steps in axes:
            if self.axes and all(out == n * own for out, own in zip(self.axes[-1][1], steps, strict=True)):
                self.axes[-1] = self.axes[-1][0] * n, steps
            else:
                self.axes.append((n, steps))

    def index(self, i: int, place: Place) -> str:
        """Where the i-th array is read or written, from the first of its elements in memory."""
        return _sum(place.start, _numbers(range(len(self.axes))), [steps[i] for _, steps in self.axes])

    def text(self, lines: list[str]) -> list[str]:
        """The lines in these loops."""
        return _nested(_heads([n for n, _ in self.axes]), lines)


def _product(first: Place, second: Place, to: Place, kind: str) -> list[str]:
    """The loops of a product of matrices, whose three places have as many rows and columns as they go through."""
    *batch, rows, width = to.shape
    added = first.shape[-1]

    def cell(name: str, place: Place, *last: str) -> str:
        steps = place.stretched((*batch, *place.shape[-2:]))
        return f"{name}[{_sum(place.start, (*(f'b{i}' for i in range(len(batch))), *last), steps)}]"

    def some(count: int) -> list[str]:
        """Of so many rows, from i on."""
        goals, down = [cell("o0", to, f"(i + {r})", "j") for r in range(count)], [f"for j in range({width}):"]
        lines = _nested(down, [f"{goal} = {kind}(0)" for goal in goals])
        for head, n in _turns("k", added, AHEAD):
            loads = [
                f"x{r}_{m} = {cell('a0', first, f'(i + {r})', f'(k + {m})')}" for r in range(count) for m in range(n)
            ]
            shared = [f"y{m} = {cell('a1', second, f'(k + {m})', 'j')}" for m in range(n)]
            sums = [" + ".join([goal, *(f"x{r}_{m} * y{m}" for m in range(n))]) for r, goal in enumerate(goals)]
            adds = [f"{goal} = {kind}({sum_})" for goal, sum_ in zip(goals, sums, strict=True)]
            lines += _nested([head], [*loads, *_nested(down, [*shared, *adds])])
        return lines

    inside = [line for head, count in _turns("i", rows, ROWS) for line in _nested([head], some(count))]
    return _nested([f"for b{i} in range({n}):" for i, n in enumerate(batch)], inside)


def _turns(name: str, count: int, step: int) -> list[tuple[str, int]]:
    """A loop in steps of so many, and one for the rest, each with how many it takes at once."""
    most = count - count % step
    loops = [(f"for {name} in range(0, {most}, {step}):", step), (f"for {name} in range({most}, {count}):", 1)]
    return [loops[0]] * (most > 0) + [loops[1]] * (most < count)


def _nested(heads: Sequence[str], lines: Sequence[str]) -> list[str]:
    found = [*lines]
    for head in reversed(heads):
        found = [head, *(f"    {line}" for line in found)]
    return found


def _function(name: str, takes: Sequence[str], lines: Sequence[str]) -> str:
    """The text of a function."""
    return "".join(f"{line}\n" for line in (f"def {name}({', '.join(takes)}):", *(f"    {line}" for line in lines)))


def _row_by_row(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(math.prod(shape[i + 1 :]) for i in range(len(shape)))


def _kind(dtype: np.dtype[Any]) -> str:
    """The word for a dtype in the loops."""
    if dtype.name not in KINDS:
        raise NoLoop(dtype.name)
    return KINDS[dtype.name]


def _memory(dtype: np.dtype[Any]) -> str:
    return f"{KINDS[dtype.name]}_memory"


def _python(dtype: np.dtype[Any]) -> str:
    return {"f": "float", "b": "bool"}.get(dtype.kind, "int")


def _limit(dtype: np.dtype[Any], name: str) -> str:
    """Where the search for the largest or smallest number begins."""
    if dtype.kind == "f":
        return "-math.inf" if name == "amax" else "math.inf"
    known = np.iinfo(dtype)
    return str(known.min if name == "amax" else known.max)


def _heads(shape: Sequence[int]) -> list[str]:
    """Loops over a shape, by numbers i0, i1 and so on."""
    return [f"for i{i} in range({n}):" for i, n in enumerate(shape)]


def _numbers(axes: Iterable[int]) -> list[str]:
    return [f"i{i}" for i in axes]


def _sum(start: int, words: Sequence[str], steps: Sequence[int]) -> str:
    """Where an element is, so many steps from a start for each number; those that do not move are left out."""
    return " + ".join([str(start), *(f"{word} * {step}" for word, step in zip(words, steps, strict=True) if step)])


def _at(place: Place, strides: Sequence[int] | None = None) -> str:
    """Where an element is, from the lowest one on, for numbers i0, i1 and so on."""
    steps = place.strides if strides is None else strides
    return _sum(place.start, _numbers(range(len(steps))), steps)


def _compared(equations: Sequence[Equation], targets: Mapping[Var, Place], last: Mapping[Var, int], end: int) -> int:
    """How many pairs of arrays LLVM has to tell apart: those written from those read and from each other."""
    made = {one.out for one in equations}
    written = sum(var in targets or last.get(var, 0) >= end for var in made)
    read = len({v for one in equations for v in one.reads if v not in made and math.prod(v.shape) > 1})
    return written * read + written * (written - 1) // 2


def _text(equation: Equation, names: Mapping[Var, str]) -> str:
    """What one operation computes."""
    found = expression(equation, names)
    if found is None:
        raise NoLoop(equation.name)
    return found


def _copy(var: Var) -> Equation:
    """An equation that only copies."""
    return Equation((Var(-1_000_000 - var.number, var.shape, var.dtype),), "copy", (var,))


def _matrix(place: Place, axis: int) -> Place:
    """A vector as a row (axis 0) or as a column (1)."""
    if len(place.shape) > 1:
        return place
    (n,), (step,) = place.shape, place.strides
    shape, strides = ((n, 1), (step, 0)) if axis else ((1, n), (0, step))
    return Place(place.memory, place.offset, shape, strides)


def _seen(equation: Equation, place: Place) -> Place | None:
    """The place of a view, as NumPy computes it for memory of bytes. None where it would copy."""
    memory = np.empty(1 + sum(abs((n - 1) * s) for n, s in zip(place.shape, place.strides, strict=True)), np.int8)
    start = place.offset - place.lowest
    array = np.lib.stride_tricks.as_strided(memory[start:], place.shape, place.strides)
    found = function_of(equation)(array, *equation.args[1:])
    if not isinstance(found, np.ndarray):
        found = array[(*equation.args[1], ...)] if isinstance(equation.args[1], tuple) else array[equation.args[1], ...]
    if not np.may_share_memory(found, memory):
        return None
    moved = found.__array_interface__["data"][0] - memory.__array_interface__["data"][0]
    return Place(place.memory, place.lowest + moved, tuple(found.shape), tuple(found.strides))
