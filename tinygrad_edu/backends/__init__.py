"""Places where arrays live. `of` finds the one that an array belongs to, `get` finds it by name."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from importlib import import_module
from typing import TYPE_CHECKING

from ..common import late as _late
from ..common.blocks import block
from ..common.locks import Lock
from ..errors import DeviceError
from .base import ALL_NAMES, Array, Backend, Device, Namespace
from .cpu import CpuBackend
from .queue import Event, Memory, Stream, Together

__all__ = [
    "ALL_NAMES", "BY_TYPE", "CPU", "Array", "Backend", "Device", "Event", "Memory", "Namespace", "Stream", "Together",
    "accelerator", "get", "in_use", "meant", "names", "of", "register", "registered", "simulate_cuda",
    "unregister",
]  # fmt: skip


class _ByType(dict[type, Backend]):
    """The backend of every type of array that was met: a subclass belongs to the backend of its nearest base."""

    def __missing__(self, kind: type) -> Backend:
        for base in kind.__mro__:
            if base in _REGISTERED:
                self[kind] = _REGISTERED[base]
                return self[kind]
        raise TypeError(f"{kind.__name__} is not an array of any device")


_LATER = {"sim": "sim", "cuda": "cuda"}  # kinds of devices that are made when first named, by the module called so
_BY_NAME: dict[str, Backend] = {}
_REGISTERED: dict[type, Backend] = {}
BY_TYPE = _ByType()
_SIMULATED: set[str] = set()  # "cuda", if the simulated accelerator serves as it
_MAKING = Lock()
_MEANT = ContextVar("the accelerator that is meant", default="")


def register(backend: Backend) -> Backend:
    """Make a backend known by its name and by its array types. A name or a type that is taken is refused."""
    taken = [kind for kind in backend.array_types if kind in _REGISTERED]
    if backend.name in _BY_NAME or taken:
        raise ValueError(f"backend {backend.name!r} is registered already, or owns a type of another: {taken}")
    if not backend.device or not isinstance(backend.device, Device):
        backend.device = Device(backend.device or backend.name)
    _BY_NAME[backend.name] = backend
    for kind in backend.array_types:
        _REGISTERED[kind] = backend
    BY_TYPE.clear()  # a subclass may have been met before
    return backend


def unregister(backend: Backend) -> None:
    """Forget a backend, of which nobody must have an array any more."""
    _BY_NAME.pop(backend.name, None)
    for kind in backend.array_types:
        _REGISTERED.pop(kind, None)
    BY_TYPE.clear()


CPU = CpuBackend()
register(CPU)


def get(name: str) -> Backend:
    """The backend called ``name``. Raises `DeviceError` for an unknown one."""
    try:
        return _BY_NAME[name]
    except (KeyError, TypeError):  # or something that cannot be a name
        if isinstance(name, str) and name.partition(":")[0] in _LATER and (found := _make(name)) is not None:
            return found
        why = f"there is no such device here; the devices are {', '.join(names())}"
        raise DeviceError(f"device {name!r}", why, "name one of these") from None


def _make(name: str) -> Backend | None:
    """The device of that name, such as "sim" or "sim:1"; None if there are not so many of its kind."""
    kind, _, number = name.partition(":")
    if kind in _SIMULATED and not import_module(".cuda", __name__).available():
        return _simulated(name)
    with _MAKING:
        if number and name == f"{kind}:0":  # the first has two names
            name = kind
        if name not in _BY_NAME:  # another thread may have been first
            made = import_module(f".{_LATER[kind]}", __name__).made(name)
            return None if made is None else register(made)
    return _BY_NAME[name]


def simulate_cuda() -> Callable[[], None]:
    """Let the simulated accelerator serve as "cuda" where there is no GPU. Returns a function that ends it.

    From its first use on, tensors there show the name "cuda", and a line on standard error says what that is. When it
    is ended, no tensor may be left there.
    """
    _SIMULATED.add("cuda")

    def end() -> None:
        _SIMULATED.clear()
        for name in [name for name, one in _BY_NAME.items() if Device(name).type == "cuda" and one.name != name]:
            simulated = _BY_NAME.pop(name)
            simulated.device = Device(simulated.name)

    return end


def _simulated(name: str) -> Backend | None:
    """The simulated device that serves as ``name``, such as "cuda:1"; None if there are not so many."""
    found = _make(name.replace("cuda", "sim", 1))
    if found is not None:
        if "cuda" not in _BY_NAME:
            told = "There is no GPU here: 'cuda' is the simulated accelerator, and its times are virtual"
            print(f"{told} (tg.sim.explain()).", file=sys.stderr)
        found.device = Device(found.name.replace("sim", "cuda", 1))
        _BY_NAME[name] = _BY_NAME[str(found.device)] = found
    return found


def in_use() -> Backend | None:
    """The accelerator that programs use here: the GPU, or the simulated one once it was named; None before that."""
    return _BY_NAME.get(_MEANT.get()) or _BY_NAME.get("cuda") or _BY_NAME.get("sim")


@block
def meant(name: str) -> Iterator[None]:
    """In this block, the accelerator is this device, also where there is another one."""
    token = _MEANT.set(name)
    try:
        yield
    finally:
        _MEANT.reset(token)


def accelerator() -> Backend:
    """The accelerator of this machine: the GPU, or else the simulated one."""
    found = in_use()
    if found is None:
        from .cuda import available

        found = get("cuda" if available() else "sim")
    return found


def of(array: Array) -> Backend:
    """The backend whose array this is. Raises TypeError for anything else."""
    return BY_TYPE[type(array)]


def names() -> list[str]:
    """The devices that can be named: those in use, in order of registration, and those to be had."""
    made = [name for name, backend in _BY_NAME.items() if backend.device == name and not backend.private]
    return made + ["sim"] * ("sim" not in made)  # a GPU is listed once it was found


def registered() -> list[Backend]:
    """Every backend, with the recorder, which cannot be named as a device."""
    return list(dict.fromkeys(_BY_NAME.values()))


if not TYPE_CHECKING:  # otherwise a type checker would accept every name
    __getattr__ = _late.getattr_of(
        __name__, modules={"autotune": "autotune", "cudnn": "cudnn", "mps": "mps"}
    )  # what programs ask for
