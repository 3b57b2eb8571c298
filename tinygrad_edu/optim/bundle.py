"""What one call of an optimiser's formula moves: a large parameter in its own memory, or small ones side by side."""

from __future__ import annotations

import functools
import operator
import weakref
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np

from .. import backends
from ..core.inplace import View, own_buffer, share_storage
from ..core.narrow import is_narrow
from ..core.storage import Storage, storage_of
from ..dtypes import bool_, float32
from ..tensor import Tensor, as_tensor, wrap

Array = Any
Room = Callable[[Any, int, tuple[int, ...]], Array]  # from dtype, number and shape


MASTER = "master"  # the state that holds 16-bit parameters in float32: see `master_weights`
_ONE = np.ones((), float32)  # see `Bundle.numbers`


def _maximum(x: Array, y: Array, out: Array) -> None:
    np.maximum(x, y, out=out)  # of all these functions, only maximum and minimum need the name


def _minimum(x: Array, y: Array, out: Array) -> None:
    np.minimum(x, y, out=out)


def _put(x: Array, where: Array, out: Array) -> None:
    np.copyto(out, x, where=where)


_NUMPY = SimpleNamespace(
    add=np.add, subtract=np.subtract, multiply=np.multiply, divide=np.divide, negative=np.negative, sqrt=np.sqrt,
    abs=np.abs, less=np.less, maximum=_maximum, minimum=_minimum, put=_put,
)  # fmt: skip


def writing(backend: backends.Backend) -> Any:
    """Functions that write their result into their last argument: ``multiply(x, y, out)``. NumPy's, on the CPU.

    ``put(x, where, out)`` writes ``x`` where the mask holds, and leaves the rest of ``out`` as it is.
    """
    if backend is backends.CPU:
        return _NUMPY
    xp = backend.xp
    functions = {
        "add": operator.add, "subtract": operator.sub, "multiply": operator.mul, "divide": operator.truediv,
        "negative": operator.neg, "sqrt": xp.sqrt, "abs": xp.abs, "less": operator.lt, "maximum": xp.maximum,
        "minimum": xp.minimum,
    }  # fmt: skip

    def put(x: Array, where: Array, out: Array) -> None:
        out[...] = xp.where(where, x, out)

    written = {name: _into_last(backend, name, function) for name, function in functions.items()}
    return SimpleNamespace(**written, put=put)


def _into_last(backend: backends.Backend, name: str, function: Callable[..., Array]) -> Callable[..., None]:
    def call(*arguments: Array) -> None:
        *operands, out = arguments
        if not backend.into(name, out, *operands):
            out[...] = function(*operands)

    return call


class Mark:
    """Whether somebody has changed an `Entry` since a `Bundle` put its memory there."""

    __slots__ = ("stale",)

    def __init__(self) -> None:
        self.stale = True


class Entry(dict[str, Any]):
    """What is remembered of one parameter: ``optimizer.state[p]``.

    Its tensors show the memory of a `Bundle`, until somebody puts others in. Any change to the entry sets the ``mark``.
    So a step only looks at that, not at each tensor.
    """

    mark: Mark | None = None

    def __reduce__(self) -> Any:
        return Entry, (dict(self),)  # a copy shows no bundle


