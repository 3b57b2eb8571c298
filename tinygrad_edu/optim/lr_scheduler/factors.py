"""Schedules that multiply the present rate by a factor, so several can act on one optimiser."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ...inputs.kinds import explain_all
from ..optimizer import Optimizer
from .base import LRScheduler

Functions = Callable[[int], float] | list[Callable[[int], float]]


class _Factor(LRScheduler):
    """Multiplies each rate, at each step, by `_factor`."""

    _needs_bases = False

    def _factor(self, epoch: int) -> float:
        """The rate at ``epoch`` over the rate before; at 0, over the initial rate."""
        raise NotImplementedError

    def get_lr(self) -> list[float]:
        factor = self._factor(self.last_epoch)
        return [lr * factor for lr in self._current()]


class StepLR(_Factor):
    """Multiplied by ``gamma`` every ``step_size`` epochs."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        if step_size < 1:
            self._refuse(f"step_size={step_size}", "the rate changes every so many epochs", "give at least 1")
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self, epoch: int) -> float:
        return self.gamma if epoch and epoch % self.step_size == 0 else 1.0


class MultiStepLR(_Factor):
    """Multiplied by ``gamma`` at each of the ``milestones``, which are epochs."""

    def __init__(
        self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self, epoch: int) -> float:
        return float(self.gamma ** self.milestones[epoch])

    def _read_state(self, state: Mapping[str, Any]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        (own, values), *_ = super()._read_state(state)
        try:  # the keys are strings, if they come from a text file
            milestones = Counter({int(epoch): int(count) for epoch, count in values["milestones"].items()})
        except (TypeError, ValueError):
            self._refuse_state(f"milestones is {values['milestones']!r}, which does not count epochs")
        return [(own, {**values, "milestones": milestones})]


class ConstantLR(_Factor):
    """``factor`` times the initial rate for ``total_iters`` epochs, and then the initial rate."""

    def __init__(
        self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1
    ) -> None:
        if not 0 < factor <= 1:
            self._refuse(
                f"factor={factor}", "it is a fraction of the initial rate, undone later", "give 0 < factor <= 1"
            )
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self, epoch: int) -> float:
        if epoch == 0:
            return self.factor
        return 1.0 / self.factor if epoch == self.total_iters else 1.0


class LinearLR(_Factor):
    """From ``start_factor`` to ``end_factor`` times the initial rate, in ``total_iters`` equal steps."""

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        for name, value, fits in (
            ("start_factor", start_factor, 0 < start_factor <= 1),
            ("end_factor", end_factor, 0 <= end_factor <= 1),
        ):
            if not fits:
                why = "it is a fraction of the initial rate, and a start at 0 leaves nothing to multiply"
                self._refuse(f"{name}={value}", why, "give one in (0, 1]")
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self, epoch: int) -> float:
        if epoch == 0:
            return self.start_factor
        if self._is_initial or epoch > self.total_iters:
            return 1.0
        rise = self.end_factor - self.start_factor
        return 1.0 + rise / (self.total_iters * self.start_factor + (epoch - 1) * rise)


class ExponentialLR(_Factor):
    """Multiplied by ``gamma`` at each epoch."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self, epoch: int) -> float:
        return 1.0 if self._is_initial or epoch == 0 else self.gamma


class PolynomialLR(_Factor):
    """``(1 - epoch / total_iters) ** power`` times the initial rate, down to 0."""

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def _factor(self, epoch: int) -> float:
        if self._is_initial or not 0 < epoch <= self.total_iters:
            return 1.0
        left, before = 1.0 - epoch / self.total_iters, 1.0 - (epoch - 1) / self.total_iters
        return float((left / before) ** self.power)


class _Given(LRScheduler):
    """Follows functions of the epoch, one for each group. Functions are not saved; callable objects are."""

    _unsaved = ("optimizer", "lr_lambdas")

    def __init__(self, optimizer: Optimizer, lr_lambda: Functions, last_epoch: int = -1) -> None:
        self._check_optimizer(optimizer)
        self.lr_lambdas = self._per_group("lr_lambda", lr_lambda, optimizer)
        for function in self.lr_lambdas:
            if not callable(function):
                why, mend = "it is called with the epoch, and returns a factor", "give lambda epoch: 0.95**epoch"
                self._refuse(f"lr_lambda={function!r}", why, mend)
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, Any]:
        """All but the optimiser; of ``lr_lambda`` only the attributes of callable objects, as functions have none."""
        kept = [None if attributes is None else dict(attributes) for attributes in map(_attributes, self.lr_lambdas)]
        return {**super().state_dict(), "lr_lambdas": kept}

    def _read_state(self, state: Mapping[str, Any]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        changes, kept = super()._read_state(state), state["lr_lambdas"]
        if len(kept) != len(self.lr_lambdas):
            self._refuse_state(f"it has {len(kept)} lr_lambdas, but here there are {len(self.lr_lambdas)}")
        for function, values in zip(self.lr_lambdas, kept, strict=True):
            own = _attributes(function)
            if values is None:
                continue
            if own is None or not isinstance(values, Mapping):
                self._refuse_state(f"it has {values!r} for an lr_lambda, but here that is {function!r}")
            changes.append((own, dict(values)))
        return changes


def _attributes(function: Callable[[int], float]) -> dict[str, Any] | None:
    """The attributes of a callable object. None for functions, and for objects without attributes."""
    return None if hasattr(function, "__code__") else getattr(function, "__dict__", None)


class LambdaLR(_Given):
    """The initial rate times ``lr_lambda(epoch)``. ``lr_lambda`` is a function, or a list of one for each group."""

    def get_lr(self) -> list[float]:
        return [lr * f(self.last_epoch) for f, lr in zip(self.lr_lambdas, self.base_lrs, strict=True)]


class MultiplicativeLR(_Given):
    """The present rate times ``lr_lambda(epoch)``, at each epoch but the first."""

    def get_lr(self) -> list[float]:
        if self._is_initial:
            return self._current()
        return [lr * f(self.last_epoch) for f, lr in zip(self.lr_lambdas, self._current(), strict=True)]

    def _restart(self) -> None:
        self.last_epoch = -1
        self._advance()  # from the present rate: it knows no other


explain_all(globals())
