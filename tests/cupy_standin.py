"""A strict stand-in for CuPy: its names and its refusals, with NumPy's values. For machines without a GPU.

What CuPy refuses is refused: arrays of the host among operands, an array as a truth value before it was fetched, names
that it does not have, dtypes that it cannot add at repeated places. What CuPy does not check is not checked: positions
wrap around, and integers divide by 0. Each call is noted in `CALLS`; `tests/peers` holds them against CuPy's real
signatures.
"""

from __future__ import annotations

import ctypes
import re
import types
import weakref
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from tinygrad_edu.backends.cpu import XP as HOST
from tinygrad_edu.backends.products import einsum

CALLS: set[tuple[str, int, tuple[str, ...]]] = set()  # the name, how many operands by position, and which by name
COUNT = 2  # GPUs
ATOMIC = ("i4", "f2", "f4", "f8", "u4", "u8")


class OutOfMemoryError(Exception):
    """As `cupy.cuda.memory.OutOfMemoryError`."""


class Block:
    """Memory from the pool: what CuPy calls ``data.mem``."""

    def __init__(self, size: int) -> None:
        size = -(-size // 512) * 512
        POOL.take(size)
        weakref.finalize(self, POOL.give, size)


class Pointer:
    """As `cupy.cuda.MemoryPointer`."""

    def __init__(self, mem: Block, values: Any) -> None:
        self.mem, self._values = mem, values

    def copy_from_host_async(self, mem: int, size: int, stream: Any = None) -> None:
        note("cuda.MemoryPointer.copy_from_host_async", (mem, size, stream), {})
        source = (ctypes.c_char * size).from_address(mem)
        assert PINNED.holds(mem), "from memory that is not pinned this would wait"
        self._values.reshape(-1).view(np.uint8)[...] = np.frombuffer(source, np.uint8)


class Pool:
    """As the default memory pool. Memory that is given back stays reserved."""

    def __init__(self) -> None:
        self.used = self.total = 0
        self.limit: float = float("inf")

    def take(self, size: int) -> None:
        if self.used + size > self.limit:
            raise OutOfMemoryError(f"Out of memory allocating {size:,} bytes (allocated so far: {self.used:,} bytes)")
        self.used += size
        self.total = max(self.total, self.used)

    def give(self, size: int) -> None:
        self.used -= size

    def total_bytes(self) -> int:
        note("cuda.MemoryPool.total_bytes", (), {})
        return self.total

    def free_all_blocks(self) -> None:
        note("cuda.MemoryPool.free_all_blocks", (), {})
        self.total = self.used

    def set_limit(self, size: int | None = None, fraction: float | None = None) -> None:
        note("cuda.MemoryPool.set_limit", (), {"fraction": fraction})
        assert size is None and fraction is not None
        self.limit = fraction * 64e6 if fraction < 1 else float("inf")


POOL = Pool()


def note(name: str, args: tuple[Any, ...], named: dict[str, Any]) -> None:
    """Remember that a function was called so."""
    CALLS.add((name, len(args), tuple(sorted(named))))


def raw(value: Any) -> Any:
    """NumPy's array of one of these. Arrays of the host are refused, as CuPy does."""
    if isinstance(value, ndarray):
        return value._values
    if isinstance(value, np.ndarray):
        raise TypeError(f"Unsupported type {type(value)}")
    if isinstance(value, (tuple, list)):
        return type(value)(raw(one) for one in value)
    return value


class ndarray:
    """As `cupy.ndarray`, with the attributes that are used."""

    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, values: Any, mem: Block | None = None) -> None:
        self._values = np.asarray(values)
        self._mem = Block(self._values.nbytes) if mem is None else mem

    def _view(self, values: Any) -> ndarray:
        shared = values.size and np.may_share_memory(values, self._values)
        return ndarray(values, self._mem if shared else None)

    shape = property(lambda self: self._values.shape)
    dtype = property(lambda self: self._values.dtype)
    ndim = property(lambda self: self._values.ndim)
    size = property(lambda self: self._values.size)
    nbytes = property(lambda self: self._values.nbytes)
    strides = property(lambda self: self._values.strides)
    flags = property(lambda self: self._values.flags)
    data = property(lambda self: Pointer(self._mem, self._values))

    def reshape(self, *shape: Any) -> ndarray:
        note("ndarray.reshape", shape, {})
        return self._view(self._values.reshape(*shape))

    def transpose(self, *axes: Any) -> ndarray:
        note("ndarray.transpose", axes, {})
        return self._view(self._values.transpose(*axes))

    def view(self, dtype: Any) -> ndarray:
        note("ndarray.view", (dtype,), {})
        return self._view(self._values.view(dtype))

    def astype(self, dtype: Any) -> ndarray:
        note("ndarray.astype", (dtype,), {})
        with np.errstate(all="ignore"):
            return ndarray(self._values.astype(dtype))

    def copy(self) -> ndarray:
        note("ndarray.copy", (), {})
        return ndarray(self._values.copy("C"))

    def get(self, **options: Any) -> Any:
        note("ndarray.get", (), options)
        out = options.get("out")
        if out is None:
            return self._values.copy()
        assert PINNED.holds(out.ctypes.data)
        out[...] = self._values
        return out

    def __dlpack__(self, **options: Any) -> Any:
        note("ndarray.__dlpack__", (), options)
        return self  # no capsule can say that NumPy's memory is a GPU's

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, 0)

    def __getitem__(self, index: Any) -> ndarray:
        return self._view(np.asarray(self._values[_wrapped(index, self.shape)]))

    def __setitem__(self, index: Any, values: Any) -> None:
        self._values[_wrapped(index, self.shape)] = raw(values)

    def __bool__(self) -> bool:
        raise TypeError("a truth value waits for the GPU without saying so: get() says it")

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError("Implicit conversion to a NumPy array is not allowed. Please use `.get()`")

    def __len__(self) -> int:
        return len(self._values)


