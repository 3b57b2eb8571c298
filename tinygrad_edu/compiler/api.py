"""`compile`: a function, a module or a whole training step, made into programs that run without asking again."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from sys import getrefcount
from types import NoneType, SimpleNamespace
from typing import Any

import numpy as np

from ..autograd import Function
from ..common.lines import warn_user
from ..common.locks import RLock
from ..common.wording import shown
from ..core.base import TensorBase
from ..core.inplace import own_buffer
from ..core.storage import find, number
from ..errors import ArgumentError, AutogradError
from ..nn import Module
from ..settings import modes
from ..tensor import Tensor, wrap
from .capture import Feed, Kept, Place, Script, Segment, capture, is_hooked
from .ir import Program
from .numpy_code import Code
from .passes import PASSES, optimised
from .trace import TraceError
from .watch import Watched

BACKENDS = ("numpy", "numba")
MODES = (None, "default")
LIMIT = 8  # programs for one function; after that it runs as it is written
STEP = "a compiled program"


@dataclass
class Trace:
    """An entry of the ledger: why a program was made, or could not be, and what that took."""

    signature: str
    reason: str
    seconds: float
    calls: int = 0
    broken: str = ""  # why the function runs as it is written
    script: Script | None = field(default=None, repr=False)
    codes: list[Code] = field(default_factory=list, repr=False)

    @property
    def captured(self) -> list[Program]:
        """The programs as they were recorded: one for each stretch between two calls of Python."""
        steps = [] if self.script is None else [*self.script.steps, self.script.backward]
        return [one.program for one in steps if isinstance(one, Segment)]

    @property
    def programs(self) -> list[Program]:
        """The same after all passes."""
        return [code.program for code in self.codes]

    @property
    def source(self) -> str:
        """What runs: the generated functions."""
        return "\n".join(code.source for code in self.codes)


def compile(
    model: Any = None, *, fullgraph: bool = False, dynamic: bool | None = None, backend: str = "numpy",
    mode: str | None = None, options: dict[str, Any] | None = None, disable: bool = False,
) -> Any:  # fmt: skip
    """A function or module that computes the same as ``model`` by a program, which is made at its first call.

    The program is made anew where the shapes or dtypes of its arguments change, or a value of Python that it has read;
    ``f.ledger`` says when and why. A whole training step may be compiled, with ``backward()``, ``optimizer.step()`` and
    what else belongs to it. What a program cannot repeat, such as ``if loss > 1``, lets the function run as it is
    written, with a warning that names it; with ``fullgraph=True`` that is a `TraceError`.

    ``backend="numba"`` compiles chains of elementwise operations over large arrays to machine code; it needs Numba.
    ``options={"leave_out": ("fuse",)}`` leaves out passes. Can be used as a decorator. Raises `ArgumentError` for
    settings that there are not.

    >>> import tinygrad_edu as tg
    >>> @tg.compile
    ... def f(x):
    ...     return (x * 2).sum()
    >>> f(tg.ones(3))
    tensor(6.)
    """
    if model is None:
        return functools.partial(
            compile, fullgraph=fullgraph, dynamic=dynamic, backend=backend, mode=mode, options=options, disable=disable
        )
    for name, value, known in (("backend", backend, BACKENDS), ("mode", mode, MODES)):
        if not isinstance(value, (str, NoneType)) or value not in known:
            mend = f"use {', '.join(repr(one) for one in known if one is not None)}"
            raise ArgumentError(f"compile({name}={shown(value, 40)})", f"there is no such {name}", mend)
    if dynamic is not None and dynamic is not False:
        why = "each program is made for one set of shapes"
        raise ArgumentError(f"compile(dynamic={shown(dynamic, 40)})", why, "pad batches to one size, or leave it out")
    if options is not None and not isinstance(options, dict):
        why = "options are a dict of names and values"
        raise ArgumentError(f"compile(options={shown(options, 40)})", why, 'write options={"leave_out": ("fuse",)}')
    leave_out = tuple((options or {}).get("leave_out", ()))
    if unknown := [name for name in leave_out if name not in PASSES]:
        tried = f"compile without the pass {unknown[0]!r}"
        raise ArgumentError(tried, "there is no such pass", f"name one of {', '.join(PASSES)}")
    if not callable(model):
        raise ArgumentError(f"compile({shown(model, 40)})", "it is no function or module", "give a function")
    if disable:
        return model
    if isinstance(model, Module):
        return CompiledModule(model, fullgraph, leave_out, backend)
    return Compiled(model, fullgraph, leave_out, backend)


class Compiled:
    """A compiled function. ``ledger`` tells which programs were made, and why."""

    def __init__(
        self, function: Callable[..., Any], fullgraph: bool = False, leave_out: tuple[str, ...] = (),
        backend: str = "numpy",
    ) -> None:  # fmt: skip
        self._function, self._fullgraph, self._leave_out, self._backend = function, fullgraph, leave_out, backend
        self._runs: dict[Any, list[Any]] = {}
        self._lock, self._warned = RLock(), False
        self.ledger: list[Trace] = []
        functools.update_wrapper(self, function, updated=())

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        m = modes()
        if m.observers or not m.plain:  # somebody watches, and should see each operation
            return self._function(*args, **kwargs)
        tensors: list[Tensor] = []
        try:
            key = (_key(args, tensors), _key(kwargs, tensors), m.grad, m.promotion, m.dtype, m.inference, m.device)
        except TraceError as error:
            return self._unsuited(error, args, kwargs)
        with self._lock:
            known = self._runs.get(key)
            if known is not None:
                for run in known:
                    if run.holds(tensors):
                        if isinstance(run, _Broken):
                            break
                        if run.beyond(tensors):
                            return self._looking(run, tensors, args, kwargs)
                        run.trace.calls += 1
                        return run(tensors)
                else:
                    run = None
                if run is not None:
                    return self._as_written(run, key, args, kwargs)
            run = self._make(key, args, kwargs, tensors, known or [])
            if isinstance(run, _Run):
                run.trace.calls += 1
                return run(tensors)
        return self._as_written(run, key, args, kwargs)

    def _looking(self, run: _Run, tensors: list[Tensor], args: Any, kwargs: Any) -> Any:
        """Some numbers are beyond those that were found to be good, such as a label that was not met so far: the
        function as it is written says whether they are."""
        result = self._function(*args, **kwargs)
        run.widen(tensors)
        run.trace.calls += 1
        return result

    def _unsuited(self, error: TraceError, args: Any, kwargs: Any) -> Any:
        """Run the function as it is: its arguments tell that there can be no program."""
        if self._fullgraph:
            raise error
        result = self._function(*args, **kwargs)
        self._tell(str(error))
        return result

    def _tell(self, why: str) -> None:
        if not self._warned:
            self._warned = True
            warn_user(f"{_name(self._function)} runs as it is written: {why}")

    def _as_written(self, broken: _Broken, key: Any, args: Any, kwargs: Any) -> Any:
        """Run the function as it is. An error is its own; else it is noted that there is no program."""
        result = self._function(*args, **kwargs)
        broken.trace.calls += 1
        if not broken.noted:
            broken.noted = True
            self.ledger.append(broken.trace)
            self._runs.setdefault(key, []).insert(0, broken)
            self._tell(broken.trace.broken)
        return result

    def _make(self, key: Any, args: Any, kwargs: Any, tensors: list[Tensor], known: list[Any]) -> Any:
        reason = self._reason(key, known, tensors)
        signature = ", ".join(_signature(tensor) for tensor in tensors)
        start = time.perf_counter()
        trace = Trace(signature, reason, 0.0)
        made = sum(1 for one in self.ledger if not one.broken)
        if made >= LIMIT:
            trace.broken = f"{made} programs were made already: {reason}"
            return _Broken(trace)
        try:
            watched = Watched(self._function, _extra(args, kwargs))
            watched.keep(args, kwargs)
            watched.refuse_iterators()
            try:
                script = capture(self._function, args, kwargs, tensors, watched.tensors)
                if changed := watched.changed() or watched.drawn():
                    why = "that would happen only while the program is made"
                    raise TraceError(f"a change of Python's values in a compiled function: {changed}", why, "return it")
            finally:
                watched.restore()
            run = _Run(script, trace, watched, self._leave_out, self._backend)
        except Exception as error:  # as it is written, it says better what is wrong, or is no error at all
            if self._fullgraph:
                raise
            trace.broken, trace.seconds = str(error), time.perf_counter() - start
            return _Broken(trace)
        trace.seconds = time.perf_counter() - start
        self.ledger.append(trace)
        self._runs.setdefault(key, []).insert(0, run)
        return run

    def _reason(self, key: Any, known: list[Any], tensors: list[Tensor]) -> str:
        if not self.ledger:
            return "the first call"
        for run in known:
            if found := run.why_not(tensors):
                return str(found)
        before = next(iter(self._runs))
        return _difference(before, key)

    def __reduce__(self) -> Any:
        return Compiled, (
            self._function,
            self._fullgraph,
            self._leave_out,
            self._backend,
        )  # a copy makes its own programs

    def __repr__(self) -> str:
        return f"<compiled {_name(self._function)}, {len(self.ledger)} programs>"


class _Broken:
    """A signature for which the function runs as it is written."""

    def __init__(self, trace: Trace) -> None:
        self.trace, self.noted = trace, False

    def holds(self, tensors: list[Tensor]) -> bool:
        """For good: it would break in the same place."""
        return True

    def why_not(self, tensors: list[Tensor]) -> str:
        return ""


class CompiledModule(Module):
    """A module whose calls are compiled. Its parameters and state are those of the module itself."""

    def __init__(self, module: Module, fullgraph: bool, leave_out: tuple[str, ...], backend: str) -> None:
        super().__init__()
        self._orig_mod = module
        object.__setattr__(self, "_compiled", Compiled(module.__call__, fullgraph, leave_out, backend))

    @property
    def ledger(self) -> list[Trace]:
        """Which programs were made, and why."""
        found: list[Trace] = self._compiled.ledger
        return found

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module gives."""
        return self._compiled(*args, **kwargs)


