"""Passes: each takes a program and gives another one, which computes the same with less.

`PASSES` names them in their order. Each can be left out, and each is a function to call and to look at.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..backends.cpu import is_basic
from .interpret import function_of
from .ir import Equation, Program, Var, substitute
from .strips import FEW_COLUMNS, STRIPS

ELEMENTWISE = frozenset(
    "add sub mul div neg exp expm1 log log1p log2 log10 tanh sqrt sin cos tan arcsin arccos arctan arctan2 sinh cosh "
    "arcsinh arccosh arctanh abs sign floor ceil round maximum minimum relu where eq ne lt le gt ge and or xor invert "
    "astype sigmoid".split()
)
SYMBOLS = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">",
    "ge": ">=", "and": "&", "or": "|", "xor": "^",
}  # fmt: skip
VIEWS = frozenset("reshape permute broadcast_to getitem diagonal windows as_strided".split())
REDUCTIONS = frozenset("sum prod amax amin".split())
MULTIPLY = frozenset("matmul einsum conv conv_input conv_kernel".split())
PRODUCTS = frozenset("matmul conv".split())  # with what is done to each element at once, as a device does it
POINTWISE = ELEMENTWISE | {"erf", "power"}  # what kernels of a device have besides
WITHIN_ROWS = POINTWISE | frozenset("reshape broadcast_to getitem put zeros_like ones_like".split())
FILLED = {"zeros_like": 0, "ones_like": 1}
STAY_NUMBERS = ("broadcast_to", "neg")  # of a number they are a number


def used(program: Program) -> set[Var]:
    """The variables that something reads, or that are outputs."""
    found = {var for equation in program.equations for var in equation.reads}
    return found | set(program.outputs)


def rewritten(program: Program, change: Callable[[Equation], Any]) -> Program:
    """The program with ``change(equation)`` for each of its equations, whose arguments are up to date.

    That may be the equation, another one, or what stands for its result: a variable or a number.
    """
    known: dict[Var, Any] = {}
    equations = []
    for equation in program.equations:
        now = equation
        if not known.keys().isdisjoint(equation.reads):
            args = substitute(equation.args, lambda var: known.get(var, var))
            now = Equation(equation.outs, equation.name, args, equation.body)
        found = change(now)
        if isinstance(found, Equation):
            equations.append(found)
        else:
            known[now.out] = found
    outputs = []
    for var in program.outputs:
        found = known.get(var, var)
        outputs.append(found if isinstance(found, Var) else var)
        if not isinstance(found, Var):  # an output must be an array
            made = np.full(var.shape, found, var.dtype)
            if all(var not in equation.outs for equation in equations):
                equations.append(Equation((var,), "copy", (made,)))
    return Program(program.inputs, tuple(equations), tuple(outputs))


def dead(program: Program) -> Program:
    """Leave out what nobody reads.

    ``v1 = exp(v0); v2 = mul(v0, 2); return v2`` becomes ``v2 = mul(v0, 2); return v2``.
    """
    needed, kept = set(program.outputs), []
    for equation in reversed(program.equations):
        if needed.intersection(equation.outs):
            kept.append(equation)
            needed.update(equation.reads)
    return Program(program.inputs, tuple(reversed(kept)), program.outputs)


def unused(program: Program) -> Program:
    """Leave out inputs that nobody reads.

    ``program(v0, v1): v2 = neg(v0); return v2`` becomes ``program(v0): …``.
    """
    needed = used(program)
    return Program(tuple(var for var in program.inputs if var in needed), program.equations, program.outputs)


def constants(program: Program) -> Program:
    """Compute what depends on no input, now. Arrays of one number, where they are only read, become that number.

    ``v1 = ones_like(v0); v2 = mul(v0, v1)`` becomes ``v2 = mul(v0, 1.0)``.
    """
    numbers_do = _read_by_elementwise(program)

    def fold(equation: Equation) -> Any:
        out = equation.out if equation.body is None else None
        if out is None:
            return equation
        if equation.name in FILLED and out.dtype.kind == "f" and out in numbers_do:
            return float(FILLED[equation.name])
        if equation.name == "broadcast_to" and isinstance(equation.args[0], (int, float)) and out in numbers_do:
            return equation.args[0]
        if equation.name == "neg" and isinstance(equation.args[0], (int, float)) and out in numbers_do:
            return -float(equation.args[0])
        if equation.name in FILLED and not out.shape:
            return np.full((), FILLED[equation.name], out.dtype)
        if not equation.reads and equation.name != "copy":
            with np.errstate(all="ignore"):
                value = np.asarray(function_of(equation)(*equation.args))
            if out.dtype.kind == "f" and out in numbers_do and not any(value.strides) and value.size:
                return value.flat[0].item()  # one number, however often it is repeated
            return value if not out.shape else Equation(equation.outs, "copy", (value,))
        return equation

    return rewritten(program, fold)


def _read_by_elementwise(program: Program) -> set[Var]:
    """The variables that may become a Python number: whoever reads them has another array, of the shape and dtype that
    result, which stays one."""
    fits = {equation.out for equation in program.equations if equation.body is None}
    fits -= set(program.outputs)
    stays = set(program.inputs)  # what is computed from an input is no number, unless only its shape is used
    for equation in program.equations:
        if equation.name not in FILLED and not stays.isdisjoint(equation.reads):
            stays.update(equation.outs)

    def lasts(one: Any, like: Var) -> bool:
        return isinstance(one, Var) and one in stays and one.dtype == like.dtype

    for equation in program.equations:
        like = equation.outs[0]
        for var in equation.reads:
            if equation.name in STAY_NUMBERS and var is equation.args[0] and var.dtype.kind == "f":
                continue  # that becomes a number itself, or keeps its operand
            others = [one for one in equation.args if one is not var]
            if equation.name in ("mul", "add", "sub", "div"):
                good = any(lasts(one, like) and one.shape == like.shape for one in others)
            elif equation.name == "where" and var is not equation.args[0]:
                shapes = any(isinstance(one, Var) and one in stays and one.shape == like.shape for one in others)
                good = shapes and any(lasts(one, like) for one in others if one is not equation.args[0])
            else:
                good = False
            if not good:
                fits.discard(var)
    for equation in reversed(program.equations):  # what these read is a number only if their result may be one
        if equation.name in STAY_NUMBERS and isinstance(equation.args[0], Var) and equation.out not in fits:
            fits.discard(equation.args[0])
    return fits


def common(program: Program) -> Program:
    """Compute the same thing once.

    ``v1 = exp(v0); v2 = exp(v0); v3 = add(v1, v2)`` becomes ``v1 = exp(v0); v3 = add(v1, v1)``. Sums and products may
    be written either way round.
    """
    known: dict[Any, Var] = {}

    def once(equation: Equation) -> Any:
        key = _key(equation)
        if key is None or len(equation.outs) > 1:
            return equation
        if key in known:
            return known[key]
        known[key] = equation.out
        return equation

    return rewritten(program, once)


def _key(equation: Equation) -> Any:
    """Equal for equations that compute the same; None where that is not known."""

    def part(value: Any) -> Any:
        if type(value) is Var:
            return value
        if isinstance(value, tuple):
            return tuple([part(item) for item in value])
        if isinstance(value, slice):
            return slice, value.start, value.stop, value.step
        if isinstance(value, np.ndarray):
            return np.ndarray, value.shape, value.dtype.str, value.tobytes() if value.nbytes < 4096 else id(value)
        if isinstance(value, np.generic):
            return type(value), value.tobytes()
        if isinstance(value, float):
            return float, value.hex()
        return type(value), value

    args = equation.args
    if equation.name in ("add", "mul") and len(equation.reads) == 2:
        args = tuple(sorted(args, key=id))  # either way round
    try:
        key = equation.name, part(args)
        hash(key)
    except (TypeError, ValueError):
        return None
    return key


def algebra(program: Program) -> Program:
    """Leave out what changes nothing, to the last bit.

    ``v1 = mul(v0, 1.0)`` is ``v0``; so is a reshape, cast or stretch to what it is already, ``permute`` there and back.
    """
    made: dict[Var, Equation] = {}

    def simpler(equation: Equation) -> Any:
        if equation.body is not None:
            return equation
        name, args, out = equation.name, equation.args, equation.out
        first = args[0] if args else None
        same = isinstance(first, Var) and first.shape == out.shape and first.dtype == out.dtype
        if same and name in ("reshape", "broadcast_to", "astype"):
            return first
        if same and name in ("mul", "div") and _is_number(args[1], 1):
            return first
        if name == "mul" and isinstance(args[1], Var) and _is_number(first, 1) and args[1].shape == out.shape:
            return args[1] if args[1].dtype == out.dtype else equation
        if name == "put" and isinstance(args[2], Var) and args[1] in (..., (...,)) and args[2].type == out.type:
            return args[2]  # all of it is written
        if same and name == "contiguous" and first in made and made[first].name not in VIEWS:
            return first
        if name in ELEMENTWISE and len(args) > 1:
            plain = [one for one in args if isinstance(one, Var) and one.shape == out.shape]
            for i, one in enumerate(args):
                source = made.get(one) if isinstance(one, Var) else None
                if source is not None and source.name == "broadcast_to" and one in plain and len(plain) > 1:
                    args = (*args[:i], source.args[0], *args[i + 1 :])
                    plain.remove(one)
            equation = Equation(equation.outs, name, args)
        before = made.get(first) if isinstance(first, Var) else None
        if name == "reshape" and before is not None and before.name == "reshape":
            equation = Equation(equation.outs, name, (before.args[0], args[1]))
        if name == "permute" and before is not None and before.name == "permute":
            axes = tuple(before.args[1][i] for i in args[1])
            if axes == tuple(range(len(axes))):
                return before.args[0]
            equation = Equation(equation.outs, name, (before.args[0], axes))
        if name == "neg" and before is not None and before.name == "neg":
            return before.args[0]
        made[out] = equation
        return equation

    return rewritten(program, simpler)


def _is_number(value: Any, number: float) -> bool:
    return type(value) in (int, float) and value == number


class _Group:
    """Elementwise equations of one shape that run as one kernel."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape
        self.equations: list[Equation] = []
        self.made: set[Var] = set()

    @staticmethod
    def takes(equation: Equation) -> bool:
        """Whether such a group may have this equation at all."""
        return equation.body is None and equation.name in ELEMENTWISE and equation.outs[0].shape != ()

    def admits(self, equation: Equation) -> bool:
        """Whether this group may."""
        return equation.outs[0].shape == self.shape

    def add(self, equation: Equation) -> None:
        self.equations.append(equation)
        self.made.update(equation.outs)

    def goes_on_with(self, later: _Group) -> bool:
        """Whether all of another group may be a part of this one."""
        return self.shape == later.shape


