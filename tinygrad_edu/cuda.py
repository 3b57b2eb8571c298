"""PyTorch's ``torch.cuda`` names, for programs that use them.

`is_available` and `device_count` speak of NVIDIA GPUs. All else is that of `accelerator`: it acts on the GPU, or on the
simulated one where there is none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import backends
from .accelerator import (
    Event,
    OutOfMemoryError,
    Stream,
    current_stream,
    empty_cache,
    max_memory_allocated,
    max_memory_reserved,
    memory_allocated,
    memory_reserved,
    memory_summary,
    reset_peak_memory_stats,
    set_per_process_memory_fraction,
    stream,
    synchronize,
)
from .common import late as _late

__all__ = [
    "Event", "OutOfMemoryError", "Stream", "current_device", "current_stream", "device_count", "empty_cache",
    "get_device_name", "is_available", "max_memory_allocated", "max_memory_reserved", "memory_allocated",
    "memory_reserved", "memory_summary", "reset_peak_memory_stats", "set_per_process_memory_fraction", "stream",
    "synchronize",
]  # fmt: skip


def is_available() -> bool:
    """Whether tensors can live on a GPU here."""
    from .backends.cuda import available

    return "cuda" in backends.names() or available()


def device_count() -> int:
    """How many GPUs tensors can live on."""
    if not is_available():
        return 0
    found: Any = backends.get("cuda")
    return int(found.count())


def current_device() -> int:
    """The number of the GPU in use. Raises `DeviceError` where there is none."""
    return backends.get("cuda").device.index or 0


def get_device_name(device: str | int | None = None) -> str:
    """What the maker calls a GPU, such as "NVIDIA T4". Raises `DeviceError` where there is none."""
    name = f"cuda:{device}" if isinstance(device, int) else device or "cuda"
    found: Any = backends.get(name)
    return str(found.model())


if not TYPE_CHECKING:  # or a type checker would believe every name
    __getattr__ = _late.getattr_of(__name__)
