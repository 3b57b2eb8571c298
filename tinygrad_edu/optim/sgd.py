"""Stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .. import backends
from ..core.dispatch import here, user_line
from ..core.inplace import own_buffer
from ..errors import AutogradError, DtypeError
from ..tensor import Tensor

Array = Any


class SGD:
    """``p -= lr * v`` with ``v = momentum * v + grad``, as in PyTorch (the first ``v`` is the gradient itself).

    ``nesterov`` looks ahead by one more momentum step; ``weight_decay`` adds ``weight_decay * p`` to the gradient.
    """

    def __init__(
        self,
        params: Iterable[Tensor],
        lr: float = 1e-3,
        momentum: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
    ) -> None:
        if isinstance(params, Tensor) or not isinstance(params, Iterable):
            raise DtypeError(
                f"SGD of a {type(params).__name__}",
                "it takes several tensors, and one that is walked through gives results, not leaves",
                "pass model.parameters(), or a list: [w]",
                here(),
            )
        self.params = list(params)
        self.lr, self.momentum, self.weight_decay, self.nesterov = lr, momentum, weight_decay, nesterov
        if not self.params:
            raise AutogradError(
                "SGD([])", "there is nothing to learn: the module has no registered parameters",
                "assign layers to attributes, or put them into a Sequential; a plain list is not searched", here(),
            )  # fmt: skip
        seen: set[int] = set()
        for p in self.params:
            if not isinstance(p, Tensor):
                tried = f"SGD of a {type(p).__name__}"
                raise DtypeError(tried, "an optimiser moves tensors", "pass model.parameters()", here())
            if not p.is_leaf:
                raise AutogradError(
                    f"SGD of the result of {p.node}",
                    "its gradient goes on to what it was computed from, and none stays to step by",
                    "pass the leaves that it was computed from",
                    here(),
                )
            if id(p) in seen:
                why, mend = "it would move twice in each step", "pass each tensor once"
                raise AutogradError(f"SGD with one tensor {tuple(p.shape)} given twice", why, mend, here())
            seen.add(id(p))
        if lr < 0 or momentum < 0 or weight_decay < 0 or (nesterov and not momentum):
            given = f"lr={lr}, momentum={momentum}, weight_decay={weight_decay}, nesterov={nesterov}"
            raise ValueError(f"{given}: none is negative, and nesterov needs momentum")
        self._velocity: list[Array] = [None] * len(self.params)
        self._scratch: list[Array] = [None] * len(self.params)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Release the gradients, or fill them with zeros."""
        for p in self.params:
            if set_to_none:
                p.grad = None
            elif p.grad is not None:
                p.grad.zero_()

    def step(self) -> None:
        """Move every parameter that has a gradient. Each line is one pass over memory that exists already."""
        line = user_line()
        for i, p in enumerate(self.params):
            if p.grad is None:
                continue
            array, g = own_buffer(p), p.grad.array
            update = self._gradient(i, array, g)
            if self.momentum:
                self._add_momentum(i, update)
            update *= self.lr
            array -= update
            p.storage.written("SGD.step", line)

    def _gradient(self, i: int, array: Array, g: Array) -> Array:
        """The gradient, with what weight decay adds, in scratch memory."""
        scratch = self._scratch[i]
        if scratch is None or scratch.dtype is not array.dtype or type(scratch) is not type(array):
            # At first, and after the module moved to another dtype or device: momentum then starts anew.
            scratch = self._scratch[i] = backends.of(array).xp.zeros_like(array)
            self._velocity[i] = None
        if self.weight_decay:
            scratch[...] = array
            scratch *= self.weight_decay
            scratch += g
        else:
            scratch[...] = g
        return scratch

    def _add_momentum(self, i: int, update: Array) -> None:
        """``v = momentum * v + d``, and the step in place of ``d``: ``v``, or ``d + momentum * v`` for Nesterov."""
        velocity = self._velocity[i]
        if velocity is None:
            velocity = self._velocity[i] = backends.of(update).xp.zeros_like(update)
        velocity *= self.momentum
        velocity += update
        if not self.nesterov:
            update[...] = velocity
            return
        update /= self.momentum  # d + m v, as m (d / m + v): no second scratch array
        update += velocity
        update *= self.momentum
