"""Step through an autograd graph, forward and back."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tinygrad_edu import Tensor
from tinygrad_edu.errors import DtypeError, EduError, ShapeError
from tinygrad_edu.tensor import tensor
from tinygrad_edu.views import graph
from tinygrad_edu.views.frame import Frame
from tinygrad_edu.views.given import callables, texts, typed, whole

from .base import EduWidget

ASK = "Which values will the next step compute, and from which?"


class GraphStepper(EduWidget, room=graph):
    """``GraphStepper(loss_of, x=x, w=w)`` records ``loss_of(x=x, w=w)`` and steps through both passes.

    Leaves may also be given by position: ``GraphStepper(loss_of, x, w)``. Numbers and arrays become leaves that want a
    gradient (``x=2.0``); arrays of integers and bools become leaves that want none. ``ask`` is the question, ``step``
    the step to begin at. If the function has a parameter of that name, ``step=…`` is its leaf; give that one by
    position to set the first step too.

    Gestures: *Step*, *Step back*, *First*, *Last* (keys → ← Home End); the slider; press a card to go to its step, a
    module to open it; *Collapse modules* (m); type a number into a leaf; *Reset* (r). Hovering a leaf marks its uses.
    """

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
        first = 0 if step is None else whole("GraphStepper", "step", step)
        self._function = function
        self._first, self._by_position = graph.leaves_of(function, values, leaves)
        self._leaves: dict[str, Tensor] = dict(self._first)
        self.run: graph.GraphRun = self._record(self._leaves)
        self._ask = ask or ASK
        self._start = max(0, min(first, self.run.steps))
        self.state = self._begin()
        super().__init__()

    def _record(self, leaves: dict[str, Tensor]) -> graph.GraphRun:
        return graph.record(self._function, leaves, self._by_position)

    def _begin(self) -> graph.GraphState:
        """The first state: modules of a large graph are closed."""
        return graph.GraphState(self._start, self._groups() if len(self.run.nodes) > 60 else frozenset())

    def _groups(self) -> frozenset[int]:
        return frozenset(node.groups[0][0] for node in self.run.nodes if node.groups)

    def _editable(self) -> dict[str, str]:
        """Leaves that are one number, by name: the learner can type over them."""
        return {name: f"{t.item():g}" for name, t in self._leaves.items() if t.numel() == 1 and t.requires_grad}

    def frame(self) -> Frame:
        """The frame of the current state."""
        return graph.frame(self.run, self.state, self._ask, self._editable())

    def data(self) -> graph.GraphRun:
        """The recorded run."""
        return self.run

    def step(self, by: int = 1) -> None:
        """Go forward by some steps, or back."""
        self.act("goto", self.state.step + whole("GraphStepper.step", "by", by))

    def _act(self, act: str, value: Any) -> None:
        self.state = replace(self.state, message="")
        if act.startswith("leaf:"):
            self._edit(act.removeprefix("leaf:"), value)
        elif act == "toggle":
            self.state = replace(self.state, collapsed=self.state.collapsed ^ {typed(act, value)})
        elif act == "collapse":
            self.state = replace(self.state, collapsed=frozenset() if self.state.collapsed else self._groups())
        elif act == "reset":
            self._leaves = dict(self._first)
            self.run = self._record(self._leaves)
            self.state = self._begin()
        elif act == "jump":
            self._go(self._step_of(typed(act, value)))
        elif act == "goto":
            self._go(typed(act, value))
        else:
            now = self.state.step
            self._go({"first": 0, "back": now - 1, "step": now + 1, "last": self.run.steps}[act])

    def _go(self, step: int) -> None:
        self.state = replace(self.state, step=max(0, min(step, self.run.steps)))

    def _step_of(self, node: int) -> int:
        """The step at which a card was last worked on, in the pass that is shown."""
        ahead = len(self.run.forward)
        for i, back in enumerate(self.run.backward):
            if self.state.step > ahead and (back.node == node or any(s.target == node for s in back.sends)):
                return ahead + i + 1
        return self.run.forward.index(node) + 1 if node in self.run.forward else 0

    def _edit(self, name: str, value: Any) -> None:
        old = self._leaves[name]
        try:
            number = float(str(value).replace("−", "-").replace(",", "."))
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise DtypeError(f"{name} = {value!r}", "it is not a number", "type digits, such as −1.5")
        if old.numel() != 1:
            raise ShapeError(f"{name} = {value!r}", f"{name} has shape {old.shape}", "edit a leaf that is one number")
        changed = tensor([number], dtype=old.dtype, device=old.device).reshape(old.shape)
        leaves = {**self._leaves, name: changed.requires_grad_() if old.requires_grad else changed}
        self.run, self._leaves = self._record(leaves), leaves  # kept only if the function takes it
        self._go(self.state.step)

    def _refuse(self, error: EduError) -> None:
        self.state = replace(self.state, message=error.sentence())
