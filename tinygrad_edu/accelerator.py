"""The accelerator of this machine, by PyTorch's names: a GPU if there is one, else the simulated one.

>>> import tinygrad_edu as tg
>>> x = tg.ones(1000, device="sim")
>>> tg.accelerator.memory_allocated() >= x.nbytes
True

Which of the two it is stands in `current_accelerator`. A program that never named the simulated one is told so, once.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from . import backends
from .backends import Backend, Device
from .backends import Stream as _Stream
from .common.blocks import block
from .common.wording import bytes_text, shown
from .errors import ArgumentError, OutOfMemoryError

__all__ = [
    "Event", "OutOfMemoryError", "Stream", "allow_scalar", "current_accelerator", "current_stream", "device_count",
    "empty_cache", "is_available", "max_memory_allocated", "max_memory_reserved", "memory_allocated", "memory_reserved",
    "memory_summary", "reset_peak_memory_stats", "scalar_reads", "set_per_process_memory_fraction", "stream",
    "synchronize",
]  # fmt: skip


def _backend(device: str | None = None) -> Backend:
    new = backends.in_use() is None
    found = backends.accelerator() if device is None else backends.get(device)
    if new and device is None and found.name == "sim":  # who names it knows it
        told = "There is no GPU here: the accelerator is simulated, and its times are virtual (tg.sim.explain())."
        print(told, file=sys.stderr)
    return found


def is_available() -> bool:
    """Whether there is an accelerator. There always is: without a GPU it is simulated."""
    return True


def device_count() -> int:
    """How many there are of the kind that is in use."""
    found: Any = _backend()
    if Device(found.name).type == "sim":
        from .backends.sim import DEVICES

        return len(DEVICES)
    return int(found.count())


def current_accelerator(check_available: bool = False) -> Device:
    """The device in use: ``"cuda"``, or ``"sim"`` where there is no GPU."""
    return _backend().device


def synchronize(device: str | None = None) -> None:
    """Wait until the accelerator, or another device, has done all that it was asked for."""
    _backend(device).synchronize()


# Streams and events --------------------------------------------------------------------------------------------------


class Stream:
    """A new queue of the accelerator: work in it is done in order, and beside that of other streams."""

    def __new__(cls, device: str | None = None) -> Any:
        return _backend(device).stream()


class Event:
    """A new event: a point in a stream that others can wait for. It tells the time only if ``enable_timing`` is set."""

    def __new__(cls, enable_timing: bool = False) -> Any:
        event = _backend().current_stream().event_type()
        event.timed = bool(enable_timing)
        return event


def current_stream(device: str | None = None) -> Any:
    """The stream that takes what is asked for now."""
    return _backend(device).current_stream()


@block
def stream(stream: Any) -> Iterator[Any]:
    """Let this stream take what is asked for inside: ``with tg.accelerator.stream(side): …``.

    Nothing waits by itself: what it reads from other streams must be waited for, by events or `Stream.wait_stream`.
    """
    if not isinstance(stream, _Stream):
        raise ArgumentError(f"stream({shown(stream, 40)})", "it is no stream", "make one: tg.accelerator.Stream()")
    device = getattr(stream, "device", None)  # the CPU's queue, where nothing ever waits, belongs to none
    undo = device.use_stream(stream) if device is not None else lambda: None
    try:
        yield stream
    finally:
        undo()


# Memory --------------------------------------------------------------------------------------------------------------


def _memory(device: str | None) -> Any:
    found = _backend(device).memory()
    if found is None:
        raise ArgumentError(
            f"the memory of {device!r}", "nobody counts it", "leave the device out, for the accelerator"
        )
    return found


def memory_allocated(device: str | None = None) -> int:
    """Bytes in tensors that are alive."""
    return int(_memory(device).allocated)


def memory_reserved(device: str | None = None) -> int:
    """Bytes that the allocator has from the driver: allocated, or free to be handed out again."""
    return int(_memory(device).reserved)


def max_memory_allocated(device: str | None = None) -> int:
    """The most bytes that were allocated at once, since the start or `reset_peak_memory_stats`."""
    return int(_memory(device).peak)


def max_memory_reserved(device: str | None = None) -> int:
    """The most bytes that were reserved at once."""
    return int(_memory(device).reserved_peak)


def reset_peak_memory_stats(device: str | None = None) -> None:
    """Count the peaks anew, from what is there now."""
    _backend(device).forget_peak()


def empty_cache() -> None:
    """Give reserved memory that holds no tensor back to the driver. What tensors hold stays."""
    _backend().empty_cache()


def set_per_process_memory_fraction(fraction: float, device: str | None = None) -> None:
    """Take no more than this fraction of the memory. Raises `ArgumentError` unless it lies above 0 and up to 1."""
    if isinstance(fraction, bool) or not isinstance(fraction, (int, float)) or not 0 < fraction <= 1:
        tried = f"set_per_process_memory_fraction({shown(fraction, 40)})"
        raise ArgumentError(tried, "a fraction lies above 0 and up to 1", "write 0.5 for half of the memory")
    _backend(device).allow(float(fraction))


def memory_summary(device: str | None = None) -> str:
    """The four figures, as text, and the lines that made what is alive."""
    m, place = _memory(device), _backend(device)
    rows = [
        ("allocated", m.allocated, m.peak, "in tensors that are alive"),
        ("reserved", m.reserved, m.reserved_peak, "kept from the driver"),
    ]
    told = [f"memory of {place.name!r}", f"  {'':<10} {'now':>10} {'most':>10}"]
    told += [f"  {name:<10} {bytes_text(now):>10} {bytes_text(most):>10}  {what}" for name, now, most, what in rows]
    return "\n".join([*told, *(f"  {line}" for line in place.held_lines())])


# Reading single numbers ----------------------------------------------------------------------------------------------


def allow_scalar(allowed: bool | str = True) -> bool | str:
    """May a program read single numbers of the accelerator: `item`, ``float(x)``, ``if x``? Each time the host waits.

    True allows it, "warn" warns each time, False raises `DeviceError`. Returns what held before. `scalar_reads` counts.
    """
    if allowed not in (True, False, "warn") or isinstance(allowed, (int, float)) != isinstance(allowed, bool):
        why = 'it is True, False or "warn"'
        raise ArgumentError(f"allow_scalar({shown(allowed, 40)})", why, "give one of these")
    place = _backend()
    before, place.scalars = place.scalars, allowed
    return before


def scalar_reads() -> int:
    """How many single numbers of the accelerator the host has waited for so far."""
    return _backend().scalar_reads