# Running -------------------------------------------------------------------------------------------------------------


class _Run:
    """A script, made ready."""

    def __init__(
        self, script: Script, trace: Trace, watched: Watched, leave_out: tuple[str, ...], backend: str
    ) -> None:
        self.script, self.trace, self.watched = script, trace, watched
        trace.script = script
        self.guards = [
            (t, t.array.shape, t.array.dtype, t.node is None, t.array.flags.c_contiguous) for t in script.tensors
        ]
        self.limits = [[feed, low, high] for feed, low, high in script.limits]
        self.grads = [(t, there) for t, there in script.reads_grad]
        self.written = list({id(feed): feed for feed in script.written}.values())
        self.kept = trace  # and with it all that was looked at, so that no id is used again
        self.steps: list[Any] = [
            _Part(one, trace, leave_out, backend) if isinstance(one, Segment) else one for one in script.steps
        ]
        self.backward = None if script.backward is None else _Part(script.backward, trace, leave_out, backend)
        self.simple = self.backward is None and isinstance(script.result, Place)
        self.count = 1 + max(
            (s.target for p in script.steps if isinstance(p, Segment) for s in p.sinks if s.kind == "result"),
            default=-1,
        )

    def holds(self, tensors: list[Tensor]) -> bool:
        """Whether everything that it was made for is still so."""
        for t, shape, dtype, free, in_order in self.guards:
            array, node = t.array, t.node
            if array.shape != shape or array.dtype is not dtype or (node is None) is not free:
                return False
            if array.flags.c_contiguous is not in_order or (node is not None and is_hooked(node)):
                return False
        for t, there in self.grads:
            if (t.gradient is not None) is not there:
                return False
        for feed in self.written:
            own = _tensor_of(feed, tensors)
            if not own.array.flags.writeable or self._shared(own, tensors):
                return False
        return not self.watched.changed()

    def beyond(self, tensors: list[Tensor]) -> bool:
        """Whether a number that decides if an operation is possible is beyond those that were good so far."""
        for feed, low, high in self.limits:
            array = _tensor_of(feed, tensors).array
            if array.min() < low or array.max() > high:
                return True
        return False

    def widen(self, tensors: list[Tensor]) -> None:
        """These were good too."""
        for limit in self.limits:
            array = _tensor_of(limit[0], tensors).array
            limit[1], limit[2] = min(limit[1], array.min().item()), max(limit[2], array.max().item())

    def _shared(self, own: Tensor, tensors: list[Tensor]) -> bool:
        """Whether another tensor shows memory that is written."""
        array = own.array
        for other in (*tensors, *self.script.tensors):
            seen = other.array
            apart = seen.base is None and array.base is None and seen is not array  # two that own their memory
            if other is not own and not apart and np.may_share_memory(seen, array):
                return True
        return False

    def why_not(self, tensors: list[Tensor]) -> str:
        """What is different, in words."""
        for feed in self.written:
            own = _tensor_of(feed, tensors)
            if not own.array.flags.writeable:
                return f"a tensor {list(own.shape)} that is written is read-only now"
            if self._shared(own, tensors):
                return f"a tensor {list(own.shape)} that is written shares its memory with another one now"
        for t, shape, dtype, free, in_order in self.guards:
            if t.node is not None and is_hooked(t.node):
                return f"a tensor {list(shape)} of the outside has a hook now"
            if t.array.flags.c_contiguous is not in_order:
                return f"a tensor {list(shape)} of the outside lies in memory in another way now"
            if t.array.shape != shape or t.array.dtype != dtype:
                return f"a tensor of the outside was {dtype}{list(shape)}, and is {t.array.dtype}{list(t.array.shape)}"
            if (t.node is None) is not free:
                return f"a tensor {list(shape)} of the outside {'wants' if free else 'needs no'} gradients now"
        for t, there in self.grads:
            if (t.gradient is not None) is not there:
                return f"the .grad of a tensor {list(t.shape)} is {'gone' if there else 'there'} now"
        return self.watched.changed()

    def __call__(self, tensors: list[Tensor]) -> Any:
        if self.simple:
            return wrap(np.asarray(self.forward(tensors)[0][0]))
        if self.backward is not None:
            wanted = [tensors[f.source] if f.kind == "argument" else f.source for f in self.script.pulled]
            results = _Joined.apply(self, tensors, *wanted)
            results = results if isinstance(results, tuple) else (results,)
            graph = self.script.with_graph
            results = [one if i in graph else wrap(one.array) for i, one in enumerate(results)]
            return self._filled(self.script.result, results, tensors)
        results, _ = self.forward(tensors)
        return self._filled(self.script.result, [wrap(np.asarray(one)) for one in results], tensors)

    def forward(self, tensors: list[Tensor]) -> tuple[list[Any], dict[Any, Any]]:
        """Run all steps. Returns the results, and what later programs need."""
        results: list[Any] = [None] * self.count
        carried: dict[Any, Any] = {}
        for step in self.steps:
            if type(step) is _Part:
                step(tensors, carried, results)
            else:
                step()
        for feed in self.written:
            t = _tensor_of(feed, tensors)
            own_buffer(t)
            t.storage.written(STEP, None)
        return results, carried

    def _filled(self, tree: Any, results: Any, tensors: list[Tensor]) -> Any:
        if isinstance(tree, Place):
            return results[tree.number]
        if isinstance(tree, Kept) and tree.feed.kind == "gradient":
            return tree.feed.source.gradient
        if isinstance(tree, Kept):
            return tensors[tree.feed.source] if tree.feed.kind == "argument" else tree.feed.source
        if isinstance(tree, dict):
            return {key: self._filled(value, results, tensors) for key, value in tree.items()}
        if isinstance(tree, (list, tuple)):
            parts = [self._filled(item, results, tensors) for item in tree]
            return type(tree)(*parts) if hasattr(tree, "_fields") else type(tree)(parts)
        return tree


