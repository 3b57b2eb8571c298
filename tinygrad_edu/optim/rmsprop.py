"""RMSprop."""

from __future__ import annotations

from typing import Any

from ..inputs.kinds import explain_all
from .bundle import Array, Bundle
from .optimizer import Group, Params
from .stepping import InPlaceOptimizer


class RMSprop(InPlaceOptimizer):
    """Steps of ``lr * grad / (sqrt(v) + eps)``, where ``v`` is a running mean of the squared gradient.

    ``centered`` subtracts the square of the running mean from ``v``, which leaves the variance. ``momentum`` collects
    the steps. ``weight_decay`` adds ``weight_decay * p`` to the gradient. Raises `ArgumentError` for impossible
    settings.

    Source: Hinton's lecture 6e, 2012, https://www.cs.toronto.edu/~tijmen/csc321/slides/lecture_slides_lec6.pdf
    """

    scratch = 2

    def __init__(
        self,
        params: Params,
        lr: float = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        self.one_way(capturable=capturable, foreach=foreach, differentiable=differentiable)
        defaults: dict[str, Any] = {
            "lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps, "centered": centered,
            "weight_decay": weight_decay, "maximize": maximize,
        }  # fmt: skip
        super().__init__(params, defaults)

    def check(self, group: Group) -> None:
        self.need(group, lr=0, alpha=0, eps=0, weight_decay=0, momentum=0)

    def state_names(self) -> set[str]:
        return {"step", "square_avg", "momentum_buffer", "grad_avg"}

    def remembers(self, group: Group) -> dict[str, float]:
        names = ["square_avg", *["momentum_buffer"] * bool(group["momentum"]), *["grad_avg"] * bool(group["centered"])]
        return dict.fromkeys(names, 0.0)

    def update(self, group: Group, at: Bundle, p: Array, g: Array) -> None:
        write, (a, b) = at.write, at.scratch
        lr, alpha, take, eps, momentum = at.numbers(
            group["lr"], group["alpha"], 1 - group["alpha"], group["eps"], group["momentum"]
        )
        v = at.state["square_avg"]
        d = self.descent(at, p, g, b, group["weight_decay"], group["maximize"])
        write.multiply(d, d, a)  # v = alpha * v + (1 - alpha) * d * d
        a *= take
        v *= alpha
        v += a
        if group["centered"]:
            mean = at.state["grad_avg"]
            write.subtract(d, mean, a)  # mean += (1 - alpha) * (d - mean)
            a *= take
            mean += a
            write.multiply(mean, mean, a)
            write.subtract(v, a, a)
            write.sqrt(a, a)
        else:
            write.sqrt(v, a)
        a += eps
        write.divide(d, a, a)
        if group["momentum"]:
            collected = at.state["momentum_buffer"]
            collected *= momentum
            collected += a
            write.multiply(collected, lr, a)
        else:
            a *= lr
        p -= a


explain_all(globals())
