"""A kernel of elementwise equations in CUDA C++, as CuPy's `ElementwiseKernel` takes it: what happens to each element.

CuPy compiles it for the GPU that is there, and stretches operands that are smaller. All types are written out, so that
none depends on rules for mixed ones.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from .ir import Equation, Program, Var
from .passes import SYMBOLS

TYPES = {
    "float32": "float", "float64": "double", "int64": "long long", "int32": "int", "uint8": "unsigned char",
    "bool": "bool",
}  # fmt: skip
_FLOATS = {
    "exp": "exp", "expm1": "expm1", "log": "log", "log1p": "log1p", "log2": "log2", "log10": "log10", "tanh": "tanh",
    "sqrt": "sqrt", "sin": "sin", "cos": "cos", "tan": "tan", "arcsin": "asin", "arccos": "acos", "arctan": "atan",
    "arctan2": "atan2", "sinh": "sinh", "cosh": "cosh", "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh",
    "floor": "floor", "ceil": "ceil", "round": "rint", "sigmoid": "edu_sigmoid",
}  # fmt: skip
_ANY = {"relu": "edu_relu", "maximum": "edu_maximum", "minimum": "edu_minimum", "where": "edu_where", "abs": "edu_abs"}
PREAMBLE = """
template <typename T> __device__ T edu_relu(T x) { return x > T(0) || x != x ? x : T(0); }
template <typename T> __device__ T edu_maximum(T x, T y) { return x >= y || x != x ? x : y; }
template <typename T> __device__ T edu_minimum(T x, T y) { return x <= y || x != x ? x : y; }
template <typename T> __device__ T edu_where(bool c, T x, T y) { return c ? x : y; }
template <typename T> __device__ T edu_abs(T x) { return x < T(0) ? -x : x + T(0); }
template <typename T> __device__ T edu_sigmoid(T x) { return T(1) / (T(1) + exp(-x)); }
"""


class Source(NamedTuple):
    """The parts of a kernel: its parameters, those that it writes, and its lines."""

    inputs: str
    outputs: str
    lines: str


def source(body: Program) -> Source | None:
    """The kernel of a body; None where it holds something that there is no form for."""
    lines = []
    for equation in body.equations:
        expression = _expression(equation)
        if expression is None:
            return None
        lines.append(f"const {TYPES[equation.out.dtype.name]} {equation.out} = {expression};")
    if any(var.dtype.name not in TYPES for var in body.inputs):
        return None
    lines += [f"out{i} = {var};" for i, var in enumerate(body.outputs)]
    return Source(
        ", ".join(f"{var.dtype.name} {var}" for var in body.inputs),
        ", ".join(f"{var.dtype.name} out{i}" for i, var in enumerate(body.outputs)),
        "\n".join(lines),
    )


def _expression(equation: Equation) -> str | None:
    """An equation as an expression of one element; None where there is no form for it."""
    name, out = equation.name, equation.out
    args = equation.args[:1] if name == "astype" else equation.args
    if not {arg.dtype.name for arg in args if isinstance(arg, Var)} | {out.dtype.name} <= set(TYPES):
        return None
    if name == "astype":
        return _cast(args[0], out) if isinstance(args[0], Var) else None
    known = [arg.dtype for arg in (args[1:] if name == "where" else args) if isinstance(arg, Var)]
    kind = known[0] if known else out.dtype
    words = [_word(arg, kind) for arg in args]
    if None in words or any(dtype != kind for dtype in known):
        return None
    if name in SYMBOLS:
        fits = kind.kind == "f" if name == "div" else kind.kind != "b" or name in ("eq", "ne", "and", "or", "xor")
        return f"{words[0]} {SYMBOLS[name]} {words[1]}" if fits else None
    if name == "neg":
        return f"-{words[0]}" if kind.kind != "b" else None
    if name == "invert":
        return f"!{words[0]}" if kind.kind == "b" else None
    function = (_FLOATS.get(name) if kind.kind == "f" else None) or _ANY.get(name)
    return None if function is None else f"{function}({', '.join(map(str, words))})"


def _cast(var: Var, out: Var) -> str | None:
    """A cast. What a float becomes as an integer that cannot hold it is not the same everywhere."""
    if out.dtype.kind == "b":
        return f"{var} != {_word(0, var.dtype)}" if var.dtype.kind != "b" else str(var)
    if var.dtype.kind == "f" and out.dtype.kind != "f":
        return None
    return f"static_cast<{TYPES[out.dtype.name]}>({var})"


def _word(arg: Any, kind: Any) -> str | None:
    """A variable, or a number of the dtype that it meets."""
    if isinstance(arg, Var):
        return str(arg)
    if type(arg) not in (bool, int, float) or not math.isfinite(arg):
        return None
    if kind.kind == "f":
        number = repr(kind.type(arg).item())
        return f"({number}f)" if kind.itemsize == 4 else f"({number})"
    if type(arg) is float:
        return None
    return str(arg).lower() if kind.kind == "b" else f"static_cast<{TYPES[kind.name]}>({arg})"
