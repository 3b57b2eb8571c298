"""A model run forward and backward with a number of segments, and everything that it keeps alive meanwhile.

The bytes of tensors, gradients and what is saved for backward are counted, so they are the same in every run. What an
operation needs only while it runs is known to the allocator alone, which Python's own objects and other threads use
too. So each run is made twice, the smaller of both figures holds, and it is rounded down to whole pages.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Callable, Sequence
from copy import deepcopy
from itertools import accumulate
from typing import Any

import numpy as np

from ...common.wording import first_line, number, shown
from ...errors import ArgumentError, AutogradError, EduError
from ...inputs.trees import tensors_in
from ...nn.containers import ModuleList, Sequential
from ...nn.module import Module
from ...observe.machine import quiet
from ...observe.memory import NOISE, Memory, Moment
from ...observe.memory.books import TURNS
from ...observe.results import Comparison
from ...observe.stopping import Stopped
from ...observe.timing import compare
from ...settings import enable_grad, no_grad
from ...tensor import Tensor, as_tensor
from ...tensor.random import seeded
from ...utils.checkpoint import checkpoint_sequential
from ..given import callables, refusal
from ..streams import fresh_streams
from .model import OWNERS, Event, Run, parts

PAGE = 4096
OBJECTS = 4096  # bytes of Python objects that one event may leave behind: nodes, and notes of those who watch
_BAND = {"parameters": "parameter", "data": "data", "gradients": "gradient", "kept": "temporary",
         "segment": "activation", "workspace": "workspace"}  # fmt: skip
_KEPT_BY_HAND = "Checkpoint"  # the node of a whole segment: it computes nothing by itself


class _AsMade(Memory):
    """What the first pass of a checkpoint has made stays apart from what is made for the graph."""

    turns = TURNS[:1]


class Subject:
    """Layers in a row, what goes in, and a loss. It keeps copies, and each run is made with further ones.

    So neither gradients nor running statistics of the learner's own model change, and each run begins alike.
    """

    def __init__(self, model: Any, x: Any, loss: Callable[[Any], Any] | None = None) -> None:
        found = _layers(model)
        if x is None:
            raise refusal(CALLED, "x", x, "it is what goes into the first layer", "write CheckpointSlider(model, x)")
        if loss is not None:
            callables(CALLED, loss=loss)
        self.loss = loss
        try:
            given = as_tensor(x)
            self._x = given.detach().clone().requires_grad_(given.requires_grad)
            self._layers = deepcopy(found)
        except Exception as error:
            why = f"no copy can be made to run ({first_line(error)})"
            raise refusal(CALLED, "model, x", x, why, "give layers and a tensor") from error
        self.count = len(found)
        self._gradients: list[Any] = []  # of the run without cuts

    def plain(self) -> Run:
        """The run without cuts. Raises `ArgumentError` if the layers cannot be run, or nothing wants a gradient."""
        try:
            with quiet():
                return self.run(1)
        except EduError as error:
            told = error.sentence()
        except Exception as error:  # it may be anybody's code
            told = first_line(error)
        loss = "" if self.loss is None else f", loss={shown(self.loss, 40)}"
        tried = f"{CALLED}(model, x of shape {tuple(self._x.shape)}, {self._x.dtype}{loss})"
        raise ArgumentError(tried, f"the run without cuts ended: {told}".rstrip("."), "try model(x) by itself first")

    def cut(self) -> int:
        """The bytes of a layer's result, as a mean over all places for a cut."""
        sizes = []
        with no_grad(), fresh_streams(), seeded(0):
            value = self._x
            for layer in deepcopy(self._layers)[:-1]:
                value = layer(value)
                sizes.append(sum(tensor.nbytes for tensor in tensors_in(value)))
        return round(sum(sizes) / len(sizes))

    def sweep(self, counts: Sequence[int], tell: Callable[[int, int, float], bool]) -> tuple[Run, ...]:
        """A run for each number of segments, until ``tell(done, total, seconds_left)`` returns False.

        The run without cuts is made again at first: another thread may add up matrix products in another order, and
        the gradients of all runs should be comparable bit for bit.
        """
        found: list[Run] = []
        start, every = time.monotonic(), [1, *counts]
        with quiet(tell):
            for done, segments in enumerate(every):
                left = (time.monotonic() - start) / max(done, 1) * (len(every) - done)
                if not tell(done, len(every), left):
                    break
                try:
                    found.append(self.run(segments))
                except Stopped:  # in the middle of a run: those before it are kept
                    break
        return tuple(found[1:])

    def run(self, segments: int) -> Run:
        """Two runs with so many segments, as one."""
        with enable_grad():
            first, _, _, _ = self._once(segments)
            second, starts, gradients, moved = self._once(segments)
        if segments == 1:
            self._gradients, self._moved = gradients, moved
        ends = list(accumulate(parts(self.count, segments)))
        events = _events(first, second, [(moment, bisect_right(ends, layer) + 1) for moment, layer in starts])
        counted = [event for event in events if event.op != _KEPT_BY_HAND]
        forward, again = (sum(event.phase == phase for event in counted) for phase in ("forward", "again"))
        other = tuple(name for name in moved if not _same(moved[name], self._moved.get(name)))
        return Run(segments, events, forward, again, _difference(gradients, self._gradients), other)

    def time(self, segments: int, budget: float, progress: Any) -> Comparison:
        """The run without cuts and the one with them, in turns on the clock, with nobody watching memory."""
        names = ("1 segment", f"{segments} segments")
        with enable_grad(), fresh_streams(), seeded(0):
            return compare(
                lambda layers, x: self._step(layers, 1, x), lambda layers, x: self._step(layers, segments, x),
                setup=self._fresh, budget=budget, progress=progress, names=names,
            )  # fmt: skip

    def _fresh(self) -> tuple[list[Any], Tensor]:
        """Layers and input as they were given."""
        return deepcopy(self._layers), self._x.detach().requires_grad_(self._x.requires_grad)

    def _once(self, segments: int) -> tuple[Memory, list[tuple[int, int]], list[Any], dict[str, Any]]:
        """What one run kept alive, at which moment each layer began, all gradients, and the buffers after it.

        All runs draw the same random numbers.
        """
        layers, x = self._fresh()
        starts: list[tuple[int, int]] = []
        modules = [layer for layer in layers if isinstance(layer, Module)]
        with fresh_streams(), seeded(0), _AsMade(*modules, x) as seen:
            noted = [_noted(layer, place, lambda at: starts.append((len(seen.moments), at)))
                     for place, layer in enumerate(layers)]  # fmt: skip
            self._step(noted, segments, x)
        leaves = [parameter for module in modules for parameter in module.parameters()] + [x]
        gradients = [None if leaf.grad is None else np.array(leaf.grad.numpy()) for leaf in leaves]
        buffers = {
            f"{place}.{name}": np.array(buffer.numpy())
            for place, layer in enumerate(layers) if isinstance(layer, Module)
            for name, buffer in layer.named_buffers()
        }  # fmt: skip
        return seen, starts, gradients, buffers

    def _step(self, layers: list[Any], segments: int, x: Tensor) -> None:
        """Forward and backward."""
        result = checkpoint_sequential(layers, segments, x)
        if not isinstance(result, Tensor):
            why = f"the last layer returns {shown(result, 40)}"
            raise AutogradError("the loss", why, "let it return one tensor")
        loss = result.sum() if self.loss is None else self.loss(result)
        if not isinstance(loss, Tensor) or loss.numel() != 1 or not loss.requires_grad:
            why = f"{shown(loss, 60)} is not one number with a gradient"
            mend = "let some layer have parameters, and loss return one number"
            raise AutogradError("the loss", why, mend)
        del result
        loss.backward()


