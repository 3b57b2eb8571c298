"""Rprop."""

from __future__ import annotations

from typing import Any

from ..inputs.kinds import explain_all
from .bundle import Array, Bundle
from .optimizer import Group, Params, is_pair
from .stepping import InPlaceOptimizer


class Rprop(InPlaceOptimizer):
    """Steps by the sign of the gradient alone; each element learns its own step size. For full batches.

    The step size of an element starts at ``lr``. It grows by the factor ``etas[1]`` while the sign stays, and shrinks
    by ``etas[0]`` when the sign changes; then the element also rests for one step. It stays within ``step_sizes``.
    Raises `ArgumentError` for impossible settings.

    Source: Riedmiller and Braun, 1993, https://doi.org/10.1109/ICNN.1993.298623
    """

    scratch = 3

    def __init__(
        self,
        params: Params,
        lr: float = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        self.one_way(capturable=capturable, foreach=foreach, differentiable=differentiable)
        defaults: dict[str, Any] = {"lr": lr, "etas": etas, "step_sizes": step_sizes, "maximize": maximize}
        super().__init__(params, defaults)

    def check(self, group: Group) -> None:
        self.need(group, lr=0)
        etas, sizes = group["etas"], group["step_sizes"]
        if not is_pair(etas) or not 0 < etas[0] < 1 < etas[1]:
            why = "a step size shrinks by the first factor, between 0 and 1, and grows by the second, above 1"
            self.refuse(f"etas={etas}", why, "give etas=(0.5, 1.2)")
        if not is_pair(sizes):
            why = "these are two numbers, the smallest step and the largest"
            self.refuse(f"step_sizes={sizes}", why, "give step_sizes=(1e-6, 50)")

    def state_names(self) -> set[str]:
        return {"step", "prev", "step_size"}

    def remembers(self, group: Group) -> dict[str, float]:
        return {"prev": 0.0, "step_size": float(group["lr"])}

    def update(self, group: Group, at: Bundle, p: Array, g: Array) -> None:
        write, (a, b, c), mask = at.write, at.scratch, at.mask(self._room)
        none, one, shrink, grow, least, most = at.numbers(0, 1, *group["etas"], *group["step_sizes"])
        before, size = at.state["prev"], at.state["step_size"]
        b[...] = self.descent(at, p, g, b, 0, group["maximize"])
        write.multiply(b, before, a)
        c[...] = one  # the factor of each step size
        write.less(none, a, mask)
        write.put(grow, mask, c)
        write.less(a, none, mask)
        write.put(shrink, mask, c)
        write.put(none, mask, b)
        size *= c
        write.maximum(size, least, size)
        write.minimum(size, most, size)
        before[...] = b
        a[...] = none  # the step: the size, with the gradient's sign
        write.less(none, b, mask)
        write.put(size, mask, a)
        write.negative(size, c)
        write.less(b, none, mask)
        write.put(c, mask, a)
        p -= a


explain_all(globals())
