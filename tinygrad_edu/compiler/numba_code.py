"""Kernels as machine code, by Numba: one loop over memory for a whole chain of elementwise equations.

Each array is looked at as rows and columns. An operand may be a whole one, a row, a column or a number. Exponential,
logarithm, tanh and sigmoid of float32 are polynomials, which the processor computes for several numbers at once, where
Numba would call the C library for each. They are within one unit in the last place of the exact value, and keep inf and
nan: `tests/compiler/test_numba.py` tries them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..errors import MissingPackageError
from .ir import Equation, Program, Var
from .passes import SYMBOLS, widest

LEAST = 1 << 13  # elements times equations: below, starting a kernel costs more than it saves
PART = 1 << 12  # numbers that are kept to be summed up
MANY = 32  # equations: so many calls of NumPy take longer than a start, whatever the size

KINDS = {"float32": "f4", "float64": "f8", "int64": "i8", "int32": "i4", "bool": "b1", "uint8": "u1"}
FORMS = {
    "neg": "-{0}", "relu": "({0} if ({0} > {zero} or {0} != {0}) else {zero})", "where": "({1} if {0} else {2})",
    "maximum": "({0} if ({0} >= {1} or {0} != {0}) else {1})",
    "minimum": "({0} if ({0} <= {1} or {0} != {0}) else {1})",
    "astype": "{0}", "abs": "abs({0})", "sqrt": "math.sqrt({0})", "floor": "floor({0})", "ceil": "ceil({0})",
    "exp": "exp_{kind}({0})", "log": "log_{kind}({0})", "tanh": "tanh_{kind}({0})", "sigmoid": "sigmoid_{kind}({0})",
    "sin": "math.sin({0})", "cos": "math.cos({0})", "expm1": "math.expm1({0})", "log1p": "math.log1p({0})",
    "invert": "not {0}", "copy": "{0}",
}  # fmt: skip

ROW_REDUCERS = {"sum": "total", "amax": "largest", "amin": "smallest"}


class Kernel:
    """A compiled loop, and in which shapes it wants its operands and results.

    ``run`` takes the operands, the results that are arrays, memory to work in, and an array for each sum of everything,
    to which each turn of the outer loop gives a part. That memory is ``room``, and those arrays are ``parts``.
    """

    def __init__(self, loop: _Loop) -> None:
        self.source = loop.source
        self.run: Callable[..., None] = machine_code(loop.source)
        self.inputs, self.outputs = loop.inputs, loop.outputs
        self.room = [np.empty(loop.length, var.dtype) for var in loop.room]
        self.parts = {var: np.empty(loop.turns, var.dtype) for var in loop.totals}


def kernel(equation: Equation) -> Kernel | None:
    """The loop of a kernel equation; None where it is too small, or has something that there is no form for."""
    body = equation.body
    assert body is not None
    shape = widest(body.equations[0])
    if math.prod(shape) * len(body.equations) < LEAST and len(body.equations) < MANY:
        return None
    loop = _Loop(body, shape)
    return Kernel(loop) if loop.source else None


class _Loop:
    """The text of a loop, row by row. It goes through a row once more after each reduction of it.

    What is reduced, or read again later, is kept for one row. Where no operand is a row or a column, all is one row, of
    which a turn takes a part: all of it, or `PART` numbers where everything is summed up.
    """

    def __init__(self, body: Program, shape: tuple[int, ...]) -> None:
        self.body, self.shape = body, shape
        self.source = ""  # none where something has no form
        self.totals = [e.out for e in body.equations if len(e.out.shape) < len(shape)]
        by_rows = any(e.name in ROW_REDUCERS and e.out not in self.totals for e in body.equations)
        for split in range(len(shape) - 1, len(shape) - 2 if by_rows else -1, -1):
            hows = {var: _seen(var.shape, shape, split) for var in body.inputs}
            if None not in hows.values():
                break
        rows, columns = math.prod(shape[:split]), math.prod(shape[split:])
        self.one_row = all(how in ("whole", "number") for how in hows.values()) and all(
            self._is_whole(e.out) or e.out in self.totals for e in body.equations
        )
        if self.one_row:
            rows, columns = 1, rows * columns
        self.columns = columns
        self.length = PART if self.one_row and self.totals else columns
        self.turns = -(-columns // self.length) if self.one_row else rows
        whole: tuple[int, ...] = (columns,) if self.one_row else (rows, columns)
        self.channels = shape[split - 1]
        shapes = {"whole": whole, "row": (columns,), "column": (rows,), "channel": (self.channels,), "number": (1,)}
        self.inputs = [shapes[how] for how in hows.values() if how is not None]
        self.outputs = {v: whole if self._is_whole(v) else (rows,) for v in body.outputs if v not in self.totals}
        self.hows, self.room = hows, list[Var]()
        if None not in hows.values() and all(var.dtype.name in KINDS for var in body.inputs):
            self._write(self._times())

    def _is_whole(self, var: Var) -> bool:
        return var.shape == self.shape

    def _times(self) -> list[list[Equation]]:
        """What is computed the first time through a row, the second time, and so on. Notes what has to be kept."""
        since = dict.fromkeys(self.body.inputs, 0)  # the time from which a variable is known
        times: list[list[Equation]] = [[]]
        again, reduced = set[Var](), set[Var]()
        for equation in self.body.equations:
            reads = equation.reads
            time = max((since[var] for var in reads), default=0)
            again.update(var for var in reads if since[var] < time)
            since[equation.out] = time
            times[time].append(equation)
            if equation.name in ROW_REDUCERS:
                reduced.update(reads)
                since[equation.out] = time + 1
                times += [[]] if len(times) == time + 1 else []
        kept = again - {*self.body.inputs, *self.outputs} | reduced
        self.room = [var for var in since if self._is_whole(var) and var in kept]
        return times

    def _places(self) -> dict[Var, list[str]]:
        """Where the numbers of a variable lie in memory, if they do: among the operands, the results, what is kept."""
        at = "_[j]" if self.one_row else "[i, j]"
        places: dict[Var, list[str]] = {}
        for i, (var, how) in enumerate(self.hows.items()):
            if how in ("whole", "row"):
                places[var] = [f"a{i}{at if how == 'whole' else '[j]'}"]
        for i, var in enumerate(self.outputs):
            places.setdefault(var, []).append(f"o{i}{at if self._is_whole(var) else '[i]'}")
        for i, var in enumerate(self.room):
            places.setdefault(var, []).append(f"w{i}[j]")
        return places

    def _row(self) -> list[str]:
        """What comes first in a row: the numbers that are the same in all of it; of one row, the parts of this turn."""
        each = {"column": "[i]", "channel": f"[i % {self.channels}]", "number": "[0]"}
        lines = [f"{_name(var)} = a{i}{each[how]}" for i, (var, how) in enumerate(self.hows.items()) if how in each]
        if self.one_row:
            parts = [f"a{i}" for i, how in enumerate(self.hows.values()) if how == "whole"]
            parts += [f"o{i}" for i in range(len(self.outputs))]
            lines += [f"start, n = i * {self.length}, min({self.length}, {self.columns} - i * {self.length})"]
            lines += [f"{part}_ = {part}[start:start + n]" for part in parts]
        return lines

    def _write(self, times: list[list[Equation]]) -> None:
        """Write all of it, if everything has a form."""
        lines, places = self._row(), self._places()
        for equations in times:
            found = self._once_through(equations, places)
            if found is None:
                return
            lines += found
        kinds = (("a", self.inputs), ("o", self.outputs), ("w", self.room), ("p", self.totals))
        parameters = ", ".join(f"{letter}{i}" for letter, some in kinds for i in range(len(some)))
        loop = [f"    for i in range({self.turns}):", *(f"        {line}" for line in lines)]
        self.source = "\n".join([f"def run({parameters}):", *loop, ""])

    def _once_through(self, equations: list[Equation], places: dict[Var, list[str]]) -> list[str] | None:
        """The lines of one time through a row: before the loop over it, the loop, and after it."""
        before, inner, after = list[str](), list[str](), list[str]()
        count = "n" if self.one_row else str(self.columns)
        names = {var: _name(var) for var in (*self.body.inputs, *(e.out for e in self.body.equations))}
        known = set[Var]()

        def put(lines: list[str], var: Var, value: str, into: list[str]) -> None:
            lines += [f"{_name(var)} = {value}", *(f"{place} = {_name(var)}" for place in into)]
            known.add(var)

        def load(var: Var) -> None:
            if var not in known and var in places and (self._is_whole(var) or var in self.hows):
                first, *rest = places[var]
                put(inner, var, first, rest if var in self.hows else [])

        for equation in equations:
            out = equation.out
            if equation.name in ROW_REDUCERS:
                source = equation.args[0]
                load(source)
                value = f"{ROW_REDUCERS[equation.name]}(w{self.room.index(source)}, {count})"
                into = [f"p{self.totals.index(out)}[i]"] if out in self.totals else places.get(out, [])
                put(after, out, value, into)
                continue
            text = expression(equation, names)
            if text is None:
                return None
            if self._is_whole(out):
                for var in equation.reads:
                    load(var)
            put(inner if self._is_whole(out) else before, out, f"{KINDS[out.dtype.name]}({text})", places.get(out, []))
        loop = [f"for j in range({count}):", *(f"    {line}" for line in inner)] if inner else []
        return [*before, *loop, *after]


def _name(var: Var) -> str:
    return f"v{var.number}"


def _seen(shape: tuple[int, ...], whole: tuple[int, ...], split: int) -> str | None:
    """How an operand of this shape stretches to the whole, whose axes before ``split`` are rows, the others columns.

    A "channel" is a number for some rows in turn: the bias (8, 1, 1) for images (64, 8, 28, 28) in 512 rows.
    """
    full = (1,) * (len(whole) - len(shape)) + shape
    head, tail = full[:split], full[split:]
    if full == whole:
        return "whole"
    if math.prod(full) == 1:
        return "number"
    if tail == whole[split:] and math.prod(head) == 1:
        return "row"
    if math.prod(tail) == 1 and head == whole[:split]:
        return "column"
    if math.prod(tail) == 1 and head and math.prod(head) == head[-1] == whole[split - 1]:
        return "channel"
    return None


def expression(equation: Equation, names: Mapping[Var, str]) -> str | None:
    """An equation as an expression of numbers; None where there is no form for it."""
    kinds = {arg.dtype.name for arg in equation.args if isinstance(arg, Var)} | {equation.out.dtype.name}
    if not kinds <= set(KINDS):
        return None
    floats = [arg.dtype for arg in equation.args if isinstance(arg, Var) and arg.dtype.kind == "f"]
    kind = KINDS[(floats[0] if floats else equation.out.dtype).name]
    words = []
    for arg in equation.args[:1] if equation.name == "astype" else equation.args:
        if isinstance(arg, Var):
            words.append(names[arg])
        elif type(arg) in (int, float, bool):
            to = kind if kind != "b1" else "i8"
            words.append(f"{to}({arg!r})" if math.isfinite(arg) else f"{to}(math.{'nan' if arg != arg else 'inf'})")
            if arg == -math.inf:
                words[-1] = f"{to}(-math.inf)"
        else:
            return None
    if equation.name in SYMBOLS:
        return f"{words[0]} {SYMBOLS[equation.name]} {words[1]}"
    form = FORMS.get(equation.name)
    if form is None or (equation.name == "invert" and equation.out.dtype != np.bool_):
        return None
    if "_{kind}" in form and kind not in ("f4", "f8"):
        return None
    return form.format(*words, kind=kind, zero=f"{kind}(0)")


_COMPILED: dict[tuple[str, bool, bool], Callable[..., Any]] = {}


def machine_code(
    source: str, rearranged: bool = False, jit: bool = True, names: Mapping[str, Any] | None = None, inner: bool = False
) -> Callable[..., Any]:
    """The function ``run`` of this source as machine code, once for each source.

    With ``rearranged`` its sums may be taken in another order. It may call what ``names`` says, besides the words of
    all loops. Without ``jit`` it stays Python. An ``inner`` one is called by machine code only.
    """
    key = source, rearranged, inner
    if key in _COMPILED and jit and names is None:
        return _COMPILED[key]
    namespace = {**(words() if jit else _PLAIN), **(names or {})}
    exec(compile(source, "<compiled kernel>", "exec"), namespace)
    if not jit:
        return _silent(namespace["run"])
    settings: dict[str, Any] = {"fastmath": {"reassoc", "contract"}} if rearranged else {}
    if inner:  # called by machine code only, so it needs no way in from Python
        settings |= {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    found: Callable[..., Any] = _numba().njit(error_model="numpy", nogil=True, **settings)(namespace["run"])
    if names is None:
        _COMPILED[key] = found
    return found


def _silent(run: Callable[..., Any]) -> Callable[..., Any]:
    """The function without NumPy's warnings, which machine code has none of."""

    def silent(*arrays: Any) -> Any:
        with np.errstate(all="ignore"):
            return run(*arrays)

    return silent


