"""Stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .. import backends
from ..core.dispatch import user_line
from ..core.inplace import own_buffer
from ..errors import AutogradError
from ..tensor import Tensor


class SGD:
    """``p -= lr * v`` with ``v = momentum * v + grad``, as in PyTorch (the first ``v`` is the gradient itself).

    ``nesterov`` looks ahead by one more momentum step; ``weight_decay`` adds ``weight_decay * p`` to the gradient.
    """

    def __init__(
        self, params: Iterable[Tensor], lr: float = 1e-3, momentum: float = 0.0, weight_decay: float = 0.0, nesterov: bool = False
    ) -> None:
        self.params = list(params)
        self.lr, self.momentum, self.weight_decay, self.nesterov = lr, momentum, weight_decay, nesterov
        if not self.params:
            raise AutogradError(
                "SGD([])", "there is nothing to learn: the module has no registered parameters",
                "assign layers to attributes, or put them into a Sequential; a plain list is not searched",
            )  # fmt: skip
        if lr < 0 or momentum < 0 or (nesterov and not momentum):
            raise ValueError(f"lr={lr}, momentum={momentum}, nesterov={nesterov}: rates are not negative, nesterov needs momentum")
        self._velocity: list[Any] = [None] * len(self.params)
        self._scratch: list[Any] = [None] * len(self.params)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Release the gradients, or fill them with zeros."""
        for p in self.params:
            if set_to_none:
                p.grad = None
            elif p.grad is not None:
                p.grad.zero_()

    def step(self) -> None:
        """Move every parameter that has a gradient."""
        line = user_line()
        for i, p in enumerate(self.params):
            if p.grad is None:
                continue
            array, g = own_buffer(p), p.grad.array
            if self._scratch[i] is None:
                self._scratch[i] = backends.of(array).xp.zeros_like(array)
            update = self._scratch[i]
            update[...] = g
            if self.weight_decay:
                update += array * self.weight_decay
            if self.momentum:
                update = self._with_momentum(i, update)
            self._scratch[i][...] = update
            self._scratch[i] *= self.lr
            array -= self._scratch[i]
            p.storage.written("SGD.step", line)

    def _with_momentum(self, i: int, update: Any) -> Any:
        velocity = self._velocity[i]
        if velocity is None:
            velocity = self._velocity[i] = backends.of(update).xp.copy(update)
        else:
            velocity *= self.momentum
            velocity += update
        if not self.nesterov:
            return velocity
        update += velocity * self.momentum
        return update
