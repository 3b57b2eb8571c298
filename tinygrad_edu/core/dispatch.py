"""From a call to a result. Every op has a caller of its own, generated once from its signature and its `saves`.

The caller does the usual case, plain NumPy tensors of one dtype with nobody watching, without a detour. A single
condition sends everything else to `core.slow`, where conversion, promotion, devices, interceptors and errors live.
Read one: ``print(OPS["mul"].source)``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any

from ..backends.cpu import XP
from ..lines import PACKAGE, own
from ..settings import modes
from . import guard
from .graph import Node
from .op import REQUIRED, Op, Save
from .storage import number

# The fast path: one generated function per op -------------------------------------------------------------------


def _saved_expression(op: type[Op], save: Save) -> str:
    if save.source in ("out", "cache"):
        value = save.source
    else:
        value = f"{save.source}_a" if save.source in op.operands else save.source
    if save.part:
        value += f".{save.part}"
    return f"({value} if {save.needed_by}_n is not None else None)" if save.needed_by else value


def write_caller(op: type[Op], out: bool = False) -> str:
    """The source of the op's caller; with ``out``, of the one that takes ``out=`` too."""
    names = op.operands
    keywords = "".join(f", {p}={p}" for p in op.params)
    signature = [f"{n}=None" if n in op.optional else n for n in names]
    signature += ["*", *_defaults(op), *["out=None"] * out] if op.params or out else []
    give_up = f"return slow(op, ({', '.join(names)},), dict({keywords[2:]}))"
    lines = [f"def {op.name}({', '.join(signature)}):"]
    if out:
        lines.append(f"    if out is not None: return into(op, out, ({', '.join(names)},), dict({keywords[2:]}))")
    lines += ["    m = modes()", f"    if not m.plain: {give_up}"]
    meeting = _meeting(op)
    for n in names:
        lines += _operand_lines(op, n, meeting, give_up)
    if len(meeting) == 2 and not op.differentiable:  # a bool does not tell in which dtype it was found
        x, y = meeting
        lines.append(f"    if not exact and d.kind != 'f' and float in (type({x}), type({y})): {give_up}")
    lines += [
        "    try:",
        f"        {'out, cache' if op.caches else 'out'} = forward(XP{''.join(f', {n}_a' for n in names)}{keywords})",
        f"    except Exception: {give_up}  # meets it again, and explains",
    ]
    floats = op.dtypes in ("float", "quotient", "floating")
    if floats and len(meeting) > 2:  # whose bodies may well answer integers with an integer
        lines.insert(-3, f"    if d.kind != 'f': {give_up}")
    if meeting and op.differentiable and (len(meeting) > 1 or floats):
        exact = "" if floats else "not exact and "
        lines.append(f"    if {exact}out.dtype is not d: {give_up}")
    lines.append("    t = new(Tensor); t.array = out; t.parameter = False")
    lines.append("    t.storage = t.gradient = t.origin = t.name = None")
    lines += _recording_lines(op) if op.differentiable else ["    t.node = None"]
    if op.view:
        lines.append(f"    adopt(t, {names[0]}, op, dict({keywords[2:]}))")
    return "\n".join([*lines, "    return t"]) + "\n"


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