class _Strips(_Group):
    """What the CPU does strip by strip: elementwise work on a large array, reductions of its rows, work on those, sums.

    A strip is some rows, that is, a part of the first axis. A reduction of the other axes is whole within it. What is
    summed up beyond that is whole after the last strip only, so no equation of the same kernel may read it.
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        super().__init__(shape)
        self.results: set[tuple[int, ...]] = set()  # shapes of reduced rows
        self.last: set[Var] = set()  # what is whole after the last strip

    @staticmethod
    def takes(equation: Equation) -> bool:
        return _Group.takes(equation) or (equation.body is None and _in_strips(equation))

    def admits(self, equation: Equation) -> bool:
        shape = equation.outs[0].shape
        if not self.last.isdisjoint(equation.reads):
            return False
        if equation.name in REDUCTIONS:
            return bool(equation.args[0].shape == self.shape) and _in_strips(equation)
        return shape == self.shape or (shape in self.results and not self.made.isdisjoint(equation.reads))

    def add(self, equation: Equation) -> None:
        super().add(equation)
        out = equation.outs[0]
        if equation.name in REDUCTIONS and len(out.shape) == len(self.shape):
            self.results.add(out.shape)
        elif equation.name in REDUCTIONS:
            self.last.add(out)

    def goes_on_with(self, later: _Group) -> bool:
        reads = {var for equation in later.equations for var in equation.reads}
        return super().goes_on_with(later) and self.last.isdisjoint(reads)


def _in_strips(equation: Equation) -> bool:
    """Whether it is a sum of everything, or a reduction within rows that keeps their axes, of a large array."""
    if equation.name not in ("sum", "amax", "amin") or not isinstance(equation.args[0], Var):
        return False
    x, axis, keep = equation.args
    out = equation.outs[0]
    if math.prod(x.shape) * x.dtype.itemsize <= STRIPS or x.dtype != out.dtype or x.dtype not in ("f4", "f8"):
        return False
    if equation.name == "sum" and out.shape == ():
        return True
    axes = axis if isinstance(axis, tuple) else (axis,)
    return bool(keep) and axes == (len(x.shape) - 1,) and len(x.shape) > 1 and x.shape[-1] > FEW_COLUMNS


class _Rows(_Group):
    """What one kernel of a device does row by row: elementwise work, reductions of each row, and work on their results.

    All its reductions are along the same axes, so that no part has to wait for another one. A product of matrices may
    begin a kernel, which goes on with its elements while it has them.
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        super().__init__(shape)
        self.size = self.reduced = math.prod(shape)  # elements, and those of a row's result
        self.rows: tuple[Any, ...] = ()  # which axes go, once some do, and which stay
        self.product = False

    @staticmethod
    def takes(equation: Equation) -> bool:
        if equation.body is not None:
            return False
        return equation.name in WITHIN_ROWS or equation.name in {*REDUCTIONS, *PRODUCTS}

    def admits(self, equation: Equation) -> bool:
        name, size, rows = equation.name, math.prod(equation.outs[0].shape), _rows_of(equation)
        mine = not self.made.isdisjoint(equation.reads)
        if name in PRODUCTS or (self.product and not (mine and name in POINTWISE and size == self.size)):
            return False
        if name in ("reshape", "broadcast_to"):
            return equation.args[0] in self.made and size in (self.size, self.reduced)
        if name == "getitem":
            return mine and not is_basic(equation.args[1]) and self.reduced in (self.size, size)
        if rows:
            fits = math.prod(equation.args[0].shape) == self.size
            return fits and self.reduced in (self.size, size) and self.rows in ((), rows)
        return size in (self.size, self.reduced)

    def add(self, equation: Equation) -> None:
        super().add(equation)
        self.product = self.product or equation.name in PRODUCTS
        rows = _rows_of(equation)
        self.rows = rows or self.rows
        if rows or equation.name == "getitem":
            self.reduced = math.prod(equation.outs[0].shape)

    def goes_on_with(self, later: _Group) -> bool:
        """No: what stands between them may have to wait for a reduction, or for a product."""
        return False


