"""The slow path: everything unusual about a call. Conversion, promotion, devices, interceptors.

Generated callers send to `slow` every call that they do not handle themselves. Operands *meet* in the dtype and on the
device in which the operation is carried out. Both depend on little: the dtypes and types of the arrays, and the table
in force. So they are worked out once, as a `Plan`, and looked up from then on. In-place writes use parts of this too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np

from .. import backends
from ..common.lines import Line, user_line
from ..dtypes import PROMOTIONS, as_dtype, is_float, meeting
from ..errors import DeviceError, DtypeError, EduError
from ..settings import MODES, Modes, Scope, modes
from . import guard
from .above import above
from .base import TensorBase
from .dispatch import runner
from .graph import Node
from .narrow import widened
from .op import Op, Params
from .storage import number

HOME = backends.CPU.name
NUMBERS = (bool, int, float)


class Call:
    """One operation under way, as interceptors see it. ``target`` is the tensor that an in-place one writes to.

    To compute with other operands, an interceptor calls the operation itself, and returns that result.
    """

    __slots__ = ("line", "modes", "op", "operands", "params", "result", "run", "target")

    def __init__(
        self, op: type[Op], operands: tuple[Any, ...], params: Params, line: Line, m: Modes, target: Any = None
    ) -> None:
        self.op, self.operands, self.params, self.line, self.modes = op, operands, params, line, m
        self.target, self.result = target, None
        self.run: Any = None  # the op's runner; in-place writes and Functions have none


class Interceptor(Scope):
    """Watches or changes operations from outside: ``with MyInterceptor(): ...``.

    Interceptors stack. While one runs, only those below it are in force, so it can compute with tensors itself.
    """

    differentiates = False  # must it see the operations of backward too? Then backward computes with tensors
    programs = False  # may compiled programs run while it watches? Then it hears of each by `outside`
    keeps = True  # may it keep gradients that it is shown? Then .grad becomes a copy of what it saw

    def __new__(cls, *inputs: Any, **options: Any) -> Self:
        self = super().__new__(cls)
        self.__dict__["_open"] = []  # not in `__init__`, which a subclass may well not call
        return self

    def _changed(self, m: Modes) -> Modes:
        return m.watched_by((*m.observers, self))

    def given(self, name: str, operands: tuple[Any, ...]) -> tuple[Any, ...]:
        """Called before the operands of an operation meet. Return them, or others in their place.

        Not for in-place writes and ``out=``, whose dtype is fixed. ``name`` is that of the operation, or of a function
        made of several, such as "mse_loss", before it begins.
        """
        return operands

    def forward(self, call: Call, proceed: Callable[[], Any]) -> Any:
        """Called for each operation. Return ``proceed()``, or something else in its place."""
        return proceed()

    def backward(self, node: Node, g: Any, proceed: Callable[[], tuple[Any, ...]]) -> tuple[Any, ...]:
        """Called for each node that backward visits, with the gradient that has arrived.

        Return ``proceed()``: the gradients that the node hands to its operands, already of their shapes.
        """
        return proceed()

    def detached(self, tensor: Any) -> None:
        """Called with each result of ``detach``, which is not an operation."""

    def outside(self, what: str, *given: Any) -> Any:
        """Called before something that is no operation, and that a recording has to know of.

        ``what`` is "data" (numbers of the host become a tensor), "made" (one has become a tensor by the way), "draw"
        (random numbers, from a generator), "stream" (a generator that is used in another way), "gradient" (``.grad`` of
        a tensor is replaced), "grad" (it is read), "call" (a step of an optimiser, a scheduler or a scaler), "number"
        (one that changes from call to call), "tensor" (one that is read or written without an operation) or "extremes"
        (the least and the largest element of a tensor decide whether it may be used); after it has run, "program" (a
        compiled one, with its cost, the arrays that it has made, and the seconds until it returned). Return something
        other than None, and it is not done, but that is taken for it.
        """

    def made(self, array: Any, why: str) -> None:
        """Called with each buffer that is not the result of an operation.

        ``why`` is "created" (by ``zeros`` and its like), "saved" (the old values, which an in-place write overwrites
        and backward needs), "passing" (a result on its way into the tensor that it is written to) or "gradient" (what
        backward starts from, a sum of gradients that meet, or the copy that becomes a leaf's ``.grad``).
        """


def announce(observers: tuple[Any, ...], array: Any, why: str) -> None:
    """Tell those who watch about a buffer that is not the result of an operation."""
    for observer in observers:
        observer.made(array, why)


# From operands to a plan -----------------------------------------------------------------------------------------


class Plan(NamedTuple):
    """What to do with operands of certain dtypes and devices."""

    op: type[Op]  # the operation, or its variant for 16-bit floats
    run: Callable[..., Any]  # its runner
    changes: tuple[Callable[[Any], Any] | None, ...]  # what makes each operand fit, or None; empty if all fit


_PLANS: dict[tuple[Any, ...], Plan] = {}


def slow(op: type[Op], operands: tuple[Any, ...], params: Params) -> Any:
    """Do an operation in the unusual case: convert, promote, check devices, pass the interceptors."""
    m = modes()
    plan, operands = arrange(op, offered(op.name, operands), params)
    if not m.observers:
        return guarded(plan.run(m, None, *operands, **params), m)
    call = Call(plan.op, operands, params, m.line or user_line(), m)
    call.run = plan.run
    return through(call, len(m.observers) - 1, perform)


def offered(name: str, operands: tuple[Any, ...]) -> tuple[Any, ...]:
    """Operands, or what those who watch put in their place. Outermost first."""
    for observer in modes().observers:
        operands = observer.given(name, operands)
    return operands


def perform(call: Call) -> Any:
    """The operation itself, once the interceptors have been passed."""
    return guarded(call.run(modes(), call.line, *call.operands, **call.params), modes())


def guarded(result: Any, m: Modes) -> Any:
    """The result of an operation, with checksums of what its node saved if the guard is to verify them."""
    if m.guard == "verify" and result.node is not None:
        above.note_checksums(result.node)
    return result


def through(call: Call, level: int, do: Callable[[Call], Any]) -> Any:
    """``do(call)``, by way of the interceptors from ``level`` downwards."""
    if level < 0:
        return do(call)
    if type(call.modes.observers[level]).forward is Interceptor.forward:  # it lets everything pass
        return through(call, level - 1, do)
    before = modes()
    try:
        MODES.set(before.watched_by(call.modes.observers[:level]))
        call.result = call.modes.observers[level].forward(call, lambda: through(call, level - 1, do))
        return call.result
    finally:
        MODES.set(before)


def arrange(
    op: type[Op], operands: tuple[Any, ...], params: Params, device: str | None = None
) -> tuple[Plan, tuple[Any, ...]]:
    """The plan for these operands, and the operands as it wants them: in the dtypes in which they meet, on one device.

    Raises `DtypeError` and `DeviceError` where they cannot be brought together.
    """
    m = modes()
    plan = _PLANS.get(_signature(op, operands, m, device))
    if plan is None:
        operands = operands_of(op, operands)
        key = _signature(op, operands, m, device)
        plan = _PLANS[key] = _PLANS.get(key) or _make_plan(op, operands, params, m, device)
    if plan.changes:
        operands = tuple([o if do is None else do(o) for o, do in zip(operands, plan.changes, strict=True)])
    return plan, operands


def _signature(op: type[Op], operands: tuple[Any, ...], m: Modes, device: str | None) -> tuple[Any, ...]:
    """All that a plan depends on. Empty where an operand has to become a tensor, or a number, first."""
    key: list[Any] = [op, device, m.promotion, m.dtype]
    tensors = 0
    for o in operands:
        kind = type(o)
        if isinstance(o, TensorBase):
            if o.node is not None and o.node.op is None:  # a leaf, or a view whose base was written since
                above.settle(o)
            array = o.array
            # Values that are recorded are of one class, wherever the tensors are that they stand for.
            key += (array.__class__, array.dtype, array.ndim > 0, None if array.__class__ is np.ndarray else o.device)
            tensors += 1
        elif o is None or kind in NUMBERS:
            key.append(kind)
        else:
            return ()
    return tuple(key) if tensors else ()


def operands_of(op: type[Op], values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Each operand as a tensor, brought up to date, or as a Python scalar; None only where it may be left out."""
    names = op.operands * len(values) if op.variadic else op.operands
    if not op.variadic:
        values += (None,) * len(op.optional.intersection(names[len(values) :]))  # those left out, at the end
    operands = tuple(
        None if value is None and name in op.optional else _operand(op, value)
        for name, value in zip(names, values, strict=False)
    )
    if any(isinstance(o, TensorBase) for o in operands):
        return operands
    return tuple(None if o is None else above.as_tensor(o) for o in operands)  # numbers only: still a tensor


def _operand(op: type[Op], value: Any) -> Any:
    """A tensor, brought up to date, or a Python scalar; anything else becomes a tensor or is refused."""
    if isinstance(value, TensorBase):
        above.settle(value)
        return value
    if isinstance(value, np.generic) and modes().promotion == "torch":
        value = value.item()  # PyTorch treats a NumPy scalar as a number; to NumPy and JAX it is an array
    if type(value) in NUMBERS:
        return value
    try:
        return above.as_tensor(value)
    except EduError as error:
        raise type(error)(f"{op.name} with {error.tried}", error.why, error.mend) from None


def _make_plan(op: type[Op], operands: tuple[Any, ...], params: Params, m: Modes, device: str | None) -> Plan:
    try:
        targets = _targets(op, operands, m)
    except DtypeError as error:
        raise DtypeError(above.describe_call(op, operands, params), error.why, error.mend) from None
    place = _place(op, operands, params, device)
    changes = tuple(_change(o, target, place) for o, target in zip(operands, targets, strict=True))
    dtypes = [target or o.array.dtype for o, target in zip(operands, targets, strict=True) if isinstance(o, TensorBase)]
    home = _home(operands)
    real = home.kernel(widened(op, dtypes))
    return Plan(real, runner(real, home.xp), changes if any(changes) else ())


def _change(operand: Any, target: Any, place: str) -> Callable[[Any], Any] | None:
    """What makes an operand fit: a recorded cast, so that gradients come back in its own dtype, and a move."""
    if not isinstance(operand, TensorBase):
        return None if target is None else lambda o: above.as_tensor(o, dtype=target or None, device=place)
    here = operand.device == place
    if target is None:
        return None if here else lambda o: o.to(device=place, non_blocking=True)
    return (lambda o: above.cast(o, dtype=target)) if here else lambda o: above.cast(o, dtype=target).to(device=place)


def _targets(op: type[Op], operands: tuple[Any, ...], m: Modes) -> tuple[Any, ...]:
    """The dtype that each operand has to be brought to; None where it stays as it is, "" for a number made a tensor."""
    if op.dtypes == "each":
        return tuple("" if type(o) in NUMBERS else None for o in operands)
    if op.dtypes == "where":
        return "" if type(operands[0]) in NUMBERS else None, *_meet(op, operands[1:], m)
    return _meet(op, operands, m)


def _meet(op: type[Op], operands: tuple[Any, ...], m: Modes) -> tuple[Any, ...]:
    arrays = [o.array for o in operands if isinstance(o, TensorBase)]
    if op.dtypes == "equal" and not PROMOTIONS[m.promotion].products_mix and len({a.dtype for a in arrays}) > 1:
        raise above.mixed(op, operands)
    numbers = [type(o) for o in operands if type(o) in NUMBERS]
    with_axes, without = ([a.dtype for a in arrays if (a.ndim > 0) is axes] for axes in (True, False))
    target = meeting(op.dtypes, m.promotion, as_dtype(m.dtype), with_axes, without, numbers)
    return tuple(None if _fits(o, target) else target for o in operands)


def _fits(operand: Any, target: Any) -> bool:
    """Whether an operand may stay as it is. Python numbers mostly need no help."""
    if isinstance(operand, TensorBase):
        return bool(operand.array.dtype == target)
    kind = type(operand)
    return operand is None or (kind is float and is_float(target)) or (kind is int and target.kind in "iuf")


def _home(operands: tuple[Any, ...]) -> backends.Backend:
    """The backend for these operands: that of one off the CPU if there is one, else of one with dimensions."""
    arrays = (o.array for o in operands if isinstance(o, TensorBase))
    return backends.of(min(arrays, key=lambda a: (backends.of(a) is backends.CPU, not a.ndim)))


def _place(op: type[Op], operands: tuple[Any, ...], params: Params, device: str | None) -> str:
    """The device on which the operands meet: 0-d CPU tensors join any, as in PyTorch. Other mixtures are refused."""
    tensors = [o for o in operands if isinstance(o, TensorBase)]
    if len({o.device for o in tensors}) < 2:
        return str(tensors[0].device)
    fixed = {o.device for o in tensors if o.array.ndim or o.device != HOME} | ({device} if device else set())
    if len(fixed) > 1:
        away = next(place for place in sorted({o.device for o in tensors}) if place != HOME)
        raise DeviceError(
            above.describe_call(op, operands, params),
            "the operands live on different devices, and nothing is moved behind your back",
            f"move one of them first: x.to({away!r})",
        )
    return fixed.pop()


# For code that makes nodes itself: in-place writes, and Functions -------------------------------------------------


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
            above.note_checksums(node)
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
            many = op.variadic and save.source in op.operands
            value = tuple(getattr(v, save.part) for v in value) if many else getattr(value, save.part, None)
        saved.append(value)
    return tuple(saved)


def run_body(op: type[Op], xp: Any, arrays: Any, params: Params, operands: Any) -> Any:
    """`op.forward`, with NumPy's errors turned into ours."""
    try:
        return op.forward(xp, *arrays, **params)
    except Exception as error:
        above.fail(op, operands, params, error)


above.slow = slow
