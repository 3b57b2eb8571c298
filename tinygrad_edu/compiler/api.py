"""`compile`: a function, a module or a whole training step, made into programs that run without asking again."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from types import NoneType
from typing import Any

import numpy as np

from ..backends import BY_TYPE, CPU
from ..common.blocks import block
from ..common.lines import warn_user
from ..common.locks import RLock
from ..common.wording import plural, shown
from ..core.base import TensorBase
from ..errors import ArgumentError
from ..inputs.arguments import whole
from ..nn import Module
from ..settings import modes
from ..tensor import Tensor
from .capture import capture
from .dynamic import Family, Recording, loose
from .lengths import noting
from .passes import PASSES
from .running import Options, Run, Trace
from .trace import TraceError
from .watch import Watched

BACKENDS = ("numpy", "numba")
MODES = (None, "default", "reduce-overhead", "max-autotune")
OPTIONS = ("leave_out", "keep_unused", "threads")
MOST_THREADS = 256
LIMIT = 8  # programs for one function; after that it runs as it is written


def compile(
    model: Any = None, *, fullgraph: bool = False, dynamic: bool | None = None, backend: str = "numpy",
    mode: str | None = None, options: dict[str, Any] | None = None, disable: bool = False,
) -> Any:  # fmt: skip
    """A function or module that computes the same as ``model`` by a program, which is made at its first call.

    The program is made anew where the shapes or dtypes of its arguments change, or a value of Python that it is given
    or has read; ``f.ledger`` says when and why. A whole training step may be compiled, with ``backward()``,
    ``optimizer.step()`` and what else belongs to it. What a program cannot repeat, such as ``if loss > 1``, lets the
    function run as it is written, with a warning that names it; with ``fullgraph=True`` that is a `TraceError`.

    With ``dynamic=True`` one length may vary, such as that of a batch: the function is recorded for two lengths, and
    from then on a program for another length is filled in, without a recording, where nothing but numbers changes.

    ``backend="numba"`` compiles programs over small arrays as a whole to machine code, and chains of elementwise
    operations over large ones; it needs Numba, and takes seconds for the first call. What ``dynamic`` fills in runs by
    NumPy.
    ``mode="reduce-overhead"`` lets a device start all kernels of a program with one command, as a CUDA graph does; on
    the CPU it changes nothing. ``"max-autotune"`` tries several forms of the code at the first call and keeps the
    quickest. ``options={"leave_out": ("fuse",)}`` leaves out passes, and ``{"keep_unused": True}`` lets a program take
    arguments that it does not read; with ``{"threads": 2}`` two threads share the strips of a large kernel on the CPU.

    Can be used as a decorator. Raises `ArgumentError` for settings that there are not.

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
    if not isinstance(dynamic, (bool, NoneType)):
        raise ArgumentError(f"compile(dynamic={shown(dynamic, 40)})", "it is on or off", "write True or False")
    leave_out, threads = _checked({} if options is None else options)
    if not callable(model):
        raise ArgumentError(f"compile({shown(model, 40)})", "it is no function or module", "give a function")
    if disable:
        return model
    chosen = Options(fullgraph, leave_out, backend, mode or "default", bool(dynamic), threads)
    if isinstance(model, Module):
        return CompiledModule(model, chosen)
    return Compiled(model, chosen)


def _checked(options: Any) -> tuple[tuple[str, ...], int]:
    """Which passes options leave out, and how many threads they ask for."""
    if not isinstance(options, dict):
        why = "options are a dict of names and values"
        raise ArgumentError(f"compile(options={shown(options, 40)})", why, 'write options={"leave_out": ("fuse",)}')
    if unknown := [name for name in options if name not in OPTIONS]:
        tried, mend = f"compile(options={{{unknown[0]!r:.40}: …}})", f"name one of {', '.join(OPTIONS)}"
        raise ArgumentError(tried, "there is no such option", mend)
    named = options.get("leave_out", ())
    if not isinstance(named, (tuple, list)):
        why, mend = "the passes to leave out are a tuple of names", 'write ("fuse",)'
        raise ArgumentError(f"compile(options={{'leave_out': {shown(named, 40)}}})", why, mend)
    if unknown := [name for name in named if name not in PASSES]:
        tried = f"compile without the pass {unknown[0]!r}"
        raise ArgumentError(tried, "there is no such pass", f"name one of {', '.join(PASSES)}")
    threads = whole("compile(options=…)", "threads", options.get("threads", 1))
    if not 1 <= threads <= MOST_THREADS:
        tried = f"compile(options={{'threads': {threads}}})"
        raise ArgumentError(tried, f"there can be 1 to {MOST_THREADS} threads", "use the number of cores")
    return (*named, *["unused"] * bool(options.get("keep_unused"))), threads