def _rows_of(equation: Equation) -> tuple[Any, ...]:
    """Of a reduction: whether a run of axes goes, and its length, run by run. () for what reduces nothing."""
    if equation.name not in REDUCTIONS:
        return ()
    shape, axes = equation.args[0].shape, equation.args[1]
    many = range(len(shape)) if axes is None else axes if isinstance(axes, tuple) else (axes,)
    gone = {axis % len(shape) for axis in many}
    runs: list[list[Any]] = []
    for axis, length in enumerate(shape):
        if length > 1 and runs and runs[-1][0] is (axis in gone):
            runs[-1][1] *= length
        elif length > 1:
            runs.append([axis in gone, length])
    return tuple(map(tuple, runs)) if any(goes for goes, _ in runs) else ()


def fuse(program: Program) -> Program:
    """Put elementwise equations over arrays of one shape into kernels, which pass over memory once.

    ``v1 = mul(v0, 2); v2 = exp(v1); v3 = add(v2, v0)`` becomes one equation, whose body these are. Over large arrays,
    where the CPU works strip by strip, a kernel may also reduce rows, go on with that, and sum everything up.
    """
    return _grouped(program, _Strips)


def fuse_elementwise(program: Program) -> Program:
    """The same for a device whose kernels give each number by itself: no reductions."""
    return _grouped(program, _Group)


