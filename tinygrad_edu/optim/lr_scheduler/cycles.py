"""Schedules that rise and fall: cosines, cycles, and the one cycle."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ...inputs.kinds import explain_all
from ..optimizer import Optimizer
from .base import LRScheduler, cycled


class CosineAnnealingLR(LRScheduler):
    """Half a cosine from the initial rate down to ``eta_min`` in ``T_max`` epochs, and back up in as many.

    Each rate is made from the one before, so other schedulers, or you, may change it too.

    Source: Loshchilov and Hutter, 2016, https://arxiv.org/abs/1608.03983
    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def _height(self, epoch: int) -> float:
        return 1 + math.cos(math.pi * epoch / self.T_max)

    def get_lr(self) -> list[float]:
        epoch, low = self.last_epoch, self.eta_min
        if self._is_initial or epoch == 0:
            return self._current()
        if self._step_count == 1:  # a schedule that begins in the middle
            return [low + (base - low) * self._height(epoch) / 2 for base in self.base_lrs]
        if (epoch - 1 - self.T_max) % (2 * self.T_max) == 0:  # up from the lowest point, where no factor helps
            rise = (1 - math.cos(math.pi / self.T_max)) / 2
            return [lr + (base - low) * rise for lr, base in zip(self._current(), self.base_lrs, strict=True)]
        ratio = self._height(epoch) / self._height(epoch - 1)
        return [low + ratio * (lr - low) for lr in self._current()]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half a cosine from the initial rate down to ``eta_min`` in ``T_0`` epochs; then again, ``T_mult`` times longer.

    ``step(epoch)`` takes fractions of epochs: ``step(epoch + i / batches)``.

    Source: Loshchilov and Hutter, 2016, https://arxiv.org/abs/1608.03983
    """

    def __init__(
        self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        for name, value in (("T_0", T_0), ("T_mult", T_mult)):
            if not isinstance(value, int) or value < 1:
                self._refuse(f"{name}={value!r}", "a restart comes after whole epochs", "give an integer, at least 1")
        self.T_0, self.T_i, self.T_mult, self.eta_min = T_0, T_0, T_mult, eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        height = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (base - self.eta_min) * height for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Go on by an epoch, or to ``epoch``, which may be a fraction. Raises `ArgumentError` for a negative one."""
        if epoch is not None and epoch < 0:
            self._refuse(f"step({epoch})", "epochs count from 0", "give the epoch and the fraction of it that is done")
        self._step_count += 1
        if epoch is None and self.last_epoch >= 0:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        else:
            epoch = epoch or 0
            self.T_cur, self.T_i = self._place(epoch)
        self.last_epoch = math.floor(epoch)
        self._set(self.get_lr())

    def _restart(self) -> None:
        self.last_epoch = -1
        self.step()

    def _place(self, epoch: float) -> tuple[float, int]:
        """How far into its period ``epoch`` is, and how long that period."""
        length = self.T_0
        if self.T_mult == 1:
            return epoch % length, length
        while epoch >= length:
            epoch -= length
            length *= self.T_mult
        return epoch, length


class _Cycle(LRScheduler):
    """Moves the momentum in the opposite direction to the rate, if ``cycle_momentum`` is on."""

    cycle_momentum: bool

    def _cycle_momentum(
        self, optimizer: Optimizer, base: Any, top: Any, last_epoch: int
    ) -> tuple[list[float], list[float]]:
        self.use_beta1 = "betas" in optimizer.defaults
        if not self.use_beta1 and "momentum" not in optimizer.defaults:
            why = f"{type(optimizer).__name__} has neither momentum nor betas"
            self._refuse("cycle_momentum=True", why, "give cycle_momentum=False")
        bases = self._per_group("base_momentum", base, optimizer)
        tops = self._per_group("max_momentum", top, optimizer)
        if last_epoch == -1:
            for group, low, high in zip(optimizer.param_groups, bases, tops, strict=True):
                group["max_momentum"], group["base_momentum"] = high, low
                cycled(group, high)
        return bases, tops


