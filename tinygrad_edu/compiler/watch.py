"""What a function reads besides tensors: the values of Python that its program was made for.

A program holds for numbers, flags and texts as they were when it was made. They are found in the function's closure,
globals, defaults and object, in what these hold, and in the functions that it calls. Before each run they are looked at
again; what has changed is named. Modules count how often an attribute is set, so most of the time one look is enough
for all of theirs.
"""

from __future__ import annotations

import array
import builtins
import collections
import dis
import functools
import math
import random
import sys
import time
import types
import weakref
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any

import numpy as np

from ..core.base import TensorBase
from ..nn import Module
from ..nn.hooks import changes
from ..optim import Optimizer
from ..tensor import Tensor
from .trace import TraceError

_GONE = object()
# Names of what gives another thing each time, or has an effect that cannot be seen.
IMPURE = frozenset(
    """
    time_ns perf_counter perf_counter_ns monotonic process_time thread_time now utcnow today default_rng RandomState
    urandom SystemRandom getrandbits token_bytes token_hex uuid4 globals locals vars eval exec __import__ getenv
    import_module get_last_lr get_scale
    """.split()
)
OUTER = frozenset(["time", "posix", "nt", "_random", "_datetime", "secrets", "uuid"])  # modules whose functions do
SMALL = 1 << 16  # bytes of an array whose numbers are watched
PLAIN = (bool, int, float, complex, str, bytes, type(None), np.generic, np.dtype)
SLOTS = (types.MemberDescriptorType, types.GetSetDescriptorType)  # which hold nothing themselves
OPAQUE = (*PLAIN, TensorBase)
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
        self.attributes: list[tuple[Any, str, Any, str]] = []  # of objects with slots, and of functions
        self.arrays: list[tuple[Any, Any, str]] = []  # small ones
        self.streams: list[tuple[Any, Callable[[], Any], Any, Callable[[Any], Any], str]] = []  # random generators
        self.groups: list[tuple[Any, Any, str]] = []  # sets and the like, and what is in them
        self.orders: list[tuple[Any, list[Any], str]] = []  # dicts, and their keys in order
        self.asked: list[tuple[Callable[[], Any], Any, str]] = []  # context variables and weak references
        self.absent: list[tuple[dict[str, Any], str]] = []  # names that nothing had
        self.inside: list[tuple[Any, int, str]] = []  # the attributes of modules, and how many there are
        self.iterators: list[str] = []
        self.tensors: list[Tensor] = []  # which the function may reach
        self._copies: list[tuple[Any, Any]] = []  # containers, and what was in them
        self._classes: dict[type, dict[str, Any]] = {}  # and what was in them
        self._seen: dict[int, Any] = {}  # by id; kept, so that no id is used again
        self._functions: dict[int, types.FunctionType] = {}
        self._optimizers: list[tuple[Optimizer, str]] = []
        self._read: set[str] = set()  # all names in the code
        self._look(function, _name(function))
        for i, value in enumerate(extra):
            self._look(value, f"argument {i}")
        for optimizer, name in self._optimizers:
            self._optimizer(optimizer, name)

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
        for numbers, was, name in self.arrays:
            if _content(numbers) != was:
                return f"the numbers in {name} are others now"
        for group, was, name in self.groups:
            now = _content(group)
            if len(now) != len(was) or any(x is not y and not _same(x, y) for x, y in zip(now, was, strict=True)):
                return f"what is in {name} has changed"
        for table, was, name in self.orders:
            if list(table) != was:
                return f"the order of {name} has changed"
        for ask, was, name in self.asked:
            now = ask()
            if now is not was and not _same(now, was):
                return _told(name, was, now)
        for names, key in self.absent:
            if key in names:
                return f"there is a {key} now, which there was not"
        if self.count != changes.count:
            for where, size, name in self.inside:
                if len(where) != size:
                    return f"the number of attributes of {name} was {size}, and is {len(where)}"
            if found := _changed(self.of_modules):
                return found
            self.count = changes.count
        return ""

    def conditions(self, value: Callable[[Any], str]) -> list[str]:
        """What is true while nothing has changed, as expressions. ``value(x)`` gives the name of ``x`` in them.

        They are quicker than `changed`, and stricter: if one is false or fails, only that tells.
        """
        found = [f"{value(cell)}.cell_contents is {value(was)}" for cell, was, _ in self.cells]
        found += [f"len({value(where)}) == {size}" for where, size, _ in self.sizes]
        found += [f"{value(where)}[{value(key)}] is {value(was)}" for where, key, was, _ in self.items]
        found += [f"getattr({value(owner)}, {key!r}) is {value(was)}" for owner, key, was, _ in self.attributes]
        found += [f"{value(_content)}({value(numbers)}) == {value(was)}" for numbers, was, _ in self.arrays]
        for group, was, _ in self.groups:
            ids = list(map(id, was)) if isinstance(was, list) else was
            now = f"[*map(id, {value(group)})]" if isinstance(was, list) else f"{value(_content)}({value(group)})"
            found.append(f"{now} == {value(ids)}")
        found += [f"list({value(table)}) == {value(was)}" for table, was, _ in self.orders]
        found += [f"{value(ask)}() is {value(was)}" for ask, was, _ in self.asked]
        found += [f"{key!r} not in {value(names)}" for names, key in self.absent]
        return [*found, f"{value(self)}.count == {value(changes)}.count"]

    def keep(self, *objects: Any) -> None:
        """Let these live as long as this, so that none of their ids is another object's."""
        self._seen[id(objects)] = objects

    def drawn(self) -> str:
        """A random generator of NumPy that was drawn from."""
        for _, get, state, _, name in self.streams:
            if str(get()) != str(state):
                return f"random numbers are drawn from {name}"
        return ""

    def refuse_iterators(self) -> None:
        """What gives another item each time has no value to watch."""
        if self.iterators:
            why = "each call would get what the first one got"
            tried = f"a compiled function that uses {self.iterators[0]}"
            raise TraceError(tried, why, "do that outside, and give the function what it needs")

    def restore(self) -> None:
        """Undo what the function has done to Python's values: it was run only to be recorded."""
        for container, inside in self._copies:
            if not isinstance(container, dict):
                if len(container) != len(inside) or any(a is not b for a, b in zip(container, inside, strict=True)):
                    container.clear()
                    container.extend(inside)
            else:
                for key in [key for key in container if key not in inside]:
                    del container[key]
        for where, key, was, _ in (*self.items, *self.of_modules):
            if isinstance(where, dict) and where.get(key, _GONE) is not was:
                where[key] = was
        for cls, inside in self._classes.items():
            for key in [key for key, item in vars(cls).items() if inside.get(key, _GONE) is not item]:
                setattr(cls, key, inside[key]) if key in inside else delattr(cls, key)
        for cell, was, _ in self.cells:
            cell.cell_contents = was
        for owner, key, was, _ in self.attributes:
            if getattr(owner, key, _GONE) is not was:
                setattr(owner, key, was)
        for numbers, was, _ in self.arrays:
            if _content(numbers) != was and numbers.flags.writeable:
                numbers.shape = was[0]
                numbers[...] = np.frombuffer(was[2], numbers.dtype).reshape(numbers.shape)
        for group, was, _ in self.groups:
            if _content(group) != was and isinstance(group, set):
                group.clear()
                group.update(was)
            elif _content(group) != was and isinstance(group, (bytearray, array.array)):
                del group[:]
                group.extend(was) if isinstance(group, bytearray) else group.frombytes(was)
        for _, _, state, put, _ in self.streams:
            put(state)
        self.count = changes.count

    def _look(self, value: Any, name: str) -> None:
        """Add what can be read in a value."""
        if isinstance(value, Tensor) and id(value) not in self._seen:
            self._seen[id(value)] = value
            self.tensors.append(value)
        if isinstance(value, OPAQUE) or id(value) in self._seen:
            return
        if len(self._seen) > MOST:
            self.iterators.append(f"more than {MOST} values")
            return
        self._seen[id(value)] = value
        kind = type(value)
        if isinstance(value, types.ModuleType):
            if _is_users(value.__name__):
                self._module_of_python(value, name, {"__dict__"})  # of which nobody knows what is read
            return
        if isinstance(value, np.ndarray):
            if value.nbytes <= SMALL and not value.dtype.hasobject:
                self.arrays.append((value, _content(value), name))
            return
        if isinstance(value, np.random.Generator):
            bits = value.bit_generator
            self.streams.append((value, lambda: bits.state, bits.state, lambda was: setattr(bits, "state", was), name))
            return
        for get, put in (("getstate", "setstate"), ("get_state", "set_state")):
            if isinstance(value, (random.Random, np.random.RandomState)) and hasattr(value, get):
                self.streams.append((value, getattr(value, get), getattr(value, get)(), getattr(value, put), name))
                return
        if hasattr(kind, "__next__"):
            self.iterators.append(f"an iterator: {name}")
            return
        if isinstance(value, types.BuiltinFunctionType):
            if isinstance(value.__self__, types.ModuleType) or value.__self__ is None:
                if value.__module__ in OUTER:
                    self.iterators.append(f"{name}, of the module {value.__module__}")
            else:
                self._look(value.__self__, name)
            return
        if isinstance(value, type):
            self._class(value, name)
            self._class(type(value), f"the class of {name}")
            return
        if isinstance(value, functools.partial):
            self._look(value.func, name)
            self._look(value.args, name)
            self._look(value.keywords, name)
            return
        if isinstance(value, ContextVar):
            ask = functools.partial(value.get, None)
            self.asked.append((ask, ask(), name))
            self._look(ask(), name)
            return
        if isinstance(value, weakref.ref):
            self.asked.append((functools.partial(_is_gone, value), value() is None, f"whether {name} is gone"))
            self._look(value(), name)
            self._seen.pop(id(value()), None)  # it may go
            return
        if isinstance(value, types.MethodType):
            self._look(value.__self__, "self")
            self._look(value.__func__, name)
        elif isinstance(value, types.FunctionType):
            self._function(value)
        elif isinstance(value, Module):
            self._module(value, name)
        elif type(value).__name__ == "Compiled" and type(value).__module__.startswith(f"{OURS}.compiler"):
            self._look(value._function, name)
        elif isinstance(value, Optimizer):
            self._optimizers.append((value, name))  # for when all names are known
        elif type(value).__module__.partition(".")[0] == OURS:
            return  # what these read, they read at each step
        elif not self._container(value, name) or _is_users(kind.__module__):  # which may hold more besides
            self._object(value, name)

    def _container(self, value: Any, name: str) -> bool:
        """What is in a container. False for anything else."""
        if isinstance(value, (dict, types.MappingProxyType)):
            self.orders.append((value, list(value), name))
            self._all(value, list(value.items()), lambda key: f"{name}[{key!r}]", name)
        elif isinstance(value, (list, tuple, collections.deque)):
            self._all(value, list(enumerate(value)), lambda key: f"{name}[{key}]", name)
        elif isinstance(value, (set, frozenset, bytearray, memoryview, array.array)):
            self.groups.append((value, _content(value), name))
            for item in _content(value) if isinstance(value, (set, frozenset)) else ():
                self._look(item, f"what is in {name}")
        else:
            return False
        return True

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
        """What a user's class holds itself: values, containers, descriptors and methods."""
        for part in cls.__mro__:
            if part in self._classes or not _is_users(part.__module__):
                continue
            self._classes[part] = dict(vars(part))
            self.sizes.append((vars(part), len(vars(part)), f"the attributes of {part.__name__}"))
            for key, item in list(vars(part).items()):
                own = item.fget if isinstance(item, property) else getattr(item, "__func__", item)
                if isinstance(own, types.FunctionType):
                    self.items.append((vars(part), key, item, f"{name}.{key}"))
                    self._function(own, runs=False)
                elif not key.startswith("__") and not isinstance(item, SLOTS):
                    self.items.append((vars(part), key, item, f"{name}.{key}"))
                    self._look(item, f"{name}.{key}")

    def _all(self, where: Any, items: list[tuple[Any, Any]], named: Callable[[Any], str], name: str) -> None:
        if not isinstance(where, tuple):
            self.sizes.append((where, len(where), name))
        if isinstance(where, (list, dict, collections.deque)):
            self._copies.append((where, dict(where) if isinstance(where, dict) else list(where)))
        for key, item in items:
            if not isinstance(where, tuple):
                self.items.append((where, key, item, named(key)))
            self._look(item, named(key))

    def _module(self, module: Module, name: str) -> None:
        for key, item in list(vars(module).items()):
            if key in ("_parameters", "_buffers", "_modules"):
                for own, part in list(item.items()):
                    self.items.append((item, own, part, f"{name}.{own}"))
                    self._look(part, f"{name}.{own}")
                self.sizes.append((item, len(item), f"the {key[1:]} of {name}"))
            else:
                self.of_modules.append((vars(module), key, item, f"{name}.{key}"))
                self._look(item, f"{name}.{key}")
        self._copies.append((vars(module), dict(vars(module))))
        self.inside.append((vars(module), len(vars(module)), name))
        self._class(type(module), name)

    def _optimizer(self, optimizer: Optimizer, name: str) -> None:
        """Which parameters it has. What else is in its groups it reads at each step; but so may the user's own code."""
        groups = optimizer.param_groups
        self.items.append((vars(optimizer), "param_groups", groups, f"{name}.param_groups"))
        self.absent.append((vars(optimizer), "step"))
        if "param_groups" in self._read:
            self._look(groups, f"{name}.param_groups")
            return
        self.sizes += [(one["params"], len(one["params"]), f"the parameters of {name}") for one in groups]
        self.sizes.append((groups, len(groups), f"{name}.param_groups"))

    def _function(self, function: types.FunctionType, runs: bool = True) -> None:
        """What a function may read. Of the methods of an object nobody knows which of them it ``runs``."""
        code, names = function.__code__, function.__globals__
        top = str(names.get("__name__") or function.__module__).partition(".")[0]  # operations' callers have no globals
        if top == OURS or top in sys.stdlib_module_names or "site-packages" in code.co_filename:
            return
        for key, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            try:
                value = cell.cell_contents
            except ValueError:  # not bound yet
                continue
            self.cells.append((cell, value, key))
            self._look(value, key)
        if id(function) in self._functions:  # by itself: functions of one code differ in defaults and closures
            return
        self._functions[id(function)] = function
        read = _names(code)
        self._read |= read
        if runs and (impure := sorted(read & IMPURE - set(names))):
            self.iterators.append(f"{impure[0]}, which gives another thing each time, or cannot be seen")
        looked_up = _global_names(code) & set(names)
        self.absent += [(names, key) for key in sorted(_global_names(code) - set(names))]
        for key in sorted(read - looked_up):
            if key in sys.modules and key not in vars(builtins):
                self._module_of_python(sys.modules[key], key, read)
        for key in sorted(looked_up):
            value = names[key]
            self.items.append((names, key, value, key))
            if isinstance(value, types.ModuleType):
                self._module_of_python(value, key, read)
            else:
                self._look(value, key)
        self.attributes.append((function, "__code__", code, f"the code of {function.__name__}"))
        self.attributes.append((function, "__defaults__", function.__defaults__, "the defaults"))
        for i, value in enumerate(function.__defaults__ or ()):
            self._look(value, f"default {i}")
        if function.__kwdefaults__:
            self._look(function.__kwdefaults__, f"the defaults of {function.__name__}")
        if function.__dict__:
            self._look(function.__dict__, f"the attributes of {function.__name__}")

    def _module_of_python(self, module: types.ModuleType, name: str, read: set[str]) -> None:
        """The values and functions of an imported module that the code names."""
        if module.__name__.partition(".")[0] in (OURS, "numpy", "math", "builtins"):
            return
        if module is time and "time" in read:
            self.iterators.append("the clock, by time")
        if module is sys and "modules" in read:
            self.iterators.append("sys.modules, through which it may read anything")
        known = {key for key in vars(module) if not key.startswith("__")}
        users = _is_users(module.__name__)
        all_of_it = users and not read.isdisjoint(("getattr", "__dict__"))
        for key in sorted(known if all_of_it else known & read):
            item = vars(module)[key]
            if users or isinstance(item, PLAIN):
                self.items.append((vars(module), key, item, f"{name}.{key}"))
            if isinstance(item, types.FunctionType):
                self._function(item)
            elif not isinstance(item, (types.ModuleType, type)):
                self._look(item, f"{name}.{key}")


