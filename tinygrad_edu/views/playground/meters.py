"""What a step costs: its time by the clock, and bytes, graph nodes and operations by counting."""

from __future__ import annotations

import statistics
import time
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from ... import backends
from ...core.base import TensorBase
from ...core.graph import Node
from ...observe.counters import Counters, bytes_of
from . import machine
from .model import Reading
from .training import Loop

RUNS = 25  # steps whose times are kept
ENOUGH = 5  # times that make a median
COUNTED = 1  # of the steps after a change, the second is counted: the first still meets what was there before

# The processor time of this thread, where it can be read finely: it does not grow while another thread has its turn.
_clock = time.thread_time if time.get_clock_info("thread_time").resolution < 1e-6 else time.perf_counter


def nodes_of(*held: Any) -> set[Node]:
    """All graph nodes that these tensors keep alive, leaves too. Anything else holds none."""
    found: set[Node] = set()
    waiting = [one.node for one in held if isinstance(one, TensorBase) and one.node is not None]
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting += [parent for parent in node.parents if parent is not None]
    return found


def _arrays(tree: Any) -> Iterator[Any]:
    if isinstance(tree, dict):
        tree = tree.values()
    if isinstance(tree, (tuple, list)) or (not hasattr(tree, "dtype") and isinstance(tree, Iterable)):
        for item in () if isinstance(tree, str) else tree:
            yield from _arrays(item)
    elif isinstance(tree, TensorBase):
        yield tree.array
    elif hasattr(tree, "dtype"):
        yield tree


def standing(loop: Loop) -> dict[int, Any]:
    """Every buffer of the script that is alive between two steps: weights, gradients, the optimiser's state, what its
    names hold, and what compiled programs work in. Not the digits themselves."""
    held: list[Any] = [loop.loss, loop.total, loop.test_loss]
    held += [node.saved for node in nodes_of(*loop.names)]
    for p in loop.model.parameters():
        held += [p, p.grad, *loop.optimizer.state.get(p, {}).values()]
    for code in loop.codes:
        held += [one for one in (*getattr(code, "slabs", ()), *code.constants.values()) if isinstance(one, np.ndarray)]
    found = {}
    digits = {id(owner(one.array)) for one in (loop.x, loop.y, loop.test_x, loop.test_y)}
    for array in _arrays(held):
        if array.ndim:
            buffer = owner(array)
            if id(buffer) not in digits:
                found[id(buffer)] = buffer
    return found


def owner(array: Any) -> Any:
    """The array that has the memory."""
    return backends.of(array).owner(array)


def standing_bytes(loop: Loop) -> int:
    """How many bytes those are."""
    return sum(map(bytes_of, standing(loop).values()))


class _Counted(Counters):
    """Counts a step of a loop. What a compiled program makes is seen when it has run: its gradients, and on a device,
    where nothing is made beforehand for it to work in, the most that it held meanwhile."""

    def __init__(self, loop: Loop) -> None:
        super().__init__()
        self.loop = loop

    def forward(self, call: Any, proceed: Any) -> Any:
        """Count one operation, and the gradients that are new since the last one."""
        for p in self.loop.model.parameters():
            if p.grad is not None:
                self.made(p.grad.array, "gradient")
        return super().forward(call, proceed)

    def outside(self, what: str, *given: Any) -> None:
        """Count a program."""
        if what == "program" and self.loop.device != "cpu":
            self.peak = max(self.peak, self.live + given[0].peak)
        super().outside(what, *given)


class Meters:
    """Reads a loop. `step` takes one step and notes its time; now and then it counts instead."""

    def __init__(self, loop: Loop) -> None:
        self.loop = loop
        self.begin()

    def begin(self) -> None:
        """Forget what was read: from here on a step is another one."""
        self.times: deque[float] = deque(maxlen=RUNS)
        self.since = 0
        self.peak = self.stood = self.operations = 0
        self.device: machine.Step | None = None  # what the last step took there

    @property
    def lacking(self) -> int:
        """How many more steps it takes until all meters say something."""
        return max(0, COUNTED + 1 + ENOUGH - self.since)

    def step(self) -> None:
        """One step."""
        self.loop.shuffle()
        if self.since == COUNTED:
            self._count()
        else:
            took = self._timed()
            if self.since > COUNTED:
                self.times.append(took)
        self.since += 1

    def _timed(self) -> float:
        """Seconds that one step takes: by the clock, or on a simulated device by its own."""
        if self.loop.knobs.device != "cpu":
            self.device = machine.watch(self.loop.step, self.loop.machine)
            return self.device.seconds
        start = _clock()
        self.loop.step()
        return _clock() - start

    def _count(self) -> None:
        """One step that is counted, with the program's own buffers among what is alive."""
        self.stood = standing_bytes(self.loop)
        with _Counted(self.loop) as counted:
            for buffer in standing(self.loop).values():
                counted.made(buffer, "created")
            self._timed()
        self.peak, self.operations = counted.peak, counted.calls

    def reading(self) -> Reading:
        """What the meters say now. Where names keep more alive from step to step, bytes and nodes grow."""
        nodes = len(nodes_of(*self.loop.names)) if self.since else None  # not those of steps before the change
        if self.since <= COUNTED:
            return Reading(nodes=nodes)
        grown = max(0, standing_bytes(self.loop) - self.stood) if "total" in self.loop.on else 0
        counted = Reading(bytes=self.peak + grown, nodes=nodes, operations=self.operations)
        if self.device is not None:
            there = self.device
            counted = replace(counted, transfers=there.transfers, moved=there.moved, idle=there.idle)
        if len(self.times) < ENOUGH:
            return counted
        if self.device is not None:  # where all steps take the same time
            low = middle = high = statistics.median_low(self.times)
        else:
            low, middle, high = statistics.quantiles(self.times, n=4)
        return replace(counted, time=middle, low=low, high=high, runs=len(self.times))