def _marking(change: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(change)
    def call(self: Entry, *args: Any, **kwargs: Any) -> Any:
        if self.mark is not None:
            self.mark.stale = True
        return change(self, *args, **kwargs)

    return call


for _name in ("__setitem__", "__delitem__", "__ior__", "clear", "pop", "popitem", "setdefault", "update"):
    setattr(Entry, _name, _marking(getattr(dict, _name)))


class Bundle:
    """Parameters that one call of a formula moves.

    A single one is moved in its own memory. Several small ones, all on the CPU, are copied side by side into one array,
    and back. 16-bit floats are copied too, to float32, the dtype of their state: each step rounds them once.

    For the formula: ``write``, the functions of `writing`; ``scratch`` arrays; ``state`` arrays by name; ``count`` of
    the steps, this one included; ``tallies``, the other numbers that are kept for each parameter, by name; ``first``,
    whether nothing was remembered before this step.
    """

    __slots__ = (
        "__weakref__", "_cells", "_entries", "_mark", "_members", "_own", "_pairs", "_pieces", "_shape",
        "_values", "arrays", "count", "dtype", "first", "gradient", "home", "parameter", "params", "scratch", "state",
        "storages", "tallies", "write",
    )  # fmt: skip

    def __init__(self, params: list[Tensor], entries: list[Entry], scratch: int, room: Room) -> None:
        self.params, self.arrays = params, [own_buffer(p) for p in params]
        first = self.arrays[0]
        self.home = backends.of(first)
        self.dtype = float32 if is_narrow(first.dtype) else first.dtype
        self._shape = tuple(first.shape) if len(params) == 1 else (sum(a.size for a in self.arrays),)
        self._entries = entries
        self._members = [
            (p, a, a.dtype, a.shape, p.storage, entry) for p, a, entry in zip(params, self.arrays, entries, strict=True)
        ]
        self.write = writing(self.home)
        self._cells: list[Array] = []  # see `numbers`
        self._values: tuple[float, ...] = ()
        if self.home is not backends.CPU:
            room = self._apart  # no sharing there: a part of an array may be a copy
        self.scratch = [room(self.dtype, i, self._shape) for i in range(scratch)]
        self.parameter: Array = first
        self.gradient: Array = None  # the copy of it
        self._pairs: list[tuple[Array, Array]] = []  # of a parameter and its copy
        self._pieces: list[Array] = []  # the copies of the gradients
        if len(params) > 1 or self.dtype != first.dtype:
            self.parameter, self.gradient = (room(self.dtype, scratch + i, self._shape) for i in range(2))
            self._pairs = list(zip(self.arrays, self._cut(self.parameter), strict=True))
            self._pieces = self._cut(self.gradient)
        self.state: dict[str, Array] = {}
        self.count = 0.0
        self.first = False
        self._mark = Mark()  # on the entries
        self.tallies: dict[str, Array] = {}  # one number of each parameter, on the host; those of a bundle are equal
        self._own: list[Storage] = []  # of the state
        self.storages = [p.storage for p in params]  # all that a step writes to
        self._use(self.storages)

    def _use(self, storages: list[Storage]) -> None:
        """Tell the storages that this bundle has arrays of their memory."""
        for storage in storages:
            storage.users = [one for one in storage.users if one() is not None] + [weakref.ref(self)]

    def memory(self) -> list[Array]:
        """The arrays that this refers to, once for each place: the memory guard needs them to account for them."""
        found = [*self.arrays, *(member[1] for member in self._members), *self.state.values(), self.parameter]
        return [*found, *self.tallies.values(), *(array for array, _ in self._pairs)]

    def mask(self, room: Room) -> Array:
        """A scratch array of bools."""
        if self.home is backends.CPU:
            return room(bool_, -1, self._shape)
        return self.home.xp.astype(self._apart(), bool_)

    def spare(self, room: Room) -> Array:
        """One more scratch array, for a formula that seldom needs it."""
        return room(self.dtype, -1, self._shape) if self.home is backends.CPU else self._apart()

    def _apart(self, *_: Any) -> Array:
        """Zeros, in new memory."""
        if self.home is backends.CPU:
            return np.zeros(self._shape, self.dtype)
        xp, like = self.home.xp, self.arrays[0]  # made of the parameter: so they are on its device, and are recorded
        zeros = xp.zeros_like(like)
        return zeros if self.dtype == like.dtype else xp.astype(zeros, self.dtype)

    def _cut(self, whole: Array) -> list[Array]:
        """Each parameter's part of an array, in the parameter's shape."""
        if len(self.params) == 1:
            return [whole]
        ends = np.cumsum([a.size for a in self.arrays]).tolist()
        return [whole[end - a.size : end].reshape(a.shape) for a, end in zip(self.arrays, ends, strict=True)]

    # The state ---------------------------------------------------------------------------------------------------

    def remember(self, names: dict[str, float], tallies: Mapping[str, float]) -> None:
        """Make the state arrays in ``names``, and the ``tallies``, from what entries hold, else from the numbers.

        `MASTER` starts as the parameters themselves, and is what the formula moves from then on.
        """
        self.first = not all(known(entry, names) for entry in self._entries)
        for name, start in names.items():
            whole = self.state[name] = self._apart()
            if start:
                whole[...] = start
            if name == MASTER:
                self.parameter = whole
                self._pairs = list(zip(self.arrays, self._cut(whole), strict=True))
            for array, piece, entry in zip(self.arrays, self._cut(whole), self._entries, strict=True):
                if name == MASTER:
                    piece[...] = array
                if entry.get(name) is not None:
                    piece[...] = as_tensor(entry[name]).to(device=backends.of(whole).device).array
        rows = [kept(entry, tallies) for entry in self._entries]
        self.tallies = {name: np.array([row[i] for row in rows], float32) for i, name in enumerate(tallies)}
        self._own = [storage_of(array) for array in (*self.state.values(), *self.tallies.values())]
        self.storages += self._own
        self._use(self._own)
        if not self.first:
            self._show()

    def _show(self) -> None:
        """Let the entries show the state: now if they held it before, else from the first step on."""
        shown = {name: (whole, self._cut(whole)) for name, whole in self.state.items()}
        for name, row in self.tallies.items():  # each as PyTorch has it: 0-d and float32
            shown[name] = (row, [row[i, ...] for i in range(len(self.params))])
        for name, (whole, pieces) in shown.items():
            base = wrap(whole)
            for piece, entry in zip(pieces, self._entries, strict=True):
                entry[name] = _view(base, piece)
        for entry in self._entries:
            entry.mark = self._mark
        self._mark.stale = False  # another optimiser that knew these entries has been told

    # A step ------------------------------------------------------------------------------------------------------

    def gradients(self, state: Any) -> list[Array] | None:
        """The gradients; an empty list where no parameter has one. None if the bundle no longer fits.

        It fits as long as parameters and state are in the memory that it knows, can be written, and go together.
        """
        if self._mark.stale:
            return None
        found, home, kind, entry_of = [], self.home, type(self.arrays[0]), state.get
        for p, array, dtype, shape, storage, entry in self._members:
            if p.array is not array or (storage.restore and not array.flags.writeable):
                return None
            if entry_of(p) is not entry:
                return None
            g = p.gradient
            if g is not None:
                g = g.array
                if (g.dtype is not dtype and g.dtype != dtype) or g.shape != shape:
                    return None
                if type(g) is not kind and backends.of(g) is not home:
                    return None
                found.append(g)
        for storage in self._own:
            if storage.restore:  # the memory guard has locked it for a graph: the step must go on in other memory
                return None
        for row in self.tallies.values():
            numbers = row.tolist()
            if numbers.count(numbers[0]) != len(numbers):
                return None
        return found if not found or len(found) == len(self._members) else None

    def move(self, update: Callable[..., None], group: Any, gradients: list[Array]) -> None:
        """One step."""
        if self._mark.stale:
            self._show()
        steps = self.tallies.get("step")
        if steps is not None:
            steps += _ONE
            self.count = steps.item(0)
        if self._pairs:
            for piece, array in zip(self._pieces, gradients, strict=True):
                piece[...] = array
            for array, copy in self._pairs:
                if MASTER in self.state:
                    self._take_over(array, copy)
                else:
                    copy[...] = array
            update(group, self, self.parameter, self.gradient)
            for array, copy in self._pairs:
                array[...] = copy
        else:
            update(group, self, self.parameter, gradients[0])
        self.first = False

    def _take_over(self, array: Array, master: Array) -> None:
        """Where a parameter is not what its master weight is rounded to, somebody else has written it."""
        xp = self.home.xp
        moved = xp.astype(master, array.dtype) != array
        if self.home is not backends.CPU or moved.any():  # to look, the host would wait for a device
            master[...] = xp.where(moved, xp.astype(array, self.dtype), master)

    def touched(self, gradients: list[Array]) -> tuple[list[Array], list[Array]]:
        """The arrays that a step reads, and those that it writes."""
        written = [*self.arrays, *self.state.values()]
        return [*written, *gradients], written

    def numbers(self, *values: Any) -> Any:
        """Settings in the quickest form: NumPy converts a Python float at every use, but a 0-d array never.

        Other devices get the floats.
        """
        values = tuple(map(float, values))
        if self.home is not backends.CPU:
            return values
        if values != self._values:
            if len(values) != len(self._cells):
                self._cells = [np.zeros((), self.dtype) for _ in values]
            for cell, value in zip(self._cells, values, strict=True):
                cell[...] = value
            self._values = values
        return self._cells


def _view(base: Tensor, piece: Array) -> Tensor:
    """A part of a tensor's memory, known as a view of it: so its memory can be written to, but not replaced."""
    tensor = wrap(piece)
    share_storage(base, tensor)
    tensor.origin = View(base, (), tracked=False)
    return tensor


def known(entry: Entry, names: dict[str, float]) -> bool:
    """Whether an entry holds something under each of the names."""
    return all(entry.get(name) is not None for name in names)


def kept(entry: Entry, tallies: Mapping[str, float]) -> tuple[float, ...]:
    """The numbers that an entry holds under these names, or else their first values."""
    return tuple(start if entry.get(name) is None else float(entry[name]) for name, start in tallies.items())
