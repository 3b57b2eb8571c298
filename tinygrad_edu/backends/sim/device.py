"""A simulated accelerator as a `Backend`: values by NumPy, time by `schedule`, memory by `allocator`.

One operation is one kernel, forward; backward is one for each new gradient. Everything else that the engine asks of the
namespace (a sum of gradients, an update) is a kernel of its own. Views launch nothing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextvars import ContextVar
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from ...common.lines import Line, describe_line, user_line
from ...common.locks import RLock
from ...errors import OutOfMemoryError, RaceError
from ..base import ALL_NAMES, Array, Backend, Namespace
from ..cpu import XP as HOST
from ..cpu import CpuBackend, is_basic
from ..proxy import unwrap
from ..queue import Event as PlainEvent
from ..queue import Memory
from ..queue import Stream as PlainStream
from .allocator import Allocator, Block, Full
from .array import Held, SimArray, as_before, bytes_of, span
from .kernels import BODY, Load, noted, time_of
from .presets import Machine
from .races import Access, entered
from .schedule import Lane, Point, Room, Schedule

_VIEWS = ("index", "reshape", "permute", "broadcast_to", "contiguous", "diagonal", "windows", "as_strided")
_BLANK = ("zeros_like", "ones_like")  # they take a shape, and read nothing
owner_of = CpuBackend().owner
COUNTED = ("launches", "copies to device", "bytes to device", "copies to host", "bytes to host")
HAZARDS = ("error", "warn", "stale")


class Stream(PlainStream):
    """Work that a simulated device does in the order in which it was asked for."""

    def __init__(self, device: SimBackend, lane: Lane) -> None:
        self.device, self.lane = device, lane
        self.event_type = partial(Event, device)  # type: ignore[assignment]

    def query(self) -> bool:
        return self.lane.end <= self.device.schedule.now

    def synchronize(self) -> None:
        schedule = self.device.schedule
        schedule.wait("synchronize", schedule.point(self.lane), user_line())

    def __repr__(self) -> str:
        return f"<stream {self.lane.name}>"


class Event(PlainEvent):
    """A point in a stream of a simulated device."""

    def __init__(self, device: SimBackend | None = None) -> None:
        super().__init__()
        self._device = device
        self._point: Point | None = None

    def record(self, stream: Any = None) -> None:
        device = self._device or stream.device
        stream = device.current_stream() if stream is None else stream
        self._device = device
        point = device.schedule.point(stream.lane)
        # The device reaches an event that is recorded while it has nothing to do when the host records it.
        self._point = point._replace(time=max(point.time, device.schedule.now))
        self._time = self._point.time

    def query(self) -> bool:
        return self._point is None or self._point.time <= self._known().schedule.now

    def wait(self, stream: Any = None) -> None:
        if self._point is not None:
            device = self._known()
            stream = device.current_stream() if stream is None else stream
            device.schedule.after(stream.lane, self._point)

    def synchronize(self) -> None:
        if self._point is not None:
            self._known().schedule.wait("synchronize an event", self._point, user_line())

    def _known(self) -> SimBackend:
        assert self._device is not None
        return self._device


class SimBackend(Backend):
    """One simulated accelerator. ``machine`` holds its constants, ``schedule`` the clock that all of them share."""

    def __init__(self, name: str, machine: Machine, schedule: Schedule) -> None:
        self.name, self.machine, self.schedule = name, machine, schedule
        self.array_type: Any = type("SimArray", (SimArray,), {"home": self, "__slots__": ()})
        self.array_types = (self.array_type,)
        self.xp = Namespace(name, **{one: self._function(one) for one in ALL_NAMES})
        self.hazards, self.tf32 = "error", False
        self.races: list[str] = []  # what was found where it is no error
        self.default_stream = Stream(self, schedule.lane(f"{name} stream 0"))
        self.streams = [self.default_stream]
        self._current: ContextVar[Stream] = ContextVar(f"stream of {name}", default=self.default_stream)
        self._lock = RLock()
        self.allocator = Allocator(int(machine["memory"]))
        self.room = Room()
        self.engines = {"to device": 0, "to host": 0}  # when each has done its last copy
        self.dead: deque[Block] = deque()
        self.counts = dict.fromkeys(COUNTED, 0)

    # What the engine asks for ------------------------------------------------------------------------------------

    def kernel(self, op: Any) -> Any:
        return op if op.crosses else _kernel(op, self)

    def owner(self, array: Array) -> Array:
        return array.owner

    def memory(self) -> Memory:
        self._collect()
        a = self.allocator
        return Memory(a.allocated, a.reserved, a.peak, a.reserved_peak)

    def forget_peak(self) -> None:
        self._collect()
        self.allocator.peak, self.allocator.reserved_peak = self.allocator.allocated, self.allocator.reserved

    def allow(self, fraction: float) -> None:
        self.allocator.limit = int(self.machine["memory"] * fraction)

    def stream(self) -> Stream:
        made = Stream(self, self.schedule.lane(f"{self.name} stream {len(self.streams)}"))
        self.streams.append(made)
        return made

    def current_stream(self) -> Stream:
        return self._current.get()

    def use_stream(self, stream: Any) -> Callable[[], None]:
        token = self._current.set(stream)
        return lambda: self._current.reset(token)

    def synchronize(self) -> None:
        for stream in self.streams:
            self.schedule.wait("synchronize", self.schedule.point(stream.lane), user_line())

    def into(self, function: str, out: Array, *operands: Any, **params: Any) -> bool:
        if function == "put":
            return super().into(function, out, *operands, **params)
        self.write(function, lambda target, *rest: getattr(np, function)(*rest, out=target, **params), out, operands)
        return True

    def peek(self, array: Array) -> Any:
        return array.values  # a check runs on the device, inside the kernel

    # Copies ------------------------------------------------------------------------------------------------------

    def from_numpy(self, array: Any) -> SimArray:
        made = self._new(np.array(array), self.current_stream().lane, "copy to device")
        if made.ndim:  # a single number travels with the command that uses it
            self._copy("to device", made, writes=True)
        return made

    def to_numpy(self, array: SimArray) -> Any:
        return self._copy("to host", array, writes=False).copy()

    def _copy(self, direction: str, array: SimArray, writes: bool) -> Any:
        """A copy from or to pageable memory. The host is busy with it, and knows when it has ended."""
        lane, size, schedule = self.current_stream().lane, int(array.values.nbytes), self.schedule
        with self._lock:
            work = self._begin(f"copy {direction}", [] if writes else [array])
            if writes:
                self._note(array, True, work)
            start = max(schedule.earliest(lane), self.engines[direction])
            schedule.wait(work.name, schedule.point(lane)._replace(time=start), work.line)
            duration = int(self.machine["copy_launch"]) + round(size / self.machine["pageable"] * 1e9)
            lane.end = self.engines[direction] = start + duration
            schedule.log(f"{self.name} {direction}", work.name, "copy", start, lane.end, size, line=work.line)
            schedule.spend(work.name, "copy", duration, work.line)
            schedule.wait(work.name, schedule.point(lane), work.line)
            self.counts[f"bytes {direction}"] += size
            self.counts[f"copies {direction}"] += 1
        return work.near(array)

    # Kernels -----------------------------------------------------------------------------------------------------

    def forward(self, op: Any, body: Callable[..., Any], arrays: Any, params: dict[str, Any]) -> Any:
        """An operation as one kernel; as none, where its result only looks at an operand's memory."""
        kind = self.array_type
        reads = _arrays(arrays) + (_arrays(params.values()) if params else [])

        def run(near: Callable[[Any], Any]) -> Any:
            given = {key: unwrap(value, near) for key, value in params.items()} if params else {}
            plain = [near(one) if type(one) is kind else unwrap(one, near, self.near) for one in arrays]
            return body(BODY, *plain, **given)

        with self._lock:
            out, cache, work = self._done(op.name, reads, run, op.view, op.caches)
            if work is not None:
                if params and _counts(op, arrays, params.get("index")):
                    self.schedule.wait(op.name, self.schedule.point(work.lane), work.line)
                flops, read, written = op.cost(arrays, out, params)
                self._end(work, Load(flops, read, written, noted(), op.gathers))
            return (out, cache) if op.caches else out

    def _done(
        self, name: str, reads: list[SimArray], run: Callable[..., Any], view: bool, caches: Any = False
    ) -> tuple[SimArray, Any, _Work | None]:
        """The result of a body, what it caches, and the work that is to be placed in time; None for a view.

        A view touches no element, so what may be one is made before anything is noted.
        """
        work = self._begin(name, [] if view else reads)
        result = run(work.near)
        value, cache = result if caches else (result, None)
        out, new = self._place(value, reads, work)
        if new and view and self._read(reads, work):  # it is a copy this time
            out.values[...] = run(work.near)
        return out, self._kept(cache, reads, work) if caches else None, work if new else None

    def backward(self, op: Any, body: Callable[..., Any], g: Any, needs: Any, saved: Any, lane: Lane | None) -> Any:
        """The gradients of an operation, each that is new as one kernel, on the stream of the operation itself."""
        reads = [g, *_arrays(saved)]
        with self._lock:
            if lane is not None and g.lane is not lane and g.lane is self.current_stream().lane:
                self.schedule.after(lane, self.schedule.point(g.lane))  # where backward begins
            work = self._begin(f"{op.name} backward", reads, lane)
            found = body(BODY, work.near(g), needs, *[unwrap(one, work.near) for one in saved])
            products = noted()
            grads: list[SimArray | None] = []
            new: list[SimArray] = []
            for part in found if type(found) is tuple else (found,):
                if part is not None:
                    part, fresh = self._place(part, reads, work)
                    new += [part] if fresh else []
                grads.append(part)
            read = sum([one.values.nbytes for one in reads])
            for i, made in enumerate(new):  # each has one product, as far as there are any; the last has the rest
                made.pulled = True
                own = products[i:] if made is new[-1] else products[i : i + 1]
                flops = sum([one.flops for one in own]) or op.per_element * max(made.values.size, g.values.size)
                moved = sum([one.elements for one in own]) * made.dtype.itemsize or read
                self._end(work, Load(flops, moved, made.values.nbytes, own, op.gathers))
            return tuple(grads)

    def compute(self, name: str, function: Callable[..., Any], args: Any, params: Any = None) -> SimArray:
        """The result of one kernel, or a view."""
        reads = [] if name in _BLANK else _arrays(args)

        def run(near: Callable[[Any], Any]) -> Any:
            return function(*[unwrap(one, near, self.near) for one in args], **(params or {}))

        with self._lock:
            out, _, work = self._done(name, reads, run, name in _VIEWS)
            if work is not None:
                self._end(work, self._load(reads, out))
            return out

    def write(
        self, name: str, function: Callable[..., Any], target: SimArray, operands: Any,
        random: bool = False, reads: bool = False,
    ) -> None:  # fmt: skip
        """One kernel that writes an array, and perhaps reads it: ``function(its values, *values of the operands)``."""
        inputs = [target] * reads + _arrays(operands)
        with self._lock:
            work = self._begin(name, inputs)
            given = [unwrap(one, work.near, self.near) for one in operands]
            self._note(target, True, work)
            function(target.values, *given)
            self._end(work, self._load(inputs, target, random))

    def assign(self, target: SimArray, index: Any, values: Any) -> None:
        """Item assignment. The index may come from the host: it travels with the command."""
        index = unwrap(index, _raw)
        part = target.values[index] if is_basic(index) else None
        if isinstance(part, np.ndarray):  # only the bytes of that part are written
            self.write("copy", _fill, self._view(part, target), (values,))
        else:
            self.write("put", lambda x, v: x.__setitem__(index, v), target, (values,), random=True)

    def indexed(self, x: SimArray, index: Any) -> SimArray:
        """A part of an array: a view where NumPy has one, else a kernel that gathers."""
        where = unwrap(index, _raw)
        return self.compute("index", lambda values: np.asarray(values[where]), (x,))

    def near(self, value: Any) -> Any:
        """The values of an array of this device. Arrays of others and of the host are refused."""
        if type(value) is self.array_type:
            return value.values
        if isinstance(value, (SimArray, np.ndarray, np.generic)):
            where = value.home.name if isinstance(value, SimArray) else "the host"
            raise TypeError(f"an array {value.shape} {value.dtype} of {where}, where one of {self.name} is wanted")
        return value

    def _function(self, name: str) -> Callable[..., Any]:
        function = getattr(BODY, name)
        if name == "empty":
            return lambda *args: self._new(HOST.empty(*args), self.current_stream().lane, name)
        if name == "scatter_add":  # the index may come from the host
            return lambda shape, index, values: self.compute(
                name, lambda v: function(shape, unwrap(index, _raw), v), (values,)
            )
        if name == "put":
            return lambda x, index, values: self.compute(
                name, lambda x, v: function(x, unwrap(index, _raw), v), (x, values)
            )
        return lambda *args, **params: self.compute(name, function, args, params)

    def _begin(self, name: str, reads: list[SimArray], lane: Lane | None = None) -> _Work:
        """Put work into the queue, behind what made the gradients that it reads. Finds what it reads there."""
        lane = self.current_stream().lane if lane is None else lane
        noted()  # whatever a body left behind that failed
        for one in reads:
            if one.pulled and one.lane is not lane:
                self.schedule.after(lane, self.schedule.point(one.lane))
        work = _Work(name, lane, self.schedule.issue(lane), user_line(), self.near)
        self._read(reads, work)
        return work

    def _read(self, arrays: list[SimArray], work: _Work) -> bool:
        """Note what work reads. Returns whether it finds other values there than it should."""
        late = False
        for one in arrays:
            old = self._note(one, False, work)
            if old is not None:
                work.near, late = _with(work.near, one, old), True
        return late

    def _place(self, result: Any, operands: list[SimArray], work: _Work) -> tuple[SimArray, bool]:
        """A result as an array, and whether it has new memory. Else it is an operand, or a view of one."""
        values = result if type(result) is np.ndarray else np.asarray(result)
        owner = values if values.base is None else owner_of(values)
        for one in operands:
            if values is one.values:
                return one, False
            if owner is (one.values if one.values.base is None else owner_of(one.values)):
                return self._view(values, one), False
        made = self._new(values, work.lane, work.name)
        self._note(made, True, work)
        return made, True

    def _kept(self, tree: Any, operands: list[SimArray], work: _Work) -> Any:
        """What an operation caches for backward, in memory of the device."""
        if isinstance(tree, tuple):
            return tuple([self._kept(one, operands, work) for one in tree])
        return self._place(tree, operands, work)[0] if isinstance(tree, (np.ndarray, np.generic)) else tree

    def _view(self, values: Any, source: SimArray) -> SimArray:
        made: SimArray = object.__new__(self.array_type)
        made.values, made.base, made.held = values, source.owner, None
        made.lane, made.pulled = source.lane, source.pulled
        return made

    def _load(self, reads: list[SimArray], out: SimArray, random: bool = False) -> Load:
        products = noted()
        flops = sum([one.flops for one in products]) or out.values.size
        return Load(flops, sum([one.values.nbytes for one in reads]), out.values.nbytes, products, random)

    def _end(self, work: _Work, load: Load) -> None:
        """Place the kernel in time."""
        duration, share = time_of(self.machine, load, self.tf32)
        schedule, lane = self.schedule, work.lane
        schedule.spend(work.name, "launch", int(self.machine.table["launch"].value), work.line)
        start = self.room.place(schedule.earliest(lane), duration, share, schedule.now)
        lane.end = start + duration
        self.counts["launches"] += 1
        if schedule.logs:
            schedule.log(
                lane.name, work.name, "kernel", start, lane.end, load.read, load.written, load.flops, work.line
            )

    # Memory ------------------------------------------------------------------------------------------------------

    def _new(self, values: Any, lane: Lane, name: str) -> SimArray:
        """New memory on the device, for these values."""
        size = int(values.nbytes if values.base is None else owner_of(values).nbytes)
        with self._lock:
            self._collect()
            try:
                block, calls = self.allocator.allocate(size, lane.number)
            except Full as full:
                raise self._out_of_memory(name, values, full) from None
            block.wanted = size
            self._ask_driver("reserve", calls)
        made: SimArray = object.__new__(self.array_type)
        made.values, made.base, made.held = values, None, Held(block, self.dead)
        made.lane, made.pulled = lane, False
        return made

    def _ask_driver(self, name: str, segments: int) -> None:
        """Take segments or give them back. The driver waits for all streams, but nobody should count on that order."""
        if segments:
            idle = Point(max(stream.lane.end for stream in self.streams), {}, self.name)
            self.schedule.wait(name, idle, user_line())
            self.schedule.spend(name, "reserve", segments * int(self.machine["reserve"]), user_line())

    def _collect(self) -> None:
        while self.dead:
            self.allocator.free(self.dead.popleft())

    def empty_cache(self) -> None:
        """Give the driver back the segments that hold no array. It waits for the device first."""
        with self._lock:
            self._collect()
            self._ask_driver("empty_cache", self.allocator.empty())

    def _out_of_memory(self, name: str, values: Any, full: Full) -> OutOfMemoryError:
        free = full.reserved - full.allocated
        why = (
            f"{full.asked:,} bytes are asked for; of {full.limit:,} on {self.name!r}, {full.allocated:,} hold tensors "
            f"and {free:,} are reserved and free"
        )
        if free >= full.asked:
            why += f", but in pieces: the largest has {full.largest:,}"
        mend = "free what is no longer needed (del x), use a smaller batch, or compute without a graph: no_grad()"
        return OutOfMemoryError(f"{name} {tuple(values.shape)} {values.dtype}", why, mend)

    # Order -------------------------------------------------------------------------------------------------------

    def _note(self, array: SimArray, writes: bool, work: _Work) -> Any:
        """Note that work uses an array. Returns the values that it finds there, if they are not what they should be."""
        block = array.block
        if array.base is None:
            low, region = block.address, None
            high = low + block.wanted
        else:
            low, high, region = span(array, block)
        access = Access(work.lane, work.count, work.name, work.line, writes, low, high, region)
        found, old = entered(block, access, self.schedule.host), None
        if writes and self.hazards == "stale":
            access.old = bytes_of(array.owner)
        for other in found:
            self._race(access, other, array)
            if other.old is not None and not writes and other.writes:
                old = as_before(array, other.old)
        return old

    def _race(self, access: Access, other: Access, array: SimArray) -> None:
        if self.hazards == "error":  # bound to no name: error and frame would keep each other alive, and the arrays
            raise _in_words(access, other, array)
        self.races.append(str(_in_words(access, other, array)))


