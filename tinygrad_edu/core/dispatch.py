"""From a call to a result. Every op has a caller of its own, generated once from its signature and its `saves`.

The caller does the usual case, plain NumPy tensors of one dtype with nobody watching, without a detour. A single
condition sends everything else to `slow`, where conversion, promotion, devices, interceptors and errors live.
Read one: ``print(OPS["mul"].source)``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any

from .. import backends
from ..backends.cpu import XP
from ..dtypes import as_dtype, is_float, result_type, scalar_dtype
from ..errors import DeviceError, DtypeError, EduError, IndexRangeError, ShapeError
from ..settings import MODES, Modes, modes
from . import guard
from .base import TensorBase
from .graph import Line, Node, describe_line
from .op import Op, Params, Save
from .storage import number

HOME = backends.CPU.name
_PACKAGE = str(Path(__file__).parent.parent)


class _Own(dict[str, bool]):
    """Whether a source file belongs to this package: its frames are not the user's line."""

    def __missing__(self, filename: str) -> bool:
        self[filename] = own = filename.startswith(_PACKAGE)
        return own


own = _Own()


def user_line() -> Line:
    """The innermost instruction outside this package. Two pointers now, resolved when somebody asks."""
    frame: Any = sys._getframe(1)
    while own[frame.f_code.co_filename] and frame.f_back is not None:
        frame = frame.f_back
    return frame.f_code, frame.f_lasti


def here() -> str:
    """The user's line in words, for errors."""
    return describe_line(user_line())


# The fast path: one generated function per op -------------------------------------------------------------------


def _saved_expression(op: type[Op], save: Save) -> str:
    if save.source in ("out", "cache"):
        value = save.source
    else:
        value = f"{save.source}_a" if save.source in op.operands else save.source
    if save.part:
        value += f".{save.part}"
    return f"({value} if {save.needed_by}_n is not None else None)" if save.needed_by else value


def write_caller(op: type[Op]) -> str:
    """The source of the op's caller."""
    names, meets = op.operands, op.dtypes != "each"
    keywords = "".join(f", {p}={p}" for p in op.params)
    signature = [f"{n}=None" if n in op.optional else n for n in names] + (["*", *_defaults(op)] if op.params else [])
    give_up = f"return slow(op, ({', '.join(names)},), dict({keywords[2:]}))"
    lines = [f"def {op.name}({', '.join(signature)}):", "    m = modes()", f"    if not m.plain: {give_up}"]
    for n in names:
        lines += _operand_lines(op, n, give_up)
    lines += [
        "    try:",
        f"        {'out, cache' if op.caches else 'out'} = forward(XP{''.join(f', {n}_a' for n in names)}{keywords})",
        f"    except Exception: {give_up}  # meets it again, and explains",
    ]
    if meets and op.differentiable and (len(names) > 1 or op.dtypes == "float"):
        exact = "" if op.dtypes == "float" else "not exact and "
        lines.append(f"    if {exact}out.dtype is not d: {give_up}")
    lines.append("    t = new(Tensor); t.array = out; t.storage = None")
    lines += _recording_lines(op) if op.differentiable else ["    t.node = None"]
    if op.view:
        lines.append(f"    adopt(t, {names[0]}, op, dict({keywords[2:]}))")
    return "\n".join([*lines, "    return t"]) + "\n"


def _operand_lines(op: type[Op], n: str, give_up: str) -> list[str]:
    """Take one operand apart into array ``n_a`` and node ``n_n``; ``d`` is the dtype that all must have."""
    names, meets = op.operands, op.dtypes != "each"
    first, binary = n == names[0], len(names) == 2 and meets
    lines = [f"    if type({n}) is Tensor:", f"        {n}_a = {n}.array; {n}_n = {n}.node"]
    if meets and first:
        lines[-1] += f"; d = {n}_a.dtype" + ("; exact = True" if len(names) > 1 else "")
    elif meets:
        lines.append(f"        if {n}_a.dtype is not d: {give_up}")
    if n in op.optional:
        lines.append(f"    elif {n} is None: {n}_a = {n}_n = None")
    if binary and first:
        other = names[1]
        lines.append(
            f"    elif type({n}) in SCALARS and type({other}) is Tensor: "
            f"{n}_a = {n}; {n}_n = None; d = {other}.array.dtype; exact = False"
        )
    elif binary:
        lines.append(f"    elif type({n}) in SCALARS: {n}_a = {n}; {n}_n = None; exact = False")
    return [*lines, f"    else: {give_up}"]