def _operator(name: str) -> Any:
    def apply(self: ndarray, *others: Any) -> Any:
        with np.errstate(all="ignore"):
            found = getattr(self._values, name)(*[raw(one) for one in others])
        return self if found is self._values else ndarray(found)

    return apply


for _name in (
    "add radd sub rsub mul rmul truediv rtruediv pow rpow floordiv rfloordiv mod rmod and rand or ror xor rxor matmul "
    "rmatmul eq ne lt le gt ge neg invert iadd isub imul itruediv"
).split():
    setattr(ndarray, f"__{_name}__", _operator(f"__{_name}__"))


def _wrapped(index: Any, shape: tuple[int, ...]) -> Any:
    """Positions that do not exist wrap around, as in CuPy."""
    parts = index if isinstance(index, tuple) else (index,)
    found, axis = [], 0
    taken = sum(_axes(part) for part in parts)
    for part in parts:
        if isinstance(part, np.ndarray):
            raise TypeError("an index from the host, where one of the GPU is wanted")
        if isinstance(part, ndarray) and part.dtype.kind in "iu":
            found.append(part._values % max(shape[axis], 1))
        else:
            found.append(part._values if isinstance(part, ndarray) else part)
        axis += len(shape) - taken if part is Ellipsis else _axes(part)
    return tuple(found)


def _axes(part: Any) -> int:
    if part is None or part is Ellipsis or isinstance(part, bool):
        return 0
    return part.ndim if isinstance(part, ndarray) and part.dtype.kind == "b" else 1


def _elementwise(name: str, function: Callable[..., Any]) -> Callable[..., ndarray]:
    """A function whose result is new."""

    def call(*args: Any, **named: Any) -> ndarray:
        note(name, args, named)
        out = named.get("out")
        with np.errstate(all="ignore"):
            if out is not None:
                function(*[raw(one) for one in args], out=raw(out))
                return out  # type: ignore[no-any-return]
            return ndarray(function(*[raw(one) for one in args], **named))

    call.__name__ = name
    return call