def _recording_lines(op: type[Op]) -> list[str]:
    """Make the node, if gradients are on and some operand wants one."""
    names = op.operands
    tracked = " or ".join(f"{n}_n is not None" for n in names)
    saved = "".join(_saved_expression(op, save) + ", " for save in op.save_plan)
    lines = [
        f"    if m.grad and ({tracked}):",
        f"        n = t.node = new(Node); n.op = op; n.parents = ({', '.join(f'{n}_n' for n in names)},)",
        f"        n.saved = ({saved}); n.extra = None; n.scope = m.scope; n.number = number()",
    ]
    if op.broadcasts and len(names) == 2:
        x, y = names
        lines += [
            f"        if not exact or {x}_a.shape == {y}_a.shape: n.shapes = None",
            f"        else: n.shapes = ({x}_a.shape, {y}_a.shape)",
        ]
    elif op.broadcasts:
        shapes = ", ".join(f"getattr({n}_a, 'shape', ())" for n in names)
        lines.append(f"        n.shapes = ({shapes})")
    else:
        lines.append("        n.shapes = None")
    lines += [
        "        n.line = m.line",
        "        if n.line is None:",
        "            f = frame(1); code = f.f_code",
        "            while own[code.co_filename] and f.f_back is not None: f = f.f_back; code = f.f_code",
        "            n.line = (code, f.f_lasti)",
    ]
    for save in op.save_plan:
        if save.source in names and not save.part:
            x, needed = save.source, f" and {save.needed_by}_n is not None" if save.needed_by else ""
            lines.append(
                f"        if {_is_tensor(op, x)}{x}.storage is not None and {x}.storage.reachable{needed} "
                f"and m.guard != 'off': hold(n, {x}.storage)"
            )
    return [*lines, "    else:", "        t.node = None"]


def _is_tensor(op: type[Op], x: str) -> str:
    """The test whether ``x`` is a tensor, where it may be a number or None."""
    numbers = x in _meeting(op) and (op.broadcasts or len(_meeting(op)) == 2)
    return f"type({x}) is Tensor and " if numbers or x in op.optional else ""


class _Source:
    """The text of an op's caller, written when somebody asks."""

    def __get__(self, instance: object, op: type[Op]) -> str:
        return write_caller(op)


Op.source = _Source()

# What generated callers see. `slow`, `into` and `Tensor` are filled in by those who define them, which stand above.
WORLD: dict[str, Any] = {
    "modes": modes, "XP": XP,  "Node": Node, "new": object.__new__, "number": number, "frame": sys._getframe,
    "own": own, "hold": guard.hold, "SCALARS": frozenset((int, float)),
}  # fmt: skip


def caller(op: type[Op], out: bool = False) -> Callable[..., Any]:
    """The function that learners and `Tensor` call for this op; with ``out``, it takes ``out=`` as in PyTorch."""
    if op.variadic:
        return slow_caller(op)
    scope = {**WORLD, "op": op, "out": out, "forward": op.forward, "compile_caller": _compile_caller}
    _SCOPES.append(scope)
    function: Any = FunctionType(_FIRST_CALL, scope, op.name)
    scope["caller"] = function
    function.__doc__, function.__module__, function.__qualname__ = op.__doc__, op.__module__, op.name
    return function


# Compiling is most of what importing the ops would cost, and few programs use all of them: the first call does it.
_FIRST_CALL = compile(
    "def first_call(*operands, **params):\n"
    "    compile_caller(op, caller, out)\n"
    "    return caller(*operands, **params)\n",
    f"{PACKAGE}generated/first_call.py",
    "exec",
).co_consts[0]


def _compile_caller(op: type[Op], function: Any, out: bool) -> None:
    """Give ``function`` the code of the op's source. Two threads may both do it: they do the same."""
    made: dict[str, Any] = {}
    exec(compile(write_caller(op, out), f"{PACKAGE}generated/{op.name}.py", "exec"), {}, made)
    real = made[op.name]
    function.__defaults__, function.__kwdefaults__ = real.__defaults__, real.__kwdefaults__
    function.__code__ = real.__code__


_SCOPES: list[dict[str, Any]] = []  # the globals of each generated caller


def install(**late: Any) -> None:
    """Give the generated callers what is defined above this floor."""
    WORLD.update(late)
    for scope in _SCOPES:
        scope.update(late)


def slow_caller(op: type[Op]) -> Callable[..., Any]:
    """A caller without a fast path: operands that are a sequence or follow a rule of their own, or another device."""

    defaults = {name: value for name, value in op.params.items() if value is not REQUIRED}

    def call(*operands: Any, **params: Any) -> Any:
        return WORLD["slow"](op, operands, {**defaults, **params})

    call.__name__ = call.__qualname__ = op.name
    call.__doc__, call.__module__ = op.__doc__, op.__module__
    return call
