"""Adadelta."""

from __future__ import annotations

from typing import Any

from ..inputs.kinds import explain_all
from .bundle import Array, Bundle
from .optimizer import Group, Params
from .stepping import InPlaceOptimizer


class Adadelta(InPlaceOptimizer):
    """Steps of ``lr * sqrt(u + eps) / sqrt(v + eps) * grad``: ``u`` and ``v`` are running means of squares.

    ``v`` is that of the gradient, ``u`` that of the step before ``lr`` is applied, so a step has the unit of its
    parameter. Both keep the fraction ``rho``. ``weight_decay`` adds ``weight_decay * p`` to the gradient. Raises
    `ArgumentError` for impossible settings.

    Source: Zeiler, 2012, https://arxiv.org/abs/1212.5701
    """

    scratch = 3

    def __init__(
        self,
        params: Params,
        lr: float = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        self.one_way(foreach=foreach, capturable=capturable, differentiable=differentiable)
        defaults: dict[str, Any] = {
            "lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize,
        }  # fmt: skip
        super().__init__(params, defaults)

    def check(self, group: Group) -> None:
        self.need(group, lr=0, rho=0, eps=0, weight_decay=0)
        if group["rho"] > 1:
            self.refuse(f"rho={group['rho']}", "it is the fraction that a mean keeps, from 0 to 1", "give rho=0.9")

    def state_names(self) -> set[str]:
        return {"step", "square_avg", "acc_delta"}

    def remembers(self, group: Group) -> dict[str, float]:
        return {"square_avg": 0.0, "acc_delta": 0.0}

    def update(self, group: Group, at: Bundle, p: Array, g: Array) -> None:
        write, (a, b, c) = at.write, at.scratch
        lr, rho, take, eps = at.numbers(group["lr"], group["rho"], 1 - group["rho"], group["eps"])
        v, u = at.state["square_avg"], at.state["acc_delta"]
        d = self.descent(at, p, g, b, group["weight_decay"], group["maximize"])
        write.multiply(d, d, a)  # v = rho * v + (1 - rho) * d * d
        a *= take
        v *= rho
        v += a
        write.add(v, eps, a)
        write.sqrt(a, a)
        write.add(u, eps, c)
        write.sqrt(c, c)
        write.divide(c, a, c)
        c *= d
        write.multiply(c, c, a)  # u = rho * u + (1 - rho) * c * c
        a *= take
        u *= rho
        u += a
        c *= lr
        p -= c


explain_all(globals())