def _defaults(op: type[Op]) -> list[str]:
    import inspect

    return [p if d is inspect.Parameter.empty else f"{p}={d!r}" for p, d in op.params.items()]


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
    if op.broadcasts:
        x, y = names
        lines += [
            f"        if not exact or {x}_a.shape == {y}_a.shape: n.shapes = None",
            f"        else: n.shapes = ({x}_a.shape, {y}_a.shape)",
        ]
    else:
        lines.append("        n.shapes = None")
    lines += [
        "        f = frame(1)",
        "        while own[f.f_code.co_filename] and f.f_back is not None: f = f.f_back",
        "        n.line = (f.f_code, f.f_lasti)",
    ]
    for save in op.save_plan:
        if save.source in names and not save.part:
            x, needed = save.source, f" and {save.needed_by}_n is not None" if save.needed_by else ""
            lines.append(
                f"        if type({x}) is Tensor and {x}.storage is not None{needed} and m.guard != 'off': "
                f"hold(n, {x}.storage)"
            )
    return [*lines, "    else:", "        t.node = None"]


# What generated callers see. `Tensor` is filled in by `tinygrad_edu.tensor`, which stands above this floor.
WORLD: dict[str, Any] = {
    "modes": modes, "XP": XP,  "Node": Node, "new": object.__new__, "number": number, "frame": sys._getframe,
    "own": own, "hold": guard.hold, "SCALARS": frozenset((int, float)),
}  # fmt: skip


def caller(op: type[Op]) -> Callable[..., Any]:
    """The function that learners and `Tensor` call for this op."""
    if op.variadic or op.dtypes == "where":
        return slow_caller(op)
    op.source = write_caller(op)
    scope = {**WORLD, "op": op, "forward": op.forward, "slow": slow, "compile_caller": _compile_caller}
    _SCOPES.append(scope)
    function: Any = FunctionType(_FIRST_CALL, scope, op.name)
    scope["caller"] = function
    function.__doc__, function.__module__, function.__qualname__ = op.__doc__, op.__module__, op.name
    return function


# Compiling is most of what importing the ops would cost, and few programs use all of them: the first call does it.
_FIRST_CALL = compile(
    "def first_call(*operands, **params):\n    compile_caller(op, caller)\n    return caller(*operands, **params)\n",
    f"{_PACKAGE}/generated/first_call.py",
    "exec",
).co_consts[0]


def _compile_caller(op: type[Op], function: Any) -> None:
    """Give ``function`` the code of the op's source. Two threads may both do it: they do the same."""
    made: dict[str, Any] = {}
    exec(compile(op.source, f"{_PACKAGE}/generated/{op.name}.py", "exec"), {}, made)
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

    def call(*operands: Any, **params: Any) -> Any:
        return slow(op, operands, {**op.params, **params})

    call.__name__ = call.__qualname__ = op.name
    call.__doc__, call.__module__ = op.__doc__, op.__module__
    return call


# The slow path: everything unusual ----------------------------------------------------------------------------


class Call:
    """One operation under way, as interceptors see it. In place, ``target`` is the tensor that it writes to."""

    __slots__ = ("line", "modes", "op", "operands", "params", "result", "target")

    def __init__(
        self, op: type[Op], operands: tuple[Any, ...], params: Params, line: Line, m: Modes, target: Any = None
    ) -> None:
        self.op, self.operands, self.params, self.line, self.modes = op, operands, params, line, m
        self.target, self.result = target, None


class Interceptor:
    """Watches or changes operations from outside: ``with MyInterceptor(): ...``.

    Interceptors stack. While one runs, only those below it are in force, so it can compute with tensors itself.
    """

    def forward(self, call: Call, proceed: Callable[[], Any]) -> Any:
        """Called for each operation. Return ``proceed()``, or something else in its place."""
        return proceed()

    def backward(self, node: Node, g: Any, proceed: Callable[[], tuple[Any, ...]]) -> tuple[Any, ...]:
        """Called for each node that backward visits, with the gradient that has arrived.

        Return ``proceed()``: the gradients that the node hands to its operands, already of their shapes.
        """
        return proceed()

    def __enter__(self) -> Any:
        m = modes()
        self.__dict__.setdefault("_tokens", []).append(MODES.set(m.replace(observers=(*m.observers, self))))
        return self

    def __exit__(self, *exc: object) -> None:
        MODES.reset(self.__dict__["_tokens"].pop())


