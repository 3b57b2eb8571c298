"""Adagrad."""

from __future__ import annotations

from typing import Any

from ..inputs.kinds import explain_all
from .bundle import Array, Bundle
from .optimizer import Group, Params
from .stepping import InPlaceOptimizer


class Adagrad(InPlaceOptimizer):
    """Steps of ``lr * grad / (sqrt(s) + eps)``, where ``s`` adds up all squared gradients.

    The rate at step ``t`` is ``lr / (1 + (t - 1) * lr_decay)``. ``weight_decay`` adds ``weight_decay * p`` to the
    gradient. Raises `ArgumentError` for impossible settings.

    Source: Duchi, Hazan and Singer, 2011, https://jmlr.org/papers/v12/duchi11a.html
    """

    scratch = 2

    def __init__(
        self,
        params: Params,
        lr: float = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        self.one_way(foreach=foreach, differentiable=differentiable, fused=fused)
        defaults: dict[str, Any] = {
            "lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value, "maximize": maximize,
        }  # fmt: skip
        super().__init__(params, defaults)

    def check(self, group: Group) -> None:
        self.need(group, lr=0, lr_decay=0, weight_decay=0, initial_accumulator_value=0, eps=0)

    def state_names(self) -> set[str]:
        return {"step", "sum"}

    def remembers(self, group: Group) -> dict[str, float]:
        return {"sum": float(group["initial_accumulator_value"])}

    def update(self, group: Group, at: Bundle, p: Array, g: Array) -> None:
        write, (a, b) = at.write, at.scratch
        rate, eps = at.numbers(group["lr"] / (1 + (at.count - 1) * group["lr_decay"]), group["eps"])
        s = at.state["sum"]
        d = self.descent(at, p, g, b, group["weight_decay"], group["maximize"])
        write.multiply(d, d, a)
        s += a
        write.sqrt(s, a)
        a += eps
        write.divide(d, a, a)
        a *= rate
        p -= a


explain_all(globals())
