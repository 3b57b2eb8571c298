"""What an operation's body may use, and what a place for arrays has to offer.

A body is written once, over a namespace ``xp``. It uses Python operators, comparisons, indexing, ``.shape``,
``.ndim`` and ``.dtype`` of arrays, and the names listed here. A *world* is a kind of arrays with functions under these
names: NumPy, a second device, the recorder, tensors themselves. A body that keeps to the list runs in all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from ..common.lines import warn_user
from ..errors import DeviceError
from .queue import Memory, Stream, Together

Array = Any  # ndarray, a scalar of NumPy, or another world's array: bodies do not care

NAMES = {
    "elementwise": (
        "exp expm1 log log1p log2 log10 tanh sigmoid sqrt sin cos tan arcsin arccos arctan arctan2 sinh cosh arcsinh "
        "arccosh arctanh erf abs sign floor ceil round maximum minimum where relu power floor_divide remainder fmod"
    ),
    "reduce": "sum prod amax amin argmax argmin any all",
    "scan": "cumsum cumprod argsort",
    "create": "zeros ones empty full arange zeros_like ones_like",
    "shape": "reshape permute broadcast_to concatenate astype copy contiguous diagonal windows as_strided",
    "index": "take_along_axis scatter_add put",
    "product": "matmul einsum",
    "window": "im2col col2im conv conv_input conv_kernel",
}
ALL_NAMES = tuple(name for group in NAMES.values() for name in group.split())


class Namespace:
    """One world's functions under the agreed names. A missing or a superfluous name is refused here, once.

    power, floor_divide, remainder, fmod ``(x, y)``: refused for two bools, and for integers without an integer result:
             to a negative exponent, or divided by 0
    reduce:  ``sum prod amax amin argmax argmin any all (x, axis, keepdims)`` with ``axis`` an int, a tuple or None;
             ``argmax`` and ``argmin`` take an int or None, and give the first of equal elements
    scan:    ``cumsum(x, axis)``, ``cumprod(x, axis)``; ``argsort(x, axis, descending)``, stable, NaN counts as largest
    shape:   ``reshape(x, shape)``, ``permute(x, axes)``, ``concatenate(xs, axis)``, ``astype(x, dtype)``;
             views: ``diagonal(x, offset, axis1, axis2)``, ``windows(x, axis, size, step)`` with the windows as a new
             last axis, ``as_strided(x, shape, strides, offset)``, in elements, as if ``x`` lay in row-major order
             ``copy(x)`` lies in memory as ``x`` does, without gaps; ``contiguous(x, like=None)`` is ``x`` in row-major
             order, and no copy if it is: channels last for images where ``like``, from which they come, lies so
    index:   ``scatter_add(shape, index, values)`` adds values at ``zeros(shape)[index]``, repeated indices too;
             ``put(x, index, values)`` is a copy of ``x`` with ``x[index] = values``
    product: ``matmul(x, y)`` is ``x @ y``, which a world may compute in a quicker way;
             ``einsum(equation, x, y)``: letters, ``->`` given, none twice in one operand
    window:  ``im2col(x, kernel, stride, padding, dilation, fill=0, size=None)`` is (N, C, kh, kw, oh, ow) of a
             (N, C, H, W) array; there are as many windows as fit, or ``size``, and outside x they see ``fill``;
             ``col2im(cols, shape, stride, padding, dilation)`` adds the windows back into ``shape``;
             ``conv(x, weight, stride, padding, dilation, groups, size=None)`` is (N, F, oh, ow); its gradients are
             ``conv_input(g, weight, size, stride, padding, dilation, groups)`` and
             ``conv_kernel(x, g, kernel, stride, padding, dilation, groups)``
    """

    __slots__ = ("name", *ALL_NAMES)

    if TYPE_CHECKING:  # at run time it would make every lookup slower

        def __getattr__(self, key: str) -> Any: ...

    def __init__(self, world: str, /, **functions: Callable[..., Any]) -> None:
        self.name = world
        if set(functions) != set(ALL_NAMES):
            missing, extra = set(ALL_NAMES) - set(functions), set(functions) - set(ALL_NAMES)
            raise TypeError(f"namespace {world!r}: missing {sorted(missing)}, not agreed {sorted(extra)}")
        for key, function in functions.items():
            setattr(self, key, function)

    def __repr__(self) -> str:
        return f"<namespace {self.name}>"


class Device(str):
    """The name of a device, such as ``"cpu"`` or ``"cuda:1"``, with its parts.

    ``Device("cuda:1")`` and ``Device("cuda", 1)`` are the same. The device need not exist: the error comes when it is
    used.

    >>> x = Device("cuda:1")
    >>> x, x.type, x.index
    ('cuda:1', 'cuda', 1)
    """

    __slots__ = ()

    def __new__(cls, type: str, index: int | None = None) -> Device:
        return super().__new__(cls, type if index is None else f"{type}:{index}")

    @property
    def type(self) -> str:
        """The kind of device, without a number."""
        return self.partition(":")[0]

    @property
    def index(self) -> int | None:  # type: ignore[override]  # text can be searched with `find` too
        """Which one of its kind, if the name has a number."""
        number = self.partition(":")[2]
        return int(number) if number.isdigit() else None


class Backend:
    """A place where arrays live, and all that the engine needs from it.

    *Arrays*: the namespace ``xp`` for bodies, the types of its arrays, the way in and out, and whose memory an array
    looks at. *Queues*: streams and events, and the wait for all of them. *Memory*: what its allocator counts. What a
    backend does not define is as on the CPU: work is done at once, and nobody counts.
    """

    name: str
    device = Device("")  # the name that tensors show as their device; by default the backend's own
    xp: Namespace
    array_types: tuple[type, ...]
    private = False  # one that a picture made for itself, and that is not listed
    scalars: bool | str = True  # may single numbers be read? or "warn"
    scalar_reads = 0  # how often it was done
    compiles = False  # does it take kernels in its own language, by `elementwise`?
    fuses_rows = False  # may a kernel of `fused` reduce rows, and do whole operations?
    joins = False  # do workers' arrays go from device to device, by `offer`? Else by way of the host
    readable = True  # may values be looked at now? Not while they are only being recorded
    stream_type: type[Stream] = Stream

    def from_numpy(self, array: Any) -> Array:
        """The array on this device; on the CPU the same object."""
        raise NotImplementedError

    def from_dlpack(self, array: Any) -> Array:
        """The array of another library as one of this device, over the same memory."""
        raise DeviceError(f"from_dlpack on {self.name!r}", "it has no memory of its own", "copy: x.cpu()")

    def to_numpy(self, array: Array) -> Any:
        """The values as a NumPy array; on the CPU the same memory."""
        raise NotImplementedError

    def into(self, function: str, out: Array, *operands: Any, **params: Any) -> bool:
        """Compute NumPy's ``function`` straight into ``out``. False, and nothing done, where that is not possible.

        ``"put"`` is item assignment, which every device has: of ``operands``, the second is written at ``index``.
        """
        if function != "put":
            return False
        out[params["index"]] = operands[1]
        return True

    def owner(self, array: Array) -> Array:
        """The array that owns the memory of ``array``."""
        raise NotImplementedError

    def kernel(self, op: Any) -> Any:
        """The operation as this device does it: by default as it is written.

        A device that wants to know where an operation begins and ends may return a variant, as `core.narrow` does.
        """
        return op

    def fused(self, name: str, body: Callable[..., Any], arrays: Any, flops: int) -> tuple[Array, ...]:
        """The results of ``body(xp, *arrays)``, elementwise work of so many ``flops``, in one kernel if it can."""
        found: tuple[Array, ...] = body(self.xp, *arrays)
        return found

    def elementwise(self, name: str, inputs: str, outputs: str, lines: str, preamble: str) -> Callable[..., Any]:
        """A function of arrays from a kernel in the device's own language, as `compiler.cuda_code` writes it."""
        raise NotImplementedError

    def replay(self) -> AbstractContextManager[None]:
        """A block whose kernels the host launches with one command, where the device can do that."""
        return nullcontext()

    def peek(self, array: Array) -> Any:
        """Values to check, such as labels and positions. A device that can check them itself need not wait."""
        return self.to_numpy(array)

    def nonzero(self, array: Array) -> Array:
        """The positions (count, ndim), int64, of what is not 0. The host waits for their count."""
        return self.from_numpy(np.argwhere(self.to_numpy(array)))

    def take(self, array: Array, source: Backend, non_blocking: bool = False) -> Array:
        """A copy of another device's array, here. The host may go on before it is there."""
        return self.from_numpy(source.give(array, non_blocking))

    def give(self, array: Array, non_blocking: bool = False) -> Any:
        """The values for another device, as a NumPy array. The host may go on before they are there."""
        return self.to_numpy(array)

    def offer(self, array: Array, name: str) -> Any:
        """What a worker brings for an all-reduce or a broadcast, where the device ``joins``."""
        raise NotImplementedError

    def pin(self, array: Any) -> Any:
        """A copy of a NumPy array in memory that this device reads and writes by itself."""
        return array.copy()

    def pinned(self, array: Any) -> bool:
        """Whether a NumPy array lies in such memory."""
        return False

    def hold(self, array: Array, stream: Stream) -> None:
        """Keep the array's memory, once nobody needs the array, until this stream is done with it."""

    def count_scalar(self) -> None:
        """One number is asked for, and the host waits for it. Programs may want to know, or forbid it."""
        self.scalar_reads += 1
        if self.scalars is True:
            return
        why = "the host waits until the device is there"
        if self.scalars == "warn":
            warn_user(f"a single number is read from {self.name!r}: {why}")
        else:
            mend = "read it more rarely, or all at once: tolist(); allow_scalar(True) allows it"
            raise DeviceError(f"a single number of {self.name!r}", f"{why}, and allow_scalar(False) forbids it", mend)

    def stream(self) -> Stream:
        """A new stream."""
        return self.stream_type()

    def current_stream(self) -> Stream:
        """The stream that takes what is asked for now."""
        return self.stream()

    def use_stream(self, stream: Stream) -> Callable[[], None]:
        """Let this stream take what is asked for from now on, in this context. Returns what undoes that."""
        return lambda: None

    def together(self, way: str) -> Together:
        """What is asked for until its end belongs together: "foreach", "fused", or "single" for the contrary."""
        return Together()

    def synchronize(self) -> None:
        """Wait until the device has done all that it was asked for."""

    def memory(self) -> Memory | None:
        """What the allocator counts; None where nobody counts."""
        return None

    def held_lines(self) -> list[str]:
        """What the memory holds, a line for each operation and line that made some of it; most first."""
        return []

    def empty_cache(self) -> None:
        """Give memory that is kept in reserve back to the system."""

    def forget_peak(self) -> None:
        """Count the peaks anew, from what is there now."""

    def allow(self, fraction: float) -> None:
        """Take no more than this fraction of the device's memory."""

    def __repr__(self) -> str:
        return f"<backend {self.name}>"
