"""A simulated accelerator: values by NumPy, time that is virtual, order and memory as on a real one."""

from __future__ import annotations

from ..base import Backend
from .device import SimBackend
from .presets import Machine
from .schedule import Schedule

SCHEDULE = Schedule()
DEVICES = [SimBackend("sim", Machine(), SCHEDULE)]  # all that there are


def let_there_be(count: int) -> list[Backend]:
    """Let there be so many devices, all like the first. Returns those that are gone; they must hold no array."""
    for number in range(len(DEVICES), count):
        DEVICES.append(SimBackend(f"sim:{number}", DEVICES[0].machine, SCHEDULE))
    gone: list[Backend] = [*DEVICES[count:]]
    del DEVICES[count:]
    return gone


def made(name: str) -> Backend | None:
    """The device called ``sim``, ``sim:1`` and so on; None if there is none."""
    return next((one for one in DEVICES if one.name == name), None)
