"""When to record: `schedule`, whose answers are PyTorch's."""

from __future__ import annotations

import enum
from collections.abc import Callable

from ...errors import ArgumentError


class ProfilerAction(enum.Enum):
    """What a profile does in a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


class ProfilerActivity(enum.Enum):
    """What is recorded. Operations on this machine's processor are what there is."""

    CPU = 0
    CUDA = 1


def supported_activities() -> set[ProfilerActivity]:
    """What can be recorded here."""
    return {ProfilerActivity.CPU}


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Callable[[int], ProfilerAction]:
    """Skip ``skip_first`` steps, then again and again: wait, warm up, record. ``repeat`` rounds, or without end for 0.

    In the steps that warm up, nothing is kept. With ``skip_first_wait`` the first round does not wait.

    >>> plan = schedule(wait=1, warmup=1, active=2)
    >>> [plan(step).name for step in range(5)]
    ['NONE', 'WARMUP', 'RECORD', 'RECORD_AND_SAVE', 'NONE']
    """
    given = {"wait": wait, "warmup": warmup, "active": active, "repeat": repeat, "skip_first": skip_first}
    for name, value in given.items():
        if isinstance(value, bool) or not isinstance(value, int) or value < (name == "active"):
            least = int(name == "active")
            raise ArgumentError(
                f"schedule with {name}={value!r}", "it counts steps", f"use a whole number from {least} on"
            )

    def answer(step: int) -> ProfilerAction:
        if step < skip_first:
            return ProfilerAction.NONE
        step -= skip_first
        if skip_first_wait:
            step += wait
        length = wait + warmup + active
        if repeat and step >= repeat * length:
            return ProfilerAction.NONE
        place = step % length
        if place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if place < length - 1 else ProfilerAction.RECORD_AND_SAVE

    return answer
