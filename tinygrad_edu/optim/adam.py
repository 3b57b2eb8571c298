"""Adam, and AdamW, in which weight decay is a separate step."""

from __future__ import annotations

import math
from typing import Any

from ..inputs.kinds import explain_all
from .bundle import Array, Bundle
from .optimizer import Group, Params
from .stepping import InPlaceOptimizer


def lean(at: Bundle, m: Array, d: Array, share: Any) -> None:
    """``m += share * (d - m)``: a running mean takes in one more gradient. Uses the first scratch array."""
    a = at.scratch[0]
    at.write.subtract(d, m, a)
    a *= share
    m += a


def lean_on_squares(at: Bundle, v: Array, d: Array, keep: Any, share: Any) -> None:
    """``v = keep * v + share * d * d``. Uses the first scratch array."""
    a = at.scratch[0]
    at.write.multiply(d, d, a)
    a *= share
    v *= keep
    v += a


def descend(at: Bundle, p: Array, step: Array, keep: Any = None) -> None:
    """``p = keep * p - step``, with ``keep`` for weight decay. In one write, so an interrupt finds p old or new."""
    if keep is None:
        p -= step
    else:
        b = at.scratch[1]
        at.write.multiply(p, keep, b)
        at.write.subtract(b, step, p)


class Adam(InPlaceOptimizer):
    """Steps of ``lr * m / (sqrt(v) + eps)``: ``m`` and ``v`` are running means of the gradient and of its square.

    Both start at 0; dividing them by ``1 - beta**t`` makes up for that. ``weight_decay`` adds ``weight_decay * p`` to
    the gradient; with ``amsgrad`` the largest ``v`` so far counts. Raises `ArgumentError` for impossible settings.

    Source: Kingma and Ba, 2014, https://arxiv.org/abs/1412.6980
    """

    scratch = 2

    def __init__(
        self,
        params: Params,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        self.one_way(foreach=foreach, capturable=capturable, differentiable=differentiable, fused=fused)
        defaults: dict[str, Any] = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "amsgrad": amsgrad,
            "maximize": maximize, "decoupled_weight_decay": decoupled_weight_decay,
        }  # fmt: skip
        super().__init__(params, defaults)

    def check(self, group: Group) -> None:
        self.need(group, lr=0, eps=0, weight_decay=0)
        self.need_betas(group)

    def state_names(self) -> set[str]:
        return {"step", "exp_avg", "exp_avg_sq", "max_exp_avg_sq"}

    def remembers(self, group: Group) -> dict[str, float]:
        names = {"exp_avg": 0.0, "exp_avg_sq": 0.0}
        return {**names, "max_exp_avg_sq": 0.0} if group["amsgrad"] else names

    def update(self, group: Group, at: Bundle, p: Array, g: Array) -> None:
        write, (a, b) = at.write, at.scratch
        lr, (beta1, beta2), t = float(group["lr"]), group["betas"], at.count
        root = math.sqrt(1 - beta2**t)
        decay, decoupled = group["weight_decay"], group["decoupled_weight_decay"]
        # sqrt(v) / root + eps, times root: one pass less
        keep, take1, beta, take2, eps, rate = at.numbers(
            1 - lr * decay, 1 - beta1, beta2, 1 - beta2, group["eps"] * root, lr * root / (1 - beta1**t)
        )
        m, v = at.state["exp_avg"], at.state["exp_avg_sq"]
        d = self.descent(at, p, g, b, 0 if decoupled else decay, group["maximize"])
        lean(at, m, d, take1)
        lean_on_squares(at, v, d, beta, take2)
        if group["amsgrad"]:
            largest = at.state["max_exp_avg_sq"]
            write.maximum(largest, v, largest)
            v = largest
        write.sqrt(v, a)
        a += eps
        write.divide(m, a, a)
        a *= rate
        descend(at, p, a, keep if decoupled and decay else None)


class AdamW(Adam):
    """`Adam` in which ``weight_decay`` shrinks the weights directly: ``p -= lr * weight_decay * p``.

    Source: Loshchilov and Hutter, 2017, https://arxiv.org/abs/1711.05101
    """

    def __init__(
        self,
        params: Params,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        self.one_way(foreach=foreach, capturable=capturable, differentiable=differentiable, fused=fused)
        super().__init__(
            params, lr, betas, eps, weight_decay, amsgrad, maximize=maximize, decoupled_weight_decay=True
        )  # fmt: skip


explain_all(globals(), "lean", "lean_on_squares", "descend")