def _numba() -> Any:
    """Numba. Raises `MissingPackageError` if it is not installed."""
    try:
        import numba
    except ImportError:
        why, mend = "its loops are compiled by Numba, which is not installed", "pip install 'tinygrad_edu[compile]'"
        raise MissingPackageError('compile(backend="numba")', why, mend) from None
    return numba


@cache
def words() -> dict[str, Any]:
    """What the loops may call. Made when Numba is first needed, which takes a second to import."""
    numba: Any = _numba()
    from llvmlite import ir
    from numba.core import types
    from numba.extending import intrinsic

    f4: Any = np.float32
    i4: Any = np.int32

    def float_of_bits(context: Any, bits: Any) -> Any:
        """The float with these bits."""
        return types.float32(types.int32), lambda c, builder, s, given: builder.bitcast(given[0], ir.FloatType())

    def bits_of_float(context: Any, number: Any) -> Any:
        """The bits of a float."""
        return types.int32(types.float32), lambda c, builder, s, given: builder.bitcast(given[0], ir.IntType(32))

    as_float: Any = intrinsic(float_of_bits)
    as_bits: Any = intrinsic(bits_of_float)
    inline = numba.njit(inline="always", error_model="numpy")
    function: Any = numba.njit(error_model="numpy", fastmath={"contract"})  # one rounding for a product and its sum

    @function  # type: ignore[untyped-decorator]
    def of_fraction(r: Any) -> Any:
        """exp(r) - 1 for |r| up to log 2 / 2, after Cephes' expf."""
        p = f4(1.9875691500e-4) * r + f4(1.3981999507e-3)
        p = p * r + f4(8.3334519073e-3)
        p = p * r + f4(4.1665795894e-2)
        p = p * r + f4(1.6666665459e-1)
        p = p * r + f4(5.0000001201e-1)
        return p * (r * r) + r

    @function  # type: ignore[untyped-decorator]
    def exp_f4(x: Any) -> Any:
        """2**n times that of what is left."""
        y = min(max(x, f4(-104.0)), f4(89.0))
        n = math.floor(y * f4(1.44269504088896341) + f4(0.5))
        p = of_fraction(y - n * f4(0.693359375) + n * f4(2.12194440e-4)) + f4(1.0)
        half = i4(n) >> i4(1)  # in two steps: 2**128 and the smallest numbers have no exponent of their own
        scaled = p * as_float((half + i4(127)) << i4(23)) * as_float((i4(n) - half + i4(127)) << i4(23))
        return x if x != x else scaled

    @function  # type: ignore[untyped-decorator]
    def log_f4(x: Any) -> Any:
        """The exponent times log 2, and a polynomial of the fraction, after Cephes' logf."""
        tiny = x < f4(1.17549435e-38)
        y = x * f4(8388608.0) if tiny else x
        bits: Any = as_bits(y)
        e = f4((bits >> i4(23)) - i4(126)) - (f4(23.0) if tiny else f4(0.0))
        m = as_float((bits & i4(0x007FFFFF)) | i4(0x3F000000))
        low = m < f4(0.707106781186547524)
        e = e - f4(1.0) if low else e
        m = m + m - f4(1.0) if low else m - f4(1.0)
        z = m * m
        p = f4(7.0376836292e-2) * m - f4(1.1514610310e-1)
        p = p * m + f4(1.1676998740e-1)
        p = p * m - f4(1.2420140846e-1)
        p = p * m + f4(1.4249322787e-1)
        p = p * m - f4(1.6668057665e-1)
        p = p * m + f4(2.0000714765e-1)
        p = p * m - f4(2.4999993993e-1)
        p = p * m + f4(3.3333331174e-1)
        p = p * m * z + e * f4(-2.12194440e-4) - f4(0.5) * z
        found = m + p + e * f4(0.693359375)
        found = f4(math.inf) if x == f4(math.inf) else found
        found = f4(-math.inf) if x == f4(0.0) else found
        return f4(math.nan) if (x < f4(0.0) or x != x) else found

    @function  # type: ignore[untyped-decorator]
    def tanh_f4(x: Any) -> Any:
        """e / (e + 2), where e is exp(2|x|) - 1, which keeps its digits near 0."""
        y = f4(2.0) * min(abs(x), f4(10.0))
        n = math.floor(y * f4(1.44269504088896341) + f4(0.5))
        scale = as_float((i4(n) + i4(127)) << i4(23))
        e = scale * of_fraction(y - n * f4(0.693359375) + n * f4(2.12194440e-4)) + (scale - f4(1.0))
        found = math.copysign(e / (e + f4(2.0)), x)
        return x if x != x else found

    @function  # type: ignore[untyped-decorator]
    def sigmoid_f4(x: Any) -> Any:
        e = exp_f4(-abs(x))
        return (f4(1.0) if x >= f4(0.0) or x != x else e) / (f4(1.0) + e)

    @inline  # type: ignore[untyped-decorator]
    def sigmoid_f8(x: Any) -> Any:
        e = math.exp(-abs(x))
        return (1.0 if x >= 0.0 or x != x else e) / (1.0 + e)

    @numba.njit(fastmath={"reassoc"})  # type: ignore[untyped-decorator]
    def total(x: Any, n: int) -> Any:
        found = 0.0  # of 64 bits
        for k in range(0, n, 1024):  # each lane of the processor adds few one by one
            part = x.dtype.type(0)
            for j in range(k, min(k + 1024, n)):
                part += x[j]
            found += part
        return x.dtype.type(found)

    @inline  # type: ignore[untyped-decorator]
    def larger(x: Any, y: Any) -> Any:
        return x if (x >= y or x != x) else y

    @inline  # type: ignore[untyped-decorator]
    def smaller(x: Any, y: Any) -> Any:
        return x if (x <= y or x != x) else y

    def reduced(better: Any) -> Any:
        """The best of the first n numbers, by four comparisons at once that do not wait for each other."""

        def best(x: Any, n: int) -> Any:
            a = b = c = d = x[0]
            whole = n - n % 4
            for j in range(0, whole, 4):
                a, b, c, d = better(a, x[j]), better(b, x[j + 1]), better(c, x[j + 2]), better(d, x[j + 3])
            for j in range(whole, n):
                a = better(a, x[j])
            return better(better(a, b), better(c, d))

        return numba.njit(error_model="numpy")(best)

    return {
        "math": math, "floor": np.floor, "ceil": np.ceil, "contiguous": np.ascontiguousarray,
        "exp_f4": exp_f4, "log_f4": log_f4, "tanh_f4": tanh_f4, "sigmoid_f4": sigmoid_f4,
        "exp_f8": math.exp, "log_f8": _log_f8(inline), "tanh_f8": math.tanh, "sigmoid_f8": sigmoid_f8,
        "total": total, "largest": reduced(larger), "smallest": reduced(smaller),
        "f4": f4, "f8": np.float64, "i8": np.int64, "i4": i4, "u1": np.uint8, "u8": np.uint64,
        "b1": bool,
    }  # fmt: skip


