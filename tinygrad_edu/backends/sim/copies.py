"""Copies to and from a simulated device: who is busy meanwhile, who waits, and what must not be touched yet."""

from __future__ import annotations

import weakref
import zlib
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ...common.lines import describe_line, user_line
from ...errors import RaceError
from .array import SimArray
from .host import HostMemory, Landing, arrived
from .schedule import Flight

if TYPE_CHECKING:
    from .device import SimBackend, Work

MEMORY = HostMemory()  # one host has all devices
STAGED = 2**16  # bytes from pageable memory that a driver takes at once, so that the host need not wait (CUDA's figure)
DIRECTIONS = ("to device", "to host")


def from_numpy(device: SimBackend, array: Any, *, non_blocking: bool = False, asked: bool = False) -> SimArray:
    """An array of the host in new memory of the device.

    A single number travels with the command that uses it, unless the program asked for the copy, and waits for it.
    """
    array = arrived(array)
    made = device._new(np.array(array), device.current_stream().lane, "copy to device", user_line())
    if made.ndim or asked:
        pinned = MEMORY.holds(array)
        work = _copy(device, "to device", made, pinned, non_blocking)
        if pinned and non_blocking:
            MEMORY.copied(array, work.lane)
            sent = Sent(device, work, array, made)
            _fly(device, work, sent.source, sent.check, reads=True)
    return made


def to_numpy(device: SimBackend, array: SimArray, *, non_blocking: bool = False) -> Any:
    """The values on the host. One that does not wait comes to pinned memory, as in PyTorch."""
    if not non_blocking:
        return _copy(device, "to host", array, False, False).near(array).copy()
    target, pages = MEMORY.new(array.shape, array.dtype, device.schedule.now)
    _spend_on_pinning(device, pages)
    work = _copy(device, "to host", array, True, True)
    MEMORY.copied(target, work.lane)
    values, there = work.near(array).copy(), weakref.ref(target)  # later work of the stream may write in the array
    flight = _fly(device, work, there, lambda: _land(there(), values))
    found = target.view(Landing)
    found.flight, found.early = flight, partial(_too_early, device, work, flight)
    return found


def pin(device: SimBackend, array: Any) -> Any:
    """A copy in pinned memory. To pin takes time, and so does the copy."""
    array = arrived(array)
    made, pages = MEMORY.new(array.shape, array.dtype, device.schedule.now)
    made[...] = array
    _spend_on_pinning(device, pages)
    duration = round(made.nbytes / device.machine["host_copy"] * 1e9)
    device.schedule.spend("copy to pinned memory", "work", duration, user_line())
    return made


def across(device: SimBackend, array: SimArray, source: SimBackend) -> SimArray:
    """An array of another simulated device. The copy runs in that one's stream, and this one's stream waits for it."""
    schedule, lane, here = device.schedule, source.current_stream().lane, device.current_stream().lane
    made = device._new(array.values.copy(), here, "copy across", user_line())
    with source._lock:
        schedule.after(lane, schedule.point(here))
        work = source._begin("copy across", [array], lane)
        made.values[...] = work.near(array)
        device._note(made, True, work, new=True)
        schedule.spend(work.name, "launch", int(source.machine["launch"]), work.line)
        name = f"to {device.name}"
        start = max(schedule.earliest(lane), source.engines.get(name, 0))
        duration = int(source.machine["copy_launch"]) + round(array.nbytes / source.machine["link"] * 1e9)
        lane.end = source.engines[name] = start + duration
        schedule.log(
            f"{source.name} {name}", work.name, "copy", start, lane.end, array.nbytes, line=work.line, stream=lane.name
        )
        schedule.after(here, schedule.point(lane))
    return made


