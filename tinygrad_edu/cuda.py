"""Is there an NVIDIA GPU? For programs that ask before they choose a device."""

from __future__ import annotations

from . import backends


def is_available() -> bool:
    """Whether tensors can live on a GPU here."""
    return "cuda" in backends.names()


def device_count() -> int:
    """How many GPUs tensors can live on."""
    return int(is_available())
