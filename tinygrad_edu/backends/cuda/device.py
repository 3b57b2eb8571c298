"""NVIDIA GPUs as backends, through CuPy: arrays, streams, events, memory, copies.

A CuPy array is wrapped, so that each device has a type of its own, nothing mixes with the host by itself, and what CuPy
does not do is done in `functions`. ``cp`` is the module `cupy`, handed in.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextvars import ContextVar
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from ...common.lines import describe_line, user_line
from ...common.locks import Lock
from ...errors import OutOfMemoryError
from ..base import ALL_NAMES, Backend, Namespace
from ..cpu import CpuBackend
from ..proxy import OPERATORS, UPDATES, ProxyArray, unwrap
from ..queue import Event as PlainEvent
from ..queue import Memory
from ..queue import Stream as PlainStream
from .functions import check_range, functions

UNIT = 512  # bytes: CuPy's pool rounds sizes up to a multiple
_INTO = frozenset(  # CuPy's functions that can write into memory that is there
    "absolute add arccos arccosh arcsin arcsinh arctan arctan2 arctanh bitwise_and bitwise_or bitwise_xor ceil cos "
    "cosh exp expm1 floor invert log log10 log1p log2 matmul maximum minimum multiply negative reciprocal sin sinh "
    "sqrt square subtract tan tanh true_divide trunc".split()
)
_owner_of = CpuBackend().owner


class CudaArray(ProxyArray):
    """An array on a GPU. ``base`` is the array that owns the memory, or None; ``stream`` is where it was made.

    ``pulled`` marks gradients on their way through backward, which waits for their streams by itself.
    """

    __slots__ = ("base", "held", "pulled", "stream")

    home: Any  # the device: a class for each
    base: CudaArray | None
    held: Held | None  # of an owner
    stream: Stream
    pulled: bool

    def operate(self, name: str, *operands: Any) -> Any:
        if name == "getitem":
            return self.home.indexed(self, operands[1])
        return self.home.call(OPERATORS[name], operands)

    def update(self, name: str, *operands: Any) -> Any:
        if name == "setitem":
            self.home.assign(self, *operands)
        else:
            self.home.call(UPDATES[name], (self, *operands))
        return self

    @property
    def owner(self) -> CudaArray:
        """The array that owns the memory."""
        return self if self.base is None else self.base

    def __dlpack__(self, **options: Any) -> Any:
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.values.__dlpack_device__()


class Held:
    """Memory, for as long as an array owns it; and longer, where another stream may still use it."""

    __slots__ = ("home", "memory", "size", "users")

    def __init__(self, home: CudaBackend, memory: Any, size: int) -> None:
        self.home, self.memory, self.size = home, memory, size
        self.users: list[Stream] = []

    def __del__(self) -> None:  # at any moment, perhaps within `CudaBackend._settle`: so it only notes it
        self.home.gone.append((self.size, self.users, self.memory if self.users else None))


class Stream(PlainStream):
    """Work that a GPU does in the order in which it was asked for."""

    def __init__(self, device: CudaBackend, raw: Any) -> None:
        self.device, self.raw = device, raw
        self.event_type = partial(Event, device)  # type: ignore[assignment]

    def query(self) -> bool:
        return bool(self.raw.done)

    def synchronize(self) -> None:
        self.raw.synchronize()

    def __repr__(self) -> str:
        return f"<stream of {self.device.name}>"


class Event(PlainEvent):
    """A point in a stream of a GPU."""

    def __init__(self, device: CudaBackend | None = None) -> None:
        super().__init__()
        self._device = device
        self._raw: Any = None

    def record(self, stream: Any = None) -> None:
        device = self._device or stream.device
        stream = device.current_stream() if stream is None else stream
        if self._raw is None:
            with device.here:
                self._raw = device.cp.cuda.Event(disable_timing=not self.timed)
        self._device, self._time = device, 0
        self._raw.record(stream.raw)

    def query(self) -> bool:
        return self._raw is None or bool(self._raw.done)

    def wait(self, stream: Any = None) -> None:
        if self._raw is not None and self._device is not None:
            stream = self._device.current_stream() if stream is None else stream
            stream.raw.wait_event(self._raw)

    def synchronize(self) -> None:
        if self._raw is not None:
            self._raw.synchronize()

    def elapsed_time(self, end: PlainEvent) -> float:
        super().elapsed_time(end)  # refuses what was not recorded
        assert isinstance(end, Event) and self._device is not None
        return float(self._device.cp.cuda.get_elapsed_time(self._raw, end._raw))


class CudaBackend(Backend):
    """One GPU. ``cp`` and ``cpx`` are the modules cupy and cupyx."""

    compiles = True

    def __init__(self, name: str, number: int, cp: Any, cpx: Any) -> None:
        self.name, self.number, self.cp = name, number, cp
        self.here = cp.cuda.Device(number)  # a block in which this GPU is the current one
        self.array_type: Any = type("CudaArray", (CudaArray,), {"home": self, "__slots__": ()})
        self.array_types = (self.array_type,)
        self._functions = functions(cp, cpx)
        self.xp = Namespace(name, **{one: self._function(one) for one in ALL_NAMES})
        self.pool = cp.get_default_memory_pool()
        self.default_stream = Stream(self, cp.cuda.Stream.null)
        self._current: ContextVar[Stream] = ContextVar(f"stream of {name}", default=self.default_stream)
        self._lock = Lock()
        self.allocated = self.peak = self.reserved_peak = 0
        self.gone: deque[tuple[int, list[Stream], Any]] = deque()  # of owners: bytes, streams that were named, memory
        self.waiting: list[tuple[list[Any], Any]] = []  # events, and the memory that they keep

    def count(self) -> int:
        """How many GPUs there are."""
        return int(self.cp.cuda.runtime.getDeviceCount())

    def model(self) -> str:
        """What the maker calls this one."""
        name = self.cp.cuda.runtime.getDeviceProperties(self.number)["name"]
        return name.decode() if isinstance(name, bytes) else str(name)

    def capacity(self) -> int:
        """The bytes of its memory."""
        return int(self.cp.cuda.runtime.getDeviceProperties(self.number)["totalGlobalMem"])

    # Operations --------------------------------------------------------------------------------------------------

    def kernel(self, op: Any) -> Any:
        return op if op.crosses else _kernel(op, self)

    def elementwise(self, name: str, inputs: str, outputs: str, lines: str, preamble: str) -> Callable[..., Any]:
        """Compiled at its first call, by CuPy."""
        kernel = self.cp.ElementwiseKernel(inputs, outputs, lines, name, preamble=preamble, return_tuple=True)

        def run(*arrays: CudaArray) -> tuple[CudaArray, ...]:
            others: list[Any] = []

            def first(*values: Any) -> Any:
                one, *others[:] = kernel(*values)
                return one

            return self.call(first, arrays), *map(self.wrapped, others)

        return run

    def into(self, function: str, out: CudaArray, *operands: Any, **params: Any) -> bool:
        if function not in _INTO or params:
            return super().into(function, out, *operands, **params)
        known = getattr(self.cp, function)
        self.call(lambda target, *rest: known(*rest, out=target), (out, *operands))
        return True

    def owner(self, array: CudaArray) -> CudaArray:
        return array.owner

    def call(self, function: Callable[..., Any], args: Any, params: Any = None) -> CudaArray:
        """What one of CuPy's functions gives for arrays of this device: a new array, a view, or one of the operands."""
        reads = _arrays(args)
        current = self.current_stream()
        for one in reads:
            if one.pulled and one.stream is not current:
                current.wait_stream(one.stream)
        try:
            with self.here:
                result = function(*[unwrap(one, self.near, self.near) for one in args], **(params or {}))
        except self.cp.cuda.memory.OutOfMemoryError as error:
            raise self._out_of_memory(getattr(function, "__name__", "operation"), error) from None
        return self.wrapped(result, reads)

    def wrapped(self, values: Any, operands: Any = ()) -> CudaArray:
        """One of CuPy's arrays as one of ours. It may look at the memory of an operand."""
        made: CudaArray = object.__new__(self.array_type)
        for one in operands:
            if values is one.values:
                return one
            if values.size and values.data.mem is one.values.data.mem:
                made.values, made.base, made.held = values, one.owner, None
                made.stream, made.pulled = one.stream, one.pulled
                return made
        size = -(-int(values.nbytes) // UNIT) * UNIT
        made.values, made.base, made.held = values, None, Held(self, values.data, size)
        made.stream, made.pulled = self.current_stream(), False
        self._settle(size)
        return made

    def near(self, value: Any) -> Any:
        """CuPy's own array of an array of this device. Those of others and of the host are refused."""
        if type(value) is self.array_type:
            return value.values
        if isinstance(value, (ProxyArray, np.ndarray, np.generic)):
            where = getattr(getattr(value, "home", None), "name", "the host")
            raise TypeError(f"an array {value.shape} {value.dtype} of {where}, where one of {self.name} is wanted")
        return value

    def indexed(self, x: CudaArray, index: Any) -> CudaArray:
        """A part of an array: a view where NumPy has one."""
        where = self._where(index)
        check_range(self.cp, where, x.shape)
        return self.call(lambda values: values[where], (x,))

    def assign(self, target: CudaArray, index: Any, values: Any) -> None:
        """Item assignment."""
        where = self._where(index)
        check_range(self.cp, where, target.shape)

        def write(x: Any, v: Any) -> Any:
            x[where] = v
            return x

        self.call(write, (target, values))

    def _where(self, index: Any) -> Any:
        """An index for CuPy: its arrays may come from the host, and travel there."""

        def there(part: Any) -> Any:
            return self.cp.asarray(part) if isinstance(part, (np.ndarray, list)) else part

        return unwrap(index, lambda one: one.values, there)

    def _function(self, name: str) -> Callable[..., Any]:
        function = self._functions[name]
        if name == "scatter_add":
            return lambda shape, index, values: self.call(lambda v: function(shape, self._where(index), v), (values,))
        if name == "put":
            return lambda x, index, values: self.call(lambda x, v: function(x, self._where(index), v), (x, values))
        return lambda *args, **params: self.call(function, args, params)

    def nonzero(self, array: CudaArray) -> CudaArray:
        return self.call(self.cp.argwhere, (array,))

    def backward(self, outer: Callable[..., Any], xp: Any, g: Any, needs: Any, saved: Any, stream: Stream) -> Any:
        """The gradients of an operation, on the stream of the operation itself, as in PyTorch."""
        if stream is self.current_stream() and (not g.pulled or g.stream is stream):
            return outer(xp, g, needs, *saved)
        stream.wait_stream(g.stream)
        undo = self.use_stream(stream)
        try:
            grads = outer(xp, g, needs, *saved)
        finally:
            undo()
        for one in _arrays(grads if type(grads) is tuple else (grads,)):
            one.pulled = True
        return grads

    # Copies ------------------------------------------------------------------------------------------------------

    def from_numpy(self, array: Any) -> CudaArray:
        return self._new(np.asarray(array))

    def from_dlpack(self, array: Any) -> CudaArray:
        return self.call(lambda: self.cp.from_dlpack(array), ())

    def to_numpy(self, array: CudaArray) -> Any:
        if array.size == 1:
            self.count_scalar()
        return self._values(array).get()

    def take(self, array: Any, source: Backend, non_blocking: bool = False) -> CudaArray:
        if isinstance(source, CudaBackend):
            with self.here:  # a copy between GPUs is made by the one that asks, after the work of the other
                ready = source.current_stream().record_event()
                self.current_stream().wait_event(ready)
                return self.wrapped(self.cp.array(array.values))
        host = source.give(array)
        if non_blocking and self.pinned(host) and host.flags.c_contiguous and host.size:
            made = self.call(self.cp.empty, (host.shape, host.dtype))
            made.values.data.copy_from_host_async(host.ctypes.data, host.nbytes, self.current_stream().raw)
            self._keep(host)
            return made
        made = self._new(host)
        if not non_blocking:
            self.current_stream().synchronize()
        return made

    def give(self, array: CudaArray, non_blocking: bool = False) -> Any:
        values = self._values(array)
        if not non_blocking:
            return values.get()
        target = self._pinned(array.shape, array.dtype)
        values.get(out=target, blocking=False)
        self._keep(values)
        return target

    def pin(self, array: Any) -> Any:
        made = self._pinned(array.shape, array.dtype)
        made[...] = array
        return made

    def pinned(self, array: Any) -> bool:
        owner = _owner_of(array)
        base = owner.base  # NumPy keeps the buffer there, perhaps behind a memoryview
        held = (owner, base, getattr(base, "obj", None))
        return any(isinstance(one, self.cp.cuda.PinnedMemoryPointer) for one in held)

    def _pinned(self, shape: Any, dtype: Any) -> Any:
        count = int(np.prod(shape, dtype=np.int64))
        memory = self.cp.cuda.alloc_pinned_memory(max(count * dtype.itemsize, 1))
        return np.frombuffer(memory, dtype, count).reshape(shape)

    def _new(self, array: Any) -> CudaArray:
        return self.call(lambda: self.cp.array(array), ())

    def _values(self, array: CudaArray) -> Any:
        if array.pulled and array.stream is not self.current_stream():
            self.current_stream().wait_stream(array.stream)
        return array.values

    # Streams -----------------------------------------------------------------------------------------------------

    def stream(self) -> Stream:
        with self.here:
            return Stream(self, self.cp.cuda.Stream(non_blocking=True))

    def current_stream(self) -> Stream:
        return self._current.get()

    def use_stream(self, stream: Any) -> Callable[[], None]:
        before, token = self.current_stream(), self._current.set(stream)
        stream.raw.use()

        def undo() -> None:
            self._current.reset(token)
            before.raw.use()

        return undo

    def synchronize(self) -> None:
        self.here.synchronize()
        self._collect()

    # Memory ------------------------------------------------------------------------------------------------------

    def _settle(self, more: int = 0) -> None:
        """Count what has come and gone. Where other streams were named, memory stays until those are done."""
        with self._lock:
            gone = [self.gone.popleft() for _ in range(len(self.gone))]
            self.allocated += more - sum(size for size, _, _ in gone)
            self.peak = max(self.peak, self.allocated)
        for _, users, memory in gone:
            if users:
                self.waiting.append(([stream.record_event() for stream in users], memory))
        if self.waiting:
            self._collect()

    def hold(self, array: CudaArray, stream: Any) -> None:
        held = array.owner.held
        if held is not None and stream is not array.owner.stream:
            held.users.append(stream)

    def _keep(self, memory: Any) -> None:
        """Keep memory until the current stream is done with what it was asked for."""
        self._collect()
        self.waiting.append(([self.current_stream().record_event()], memory))

    def _collect(self) -> None:
        self.waiting = [one for one in self.waiting if not all(event.query() for event in one[0])]

    def memory(self) -> Memory:
        self._settle()
        with self.here:
            reserved = max(int(self.pool.total_bytes()), self.allocated)
        self.reserved_peak = max(self.reserved_peak, reserved)
        return Memory(self.allocated, reserved, self.peak, max(self.reserved_peak, self.peak))

    def empty_cache(self) -> None:
        self.memory()  # which notes how much it was
        with self.here:
            self.pool.free_all_blocks()

    def forget_peak(self) -> None:
        self._settle()
        self.peak, self.reserved_peak = self.allocated, 0

    def allow(self, fraction: float) -> None:
        with self.here:
            self.pool.set_limit(fraction=fraction)

    def _out_of_memory(self, name: str, error: Exception) -> OutOfMemoryError:
        mend = "free what is no longer needed (del x), use a smaller batch, or compute without a graph: no_grad()"
        why = f"{self.name!r} has no room for it: {str(error).splitlines()[0]}; tensors hold {self.allocated:,} bytes"
        return OutOfMemoryError(f"{name}: out of memory", why, mend, describe_line(user_line()))


def _arrays(tree: Any) -> list[CudaArray]:
    """The arrays of a GPU among arguments, in tuples and lists too."""
    found: list[CudaArray] = []
    for one in tree:
        if isinstance(one, CudaArray):
            found.append(one)
        elif type(one) in (tuple, list):
            found += _arrays(one)
    return found


_PRODUCTS = ("matmul", "linear")


class _Saved(NamedTuple):
    """What a node of a GPU saves besides: the stream that its backward runs on."""

    source: str = "out"
    part: str = "stream"
    needed_by: str = ""
    again: bool = False


def _make_kernel(op: Any, device: CudaBackend) -> Any:
    """``op`` with a backward on the stream of its forward. In other worlds it is what it was.

    A product of 16-bit floats needs no variant that casts: the GPU itself adds up in 32 bits, and many times faster.
    """
    base = op.__base__ if op.narrow is not None and op.name in _PRODUCTS else op
    outer, xp_here = base.backward, device.xp

    def backward(xp: Any, g: Any, needs: Any, *saved: Any) -> Any:
        *rest, stream = saved
        if xp is not xp_here:
            return outer(xp, g, needs, *rest)
        return device.backward(outer, xp, g, needs, rest, stream)

    bodies = {"backward": staticmethod(backward), "save_plan": (*op.save_plan, _Saved()), "narrow": None}
    return type(op.__name__, (base,), {**bodies, "into": op.into, "__doc__": op.__doc__}, register=False)


_kernel: Any = cache(_make_kernel)