def _viewing(name: str, function: Callable[..., Any]) -> Callable[..., ndarray]:
    def call(x: ndarray, *args: Any, **named: Any) -> ndarray:
        note(name, (x, *args), named)
        return x._view(function(x._values, *args, **named))

    return call


def where(condition: ndarray, x: Any, y: Any) -> ndarray:
    note("where", (condition, x, y), {})
    if not isinstance(condition, ndarray):
        raise AttributeError(f"{type(condition).__name__!r} object has no attribute 'astype'")
    return ndarray(np.where(condition._values, raw(x), raw(y)))


def ascontiguousarray(a: ndarray) -> ndarray:
    note("ascontiguousarray", (a,), {})
    return a if a.flags.c_contiguous else ndarray(np.ascontiguousarray(a._values))


def array(obj: Any) -> ndarray:
    note("array", (obj,), {})
    return ndarray(np.array(obj._values if isinstance(obj, ndarray) else obj))


def asarray(a: Any) -> ndarray:
    note("asarray", (a,), {})
    return a if isinstance(a, ndarray) else ndarray(np.array(a))


def from_dlpack(array: Any) -> ndarray:
    note("from_dlpack", (array,), {})
    assert array.__dlpack_device__()[0] == 2
    return array.__dlpack__()._view(array.__dlpack__()._values)


def _argsort(a: Any, axis: int, kind: str) -> Any:
    return np.argsort(a, axis, kind=kind)


def _add_at(a: ndarray, indices: Any, b: ndarray) -> None:
    note("add.at", (a, indices, b), {})
    if a.dtype.str[1:] not in ATOMIC:
        raise TypeError(f"add.at only supports int32, float16, float32, float64, uint32, uint64, not {a.dtype}")
    np.add.at(a._values, _wrapped(indices, a.shape), b._values)


# Queues --------------------------------------------------------------------------------------------------------------


class Device:
    """As `cupy.cuda.Device`."""

    stack: ClassVar[list[int]] = [0]

    def __init__(self, device: int) -> None:
        self.id = device

    def __enter__(self) -> Device:
        Device.stack.append(self.id)
        return self

    def __exit__(self, *args: object) -> None:
        assert Device.stack.pop() == self.id

    def synchronize(self) -> None:
        note("cuda.Device.synchronize", (), {})


class Event:
    """As `cupy.cuda.Event`."""

    def __init__(self, **options: Any) -> None:
        note("cuda.Event", (), options)
        self.recorded, self.timed, self.done = 0, not options.get("disable_timing"), True

    def record(self, stream: Any = None) -> None:
        note("cuda.Event.record", (stream,), {})
        self.recorded = next_number()
        LOG.append(("record", stream))

    def synchronize(self) -> None:
        note("cuda.Event.synchronize", (), {})


LOG: list[tuple[Any, ...]] = []  # what streams were told


def next_number() -> int:
    NUMBERS[0] += 1
    return NUMBERS[0]


NUMBERS = [0]


class Stream:
    """As `cupy.cuda.Stream`."""

    null: Stream
    used: Stream

    def __init__(self, **options: Any) -> None:
        note("cuda.Stream", (), options)
        self.done = True

    def use(self) -> Stream:
        note("cuda.Stream.use", (), {})
        Stream.used = self
        return self

    def wait_event(self, event: Event) -> None:
        note("cuda.Stream.wait_event", (event,), {})
        assert isinstance(event, Event) and event.recorded
        LOG.append(("wait", self, event))

    def synchronize(self) -> None:
        note("cuda.Stream.synchronize", (), {})
        LOG.append(("synchronize", self))


Stream.null = Stream.used = Stream()


def get_elapsed_time(start_event: Event, end_event: Event) -> float:
    note("cuda.get_elapsed_time", (start_event, end_event), {})
    assert start_event.timed and end_event.timed
    return (end_event.recorded - start_event.recorded) / 1e3


