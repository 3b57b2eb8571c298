"""Schedulers made of other schedulers, one after the other or all at once."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any

from ...inputs.kinds import explain_all
from ..optimizer import Optimizer
from .base import LRScheduler
from .plateau import ReduceLROnPlateau


class _Combined(LRScheduler):
    """A scheduler that holds schedulers of one optimiser, and saves them with itself."""

    _unsaved = ("optimizer", "_schedulers")
    _schedulers: list[LRScheduler]

    def _take(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None) -> None:
        if not schedulers:
            self._refuse("no schedulers", "there is nothing to step", "give at least one")
        if optimizer is not None:
            self._check_optimizer(optimizer)
        self.optimizer = schedulers[0].optimizer if optimizer is None else optimizer
        for i, scheduler in enumerate(schedulers):
            if isinstance(scheduler, ReduceLROnPlateau):
                self._refuse(
                    "a ReduceLROnPlateau", "that one steps by a metric, the others do not", "step it separately"
                )
            if scheduler.optimizer is not self.optimizer:
                why, mend = f"scheduler {i} changes another optimiser", "make all of them for the one optimiser"
                self._refuse(type(scheduler).__name__, why, mend)
        self._schedulers = list(schedulers)

    def state_dict(self) -> dict[str, Any]:
        """All but the optimiser, with the state of each scheduler inside."""
        return {**super().state_dict(), "_schedulers": [scheduler.state_dict() for scheduler in self._schedulers]}

    def _read_state(self, state: Mapping[str, Any]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        changes = super()._read_state(state)
        if len(state["_schedulers"]) != len(self._schedulers):
            what, why = f"the state of {len(state['_schedulers'])} schedulers", f"there are {len(self._schedulers)}"
            self._refuse(what, why, "load it into a scheduler made in the same way")
        for scheduler, inner in zip(self._schedulers, state["_schedulers"], strict=True):
            changes += scheduler._read_state(inner)
        return changes

    def _undo(self) -> None:
        """Take back the first step that each scheduler inside has made on its own."""
        for scheduler in self._schedulers:
            if isinstance(scheduler, _Combined):
                scheduler._undo()
            else:
                scheduler.last_epoch -= 1


class SequentialLR(_Combined):
    """One scheduler after the other: ``milestones`` are the epochs at which the next begins, as if new.

    Inside it, another `SequentialLR` or `ChainedScheduler` can only come first.
    """

    def __init__(
        self, optimizer: Optimizer, schedulers: list[LRScheduler], milestones: list[int], last_epoch: int = -1
    ) -> None:
        self._check_optimizer(optimizer)
        self._take(schedulers, optimizer)
        if len(milestones) != len(schedulers) - 1:
            what, why = f"{len(milestones)} milestones", f"{len(schedulers)} schedulers need one fewer than that"
            self._refuse(what, why, "give the epochs at which the second and later ones begin")
        if any(isinstance(scheduler, _Combined) for scheduler in schedulers[1:]):
            why, mend = "it cannot start again when its turn comes", "list its schedulers here instead"
            self._refuse("a combined scheduler after the first", why, mend)
        self._milestones = list(milestones)
        self.last_epoch = last_epoch + 1
        for group in optimizer.param_groups:  # each scheduler has made a first step: go back to before
            group["lr"] = group["initial_lr"]
        self._undo()
        first = self._schedulers[bisect_right(self._milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def step(self) -> None:
        """One step of the scheduler whose turn it is."""
        self.last_epoch += 1
        turn = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[turn]
        if turn and self._milestones[turn - 1] == self.last_epoch:
            scheduler._restart()
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()

    def _initial_step(self) -> None:  # as the first inside another
        self._schedulers[bisect_right(self._milestones, 0)]._initial_step()


class ChainedScheduler(_Combined):
    """All schedulers at each step, in their order: what they multiply by is multiplied together."""

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None) -> None:
        self._take(schedulers, optimizer)
        self._last_lr = self._current()

    def step(self) -> None:
        """One step of each scheduler."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = self._current()

    def _initial_step(self) -> None:  # as the first inside another
        for scheduler in self._schedulers:
            scheduler._initial_step()
        self._last_lr = self._current()


explain_all(globals())