def _copy(device: SimBackend, direction: str, array: SimArray, pinned: bool, non_blocking: bool) -> Work:
    """One copy. From or to pageable memory the host is busy with it; else it waits, or goes ahead.

    So it does, too, after a few bytes that fit into the command queue.
    """
    lane, size, schedule = device.current_stream().lane, int(array.values.nbytes), device.schedule
    machine = device.machine
    staged = non_blocking and not pinned and size <= STAGED
    ahead = staged or (non_blocking and pinned)
    with device._lock:
        work = device._begin(f"copy {direction}", [array] if direction == "to host" else [])
        if direction == "to device":
            device._note(array, True, work, new=True)
        if ahead:
            schedule.spend(work.name, "launch", int(machine["launch"]), work.line)
        if staged:
            schedule.spend(work.name, "copy", round(size / machine["pageable"] * 1e9), work.line)
        start = max(schedule.earliest(lane), device.engines[direction])
        if not ahead:
            schedule.wait(work.name, schedule.point(lane)._replace(time=start), work.line)
        duration = int(machine["copy_launch"]) + round(
            size / machine["pinned" if pinned or staged else "pageable"] * 1e9
        )
        lane.end = device.engines[direction] = start + duration
        schedule.log(
            f"{device.name} {direction}", work.name, "copy", start, lane.end, size, line=work.line, stream=lane.name
        )
        if not ahead:
            if not pinned:
                schedule.spend(work.name, "copy", duration, work.line)
            schedule.wait(work.name, schedule.point(lane), work.line)
        device.counts[f"bytes {direction}"] += size
        device.counts[f"copies {direction}"] += 1
    return work


def _spend_on_pinning(device: SimBackend, pages: int) -> None:
    device.schedule.spend("pin memory", "work", pages * int(device.machine["pin"]), user_line())


# Copies under way ----------------------------------------------------------------------------------------------------


def _fly(device: SimBackend, work: Work, memory: Any, land: Callable[[], None], reads: bool = False) -> Flight:
    flight = Flight(work.lane.number, work.count, memory, land, reads)
    device.schedule.fly(flight)
    return flight


def _land(target: Any, values: Any) -> None:
    if target is not None:
        target[...] = values


def _sum_of(array: Any) -> int:
    return zlib.crc32(np.ascontiguousarray(array).view(np.uint8).data) if array.size else 0


class Sent:
    """A copy from pinned memory that the host does not wait for, so it must not write there yet."""

    def __init__(self, device: SimBackend, work: Work, source: Any, made: SimArray) -> None:
        self.device, self.work, self.source, self.made = device, work, weakref.ref(source), weakref.ref(made.values)
        self.sum = _sum_of(source)

    def check(self) -> None:
        """Has the host written there? It is asked again once it knows that the copy has ended.

        Where a race has its real effect, what was written arrives instead. (A real copy may also find a part of it.)
        """
        source, made = self.source(), self.made()
        if source is None or (found := _sum_of(source)) == self.sum:
            return
        self.sum = found
        if self.device.hazards == "stale" and made is not None:
            made[...] = source
        tried = f"before this line, the host wrote to pinned memory {source.shape} {source.dtype}"
        why = f"a copy from there was under way ({describe_line(self.work.line)}), and the host did not wait for it"
        _report(self.device, RaceError(tried, why, f"before it writes, {_WAIT}", user_line()))


def _too_early(device: SimBackend, work: Work, flight: Flight, shape: Any, dtype: Any) -> None:
    """The host looks at memory that a copy may not have reached yet."""
    tried = f"the host reads a tensor {shape} {dtype} that is on its way from {device.name!r}"
    why = f"the copy is under way ({describe_line(work.line)}), and the host did not wait for it"
    _report(device, RaceError(tried, why, f"before it reads, {_WAIT}", user_line()))
    if device.hazards != "stale":  # else it holds what it held before, until the host waits
        flight.arrive()


_WAIT = "let it wait: synchronize(), or an event that is recorded after the copy"


def _report(device: SimBackend, error: RaceError) -> None:
    if device.hazards == "error":
        try:
            raise error
        finally:
            del error  # error and frame would keep each other alive, and the arrays
    device.races.append(error.report())