class CyclicLR(_Cycle):
    """Between ``base_lr`` and ``max_lr``: up in ``step_size_up`` steps, down in ``step_size_down``, and again.

    ``mode`` sets how the height of the cycles changes: with ``"triangular"`` not at all, with ``"triangular2"`` each is
    half the one before, with ``"exp_range"`` it is ``gamma**step``. Or give ``scale_fn``, a function of the cycle's
    number or, with ``scale_mode="iterations"``, of the step. Momentum goes down while the rate goes up. Step it after
    every batch.

    Source: Smith, 2015, https://arxiv.org/abs/1506.01186
    """

    _unsaved = ("optimizer", "_scale_fn_custom")

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.8,
        max_momentum: float | list[float] = 0.9,
        last_epoch: int = -1,
    ) -> None:
        self._check_optimizer(optimizer)
        modes = ("triangular", "triangular2", "exp_range")
        if mode not in modes and scale_fn is None:
            self._refuse(f"mode={mode!r}", f"the modes are {', '.join(modes)}", "name one, or give scale_fn")
        base_lrs = self._per_group("base_lr", base_lr, optimizer)
        self.max_lrs = self._per_group("max_lr", max_lr, optimizer)
        down = step_size_up if step_size_down is None else step_size_down
        self.total_size = float(step_size_up + down)
        self.step_ratio = step_size_up / self.total_size
        self.mode, self.gamma, self._scale_fn_custom = mode, gamma, scale_fn
        self.scale_mode = scale_mode if scale_fn else ("iterations" if mode == "exp_range" else "cycle")
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            moved = self._cycle_momentum(optimizer, base_momentum, max_momentum, last_epoch)
            self.base_momentums, self.max_momentums = moved
        if last_epoch == -1:
            for group, lr in zip(optimizer.param_groups, base_lrs, strict=True):
                group["lr"] = lr
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def scale_fn(self, x: float) -> float:
        """The height of cycle ``x``, or at step ``x``, as a fraction."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "exp_range":
            return float(self.gamma**x)
        return 1 / 2.0 ** (x - 1) if self.mode == "triangular2" else 1.0

    def get_lr(self) -> list[float]:
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        place = 1.0 + self.last_epoch / self.total_size - cycle  # in [0, 1)
        rising = place <= self.step_ratio
        height = place / self.step_ratio if rising else (place - 1) / (self.step_ratio - 1)
        height *= self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            momentums = zip(self.optimizer.param_groups, self.base_momentums, self.max_momentums, strict=True)
            for group, low, high in momentums:
                cycled(group, high - (high - low) * height)
        return [low + (high - low) * height for low, high in zip(self.base_lrs, self.max_lrs, strict=True)]


class OneCycleLR(_Cycle):
    """One cycle: from ``max_lr / div_factor`` up to ``max_lr``, then down to the first rate over ``final_div_factor``.

    It takes ``total_steps``, or ``epochs * steps_per_epoch``; the fraction ``pct_start`` of them goes up. With
    ``three_phase`` it first comes down to where it began, and then goes lower. Momentum goes the other way. Step it
    after every batch. Raises `ArgumentError` for a step beyond the last.

    Source: Smith and Topin, 2017, https://arxiv.org/abs/1708.07120
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        self._check_optimizer(optimizer)
        if total_steps is None and epochs is not None and steps_per_epoch is not None:
            total_steps = epochs * steps_per_epoch
        if not isinstance(total_steps, int) or total_steps < 1:
            mend = "give total_steps, or epochs and steps_per_epoch"
            self._refuse(f"total_steps={total_steps}", "the cycle has a known number of steps, at least 1", mend)
        if not 0 <= pct_start <= 1:
            self._refuse(f"pct_start={pct_start}", "it is the fraction of steps that go up", "give one from 0 to 1")
        if anneal_strategy not in ("cos", "linear"):
            self._refuse(f"anneal_strategy={anneal_strategy!r}", "it is 'cos' or 'linear'", "use one of them")
        if pct_start * total_steps == 1:
            why = "only the first step goes up, and it has nowhere to go up from"
            self._refuse(f"pct_start={pct_start} of {total_steps} steps", why, "give a larger pct_start, or 0")
        self.total_steps, self._anneal_func_type = total_steps, anneal_strategy
        self._schedule_phases = _phases(total_steps, pct_start, three_phase)
        max_lrs = self._per_group("max_lr", max_lr, optimizer)
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._cycle_momentum(optimizer, base_momentum, max_momentum, last_epoch)
        if last_epoch == -1:
            for group, high in zip(optimizer.param_groups, max_lrs, strict=True):
                group["initial_lr"], group["max_lr"] = high / div_factor, high
                group["min_lr"] = group["initial_lr"] / final_div_factor
        super().__init__(optimizer, last_epoch)

    def _between(self, start: float, end: float, share: float) -> float:
        if self._anneal_func_type == "linear":
            return start + (end - start) * share
        return end + (start - end) / 2.0 * (1 + math.cos(math.pi * share))

    def get_lr(self) -> list[float]:
        step = self.last_epoch
        last = self._schedule_phases[-1]
        phase = next(p for p in self._schedule_phases if step <= p["end_step"] or p is last)
        before = self._schedule_phases[: self._schedule_phases.index(phase)]
        start = before[-1]["end_step"] if before else 0.0
        if step > self.total_steps or start == phase["end_step"]:  # with pct_start=1 nothing goes down
            self.last_epoch -= 1
            why = f"the cycle has {self.total_steps} steps, and they are done"
            self._refuse(f"step {step}", why, "give more total_steps, or stop stepping it")
        share = (step - start) / (phase["end_step"] - start)
        groups = self.optimizer.param_groups
        if self.cycle_momentum:
            for group in groups:
                cycled(group, self._between(group[phase["start_momentum"]], group[phase["end_momentum"]], share))
        return [self._between(group[phase["start_lr"]], group[phase["end_lr"]], share) for group in groups]


def _phases(total: int, share: float, three: bool) -> list[dict[str, Any]]:
    """Each phase: its last step, and the names in a group between which rate and momentum go."""
    rows: list[tuple[float, str, str, str, str]]
    top = share * total - 1
    if three:
        rows = [
            (top, "initial_lr", "max_lr", "max_momentum", "base_momentum"),
            (2 * share * total - 2, "max_lr", "initial_lr", "base_momentum", "max_momentum"),
            (total - 1, "initial_lr", "min_lr", "max_momentum", "max_momentum"),
        ]
    else:
        rows = [
            (top, "initial_lr", "max_lr", "max_momentum", "base_momentum"),
            (total - 1, "max_lr", "min_lr", "base_momentum", "max_momentum"),
        ]
    names = ("end_step", "start_lr", "end_lr", "start_momentum", "end_momentum")
    return [dict(zip(names, row, strict=True)) for row in rows]


explain_all(globals())