_watching: list[list[tuple[Any, Trace]]] = []  # who wants to hear of entries in ledgers


@block
def traces() -> Iterator[list[tuple[Any, Trace]]]:
    """The entries that are made in ledgers inside the block: of which function, and the entry."""
    seen: list[tuple[Any, Trace]] = []
    _watching.append(seen)
    try:
        yield seen
    finally:
        _watching[:] = [one for one in _watching if one is not seen]


class Compiled:
    """A compiled function. ``ledger`` tells which programs were made, and why."""

    def __init__(self, function: Callable[..., Any], options: Options) -> None:
        self._function, self._options = function, options
        self._runs: dict[Any, list[Any]] = {}
        self._families: dict[Any, Family] = {}  # of recordings that differ in lengths only
        self._lock, self._warned = RLock(), False
        self.ledger: list[Trace] = []
        functools.update_wrapper(self, function, updated=())

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        m = modes()
        if not m.plain and not (m.guard != "verify" and all(one.programs for one in m.observers)):
            return self._function(*args, **kwargs)  # somebody watches, and should see each operation
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
            run = self._fill(key, tensors) or self._make(key, args, kwargs, tensors, known or [])
            if isinstance(run, Run):
                run.trace.calls += 1
                return run(tensors)
        return self._as_written(run, key, args, kwargs)

    def _looking(self, run: Run, tensors: list[Tensor], args: Any, kwargs: Any) -> Any:
        """Some numbers are beyond those that were found to be good, such as a label that was not met so far: the
        function as it is written says whether they are."""
        result = self._function(*args, **kwargs)
        run.widen(tensors)
        run.trace.calls += 1
        return result

    def _unsuited(self, error: TraceError, args: Any, kwargs: Any) -> Any:
        """Run the function as it is: its arguments tell that there can be no program."""
        if self._options.fullgraph:
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
            self._enter(broken.trace)
            self._runs.setdefault(key, []).insert(0, broken)
            self._tell(broken.trace.broken)
        return result

    def _make(self, key: Any, args: Any, kwargs: Any, tensors: list[Tensor], known: list[Any]) -> Any:
        reason = self._reason(key, known, tensors)
        signature = ", ".join(_signature(tensor) for tensor in tensors)
        start = time.perf_counter()
        trace = Trace(signature, reason, 0.0)
        made = sum(one.recorded for one in self.ledger)
        if made >= LIMIT:
            trace.broken = f"{made} programs were made already: {reason}"
            return _Broken(trace)
        try:
            watched = Watched(self._function, _extra(args, kwargs))
            watched.keep(*_objects((args, kwargs)))
            watched.refuse_iterators()
            try:
                with noting() if self._options.dynamic else nullcontext() as notes:
                    script = capture(self._function, args, kwargs, tensors, watched.tensors)
                if changed := watched.changed() or watched.drawn():
                    why = "that would happen only while the program is made"
                    raise TraceError(f"a change of Python's values in a compiled function: {changed}", why, "return it")
            finally:
                watched.restore()
            run = Run(script, trace, watched, self._options)
        except Exception as error:  # as it is written, it says better what is wrong, or is no error at all
            if self._options.fullgraph:
                raise
            trace.broken, trace.seconds = str(error), time.perf_counter() - start
            return _Broken(trace)
        if notes is not None:
            self._families.setdefault(loose(key), Family()).add(Recording(_shapes(tensors), script, notes, run))
        trace.seconds = time.perf_counter() - start
        self._keep(key, run)
        return run

    def _keep(self, key: Any, run: Run) -> None:
        self._enter(run.trace)
        self._runs.setdefault(key, []).insert(0, run)

    def _family(self, key: Any) -> Family | None:
        return self._families.get(loose(key)) if self._families else None

    def _fill(self, key: Any, tensors: list[Tensor]) -> Run | None:
        """A program for another length than those recorded, from two recordings; None where they do not tell."""
        family, start = self._family(key), time.perf_counter()
        found = None if family is None else family.fill(_shapes(tensors))
        if family is None or found is None:
            return None
        script, form = found
        why = f"filled in, from those for {form.roots[0]} and {form.roots[1]}"
        trace = Trace(", ".join(map(_signature, tensors)), why, 0.0, origin=form.run.trace)
        by_numpy = replace(self._options, backend="numpy")  # machine code would take seconds for each length
        run = Run(script, trace, form.run.watched, by_numpy)
        if not run.holds(tensors):
            return None
        trace.seconds = time.perf_counter() - start
        self._keep(key, run)
        for old in family.keep(run):
            for runs in self._runs.values():
                runs[:] = [one for one in runs if one is not old]
            old.trace.codes.clear()
            old.trace.script = None
        return run

    def _reason(self, key: Any, known: list[Any], tensors: list[Tensor]) -> str:
        if not self.ledger:
            return "the first call"
        for run in known:
            if found := run.why_not(tensors):
                return str(found)
        before, family = min(reversed(self._runs), key=lambda one: _apart(one, key)), self._family(key)
        return _difference(before, key) + (f"; {family.why}" if family is not None and family.why else "")

    def __reduce__(self) -> Any:
        return Compiled, (self._function, self._options)  # a copy makes its own programs

    def _enter(self, trace: Trace) -> None:
        self.ledger.append(trace)
        for seen in _watching:
            seen.append((self, trace))

    def __repr__(self) -> str:
        return f"<compiled {_name(self._function)}, {plural(sum(one.recorded for one in self.ledger), 'program')}>"


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

    def __init__(self, module: Module, options: Options) -> None:
        super().__init__()
        self._orig_mod = module
        object.__setattr__(self, "_compiled", Compiled(module.__call__, options))

    @property
    def ledger(self) -> list[Trace]:
        """Which programs were made, and why."""
        found: list[Trace] = self._compiled.ledger
        return found

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module gives."""
        return self._compiled(*args, **kwargs)


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
                home = BY_TYPE[array.__class__]
                parts.append((array.shape, array.dtype, item.node is None, array.flags.c_contiguous, home))
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


def _objects(tree: Any) -> list[Any]:
    """What a key knows by its id. Not tensors: they may go."""
    if isinstance(tree, (tuple, list, dict)):
        return [one for item in (tree.values() if isinstance(tree, dict) else tree) for one in _objects(item)]
    return [] if isinstance(tree, TensorBase) else [tree]


def _extra(args: Any, kwargs: Any) -> tuple[Any, ...]:
    return tuple(one for one in (*args, *kwargs.values()) if not isinstance(one, Tensor))


def _apart(before: Any, now: Any) -> int:
    """In how many places two keys differ."""
    if isinstance(before, tuple) and isinstance(now, tuple) and len(before) == len(now):
        return sum(map(_apart, before, now))
    return int(before != now)


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
    if isinstance(part, tuple) and len(part) == 5:
        shape, dtype, free, in_order, home = part
        where = "" if home is CPU else f" on {home.name}"
        order = "" if in_order else ", not row by row in memory"
        return f"{dtype}{list(shape)}{where}{'' if free else ', requires_grad'}{order}"
    if isinstance(part, tuple) and len(part) == 2:
        return repr(float.fromhex(part[1]) if part[0] is float else part[1])
    return repr(part)


def _shapes(tensors: list[Tensor]) -> list[tuple[int, ...]]:
    return [tuple(tensor.array.shape) for tensor in tensors]


def _signature(tensor: Tensor) -> str:
    return f"{tensor.array.dtype}{list(tensor.array.shape)}"


def _name(function: Any) -> str:
    return str(getattr(function, "__qualname__", type(function).__name__))
