"""What workers on several simulated devices do together: values by NumPy, time as in a ring over their links."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...common.lines import user_line
from ...common.rings import chain_seconds, ring_seconds
from .array import SimArray

if TYPE_CHECKING:
    from .device import SimBackend


class Offer:
    """An array of a device that its worker brings: what its values are, and from when on they are there.

    Made by the worker, in the order of its work. Its devices wait for each other, its host does not.
    """

    def __init__(self, device: SimBackend, array: SimArray, name: str) -> None:
        schedule = device.schedule
        self.device, self.array, self.name, self.line = device, array, name, user_line()
        self.stream = device.current_stream().lane
        schedule.spend(name, "launch", int(device.machine["launch"]), self.line)
        self.point = schedule.point(self.stream)
        self.ready = max(schedule.now, self.point.time)
        self.start = self.end = self.sent = 0

    @property
    def values(self) -> Any:
        """The numbers that it brings."""
        return self.array.values

    def together(self, others: Sequence[Any]) -> None:
        """All have come, and the last one calls this: for each, when it begins and ends."""
        devices = list({one.device.name: one.device for one in others}.values())
        slowest = min(one.machine["link"] for one in devices)
        hop = max(one.machine["hop"] for one in devices) / 1e9
        size, count = int(self.array.nbytes), len(devices)
        seconds = ring_seconds if self.name == "all-reduce" else chain_seconds
        start = max(max(one.ready, one.device.ring_until) for one in others)
        end = start + round(seconds(size, count, slowest, hop) * 1e9)
        sent = round(2 * (count - 1) / count * size) if self.name == "all-reduce" else size * (count > 1)
        for one in others:
            one.start, one.end, one.sent = start, end, sent
            one.device.ring_until = end

    def receive(self, values: Any) -> None:
        """Write the result into the array. The stream that is current goes on when it is there."""
        device, schedule = self.device, self.device.schedule
        lane = device.ring()
        with device._lock:
            schedule.after(lane, self.point)
            work = device._begin(self.name, [self.array], lane)
            device._note(self.array, True, work)
            self.array.values[...] = values
            lane.end = max(lane.end, self.end)
            if self.end > self.start:
                schedule.log(
                    lane.name, self.name, "copy", self.start, self.end, self.sent, line=self.line,
                    stream=self.stream.name,
                )  # fmt: skip
            schedule.after(device.current_stream().lane, schedule.point(lane))
