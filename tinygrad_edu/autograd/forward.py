"""Forward mode: tangents that travel along with the values, and no graph.

A backward body is linear in the gradient that comes in. So its own derivative with respect to that gradient is the
forward rule of the same op: it turns the tangents of operands into the tangent of the result. Forward mode therefore
needs no second set of rules. It watches the operations from outside and transposes one backward body at a time.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from .. import backends
from ..core.above import above
from ..core.base import TensorBase
from ..core.graph import unbroadcast
from ..core.inplace import ViewPut, replay
from ..core.slow import Call, Interceptor, saved_by
from ..core.storage import number
from ..dtypes import is_float
from ..errors import AutogradError, DtypeError, ShapeError
from ..inputs.kinds import explain_all
from ..ops import convert as ct
from ..settings import inference_mode, modes
from .engine import transpose
from .tensors import tensor_namespace


class Tangents:
    """Tangents by tensor and by raw array, held only as long as those live."""

    def __init__(self) -> None:
        self.held: dict[int, tuple[Any, Any]] = {}

    def set(self, tensor: TensorBase, tangent: Any) -> None:
        """Give this tangent to ``tensor``, and to any new tensor around the same array; None for zero."""
        self._hold(tensor, tangent)
        self._hold(tensor.array, tangent)

    def _hold(self, thing: Any, tangent: Any) -> None:
        key = id(thing)
        try:
            keep: Any = weakref.ref(thing, lambda _, held=self.held: held.pop(key, None))  # type: ignore[misc]
        except TypeError:
            keep = thing  # a NumPy scalar cannot be watched, so it is kept: it is small
        self.held[key] = (keep, tangent)

    def of(self, tensor: Any) -> Any:
        """The tangent of ``tensor``, or None for zero."""
        for thing in (tensor, tensor.array):
            if id(thing) in self.held:
                return self.held[id(thing)][1]
        return None

    def drop(self, tensor: TensorBase) -> None:
        """``tensor`` has no tangent, though its array may have one."""
        self._hold(tensor, None)


class Forward(Interceptor):
    """Computes a tangent for the result of each operation that has an operand with a tangent."""

    differentiates = True

    def __init__(self) -> None:
        self.tangents = Tangents()

    def forward(self, call: Call, proceed: Callable[[], Any]) -> Any:
        """The operation, and its tangent beside it."""
        operands, target = call.operands, call.target
        tangents = [self.tangents.of(o) if isinstance(o, TensorBase) else None for o in operands]
        moving = any(t is not None for t in tangents)
        if target is None:
            result = proceed()
            if moving and call.op.differentiable and is_float(result.array.dtype):
                self.tangents.set(result, push(call, operands, tangents, result))
            return result
        _refuse_recorded_write(call, moving)
        before = tuple(ct.clone(o) if isinstance(o, TensorBase) else o for o in operands)
        result = proceed()
        written = push(call, before, tangents, result) if moving else None
        self.written(target, written)
        return result

    def detached(self, tensor: Any) -> None:
        """What was detached is a constant from here on."""
        self.tangents.drop(tensor)

    def written(self, target: Any, tangent: Any) -> None:
        """``target`` was overwritten: it, its base and all their views have new tangents."""
        xp = tensor_namespace(target.device)
        views = [tensor for reference in target.storage.views if (tensor := reference()) is not None]
        base = target if target.origin is None else target.origin.base
        if base is target:
            whole = tangent
        else:
            old, zero = self.tangents.of(base), above.wrap(backends.of(base.array).xp.zeros_like(base.array))
            part = xp.zeros_like(target) if tangent is None else tangent
            whole = ViewPut.forward(xp, zero if old is None else old, part, chain=target.origin.chain)
        self.tangents.set(base, whole)
        for view in (target, *views):
            if view.origin is not None and view.origin.base is base:  # not those of a detached alias
                self.tangents.set(view, None if whole is None else replay(view.origin.chain, xp, whole))


def _refuse_recorded_write(call: Call, moving: bool) -> None:
    if moving and modes().grad and any(isinstance(o, TensorBase) and o.node is not None for o in call.operands):
        raise AutogradError(
            f"{call.op.name} in place, inside jvp(), on a tensor that requires grad",
            "forward mode does not support a recorded write: the tangent of what was overwritten would be lost",
            "use the out-of-place form there",
        )


def push(call: Call, operands: tuple[Any, ...], tangents: list[Any], result: Any) -> Any:
    """The tangent of ``result``: the op's backward body, transposed. None when it is zero."""
    op, create, wrap = call.op, modes().grad, above.wrap
    xp, raw = tensor_namespace(result.device), backends.of(result.array).xp
    cache = None
    if op.caches == "constant":
        arrays = [o.array if isinstance(o, TensorBase) else o for o in operands]
        cache = wrap(op.forward(raw, *arrays, **call.params)[1])
    if not create:  # nothing is recorded, so nothing of an older graph is needed
        operands = tuple(wrap(o.array) if isinstance(o, TensorBase) else o for o in operands)
        result = wrap(result.array)
    needs = tuple(None if t is None else True for t in tangents)
    saved = saved_by(op, operands, needs, {**call.params, "out": result, "cache": cache})
    since = number()
    with inference_mode(False):
        g = wrap(raw.zeros_like(result.array)).requires_grad_()
        parts = op.backward(xp, g, needs, *saved)
        total = None
        for operand, tangent, part in zip(
            operands, tangents, parts if type(parts) is tuple else (parts,), strict=False
        ):
            if tangent is not None and part is not None:
                met = (unbroadcast(xp, part, tuple(operand.shape)) * tangent).sum()
                total = met if total is None else total + met
    return None if total is None or total.node is None else transpose(total, g, since, create)