def _tensor_of(feed: Feed, tensors: list[Tensor]) -> Tensor:
    found: Tensor = tensors[feed.source] if feed.kind == "argument" else feed.source
    return found


def _only_once(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Refuse a backward pass that is recorded: the graph of it would leave out what the program computes."""

    @functools.wraps(backward)
    def call(ctx: Any, *gradients: Any) -> Any:
        if modes().grad:
            why = "its backward pass is a program, which has no second derivative"
            raise AutogradError("create_graph=True through a compiled function", why, "call it without compile")
        return backward(ctx, *gradients)

    return call


class _Joined(Function):
    """Results whose graph is one node: the program of the backward pass."""

    @staticmethod
    def forward(ctx: Any, run: _Run, tensors: list[Tensor], *wanted: Tensor) -> Any:
        """All results, as tensors."""
        results, carried = run.forward(tensors)
        ctx.run, ctx.tensors, ctx.carried, ctx.number = run, tensors, carried, number()
        made = tuple(wrap(np.asarray(one)) for one in results)
        ctx.like = [(one.array.shape, one.array.dtype) for one in made]
        return made if len(made) > 1 else made[0]

    @staticmethod
    @_only_once
    def backward(ctx: Any, *gradients: Any) -> Any:
        """The gradients of what was wanted."""
        run: _Run = ctx.run
        assert run.backward is not None
        gradients = tuple(
            wrap(np.zeros(shape, dtype)) if g is None else g
            for g, (shape, dtype) in zip(gradients, ctx.like, strict=True)
        )
        pulled: list[Any] = [None] * len(run.script.pulled)
        for array in ctx.carried.values():
            storage = find(array)
            if storage is not None and storage.stamp > ctx.number:
                tried = f"backward of a compiled program that needs a tensor {array.shape} {array.dtype}"
                why = f"{storage.writer[0]} has written to it since the program ran"
                raise AutogradError(tried, why, "call backward() before, or write to a clone")
        run.backward(ctx.tensors, ctx.carried, pulled, gradients)
        return (None, None, *(wrap(np.asarray(one)) for one in pulled))


class _Part:
    """A segment with its code."""

    def __init__(self, segment: Segment, trace: Trace, leave_out: tuple[str, ...], backend: str) -> None:
        self.segment = segment
        places: dict[int, tuple[str, int]] = {}
        for i, sink in enumerate(segment.sinks):
            if sink.kind in ("write", "write gradient") and sink.target in segment.feeds:
                places[i] = ("input", segment.feeds.index(sink.target))
            elif sink.kind in ("write", "write gradient", "gradient"):
                places[i] = ("given", i)
        self.code = Code(optimised(segment.program, leave_out), places, backend == "numba")
        trace.codes.append(self.code)
        self.given = [segment.sinks[i] for i, (kind, _) in places.items() if kind == "given"]
        self.returned = [sink for i, sink in enumerate(segment.sinks) if i not in places]
        self._arrays = _gatherer(segment.feeds)
        self.kept: list[Any] = [None] * len(self.given)  # gradients that were made, to be used again

    def __call__(self, tensors: list[Tensor], carried: dict[Any, Any], results: list[Any], gradients: Any = ()) -> None:
        arrays = self._arrays(tensors, carried, gradients)
        made = []
        for i, sink in enumerate(self.given):
            kind, target = sink.kind, sink.target
            if kind == "gradient":
                held = self.kept[i]
                if held is None or target.gradient is not held or not _alone(held):
                    held = self.kept[i] = wrap(np.empty(target.array.shape, target.array.dtype))
                made.append((target, held))
                arrays.append(held.array)
            else:
                owner = target.source if target.kind != "argument" else tensors[target.source]
                arrays.append(owner.gradient.array if kind == "write gradient" else owner.array)
            del target
        found = self.code.run(*arrays)
        for target, held in made:
            target.gradient = held
        for tensor in self.segment.cleared:
            tensor.gradient = None
        for sink, value in zip(self.returned, found, strict=True):
            (carried if sink.kind == "carried" else results)[sink.target] = value


_WORDS = {
    "tensor": "{s}.array", "argument": "tensors[{n}].array", "gradient": "{s}.gradient.array", "array": "{s}",
    "draw": "{s}()", "number": "as_number({s}())", "carried": "carried[{s}]", "tangent": "gradients[{n}].array",
}  # fmt: skip


def _gatherer(feeds: tuple[Feed, ...]) -> Callable[..., list[Any]]:
    """A function that collects the inputs: written out, which is faster than asking each feed for its kind."""
    names: dict[str, Any] = {f"s{i}": feed.source for i, feed in enumerate(feeds)}
    parts = [_WORDS[feed.kind].format(s=f"s{i}", n=feed.source) for i, feed in enumerate(feeds)]
    head = "".join(f", {name}={name}" for name in names)
    source = f"lambda tensors, carried, gradients{head}: [{', '.join(parts)}]"
    found: Callable[..., list[Any]] = eval(source, {**names, "as_number": lambda value: np.asarray(value, np.float32)})
    return found


def _alone(gradient: Tensor) -> bool:
    """Whether nobody has this gradient but the tensor it belongs to, and ourselves."""
    return gradient.storage is None and _counts(gradient) == _USUAL


def _counts(gradient: Any) -> tuple[int, int]:
    return getrefcount(gradient), getrefcount(gradient.array)


def _asked(gradient: Any) -> tuple[int, int]:
    return _counts(gradient)  # from as deep as `_alone`


def _usual() -> tuple[int, int]:
    """The counts of a gradient that a list, a tensor and a variable refer to, asked for as here: they differ between
    Pythons."""
    owner = SimpleNamespace(gradient=SimpleNamespace(array=object()))
    kept = [owner.gradient]
    held = kept[0]
    return _asked(held)


_USUAL = _usual()


# Keys ----------------------------------------------------------------------------------------------------------------


def _key(tree: Any, tensors: list[Tensor]) -> Any:
    """What a program depends on, of arguments: shapes, dtypes, numbers. The tensors are collected."""
    kind = type(tree)
    if kind is tuple or kind is list:
        parts: list[Any] = [kind]
        for item in tree:
            if isinstance(item, TensorBase) and not any(known is item for known in tensors):
                tensors.append(item)  # type: ignore[arg-type]
                array = item.array
                parts.append((array.shape, array.dtype, item.node is None, array.flags.c_contiguous))
            else:
                parts.append(_key(item, tensors))
        return tuple(parts)
    if isinstance(tree, TensorBase):
        for i, known in enumerate(tensors):
            if known is tree:
                return i
        return _key((tree,), tensors)[1]
    if kind is dict:
        return tuple([(name, _key(item, tensors)) for name, item in tree.items()]) if tree else ()
    if isinstance(tree, float):
        return kind, tree.hex()  # 0.0 and -0.0 are equal, and not the same
    if tree is None or isinstance(tree, (bool, int, str)):
        return kind, tree
    if isinstance(tree, (np.generic, complex)):
        return kind, repr(tree)
    if isinstance(tree, np.ndarray):
        why = "a program is made for tensors, and the numbers of an array would be those of now"
        raise TraceError("a NumPy array given to a compiled function", why, "make it a tensor first: as_tensor(array)")
    return kind, id(tree)


def _extra(args: Any, kwargs: Any) -> tuple[Any, ...]:
    return tuple(one for one in (*args, *kwargs.values()) if not isinstance(one, Tensor))


def _difference(before: Any, now: Any) -> str:
    """How two keys differ, in words."""
    names = (
        "arguments", "named arguments", "grad mode", "promotion", "default dtype", "inference mode", "default device"
    )  # fmt: skip
    for name, x, y in zip(names, before, now, strict=True):
        if x != y:
            if name != "arguments":
                return f"{name}: {x} before, {y} now"
            for i, (a, b) in enumerate(zip(x[1:], y[1:], strict=False)):
                if a != b:
                    return f"argument {i} was {_words(a)}, and is {_words(b)}"
            return f"there are {len(y) - 1} arguments, and were {len(x) - 1}"
    return "the same arguments, but something else has changed"


def _words(part: Any) -> str:
    if isinstance(part, tuple) and len(part) == 4:
        shape, dtype, free, _ = part
        return f"{dtype}{list(shape)}{'' if free else ', requires_grad'}"
    if isinstance(part, tuple) and len(part) == 2:
        return repr(part[1])
    return repr(part)


def _signature(tensor: Tensor) -> str:
    return f"{tensor.array.dtype}{list(tensor.array.shape)}"


def _name(function: Any) -> str:
    return str(getattr(function, "__qualname__", type(function).__name__))
