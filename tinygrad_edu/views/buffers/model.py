"""Which names look at which bytes, what each of them reads there, and who sees a write, as plain data."""

from __future__ import annotations

import itertools
import math
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from ... import backends
from ...common.wording import brief
from ...core.inplace import own_buffer
from ...errors import IndexRangeError, ShapeError
from ...tensor import Tensor, as_tensor, wrap

CELLS = 12  # that fit side by side
HEAD, TAIL = 6, 5  # of a longer buffer: the first cells, a gap, the last ones
WATCHED = 64 * 10**6  # bytes of an array whose cells between are watched too; a checksum of them takes 16 ms


@dataclass(frozen=True)
class Entry:
    """One name: its tensor's metadata, and which cells of its buffer it visits."""

    name: str
    label: str  # how it was made, if that is known
    shape: tuple[int, ...]
    strides: tuple[int, ...]  # bytes
    offset: int  # bytes from the start of the buffer
    dtype: str
    itemsize: int
    buffer: int
    order: tuple[int | None, ...]  # for each drawn cell: the position of the element that begins there, or None
    values: tuple[str | None, ...]  # for each drawn cell: what that element holds
    covers: tuple[bool, ...]  # for each drawn cell: whether it holds bytes of any element
    times: tuple[int, ...] = ()  # for each drawn cell: how many elements begin there: how often it is read
    sum: int | None = None  # a checksum of all its elements, where not all cells are drawn


@dataclass(frozen=True)
class Buffer:
    """One block of memory. Only the drawn cells' values are kept, never all of a large array."""

    name: str
    nbytes: int
    itemsize: int
    cells: tuple[int, ...]  # cell numbers that are drawn, ascending
    values: tuple[str, ...]
    device: str
    dtype: str  # as which its cells are read
    bits: str  # the drawn cells in hexadecimal: what is drawn is true for as long as they stay
    sum: int | None = None  # a checksum of all its bytes, where not all cells are drawn

    @property
    def count(self) -> int:
        """How many cells there are."""
        return self.nbytes // self.itemsize


@dataclass(frozen=True)
class Write:
    """A write that has just been made: who made it, where, and which other names see it."""

    name: str
    index: tuple[int, ...]
    first: int  # byte
    last: int
    seen: tuple[str, ...]
    unseen: tuple[str, ...]


@dataclass(frozen=True)
class BufferState:
    """What a map shows, and where the learner points."""

    entries: tuple[Entry, ...]
    buffers: tuple[Buffer, ...]
    picked: str | None = None  # a name
    index: tuple[int, ...] = ()
    message: str = ""  # the last refusal, in words
    shares: tuple[tuple[str, str], ...] = ()  # each pair of names with a byte in common
    wrote: Write | None = None  # until the learner points somewhere else
    ordered: bool = False  # whether the order of visits is shown
    added: str | None = None  # the name that has just been added, until the learner points somewhere else
    goals: Goals | None = None  # what a free view is to read


@dataclass(frozen=True)
class Goals:
    """Puzzles for a free view: which have been solved so far, how many there are, and what it reads at the moment."""

    solved: tuple[str, ...]
    total: int
    name: str = ""  # of the free view
    now: str = ""  # the puzzle that it solves at the moment; "" if none
    reads: tuple[str, ...] = ()


def read(tensors: Mapping[str, Any], labels: Mapping[str, str] | None = None) -> BufferState:
    """The map of some named tensors or arrays. Those with the same buffer are grouped; values are read now."""
    owners: list[Any] = []
    found: list[tuple[str, Any, int]] = []
    for name, value in tensors.items():
        tensor = as_tensor(value)
        array = own_buffer(tensor)
        owner = _owner(array)
        position = next((i for i, known in enumerate(owners) if _same_memory(known, owner)), None)
        if position is None:
            position = len(owners)
            owners.append(owner)
        found.append((name, array, position))
    buffers = tuple(_buffer(owner, _letter(i), [a for _, a, p in found if p == i]) for i, owner in enumerate(owners))
    entries = tuple(
        _entry(name, (labels or {}).get(name, ""), array, position, owners[position], buffers[position])
        for name, array, position in found
    )
    shares = tuple(
        (one, two) for (one, a, _), (two, b, _) in itertools.combinations(found, 2) if np.shares_memory(a, b)
    )
    first = entries[0] if entries else None
    index = (0,) * len(first.shape) if first else ()
    return BufferState(entries, buffers, first.name if first else None, index, shares=shares)