def _in_words(access: Access, other: Access, array: SimArray) -> RaceError:
    """What two pieces of work did to the same bytes, and what is missing between them."""
    verb, before = ("writes" if one.writes else "reads" for one in (access, other))
    tried = f"{access.name} on {access.lane.name!r} {verb} a tensor {tuple(array.shape)} {array.dtype}"
    ended = f"{other.name} on {other.lane.name!r} {before} it ({describe_line(other.line)})"
    why = f"{ended}, and nothing makes one wait for the other"
    mend = "let this stream wait before it goes on: stream.wait_stream(other), or an event recorded there"
    return RaceError(tried, why, mend, access.line)


class _Work:
    """One piece of work of a stream, while it is put into the queue."""

    __slots__ = ("count", "lane", "line", "name", "near")

    def __init__(self, name: str, lane: Lane, count: int, line: Line, near: Callable[[Any], Any]) -> None:
        self.name, self.lane, self.count, self.line, self.near = name, lane, count, line, near


def _with(near: Callable[[Any], Any], array: SimArray, values: Any) -> Callable[[Any], Any]:
    """``near``, with other values for one array."""
    return lambda one: values if one is array else near(one)


def _counts(op: Any, arrays: Any, index: Any) -> bool:
    """Must the places in a mask be counted, before the host knows the result's shape?

    One number is written wherever the mask holds, whatever their count.
    """
    if index is None or (len(arrays) > 1 and getattr(arrays[1], "size", 1) == 1):
        return False
    return any(isinstance(one, SimArray) and one.dtype.kind == "b" for one in index)


