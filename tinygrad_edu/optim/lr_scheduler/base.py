"""The base of all schedulers: they count their steps, and write a rate into each group of the optimiser."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, NoReturn

from ...common.lines import warn_user
from ...errors import ArgumentError, DtypeError
from ...inputs.kinds import explain_all
from ...inputs.outside import announced
from ..optimizer import Optimizer


class LRScheduler:
    """Changes the rates of an optimiser: call ``step()`` after each epoch, or after each ``optimizer.step()``.

    ``last_epoch`` counts the steps. The rate that a group had at first is its ``initial_lr``. Your own subclass
    computes the rates at ``last_epoch`` in `get_lr`:

    >>> import tinygrad_edu as tg
    >>> class Halving(tg.optim.lr_scheduler.LRScheduler):
    ...     def get_lr(self):
    ...         return [lr / 2**self.last_epoch for lr in self.base_lrs]
    >>> optimizer = tg.optim.SGD([tg.ones(1, requires_grad=True)], lr=0.8)
    >>> scheduler = Halving(optimizer)
    >>> for _ in range(2):
    ...     optimizer.step()
    ...     scheduler.step()
    >>> scheduler.get_last_lr()
    [0.2]
    """

    _is_initial = False
    _unsaved: tuple[str, ...] = ("optimizer",)
    _needs_bases = True  # or are the present rates enough?

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "step" in cls.__dict__:
            cls.step = announced(cls.__dict__["step"])  # type: ignore[method-assign]

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        self._check_optimizer(optimizer)
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", group["lr"])
            elif "initial_lr" not in group:
                why = f"group {i} has no initial_lr to go on from"
                self._refuse(f"last_epoch={last_epoch}", why, "load the optimiser's state first, or leave it out")
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._initial_step()

    @classmethod
    def _check_optimizer(cls, optimizer: Any) -> None:
        if not isinstance(optimizer, Optimizer):
            tried, why = f"{cls.__name__} of a {type(optimizer).__name__}", "a scheduler changes an optimiser's rates"
            raise DtypeError(tried, why, "pass the optimizer first")

    @classmethod
    def _refuse(cls, what: str, why: str, mend: str) -> NoReturn:
        raise ArgumentError(f"{cls.__name__} with {what}", why, mend)

    @classmethod
    def _per_group(cls, name: str, value: Any, optimizer: Optimizer) -> list[Any]:
        """A list with one value for each group: what was given, or the one value that was given."""
        groups = len(optimizer.param_groups)
        if not isinstance(value, list | tuple):
            return [value] * groups
        if len(value) != groups:
            cls._refuse(f"{len(value)} values of {name}", f"the optimiser has {groups} groups", "give one for each")
        return list(value)

    def _initial_step(self) -> None:
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            del self._is_initial

    def get_lr(self) -> list[float]:
        """The rates at ``last_epoch``, one for each group. For subclasses; users call `get_last_lr`."""
        raise NotImplementedError(f"{type(self).__name__} has no get_lr(): define one")

    def get_last_lr(self) -> list[float]:
        """The rates as this scheduler last set them."""
        return self._last_lr

    @announced
    def step(self) -> None:
        """Go on to the next rates. Warns if the optimiser has not stepped yet: it would miss the first ones.

        Unlike in PyTorch, where that is deprecated, it does not take an epoch.
        """
        if self._step_count == 1 and not self.optimizer._stepped:
            text = (
                "scheduler.step() before the first optimizer.step(): the first rate of the schedule is never used. "
                "Call optimizer.step() first"
            )
            warn_user(text)
        self._step_count += 1
        self._advance()

    def _advance(self) -> None:
        groups, known = len(self.optimizer.param_groups), len(self.base_lrs)
        if groups != known and self._needs_bases:
            why = f"it was made for {known}, and does not know the initial rates of the others"
            self._refuse(f"{groups} groups", why, "add groups before you make the scheduler")
        self.last_epoch += 1
        self._set(self.get_lr())

    def _restart(self) -> None:
        """Take over from the scheduler before, in a `SequentialLR`, as if new."""
        self.last_epoch = -1
        self._set(self.base_lrs)
        self._advance()

    def _current(self) -> list[float]:
        return [group["lr"] for group in self.optimizer.param_groups]

    def _set(self, rates: list[float]) -> None:
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            group["lr"] = rate
        self._last_lr = self._current()

    def state_dict(self) -> dict[str, Any]:
        """All but the optimiser: numbers and lists. They are copies."""
        return {name: _copied(value) for name, value in self.__dict__.items() if name not in self._unsaved}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go on from a `state_dict` of a scheduler of this class, or of PyTorch's class of that name.

        The rates themselves are in the optimiser: load its state too. Raises `ArgumentError` when parts are missing or
        of another kind; in that case nothing has changed.
        """
        for target, values in self._read_state(state_dict):
            target.update(values)

    def _read_state(self, state: Mapping[str, Any]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        """Check a state, and change nothing. Returns what to change: attributes by name, with their new values."""
        if not isinstance(state, Mapping):
            self._refuse_state(f"it is a {type(state).__name__}, not a dict")
        own = self.state_dict()
        missing = sorted(set(own) - set(state))
        if missing:
            self._refuse_state(f"there is no {', '.join(missing)} in it")
        for name, value in own.items():
            if value is not None and _kind(value) != _kind(state[name]):
                self._refuse_state(f"{name} is {_kind(state[name])}, but here it is {_kind(value)}")
        foreign = ("_is_initial", "_get_lr_called_within_step")  # PyTorch's, of no use here
        unwanted = foreign + self._unsaved
        return [(self.__dict__, {name: _copied(value) for name, value in state.items() if name not in unwanted})]

    def _refuse_state(self, why: str) -> NoReturn:
        tried = f"load_state_dict into {type(self).__name__}"
        raise ArgumentError(tried, why, "load it into a scheduler of the class that saved it")


def _copied(value: Any) -> Any:
    """Lists and dicts, to their depths, as copies; the rest as it is."""
    if isinstance(value, list):
        return [_copied(inside) for inside in value]
    if isinstance(value, dict):
        twin = copy.copy(value)  # of the same class, as a Counter
        for key, inside in value.items():
            twin[key] = _copied(inside)
        return twin
    return value


def _kind(value: Any) -> str:
    """What two values must have in common to replace each other."""
    if isinstance(value, list | tuple):
        return "a list"
    return "a dict" if isinstance(value, Mapping) else "text" if isinstance(value, str) else "one value"


def cycled(group: dict[str, Any], momentum: float) -> None:
    """Set the momentum of a group, or the first of its ``betas`` if it has them."""
    if "betas" in group:
        group["betas"] = (momentum, *group["betas"][1:])
    else:
        group["momentum"] = momentum


explain_all(globals())
