"""From a call to a result. Every op has a caller of its own, generated once from its signature and its `saves`.

The caller does the usual case by itself: *plain* tensors, which hold NumPy arrays of one dtype outside any trace, with
nobody watching. The class of a tensor and `m.plain` show whether that is so, which makes it cheap to ask. Everything
else goes to `core.slow`, which looks up how these operands meet and then runs the op's *runner*: the same lines
without the questions, for any one device and any one dtype. Both record in the same way.
Read them: ``print(OPS["mul"].source)``, ``print(write_runner(OPS["mul"]))``.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any

import numpy as np

from ..backends.cpu import XP
from ..common.lines import own, pose_as_file
from ..dtypes import FLOATS, float32
from ..settings import modes
from . import guard
from .above import above
from .graph import Node
from .op import REQUIRED, Op, Save
from .storage import clock, number, writing

# The text of callers and runners ---------------------------------------------------------------------------------


def _saved_expression(op: type[Op], save: Save) -> str:
    if save.source in ("out", "cache"):
        value = save.source
    else:
        value = f"{save.source}_a" if save.source in op.operands else save.source
    if save.part:
        many = op.variadic and save.source in op.operands
        value = f"tuple([a.{save.part} for a in {value}])" if many else f"{value}.{save.part}"
    return f"({value} if {save.needed_by}_n is not None else None)" if save.needed_by else value


def _keywords(op: type[Op]) -> str:
    return "".join(f", {p}={p}" for p in op.params)


def _given(op: type[Op]) -> str:
    """The operands and parameters of a call, as `slow`, `into` and `fail` take them."""
    operands = op.operands[0] if op.variadic else f"({', '.join(op.operands)},)"
    return f"op, {operands}, dict({_keywords(op)[2:]})"


def write_caller(op: type[Op], out: bool = False) -> str:
    """The source of the op's caller, in PyTorch's names; with ``out``, of the one that takes ``out=`` too."""
    signature = [f"{n}=None" if n in op.optional else n for n in op.operands]
    signature += ["*", *_defaults(op), *["out=None"] * out] if op.params or out else []
    give_up = f"return slow({_given(op)})" + f" if out is None else into({_given(op)}, out)" * out
    lines = [f"def {op.name}({', '.join(signature)}):", f"    # generated for {op.__module__}.{op.__qualname__}"]
    lines += ["    m = modes()", f"    if not m.plain: {give_up}"]
    meeting = _meeting(op)
    for n in op.operands:
        lines += _operand_lines(op, n, meeting, give_up)
    if len(meeting) == 2 and not op.differentiable:  # a bool cannot show that an integer met a float
        x, y = meeting
        lines.append(f"    if not exact and d.kind != 'f' and float in (type({x}), type({y})): {give_up}")
    floats = op.dtypes in ("float", "quotient", "floating")
    if floats:  # integers have to become floats first
        lines.append(f"    if d.kind != 'f': {give_up}")
    lines += _out_lines(op) if out else []
    lines += _forward_lines(op)
    if len(meeting) > 1 and op.differentiable and not floats:
        lines.append(f"    if not exact and out.dtype is not d: return slow({_given(op)})")
    text = "\n".join([*lines, *_result_lines(op, checked=True)]) + "\n"
    # Bodies say x and y, users say input and other. The names made of them, x_a and x_n, change too.
    return re.sub(rf"\b({'|'.join(op.public)})(?=_[an]\b|\b)", lambda found: op.public[found[0]], text)


def write_runner(op: type[Op]) -> str:
    """The source of the op's runner: for arrays of any world, once `slow` has made the operands fit each other."""
    names = op.operands
    operands = [f"*{names[0]}"] if op.variadic else [*names, *["*"] * bool(op.params)]
    lines = [f"def {op.name}({', '.join(['m', 'line', *operands, *op.params])}):"]
    for n in names:
        if op.variadic:
            lines.append(f"    {n}_a = [x.array for x in {n}]; {n}_n = tuple([x.node for x in {n}])")
        else:
            lines.append(f"    if type({n}) in NUMBERS: {n}_a = {n}; {n}_n = None")
            lines.append(f"    else: {n}_a = {n}.array; {n}_n = {n}.node")
    if op.narrow:  # computed with in 32 bits, kept in 16: see `core.narrow`
        for n in names:
            wide = f"XP.astype({n}_a, WIDE)"
            lines.append(f"    {n}_w = {n}_a if type({n}) in NUMBERS or {n}_a.dtype != NARROW else {wide}")
    return "\n".join([*lines, *_forward_lines(op), *_result_lines(op, checked=False)]) + "\n"


