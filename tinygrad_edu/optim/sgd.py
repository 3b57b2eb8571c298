"""Stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from ..inputs.kinds import explain_all
from ..settings import no_grad
from ..tensor import Tensor
from .bundle import Array, Bundle
from .optimizer import Group, Params
from .stepping import InPlaceOptimizer


class SGD(InPlaceOptimizer):
    """``p -= lr * v`` with ``v = momentum * v + (1 - dampening) * grad``, where the first ``v`` is the gradient itself.

    ``nesterov`` looks ahead by one more momentum step; ``weight_decay`` adds ``weight_decay * p`` to the gradient;
    ``maximize`` climbs. Raises `ArgumentError` for impossible settings.
    """

    tallies: ClassVar[dict[str, float]] = {}

    def __init__(
        self,
        params: Params,
        lr: float = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        self.one_way(foreach=foreach, differentiable=differentiable, fused=fused)
        defaults: dict[str, Any] = {
            "lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay,
            "nesterov": nesterov, "maximize": maximize,
        }  # fmt: skip
        super().__init__(params, defaults)

    def check(self, group: Group) -> None:
        self.need(group, lr=0, momentum=0, weight_decay=0)
        if group["nesterov"] and (not group["momentum"] or group["dampening"]):
            why = "it looks ahead along the momentum, which must not be 0 or dampened"
            self.refuse("nesterov=True", why, "give momentum=0.9, and leave dampening at 0")

    def state_names(self) -> set[str]:
        return {"momentum_buffer"}

    def remembers(self, group: Group) -> dict[str, float]:
        return {"momentum_buffer": 0.0} if group["momentum"] else {}

    def form(self) -> Any:
        groups = self.param_groups
        if type(self) is not SGD or self._hooked or any(group["momentum"] for group in groups):
            return None
        if any(isinstance(group[name], Tensor) for group in groups for name in ("lr", "weight_decay")):
            return None  # whose number a recording may not ask for
        return [(bool(group["weight_decay"]), group["maximize"], *map(id, group["params"])) for group in groups]

    @no_grad()
    def by_operations(self, number: Callable[[Callable[[], float]], Tensor]) -> None:
        def setting(i: int, name: str) -> Callable[[], float]:
            return lambda: float(self.param_groups[i][name])

        for i, group in enumerate(self.param_groups):
            lr, decay = (number(setting(i, name)) for name in ("lr", "weight_decay"))
            for p in group["params"]:
                if p.grad is None:
                    continue
                d = -p.grad if group["maximize"] else p.grad
                p -= (p * decay + d if group["weight_decay"] else d) * lr

    def update(self, group: Group, at: Bundle, p: Array, g: Array) -> None:
        write, (a,) = at.write, at.scratch
        lr, momentum, share, ahead = at.numbers(
            group["lr"], group["momentum"], 1 - group["dampening"], group["lr"] * group["momentum"]
        )
        d = self.descent(at, p, g, a, group["weight_decay"], group["maximize"])
        if not group["momentum"]:
            write.multiply(d, lr, a)
            p -= a
            return
        v = at.state["momentum_buffer"]
        if at.first:
            v[...] = d
        else:
            v *= momentum
            if group["dampening"]:
                write.multiply(d, share, a)
                d = a
            v += d
        if group["nesterov"]:  # lr * (d + momentum * v), in one write to p: an interrupt finds it old or new
            b = at.spare(self._room)
            write.multiply(d, lr, a)
            write.subtract(p, a, a)
            write.multiply(v, ahead, b)
            write.subtract(a, b, p)
            return
        write.multiply(v, lr, a)
        p -= a


explain_all(globals())
