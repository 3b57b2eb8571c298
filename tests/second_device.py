"""A second device for tests: ``far``. Its arrays are no ndarrays, and mix with nothing from the host.

Import this module once (conftest does) and name the device: ``tg.zeros(3, device="far")``. `FarArray` keeps the
values in NumPy but joins in none of NumPy's protocols, so an operation's body that reaches for NumPy fails here.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from tinygrad_edu import backends
from tinygrad_edu.backends.cpu import XP as HOST


class FarArray:
    """An array on the far device. ``base`` is the array that owns the memory, or None."""

    __slots__ = ("__weakref__", "base", "values")
    __array_ufunc__ = None  # ndarray + far asks far, which refuses
    __hash__ = object.__hash__

    def __init__(self, values: Any, parent: FarArray | None = None) -> None:
        self.values = np.asarray(values)
        self.base: FarArray | None = None
        if parent is not None and np.may_share_memory(self.values, parent.values):
            self.base = parent if parent.base is None else parent.base

    @property
    def shape(self) -> tuple[int, ...]:
        return self.values.shape

    @property
    def ndim(self) -> int:
        return self.values.ndim

    @property
    def size(self) -> int:
        return self.values.size

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.values.dtype

    @property
    def strides(self) -> tuple[int, ...]:
        return self.values.strides

    @property
    def flags(self) -> Any:
        return self.values.flags

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError("a far array does not come to the host by itself: use to_numpy")

    def __bool__(self) -> bool:
        raise TypeError("the truth of a far array would wait for the device")

    def __getitem__(self, index: Any) -> FarArray:
        return FarArray(self.values[_index(index)], self)

    def __setitem__(self, index: Any, value: Any) -> None:
        self.values[_index(index)] = near(value)

    def __neg__(self) -> FarArray:
        return FarArray(-self.values)

    def __invert__(self) -> FarArray:
        return FarArray(~self.values)

    def __repr__(self) -> str:
        return f"FarArray({self.values!r})"


def near(value: Any) -> Any:
    """The NumPy values of a far array, inside lists too; Python scalars pass, host arrays are refused."""
    if isinstance(value, FarArray):
        return value.values
    if isinstance(value, (np.ndarray, np.generic)):
        raise TypeError(f"a host array {value.shape} {value.dtype} on the far device")
    return type(value)(near(item) for item in value) if isinstance(value, (tuple, list)) else value


def _index(index: Any) -> Any:
    """Indices may come from the host: they are sent along with the command."""
    parts = index if isinstance(index, tuple) else (index,)
    plain = tuple(part.values if isinstance(part, FarArray) else part for part in parts)
    return plain if isinstance(index, tuple) else plain[0]


def _binary(function: Callable[..., Any]) -> Any:
    return lambda self, other: FarArray(function(self.values, near(other)))


def _reflected(function: Callable[..., Any]) -> Any:
    return lambda self, other: FarArray(function(near(other), self.values))


def _inplace(function: Callable[..., Any]) -> Any:
    def call(self: FarArray, other: Any) -> FarArray:
        function(self.values, near(other))
        return self

    return call


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and_", "or_", "xor"):
    _key = _name.rstrip("_")
    setattr(FarArray, f"__{_key}__", _binary(getattr(operator, _name)))
    setattr(FarArray, f"__r{_key}__", _reflected(getattr(operator, _name)))
    setattr(FarArray, f"__i{_key}__", _inplace(getattr(operator, f"i{_key}")))
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(FarArray, f"__{_name}__", _binary(getattr(operator, _name)))


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
    return lambda x, *args: FarArray(function(near(x), *args), x)


_VIEWS = ("reshape", "permute", "broadcast_to", "diagonal", "windows", "as_strided")


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

    def owner(self, array: FarArray) -> FarArray:
        return array if array.base is None else array.base


FAR = backends.get("far") if "far" in backends.names() else backends.register(FarBackend())
