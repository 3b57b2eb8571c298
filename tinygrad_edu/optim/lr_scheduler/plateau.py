"""A scheduler that watches a metric."""

from __future__ import annotations

import math
from typing import SupportsFloat

from ...inputs.kinds import explain_all
from ..optimizer import Optimizer
from .base import LRScheduler


class ReduceLROnPlateau(LRScheduler):
    """Multiplies the rate by ``factor`` when a metric has not become better for more than ``patience`` steps.

    Better is lower, or with ``mode="max"`` higher, by more than ``threshold``: a fraction of the best so far, or with
    ``threshold_mode="abs"`` a difference. After a change it waits for ``cooldown`` steps. The rate goes no lower than
    ``min_lr``, and changes smaller than ``eps`` are not made.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float | list[float] = 0,
        eps: float = 1e-8,
    ) -> None:
        self._check_optimizer(optimizer)
        if factor >= 1:
            self._refuse(f"factor={factor}", "it makes the rate smaller", "give a factor below 1")
        for name, value, known in (
            ("mode", mode, ("min", "max")),
            ("threshold_mode", threshold_mode, ("rel", "abs")),
        ):
            if value not in known:
                self._refuse(f"{name}={value!r}", f"it is {known[0]!r} or {known[1]!r}", "use one of them")
        self.optimizer = optimizer
        self.mode, self.threshold_mode, self.threshold = mode, threshold_mode, threshold
        self.factor, self.patience, self.cooldown, self.eps = factor, patience, cooldown, eps
        self.default_min_lr = None if isinstance(min_lr, list | tuple) else min_lr
        self.min_lrs = self._per_group("min_lr", min_lr, optimizer)
        self.best = math.inf if mode == "min" else -math.inf
        self.cooldown_counter = self.num_bad_epochs = self.last_epoch = 0
        self._last_lr = self._current()

    def is_better(self, value: float) -> bool:
        """Whether ``value`` is better than the best so far, by the threshold."""
        sign = 1 if self.mode == "max" else -1
        if self.threshold_mode == "rel":
            bound = self.best * (1.0 + sign * self.threshold)
        else:
            bound = self.best + sign * self.threshold
        return value > bound if self.mode == "max" else value < bound

    @property
    def in_cooldown(self) -> bool:
        """Whether it waits after a change."""
        return self.cooldown_counter > 0

    def step(self, metrics: SupportsFloat) -> None:
        """Take note of the metric, and change the rates if it has stopped becoming better."""
        value = float(metrics)
        self.last_epoch += 1
        if self.is_better(value):
            self.best, self.num_bad_epochs = value, 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce()
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = self._current()

    def _reduce(self) -> None:
        if self.default_min_lr is not None:  # groups may have come in the meantime
            self.min_lrs = [self.default_min_lr] * len(self.optimizer.param_groups)
        self.min_lrs = self._per_group("min_lr", self.min_lrs, self.optimizer)
        for group, low in zip(self.optimizer.param_groups, self.min_lrs, strict=True):
            lower = max(group["lr"] * self.factor, low)
            if group["lr"] - lower > self.eps:
                group["lr"] = lower


explain_all(globals())