def _sigmoid(x: Any) -> Any:
    e = np.exp(-abs(x))
    return (type(x)(1) if x >= 0 or x != x else e) / (1 + e)


_PLAIN: dict[str, Any] = {  # the same words for loops that stay Python
    "math": SimpleNamespace(
        sqrt=np.sqrt, sin=np.sin, cos=np.cos, expm1=np.expm1, log1p=np.log1p, inf=math.inf, nan=math.nan
    ),
    "floor": np.floor, "ceil": np.ceil, "contiguous": np.ascontiguousarray, "f4": np.float32, "f8": np.float64,
    **{name: (lambda x, n, add=add: add.reduce(x[:n]))
       for name, add in (("total", np.add), ("largest", np.maximum), ("smallest", np.minimum))},
    "i8": np.int64, "i4": np.int32, "u1": np.uint8, "u8": np.uint64, "b1": bool,
    **{f"{name}_{kind}": found for kind in ("f4", "f8")
       for name, found in (("exp", np.exp), ("log", np.log), ("tanh", np.tanh), ("sigmoid", _sigmoid))},
}  # fmt: skip


def _log_f8(inline: Any) -> Any:
    def log_f8(x: float) -> float:
        """math.log raises where NumPy gives -inf and nan."""
        return math.log(x) if x > 0.0 else (-math.inf if x == 0.0 else math.nan)

    return inline(log_f8)
