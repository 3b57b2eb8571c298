"""Step through an autograd graph, forward and back."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

from tinygrad_edu import Tensor
from tinygrad_edu.common.wording import shown
from tinygrad_edu.errors import AutogradError, DtypeError, EduError, IndexRangeError, ShapeError
from tinygrad_edu.tensor import tensor
from tinygrad_edu.views import graph
from tinygrad_edu.views.given import callables, texts, typed, whole
from tinygrad_edu.views.streams import here, streams_kept

from .walking import Walking
from .watching import forget, look_around, watch

ASK = "Which values does each step compute, and from which?"


class Take(NamedTuple):
    """One recording: the run, the leaves it was given, and what to look at to see whether they still hold."""

    run: graph.GraphRun
    leaves: dict[str, Tensor]
    witness: graph.Witness


class GraphStepper(Walking, room=graph):
    """``GraphStepper(loss_of, x=x, w=w)`` records ``loss_of(x=x, w=w)`` and steps through both passes.

    Leaves may also be given by position: ``GraphStepper(loss_of, x, w)``. Numbers and arrays become leaves that want a
    gradient (``x=2.0``); arrays of integers and bools become leaves that want none. ``ask`` is the question, ``step``
    the step to begin at. If the function has a parameter of that name, ``step=…`` is its leaf; give that one by
    position to set the first step too.

    Gestures: *Step*, *Step back*, *First*, *Last* (keys → ← Home End); the slider; press a card to go to its step, a
    closed module to open it, an open module's name to close it; *Collapse modules* (m); press the small map of a large
    graph to go there; type a number into a leaf; *Reset* (r). Hovering a leaf marks its uses.

    ``step`` and ``steps`` are traits: ``stepper.step = 5`` goes there, and they can be observed and linked.

    The stepper shows the moment of its making. *Reset* brings back that run. Once a tensor that it used has been
    written or replaced, it says so, and *Record again* records a run with today's values. Functions that draw random
    numbers draw the same ones in each run, until *Record again*; the program's own numbers are not used up.
    """

    mirrors: ClassVar[dict[str, str]] = {"step": "goto"}

    def __init__(
        self, function: Callable[..., Any], /, *values: Any, ask: Any = ASK, step: Any = None, **leaves: Any
    ) -> None:
        callables("GraphStepper", function=function)
        free = graph.free_names(function, values)
        if "ask" in free and ask is not ASK:
            leaves, ask = {"ask": ask, **leaves}, ASK
        if "step" in free and step is not None:
            leaves, step = {"step": step, **leaves}, None
        texts("GraphStepper", ask=ask)
        start = 0 if step is None else whole("GraphStepper", "step", step)
        self._function = function
        self._given, self._by_position = graph.leaves_of(function, values, leaves)
        self._ask = ask or ASK
        self._start_over()
        self._start = max(0, min(start, self.run.steps))
        self.state = self._begin()
        super().__init__()
        watch(self)

    @property
    def run(self) -> graph.GraphRun:
        """The recorded run."""
        return self._take.run

    def _start_over(self) -> None:
        """Record with today's values: this is the run that *Reset* brings back."""
        self._rewind = here()
        self._take = self._first = self._record(self._given)
        self._stale: tuple[str, ...] = ()

    def _record(self, leaves: dict[str, Tensor]) -> Take:
        with streams_kept():
            self._rewind()
            made = graph.recording(self._function, leaves, self._by_position)
        return Take(made.run, leaves, graph.Witness(self._function, made.given, made.found))

    def _begin(self) -> graph.GraphState:
        """The first state: modules of a large graph are closed."""
        return graph.GraphState(self._start, graph.first_closed(self.run))

    def _editable(self) -> dict[str, str]:
        """Leaves that are one number, by name: the learner can type over them. One tensor has one box."""
        known: set[int] = set()
        found = {}
        for name, leaf in self._take.leaves.items():
            if leaf.numel() == 1 and leaf.requires_grad and id(leaf) not in known:
                found[name] = f"{leaf.item():g}"
            known.add(id(leaf))
        return found

    def frame(self) -> graph.Walk:
        """The frame of the current state."""
        return graph.frame(self.run, self.state, self._ask, self._editable(), graph.stale_sentence(self._stale))

    def mirrored(self) -> dict[str, Any]:
        """The step, and how many there are."""
        return {"step": self.state.step, "steps": self.run.steps}

    def data(self) -> graph.GraphRun:
        """The recorded run."""
        return self.run

    def forward(self, by: int = 1) -> None:
        """Go on by some steps."""
        self.act("goto", self.state.step + whole("GraphStepper.forward", "by", by))

    def back(self, by: int = 1) -> None:
        """Go back by some steps."""
        self.act("goto", self.state.step - whole("GraphStepper.back", "by", by))

    def look(self) -> None:
        """Look whether the tensors of the run are as they were, and say so if they are not."""
        with self._lock:
            stale = self._take.witness.changed()
            if stale != self._stale:
                self._stale = stale
                self._show()

    def close(self) -> None:
        """Take the widget off the page."""
        forget(self)
        super().close()

    def _answer(self, act: str, value: Any, patient: bool) -> None:
        super()._answer(act, value, patient)
        if act.startswith("leaf:") or act in ("again", "reset"):  # these ran, or showed, something else
            look_around(self)

    def _act(self, act: str, value: Any) -> None:
        self.state = replace(self.state, message="")
        if act.startswith("leaf:"):
            self._edit(act.removeprefix("leaf:"), value)
        elif act == "toggle":
            self.state = replace(self.state, collapsed=self.state.collapsed ^ {typed(act, value)})
        elif act == "collapse":
            closed = frozenset() if self.state.collapsed else graph.outermost(self.run)
            self.state = replace(self.state, collapsed=closed)
        elif act == "reset":
            self._take = self._first
            self._stale = self._take.witness.changed()
            self.state = self._begin()
        elif act == "again":
            self._start_over()
            self._go(self.state.step)
        elif act == "jump":
            ahead, behind = graph.steps_of(self.run, self._known(act, typed(act, value), len(self.run.nodes)))
            self._go(behind if self.state.step > len(self.run.forward) else ahead)
        elif act == "goto":
            self._go(typed(act, value))
        else:
            now = self.state.step
            self._go({"first": 0, "back": now - 1, "step": now + 1, "last": self.run.steps}[act])

    def _known(self, act: str, node: int, count: int) -> int:
        if not 0 <= node < count:
            raise IndexRangeError(f"{act} to card {shown(node, 40)}", f"the cards are 0 to {count - 1}", "press a card")
        return node

    def _go(self, step: int) -> None:
        self.state = replace(self.state, step=max(0, min(step, self.run.steps)))

    def _edit(self, name: str, value: Any) -> None:
        leaves = self._take.leaves
        old = leaves[name]
        self._stale = self._take.witness.changed()
        if self._stale:
            raise AutogradError(f"{name} = {value!r}", graph.stale_sentence(self._stale), "press Record again first")
        try:
            number = float(str(value).replace("−", "-").replace(",", "."))
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise DtypeError(f"{name} = {value!r}", "it is not a number", "type digits, such as −1.5")
        if old.numel() != 1:
            raise ShapeError(f"{name} = {value!r}", f"{name} has shape {old.shape}", "edit a leaf that is one number")
        changed = tensor([number], dtype=old.dtype, device=old.device).reshape(old.shape)
        changed = changed.requires_grad_() if old.requires_grad else changed
        self._take = self._record({key: changed if leaf is old else leaf for key, leaf in leaves.items()})
        self.state = replace(self.state, collapsed=self.state.collapsed & graph.module_calls(self.run))
        self._go(self.state.step)  # a shorter run ends earlier

    def _refuse(self, error: EduError) -> None:
        self.state = replace(self.state, message=error.sentence())
