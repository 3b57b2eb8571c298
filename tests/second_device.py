"""A second device for tests: ``far``. Its arrays are no ndarrays, and mix with nothing from the host.

Import this module once (conftest does) and name the device: ``tg.zeros(3, device="far")``. `FarArray` keeps the
values in NumPy but joins in none of NumPy's protocols, so an operation's body that reaches for NumPy fails here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tinygrad_edu import backends
from tinygrad_edu.backends.cpu import XP as HOST
from tinygrad_edu.backends.proxy import OPERATORS, UPDATES, ProxyArray, host_values, unwrap
from tinygrad_edu.backends.queue import Memory


class FarArray(ProxyArray):
    """An array on the far device. ``base`` is the array that owns the memory, or None."""

    __slots__ = ("base",)

    def __init__(self, values: Any, parent: FarArray | None = None) -> None:
        self.values = np.asarray(values)
        self.base: FarArray | None = None
        if parent is not None and np.may_share_memory(self.values, parent.values):
            self.base = parent if parent.base is None else parent.base
        else:
            COUNTER.add(self.values.nbytes)

    def __del__(self) -> None:
        if self.base is None:
            COUNTER.add(-self.values.nbytes)

    def operate(self, name: str, *operands: Any) -> FarArray:
        if name == "getitem":
            return FarArray(self.values[_index(operands[1])], self)
        return FarArray(OPERATORS[name](*[near(operand) for operand in operands]))

    def update(self, name: str, *operands: Any) -> FarArray:
        if name == "setitem":
            self.values[_index(operands[0])] = near(operands[1])
        else:
            UPDATES[name](self.values, *map(near, operands))
        return self


class Counter:
    """The allocator of the far device: it counts the bytes of arrays that own memory."""

    def __init__(self) -> None:
        self.allocated = self.peak = 0

    def add(self, nbytes: int) -> None:
        self.allocated += nbytes
        if self.allocated > self.peak:
            self.peak = self.allocated


COUNTER = Counter()


def near(value: Any) -> Any:
    """The NumPy values of a far array, inside lists too; Python scalars pass, host arrays are refused."""
    return value.values if isinstance(value, FarArray) else unwrap(value, lambda far: far.values, host_values)


def _index(index: Any) -> Any:
    """Indices may come from the host: they are sent along with the command."""
    return unwrap(index, lambda far: far.values)


def _far(name: str) -> Callable[..., Any]:
    function = getattr(HOST, name)

    def call(*args: Any, **kwargs: Any) -> FarArray:
        if name in ("scatter_add", "put"):  # (…, index, values): the index may come from the host
            first, index, values = args
            args = (near(first), _index(index), near(values))
        else:
            args = tuple(near(arg) for arg in args)
        return FarArray(function(*args, **kwargs))

    return call


def _view(name: str) -> Callable[..., Any]:
    """The functions whose result may look at their operand's memory."""
    function = getattr(HOST, name)
    return lambda x, *args: FarArray(function(near(x), *map(near, args)), x)


_VIEWS = ("reshape", "permute", "broadcast_to", "contiguous", "diagonal", "windows", "as_strided")


class FarBackend(backends.Backend):
    """The second device. It counts what crosses, as ``(to far, to host)``."""

    name = "far"
    xp = backends.Namespace(
        "far", **{name: _view(name) if name in _VIEWS else _far(name) for name in backends.ALL_NAMES}
    )
    array_types = (FarArray,)

    def __init__(self) -> None:
        self.crossings = [0, 0]

    def from_numpy(self, array: Any) -> FarArray:
        self.crossings[0] += 1
        return FarArray(np.array(array))

    def to_numpy(self, array: FarArray) -> Any:
        self.crossings[1] += 1
        return array.values.copy()

    def memory(self) -> Memory:
        return Memory(COUNTER.allocated, COUNTER.allocated, COUNTER.peak)

    def owner(self, array: FarArray) -> FarArray:
        return array if array.base is None else array.base


FAR = backends.get("far") if "far" in backends.names() else backends.register(FarBackend())
