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

from .base import EduWidget


class GraphStepper(EduWidget, room=graph):
    """``GraphStepper(loss_of, x=x, w=w)`` records ``loss_of(x=x, w=w)`` and steps through both passes.

    Gestures: *Step*, *Step back*, *First*, *Last* (keys → ← Home End); the slider; press a card to go to its step, a
    module to open it; *Collapse modules* (m); type a number into a leaf; *Reset* (r). Hovering a leaf marks its uses.
    """

    def __init__(self, function: Callable[..., Any], *, ask: str = "", step: int = 0, **leaves: Tensor) -> None:
        self._function, self._first = function, dict(leaves)
        self._leaves = dict(leaves)
        self.run: graph.GraphRun = graph.record(function, self._leaves)
        self._ask = ask or "Which values will the next step compute, and from which?"
        self._start = max(0, min(step, self.run.steps))
        self.state = self._begin()
        super().__init__()

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
        self.act("goto", self.state.step + by)

    def _act(self, act: str, value: Any) -> None:
        self.state = replace(self.state, message="")
        if act.startswith("leaf:"):
            self._edit(act.removeprefix("leaf:"), value)
        elif act == "toggle":
            self.state = replace(self.state, collapsed=self.state.collapsed ^ {int(value)})
        elif act == "collapse":
            self.state = replace(self.state, collapsed=frozenset() if self.state.collapsed else self._groups())
        elif act == "reset":
            self._leaves = dict(self._first)
            self.run = graph.record(self._function, self._leaves)
            self.state = self._begin()
        elif act == "jump":
            self._go(self._step_of(int(value)))
        elif act == "goto":
            self._go(int(value))
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
        self.run, self._leaves = graph.record(self._function, leaves), leaves  # kept only if the function takes it
        self._go(self.state.step)

    def _refuse(self, error: EduError) -> None:
        self.state = replace(self.state, message=error.sentence())
