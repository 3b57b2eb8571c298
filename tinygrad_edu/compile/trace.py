"""Recording: run a function once on array proxies that compute *and* write down what they compute.

Values are concrete, so no shape rules are needed. The proxies have operators of their own and join in none of
NumPy's protocols, through which `zeros` or a slice assignment could slip past the record.
"""

from __future__ import annotations

import operator
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import backends
from ..backends.cpu import XP
from ..errors import EduError
from ..tensor import Tensor, as_tensor, wrap
from .ir import Equation, Program, Var

OPERATORS: dict[str, Callable[..., Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv, "pow": operator.pow,
    "floordiv": operator.floordiv, "mod": operator.mod, "and": operator.and_, "or": operator.or_, "xor": operator.xor,
    "neg": operator.neg, "invert": operator.invert, "matmul": operator.matmul, "eq": operator.eq, "ne": operator.ne,
    "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge, "getitem": operator.getitem,
}  # fmt: skip


class TraceError(EduError, RuntimeError):
    """Something happened during tracing that a replay could not repeat."""


class Recorder:
    """Collects equations while a function runs."""

    def __init__(self) -> None:
        self.equations: list[Equation] = []
        self.constants: dict[int, tuple[Any, Any]] = {}
        self.count = 0

    def new(self, value: Any) -> RecArray:
        """A proxy for ``value`` under a new variable."""
        var = Var(self.count, tuple(value.shape), value.dtype)
        self.count += 1
        return RecArray(self, value, var)

    def call(self, name: str, function: Callable[..., Any], *args: Any) -> Any:
        """Compute ``function(*args)`` and note it."""
        value = function(*_unwrap(args, lambda proxy: proxy.value))
        result = self.new(value)
        if getattr(value, "base", None) is not None:
            for proxy in _proxies(args):
                if np.may_share_memory(value, proxy.value):
                    proxy.share(result)
        self.equations.append(Equation(result.var, name, _unwrap(args, lambda proxy: proxy.var, self.constant)))
        return result

    def constant(self, value: Any) -> Any:
        """An array from outside the trace, as it is now: a later write to it must not change the program."""
        if not isinstance(value, np.ndarray):
            return value
        kept = self.constants.get(id(value))
        if kept is None or kept[1].tobytes() != value.tobytes():  # new, or written since its last use
            kept = self.constants[id(value)] = (value, value.copy())  # with the original, so that its id stays
        return kept[1]


def _unwrap(tree: Any, part: Callable[[RecArray], Any], other: Callable[[Any], Any] = lambda value: value) -> Any:
    if isinstance(tree, RecArray):
        return part(tree)
    return tuple(_unwrap(item, part, other) for item in tree) if isinstance(tree, (tuple, list)) else other(tree)


def _binary(name: str) -> Any:
    function = OPERATORS[name]
    return lambda self, other: self.recorder.call(name, function, self, other)


def _reflected(name: str) -> Any:
    function = OPERATORS[name]
    return lambda self, other: self.recorder.call(name, function, other, self)


def _inplace(name: str) -> Any:
    function = OPERATORS[name]

    def call(self: RecArray, other: Any) -> RecArray:
        result = self.recorder.call(name, function, self, other)
        if result.var.type != self.var.type:  # NumPy would cast, or refuse
            result = self.recorder.call("put", XP.put, self, (...,), result)
        return self._become(result)

    return call


class RecArray:
    """An array that is being watched."""

    __slots__ = ("__weakref__", "family", "recorder", "value", "var")
    __array_ufunc__ = None  # ndarray + proxy asks the proxy
    __hash__ = object.__hash__
    base = None

    def __init__(self, recorder: Recorder, value: Any, var: Var) -> None:
        self.recorder, self.value, self.var = recorder, value, var
        self.family: list[weakref.ref[RecArray]] = []  # proxies of the same memory, this one among them

    def share(self, view: RecArray) -> None:
        """``view`` looks at the memory of this proxy."""
        self.family = self.family or [weakref.ref(self)]
        self.family.append(weakref.ref(view))
        view.family = self.family

    @property
    def shape(self) -> tuple[int, ...]:
        """The length of each axis."""
        return self.var.shape

    @property
    def dtype(self) -> Any:
        """The dtype of the elements."""
        return self.var.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.var.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return int(self.value.size)

    @property
    def strides(self) -> Any:
        """Bytes between neighbours along each axis, while recording."""
        return self.value.strides

    __add__, __sub__, __mul__, __truediv__ = _binary("add"), _binary("sub"), _binary("mul"), _binary("div")
    __radd__, __rsub__, __rmul__, __rtruediv__ = map(_reflected, ("add", "sub", "mul", "div"))
    __pow__, __rpow__, __matmul__, __rmatmul__ = (
        _binary("pow"),
        _reflected("pow"),
        _binary("matmul"),
        _reflected("matmul"),
    )
    __floordiv__, __rfloordiv__, __mod__, __rmod__ = (
        _binary("floordiv"),
        _reflected("floordiv"),
        _binary("mod"),
        _reflected("mod"),
    )
    __and__, __or__, __xor__ = _binary("and"), _binary("or"), _binary("xor")
    __rand__, __ror__, __rxor__ = _reflected("and"), _reflected("or"), _reflected("xor")
    __eq__, __ne__, __lt__ = _binary("eq"), _binary("ne"), _binary("lt")
    __le__, __gt__, __ge__, __getitem__ = _binary("le"), _binary("gt"), _binary("ge"), _binary("getitem")

    def __neg__(self) -> Any:
        return self.recorder.call("neg", operator.neg, self)

    def __invert__(self) -> Any:
        return self.recorder.call("invert", operator.invert, self)

    def __setitem__(self, index: Any, values: Any) -> None:
        self._become(self.recorder.call("put", XP.put, self, index, values))

    def _become(self, written: RecArray) -> RecArray:
        """A write gives the array a new variable. Refused while another live proxy looks at the same memory."""
        if any(other is not None and other is not self for other in (reference() for reference in self.family)):
            raise TraceError(
                f"a write to a traced array {self.var.type}",
                "it shares memory with a view, which the program would not see change",
                "use the out-of-place form inside the traced function",
            )
        self.value, self.var, self.family = written.value, written.var, []
        return self

    __iadd__, __isub__, __imul__, __itruediv__ = map(_inplace, ("add", "sub", "mul", "div"))

    def __bool__(self) -> bool:
        raise _escape("the truth of a traced value")


def _escape(tried: str) -> TraceError:
    return TraceError(
        tried,
        "a replay would not ask again: what the value decides now would hold for every later input",
        "use where(condition, a, b), or take the decision outside the traced function",
    )


def _recorded(name: str) -> Callable[..., Any]:
    function = getattr(XP, name)

    def call(*args: Any) -> Any:  # bodies give arguments by position, so that an equation needs no names
        recorder = next((a.recorder for a in _proxies(args)), None)
        return function(*args) if recorder is None else recorder.call(name, function, *args)

    return call


def _proxies(tree: Any) -> list[RecArray]:
    if isinstance(tree, RecArray):
        return [tree]
    return [p for item in tree for p in _proxies(item)] if isinstance(tree, (tuple, list)) else []


class TraceBackend(backends.Backend):
    """Where proxies live: at home on the CPU, for all that devices are concerned."""

    name = "trace"
    device = backends.Device("cpu")
    readable = False
    xp = backends.Namespace("trace", **{name: _recorded(name) for name in backends.ALL_NAMES})
    array_types = (RecArray,)

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
    return Program(inputs, tuple(recorder.equations), tuple(r.array.var for r in results))
