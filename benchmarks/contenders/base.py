"""What a contender hands over for a workload."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from benchmarks.harness import Scope
from benchmarks.workloads import Workload

Array = Any


class Unsupported(Exception):
    """The library cannot run this workload; the message says why."""


@dataclass(frozen=True)
class Running:
    """A workload, ready to run in one library."""

    step: Callable[[], Any]  # one step; returns the loss, or the output, as the library has it
    read: Callable[[Any], Array]  # what a step or a parameter is, as a NumPy array that nobody else holds
    state: Callable[[], dict[str, Any]]  # what steps change: parameters, or gradients where nothing is trained
    scope: Scope = nullcontext  # the setting under which steps run
    held: Any = None  # what user code goes on holding: the guard locks exposed arrays only while they live


@dataclass(frozen=True)
class Contender:
    """One line of the table."""

    name: str
    group: str  # how the command line calls it
    package: str  # what must be installed
    make: Callable[[Workload], Running]
