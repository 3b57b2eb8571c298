"""Operations whose derivative you write yourself: `Function`, as in PyTorch."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from functools import wraps
from typing import Any

from .. import backends
from ..common.lines import user_line
from ..core.above import above
from ..core.base import TensorBase
from ..core.op import Op, Save
from ..core.slow import Call, record, through
from ..dtypes import is_float
from ..errors import AutogradError, ShapeError
from ..ops import convert as ct
from ..ops import movement as mv
from ..settings import modes, no_grad


class Context:
    """What `forward` leaves for `backward`. Attributes of any name may be set; tensors go to `save_for_backward`."""

    def __init__(self, needs: tuple[bool, ...]) -> None:
        self.needs_input_grad = needs
        self.to_save: tuple[Any, ...] = ()
        self.constant: set[int] = set()
        self._saved: tuple[Any, ...] | None = None

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep operands, results or other tensors (or None). A write to them before backward is noticed."""
        self.to_save = tensors

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What `save_for_backward` kept, inside `backward`."""
        if self._saved is None:
            why = "they are handed to backward, but this is not backward"
            raise AutogradError("saved_tensors", why, "use them in backward only")
        return self._saved

    def mark_non_differentiable(self, *results: Any) -> None:
        """These results get no gradient."""
        self.constant |= {id(r) for r in results}

    def set_materialize_grads(self, value: bool) -> None:
        """Accepted, as in PyTorch, and without effect: the gradient of a result that was not used is always zeros."""

    def mark_dirty(self, *arguments: Any) -> None:
        """Refused: here a `Function` must not change its arguments in place."""
        why, mend = "it must leave its arguments as they were", "compute a new tensor, and return that"
        raise AutogradError("mark_dirty in a Function", why, mend)


class Function:
    """An operation whose derivative you write yourself.

    Subclass it with two static methods: ``forward(ctx, *args)``, which computes with tensors and is not recorded, and
    ``backward(ctx, *gradients)``, which takes one gradient per result and returns one per argument, None for those
    that are not tensors. Call it with ``apply``. `forward` may also leave ``ctx`` out, with ``setup_context(ctx,
    inputs, output)`` beside it.

    Second derivatives work if `backward` is made of tensor operations.

    >>> import tinygrad_edu as tg
    >>> class Square(Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         (x,) = ctx.saved_tensors
    ...         return g * 2 * x
    >>> x = tg.tensor(3.0, requires_grad=True)
    >>> Square.apply(x).backward()
    >>> x.grad.item()
    6.0
    """

    recomputes = False  # does backward compute results again? Then those who watch see the operations inside

    @staticmethod
    def forward(*args: Any) -> Any:
        """The value."""
        raise NotImplementedError("write forward(ctx, …) in your Function")

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        """The gradients of the arguments."""
        raise NotImplementedError("write backward(ctx, …) in your Function")

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """Compute `forward`, as one operation of the graph."""
        line = user_line()
        for a in args:
            if isinstance(a, TensorBase):
                above.settle(a)
        needs = tuple(modes().grad and isinstance(a, TensorBase) and a.node is not None for a in args)
        custom: Any = _Custom(cls, Context(needs), args)
        call = Call(custom, args, {}, line, modes())
        result = through(call, len(call.modes.observers) - 1, custom.perform)
        return custom.results(result)


class _Once(Function):
    """Hands on what a `once_differentiable` backward returned, and refuses to be differentiated."""

    @staticmethod
    def forward(ctx: Any, found: Any, *gradients: Any) -> Any:
        return found

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        why = "its backward is marked with once_differentiable: it has no derivative"
        raise AutogradError("a second derivative of a Function", why, "take the mark away, or leave that part out")


def once_differentiable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """For a `Function.backward` that is not made of tensor operations: second derivatives through it are refused.

    Without the mark, a graph of it would leave out what NumPy or a library has computed, and be silently wrong.
    """

    @wraps(fn)
    def call(ctx: Any, *gradients: Any) -> Any:
        with no_grad():
            found = fn(ctx, *gradients)
        if not (modes().grad and any(isinstance(g, TensorBase) and g.node is not None for g in gradients)):
            return found
        marked = [
            _Once.apply(g, *gradients) if isinstance(g, TensorBase) else g
            for g in (found if isinstance(found, tuple) else (found,))
        ]
        return tuple(marked) if isinstance(found, tuple) else marked[0]

    return call


def _shares_memory(result: Any, operands: tuple[Any, ...]) -> bool:
    owner = backends.of(result.array).owner
    return any(isinstance(a, TensorBase) and owner(a.array) is owner(result.array) for a in operands)


class _Custom:
    """One call of a `Function`, in the shape of an op: what `Node` and interceptors look at."""

    variadic = broadcasts = view = computes = False
    differentiable = frees = True
    caches, dtypes, into = "", "each", ()
    params: dict[str, Any] = {}  # noqa: RUF012  (as every op has, and never written)
    optional: frozenset[str] = frozenset()
    hint = Op.hint

    def __init__(self, function: type[Function], ctx: Context, args: tuple[Any, ...]) -> None:
        self.function, self.ctx, self.recomputes = function, ctx, function.recomputes
        self.name, self.__doc__, self.__module__ = function.__name__, function.__doc__, function.__module__
        self.operands = tuple(f"argument {i}" for i in range(len(args)))
        self.inputs = [(tuple(a.shape), a.dtype) if isinstance(a, TensorBase) else ((), None) for a in args]
        self.save_plan: tuple[Save, ...] = ()
        self.parts: list[Any] = []  # of several results: the tensor itself, or (shape, dtype) of a piece of the whole
        self.single = True

    def perform(self, call: Call) -> Any:
        """Run the user's `forward`; several float results become one long one, so that a node has one result."""
        with no_grad():
            if hasattr(self.function, "setup_context"):
                output = self.function.forward(*call.operands)
                self.function.setup_context(self.ctx, call.operands, output)
            else:
                output = self.function.forward(self.ctx, *call.operands)
            given = output if isinstance(output, tuple) else (output,)
            for one in given:
                if not isinstance(one, TensorBase):
                    why, mend = f"forward returned {type(one).__name__}", "return a tensor, or a tuple of tensors"
                    raise AutogradError(f"{self.name}.apply", why, mend, call.line)
            # An operand that is passed through, or a view of one, is cloned: a result has its own memory and history.
            results = tuple(ct.clone(r) if _shares_memory(r, call.operands) else r for r in given)
            smooth = [r for g, r in zip(given, results, strict=True) if self._is_smooth(g)]
            self.single = not isinstance(output, tuple)
            if not smooth:
                self.parts = list(results)
                return results[0]
            if len(results) == 1:
                whole = results[0]
                self.parts = [None]
            else:
                whole = mv.cat([r.reshape(-1) for r in smooth])
                self.parts = [
                    (tuple(r.shape), r.dtype) if self._is_smooth(g) else r for g, r in zip(given, results, strict=True)
                ]
        self._keep(call, given)
        if call.modes.grad and any(self.ctx.needs_input_grad):
            arrays = tuple(a.array if isinstance(a, TensorBase) else a for a in call.operands)
            whole.node = record(call, call.operands, arrays, call.params.get("out", whole.array), None)
            if not self.recomputes:
                whole.node.hooks()["seen"] = lambda g: g  # the user's backward may keep a gradient: nobody adopts it
        return whole

    def _is_smooth(self, result: Any) -> bool:
        return is_float(result.dtype) and id(result) not in self.ctx.constant

    def _keep(self, call: Call, given: tuple[Any, ...]) -> None:
        """Note what `save_for_backward` was given: operands and a single result by name, the rest by value."""
        names, values = [], {}
        for i, saved in enumerate(self.ctx.to_save):
            name = next((n for n, a in zip(self.operands, call.operands, strict=True) if a is saved), "")
            if not name and any(saved is g for g in given):
                name = "out" if len(given) == 1 else f"result {i}"
            name = name or f"saved {i}"
            names.append(name)
            if name not in self.operands:
                values[name] = saved.array if isinstance(saved, TensorBase) else saved
        self.save_plan = tuple(Save(name, "", "") for name in names)
        call.params = values
        self.ctx.to_save = ()

    def results(self, whole: Any) -> Any:
        """What `apply` returns: the pieces of the whole, as tensors of the graph."""
        if self.parts == [None]:
            return whole if self.single else (whole,)
        pieces = [
            part if piece is None else ct.clone(piece) for part, piece in zip(self.parts, self._cut(whole), strict=True)
        ]
        return pieces[0] if self.single else tuple(pieces)

    def _cut(self, whole: Any) -> list[Any]:
        """The whole, or its gradient, cut up into the shapes and dtypes of the results; None for constant ones."""
        pieces: list[Any] = []
        start = 0
        for part in self.parts:
            if isinstance(part, TensorBase):
                pieces.append(None)
                continue
            shape, dtype = part
            stop = start + math.prod(shape)
            pieces.append(whole[start:stop].reshape(shape).to(dtype))
            start = stop
        return pieces

    def backward(self, xp: Any, g: Any, needs: Any, *saved: Any) -> Any:
        """Run the user's `backward`, on tensors in every world."""
        recorded = isinstance(g, TensorBase)
        if modes().grad and any(save.source.startswith("result ") for save in self.save_plan):
            raise AutogradError(
                f"a second derivative or forward mode of {self.name}",
                "it saved one of several results, and the graph of the gradient cannot be connected to that",
                "save the arguments instead, and compute the result again in backward",
            )
        wrap = above.wrap
        ctx = copy.copy(self.ctx)
        ctx._saved = tuple(wrap(s) if hasattr(s, "dtype") and not isinstance(s, TensorBase) else s for s in saved)
        found = self.function.backward(ctx, *self._gradients(g if recorded else wrap(g)))
        grads = found if isinstance(found, tuple) else (found,)
        return tuple(self._checked(i, part, needs, recorded) for i, part in enumerate(self._counted(grads)))

    def _gradients(self, g: Any) -> list[Any]:
        if self.parts == [None]:
            return [g]
        zeros = [part.detach() * 0 if isinstance(part, TensorBase) else None for part in self.parts]
        return [zero if piece is None else piece for zero, piece in zip(zeros, self._cut(g), strict=True)]

    def _counted(self, grads: tuple[Any, ...]) -> tuple[Any, ...]:
        if len(grads) > len(self.operands) and all(g is None for g in grads[len(self.operands) :]):
            grads = grads[: len(self.operands)]
        if len(grads) != len(self.operands):
            raise AutogradError(
                f"{self.name}.backward",
                f"it returned {len(grads)} gradient(s), but {self.name}.forward takes {len(self.operands)} argument(s)",
                "return one per argument, None for those that need none",
            )
        return grads

    def _checked(self, i: int, part: Any, needs: Any, recorded: bool) -> Any:
        if part is None or needs[i] is None:
            return None
        if not isinstance(part, TensorBase):
            why = f"the gradient of argument {i} is a {type(part).__name__}"
            raise AutogradError(f"{self.name}.backward", why, "return tensors, or None")
        shape, dtype = self.inputs[i]
        if tuple(part.shape) != shape:
            raise ShapeError(
                f"{self.name}.backward",
                f"the gradient of argument {i} has shape {tuple(part.shape)}, but the argument has {shape}",
                "return a gradient of the argument's shape: sum over what was broadcast",
            )
        part = part.to(dtype)
        return part if recorded else part.array