class Pinned:
    """Where pinned memory is."""

    def __init__(self) -> None:
        self.spans: dict[int, int] = {}  # where each begins, and its bytes

    def add(self, memory: ctypes.Array[Any]) -> None:
        start = ctypes.addressof(memory)
        self.spans[start] = ctypes.sizeof(memory)
        weakref.finalize(memory, self.spans.pop, start)

    def holds(self, address: int) -> bool:
        return any(0 <= address - start < size for start, size in self.spans.items())


PINNED = Pinned()


def alloc_pinned_memory(size: int) -> ctypes.Array[Any]:
    """Memory of the host, as a buffer: CuPy gives a `PinnedMemoryPointer`."""
    note("cuda.alloc_pinned_memory", (size,), {})
    found = (ctypes.c_ubyte * size)()
    PINNED.add(found)
    return found


def _free_pinned() -> None:
    note("cuda.PinnedMemoryPool.free_all_blocks", (), {})


def getDeviceCount() -> int:
    return COUNT


def getDeviceProperties(device: int) -> dict[str, Any]:
    return {"name": b"Stand-in %d" % device}


def _matmul(x: Any, y: Any) -> Any:
    """Sums of 16-bit floats in 32 bits, as cuBLAS makes them. A batch of bfloat16 is refused, as CuPy 14.2 does."""
    if x.dtype.itemsize != 2 or x.dtype.kind in "iu":
        return np.matmul(x, y)
    if max(x.ndim, y.ndim) > 2 and x.dtype.name == "bfloat16":
        raise TypeError("data type 'E' not understood")
    return np.matmul(x.astype(np.float32), y.astype(np.float32)).astype(x.dtype)


C_TYPES = {
    "float": "f4", "double": "f8", "long long": "i8", "int": "i4", "unsigned char": "u1", "bool": "?",
}  # fmt: skip
C_FUNCTIONS: dict[str, Any] = {
    "edu_relu": lambda x: np.where((x > 0) | (x != x), x, x.dtype.type(0)), "edu_maximum": np.maximum,
    "edu_minimum": np.minimum, "edu_where": np.where, "edu_abs": np.abs, "edu_sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "rint": np.rint, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "atan2": np.arctan2,
    "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh, "true": np.True_, "false": np.False_,
    **{name: getattr(np, name) for name in "exp expm1 log log1p log2 log10 tanh sqrt sin cos tan sinh cosh".split()},
    **{name: getattr(np, name) for name in ("floor", "ceil")},
}  # fmt: skip


class ElementwiseKernel:
    """As `cupy.ElementwiseKernel`, for the C++ that is written here: a constant a line, then what is put out."""

    def __init__(self, in_params: str, out_params: str, operation: str, name: str = "kernel", **options: Any) -> None:
        note("ElementwiseKernel", (in_params, out_params, operation, name), options)
        self.inputs = [one.rsplit(" ", 1) for one in in_params.split(", ")]
        self.outputs = [one.rsplit(" ", 1) for one in out_params.split(", ")]
        self.lines = operation.split("\n")
        assert (
            options["return_tuple"]
            and name.isidentifier()
            and not any(n in ("n", "i") or n[0] == "_" for _, n in self.inputs + self.outputs)
        )
        for function in re.findall(r"\b(edu_\w+)\(", operation):
            assert f" {function}(" in options["preamble"]

    def __call__(self, *args: ndarray) -> Any:
        LAUNCHES.append(self)
        assert len(args) == len(self.inputs)
        values = {name: raw(one) for (_, name), one in zip(self.inputs, args, strict=True)}
        for dtype, name in self.inputs:
            assert isinstance(values[name], np.ndarray) and values[name].dtype == dtype, (dtype, name)
        shape = np.broadcast_shapes(*(one.shape for one in values.values()))
        wanted = {name: np.dtype(dtype) for dtype, name in self.outputs}
        with np.errstate(all="ignore"):
            for line in self.lines:
                constant = re.fullmatch(r"const ([a-z ]+) (v\d+) = (.*);", line)
                kind, name, words = constant.groups() if constant else ("", *line.rstrip(";").split(" = ", 1))
                dtype = np.dtype(C_TYPES[kind]) if constant else wanted[name]
                found = np.asarray(eval(_python(words), {"np": np, **C_FUNCTIONS}, values))
                assert found.dtype == dtype, f"{line}: it is {found.dtype}"  # nothing is converted unseen
                values[name] = found
        return tuple(ndarray(np.broadcast_to(values[name], shape).copy()) for name in wanted)