def fuse_rows(program: Program) -> Program:
    """The same for a device whose kernels may reduce rows of any array and go on with the results, as a softmax does.

    ``v1 = exp(v0); v2 = sum(v1, 1, True); v3 = div(v1, v2)`` becomes one equation.
    """
    return _grouped(program, _Rows)


def _grouped(program: Program, kind: type[_Group]) -> Program:
    done: list[Equation | _Group] = []
    open_: list[_Group] = []

    def close(group: _Group) -> None:
        open_.remove(group)
        done.append(group)

    for equation in program.equations:
        reads = set(equation.reads)
        behind = [group for group in open_ if group.made & reads]
        joins = None
        if kind.takes(equation):
            joins = next((group for group in (*behind, *open_) if group.admits(equation)), None)
        for group in behind:
            if group is not joins:
                close(group)
        if joins is None and not (kind.takes(equation) and equation.name not in VIEWS and widest(equation)):
            done.append(equation)
            continue
        if joins is None:
            joins = kind(widest(equation))
            open_.append(joins)
        joins.add(equation)
    for group in list(open_):
        close(group)
    equations: list[Equation] = []
    read = readers(program)
    for one in _joined(program, done):
        parts = one.equations if isinstance(one, _Group) else [one]
        equations += kernel(parts, program, read) if len(parts) > 1 else parts
    return Program(program.inputs, tuple(equations), program.outputs)


