"""RAdam: Adam that waits until it knows how much gradients vary."""

from __future__ import annotations

import math
from typing import Any

from ..inputs.kinds import explain_all
from .adam import descend, lean, lean_on_squares
from .bundle import Array, Bundle
from .optimizer import Group, Params
from .stepping import InPlaceOptimizer


class RAdam(InPlaceOptimizer):
    """`Adam`, rectified: while few gradients are known, ``m`` is not divided by ``sqrt(v)``.

    ``v`` is a mean over about ``rho`` gradients, a number that grows with the steps. While it is at most 5, the steps
    are ``lr * m``; above, they are Adam's, times a factor that grows towards 1. ``weight_decay`` adds
    ``weight_decay * p`` to the gradient, or with ``decoupled_weight_decay`` shrinks the weights directly. Raises
    `ArgumentError` for impossible settings.

    Source: Liu and others, 2019, https://arxiv.org/abs/1908.03265
    """

    scratch = 2

    def __init__(
        self,
        params: Params,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        self.one_way(foreach=foreach, capturable=capturable, differentiable=differentiable)
        defaults: dict[str, Any] = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
            "decoupled_weight_decay": decoupled_weight_decay, "maximize": maximize,
        }  # fmt: skip
        super().__init__(params, defaults)

    def check(self, group: Group) -> None:
        self.need(group, lr=0, eps=0, weight_decay=0)
        self.need_betas(group)

    def state_names(self) -> set[str]:
        return {"step", "exp_avg", "exp_avg_sq"}

    def remembers(self, group: Group) -> dict[str, float]:
        return {"exp_avg": 0.0, "exp_avg_sq": 0.0}

    def update(self, group: Group, at: Bundle, p: Array, g: Array) -> None:
        write, (a, b) = at.write, at.scratch
        lr, (beta1, beta2), t = float(group["lr"]), group["betas"], at.count
        decay, decoupled = group["weight_decay"], group["decoupled_weight_decay"]
        factor = _rectified(beta2, t)
        rate = lr / (1 - beta1**t) * (factor * math.sqrt(1 - beta2**t) if factor else 1)
        keep, take1, beta, take2, eps, rate = at.numbers(
            1 - lr * decay, 1 - beta1, beta2, 1 - beta2, group["eps"], rate
        )
        m, v = at.state["exp_avg"], at.state["exp_avg_sq"]
        d = self.descent(at, p, g, b, 0 if decoupled else decay, group["maximize"])
        lean(at, m, d, take1)
        lean_on_squares(at, v, d, beta, take2)
        if factor:
            write.sqrt(v, a)
            a += eps
            write.divide(m, a, a)
            a *= rate
        else:
            write.multiply(m, rate, a)
        descend(at, p, a, keep if decoupled and decay else None)


def _rectified(beta2: float, t: float) -> float:
    """The factor, from 0 to 1, that shortens step ``t`` while ``v`` still varies; 0 where too little is known."""
    most = 2 / (1 - beta2) - 1
    rho = most - 2 * t * beta2**t / (1 - beta2**t)
    if rho <= 5:
        return 0.0
    return math.sqrt((rho - 4) * (rho - 2) * most / ((most - 4) * (most - 2) * rho))


explain_all(globals())