def _out_lines(op: type[Op]) -> list[str]:
    """Write the result straight into ``out``, where nothing about that is special.

    The generated text notes the write as `Storage.written` does, without the call.
    """
    names, into = op.operands, f"into({_given(op)}, out)"
    if not op.into or op.params or op.dtypes == "each":
        return [f"    if out is not None: return {into}"]
    shapes = " == ".join(["s", *(f"{n}_a.shape" for n in names)])
    if len(_meeting(op)) == 2:  # one of them may be a number
        x, y = names
        shapes = f"({shapes} if exact else s == ({y} if type({x}) in SCALARS else {x}).array.shape)"
    tracked = " or ".join(f"{n}_n is not None" for n in names)
    return [
        "    if out is not None:",
        "        if type(out) is Tensor and (g := out.storage) is not None and out.origin is None:",
        "            o = out.array; s = o.shape",
        f"            if s and o.dtype is d and o.flags.carray and {shapes} and not (",
        f"                m.grad and (out.node is not None or {tracked})",
        "            ):",
        "                try:",
        f"                    UFUNC({', '.join(f'{n}_a' for n in names)}{', *EXTRA' * (len(op.into) > 1)}, o)",
        *(f"                {line}" for line in _line_lines("w")),
        "                    with writing: g.stamp = clock.last_write = number()",
        f"                    g.writer = ('{op.name}(…, out=…)', w)",
        f"                except Exception: return {into}",
        f"                except BaseException: g.written('{op.name}', None); raise",  # Ctrl-C: it may be written
        "                return out",
        f"        return {into}",
    ]


def _line_lines(name: str, known: str = "m.line") -> list[str]:
    """Find the user's line: `lines.user_line`, without the call."""
    return [
        f"    {name} = {known}",
        f"    if {name} is None:",
        "        f = frame(1); code = f.f_code",
        "        while own[code.co_filename] and f.f_back is not None: f = f.f_back; code = f.f_code",
        f"        {name} = (code, f.f_lasti)",
    ]


def _forward_lines(op: type[Op]) -> list[str]:
    kind = "w" if op.narrow else "a"
    arrays = f", *{op.operands[0]}_a" if op.variadic else "".join(f", {n}_{kind}" for n in op.operands)
    rounded = ["    if FLOATS[out.dtype]: out = XP.astype(out, NARROW)"] * (op.narrow is not None)
    return [
        f"    try: {'out, cache' if op.caches else 'out'} = forward(XP{arrays}{_keywords(op)})",
        f"    except Exception as error: fail({_given(op)}, error)",
        *rounded,
    ]


def _result_lines(op: type[Op], checked: bool) -> list[str]:
    """The tensor, and its place in the graph. Without the caller's checks, the result may be of any class or dtype."""
    known = checked and not op.converts
    lines = [
        f"    t = new({'Tensor' if known else 'classes[type(out), out.dtype]'}); t.array = out; t.parameter = False",
        "    t.storage = t.gradient = t.origin = t.name = None",
    ]
    lines += _recording_lines(op, checked, known) if op.differentiable else ["    t.node = None"]
    if op.view:
        lines.append(f"    adopt(t, {op.operands[0]}, op, dict({_keywords(op)[2:]}))")
    return [*lines, "    return t"]


def _meeting(op: type[Op]) -> tuple[str, ...]:
    """The operands that must have one dtype."""
    if op.dtypes == "each":
        return ()
    return op.operands[1:] if op.dtypes == "where" else op.operands