def slow(op: type[Op], operands: tuple[Any, ...], params: Params) -> Any:
    """Do an operation in the unusual case: convert, promote, check devices, pass the interceptors, explain errors."""
    line = user_line()
    operands = _same_device(op, _promote(op, operands_of(op, operands, line)), params, line)
    call = Call(op, operands, params, line, modes())
    return through(call, len(call.modes.observers) - 1, perform)


def through(call: Call, level: int, do: Callable[[Call], Any]) -> Any:
    """``do(call)``, by way of the interceptors from ``level`` downwards."""
    if level < 0:
        return do(call)
    token = MODES.set(call.modes.replace(observers=call.modes.observers[:level]))
    try:
        call.result = call.modes.observers[level].forward(call, lambda: through(call, level - 1, do))
        return call.result
    finally:
        MODES.reset(token)


def perform(call: Call) -> Any:
    """The operation itself: arrays in, body, tensor out, node."""
    op, operands, m = call.op, call.operands, modes()
    arrays = tuple(o.array if isinstance(o, TensorBase) else o for o in operands)
    xp = next((backends.of(a).xp for a in _dominant(operands)), XP)
    result = run_body(op, xp, arrays, call.params, call.line, operands)
    out, cache = result if op.caches else (result, None)
    tensor = WORLD["wrap"](out)
    if op.differentiable and m.grad and any(isinstance(o, TensorBase) and o.node is not None for o in operands):
        tensor.node = record(call, operands, arrays, out, cache)
    if op.view:
        WORLD["adopt"](tensor, operands[0], op, call.params)
    call.result = tensor
    return tensor


def record(call: Call, operands: tuple[Any, ...], arrays: tuple[Any, ...], out: Any, cache: Any) -> Node:
    """The node of an operation that was just done: the same as generated callers make, for any operands."""
    op = call.op
    nodes = dict(zip(op.operands, (o.node if isinstance(o, TensorBase) else None for o in operands), strict=False))
    values: dict[str, Any] = {**call.params, "out": out, "cache": cache}
    if op.variadic:
        values[op.operands[0]] = arrays
        nodes = {str(i): o.node if isinstance(o, TensorBase) else None for i, o in enumerate(operands)}
    else:
        values.update(zip(op.operands, arrays, strict=True))
    node = Node()
    node.op, node.parents = op, tuple(nodes.values())
    saved = []
    for save in op.save_plan:
        value = values[save.source]
        if save.needed_by and nodes[save.needed_by] is None:
            value = None
        elif save.part:
            value = tuple(getattr(v, save.part) for v in value) if op.variadic else getattr(value, save.part, None)
        saved.append(value)
    node.saved = tuple(saved)
    shapes = tuple(getattr(a, "shape", ()) for a in arrays)
    broadcast = op.broadcasts and len({a.shape for a in arrays if hasattr(a, "shape")}) > 1
    node.shapes = shapes if broadcast else None
    node.number, node.line, node.scope, node.extra = number(), call.line, call.modes.scope, None
    if call.modes.guard != "off":
        for operand, array in zip(operands, arrays, strict=True):
            storage = getattr(operand, "storage", None)
            if storage is not None and any(value is array for value in node.saved):
                guard.hold(node, storage)
        if call.modes.guard == "verify":
            guard.note_checksums(node)
    return node


def run_body(op: type[Op], xp: Any, arrays: Any, params: Params, line: Line, operands: Any) -> Any:
    """`op.forward`, with NumPy's complaints turned into ours."""
    try:
        return op.forward(xp, *arrays, **params)
    except EduError as error:
        if not error.line:
            raise type(error)(error.tried, error.why, error.mend, describe_line(line)) from None
        raise
    except (ValueError, IndexError, TypeError, OverflowError) as error:
        shapes = [tuple(a.shape) for a in arrays if hasattr(a, "shape")]
        hint = op.hint(shapes, params)
        why, mend = hint or (str(error), "check the shapes and the arguments named above")
        kind: type[EduError] = IndexRangeError if isinstance(error, IndexError) else ShapeError
        if isinstance(error, (TypeError, OverflowError)):
            kind = DtypeError
        raise kind(describe_call(op, operands, params), why, mend, describe_line(line)) from error


