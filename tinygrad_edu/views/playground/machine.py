"""A simulated accelerator of the playground's own: nothing that trains on it is on the clock of the user's program."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from ... import backends
from ...backends.sim import DEVICES
from ...backends.sim.device import SimBackend
from ...backends.sim.presets import Machine
from ...backends.sim.schedule import Schedule
from ...common.locks import RLock
from ...sim import Timeline

NAME = "sim:playground"
LOCK = RLock()  # of its clock: several playgrounds take turns


class Step(NamedTuple):
    """What a step takes on a simulated machine, exactly."""

    seconds: float  # virtual
    idle: float  # the share of them in which no kernel runs
    transfers: int  # between host and device, in both directions
    moved: int  # bytes


@cache
def device() -> SimBackend:
    """The accelerator, which cannot be told from `sim` but by its clock."""
    made = SimBackend(NAME, present(), Schedule())
    made.private = True
    backends.register(made)
    return made


def present() -> Machine:
    """The machine that the user's programs run on."""
    return DEVICES[0].machine


def watch(step: Callable[[], None], machine: Machine) -> Step:
    """One step on this machine. It ends where the host has issued it, and the device has done it."""
    with LOCK:
        one = device()
        one.machine, one.allocator.limit = machine, int(machine["memory"])
        before, start, log = one.counts.copy(), _reached(one), Timeline()
        one.schedule.logs.append(log)
        try:
            step()
        finally:
            one.schedule.logs.remove(log)
        took = _reached(one) - start
        made = {name: count - before[name] for name, count in one.counts.items()}
    return Step(
        took / 1e9, 1 - log.computing() / took, made["copies to device"] + made["copies to host"],
        made["bytes to device"] + made["bytes to host"],
    )  # fmt: skip


def _reached(one: SimBackend) -> int:
    return max(one.schedule.now, one.default_stream.lane.end)
