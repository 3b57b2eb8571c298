"""A simulated accelerator as a `Backend`: values by NumPy, time by `schedule`, memory by `allocator`.

One operation is one kernel, forward; backward is one for each new gradient. Everything else that the engine asks of the
namespace (a sum of gradients, an update) is a kernel of its own. Views launch nothing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from ...common import blocks
from ...common.lines import Line, describe_line, user_line
from ...common.locks import RLock
from ...common.wording import bytes_text, plural
from ...errors import OutOfMemoryError, RaceError
from ..base import ALL_NAMES, Array, Backend, Namespace
from ..cpu import XP as HOST
from ..cpu import CpuBackend, is_basic, writer
from ..proxy import unwrap
from ..queue import Event as PlainEvent
from ..queue import Memory
from ..queue import Stream as PlainStream
from ..queue import Together as PlainTogether
from . import copies
from .allocator import Allocator, Block, Full
from .array import Held, SimArray, as_before, bytes_of, span
from .kernels import BODY, Load, noted, time_of
from .presets import Machine
from .races import Access, entered
from .ring import Offer
from .schedule import Lane, Point, Room, Schedule

_VIEWS = ("index", "reshape", "permute", "broadcast_to", "contiguous", "diagonal", "windows", "as_strided")
_SHORT = {
    "multiply": "mul",
    "subtract": "sub",
    "divide": "div",
    "true_divide": "div",
    "negative": "neg",
}  # as operators
_MADE = ("zeros", "ones", "full")  # of a shape, with a dtype
_BLANK = ("zeros_like", "ones_like")  # they take a shape, and read nothing
owner_of = CpuBackend().owner
COUNTED = ("launches", "copies to device", "bytes to device", "copies to host", "bytes to host")
POOL = 32  # streams that can be had
MOST_HELD = 4  # lines in an error
QUERY = 1000  # nanoseconds of the host for a question to a queue (assumed)
HAZARDS = ("error", "warn", "stale")


class Stream(PlainStream):
    """Work that a simulated device does in the order in which it was asked for."""

    def __init__(self, device: SimBackend, lane: Lane) -> None:
        self.device, self.lane = device, lane
        self.event_type = partial(Event, device)  # type: ignore[assignment]

    def query(self) -> bool:
        self.device.schedule.spend("query", "work", QUERY, user_line())  # so that a loop of questions comes to an end
        return self.lane.end <= self.device.schedule.now

    def synchronize(self) -> None:
        schedule = self.device.schedule
        schedule.wait("synchronize", schedule.point(self.lane), user_line())

    def __repr__(self) -> str:
        return f"<stream {self.lane.name}>"


class Together(PlainTogether):
    """The n-th kernels of all sets are one launch. ``fused``: all kernels are, and touch each array once."""

    def __init__(self, device: SimBackend, fused: bool) -> None:
        self.device, self.fused, self.place, self.sets = device, fused, 0, 0
        self.parts: dict[tuple[int, str], tuple[Work, Load]] = {}
        self.moved = Load(0, 0, 0)
        device.joining = self

    def begin(self, reads: list[Any], writes: list[Any]) -> None:
        self.place, self.sets = 0, self.sets + 1
        read, written = (sum([one.values.nbytes for one in some]) for some in (reads, writes))
        self.moved = _sum(self.moved, Load(0, read, written))

    def add(self, work: Work, load: Load) -> None:
        """One kernel of the present set."""
        key = (0, "all") if self.fused else (self.place, work.name)
        self.place += 1
        before = self.parts.get(key)
        self.parts[key] = (work, load if before is None else _sum(before[1], load))

    def end(self) -> None:
        self.device.joining = None
        for work, load in self.parts.values():
            if self.fused:
                work.name, load = "fused step", load._replace(read=self.moved.read, written=self.moved.written)
            elif self.sets > 1:
                work.name = f"{work.name} for each of {self.sets}"
            self.device._end(work, load)


def _sum(one: Load, other: Load) -> Load:
    return Load(
        one.flops + other.flops, one.read + other.read, one.written + other.written,
        [*one.products, *other.products], one.random or other.random,
    )  # fmt: skip


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
        device.order("record an event")
        point = device.schedule.point(stream.lane)
        # The device reaches an event that is recorded while it has nothing to do when the host records it.
        self._point = point._replace(time=max(point.time, device.schedule.now))
        self._time = self._point.time

    def query(self) -> bool:
        if self._point is None:
            return True
        self._known().schedule.spend("query", "work", QUERY, user_line())
        return self._point.time <= self._known().schedule.now

    def wait(self, stream: Any = None) -> None:
        if self._point is not None:
            device = self._known()
            stream = device.current_stream() if stream is None else stream
            device.order("let a stream wait", self._point.lane)
            device.schedule.after(stream.lane, self._point)

    def synchronize(self) -> None:
        if self._point is not None:
            self._known().schedule.wait("synchronize an event", self._point, user_line())

    def _known(self) -> SimBackend:
        assert self._device is not None
        return self._device


class SimBackend(Backend):
    """One simulated accelerator. ``machine`` holds its constants, ``schedule`` the clock that all of them share."""

    fuses_rows = joins = True

    def __init__(self, name: str, machine: Machine, schedule: Schedule) -> None:
        self.name, self.machine, self.schedule = name, machine, schedule
        self.array_type: Any = type("SimArray", (SimArray,), {"home": self, "__slots__": ()})
        self.array_types = (self.array_type,)
        self.xp = Namespace(name, **{one: self._function(one) for one in ALL_NAMES})
        self.hazards, self.tf32 = "error", False
        self.races: list[str] = []  # what was found where it is no error
        self.default_stream = Stream(self, schedule.lane(f"{name} stream 0"))
        self.streams = [self.default_stream]
        self.given = 0  # the last one that was handed out
        self._current: ContextVar[Stream] = ContextVar(f"stream of {name}", default=self.default_stream)
        self._lock = RLock()
        self.allocator = Allocator(int(machine["memory"]))
        self.room = Room()
        self.engines = {"to device": 0, "to host": 0}  # when each has done its last copy
        self._ring: Lane | None = None  # where it works together with other devices
        self.ring_until = 0  # when it has done the last of that
        self.dead: deque[Block] = deque()
        self.joining: Together | None = None
        self.replaying = self.replayed = False  # one command launches many kernels; was it given?
        self.waiting: list[Block] = []  # whose arrays are gone, and which other streams may still use
        self.counts = dict.fromkeys(COUNTED, 0)

    # What the engine asks for ------------------------------------------------------------------------------------

    def kernel(self, op: Any) -> Any:
        return op if op.crosses else _kernel(op, self)

    def owner(self, array: Array) -> Array:
        return array.owner

    def model(self) -> str:
        """Which machine it is like."""
        return f"simulated {self.machine.preset}"

    def capacity(self) -> int:
        """The bytes of its memory that may be used."""
        return self.allocator.limit

    def memory(self) -> Memory:
        with self._lock:
            self._collect()
            a = self.allocator
            return Memory(a.allocated, a.reserved, a.peak, a.reserved_peak)

    def held_lines(self) -> list[str]:
        return [_held_text(*one) for one in self.held()]

    def forget_peak(self) -> None:
        with self._lock:
            self._collect()
            self.allocator.peak, self.allocator.reserved_peak = self.allocator.allocated, self.allocator.reserved

    def allow(self, fraction: float) -> None:
        self.allocator.limit = int(self.machine["memory"] * fraction)

    def stream(self) -> Stream:
        self.given = self.given % POOL + 1  # PyTorch, too, hands out the same few again and again
        if self.given == len(self.streams):
            self.streams.append(Stream(self, self.schedule.lane(f"{self.name} stream {self.given}")))
        return self.streams[self.given]

    def current_stream(self) -> Stream:
        return self._current.get()

    def use_stream(self, stream: Any) -> Callable[[], None]:
        self.order("enter a stream")
        token = self._current.set(stream)

        def leave() -> None:
            self._current.reset(token)
            self.order("leave a stream")

        return leave

    def order(self, name: str, waited_for: str = "") -> None:
        """The host says which work comes after which: after that of the lane ``waited_for``, where one waits."""
        self.schedule.spend(name, "order", int(self.machine["order"]), user_line(), waited_for)

    def synchronize(self) -> None:
        self.finish(user_line())

    def finish(self, line: Line = None) -> None:
        """Wait for all that was asked for; on no line of the program where it is not the program that waits."""
        for stream in self.streams:
            self.schedule.wait("synchronize", self.schedule.point(stream.lane), line)

    def into(self, function: str, out: Array, *operands: Any, **params: Any) -> bool:
        if function == "put":
            return super().into(function, out, *operands, **params)
        known = writer(function)
        self.write(
            _SHORT.get(function, function), lambda target, *rest: known(*rest, out=target, **params), out, operands
        )
        return True

    def nonzero(self, array: SimArray) -> SimArray:
        with self._lock:
            found = self.compute("nonzero", np.argwhere, (array,))
            self.schedule.wait("nonzero", self.schedule.point(found.lane), user_line())
        return found

    def peek(self, array: Array) -> Any:
        return array.values  # a check runs on the device, inside the kernel

    # Copies ------------------------------------------------------------------------------------------------------

    def from_numpy(self, array: Any) -> SimArray:
        return copies.from_numpy(self, array)

    def to_numpy(self, array: SimArray) -> Any:
        if array.values.size == 1:
            self.count_scalar()
        return copies.to_numpy(self, array)

    def take(self, array: Array, source: Backend, non_blocking: bool = False) -> SimArray:
        if isinstance(source, SimBackend):
            return copies.across(self, array, source)
        return copies.from_numpy(self, source.give(array), non_blocking=non_blocking, asked=not non_blocking)

    def give(self, array: SimArray, non_blocking: bool = False) -> Any:
        return copies.to_numpy(self, array, non_blocking=non_blocking)

    def pin(self, array: Any) -> Any:
        return copies.pin(self, array)

    def pinned(self, array: Any) -> bool:
        return copies.MEMORY.holds(array)

    def hold(self, array: SimArray, stream: Any) -> None:
        if stream.lane.number != array.block.segment.pool.stream:
            array.block.users.append(stream.lane)

    def offer(self, array: SimArray, name: str) -> Offer:
        return Offer(self, array, name)

    def ring(self) -> Lane:
        """The queue of what it does together with the devices of other workers."""
        if self._ring is None:
            self._ring = self.schedule.lane(f"{self.name} ring")
        return self._ring

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
                flops, read, written = op.cost(
                    [one.values if type(one) is kind else one for one in arrays], out.values, params
                )
                self._end(work, Load(flops, read, written, noted(out.values.dtype), op.gathers))
            return (out, cache) if op.caches else out

    def _done(
        self, name: str, reads: list[SimArray], run: Callable[..., Any], view: bool, caches: Any = False
    ) -> tuple[SimArray, Any, Work | None]:
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
            products = noted(g.values.dtype)
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

    def fused(self, name: str, body: Callable[..., Any], arrays: Any, flops: int) -> tuple[SimArray, ...]:
        reads = list({id(one): one for one in _arrays(arrays)}.values())
        with self._lock:
            work = self._begin(name, reads)
            found = body(BODY, *[work.near(one) if isinstance(one, SimArray) else one for one in arrays])
            made = []
            for values in found:
                made.append(self._new(np.asarray(values), work.lane, name, work.line))
                self._note(made[-1], True, work, new=True)
            read, written = (sum([one.values.nbytes for one in some]) for some in (reads, made))
            self._end(work, Load(flops, read, written, noted(made[0].dtype)))
        return tuple(made)

    @blocks.block
    def replay(self) -> Iterator[None]:
        self.replaying = True
        try:
            yield
        finally:
            self.replaying = self.replayed = False

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
            return lambda *args: self._new(self._fitting(name, args).empty(*args), self.current_stream().lane, name,
                                           user_line())  # fmt: skip
        if name in _MADE:
            return lambda *args: self._fitting(name, args) and self.compute(name, function, args)
        if name == "scatter_add":  # the index may come from the host
            return lambda shape, index, values: self.compute(
                name, lambda v: function(shape, unwrap(index, _raw), v), (values,)
            )
        if name == "put":
            return lambda x, index, values: self.compute(
                name, lambda x, v: function(x, unwrap(index, _raw), v), (x, values)
            )
        return lambda *args, **params: self.compute(name, function, args, params)

    def _begin(self, name: str, reads: list[SimArray], lane: Lane | None = None) -> Work:
        """Put work into the queue, behind what made the gradients that it reads. Finds what it reads there."""
        lane = self.current_stream().lane if lane is None else lane
        noted()  # whatever a body left behind that failed
        if self.hazards == "stale":
            self.schedule.look()
        for one in reads:
            if one.pulled and one.lane is not lane:
                self.schedule.after(lane, self.schedule.point(one.lane))
        work = Work(name, lane, self.schedule.issue(lane), user_line(), self.near)
        self._read(reads, work)
        return work

    def _read(self, arrays: list[SimArray], work: Work) -> bool:
        """Note what work reads. Returns whether it finds other values there than it should."""
        late = False
        for one in arrays:
            old = self._note(one, False, work)
            if old is not None:
                work.near, late = _with(work.near, one, old), True
        return late

    def _place(self, result: Any, operands: list[SimArray], work: Work) -> tuple[SimArray, bool]:
        """A result as an array, and whether it has new memory. Else it is an operand, or a view of one."""
        values = result if type(result) is np.ndarray else np.asarray(result)
        owner = values if values.base is None else owner_of(values)
        for one in operands:
            if values is one.values:
                return one, False
            if owner is (one.values if one.values.base is None else owner_of(one.values)):
                return self._view(values, one), False
        made = self._new(values, work.lane, work.name, work.line)
        self._note(made, True, work, new=True)
        return made, True

    def _kept(self, tree: Any, operands: list[SimArray], work: Work) -> Any:
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

    def together(self, way: str) -> PlainTogether:
        return PlainTogether() if way == "single" else Together(self, way == "fused")

    def _end(self, work: Work, load: Load) -> None:
        """Place the kernel in time."""
        if self.joining is not None:
            self.joining.add(work, load)
            return
        duration, share = time_of(self.machine, load, self.tf32)
        schedule, lane = self.schedule, work.lane
        if not self.replayed:
            schedule.spend(work.name, "launch", int(self.machine.table["launch"].value), work.line)
            self.counts["launches"] += 1
            self.replayed = self.replaying
        now = schedule.now
        start = self.room.place(max(now, lane.end, lane.ready), duration, share, now)
        lane.end = start + duration
        if schedule.logs:
            schedule.log(
                lane.name, work.name, "kernel", start, lane.end, load.read, load.written, load.flops, work.line
            )
        if schedule.stop_in:
            schedule.stop_in -= 1
            if not schedule.stop_in:
                self.finish()

    # Memory ------------------------------------------------------------------------------------------------------

    def _new(self, values: Any, lane: Lane, name: str, line: Line) -> SimArray:
        """New memory on the device, for these values."""
        size = int(values.nbytes if values.base is None else owner_of(values).nbytes)
        with self._lock:
            if len(self.dead) == 1 and self.allocator.again(self.dead[0], size, lane.number):
                block = self.dead.popleft()
            else:
                self._collect()
                try:
                    block, calls = self._allocate(size, lane)
                except Full as full:
                    raise self._out_of_memory(name, values, full, line) from None
                self._ask_driver("reserve", calls)
                self.schedule.inform(lane)  # work is launched once it has memory: after what the host has asked for it
            block.wanted, block.name, block.line = size, name, line
        made: SimArray = object.__new__(self.array_type)
        made.values, made.base, made.held = values, None, Held(block, self.dead)
        made.lane, made.pulled = lane, False
        return made

    def _fitting(self, name: str, args: Any) -> Namespace:
        """Refuse what the device could never hold, before the host makes it. Returns the host's functions."""
        values = np.broadcast_to(np.empty((), args[-1]), args[0])
        if values.nbytes > self.allocator.limit:
            lane = self.current_stream().lane
            try:
                self._allocate(values.nbytes, lane)
            except Full as full:
                raise self._out_of_memory(name, values, full, user_line()) from None
        return HOST

    def _allocate(self, size: int, lane: Lane) -> tuple[Block, int]:
        try:
            return self.allocator.allocate(size, lane.number)
        except Full:
            if not self.waiting:
                raise
        for block in self.waiting:  # before it gives up, it waits for the streams that were named
            for point in block.ends:
                self.schedule.wait("reserve", point, user_line())
        self._collect()
        return self.allocator.allocate(size, lane.number)

    def _ask_driver(self, name: str, segments: int) -> None:
        """Take segments or give them back. The driver waits for all streams, but nobody should count on that order."""
        if segments:
            idle = Point(max(stream.lane.end for stream in self.streams), {}, self.name)
            self.schedule.wait(name, idle, user_line())
            self.schedule.spend(name, "reserve", segments * int(self.machine["reserve"]), user_line())

    def _collect(self) -> None:
        """Free the blocks whose arrays are gone. One that other streams were named for waits until those are done."""
        while self.dead:
            block = self.dead[0]
            if not block.gone:  # an interrupt may come between any two lines
                self.allocator.free(block)
                if block.users:
                    self.waiting.append(block)
            self.dead.popleft()
        if self.waiting:
            now, still = self.schedule.now, []
            for block in self.waiting:
                if any(point.time > now for point in block.ends):
                    still.append(block)
                    continue
                for point in block.ends:  # the allocator asks whether they are done, and so the host knows
                    self.schedule.wait("record_stream", point)
                block.users, block.ends = [], []
                self.allocator.give_back(block)
            self.waiting = still

    def empty_cache(self) -> None:
        """Give the driver back the segments that hold no array. It waits for the device first."""
        with self._lock:
            self._collect()
            self._ask_driver("empty_cache", self.allocator.empty())

    def held(self) -> list[tuple[int, int, str, Line]]:
        """What the memory holds: bytes, how many arrays, and the operation and line that made them; most first."""
        self._collect()
        found: dict[tuple[str, Line], list[int]] = {}
        for block in self.allocator.owned():
            if not block.users or not block.ends:
                found.setdefault((block.name, block.line), []).append(block.size)
        return sorted(((sum(s), len(s), *made) for made, s in found.items()), key=lambda one: -one[0])

    def _out_of_memory(self, name: str, values: Any, full: Full, line: Line) -> OutOfMemoryError:
        free = full.reserved - full.allocated
        why = (
            f"{full.asked:,} bytes are asked for; of {full.limit:,} on {str(self.device)!r}, {full.allocated:,} hold "
            f"tensors and {free:,} are reserved and free"
        )
        if free >= full.asked:
            why += f", but in pieces: the largest has {full.largest:,}"
        most = [_held_text(*one) for one in self.held()[:MOST_HELD]]
        why += f". Most is held by {'; '.join(most)}" if most else ""
        mend = "free what is no longer needed (del x), use a smaller batch, or compute without a graph: no_grad()"
        tried = f"{name} {tuple(values.shape)} {values.dtype}: out of memory"  # programs look for these words
        return OutOfMemoryError(tried, why, mend, describe_line(line))

    # Order -------------------------------------------------------------------------------------------------------

    def _note(self, array: SimArray, writes: bool, work: Work, new: bool = False) -> Any:
        """Note that work uses an array. Returns the values that it finds there, if they are not what they should be.

        Before the first write, ``new`` memory holds zeros. On a real device it holds whatever was there.
        """
        block = array.block
        if array.base is None:
            low, region = block.address, None
            high = low + block.wanted
        else:
            low, high, region = span(array, block)
        access = Access(work.lane, work.count, work.name, work.line, writes, low, high, region)
        found, old = entered(block, access, self.schedule), None
        if writes and self.hazards == "stale":
            access.old = bytes_of(array.owner)
            if new:
                access.old[...] = 0
        for other in found:
            self._race(access, other, array)
            if other.old is not None and not writes and other.writes:
                old = as_before(array, other.old)
        return old

    def _race(self, access: Access, other: Access, array: SimArray) -> None:
        if self.hazards == "error":  # bound to no name: error and frame would keep each other alive, and the arrays
            raise _in_words(access, other, array)
        self.races.append(_in_words(access, other, array).report())


def _held_text(size: int, count: int, name: str, line: Line) -> str:
    """``6.40 MB of matmul, 4 tensors (train.py, line 12: …)``."""
    where = f" ({describe_line(line)})" if line is not None else ""
    return f"{bytes_text(size)} of {name}, {plural(count, 'tensor')}{where}"


def _in_words(access: Access, other: Access, array: SimArray) -> RaceError:
    """What two pieces of work did to the same bytes, and what is missing between them."""
    verb, before = ("writes" if one.writes else "reads" for one in (access, other))
    tried = f"{access.name} on {access.lane.name!r} {verb} a tensor {tuple(array.shape)} {array.dtype}"
    ended = f"{other.name} on {other.lane.name!r} {before} it ({describe_line(other.line)})"
    why = f"{ended}, and nothing makes one wait for the other"
    mend = "let this stream wait before it goes on: stream.wait_stream(other), or an event recorded there"
    if other.gone:
        why = f"its memory was that of a tensor that is gone; {ended}, and nobody knows whether that is done"
        mend = "before a tensor goes that another stream uses, name that stream: x.record_stream(stream)"
    return RaceError(tried, why, mend, access.line)


class Work:
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
