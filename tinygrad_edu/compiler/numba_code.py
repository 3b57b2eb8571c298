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
from .passes import SYMBOLS

LEAST = 1 << 13  # elements times equations: below, starting a kernel costs more than it saves
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


class Kernel:
    """A compiled loop, and how its operands are to be looked at: "whole", "row", "column" or "number"."""

    def __init__(self, run: Callable[..., None], views: list[tuple[str, tuple[int, ...]]], source: str) -> None:
        self.run, self.views, self.source = run, views, source


def kernel(equation: Equation) -> Kernel | None:
    """The loop of a kernel equation; None where it is too small, or has something that there is no form for."""
    body = equation.body
    assert body is not None
    shape = body.equations[0].out.shape
    if math.prod(shape) * len(body.equations) < LEAST and len(body.equations) < MANY:
        return None
    found = _written(body, shape)
    if found is None:
        return None
    source, views = found
    return Kernel(machine_code(source), views, source)


def _written(body: Program, shape: tuple[int, ...]) -> tuple[str, list[tuple[str, tuple[int, ...]]]] | None:
    """The source of a loop, and the shapes in which it wants its operands."""
    columns = shape[-1]
    rows = math.prod(shape[:-1])
    names: dict[Var, str] = {}
    views: list[tuple[str, tuple[int, ...]]] = []
    loads: list[str] = []
    for i, var in enumerate(body.inputs):
        if var.dtype.name not in KINDS:
            return None
        how = _seen(var.shape, shape)
        if how is None:
            return None
        views.append((how, {"whole": (rows, columns), "row": (columns,), "column": (rows,), "number": (1,)}[how]))
        names[var] = f"x{i}"
        loads.append(f"x{i} = a{i}{ {'whole': '[i, j]', 'row': '[j]', 'column': '[i]', 'number': '[0]'}[how] }")
    lines: list[str] = []
    for equation in body.equations:
        text = expression(equation, names)
        if text is None:
            return None
        names[equation.out] = f"t{equation.out.number}"
        lines.append(f"t{equation.out.number} = {KINDS[equation.out.dtype.name]}({text})")
    stores = [f"o{i}[i, j] = {names[var]}" for i, var in enumerate(body.outputs)]
    parameters = [*(f"a{i}" for i in range(len(body.inputs))), *(f"o{i}" for i in range(len(body.outputs)))]
    inner = "".join(f"            {line}\n" for line in (*loads, *lines, *stores))
    head = f"def run({', '.join(parameters)}):\n    for i in range({rows}):\n        for j in range({columns}):\n"
    return head + inner, views


def _seen(shape: tuple[int, ...], whole: tuple[int, ...]) -> str | None:
    """How an operand of this shape stretches to the whole."""
    if shape == whole:
        return "whole"
    if math.prod(shape) == 1:
        return "number"
    if math.prod(shape) == whole[-1] == shape[-1]:
        return "row"
    if len(shape) == len(whole) and shape[:-1] == whole[:-1] and shape[-1] == 1:
        return "column"
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

    @inline  # type: ignore[untyped-decorator]
    def exp_f4(x: Any) -> Any:
        """2**n times a polynomial of what is left, after Cephes' expf."""
        y = min(max(x, f4(-104.0)), f4(89.0))
        n = math.floor(y * f4(1.44269504088896341) + f4(0.5))
        r = y - n * f4(0.693359375) + n * f4(2.12194440e-4)
        p = f4(1.9875691500e-4) * r + f4(1.3981999507e-3)
        p = p * r + f4(8.3334519073e-3)
        p = p * r + f4(4.1665795894e-2)
        p = p * r + f4(1.6666665459e-1)
        p = p * r + f4(5.0000001201e-1)
        p = p * r * r + r + f4(1.0)
        half = i4(n) >> i4(1)  # in two steps: 2**128 and the smallest numbers have no exponent of their own
        scaled = p * as_float((half + i4(127)) << i4(23)) * as_float((i4(n) - half + i4(127)) << i4(23))
        return x if x != x else scaled

    @inline  # type: ignore[untyped-decorator]
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

    @inline  # type: ignore[untyped-decorator]
    def tanh_f4(x: Any) -> Any:
        """Near 0 a polynomial, else by exp, after Cephes' tanhf."""
        z = x * x
        p = f4(-5.70498872745e-3) * z + f4(2.06390887954e-2)
        p = p * z - f4(5.37397155531e-2)
        p = p * z + f4(1.33314422036e-1)
        p = p * z - f4(3.33332819422e-1)
        near = p * z * x + x
        far = f4(1.0) - f4(2.0) / (exp_f4(f4(2.0) * abs(x)) + f4(1.0))
        far = -far if x < f4(0.0) else far
        near = x if x == f4(0.0) else near  # -0.0 stays
        return near if abs(x) < f4(0.625) else far

    @inline  # type: ignore[untyped-decorator]
    def sigmoid_f4(x: Any) -> Any:
        e = exp_f4(-abs(x))
        return (f4(1.0) if x >= f4(0.0) or x != x else e) / (f4(1.0) + e)

    @inline  # type: ignore[untyped-decorator]
    def sigmoid_f8(x: Any) -> Any:
        e = math.exp(-abs(x))
        return (1.0 if x >= 0.0 or x != x else e) / (1.0 + e)

    return {
        "math": math, "floor": np.floor, "ceil": np.ceil, "contiguous": np.ascontiguousarray,
        "exp_f4": exp_f4, "log_f4": log_f4, "tanh_f4": tanh_f4, "sigmoid_f4": sigmoid_f4,
        "exp_f8": math.exp, "log_f8": _log_f8(inline), "tanh_f8": math.tanh, "sigmoid_f8": sigmoid_f8,
        "f4": f4, "f8": np.float64, "i8": np.int64, "i4": i4, "u1": np.uint8, "b1": bool,
    }  # fmt: skip


def _sigmoid(x: Any) -> Any:
    e = np.exp(-abs(x))
    return (type(x)(1) if x >= 0 or x != x else e) / (1 + e)


_PLAIN: dict[str, Any] = {  # the same words for loops that stay Python
    "math": SimpleNamespace(
        sqrt=np.sqrt, sin=np.sin, cos=np.cos, expm1=np.expm1, log1p=np.log1p, inf=math.inf, nan=math.nan
    ),
    "floor": np.floor, "ceil": np.ceil, "contiguous": np.ascontiguousarray, "f4": np.float32, "f8": np.float64,
    "i8": np.int64, "i4": np.int32, "u1": np.uint8, "b1": bool,
    **{f"{name}_{kind}": found for kind in ("f4", "f8")
       for name, found in (("exp", np.exp), ("log", np.log), ("tanh", np.tanh), ("sigmoid", _sigmoid))},
}  # fmt: skip


def _log_f8(inline: Any) -> Any:
    def log_f8(x: float) -> float:
        """math.log raises where NumPy gives -inf and nan."""
        return math.log(x) if x > 0.0 else (-math.inf if x == 0.0 else math.nan)

    return inline(log_f8)