def changed(then: BufferState, now: BufferState) -> tuple[str, ...]:
    """The names whose values have changed since ``then``; ``buffer A`` for changed bytes that no name covers."""
    found = {e.name: replace(e, values=()) != replace(entry(now, e.name) or e, values=()) for e in then.entries}
    outside = []
    for number, (old, new) in enumerate(zip(then.buffers, now.buffers, strict=False)):
        if old.bits == new.bits:
            here = [e.name for e in then.entries if e.buffer == number]
            outside += [f"buffer {old.name}"] * (old.sum != new.sum and not any(found[name] for name in here))
            continue
        rows, size = [e for e in then.entries if e.buffer == number], 2 * old.itemsize
        for place in range(len(old.cells)):
            cell = slice(place * size, (place + 1) * size)
            if old.bits[cell] != new.bits[cell]:
                here = [e.name for e in rows if e.covers[place]]
                found |= dict.fromkeys(here, True)
                outside += [] if here else [f"buffer {old.name}"]
    return (*(name for name, is_so in found.items() if is_so), *dict.fromkeys(outside))


class Glance:
    """A look at the same memory again, much cheaper than `read`: many maps take one after each cell."""

    def __init__(self, tensors: Mapping[str, Any], state: BufferState) -> None:
        self._tensors, self._cells, self._whole = [as_tensor(value) for value in tensors.values()], [], []
        for number, buffer in enumerate(state.buffers):
            tensor = next(t for t, e in zip(self._tensors, state.entries, strict=True) if e.buffer == number)
            if buffer.count:
                cells = _cells(_owner(own_buffer(tensor)), buffer.itemsize)
                self._cells.append((cells, np.array(buffer.cells)))
                self._whole += [cells] if buffer.sum is not None else []

    def take(self) -> tuple[Any, ...]:
        """Equal to the last one if all that is shown is as it was then."""
        looks = [(t.array.__array_interface__["data"], t.array.shape, t.array.strides) for t in self._tensors]
        drawn = (cells[numbers].tobytes() for cells, numbers in self._cells)
        return (*looks, *drawn, *map(_sum, self._whole))


