"""The queue of a device, in its simplest form: work is done when it is asked for, so there is nothing to wait for.

Names and meanings are those of PyTorch's ``Stream`` and ``Event``. A device that works while the host goes ahead has
its own classes with the same methods.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

from ..errors import ArgumentError


class Memory(NamedTuple):
    """What a device's allocator counts, in bytes."""

    allocated: int  # in arrays that are alive
    reserved: int  # kept from the system: allocated, or free to be handed out again
    peak: int  # the largest `allocated` so far
    reserved_peak: int = 0  # the largest `reserved`


class Event:
    """A point in a stream: what came before it is done, or is not yet."""

    def __init__(self) -> None:
        self._time: int | None = None
        self.timed = True  # may it be asked for the time?

    def record(self, stream: Stream | None = None) -> None:
        """Mark this point in the stream, by default the current one."""
        self._time = time.perf_counter_ns()

    def query(self) -> bool:
        """Whether everything before this point is done."""
        return True

    def wait(self, stream: Stream | None = None) -> None:
        """Let the stream begin its later work after this point."""

    def synchronize(self) -> None:
        """Let the host wait for this point."""

    def elapsed_time(self, end: Event) -> float:
        """Milliseconds from this point to ``end``. Raises `ArgumentError` unless both were recorded."""
        if not (self.timed and end.timed):
            raise ArgumentError("elapsed_time", "these events keep no time", "make both with enable_timing=True")
        if self._time is None or end._time is None:
            which = "this event" if self._time is None else "the other event"
            raise ArgumentError("elapsed_time", f"{which} was never recorded", "call record() on both first")
        return (end._time - self._time) / 1e6


class Together:
    """The same formula for several sets of arrays, which a device may carry out with fewer launches."""

    def begin(self, reads: list[Any], writes: list[Any]) -> None:
        """The next set: the arrays that its formula reads and writes."""

    def end(self) -> None:
        """All has been asked for."""


class Stream:
    """Work that a device does in the order in which it was asked for."""

    event_type: type[Event] = Event

    def record_event(self, event: Event | None = None) -> Event:
        """Mark this point of the stream with ``event``, or with a new one, and return it."""
        event = self.event_type() if event is None else event
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """Begin what comes next after ``event``."""
        event.wait(self)

    def wait_stream(self, stream: Stream) -> None:
        """Begin what comes next after everything that the other stream was asked for so far."""
        self.wait_event(stream.record_event())

    def query(self) -> bool:
        """Whether everything that the stream was asked for is done."""
        return True

    def synchronize(self) -> None:
        """Let the host wait until it is."""
