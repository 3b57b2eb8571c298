"""Places where arrays live. `of` finds the one that an array belongs to, `get` finds it by name."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from ..common import late as _late
from ..common.locks import Lock
from ..errors import DeviceError
from .base import ALL_NAMES, Array, Backend, Device, Namespace
from .cpu import CpuBackend
from .queue import Event, Memory, Stream

__all__ = [
    "ALL_NAMES", "BY_TYPE", "CPU", "Array", "Backend", "Device", "Event", "Memory", "Namespace", "Stream", "get",
    "names", "of", "register", "registered",
]  # fmt: skip


class _ByType(dict[type, Backend]):
    """The backend of every type of array that was met: a subclass belongs to the backend of its nearest base."""

    def __missing__(self, kind: type) -> Backend:
        for base in kind.__mro__:
            if base in _REGISTERED:
                self[kind] = _REGISTERED[base]
                return self[kind]
        raise TypeError(f"{kind.__name__} is not an array of any device")


_LATER = {"sim": "sim"}  # devices that are made when they are first named, by the module called so
_BY_NAME: dict[str, Backend] = {}
_REGISTERED: dict[type, Backend] = {}
BY_TYPE = _ByType()
_MAKING = Lock()


def register(backend: Backend) -> Backend:
    """Make a backend known by its name and by its array types. A name or a type that is taken is refused."""
    taken = [kind for kind in backend.array_types if kind in _REGISTERED]
    if backend.name in _BY_NAME or taken:
        raise ValueError(f"backend {backend.name!r} is registered already, or owns a type of another: {taken}")
    backend.device = Device(backend.device or backend.name)
    _BY_NAME[backend.name] = backend
    for kind in backend.array_types:
        _REGISTERED[kind] = backend
    BY_TYPE.clear()  # a subclass may have been met before
    return backend


CPU = CpuBackend()
register(CPU)


def get(name: str) -> Backend:
    """The backend called ``name``. Raises `DeviceError` for an unknown one."""
    try:
        return _BY_NAME[name]
    except (KeyError, TypeError):  # or something that cannot be a name
        if isinstance(name, str) and name in _LATER:
            return _make(name)
        why = f"there is no such device here; the devices are {', '.join(names())}"
        raise DeviceError(f"device {name!r}", why, "name one of these") from None


def _make(name: str) -> Backend:
    with _MAKING:
        if name not in _BY_NAME:  # another thread may have been first
            register(import_module(f".{_LATER[name]}", __name__).made())
    return _BY_NAME[name]


def of(array: Array) -> Backend:
    """The backend whose array this is. Raises TypeError for anything else."""
    return BY_TYPE[type(array)]


def names() -> list[str]:
    """The devices that can be named: those in use, in order of registration, and those to be had."""
    made = [name for name, backend in _BY_NAME.items() if backend.device == name]
    return made + [name for name in _LATER if name not in made]


def registered() -> list[Backend]:
    """Every backend, with the recorder, which cannot be named as a device."""
    return list(_BY_NAME.values())


if not TYPE_CHECKING:  # otherwise a type checker would accept every name
    __getattr__ = _late.getattr_of(__name__, modules={"cudnn": "cudnn", "mps": "mps"})  # what programs ask for