CALLED = "CheckpointSlider"


def _layers(model: Any) -> list[Any]:
    """The layers of an nn.Sequential, or of a list. Raises `ArgumentError` for anything else."""
    steps = list(model) if isinstance(model, (Sequential, ModuleList)) else model
    if not isinstance(steps, (list, tuple)) or not steps or not all(map(callable, steps)):
        why, mend = (
            "its layers are run one after the other",
            "give an nn.Sequential, or a list of modules and functions",
        )
        raise refusal(CALLED, "model", model, why, mend)
    if len(steps) < 2:
        raise refusal(CALLED, "model", model, "one layer cannot be divided", "give two layers or more")
    return list(steps)


def _noted(layer: Callable[[Any], Any], place: int, begins: Callable[[int], None]) -> Callable[[Any], Any]:
    """The layer, which says when it begins."""

    def call(value: Any) -> Any:
        begins(place)
        return layer(value)

    return call


# Two runs as one ---------------------------------------------------------------------------------------------------


def _events(first: Memory, second: Memory, starts: Sequence[tuple[int, int]]) -> tuple[Event, ...]:
    """The events of two runs that did the same, each with the smaller of what only the allocator knows.

    ``starts`` says at which moments of the second run which segment went to work.
    """
    events: list[Event] = []
    back = False
    begun = [moment for moment, _ in starts]
    places = {id(moment): place for place, moment in enumerate(second.moments)}
    for one, other in _pairs(first.moments, second.moments):
        back = back or other.phase == "backward"
        phase = "again" if back and other.phase == "forward" else other.phase
        then, by = first.by_owner(one.most), second.by_owner(other.most)
        spare = min(by["workspace"], then["workspace"])
        outside = min(by["elsewhere"], then["elsewhere"])
        foreign = outside > NOISE + OBJECTS * len(events)
        by["workspace"] = max(spare, 0) // PAGE * PAGE + (outside // PAGE * PAGE if foreign else 0)
        _, segment = starts[max(bisect_right(begun, places[id(other)]) - 1, 0)]
        events.append(Event(phase, other.op, tuple(by[_BAND[owner]] for owner in OWNERS), segment))
    return tuple(events)


def _pairs(first: Sequence[Moment], second: Sequence[Moment]) -> list[tuple[Moment, Moment]]:
    """Which event of one run is which of the other. What lies between operations may be noise in one of them."""
    for found in ([*first], [*second]), ([*filter(_done, first)], [*filter(_done, second)]):
        one, other = found
        if [(m.phase, m.op) for m in one] == [(m.phase, m.op) for m in other]:
            return list(zip(one, other, strict=True))
    return [(moment, moment) for moment in second]


def _done(moment: Moment) -> bool:
    return moment.phase != "between"


def _same(one: Any, other: Any) -> bool:
    return one is other or (one is not None and other is not None and np.array_equal(one, other, equal_nan=True))


def _difference(found: list[Any], wanted: list[Any]) -> str:
    """How gradients differ from those without cuts; "" if all are bit for bit the same."""
    far = 0.0
    for one, other in zip(found, wanted, strict=True):
        if (one is None) is not (other is None):
            return "one of them has a gradient that the other has not"
        if not _same(one, other):
            far = max(far, float(np.max(np.abs(one - other)) / (np.max(np.abs(other)) or 1)))
    return f"they differ by {number(far)} of the largest" if far else ""