def jvp(func: Callable[..., Any], primals: Any, tangents: Any) -> tuple[Any, Any]:
    """``func(*primals)``, and the direction in which it moves when the primals move along ``tangents``.

    Forward mode: one pass, no graph, memory for one tangent beside each value. Results are a tensor or a tuple of
    tensors, as ``func`` returns them. Raises `ShapeError` and `DtypeError` for tangents unlike their primals. Calls may
    be nested, and mixed with `grad`, for higher derivatives.

    >>> import tinygrad_edu as tg
    >>> value, slope = tg.autograd.jvp(lambda x: x**3, (tg.tensor(2.0),), (tg.tensor(1.0),))
    >>> value.item(), slope.item()
    (8.0, 12.0)
    """
    primals, tangents = _tuple(primals), _tuple(tangents)
    _check(primals, tangents)
    inputs = [ct.clone(p) for p in primals]  # copies: a tangent must not reach other tensors over the same memory
    with Forward() as level:
        for x, t in zip(inputs, tangents, strict=True):
            level.tangents.set(x, t)
        outputs = func(*inputs)
    several = isinstance(outputs, (tuple, list))
    results = tuple(outputs) if several else (outputs,)
    for r in results:
        if not isinstance(r, TensorBase):
            raise AutogradError(
                f"jvp of a function that returned {type(r).__name__}",
                "only a tensor, or a tuple of tensors, can have a tangent",
                "return tensors, not numbers taken out of them",
            )
    found = tuple(_or_zero(level.tangents.of(r), r) for r in results)
    level.tangents.held.clear()  # tangents may be part of the graph that they are kept for: that would be a cycle
    return (results, found) if several else (results[0], found[0])


def _or_zero(tangent: Any, result: Any) -> Any:
    return above.wrap(backends.of(result.array).xp.zeros_like(result.array)) if tangent is None else tangent


def _tuple(given: Any) -> tuple[Any, ...]:
    return tuple(given) if isinstance(given, (tuple, list)) else (given,)


def _check(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> None:
    if len(primals) != len(tangents):
        why = "each primal moves along a tangent of its own"
        raise ShapeError(f"jvp with {len(primals)} primals and {len(tangents)} tangents", why, "pass one each")
    for i, (x, t) in enumerate(zip(primals, tangents, strict=True)):
        if not isinstance(x, TensorBase) or not isinstance(t, TensorBase):
            tried = f"jvp with primal {i} of type {type(x).__name__} and a tangent of type {type(t).__name__}"
            raise DtypeError(tried, "both are tensors", "make tensors of them first: tensor(…)")
        if tuple(x.array.shape) != tuple(t.array.shape):
            tried = f"jvp with primal {i} of shape {tuple(x.array.shape)} and a tangent {tuple(t.array.shape)}"
            raise ShapeError(tried, "a tangent moves each element", "give the tangent the primal's shape")
        if x.array.dtype != t.array.dtype or not is_float(x.array.dtype):
            tried = f"jvp with primal {i} of dtype {x.array.dtype} and a tangent of dtype {t.array.dtype}"
            raise DtypeError(tried, "both are floats of one dtype", "convert them first: x.float()")


explain_all(globals(), "push")
