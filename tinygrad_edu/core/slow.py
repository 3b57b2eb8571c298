"""The slow path: everything unusual about a call. Conversion, promotion, devices, interceptors, errors.

`slow` is where generated callers send what they do not do themselves. In-place writes use its parts too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import backends
from ..backends.cpu import XP
from ..dtypes import PROMOTIONS, as_dtype, is_float, real_type, result_type, scalar_dtype
from ..errors import DeviceError, DtypeError, EduError, IndexRangeError, ShapeError
from ..lines import Line, user_line
from ..settings import MODES, Modes, modes
from . import guard
from .base import TensorBase
from .dispatch import WORLD, install
from .graph import Node
from .narrow import widened
from .op import Op, Params
from .storage import number

HOME = backends.CPU.name


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

    differentiates = False  # must it see the operations of backward too? Then backward computes with tensors
    keeps = True  # may it keep gradients that it is shown? Then .grad becomes a copy of what it saw

    def forward(self, call: Call, proceed: Callable[[], Any]) -> Any:
        """Called for each operation. Return ``proceed()``, or something else in its place."""
        return proceed()

    def backward(self, node: Node, g: Any, proceed: Callable[[], tuple[Any, ...]]) -> tuple[Any, ...]:
        """Called for each node that backward visits, with the gradient that has arrived.

        Return ``proceed()``: the gradients that the node hands to its operands, already of their shapes.
        """
        return proceed()

    def detached(self, tensor: Any) -> None:
        """Called with each result of ``detach``, which is no operation."""

    def made(self, array: Any, why: str) -> None:
        """Called with each buffer that is no result of an operation.

        ``why`` is "created" (by ``zeros`` and its like), "saved" (the old values, which an in-place write overwrites
        and backward needs), "passing" (a result on its way into the tensor that it is written to) or "gradient" (what
        backward starts from, a sum of gradients that meet, or the copy that becomes a leaf's ``.grad``).
        """

    def __enter__(self) -> Any:
        m = modes()
        self.__dict__.setdefault("_tokens", []).append(MODES.set(m.replace(observers=(*m.observers, self))))
        return self

    def __exit__(self, *exc: object) -> None:
        MODES.reset(self.__dict__["_tokens"].pop())


def announce(observers: tuple[Any, ...], array: Any, why: str) -> None:
    """Tell those who watch of a buffer that is no result of an operation."""
    for observer in observers:
        observer.made(array, why)


def slow(op: type[Op], operands: tuple[Any, ...], params: Params) -> Any:
    """Do an operation in the unusual case: convert, promote, check devices, pass the interceptors, explain errors."""
    line = user_line()
    operands = prepare(op, operands_of(op, operands, line), params, line)
    call = Call(widened(op, operands), operands, params, line, modes())
    return through(call, len(call.modes.observers) - 1, perform)


def prepare(
    op: type[Op], operands: tuple[Any, ...], params: Params, line: Line, device: str | None = None
) -> tuple[Any, ...]:
    """The operands in the dtypes in which they meet, on one device."""
    try:
        operands = _promote(op, operands)
    except DtypeError as error:
        raise DtypeError(describe_call(op, operands, params), error.why, error.mend, line) from None
    return _same_device(op, operands, params, line, device)


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
    tracked = any(isinstance(o, TensorBase) and o.node is not None for o in operands)
    if tracked and m.grad and op.differentiable and is_float(out.dtype):
        tensor.node = record(call, operands, arrays, out, cache)
    if op.view:
        WORLD["adopt"](tensor, operands[0], op, call.params)
    call.result = tensor
    return tensor


def record(call: Call, operands: tuple[Any, ...], arrays: tuple[Any, ...], out: Any, cache: Any) -> Node:
    """The node of an operation that was just done: the same as generated callers make, for any operands."""
    op = call.op
    node = Node()
    node.op, node.parents = op, tuple(o.node if isinstance(o, TensorBase) else None for o in operands)
    node.saved = saved_by(op, arrays, node.parents, {**call.params, "out": out, "cache": cache})
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


def saved_by(op: type[Op], operands: tuple[Any, ...], needs: tuple[Any, ...], values: Params) -> tuple[Any, ...]:
    """What the op's `saves` name. ``needs`` is None where an operand wants no gradient."""
    if op.variadic:
        values[op.operands[0]] = operands
    else:
        values.update(zip(op.operands, operands, strict=True))
    wanted = dict(zip(op.operands, needs, strict=False))
    saved = []
    for save in op.save_plan:
        value = values[save.source]
        if save.needed_by and wanted[save.needed_by] is None:
            value = None
        elif save.part:
            value = tuple(getattr(v, save.part) for v in value) if op.variadic else getattr(value, save.part, None)
        saved.append(value)
    return tuple(saved)


def run_body(op: type[Op], xp: Any, arrays: Any, params: Params, line: Line, operands: Any) -> Any:
    """`op.forward`, with NumPy's complaints turned into ours."""
    try:
        return op.forward(xp, *arrays, **params)
    except EduError as error:
        if not error.line:
            raise type(error)(error.tried, error.why, error.mend, line) from None
        raise
    except (ValueError, IndexError, TypeError, OverflowError) as error:
        shapes = [tuple(a.shape) for a in arrays if hasattr(a, "shape")]
        hint = op.hint(shapes, params)
        why, mend = hint or (str(error), "check the shapes and the arguments named above")
        kind: type[EduError] = IndexRangeError if isinstance(error, IndexError) else ShapeError
        if isinstance(error, (TypeError, OverflowError)):
            kind = DtypeError
        raise kind(describe_call(op, operands, params), why, mend, line) from error
    except AttributeError as error:
        if not isinstance(error.obj, backends.Namespace):
            raise
        known = " ".join(backends.ALL_NAMES)
        message = f"xp.{error.name} is not among the names that every world has; an operation's body may use: {known}"
        raise AttributeError(message, name=error.name, obj=error.obj) from None


def describe_call(op: type[Op], operands: Any, params: Params) -> str:
    """``matmul((32, 10) float32, (32, 4) float32) on cpu``: what was tried, for errors."""
    parts = [
        f"{tuple(o.array.shape)} {o.array.dtype}" if isinstance(o, TensorBase) else repr(o)
        for o in operands
        if o is not None
    ]
    parts += [f"{key}={value!r}" for key, value in params.items() if value is not None and not hasattr(value, "dtype")]
    devices = {o.device for o in operands if isinstance(o, TensorBase)}
    return f"{op.name}({', '.join(parts)}) on {' and '.join(sorted(devices)) or 'cpu'}"


def operands_of(op: type[Op], values: tuple[Any, ...], line: Line) -> tuple[Any, ...]:
    """Each operand as a tensor, brought up to date, or as a Python scalar; None only where it may be left out."""
    names = op.operands * len(values) if op.variadic else op.operands
    if not op.variadic:
        values += (None,) * len(op.optional.intersection(names[len(values) :]))  # those left out, at the end
    operands = tuple(
        None if value is None and name in op.optional else _operand(op, value, line)
        for name, value in zip(names, values, strict=False)
    )
    if any(isinstance(o, TensorBase) for o in operands):
        return operands
    return tuple(None if o is None else WORLD["as_tensor"](o) for o in operands)  # numbers only: still a tensor


def _operand(op: type[Op], value: Any, line: Line) -> Any:
    """A tensor, brought up to date, or a Python scalar; anything else becomes a tensor or is refused."""
    if isinstance(value, TensorBase):
        WORLD["settle"](value)
        return value
    if isinstance(value, np.generic) and modes().promotion == "torch":
        value = value.item()  # PyTorch takes a NumPy scalar for a number; to NumPy and JAX it is an array
    if type(value) in (bool, int, float):
        return value if op.dtypes != "each" else WORLD["as_tensor"](value)
    try:
        return WORLD["as_tensor"](value)
    except EduError as error:
        raise type(error)(f"{op.name} with {error.tried}", error.why, error.mend, line) from None


def _promote(op: type[Op], operands: tuple[Any, ...]) -> tuple[Any, ...]:
    """Bring the operands to the dtype in which they meet, by recorded casts: gradients come back in their own."""
    if op.dtypes == "each":
        return operands
    if op.dtypes == "where":
        return operands[0], *_meet(op, operands[1:])
    return _meet(op, operands)


def _meet(op: type[Op], operands: tuple[Any, ...]) -> tuple[Any, ...]:
    m = modes()
    rules = PROMOTIONS[m.promotion]
    tensors = [o for o in operands if isinstance(o, TensorBase)]
    default = as_dtype(m.dtype)
    widest = as_dtype(rules.python_float or default)
    if op.dtypes == "equal" and not rules.products_mix and len({t.array.dtype for t in tensors}) > 1:
        raise _mixed(op, operands)
    target = result_type(
        m.promotion,
        [t.array.dtype for t in tensors if t.array.ndim],
        [t.array.dtype for t in tensors if not t.array.ndim],
        [scalar_dtype(o, widest) for o in operands if type(o) in (bool, int, float)],
    )
    if op.dtypes == "floating" and not is_float(target) and not rules.integers_average:
        raise DtypeError("", f"{target} has no fractions, and the result needs them", "convert it first: x.float()")
    if op.dtypes in ("float", "quotient", "floating"):
        target = real_type(m.promotion, target, op.dtypes != "float", default)
    return tuple(_as(o, target) for o in operands)


def _mixed(op: type[Op], operands: tuple[Any, ...]) -> DtypeError:
    """The error for a product of several dtypes: convert the integers among them, or else the first, the data."""
    dtypes = {n: o.array.dtype for n, o in zip(op.operands, operands, strict=False) if isinstance(o, TensorBase)}
    names = " and ".join(dict.fromkeys(dtype.name for dtype in dtypes.values()))
    odd = next((n for n, dtype in dtypes.items() if not is_float(dtype)), next(iter(dtypes)))
    target = next(dtype for dtype in dtypes.values() if dtype != dtypes[odd])
    why = f"the operands are {names}, and a matrix product mixes no dtypes"
    return DtypeError("", why, f"convert one of them first: {odd}.to('{target}')")


def _as(operand: Any, target: Any) -> Any:
    """An operand in the dtype ``target``. Python numbers that need no help stay as they are."""
    if isinstance(operand, TensorBase):
        return operand if operand.array.dtype == target else WORLD["cast"](operand, dtype=target)
    kind = type(operand)
    if operand is None or (kind is float and is_float(target)) or (kind is int and target.kind in "iuf"):
        return operand
    return WORLD["as_tensor"](operand, dtype=target, device=HOME)


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
            line,
        )
    place = fixed.pop()
    return tuple(o.to(device=place) if isinstance(o, TensorBase) else o for o in operands)


install(slow=slow)
