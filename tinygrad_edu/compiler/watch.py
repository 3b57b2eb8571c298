"""What a function reads besides tensors: the values of Python that its program was made for.

A program holds for numbers, flags and texts as they were when it was made. They are found in the function's closure,
globals, defaults and object, in what these hold, and in the functions that it calls. Before each run they are looked at
again; what has changed is named. Modules count how often an attribute is set, so most of the time one look is enough
for all of theirs.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.base import TensorBase
from ..nn import Module
from ..nn.module import changes
from ..optim import Optimizer

PLAIN = (bool, int, float, complex, str, bytes, type(None), np.generic, np.dtype)
OPAQUE = (*PLAIN, TensorBase, np.ndarray, type, types.ModuleType, types.BuiltinFunctionType)
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
        if self.count != changes.count:
            if found := _changed(self.of_modules):
                return found
            self.count = changes.count
        return ""

    def _look(self, value: Any, name: str) -> None:
        """Add what can be read in a value."""
        if isinstance(value, OPAQUE) or id(value) in self._seen or len(self._seen) > MOST:
            return
        self._seen[id(value)] = value
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
        elif hasattr(value, "__dict__"):
            inside = vars(value)
            self._all(inside, list(inside.items()), lambda key: f"{name}.{key}", f"the attributes of {name}")

    def _all(self, where: Any, items: list[tuple[Any, Any]], named: Callable[[Any], str], name: str) -> None:
        if not isinstance(where, tuple):
            self.sizes.append((where, len(where), name))
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
        if type(module).__module__.partition(".")[0] != OURS:
            self._look(type(module).forward, f"{name}.forward")

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
        for key in sorted(_global_names(code) & set(names)):
            self.items.append((names, key, names[key], key))
            self._look(names[key], key)
        for i, value in enumerate(function.__defaults__ or ()):
            self._look(value, f"default {i}")


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
