"""How gradients flow: the norm of each parameter's gradient at each step, and how far the step moved it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from .. import backends
from ..common.blocks import Block
from ..common.wording import number, plural, shown
from ..errors import ArgumentError
from ..nn.module import Module
from ..optim.optimizer import Optimizer, register_optimizer_step_post_hook, register_optimizer_step_pre_hook


@dataclass(frozen=True)
class Passage:
    """One parameter at one step. Norms are Euclidean, over all its elements."""

    name: str
    gradient: float  # norm
    weight: float  # norm, before the step
    update: float  # norm of what the step changed

    @property
    def ratio(self) -> float:
        """Update to weight. In networks that train well it is often near 0.001 (Karpathy 2022, "makemore" part 3)."""
        return self.update / self.weight if self.weight else math.inf if self.update else 0.0


class Flow(Block):
    """Watches the steps of every optimiser that moves parameters of ``model``, while its ``with`` block runs.

    ``steps`` holds one dict for each step, of `Passage` by the parameter's name, in the order of the model. It prints
    as a table of the last step. Each step copies the parameters first. Raises `ArgumentError` where the model is no
    `nn.Module`.

    >>> import tinygrad_edu as tg
    >>> model = tg.nn.Linear(2, 1, bias=False)
    >>> step = tg.optim.SGD(model.parameters(), lr=0.5)
    >>> with Flow(model) as flow:
    ...     model(tg.tensor([[3.0, 4.0]])).sum().backward()
    ...     step.step()
    >>> flow.steps[0]["weight"].gradient, flow.steps[0]["weight"].update
    (5.0, 2.5)
    """

    def __init__(self, model: Module) -> None:
        if not isinstance(model, Module):
            why, mend = "it has no parameters with names", "give an nn.Module"
            raise ArgumentError(f"Flow of {shown(model, 40)}", why, mend)
        self.model = model
        self.steps: list[dict[str, Passage]] = []
        self._open = []
        self._before: dict[str, tuple[Any, Any]] = {}  # what the step under way moves, with a copy of the array

    def __enter__(self) -> Flow:
        if self._open:
            why, mend = "every step would count twice", "use a second one: with Flow(model) as inner:"
            raise ArgumentError("Flow inside itself", why, mend)
        self._open.append([
            register_optimizer_step_pre_hook(self._look), register_optimizer_step_post_hook(self._compare)
        ])  # fmt: skip
        return self

    def _restore(self, found: Any) -> None:
        for handle in found:
            handle.remove()

    def _look(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        own = {id(tensor) for group in optimizer.param_groups for tensor in group["params"]}
        moved = ((n, t) for n, t in self.model.named_parameters() if id(t) in own and t.gradient is not None)
        self._before = {name: (tensor, backends.of(tensor.array).xp.copy(tensor.array)) for name, tensor in moved}

    def _compare(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        found = {
            name: Passage(name, _norm(tensor.gradient.array), _norm(before), _norm(tensor.array - before))
            for name, (tensor, before) in self._before.items()
            if tensor.gradient is not None  # the step may have let it go
        }
        self.steps += [found] if found else []
        self._before = {}

    # What was found -------------------------------------------------------------------------------------------------

    def gradients(self, name: str) -> list[float]:
        """The norm of one parameter's gradient, step by step. Raises `ArgumentError` for a name that never moved."""
        return [one.gradient for one in self._of(name)]

    def ratios(self, name: str) -> list[float]:
        """Update to weight of one parameter, step by step. Raises `ArgumentError` for a name that never moved."""
        return [one.ratio for one in self._of(name)]

    def _of(self, name: str) -> list[Passage]:
        found = [step[name] for step in self.steps if name in step]
        if not found:
            there = ", ".join(dict.fromkeys(one for step in self.steps for one in step)) or "none yet"
            raise ArgumentError(f"the parameter {name!r}", "no step has moved it", f"moved were: {there}")
        return found

    @property
    def first_bad(self) -> tuple[int, str] | None:
        """The step, from 0, and the last parameter of the model whose gradient was first not a finite number."""
        for place, step in enumerate(self.steps):
            for one in reversed(step.values()):  # backward reaches the last one first
                if not math.isfinite(one.gradient):
                    return place, one.name
        return None

    def __repr__(self) -> str:
        if not self.steps:
            return "Flow: no step yet"
        rows = [("parameter", "gradient", "update / weight")]
        rows += [(one.name, number(one.gradient), number(one.ratio)) for one in self.steps[-1].values()]
        widths = [max(len(row[i]) for row in rows) for i in range(3)]
        lines = [f"  {row[0]:<{widths[0]}}  {row[1]:>{widths[1]}}  {row[2]:>{widths[2]}}" for row in rows]
        bad = self.first_bad
        ending = [f"from step {bad[0] + 1} on, gradients are not finite: {bad[1]} first"] if bad else []
        return "\n".join([f"Flow: {plural(len(self.steps), 'step')}, norms at the last one", *lines, *ending])


def _norm(array: Any) -> float:
    values = backends.of(array).to_numpy(array).astype("float64")
    return math.sqrt(float((values * values).sum()))
