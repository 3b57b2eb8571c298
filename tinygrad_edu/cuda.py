"""Is there an NVIDIA GPU? For programs that ask before they choose a device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import backends
from .common import late as _late


def is_available() -> bool:
    """Whether tensors can live on a GPU here."""
    from .backends.cuda import available

    return "cuda" in backends.names() or available()


def device_count() -> int:
    """How many GPUs tensors can live on."""
    return int(is_available())


if not TYPE_CHECKING:  # or a type checker would believe every name
    __getattr__ = _late.getattr_of(__name__)