def _operand_lines(op: type[Op], n: str, meeting: tuple[str, ...], give_up: str) -> list[str]:
    """Take one operand apart into array ``n_a`` and node ``n_n``; ``d`` is the dtype in which operands meet."""
    lines = [f"    if type({n}) is Tensor:", f"        {n}_a = {n}.array; {n}_n = {n}.node"]
    if n in op.optional:
        lines.append(f"    elif {n} is None: {n}_a = {n}_n = None")
    if n in meeting[:1]:
        lines[1] += f"; d = {n}_a.dtype" + ("; exact = True" if len(meeting) > 1 else "")
        if len(meeting) == 2:
            other = meeting[1]
            lines.append(
                f"    elif type({n}) in SCALARS and type({other}) is Tensor: "
                f"{n}_a = {n}; {n}_n = None; d = {other}.array.dtype; exact = False"
            )
    elif n in meeting:
        lines.insert(2, f"        if {n}_a.dtype is not d: {give_up}")
        if op.broadcasts or len(meeting) == 2:
            lines.append(f"    elif type({n}) in SCALARS: {n}_a = {n}; {n}_n = None; exact = False")
    return [*lines, f"    else: {give_up}"]


def _defaults(op: type[Op]) -> list[str]:
    return [p if d is REQUIRED else f"{p}={d!r}" for p, d in op.params.items()]


def _recording_lines(op: type[Op], checked: bool, known: bool) -> list[str]:
    """Make the node, if gradients are on and some operand wants one."""
    names = op.operands
    if op.variadic:
        tracked, parents = f"{names[0]}_n.count(None) < len({names[0]}_n)", f"{names[0]}_n"
    else:
        tracked = " or ".join(f"{n}_n is not None" for n in names)
        parents = f"({', '.join(f'{n}_n' for n in names)},)"
    saved = "".join(_saved_expression(op, save) + ", " for save in op.save_plan)
    lines = [
        f"    if m.grad and ({tracked}){'' if known else ' and FLOATS[out.dtype]'}:",
        f"        n = t.node = new(Node); n.op = op; n.parents = {parents}",
        f"        n.saved = ({saved}); n.extra = None; n.scope = m.scope; n.number = number()",
        *_shapes_lines(op, checked),
        *(f"    {line}" for line in _line_lines("n.line", "m.line" if checked else "line or m.line")),
    ]
    for save in op.save_plan:
        if save.source in names and not save.part and not op.variadic:
            # What the node saves and user code can reach is locked for as long as the node lives: see `core.guard`.
            x, needed = save.source, f" and {save.needed_by}_n is not None" if save.needed_by else ""
            lines.append(
                f"        if {_is_tensor(op, x, checked)}{x}.storage is not None and {x}.storage.reachable{needed} "
                f"and m.guard != 'off': hold(n, {x}.storage)"
            )
    return [*lines, "    else:", "        t.node = None"]


def _shapes_lines(op: type[Op], checked: bool) -> list[str]:
    """Remember the operands' shapes where they were broadcast."""
    names = op.operands
    if not op.broadcasts:
        return ["        n.shapes = None"]
    if len(names) == 2 and checked:
        x, y = names
        return [
            f"        if not exact or {x}_a.shape == {y}_a.shape: n.shapes = None",
            f"        else: n.shapes = ({x}_a.shape, {y}_a.shape)",
        ]
    shapes = f"({', '.join(f'getattr({n}_a, {chr(39)}shape{chr(39)}, ())' for n in names)},)"
    if len(names) == 2:  # next to a Python number nothing is stretched: the result has the operand's shape
        x, y = names
        alone = f"type({x}) in NUMBERS or type({y}) in NUMBERS"
        return [f"        s = {shapes}; n.shapes = None if s[0] == s[1] or {alone} else s"]
    return [f"        n.shapes = {shapes}"]