def _is_users(module: str) -> bool:
    """Whether a module is neither Python's, nor ours, nor a package that is installed."""
    top = module.partition(".")[0]
    file = getattr(sys.modules.get(module), "__file__", None) or ""
    return top != OURS and top not in sys.stdlib_module_names and "site-packages" not in file


def _is_gone(reference: Any) -> bool:
    return reference() is None


def _content(group: Any) -> Any:
    """What is in it, to be compared: of numbers their bytes."""
    if isinstance(group, np.ndarray):
        return group.shape, group.dtype.str, group.tobytes()
    return list(group) if isinstance(group, (set, frozenset)) else bytes(group)


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


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """It, and those of the functions and classes that are made inside."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _names(code: types.CodeType) -> set[str]:
    """All names in it: of globals, of attributes, of what it imports."""
    return {name for one in _codes(code) for name in one.co_names}


@functools.lru_cache(1024)
def _global_names(code: types.CodeType) -> frozenset[str]:
    """Those that it looks up among the globals."""
    steps = (step for one in _codes(code) for step in dis.get_instructions(one))
    return frozenset(step.argval for step in steps if "GLOBAL" in step.opname or step.opname == "LOAD_NAME")


def _same(value: Any, was: Any) -> bool:
    """Equal, and of one type; two tensors or objects are the same only if they are one."""
    if type(value) is not type(was) or not isinstance(value, PLAIN):
        return False
    if isinstance(value, float) and math.copysign(1.0, value) != math.copysign(1.0, was):
        return False  # -0.0 is another number where it is divided by
    return bool(value == was) or bool(value != value and was != was)


def _shown(value: Any) -> str:
    text = repr(value) if isinstance(value, PLAIN) else f"a {type(value).__name__}"
    return text if len(text) <= 40 else f"{text[:37]}…"


def _name(function: Any) -> str:
    return str(getattr(function, "__qualname__", type(function).__name__))