def _joined(program: Program, done: list[Equation | _Group]) -> list[Equation | _Group]:
    """Groups as parts of earlier ones, whose results they then need not read from memory.

    Everything else that such a group reads is there before the earlier one, so that nothing has to wait.
    """
    kept: list[Equation | _Group] = []
    place: dict[Var, int] = dict.fromkeys(program.inputs, -1)  # where a variable is made
    for one in done:
        parts = one.equations if isinstance(one, _Group) else [one]
        made = {out for part in parts for out in part.outs}
        reads = {place[var] for part in parts for var in part.reads if var not in made}
        last = max(reads, default=-1)
        earlier = kept[last] if isinstance(one, _Group) and last >= 0 else None
        if isinstance(earlier, _Group) and isinstance(one, _Group) and earlier.goes_on_with(one):
            for part in parts:
                earlier.add(part)
            place.update(dict.fromkeys(made, last))
        else:
            place.update(dict.fromkeys(made, len(kept)))
            kept.append(one)
    return kept


def whole(program: Program, body_of: dict[Var, int]) -> Program:
    """Keep the body of an operation, such as a pooling, together as a kernel where `fuse_rows` would make several.

    ``body_of`` says in which body a variable was made. Products stay outside: each is a kernel of its own.
    """
    bodies: dict[int, _Group] = {}
    for equation in program.equations:
        bodies.setdefault(body_of.get(equation.out, 0), _Group(equation.out.shape)).add(equation)
    kept = {number for number, group in bodies.items() if number and _comes_apart(group, program)}
    done = []
    for equation in program.equations:
        number = body_of.get(equation.out, 0)
        if number not in kept:
            done.append(equation)
        elif equation is bodies[number].equations[-1]:
            done.extend(kernel(bodies[number].equations, program))
    return Program(program.inputs, tuple(done), program.outputs)


