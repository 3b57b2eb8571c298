"""`tinygrad_edu.cuda`, where the simulated accelerator is a GPU too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from .... import accelerator as _accelerator
from .... import backends as _backends
from .... import cuda as _cuda
from ....common.blocks import block as _block
from ....errors import DeviceError
from ....tensor.random import manual_seed
from . import amp

__all__ = [  # noqa: PLE0604
    *_cuda.__all__, "amp", "device", "get_device_properties", "init", "is_bf16_supported", "is_initialized",
    "manual_seed", "manual_seed_all", "mem_get_info", "set_device",
]  # fmt: skip

manual_seed_all = manual_seed  # one stream of random numbers serves all devices


class Properties(NamedTuple):
    """What is known of a device: its name, and the bytes of its memory."""

    name: str
    total_memory: int


def is_available() -> bool:
    """True: where there is no GPU, the simulated one is."""
    return True


def is_initialized() -> bool:
    """True: there is nothing to set up."""
    return True


def init() -> None:
    """Nothing: a device is ready when it is first named."""


def device_count() -> int:
    """How many GPUs there are, or simulated ones."""
    return _accelerator.device_count()


def set_device(device: Any) -> None:
    """Nothing for the first device, which is in use in any case. Raises `DeviceError` where it is not there.

    Another one is named where tensors are made or moved, or chosen for a block: ``with torch.cuda.device(1)``.
    """
    name = _named(device)
    if _backends.get(name) is not _backends.get("cuda"):
        mend = f"name it: x.to({name!r}), or write with torch.cuda.device({device!r})"
        raise DeviceError(f"set_device({device!r})", "the first device stays the one that is meant", mend)


@_block
def device(device: Any) -> Iterator[None]:
    """In this block, streams and memory figures are those of this device."""
    with _backends.meant(_backends.get(_named(device)).device):
        yield


def get_device_properties(device: Any = None) -> Properties:
    """The name of a device, and the bytes of its memory."""
    found: Any = _backends.get(_named(device))
    return Properties(found.model(), found.capacity())


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """The bytes that are free on a device, and all that it has."""
    found: Any = _backends.get(_named(device))
    memory = found.memory()
    return found.capacity() - memory.reserved, found.capacity()


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """True: bfloat16 works everywhere. Whether it is faster is another question."""
    return True


def _named(device: Any) -> str:
    return f"cuda:{device}" if isinstance(device, int) else str(device or "cuda")


def __getattr__(name: str) -> Any:
    return getattr(_cuda, name)