def _raw(one: SimArray) -> Any:
    return one.values


def _fill(target: Any, values: Any) -> None:
    target[...] = values


def _arrays(tree: Any) -> list[SimArray]:
    """The arrays of a device among arguments, in tuples and lists too."""
    found: list[SimArray] = []
    for one in tree:
        if isinstance(one, SimArray):
            found.append(one)
        elif type(one) in (tuple, list):
            found += _arrays(one)
    return found


# Operations ----------------------------------------------------------------------------------------------------------


class _Saved(NamedTuple):
    """What a node of the device saves besides: the stream that its backward runs on."""

    source: str = "out"
    part: str = "lane"
    needed_by: str = ""
    again: bool = False


_LANE = _Saved()


def _make_kernel(op: Any, device: SimBackend) -> Any:
    """``op`` with each body as one kernel of the device. In other worlds the bodies are what they were."""
    inner, outer = op.forward, op.backward
    xp_here = device.xp

    def forward(xp: Any, *arrays: Any, **params: Any) -> Any:
        if xp is not xp_here:
            return inner(xp, *arrays, **params)
        return device.forward(op, inner, arrays, params)

    def backward(xp: Any, g: Any, needs: Any, *saved: Any) -> Any:
        *rest, lane = saved
        if xp is not xp_here:
            return outer(xp, g, needs, *rest)
        return device.backward(op, outer, g, needs, rest, lane)

    bodies = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    plan = (*op.save_plan, _LANE)
    return type(
        op.__name__, (op,), {**bodies, "save_plan": plan, "narrow": None, "__doc__": op.__doc__}, register=False
    )


_kernel: Any = cache(_make_kernel)