def _comes_apart(group: _Group, program: Program) -> bool:
    if any(one.name in MULTIPLY for one in group.equations):
        return False
    (body, *_) = kernel(group.equations, program)
    assert body.body is not None
    return sum(one.body is not None or one.name not in VIEWS for one in fuse_rows(body.body).equations) > 1


def widest(equation: Equation) -> tuple[int, ...]:
    """The shape that a kernel goes through for this equation: of a reduction, what it takes in."""
    found: tuple[int, ...] = equation.args[0].shape if _rows_of(equation) else equation.outs[0].shape
    return found


def readers(program: Program) -> dict[Var, list[int]]:
    """Who reads each variable: the ids of equations."""
    found: dict[Var, list[int]] = {}
    for equation in program.equations:
        for var in equation.reads:
            found.setdefault(var, []).append(id(equation))
    return found


def kernel(parts: list[Equation], program: Program, read: dict[Var, list[int]] | None = None) -> list[Equation]:
    """These equations of the program as one. Views of its results that others need come after it, and cost nothing.

    Who makes many kernels of a program gives its `readers`.
    """
    own, outputs = {id(equation) for equation in parts}, set(program.outputs)
    read = readers(program) if read is None else read
    made = {var for one in parts for var in one.outs}
    outside = {var for var in made if var in outputs or not own.issuperset(read.get(var, ()))}
    views: list[Equation] = []
    for one in reversed(parts):
        if one.out in outside and _is_view(one):
            views.insert(0, one)
            outside.add(one.args[0])
    made_later = {one.out for one in views}
    inside = {var for equation in parts for var in equation.reads}
    inputs = tuple(sorted(inside - made, key=lambda var: var.number))
    outs = tuple(v for one in parts for v in one.outs if v in outside and v not in made_later)
    body = Program(inputs, tuple(parts), outs)
    return [Equation(outs, "kernel", inputs, body), *views]


PASSES: dict[str, Callable[[Program], Program]] = {
    "algebra": algebra, "constants": constants, "common": common, "dead": dead, "unused": unused, "fuse": fuse,
}  # fmt: skip


def roots(program: Program) -> dict[Var, Var]:
    """Whose memory each variable shows: its own, or that of what it is a view of."""
    found: dict[Var, Var] = {}
    for equation in program.equations:
        if _is_view(equation):
            found[equation.out] = found.get(equation.args[0], equation.args[0])
    return found


def _is_view(equation: Equation) -> bool:
    """Whether the result only shows its operand's memory, or may do so."""
    if equation.body is not None or equation.name not in VIEWS or not isinstance(equation.args[0], Var):
        return False
    return equation.name != "getitem" or is_basic(equation.args[1])


def apart(before: Program, after: Program) -> Program:
    """Outputs that had memory of their own before the passes have it after them too: somebody may write to one."""
    were, are = roots(before), roots(after)
    taken: set[Var] = set()
    equations, outputs = list(after.equations), []
    number = 1 + max((v.number for e in (*before.equations, *after.equations) for v in (*e.outs, *e.reads)), default=0)
    inputs = set(before.inputs)
    for old, new in zip(before.outputs, after.outputs, strict=True):
        root, past = are.get(new, new), were.get(old, old)
        shared = root in taken and before.outputs.count(old) == 1 and past is not root
        if (root in inputs and past not in inputs) or shared:
            own = Var(number, new.shape, new.dtype)
            number += 1
            equations.append(Equation((own,), "copy", (new,)))
            outputs.append(own)
        else:
            taken.add(root)
            outputs.append(new)
    return Program(after.inputs, tuple(equations), tuple(outputs))


def optimised(
    program: Program, leave_out: tuple[str, ...] = (), fuse: Callable[[Program], Program] = fuse
) -> Program:  # fmt: skip
    """The program after all passes; simple ones run twice, since one makes work for another."""
    captured = program
    simple = [name for name in PASSES if name != "fuse" and name not in leave_out]
    for name in simple + simple:
        program = PASSES[name](program)
    program = apart(captured, program)
    return program if "fuse" in leave_out else fuse(program)
