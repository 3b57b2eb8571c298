"""Recording: run a function once on array proxies that compute *and* write down what they compute.

Values are concrete, so no shape rules are needed. The proxies have their own operators and take part in none of NumPy's
protocols, through which `zeros` or a slice assignment could slip past the record.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, NoReturn

import numpy as np

from .. import backends
from ..backends.cpu import XP
from ..backends.proxy import OPERATORS, ProxyArray, proxies, unwrap
from ..common.lines import Line, user_line
from ..errors import EduError
from ..tensor import Tensor, as_tensor, wrap
from .ir import Equation, Program, Var
from .lengths import NOTES, Length, bare


class TraceError(EduError, RuntimeError):
    """Something happened during tracing that a replay could not repeat."""

    raised = 0  # so many, in all: one that the traced function catches is not forgotten

    def __init__(self, *told: Any, **more: Any) -> None:
        super().__init__(*told, **more)
        TraceError.raised += 1


class Recorder:
    """Collects equations while a function runs."""

    def __init__(self) -> None:
        self.equations: list[Equation] = []
        self.constants: dict[int, tuple[Any, Any]] = {}
        self.count = 0
        self.bodies = 0  # of operations that were begun
        self.body_of: dict[Var, int] = {}  # in which of them a variable was made
        self.line: Line = None  # of the operation whose gradient is computed
        self.line_of: dict[Var, Line] = {}  # which line of the user's each variable comes from

    def new(self, value: Any) -> RecArray:
        """A proxy for ``value`` under a new variable."""
        var = Var(self.count, tuple(value.shape), value.dtype)
        self.count += 1
        return RecArray(self, value, var)

    def call(self, name: str, function: Callable[..., Any], *args: Any) -> Any:
        """Compute ``function(*args)`` and note it."""
        given = proxies(args)
        for proxy in given:
            proxy.check()
        value = function(*unwrap(args, lambda proxy: proxy.values, bare))
        for proxy in given:
            if value is proxy.values:  # nothing was done, as when `contiguous` finds rows in order
                return proxy
        if isinstance(value, np.generic):
            value = np.asarray(value)  # which can be written to
        result = self.new(value)
        if getattr(value, "base", None) is not None:
            for proxy in given:
                if np.may_share_memory(value, proxy.values):
                    proxy.share(result)
        self.equations.append(Equation((result.var,), name, unwrap(args, lambda proxy: proxy.var, self.constant)))
        self.body_of[result.var] = self.bodies
        self.line_of[result.var] = self.line or user_line()
        return result

    def constant(self, value: Any) -> Any:
        """An array from outside the trace, as it is now: a later write to it must not change the program."""
        if not isinstance(value, np.ndarray):
            return bare(value)
        kept = self.constants.get(id(value))
        if kept is None or kept[1].tobytes() != value.tobytes():  # new, or written since its last use
            kept = self.constants[id(value)] = (value, value.copy())  # with the original, so that its id stays
            notes = NOTES.get()
            if notes is not None:
                notes.copied(*kept)
        return kept[1]


class RecArray(ProxyArray):
    """An array that is being watched."""

    __slots__ = ("family", "recorder", "stale", "var")

    def __init__(self, recorder: Recorder, values: Any, var: Var) -> None:
        super().__init__(values)
        self.recorder, self.var, self.stale = recorder, var, False
        self.family: list[weakref.ref[RecArray]] = []  # proxies of the same memory, this one among them

    @property
    def shape(self) -> Any:
        """The length of each axis; where notes are taken, in lengths that take them."""
        shape, notes = self.values.shape, NOTES.get()
        return shape if notes is None else notes.read(shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.values.size if NOTES.get() is None else math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """The bytes that the elements take."""
        return self.values.nbytes if NOTES.get() is None else self.size * self.values.itemsize

    @property
    def strides(self) -> Any:
        """Bytes between neighbours along each axis."""
        strides, notes = self.values.strides, NOTES.get()
        return strides if notes is None else notes.leave(strides)

    def share(self, view: RecArray) -> None:
        """``view`` looks at the memory of this proxy."""
        self.family = self.family or [weakref.ref(self)]
        self.family.append(weakref.ref(view))
        view.family = self.family

    def operate(self, name: str, *operands: Any) -> Any:
        """Compute, and note the equation."""
        if name == "getitem" and any(one.dtype == np.bool_ for one in proxies(operands[1])):
            why = "how many elements it chooses depends on values, and a program has one shape"
            raise TraceError("a mask as an index", why, "use where(mask, x, 0), or choose outside the traced function")
        return self.recorder.call(name, OPERATORS[name], *operands)

    def update(self, name: str, *operands: Any) -> RecArray:
        """A write gives the array a new variable. Whoever else looks at the same memory must not be read any more."""
        if name == "setitem":
            written = self.recorder.call("put", XP.put, self, *operands)
        else:
            written = self.operate(name, self, *operands)
            if written.var.type != self.var.type:  # NumPy would cast, or refuse
                written = self.recorder.call("put", XP.put, self, (...,), written)
        for other in (reference() for reference in self.family):
            if other is not None and other is not self:
                other.stale = True
        self.values, self.var, self.family = written.values, written.var, []
        return self

    def check(self) -> None:
        """Refuse what another write has changed, which the program does not see."""
        if self.stale:
            raise TraceError(
                f"a read of a traced array {self.var.type} after a write to its memory",
                "the write went through another tensor that shares memory with it",
                "use the out-of-place form inside the traced function",
            )

    def refuse(self, what: str) -> NoReturn:
        """Refused: the value would be frozen into whatever Python does with it."""
        raise _escape(what.replace("an array", "a traced value"))


def _escape(tried: str) -> TraceError:
    return TraceError(
        tried,
        "a replay would not ask again: what the value decides now would hold for every later input",
        "use where(condition, a, b), or decide outside the traced function",
    )


def _recorder_of_lengths(args: tuple[Any, ...]) -> Any:
    """The recorder that takes notes, if there is a length among the arguments: it is told where an array comes from."""
    notes = NOTES.get()
    if notes is None:
        return None
    parts = [one for arg in args for one in (arg if isinstance(arg, tuple) else (arg,))]
    return notes.recorder if any(isinstance(one, Length) for one in parts) else None


def _recorded(name: str) -> Callable[..., Any]:
    function = getattr(XP, name)

    def call(*args: Any) -> Any:  # bodies give arguments by position, so that an equation needs no names
        recorder = next((a.recorder for a in proxies(args)), None) or _recorder_of_lengths(args)
        return function(*args) if recorder is None else recorder.call(name, function, *args)

    return call


HOME: ContextVar[backends.Backend] = ContextVar("where the recorded tensors live", default=backends.CPU)


class TraceBackend(backends.Backend):
    """Where proxies live. Programs that ask are told the device of the tensors that these stand for."""

    name = "trace"
    readable = False
    xp = backends.Namespace("trace", **{name: _recorded(name) for name in backends.ALL_NAMES})
    array_types = (RecArray,)

    @property
    def device(self) -> backends.Device:  # type: ignore[override]
        """Where the recorded tensors live."""
        return HOME.get().device

    def from_numpy(self, array: Any) -> Any:
        """Plain arrays stay plain: they are constants of the program."""
        return array

    def to_numpy(self, array: Any) -> Any:
        """Refused: the value would be frozen into whatever Python does with it."""
        raise _escape("reading a traced value (item, numpy, print)")

    def owner(self, array: Any) -> Any:
        """Each proxy stands for memory of its own."""
        return array


backends.register(TraceBackend())


def trace(function: Callable[..., Any], *tensors: Tensor) -> Program:
    """What ``function(*tensors)`` does to arrays, its backward pass included, as a `Program`.

    Inputs keep their ``requires_grad`` and start without ``.grad``. The function returns a tensor or a tuple of them.
    Raises `TraceError` when a value leaves the trace, as in ``if loss.item() > 1``.

    >>> import tinygrad_edu as tg
    >>> print(trace(lambda x: (x * 2).sum(), tg.ones(3)))
    program(v0: f32[3]):
      v1: f32[3] = mul(v0, 2)
      v2: f32[] = sum(v1, None, False)
      return v2
    """
    recorder = Recorder()
    originals = [as_tensor(t) for t in tensors]
    proxies = [recorder.new(t.array) for t in originals]
    inputs = tuple(proxy.var for proxy in proxies)
    arguments = []
    for original, proxy in zip(originals, proxies, strict=True):
        argument = wrap(proxy)
        arguments.append(argument.requires_grad_() if original.requires_grad else argument)
    result = function(*arguments)
    results = result if isinstance(result, tuple) else (result,)
    for r in results:
        if not isinstance(r, Tensor) or not isinstance(r.array, RecArray):
            raise TraceError(
                f"returning {r!r} from a traced function",
                "it was not computed from the inputs",
                "return traced tensors",
            )
        r.array.check()
    return Program(inputs, tuple(recorder.equations), tuple(r.array.var for r in results))
