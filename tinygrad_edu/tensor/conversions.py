"""Methods that give the same values in another dtype, on another device, or in other memory."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import backends
from ..common.wording import shown
from ..core.above import above
from ..core.base import TensorBase
from ..dtypes import as_dtype, is_float
from ..errors import ArgumentError, DeviceError, DtypeError
from ..inputs.kinds import explained
from ..ops import convert as ct
from ..ops import movement as mo
from .operations import Operations

if TYPE_CHECKING:
    from .tensor import Tensor

_DEVICES = ("cpu", "cuda", "mps", "xpu", "sim")  # what PyTorch programs call devices, so these are not taken for dtypes


class Conversions(Operations):
    """What `Tensor` inherits, with the operations."""

    __slots__ = ()

    def to(
        self, *target: Any, dtype: Any = None, device: str | None = None,
        non_blocking: builtins.bool = False, copy: builtins.bool = False, memory_format: Any = None,
        other: Tensor | None = None,
    ) -> Tensor:  # fmt: skip
        """The same values in another dtype or on another device; itself, when nothing changes and no copy is wanted.

        ``x.to(dtype)``, ``x.to(device)``, ``x.to(device, dtype)`` or ``x.to(other)``, like another tensor. After these
        may come ``non_blocking`` and ``copy``. ``memory_format`` sets the order of images in memory; see `formats`.

        With ``non_blocking=True`` the host goes on before the copy has ended: to a device, where the tensor lies in
        memory that `pin_memory` made; from a device always, so that the host has to wait before it looks at the result.
        """
        if target or other is not None:
            first, *rest = target or (other,)
            if isinstance(first, TensorBase):
                dtype, device = first.array.dtype, first.device
            elif isinstance(first, str) and (first in backends.names() or first.split(":")[0] in _DEVICES):
                device = first
                if rest and not isinstance(rest[0], builtins.bool):
                    dtype = rest.pop(0)
            elif first is not None:
                dtype = _named(first) if isinstance(first, str) else first
            non_blocking = rest[0] if rest else non_blocking
            copy = rest[1] if len(rest) > 1 else copy
        result: Any = self
        if dtype is not None and (kind := as_dtype(dtype)) != self.array.dtype:
            result = ct.cast(result, dtype=kind)
        if device is not None and device != self.device:
            result = mo.transfer(result, device, builtins.bool(non_blocking))
        if memory_format is not None:
            fm = formats()
            fm.checked("to", self, memory_format)
            made = copy or result is not self
            if not (fm.lies if made and memory_format is not fm.preserve_format else fm.fits)(result, memory_format):
                return fm.clone(result, memory_format=memory_format)
        return ct.clone(result) if copy and result is self else result

    def type_as(self, other: Tensor) -> Tensor:
        """In the dtype of ``other``, and on its device."""
        return self.to(other)

    @explained
    def type(self, dtype: Any = None, non_blocking: builtins.bool = False) -> Any:
        """In another dtype, as with `to`; old names such as ``FloatTensor`` work too. Without one, its own old name.

        >>> import tinygrad_edu as tg
        >>> tg.arange(3).type(), tg.arange(3).type(tg.FloatTensor)
        ('torch.LongTensor', tensor([0., 1., 2.]))
        """
        from .typed import WORDS, meant  # which new programs do without

        if dtype is None:
            place = "" if self.device == "cpu" else f"{self.device.partition(':')[0]}."
            return f"torch.{place}{WORDS[self.array.dtype.name]}"
        return self.to(dtype=meant(dtype))

    def is_floating_point(self) -> builtins.bool:
        """Whether the elements are floats of any width."""
        return is_float(self.array.dtype)

    @explained
    def cuda(self, device: Any = None, non_blocking: builtins.bool = False) -> Tensor:
        """The same values on an NVIDIA GPU, the one of this number. Raises `DeviceError` where there is none."""
        named = f"cuda:{device}" if isinstance(device, builtins.int) else device or "cuda"
        return self.to(device=named, non_blocking=non_blocking)

    def __dlpack__(
        self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: builtins.bool | None = None
    ) -> Any:
        """What another library reads this memory by: ``torch.from_dlpack(x)``. A write to one is seen by both."""
        from .exchange import to_dlpack

        return to_dlpack(self, {"stream": stream, "max_version": max_version, "dl_device": dl_device, "copy": copy})

    def __dlpack_device__(self) -> tuple[int, int]:
        """Where it is, by DLPack's numbers. Raises `DeviceError` on a device that other libraries cannot read."""
        from .exchange import device_of

        return device_of(self)

    @explained
    def pin_memory(self, device: str | None = None) -> Tensor:
        """A copy in memory of the host that the accelerator reads and writes by itself; itself, if it lies there.

        Copies to a device may then be ``non_blocking``. To pin memory takes time, so it pays for what is used again.
        Raises `DeviceError` for a tensor that is not on the CPU.
        """
        if self.device != backends.CPU.name:
            raise DeviceError("pin_memory()", f"only the host's memory can be pinned, and this is on {self.device!r}",
                              "pin it before it goes to the device")  # fmt: skip
        accelerator = backends.accelerator() if device is None else backends.get(device)
        result: Any = self if accelerator.pinned(self.array) else above.wrap(accelerator.pin(self.array))
        return result

    @explained
    def is_pinned(self, device: str | None = None) -> builtins.bool:
        """Whether the elements lie in memory that `pin_memory` made, for any device or for this one."""
        there = backends.registered() if device is None else [backends.get(device)]
        return self.device == backends.CPU.name and any(one.pinned(self.array) for one in there)

    @explained
    def record_stream(self, s: Any) -> None:
        """Keep this memory, once the tensor is gone, until the stream ``s`` has done what it was asked for by then.

        For a tensor that a stream uses in which it was not made: otherwise its memory serves others too early.
        """
        if not isinstance(s, backends.Stream):
            mend = "make one: tg.accelerator.Stream()"
            raise ArgumentError(f"record_stream({shown(s, 40)})", "it is no stream", mend)
        backends.of(self.array).hold(self.array, s)

    @property
    def is_cuda(self) -> builtins.bool:
        """Whether the elements live on an NVIDIA GPU."""
        return self.device.startswith("cuda")

    def nelement(self) -> builtins.int:
        """The number of elements; `numel` under its other name."""
        return self.array.size

    def element_size(self) -> builtins.int:
        """The bytes of one element."""
        return self.array.dtype.itemsize

    @property
    def nbytes(self) -> builtins.int:
        """The bytes of all elements."""
        return self.array.size * self.array.dtype.itemsize

    @explained
    def cpu(self) -> Tensor:
        """The same values in main memory."""
        return self.to("cpu")

    def float(self) -> Tensor:
        """As float32."""
        return self.to(np.float32)

    def double(self) -> Tensor:
        """As float64."""
        return self.to(np.float64)

    def half(self) -> Tensor:
        """As float16."""
        return self.to(np.float16)

    def bfloat16(self) -> Tensor:
        """As bfloat16: the range of float32 with 8 bits of precision."""
        return self.to("bfloat16")

    def byte(self) -> Tensor:
        """As uint8."""
        return self.to(np.uint8)

    def char(self) -> Tensor:
        """As int8."""
        return self.to(np.int8)

    def short(self) -> Tensor:
        """As int16."""
        return self.to(np.int16)

    def int(self) -> Tensor:
        """As int32."""
        return self.to(np.int32)

    def long(self) -> Tensor:
        """As int64."""
        return self.to(np.int64)

    def bool(self) -> Tensor:
        """As bool: False for 0."""
        return self.to(np.bool_)

    @explained
    def clone(self, *, memory_format: Any = None) -> Tensor:
        """A copy in new memory; gradients pass through. ``memory_format`` is as in `to`."""
        return ct.clone(self) if memory_format is None else formats().clone(self, memory_format=memory_format)


def formats() -> Any:
    """`ops.formats`, which few programs need."""
    from ..ops import formats

    return formats


def _named(word: str) -> np.dtype[Any]:
    """The dtype of this name. Raises `DeviceError` for another word: it may have been meant for a device."""
    try:
        return as_dtype(word)
    except DtypeError as error:
        why = f"it names neither a device ({', '.join(backends.names())}) nor a dtype: {error.why}"
        raise DeviceError(f"to({word!r})", why, "name one of these, such as 'cpu' or 'float32'") from None