def _is_tensor(op: type[Op], x: str, checked: bool) -> str:
    """The test whether ``x`` is a tensor, where it may be a number or None."""
    if not checked:
        return f"type({x}) not in NUMBERS and "
    numbers = x in _meeting(op) and (op.broadcasts or len(_meeting(op)) == 2)
    return f"type({x}) is Tensor and " if numbers or x in op.optional else ""


# From text to functions --------------------------------------------------------------------------------------------


def _scope(op: type[Op], xp: Any) -> dict[str, Any]:
    """The globals of callers and runners."""
    body: Any = op if op.narrow is None else op.__base__  # runners widen and round by themselves
    return {
        "op": op, "XP": xp, "forward": body.forward, "NARROW": op.narrow, "WIDE": float32, "FLOATS": FLOATS,
        "SCALARS": frozenset((int, float)), "NUMBERS": frozenset((int, float, bool, type(None))),
        "Tensor": above.Tensor, "classes": above.classes, "new": object.__new__, "Node": Node, "number": number,
        "modes": modes, "frame": sys._getframe, "own": own, "hold": guard.hold, "adopt": above.adopt,
        "slow": above.slow, "into": above.into, "fail": above.fail, "clock": clock, "writing": writing,
        "UFUNC": getattr(np, op.into[0], None) if op.into else None, "EXTRA": op.into[1:],
    }  # fmt: skip


def _compiled(op: type[Op], source: str, what: str) -> Any:
    made: dict[str, Any] = {}
    exec(compile(source, pose_as_file(f"{what}/{op.name}", lambda: source), "exec"), {}, made)
    return made[op.name]


def _make_runner(op: type[Op], xp: Any) -> Callable[..., Any]:
    """The function that does this op in one world, for operands that `slow` has brought together."""
    what = "runners" if op.narrow is None else f"runners/{op.narrow}"
    return FunctionType(_compiled(op, write_runner(op), what).__code__, _scope(op, xp), op.name)


runner: Any = cache(_make_runner)


def caller(op: type[Op], out: bool = False) -> Callable[..., Any]:
    """The function that learners and `Tensor` call for this op; with ``out``, it takes ``out=`` as in PyTorch."""
    if op.variadic:
        return slow_caller(op)
    scope = {"op": op, "out": out, "forward": op.forward, "compile_caller": _compile_caller}
    what = "callers_with_out" if out else "callers"
    file = pose_as_file(f"{what}/{op.name}", lambda: write_caller(op, out))
    function: Any = FunctionType(_FIRST_CALL.replace(co_filename=file), scope, op.name)
    scope["caller"] = function
    function.__doc__, function.__module__, function.__qualname__ = op.__doc__, op.__module__, op.name
    function.__signature__ = above.signature(op, out)
    return function


# Compiling is most of what importing the ops would cost, and few programs use all of them: the first call does it. It
# changes the code of the function and not the function, because modules and `Tensor` have taken hold of that already.
_FIRST_CALL = compile(
    "def first_call(*operands, **params): compile_caller(op, caller, out); return caller(*operands, **params)",
    "",
    "exec",
).co_consts[0]


def _compile_caller(op: type[Op], function: Any, out: bool) -> None:
    """Give ``function`` the code of the op's source. Two threads may both do it: they do the same."""
    real = _compiled(op, write_caller(op, out), "callers_with_out" if out else "callers")
    function.__globals__.update({**_scope(op, XP), **function.__globals__})
    function.__defaults__, function.__kwdefaults__ = real.__defaults__, real.__kwdefaults__
    function.__code__ = real.__code__  # last: another thread may call at any time, and this needs all of the above


def slow_caller(op: type[Op]) -> Callable[..., Any]:
    """A caller without a fast path, for ops whose operands are a sequence or follow a rule of their own."""

    defaults = {name: value for name, value in op.params.items() if value is not REQUIRED}

    def call(*operands: Any, **params: Any) -> Any:
        return above.slow(op, operands, {**defaults, **params})

    call.__name__ = call.__qualname__ = op.name
    call.__doc__, call.__module__ = op.__doc__, op.__module__
    return call
