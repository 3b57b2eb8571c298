"""Memory of the host that a simulated device copies from and to by itself, and copies that are still under way.

A pageable array may move, so the host itself hands its bytes over, piece by piece. A *pinned* one stays where it is:
the device reads and writes it while the host goes on, and the host has to wait before it touches it again.
"""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from ..cpu import CpuBackend
from .schedule import Flight, Lane

_owner_of = CpuBackend().owner
PAGE = 4096  # bytes


class HostMemory:
    """Pinned arrays. As PyTorch does, it keeps what was pinned for the next of that size, once no copy needs it."""

    def __init__(self) -> None:
        self._pinned: dict[int, tuple[weakref.ref[Any], set[Lane]]] = {}  # by id; the lanes that copy from or to it
        self._spare: dict[int, list[int]] = {}  # for a size: from when on each may be used again

    def new(self, shape: Any, dtype: Any, now: int) -> tuple[Any, int]:
        """A pinned array of zeros, and how many pages had to be pinned for it."""
        array = np.zeros(shape, dtype)
        size = 1 << max(int(array.nbytes) - 1, PAGE - 1).bit_length()
        spare, lanes = self._spare.setdefault(size, []), set[Lane]()
        ready = next((time for time in spare if time <= now), None)
        if ready is not None:
            spare.remove(ready)
        key, pinned = id(array), self._pinned

        def gone(_: Any) -> None:
            del pinned[key]
            spare.append(max((lane.end for lane in lanes), default=0))

        pinned[key] = weakref.ref(array, gone), lanes
        return array, size // PAGE if ready is None else 0

    def copied(self, array: Any, lane: Lane) -> None:
        """Work in a lane copies from or to it, and the host does not wait."""
        self._pinned[id(_owner_of(array))][1].add(lane)

    def forget(self) -> None:
        """Give back what nobody uses."""
        self._spare.clear()

    def holds(self, array: Any) -> bool:
        """Whether the array lies in pinned memory."""
        owner = _owner_of(array)
        found = self._pinned.get(id(owner))
        return found is not None and found[0]() is owner


# What can be asked of an array on its way without looking at its elements.
_OUTSIDE = frozenset(
    "shape dtype ndim size nbytes itemsize strides flags base view reshape transpose T swapaxes setflags flight early "
    "settled".split()
)


class Landing(np.ndarray[Any, Any]):
    """An array of the host that a copy is still under way to. Whoever looks at an element has to have waited.

    ``early(shape, dtype)`` is called where nobody has. NumPy tells nobody of ``np.asarray(x)`` and ``np.array(x)``, so
    these are not seen.
    """

    flight: Flight | None = None
    early: Any = None

    def settled(self) -> Any:
        """The array itself, for a backend that hands it out."""
        return arrived(self)

    def __array_finalize__(self, source: Any) -> None:
        if type(source) is Landing:
            self.flight, self.early = source.flight, source.early

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **options: Any) -> Any:
        given = [arrived(one) for one in inputs]
        if out is None:
            return getattr(ufunc, method)(*given, **options)
        made = getattr(ufunc, method)(*given, out=tuple([arrived(one) for one in out]), **options)
        return out[0] if len(out) == 1 else out if made is not NotImplemented else made

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return function(*_arrived_all(args), **_arrived_all(kwargs))

    def __getattribute__(self, name: str) -> Any:
        if name in _OUTSIDE or name.startswith("__"):  # syntax does not come this way, so it is asked what there is
            return super().__getattribute__(name)
        return getattr(arrived(self), name)

    def reshape(self, *shape: Any, **options: Any) -> Any:
        """A view, wherever that is possible; a copy looks at the elements."""
        found = super().reshape(*shape, **options)
        view = np.may_share_memory(found.view(np.ndarray), self.view(np.ndarray))
        return found if view else arrived(self).reshape(*shape, **options)

    def __getitem__(self, index: Any) -> Any:
        found = super().__getitem__(index)
        return found if type(found) is Landing else arrived(self)[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        arrived(self)[index] = value


def _asked(name: str) -> Any:
    def method(self: Landing, *args: Any) -> Any:
        return getattr(arrived(self), name)(*args)

    return method


for _name in (
    "__repr__", "__str__", "__format__", "__float__", "__int__", "__bool__", "__index__", "__complex__", "__contains__",
    "__reduce__", "__reduce_ex__", "__copy__", "__deepcopy__",
):  # fmt: skip
    setattr(Landing, _name, _asked(_name))


def arrived(value: Any) -> Any:
    """The array itself, once it is there."""
    if type(value) is not Landing:
        return value
    flight = value.flight
    if flight is not None and not flight.landed:
        value.early(value.shape, value.dtype)
    return value.view(np.ndarray)


def _arrived_all(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {key: _arrived_all(one) for key, one in tree.items()}
    if isinstance(tree, (list, tuple)):
        return type(tree)([_arrived_all(one) for one in tree])
    return arrived(tree)
