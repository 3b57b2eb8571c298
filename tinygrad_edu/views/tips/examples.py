"""The picture that explains a tip: its small example, drawn by the widget that it names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ...compiler import Program
from ...data.timeline import passes
from ...inputs.trees import tensors_in
from ...observe.machine import quiet
from ...observe.memory import NOISE, Memory
from ...tips import Picture, Tip
from ...tips.counting import arguments, watched
from .. import broadcast, buffers, fusion, graph, ledger, loading, queue, river
from ..board import Drawing
from ..frame import NARROW, Figure

SMALL = "The same on a small array"
NOTHING = Program((), (), ())
_DRAWN: dict[tuple[str, Picture], tuple[Drawing, ...]] = {}  # laying out a graph takes a while


def picture(tip: Tip) -> tuple[Drawing, ...]:
    """The tip's small example, drawn by its widget. None if the bars show it all."""
    key = tip.slug, tip.picture
    if key not in _DRAWN:
        _DRAWN[key] = EXAMPLES[tip.picture.widget].draw(tip)
    return _DRAWN[key]


def _buffer_map(tip: Tip) -> tuple[Drawing, ...]:
    state = buffers.read(tip.picture.example())
    named = tuple(replace(b, name=str(place)) for place, b in enumerate(state.buffers, 1))  # A and B are the two ways
    return (Drawing(buffers.draw(replace(state, buffers=named, picked=None), NARROW), SMALL),)


def _broadcast_lab(tip: Tip) -> tuple[Drawing, ...]:
    given = tip.picture.example()
    a, b = (broadcast.operand(given[name], step) for name, step in (("a", 1), ("b", 1)))
    state = broadcast.reveal(broadcast.read(a, b, given.get("op", "+")), a, b)
    return (Drawing(broadcast.draw(state, NARROW), SMALL),)


def _graph_stepper(tip: Tip) -> tuple[Drawing, ...]:
    given = tip.picture.example()
    ways = [(letter, given.pop(name)) for letter, name in (("A", "slow"), ("B", "fast"))]
    drawn = []
    for letter, way in ways:
        run = graph.record(way, given)
        last = graph.frame(run, graph.GraphState(run.steps), "", {})
        still = last.narrow
        named = Figure(still.canvas, f"{still.title}, {letter}", still.description)
        drawn.append(Drawing(named, f"The graph of **{letter}**, on a small array"))
    return tuple(drawn)


def _memory_river(tip: Tip) -> tuple[Drawing, ...]:
    """The memory of both ways over time, as the tip runs them; of one, where both are the same run, seen otherwise."""
    rivers = []
    for letter, name in (("A", "slow"), ("B", "fast")):
        way, setting = getattr(tip, name), tip.setting({})
        way(*arguments(tip, setting))  # what Python makes once for new code
        given = arguments(tip, setting)
        with quiet(), Memory(*tensors_in(given)) as memory:
            result = way(*given)
        del result
        rivers.append(river.read(memory, letter))
    told = "The memory of **A** and of **B** over time"
    if _alike(*rivers):
        rivers, told = rivers[:1], "The memory over time, of **A** as of **B**"
    state = river.commit(river.RiverState(("A", "B")[: len(rivers)]), rivers)
    return (Drawing(river.draw(state, NARROW), told),)


def _alike(one: river.River, other: river.River) -> bool:
    """Whether two runs did the same, and took the same memory for it."""
    if [event.what for event in one.events] != [event.what for event in other.events]:
        return False
    return abs(one.highest - other.highest) <= 4 * NOISE


def _queue_timeline(tip: Tip) -> tuple[Drawing, ...]:
    """What host and device do in A and in B, as the tip runs them; of a way that fails, until then."""
    runs = []
    for letter, name in (("A", "slow"), ("B", "fast")):
        with quiet():
            runs.append(queue.read(watched(tip, getattr(tip, name), tip.setting({})), letter))
    return (Drawing(queue.draw(runs, NARROW), "Host and device in **A** and in **B**, simulated"),)


@dataclass(frozen=True)
class Example:
    """How one widget explains a tip: the stages of the machine that it is about, and what it draws."""

    stages: tuple[str, ...]
    draw: Callable[[Tip], tuple[Drawing, ...]]


def _fusion_builder(tip: Tip) -> tuple[Drawing, ...]:
    made = fusion.everything(fusion.chosen(fusion.FusionState(NOTHING, ""), "rows to mean 0"))
    return (Drawing(fusion.draw(made, NARROW, live=False), SMALL),)


def _retrace_ledger(tip: Tip) -> tuple[Drawing, ...]:
    name = "a switch" if tip.slug == "inference-flag" else "a rate that falls"
    made = ledger.chosen(name)
    return (Drawing(ledger.draw(ledger.go(made, len(made.records)), NARROW), SMALL),)


def _loader_gantt(tip: Tip) -> tuple[Drawing, ...]:
    """Who reads the batches in A and in B, and where the loop waits, as the tip runs them: the last two passes."""
    drawn = []
    for letter, name in (("A", "slow"), ("B", "fast")):
        with quiet(), passes() as seen:
            getattr(tip, name)(*arguments(tip, tip.setting({})))
        state = loading.read(seen[-2:], "")
        drawn.append(Drawing(loading.draw(state, NARROW), f"Who reads, and who waits, in **{letter}**, measured once"))
    return tuple(drawn)


EXAMPLES = {
    "LoaderGantt": Example(("device", "queue"), _loader_gantt),
    "FusionBuilder": Example(("buffers", "device"), _fusion_builder),
    "RetraceLedger": Example(("tensors", "queue"), _retrace_ledger),
    "BufferMap": Example(("tensors", "buffers"), _buffer_map),
    "BroadcastLab": Example(("tensors", "buffers"), _broadcast_lab),
    "GraphStepper": Example(("tensors",), _graph_stepper),
    "TimingRace": Example(("tensors", "device"), lambda tip: ()),  # the bars show it all
    "MemoryRiver": Example(("tensors", "buffers"), _memory_river),
    "QueueTimeline": Example(("device", "queue"), _queue_timeline),
}
