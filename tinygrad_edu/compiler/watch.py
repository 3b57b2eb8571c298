"""What a function reads besides tensors: the values of Python that its program was made for.

A program holds for numbers, flags and texts as they were when it was made. They are found in the function's closure,
globals, defaults and object, in what these hold, and in the functions that it calls. Before each run they are looked at
again; what has changed is named. Modules count how often an attribute is set, so most of the time one look is enough
for all of theirs.
"""

from __future__ import annotations

import time
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.base import TensorBase
from ..nn import Module
from ..nn.module import changes
from ..optim import Optimizer
from ..tensor import Tensor
from .trace import TraceError

_GONE = object()
CLOCKS = frozenset("time time_ns perf_counter perf_counter_ns monotonic process_time thread_time".split())
SMALL = 4096  # bytes of an array whose numbers are watched
PLAIN = (bool, int, float, complex, str, bytes, type(None), np.generic, np.dtype)
OPAQUE = (*PLAIN, TensorBase, type, types.ModuleType, types.BuiltinFunctionType)
MOST = 10_000  # values that one function is watched for
OURS = __name__.partition(".")[0]

Probe = tuple[Any, Any, Any, str]  # where it is, under which key, what it was, and its name


class Watched:
    """The values that a function may read, as they were: ``changed()`` names one that is another now, or gives ""."""

    def __init__(self, function: Callable[..., Any], extra: tuple[Any, ...] = ()) -> None:
        self.cells: list[tuple[Any, Any, str]] = []
        self.items: list[Probe] = []
        self.sizes: list[tuple[Any, int, str]] = []
        self.of_modules: list[Probe] = []
        self.count = changes.count
        self.attributes: list[tuple[Any, str, Any, str]] = []  # of objects with slots
        self.arrays: list[tuple[Any, bytes, str]] = []  # small ones
        self.streams: list[tuple[Any, Any, str]] = []  # NumPy's random generators
        self.iterators: list[str] = []
        self.tensors: list[Tensor] = []  # which the function may reach
        self._copies: list[tuple[Any, Any]] = []  # containers, and what was in them
        self._seen: dict[int, Any] = {}  # by id; kept, so that no id is used again
        self._look(function, _name(function))
        for i, value in enumerate(extra):
            self._look(value, f"argument {i}")

    def changed(self) -> str:
        """The first value that has changed, in words."""
        for cell, was, name in self.cells:
            try:
                now = cell.cell_contents
            except ValueError:
                return f"{name} is gone"
            if now is not was and not _same(now, was):
                return _told(name, was, now)
        for where, size, name in self.sizes:
            if len(where) != size:
                return f"the length of {name} was {size}, and is {len(where)}"
        if found := _changed(self.items):
            return found
        for owner, key, was, name in self.attributes:
            now = getattr(owner, key, _GONE)
            if now is not was and not _same(now, was):
                return _told(name, was, now)
        for array, was, name in self.arrays:
            if array.tobytes() != was:
                return f"the numbers in {name} are others now"
        if self.count != changes.count:
            if found := _changed(self.of_modules):
                return found
            self.count = changes.count
        return ""

    def drawn(self) -> str:
        """A random generator of NumPy that was drawn from."""
        for stream, state, name in self.streams:
            if stream.bit_generator.state != state:
                return f"random numbers are drawn from {name}"
        return ""

    def refuse_iterators(self) -> None:
        """What gives another item each time has no value to watch."""
        if self.iterators:
            why = "each call would get what the first one got"
            tried = f"an iterator in a compiled function: {self.iterators[0]}"
            raise TraceError(tried, why, "take the items outside, and give them")

    def restore(self) -> None:
        """Undo what the function has done to Python's values: it was run only to be recorded."""
        for container, inside in self._copies:
            if isinstance(container, list):
                if len(container) != len(inside) or any(a is not b for a, b in zip(container, inside, strict=True)):
                    container[:] = inside
            else:
                for key in [key for key in container if key not in inside]:
                    del container[key]
        for where, key, was, _ in (*self.items, *self.of_modules):
            if isinstance(where, dict) and where.get(key, _GONE) is not was:
                where[key] = was
        for cell, was, _ in self.cells:
            cell.cell_contents = was
        for owner, key, was, _ in self.attributes:
            if getattr(owner, key, _GONE) is not was:
                setattr(owner, key, was)
        for array, was, _ in self.arrays:
            if array.tobytes() != was and array.flags.writeable:
                array[...] = np.frombuffer(was, array.dtype).reshape(array.shape)
        for stream, state, _ in self.streams:
            stream.bit_generator.state = state
        self.count = changes.count

    def _look(self, value: Any, name: str) -> None:
        """Add what can be read in a value."""
        if isinstance(value, Tensor) and id(value) not in self._seen:
            self._seen[id(value)] = value
            self.tensors.append(value)
        if isinstance(value, OPAQUE) or id(value) in self._seen or len(self._seen) > MOST:
            return
        self._seen[id(value)] = value
        kind = type(value)
        if isinstance(value, np.ndarray):
            if value.nbytes <= SMALL and not value.dtype.hasobject:
                self.arrays.append((value, value.tobytes(), name))
            return
        if isinstance(value, np.random.Generator):
            self.streams.append((value, value.bit_generator.state, name))
            return
        if hasattr(kind, "__next__"):
            self.iterators.append(name)
            return
        if isinstance(value, types.MethodType):
            self._look(value.__self__, "self")
            self._look(value.__func__, name)
        elif isinstance(value, types.FunctionType):
            self._function(value)
        elif isinstance(value, Module):
            self._module(value, name)
        elif isinstance(value, Optimizer) or type(value).__module__.partition(".")[0] == OURS:
            return  # what these read, they read at each step
        elif isinstance(value, dict):
            self._all(value, list(value.items()), lambda key: f"{name}[{key!r}]", name)
        elif isinstance(value, (list, tuple)):
            self._all(value, list(enumerate(value)), lambda key: f"{name}[{key}]", name)
        elif isinstance(value, (set, frozenset)):
            self.sizes.append((value, len(value), name))
        else:
            self._object(value, name)

    def _object(self, value: Any, name: str) -> None:
        if hasattr(value, "__dict__"):
            inside = vars(value)
            self._all(inside, list(inside.items()), lambda key: f"{name}.{key}", f"the attributes of {name}")
        for cls in type(value).__mro__:
            for key in vars(cls).get("__slots__", ()):
                if hasattr(value, key):
                    self.attributes.append((value, key, getattr(value, key), f"{name}.{key}"))
                    self._look(getattr(value, key), f"{name}.{key}")
        self._class(type(value), name)

    def _class(self, cls: type, name: str) -> None:
        """What a user's class holds itself: values, and methods."""
        for part in cls.__mro__:
            if id(part) in self._seen or part.__module__.partition(".")[0] in (OURS, "builtins", "typing", "abc"):
                continue
            self._seen[id(part)] = part
            for key, item in list(vars(part).items()):
                if isinstance(item, types.FunctionType):
                    self._function(item)
                elif isinstance(item, PLAIN) and not key.startswith("__"):
                    self.items.append((vars(part), key, item, f"{name}.{key}"))

    def _all(self, where: Any, items: list[tuple[Any, Any]], named: Callable[[Any], str], name: str) -> None:
        if not isinstance(where, tuple):
            self.sizes.append((where, len(where), name))
            self._copies.append((where, list(where) if isinstance(where, list) else dict(where)))
        for key, item in items:
            if not isinstance(where, tuple):
                self.items.append((where, key, item, named(key)))
            self._look(item, named(key))

    def _module(self, module: Module, name: str) -> None:
        for key, item in list(vars(module).items()):
            if key in ("_parameters", "_buffers", "_modules"):
                for own, part in list(item.items()):
                    self.of_modules.append((item, own, part, f"{name}.{own}"))
                    self._look(part, f"{name}.{own}")
                self.sizes.append((item, len(item), f"the {key[1:]} of {name}"))
            else:
                self.of_modules.append((vars(module), key, item, f"{name}.{key}"))
                self._look(item, f"{name}.{key}")
        self._copies.append((vars(module), dict(vars(module))))
        self._class(type(module), name)

    def _function(self, function: types.FunctionType) -> None:
        code, names = function.__code__, function.__globals__
        if str(names.get("__name__", "")).partition(".")[0] == OURS:
            return
        for key, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            try:
                value = cell.cell_contents
            except ValueError:  # not bound yet
                continue
            self.cells.append((cell, value, key))
            self._look(value, key)
        if id(code) in self._seen:
            return
        self._seen[id(code)] = code
        read = _global_names(code)
        for key in sorted(read & set(names)):
            value = names[key]
            self.items.append((names, key, value, key))
            if isinstance(value, types.ModuleType):
                self._module_of_python(value, key, read)
            else:
                self._look(value, key)
        for i, value in enumerate(function.__defaults__ or ()):
            self._look(value, f"default {i}")

    def _module_of_python(self, module: types.ModuleType, name: str, read: set[str]) -> None:
        """The values and functions of an imported module that the code names."""
        if module.__name__.partition(".")[0] in (OURS, "numpy", "math", "builtins"):
            return
        if module is time and any(key in CLOCKS for key in read):
            self.iterators.append("the clock, by time")
        for key in sorted(read & set(vars(module))):
            item = vars(module)[key]
            if isinstance(item, PLAIN):
                self.items.append((vars(module), key, item, f"{name}.{key}"))
            elif isinstance(item, types.FunctionType):
                self._function(item)


def _changed(probes: list[Probe]) -> str:
    for where, key, was, name in probes:
        try:
            now = where[key]
        except (KeyError, IndexError):
            return f"{name} is gone"
        if now is not was and not _same(now, was):
            return _told(name, was, now)
    return ""


def _told(name: str, was: Any, now: Any) -> str:
    if _shown(was) == _shown(now):
        return f"{name} is another {type(now).__name__} now"
    return f"{name} was {_shown(was)}, and is {_shown(now)}"


def _global_names(code: types.CodeType) -> set[str]:
    found = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= _global_names(constant)
    return found


def _same(value: Any, was: Any) -> bool:
    """Equal, and of one type; two tensors or objects are the same only if they are one."""
    if type(value) is not type(was) or not isinstance(value, PLAIN):
        return False
    return bool(value == was) or bool(value != value and was != was)


def _shown(value: Any) -> str:
    text = repr(value) if isinstance(value, PLAIN) else f"a {type(value).__name__}"
    return text if len(text) <= 40 else f"{text[:37]}…"


def _name(function: Any) -> str:
    return str(getattr(function, "__qualname__", type(function).__name__))