def _cells(owner: Any, itemsize: int) -> Any:
    """The memory of an owner, as cells of so many bytes."""
    low, high = _bounds(owner)
    return np.ndarray(((high - low) // itemsize,), np.dtype(f"V{itemsize}"), _memory(owner))


def _letter(place: int) -> str:
    """A name for each buffer: A to Z, then A1."""
    return chr(ord("A") + place % 26) + (str(place // 26) if place >= 26 else "")


def _buffer(owner: Any, name: str, arrays: list[Any]) -> Buffer:
    low, high = _bounds(owner)
    itemsize = min(a.dtype.itemsize for a in arrays)
    dtype = next(a.dtype for a in arrays if a.dtype.itemsize == itemsize)
    if any(distance % itemsize for a in arrays for distance in (high - low, _address(a) - low, *_steps(a))):
        itemsize, dtype = 1, np.dtype(np.uint8)  # some element begins between two cells of that size
    count = (high - low) // itemsize
    cells = tuple(range(count)) if count <= CELLS else (*range(HEAD), *range(count - TAIL, count))
    flat: Any = np.ndarray((count,), dtype, _memory(owner)) if count else np.empty(0, dtype)
    values = tuple(brief(flat[cell]) for cell in cells)
    bits = b"".join(flat[cell : cell + 1].tobytes() for cell in cells).hex()
    found = None if len(cells) == count else _sum(_memory(owner))
    return Buffer(name, high - low, itemsize, cells, values, backends.of(owner).device, dtype.name, bits, found)


def _sum(array: Any) -> int | None:
    """A checksum of an array's values; None if it is too large to be read each time."""
    if array.nbytes > WATCHED or not array.size:
        return None
    return zlib.crc32(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)


def _steps(array: Any) -> list[int]:
    """The strides that lead anywhere."""
    return [step for step, size in zip(array.strides, array.shape, strict=True) if size > 1] if array.size else []


def _same_memory(one: Any, two: Any) -> bool:
    """Whether these two owners are one buffer: two arrays over one bytearray are."""
    return one is two or (one.nbytes > 0 and two.nbytes > 0 and _bounds(one) == _bounds(two))


def _owner(array: Any) -> Any:
    """The array that owns the memory, found even behind ``as_strided``, which hides it, and behind ``frombuffer``."""
    owner = backends.of(array).owner(array)
    hidden = getattr(owner.base, "base", None)
    if isinstance(hidden, np.ndarray):
        return _owner(hidden)
    if owner.base is None or isinstance(owner.base, np.ndarray):
        return owner
    try:
        memory = memoryview(owner.base)
    except TypeError:  # it does not say how long it is
        return owner
    return np.frombuffer(memory, np.uint8) if memory.c_contiguous and memory.nbytes else owner


def _bounds(owner: Any) -> tuple[int, int]:
    """The addresses where the memory begins and ends."""
    low, high = byte_bounds(owner) if owner.size else (_address(owner), _address(owner))
    return int(low), int(high)


def _memory(owner: Any) -> Any:
    """The owner's bytes in the order of their addresses, without a copy."""
    ordered = owner.transpose(sorted(range(owner.ndim), key=lambda axis: -owner.strides[axis]))
    if ordered.flags.c_contiguous:
        return ordered
    first = owner[tuple(slice(1) if step >= 0 else slice(-1, None) for step in owner.strides)].reshape(1)
    low, high = _bounds(owner)
    return np.lib.stride_tricks.as_strided(first, ((high - low) // owner.itemsize,), (owner.itemsize,))


def _address(array: Any) -> int:
    return int(array.__array_interface__["data"][0])


def _entry(name: str, label: str, array: Any, position: int, owner: Any, buffer: Buffer) -> Entry:
    offset, shape, strides = _address(array) - _bounds(owner)[0], tuple(array.shape), tuple(array.strides)
    starts = [cell * buffer.itemsize for cell in buffer.cells]
    begin = [visits(shape, strides, offset, start) or (None, 0) for start in starts]
    order, times = tuple(first for first, _ in begin), tuple(count for _, count in begin)
    values = tuple(None if p is None else brief(array[np.unravel_index(p, shape)]) for p in order)
    bare = Entry(
        name, label, shape, strides, offset, array.dtype.name, array.dtype.itemsize, position, order, values, ()
    )
    found = None if buffer.sum is None else _sum(array)
    covers = tuple(touches(bare, start, start + buffer.itemsize) for start in starts)
    return replace(bare, covers=covers, times=times, sum=found)


def touches(e: Entry, begin: int, end: int) -> bool:
    """Whether any element has a byte from ``begin`` up to, but not including, ``end``."""
    starts = range(begin - e.itemsize + 1, end)
    return any(visit(e.shape, e.strides, e.offset, start) is not None for start in starts)


def visit(shape: tuple[int, ...], strides: tuple[int, ...], offset: int, byte: int) -> int | None:
    """The position, in row-major order, of a tensor's first element at ``byte``; None if there is none."""
    found = visits(shape, strides, offset, byte)
    return found[0] if found else None


def visits(shape: tuple[int, ...], strides: tuple[int, ...], offset: int, byte: int) -> tuple[int, int] | None:
    """The position of the first element at ``byte``, and how many there are, as where a stride is 0 or windows overlap.

    Solved axis by axis from the largest stride, so that ten million elements cost as much as ten.
    """
    if 0 in shape:
        return None
    rest = byte - offset
    axes = sorted((i for i, n in enumerate(shape) if n > 1 and strides[i]), key=lambda i: -abs(strides[i]))
    for i in axes:  # a negative stride runs backwards: count from the other end
        if strides[i] < 0:
            rest += -strides[i] * (shape[i] - 1)
    found = []
    for steps in _solve(rest, [(abs(strides[i]), shape[i]) for i in axes]):
        index = [0] * len(shape)
        for i, step in zip(axes, steps, strict=True):
            index[i] = step if strides[i] > 0 else shape[i] - 1 - step
        found.append(index)
    if not found:
        return None
    position = 0
    for size, step in zip(shape, min(found), strict=True):
        position = position * size + step
    return position, len(found) * math.prod(n for n, step in zip(shape, strides, strict=True) if not step)


def _solve(rest: int, axes: list[tuple[int, int]]) -> Iterator[list[int]]:
    """Every way to make ``rest`` of so many steps along each axis, given as stride and size."""
    if not axes:
        if not rest:
            yield []
        return
    (stride, size), others = axes[0], axes[1:]
    reach = sum(s * (n - 1) for s, n in others)
    for step in range(max(0, -((reach - rest) // stride)), min(rest // stride, size - 1) + 1):
        for tail in _solve(rest - step * stride, others):
            yield [step, *tail]


def strided(base: Tensor, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> Tensor:
    """A tensor over the base's buffer with any shape, strides and offset, the latter two in bytes.

    Raises `IndexRangeError` if an element would begin between two elements of the base, or outside the buffer.
    """
    array = own_buffer(base)
    owner, item = _owner(array), array.dtype.itemsize
    begin, end = _bounds(owner)
    tried = f"shape {shape}, strides {strides}, offset {offset}"
    if odd := [step for step in (*strides, offset) if step % item]:
        why = f"{odd[0]} bytes lead into the middle of an element"
        raise IndexRangeError(tried, why, f"take a multiple of {item}")
    if all(shape):
        low = offset + sum(min(0, s * (n - 1)) for n, s in zip(shape, strides, strict=True))
        high = offset + sum(max(0, s * (n - 1)) for n, s in zip(shape, strides, strict=True))
        if low < 0 or high + item > end - begin:
            up = high + item > end - begin
            far = [n - 1 if (s > 0) is up else 0 for n, s in zip(shape, strides, strict=True)]
            has = f"bytes 0 to {end - begin - 1}" if end > begin else "no bytes"
            raise IndexRangeError(
                tried,
                f"element {far} would begin at byte {high if up else low}, and the buffer has {has}",
                "make the shape, the stride or the offset smaller",
            )
    view: Any = np.ndarray(shape, array.dtype, _memory(owner), offset, strides)
    return wrap(view)


# Pointing ----------------------------------------------------------------------------------------------------------


def entry(state: BufferState, name: str | None) -> Entry | None:
    """The entry of that name."""
    return next((e for e in state.entries if e.name == name), None)


def point(state: BufferState, name: str, index: tuple[int, ...]) -> BufferState:
    """Point at one element. Raises `ShapeError` for an index that the tensor does not have."""
    e = entry(state, name)
    if e is not None and 0 in e.shape:
        return replace(state, picked=name, index=(), message="", wrote=None, added=None)  # there is nowhere to point
    if e is None or len(index) != len(e.shape) or any(not 0 <= i < n for i, n in zip(index, e.shape, strict=True)):
        raise ShapeError(element(name, index), f"{name} has shape {e.shape if e else '—'}", "choose an index inside it")
    return replace(state, picked=name, index=index, message="", wrote=None, added=None)


def unravel(e: Entry, position: int) -> tuple[int, ...]:
    """The index of the element at a position in row-major order."""
    index = []
    for size in reversed(e.shape):
        index.append(position % size)
        position //= size
    return tuple(reversed(index))


def byte_of(e: Entry, index: tuple[int, ...]) -> int:
    """Where in the buffer an element begins."""
    return e.offset + sum(i * s for i, s in zip(index, e.strides, strict=True))


def written(state: BufferState) -> BufferState:
    """The same after a write to the element pointed at, with a note of who sees it."""
    e = entry(state, state.picked)
    assert e is not None
    first = byte_of(e, state.index)
    end = first + e.itemsize
    sees = {x.name: x.buffer == e.buffer and touches(x, first, end) for x in state.entries if x is not e}
    seen, unseen = (tuple(name for name, does in sees.items() if does is wanted) for wanted in (True, False))
    return replace(state, wrote=Write(e.name, state.index, first, end - 1, seen, unseen))


def element(name: str, index: tuple[int, ...]) -> str:
    """As Python writes it: ``x[1, 2]``, and ``n[()]`` for a single number."""
    return f"{name}[{', '.join(map(str, index)) or '()'}]"


def same_place(state: BufferState) -> list[str]:
    """The other names' elements at the place the learner points at: ``x[1, 2]``."""
    e = entry(state, state.picked)
    if e is None or 0 in e.shape:
        return []
    byte, found = byte_of(e, state.index), []
    for other in state.entries:
        if other is e or other.buffer != e.buffer:
            continue
        position = visit(other.shape, other.strides, other.offset, byte)
        if position is not None:
            found.append(element(other.name, unravel(other, position)))
    return found