def describe_call(op: type[Op], operands: Any, params: Params) -> str:
    """``matmul((32, 10) float32, (32, 4) float32) on cpu``: what was tried, for errors."""
    parts = [
        f"{tuple(o.array.shape)} {o.array.dtype}" if isinstance(o, TensorBase) else repr(o)
        for o in operands
        if o is not None
    ]
    parts += [f"{key}={value!r}" for key, value in params.items() if not hasattr(value, "dtype")]
    devices = {o.device for o in operands if isinstance(o, TensorBase)}
    return f"{op.name}({', '.join(parts)}) on {' and '.join(sorted(devices)) or 'cpu'}"


def operands_of(op: type[Op], values: tuple[Any, ...], line: Line) -> tuple[Any, ...]:
    """Each operand as a tensor, brought up to date, or as a Python scalar; None only where it may be left out."""
    names = op.operands * len(values) if op.variadic else op.operands
    return tuple(
        None if value is None and name in op.optional else _operand(op, value, line)
        for name, value in zip(names, values, strict=False)
    )


def _operand(op: type[Op], value: Any, line: Line) -> Any:
    """A tensor, brought up to date, or a Python scalar; anything else becomes a tensor or is refused."""
    if isinstance(value, TensorBase):
        WORLD["settle"](value)
        return value
    if type(value) in (bool, int, float):
        return value if op.dtypes != "each" else WORLD["as_tensor"](value)
    try:
        return WORLD["as_tensor"](value)
    except EduError as error:
        raise type(error)(f"{op.name} with {error.tried}", error.why, error.mend, describe_line(line)) from None


def _promote(op: type[Op], operands: tuple[Any, ...]) -> tuple[Any, ...]:
    """Bring the operands to the dtype in which they meet, by recorded casts: gradients come back in their own."""
    if op.dtypes == "each":
        return operands
    if op.dtypes == "where":
        return operands[0], *_meet(op, operands[1:])
    return _meet(op, operands)


def _meet(op: type[Op], operands: tuple[Any, ...]) -> tuple[Any, ...]:
    m = modes()
    tensors = [o for o in operands if isinstance(o, TensorBase)]
    default = as_dtype(m.dtype)
    target = result_type(
        m.promotion,
        [t.array.dtype for t in tensors if t.array.ndim],
        [t.array.dtype for t in tensors if not t.array.ndim],
        [scalar_dtype(o, default) for o in operands if type(o) in (bool, int, float)],
    )
    if op.dtypes == "float" and not is_float(target):
        target = default
    cast = WORLD["cast"]
    result: list[Any] = []
    for o in operands:
        if isinstance(o, TensorBase):
            result.append(o if o.array.dtype == target else cast(o, dtype=target))
        elif o is None or (type(o) is float and is_float(target)) or (type(o) is int and target.kind in "iuf"):
            result.append(o)
        else:
            result.append(WORLD["as_tensor"](o, dtype=target, device=HOME))
    return tuple(result)


def _dominant(operands: tuple[Any, ...]) -> list[Any]:
    """The arrays that decide where an operation runs: those off the CPU first, then those with dimensions."""
    arrays = [o.array for o in operands if isinstance(o, TensorBase)]
    return sorted(arrays, key=lambda a: (backends.of(a) is backends.CPU, not a.ndim))


def _same_device(
    op: type[Op], operands: tuple[Any, ...], params: Params, line: Line, device: str | None = None
) -> tuple[Any, ...]:
    """Refuse tensors of two devices, or off ``device``. As in PyTorch, 0-d CPU tensors join any: they are moved."""
    tensors = [o for o in operands if isinstance(o, TensorBase)]
    places = {o.device for o in tensors}
    if len(places) < 2:
        return operands
    fixed = {o.device for o in tensors if o.array.ndim or o.device != HOME} | ({device} if device else set())
    if len(fixed) > 1:
        away = next(place for place in sorted(places) if place != HOME)
        raise DeviceError(
            describe_call(op, operands, params),
            "the operands live on different devices, and nothing is moved behind your back",
            f"move one of them first: x.to({away!r})",
            describe_line(line),
        )
    place = fixed.pop()
    return tuple(o.to(device=place) if isinstance(o, TensorBase) else o for o in operands)