LAUNCHES: list[ElementwiseKernel] = []  # kernels that were started


def _python(words: str) -> str:
    """A C++ expression as one of Python: literals and casts have types of NumPy."""
    words = re.sub(
        r"static_cast<([a-z ]+)>\((-?\w+)\)", lambda m: f"np.asarray({m[2]}).astype('{C_TYPES[m[1]]}')", words
    )
    number = re.compile(r"\((-?\d+(?:\.\d+|(?:\.\d+)?e[+-]?\d+))(f?)\)")
    words = number.sub(lambda m: f"np.float{32 if m[2] else 64}({m[1]})", words)
    return re.sub(r"^!(v\d+)$", r"~\1", words)


_NUMPYS = (
    "exp expm1 log log1p log2 log10 tanh sqrt sin cos tan arcsin arccos arctan arctan2 sinh cosh arcsinh arccosh "
    "arctanh sign floor ceil maximum minimum zeros ones empty full arange ones_like concatenate "
    "take_along_axis add subtract multiply true_divide negative reciprocal square trunc invert bitwise_and "
    "bitwise_or bitwise_xor absolute rint sum prod amax amin argmax argmin any all cumsum cumprod flip fmod argwhere"
).split()
cupy = types.SimpleNamespace(
    **{name: _elementwise(name, getattr(np, name)) for name in _NUMPYS},
    __version__="14.2.0", ndarray=ndarray, ascontiguousarray=ascontiguousarray, array=array, asarray=asarray,
    where=where, from_dlpack=from_dlpack, ElementwiseKernel=ElementwiseKernel,
    argsort=_elementwise("argsort", _argsort), matmul=_elementwise("matmul", _matmul),
    einsum=_elementwise("einsum", einsum),
    broadcast_to=_viewing("broadcast_to", HOST.broadcast_to),
    diagonal=_viewing("diagonal", HOST.diagonal),
    get_default_memory_pool=lambda: POOL,
    get_default_pinned_memory_pool=lambda: types.SimpleNamespace(free_all_blocks=_free_pinned),
    lib=types.SimpleNamespace(stride_tricks=types.SimpleNamespace(
        as_strided=_viewing("lib.stride_tricks.as_strided", np.lib.stride_tricks.as_strided)
    )),
    cuda=types.SimpleNamespace(
        Device=Device, Stream=Stream, Event=Event, get_elapsed_time=get_elapsed_time,
        alloc_pinned_memory=alloc_pinned_memory, PinnedMemoryPointer=ctypes.Array,
        memory=types.SimpleNamespace(OutOfMemoryError=OutOfMemoryError),
        runtime=types.SimpleNamespace(
            getDeviceCount=getDeviceCount, getDeviceProperties=getDeviceProperties,
            runtimeGetVersion=lambda: 12090, driverGetVersion=lambda: 13000,
        ),
    ),
)  # fmt: skip
cupy.add.at = _add_at
cupyx = types.SimpleNamespace(
    scipy=types.SimpleNamespace(special=types.SimpleNamespace(
        erf=_elementwise("cupyx.scipy.special.erf", HOST.erf),
        expit=_elementwise("cupyx.scipy.special.expit", HOST.sigmoid),
    )),
)  # fmt: skip
