"""A simulated accelerator: values by NumPy, time that is virtual, order and memory as on a real one."""

from __future__ import annotations

from ..base import Backend
from .device import SimBackend
from .presets import Machine
from .schedule import Schedule

SCHEDULE = Schedule()


def made() -> Backend:
    """The device called ``sim``."""
    return SimBackend("sim", Machine(), SCHEDULE)
