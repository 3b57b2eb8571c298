"""The base of all optimisers: parameters in groups, each with its settings, and a state that can be saved."""

from __future__ import annotations

import copy
import functools
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, NoReturn

from ..errors import ArgumentError, DtypeError, ShapeError
from ..inputs.kinds import explain_all
from ..inputs.outside import outside
from ..settings import modes
from ..tensor import RemovableHandle, Tensor, as_tensor, clear_gradient

Group = dict[str, Any]
Params = Iterable[Tensor] | Iterable[Group] | Iterable[tuple[str, Tensor]]


class Optimizer:
    """Parameters in groups, the settings of each group, and what is remembered of each parameter.

    Your own subclass gives ``defaults`` and a ``step``:

    >>> import tinygrad_edu as tg
    >>> class SignDescent(tg.optim.Optimizer):
    ...     def __init__(self, params, lr=0.1):
    ...         super().__init__(params, {"lr": lr})
    ...
    ...     @tg.no_grad()
    ...     def step(self, closure=None):
    ...         for group in self.param_groups:
    ...             for p in group["params"]:
    ...                 if p.grad is not None:
    ...                     p -= group["lr"] * p.grad.sign()
    >>> w = tg.tensor([1.0, -2.0], requires_grad=True)
    >>> (w * w).sum().backward()
    >>> SignDescent([w]).step()
    >>> w
    tensor([ 0.9000, -1.9000], requires_grad=True)
    """

    tallies: ClassVar[Mapping[str, float]] = {"step": 0.0}  # what the state keeps as one number, and its first value
    param_groups: list[Group]
    state: defaultdict[Any, dict[str, Any]]
    defaults: dict[str, Any]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "step" in cls.__dict__:
            cls.step = _watched(cls.__dict__["step"])  # type: ignore[method-assign]

    def __init__(self, params: Params, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        self.state = self._empty_state()
        self.param_groups = []
        self._before: dict[int, Callable[..., Any]] = {}
        self._after: dict[int, Callable[..., Any]] = {}
        self._inside_step = self._stepped = False
        given = self._list(params, "pass model.parameters(), or a list: [w]")
        if not given:
            raise ArgumentError(
                f"{self._name}([])",
                "there is nothing to learn: all parameters were left out, or the module has none",
                "unfreeze some with requires_grad_(); assign layers to attributes, as a plain list is not searched",
            )
        for group in given if isinstance(given[0], dict) else [{"params": given}]:
            self.add_param_group(group)

    @property
    def _name(self) -> str:
        return type(self).__name__

    @property
    def _hooked(self) -> bool:
        """Whether something else is called before or after a step."""
        return bool(self._before or self._after or _before_every or _after_every)

    def _list(self, params: Any, mend: str) -> list[Any]:
        tried = f"{self._name} of a {type(params).__name__}"
        if getattr(params, "gi_frame", self) is None:  # a generator that has come to its end
            why = "a generator gives its tensors only once, and this one has given them"
            raise ArgumentError(tried, why, "call model.parameters() again, or keep list(model.parameters())")
        if not isinstance(params, Iterable) or isinstance(params, (Tensor, set, Mapping)):
            why = "it takes tensors, one after the other"
            if isinstance(params, Tensor):
                why = "it takes several tensors, and a loop over one gives results, not leaves"
            elif isinstance(params, set):
                why, mend = "the order of a set changes from run to run, but saved state goes by order", "pass a list"
            elif isinstance(params, Mapping):
                why, mend = "its keys are not tensors", 'pass model.parameters(), or groups in a list: [{"params": …}]'
            elif hasattr(params, "parameters"):
                why = "it moves the parameters, not the module"
            raise DtypeError(tried, why, mend)
        return list(params)

    def add_param_group(self, param_group: Group) -> None:
        """Learn more parameters: ``{"params": [...], "lr": 0.1}``, with the defaults for settings that are not named.

        ``params`` are tensors, one tensor, or ``(name, tensor)`` pairs as `named_parameters` gives them. Raises
        `ArgumentError` for a tensor that is not a leaf or is learnt already, and for a generator that is used up,
        `DtypeError` for what is not a tensor.
        """
        if not isinstance(param_group, dict) or "params" not in param_group:
            tried, why = f"add_param_group({type(param_group).__name__})", "a group is a dict with its tensors"
            raise ArgumentError(tried, why, 'pass {"params": tensors, "lr": 0.1}')
        params = param_group["params"]
        params = [params] if isinstance(params, Tensor) else self._list(params, "pass a list of tensors")
        named = [isinstance(p, tuple) for p in params]
        group = {**param_group, "params": [p[1] if isinstance(p, tuple) else p for p in params]}
        if any(named):
            group["param_names"] = [p[0] for p in params if isinstance(p, tuple)]
        uniform = all(named) or not any(named)
        if not uniform or any(("param_names" in group) != ("param_names" in other) for other in self.param_groups):
            why, mend = "some parameters come with names and some without", "name all of them, or none"
            raise ArgumentError(f"{self._name} of named parameters", why, mend)
        self._check_params(group["params"])
        group = {**group, **{name: value for name, value in self.defaults.items() if name not in group}}
        self.check(group)
        self.param_groups.append(group)

    def _check_params(self, params: list[Any]) -> None:
        seen = {id(p) for group in self.param_groups for p in group["params"]}
        for p in params:
            if not isinstance(p, Tensor):
                tried = f"{self._name} of a {type(p).__name__}"
                raise DtypeError(tried, "an optimiser moves tensors", "pass model.parameters()")
            if not p.is_leaf:
                raise ArgumentError(
                    f"{self._name} of the result of {p.node}",
                    "its gradient goes on to the tensors that it was computed from, and none is kept for a step",
                    "pass the leaves that it was computed from",
                )
            if id(p) in seen:
                tried = f"{self._name} with one tensor {tuple(p.shape)} given twice"
                raise ArgumentError(tried, "it would move twice in each step", "pass each tensor once")
            seen.add(id(p))

    def check(self, group: Group) -> None:
        """Refuse impossible settings. For subclasses; called for each group before it is added."""

    def refuse(self, setting: str, why: str, mend: str) -> NoReturn:
        """Raise `ArgumentError` for a setting, as in ``refuse("lr=-1", …)``."""
        raise ArgumentError(f"{self._name} with {setting}", why, mend)

    def need(self, group: Group, **least: float) -> None:
        """Refuse settings that are not numbers, or are too small: ``need(group, lr=0)``."""
        for name, low in least.items():
            try:
                fits = not isinstance(group[name], str) and float(group[name]) >= low  # float("0.1") is a number
            except (TypeError, ValueError):
                fits = False
            if not fits:
                least_of = f", at least {low:g}" if low > -math.inf else ""
                self.refuse(f"{name}={group[name]!r}", f"{name} is a number{least_of}", f"give it as {name}=…")

    def need_betas(self, group: Group) -> None:
        """Refuse ``betas`` unless they are two fractions."""
        betas = group["betas"]
        if not is_pair(betas) or not all(0 <= beta < 1 for beta in betas):
            why = "each is the fraction that a mean keeps, from 0 to below 1"
            self.refuse(f"betas={betas}", why, "give betas=(0.9, 0.999)")

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Move the parameters by one step. ``closure`` computes the loss again, which is returned."""
        raise NotImplementedError(f"{self._name} has no step(): define one")

    def form(self) -> Any:
        """For a compiler: equal for steps that are the same operations on the same parameters, and nothing else.

        None where a step is more, such as one that remembers something; otherwise there is ``by_operations``.
        """
        return None

    def by_operations(self, number: Callable[[Callable[[], float]], Tensor]) -> None:
        """Take a step by operations on tensors. ``number(get)`` makes a tensor of a setting, which may change."""
        raise NotImplementedError(f"{self._name} has no form()")

    def stepped(self) -> None:
        """Note that a step was taken: schedulers ask."""
        vars(self)["_stepped"] = True

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Release the gradients, or fill them with zeros."""
        for group in self.param_groups:
            for p in group["params"]:
                clear_gradient(p, set_to_none)

    def memory(self) -> list[Any]:
        """The arrays that it keeps: the state, and what its formula works in."""
        values = (value for kept in self.state.values() for value in kept.values())
        return [getattr(value, "array", value) for value in values if hasattr(value, "dtype")]

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` before each step. It may return new ``(args, kwargs)``."""
        return RemovableHandle(self._before, hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` after each step."""
        return RemovableHandle(self._after, hook)

    # State ------------------------------------------------------------------------------------------------------

    def _empty_state(self) -> defaultdict[Any, dict[str, Any]]:
        return defaultdict(dict)

    def state_dict(self) -> dict[str, Any]:
        """All that a later run needs to go on, in PyTorch's format. Parameters appear as numbers, in their order.

        The tensors are the ones in use: a later step changes them. Save or clone them to keep them.
        """
        numbers: dict[int, int] = {}
        for group in self.param_groups:
            for p in group["params"]:
                numbers[id(p)] = len(numbers)
        groups = [
            {**{k: v for k, v in group.items() if k != "params"}, "params": [numbers[id(p)] for p in group["params"]]}
            for group in self.param_groups
        ]
        state = {numbers[id(p)]: dict(entry) for p, entry in self.state.items() if entry and id(p) in numbers}
        return {"state": {i: state[i] for i in sorted(state)}, "param_groups": groups}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go on from a `state_dict` of this class, or of PyTorch's class of that name. Values are copied.

        Settings come from ``state_dict``; those that it does not name stay. Raises `ArgumentError` when groups, their
        lengths or the names in the state differ, `ShapeError` when a shape does; in that case nothing has changed.
        """
        if not {"state", "param_groups"} <= set(state_dict):
            why = f"it has {', '.join(map(str, list(state_dict)[:3])) or 'nothing'}, but not state and param_groups"
            self._refuse_state(ArgumentError, why, "pass what optimizer.state_dict() gave")
        own, given = self.param_groups, state_dict["param_groups"]
        sizes, theirs = ([len(group["params"]) for group in groups] for groups in (own, given))
        if sizes != theirs:
            why = f"its groups have {theirs} parameters, but those here have {sizes}"
            self._refuse_state(ArgumentError, why, "make the optimiser with the same groups as the one that was saved")
        params = [p for group in own for p in group["params"]]
        numbers = [number for group in given for number in group["params"]]
        place = dict(zip(numbers, params, strict=True))
        state = self._empty_state()
        for number, entry in state_dict["state"].items():
            number = int(number) if isinstance(number, str) else number  # a text file knows no other keys
            if number in place:
                state[place[number]].update(self._loaded(place[number], entry))
        groups = [
            {**mine, **{name: _plain(value) for name, value in new.items()}, "params": mine["params"]}
            for mine, new in zip(own, given, strict=True)
        ]
        for group in groups:
            self.check(group)
        self.state, self.param_groups = state, groups

    def _loaded(self, p: Tensor, entry: Mapping[str, Any]) -> dict[str, Any]:
        """One parameter's entry, copied and, if `state_names` lists what belongs there, checked."""
        known = self._known_names()
        if known is None:
            return {name: _copied(value, p.device) for name, value in entry.items()}
        self._check_names(entry)
        loaded = {}
        for name, value in entry.items():
            if value is None:
                continue  # PyTorch's SGD without momentum says so
            tensor = as_tensor(value).detach().clone()
            if tuple(tensor.shape) != (() if name in self.tallies else tuple(p.shape)):
                why = f"{name} has shape {tuple(tensor.shape)}, but its parameter has {tuple(p.shape)}"
                self._refuse_state(ShapeError, why, "give the optimiser the parameters in the same order")
            loaded[name] = tensor
        return loaded

    def _known_names(self) -> set[str] | None:
        return self.state_names()

    def _check_names(self, entry: Mapping[str, Any]) -> None:
        known = self._known_names() or set(entry)
        if not set(entry) <= known:
            why = f"it remembers {', '.join(sorted(entry))}, but {self._name} has {', '.join(sorted(known))}"
            self._refuse_state(ArgumentError, why, "load it into an optimiser of the class that saved it")

    def _refuse_state(self, kind: type[ArgumentError] | type[ShapeError], why: str, mend: str) -> NoReturn:
        raise kind(f"load_state_dict into {self._name}", why, mend)

    def state_names(self) -> set[str] | None:
        """The names of what is remembered of a parameter; None if a subclass does not define them."""
        return None

    def __repr__(self) -> str:
        lines = [f"{self._name} ("]
        for i, group in enumerate(self.param_groups):
            settings = [f"    {name}: {group[name]}" for name in sorted(group) if name != "params"]
            lines += [*[""] * bool(i), f"Parameter Group {i}", *settings]
        return "\n".join([*lines, ")"])


def is_pair(value: Any) -> bool:
    """Whether a setting is two numbers."""
    return isinstance(value, (tuple, list)) and len(value) == 2 and all(isinstance(v, int | float) for v in value)


def _plain(value: Any) -> Any:
    """Settings are copied too; a text file gives lists for tuples."""
    return tuple(value) if isinstance(value, list) and all(isinstance(v, int | float) for v in value) else value


def _copied(value: Any, device: str) -> Any:
    """A copy of what a user's own optimiser remembers: tensors go to their parameter's device, the rest stays."""
    if isinstance(value, Tensor):
        return value.detach().to(device).clone()
    if isinstance(value, dict):
        return {key: _copied(inside, device) for key, inside in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_copied(inside, device) for inside in value)
    return copy.deepcopy(value)


_before_every: dict[int, Callable[..., Any]] = {}
_after_every: dict[int, Callable[..., Any]] = {}


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(optimizer, args, kwargs)`` before each step of any optimiser, in any thread."""
    return RemovableHandle(_before_every, hook)


def register_optimizer_step_post_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(optimizer, args, kwargs)`` after each step of any optimiser, in any thread."""
    return RemovableHandle(_after_every, hook)


def _watched(step: Callable[..., Any]) -> Callable[..., Any]:
    """``step`` with the hooks around it; a step that calls its base class's is still one step."""

    @functools.wraps(step)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        own = vars(self)
        if own["_inside_step"]:
            return step(self, *args, **kwargs)
        if modes().observers and outside("call", functools.partial(call, self, *args, **kwargs)) is not None:
            return None
        own["_inside_step"] = True
        try:
            for hook in [*_before_every.values(), *self._before.values()]:
                args, kwargs = hook(self, args, kwargs) or (args, kwargs)
            result = step(self, *args, **kwargs)
            for hook in [*self._after.values(), *_after_every.values()]:
                hook(self, args, kwargs)
        finally:
            own["_inside_step"] = False
        self.stepped()
        return result

    return call


explain_all(globals(), "is_pair")
