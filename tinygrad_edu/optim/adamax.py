"""Adamax."""

from __future__ import annotations

from typing import Any

from ..inputs.kinds import explain_all
from .adam import lean
from .bundle import Array, Bundle
from .optimizer import Group, Params
from .stepping import InPlaceOptimizer


class Adamax(InPlaceOptimizer):
    """Steps of ``lr * m / u``: ``m`` is a running mean of the gradient, and ``u`` its largest size, slowly forgotten.

    At each step ``u`` becomes the larger of ``beta2 * u`` and ``abs(grad) + eps``. ``m`` starts at 0; dividing it by
    ``1 - beta1**t`` makes up for that. ``weight_decay`` adds ``weight_decay * p`` to the gradient. Raises
    `ArgumentError` for impossible settings.

    Source: Kingma and Ba, 2014, section 7.1, https://arxiv.org/abs/1412.6980
    """

    scratch = 2

    def __init__(
        self,
        params: Params,
        lr: float = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        self.one_way(foreach=foreach, differentiable=differentiable, capturable=capturable)
        defaults: dict[str, Any] = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "maximize": maximize,
        }  # fmt: skip
        super().__init__(params, defaults)

    def check(self, group: Group) -> None:
        self.need(group, lr=0, eps=0, weight_decay=0)
        self.need_betas(group)

    def state_names(self) -> set[str]:
        return {"step", "exp_avg", "exp_inf"}

    def remembers(self, group: Group) -> dict[str, float]:
        return {"exp_avg": 0.0, "exp_inf": 0.0}

    def update(self, group: Group, at: Bundle, p: Array, g: Array) -> None:
        write, (a, b) = at.write, at.scratch
        beta1, beta2 = group["betas"]
        take, forget, eps, rate = at.numbers(1 - beta1, beta2, group["eps"], group["lr"] / (1 - beta1**at.count))
        m, u = at.state["exp_avg"], at.state["exp_inf"]
        d = self.descent(at, p, g, b, group["weight_decay"], group["maximize"])
        lean(at, m, d, take)
        write.abs(d, a)
        a += eps
        u *= forget
        write.maximum(u, a, u)
        write.divide(m, u, a)
        a *= rate
        p -= a


explain_all(globals())
