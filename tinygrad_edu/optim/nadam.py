"""NAdam: Adam that looks ahead by one momentum step."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from ..inputs.kinds import explain_all
from .adam import descend, lean, lean_on_squares
from .bundle import Array, Bundle
from .optimizer import Group, Params
from .stepping import InPlaceOptimizer


class NAdam(InPlaceOptimizer):
    """`Adam` with Nesterov's momentum: the gradient counts at once, and ``m`` one step ahead.

    The fraction of ``m`` grows: at step ``t`` it is ``mu = beta1 * (1 - 0.96**(t * momentum_decay) / 2)``. The product
    of all ``mu`` so far is remembered. ``weight_decay`` adds ``weight_decay * p`` to the gradient, or with
    ``decoupled_weight_decay`` shrinks the weights directly. Raises `ArgumentError` for impossible settings.

    Source: Dozat, 2016, https://openreview.net/forum?id=OM0jvwB8jIp57ZJjtNEZ
    """

    scratch = 3
    tallies: ClassVar[dict[str, float]] = {"step": 0.0, "mu_product": 1.0}

    def __init__(
        self,
        params: Params,
        lr: float = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        self.one_way(foreach=foreach, capturable=capturable, differentiable=differentiable)
        defaults: dict[str, Any] = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay, "maximize": maximize,
        }  # fmt: skip
        super().__init__(params, defaults)

    def check(self, group: Group) -> None:
        self.need(group, lr=0, eps=0, weight_decay=0, momentum_decay=0)
        self.need_betas(group)

    def state_names(self) -> set[str]:
        return {"step", "mu_product", "exp_avg", "exp_avg_sq"}

    def remembers(self, group: Group) -> dict[str, float]:
        return {"exp_avg": 0.0, "exp_avg_sq": 0.0}

    def update(self, group: Group, at: Bundle, p: Array, g: Array) -> None:
        write, (a, b, c) = at.write, at.scratch
        lr, (beta1, beta2), t = float(group["lr"]), group["betas"], at.count
        decay, decoupled = group["weight_decay"], group["decoupled_weight_decay"]
        mu, ahead = (beta1 * (1 - 0.96 ** (step * group["momentum_decay"]) / 2) for step in (t, t + 1))
        products = at.tallies["mu_product"]
        products *= mu
        product = products.item(0)
        root = math.sqrt(1 - beta2**t)
        # sqrt(v) / root + eps, times root: one pass less
        keep, take1, beta, take2, eps, now, later = at.numbers(
            1 - lr * decay, 1 - beta1, beta2, 1 - beta2, group["eps"] * root,
            lr * root * (1 - mu) / (1 - product), lr * root * ahead / (1 - product * ahead),
        )  # fmt: skip
        m, v = at.state["exp_avg"], at.state["exp_avg_sq"]
        d = self.descent(at, p, g, b, 0 if decoupled else decay, group["maximize"])
        lean(at, m, d, take1)
        lean_on_squares(at, v, d, beta, take2)
        write.sqrt(v, a)
        a += eps
        write.multiply(d, now, b)
        write.multiply(m, later, c)
        b += c
        write.divide(b, a, a)
        descend(at, p, a, keep if decoupled and decay else None)


explain_all(globals())
