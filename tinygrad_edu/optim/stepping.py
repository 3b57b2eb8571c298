"""How the optimisers of this package take a step: in place, without new memory, and many small parameters at once.

A formula is a method ``update(group, at, p, g)``, written once, for one array ``p`` and its gradient ``g``. A call of
NumPy costs far more than the arithmetic on a small parameter. So small ones are copied side by side into one array,
the formula runs once, and the results are copied back: a `Bundle`. A `Plan` holds which parameters go together. It is
made at the first step, and again whenever it no longer fits; all that it needs to know is in ``state``.
"""

from __future__ import annotations

import math
import operator
from collections import defaultdict
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from .. import backends
from ..common.lines import user_line, warn_user
from ..core.inplace import own_buffer
from ..core.narrow import is_narrow
from ..core.storage import Storage, written_all
from ..errors import ArgumentError, AutogradError, DeviceError, DtypeError, EduError, InplaceError, ShapeError
from ..settings import enable_grad
from ..tensor import Tensor, as_tensor
from .bundle import MASTER, Array, Bundle, Entry, kept, known
from .optimizer import Group, Optimizer, Params

SMALL = 2048  # elements: above, a copy costs more than a call
TOGETHER = 32768  # elements of a bundle: all its arrays should stay in the cache

Work = list[tuple[Bundle, list[Array]]]  # what moves now, with its gradients


class Plan:
    """How one group is stepped: its bundles, its parameters without a gradient so far, and what it was made for."""

    def __init__(self, params: list[Tensor], names: dict[str, float]) -> None:
        self.params, self.names = list(params), names
        self.bundles: list[Bundle] = []
        self.idle: list[Tensor] = []

    def work(self, params: list[Tensor], names: dict[str, float], state: Any) -> Work | None:
        """What moves now. None if the plan no longer fits."""
        if len(params) != len(self.params) or not all(map(operator.is_, params, self.params)) or names != self.names:
            return None
        work = []
        for bundle in self.bundles:
            gradients = bundle.gradients(state)
            if gradients is None:
                return None
            if gradients:
                work.append((bundle, gradients))
        return None if any(p.gradient is not None for p in self.idle) else work


class InPlaceOptimizer(Optimizer):
    """An optimiser defined by a formula for one parameter: see `update`, and the subclasses for examples.

    ``state`` may be changed between steps. The next step copies what was put there, and the state then shows the copy.
    """

    scratch = 1  # how many more arrays the formula needs
    _masters = False  # see `master_weights`
    _way = "foreach"  # how a device steps: "foreach", "fused" or one parameter after the other

    def __init__(self, params: Params, defaults: dict[str, Any]) -> None:
        self._plans: list[Plan | None] = []  # of each group
        self._rooms: dict[tuple[Any, int], Array] = {}
        self._homes: dict[int, str] = {}  # where each parameter was when it came here
        super().__init__(params, defaults)

    def add_param_group(self, param_group: Group) -> None:
        super().add_param_group(param_group)
        self._homes |= {id(p): p.device for p in self.param_groups[-1]["params"]}

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.__dict__.get("defaults", ()):
            mend = f'for group in optimizer.param_groups: group["{name}"] = …'
            raise ArgumentError(f"{self._name}.{name} = {value!r}", "each group has its own settings", mend)
        super().__setattr__(name, value)

    def one_way(self, **switches: bool | None) -> None:
        """Refuse PyTorch's switches that ask for other results than there are here. Off, they change nothing.

        ``foreach`` and ``fused`` only say how the same numbers are to be found, so each may be on; not both, as in
        PyTorch. On a device the first, which holds by default, launches each part of the formula for all parameters
        at once, and the second the whole formula.
        """
        if switches.get("foreach") and switches.get("fused"):
            why = "each names another way to the same numbers"
            self.refuse("foreach=True and fused=True", why, "leave both out")
        if switches.get("fused") or switches.get("foreach") is False:
            self._way = "fused" if switches.get("fused") else "single"
        for name, on in switches.items():
            if on and name not in ("foreach", "fused"):
                why = "there is one way to step here: in place, outside the graph, small parameters together"
                self.refuse(f"{name}={on}", why, "leave it out")

    # For the formulas --------------------------------------------------------------------------------------------

    def remembers(self, group: Group) -> dict[str, float]:
        """The names of the state arrays, and what each is filled with at first."""
        raise NotImplementedError

    def update(self, group: Group, at: Bundle, p: Array, g: Array) -> None:
        """Move ``p``. ``g`` may be the gradient itself: it is only read."""
        raise NotImplementedError

    def descent(self, at: Bundle, p: Array, g: Array, out: Array, decay: float, maximize: bool) -> Array:
        """The gradient, negated for ``maximize``, plus ``decay * p``: ``g`` itself, or ``out``."""
        if decay:
            at.write.multiply(p, float(decay), out)
            if maximize:
                out -= g
            else:
                out += g
            return out
        if maximize:
            at.write.negative(g, out)
            return out
        return g

    def memory(self) -> list[Any]:
        """The arrays that it keeps: the state, and what its formula works in."""
        bundles = [bundle for plan in self._plans if plan is not None for bundle in plan.bundles]
        return [*super().memory(), *self._rooms.values(), *(array for bundle in bundles for array in bundle.memory())]

    # A step ------------------------------------------------------------------------------------------------------

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Move every parameter that has a gradient. ``closure`` computes the loss again, which is returned.

        An interrupt (Ctrl-C) finds each parameter old or new and never in between, because it is written last, in one
        call. But some may have moved and others not, and the state of one (momentum, number of steps) may be ahead of
        it. To go on exactly, load the state from before.

        Raises `DtypeError`, `DeviceError` or `ShapeError` for a gradient unlike its parameter, `InplaceError` for a
        parameter in read-only memory, and `ShapeError` for a state of another shape; in that case nothing has moved.
        """
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        line = user_line()
        work = [(group, self._work(i, group)) for i, group in enumerate(self.param_groups)]
        written: list[Storage] = []
        try:
            for group, bundles in work:
                self._move(group, bundles, written)
        finally:
            written_all(written, f"{self._name}.step", line)
        return loss

    def _move(self, group: Group, bundles: Work, written: list[Storage]) -> None:
        """Move the parameters of a group. What is written is noted before it is."""
        devices: dict[backends.Backend, backends.Together] = {}
        try:
            for bundle, gradients in bundles:
                written += bundle.storages
                home = bundle.home
                if home is not backends.CPU:
                    if home not in devices:
                        devices[home] = home.together(self._way)
                    devices[home].begin(*bundle.touched(gradients))
                bundle.move(self.update, group, gradients)
        finally:
            for together in devices.values():
                together.end()

    def _work(self, i: int, group: Group) -> Work:
        """What moves now in group ``i``: by its plan, or by a new one."""
        names = self.remembers(group) | ({MASTER: 0.0} if self._masters else {})
        if i == len(self._plans):
            self._plans.append(None)
        plan = self._plans[i]
        work = None if plan is None else plan.work(group["params"], names, self.state)
        if work is None:
            plan = self._plans[i] = self._plan(group, names, plan)
            moving = [bundle for bundle in plan.bundles if bundle.params[0].gradient is not None]
            work = [(bundle, [p.gradient.array for p in bundle.params]) for bundle in moving]
        return work

    def _plan(self, group: Group, names: dict[str, float], old: Plan | None) -> Plan:
        """Sort the parameters into heaps that go together, and these into bundles.

        Parameters that were in different bundles stay apart, and stay in a bundle even while they have no gradient. So
        where now some and now others have gradients, the group soon has a layout that lasts.
        """
        plan = Plan(group["params"], names)
        before = {id(p): i for i, bundle in enumerate(old.bundles) for p in bundle.params} if old else {}
        heaps: dict[Any, list[Tensor]] = {}
        storages: set[int] = set()
        for i, p in enumerate(group["params"]):
            entry = self._entry(p)
            own = _own_names(names, p)
            if p.gradient is None and not (id(p) in before and known(entry, own)):
                plan.idle.append(p)
                continue
            array = own_buffer(p)
            self._notice_move(p)
            self._check(p, entry, i, group, own)
            shared = id(p.storage) in storages  # if so, each must see what the other's step has done
            storages.add(id(p.storage))
            alone = shared or backends.of(array) is not backends.CPU or array.size > SMALL
            past = (kept(entry, self.tallies), known(entry, own), before.get(id(p)))
            heaps.setdefault((array.dtype, p.gradient is None, past, id(p) if alone else None), []).append(p)
        for heap in heaps.values():
            for params in _portions(heap):
                bundle = Bundle(params, [self._entry(p) for p in params], self.scratch, self._room)
                bundle.remember(_own_names(names, params[0]), self.tallies)
                plan.bundles.append(bundle)
        return plan

    def _notice_move(self, p: Tensor) -> None:
        """Warn, once, where parameters are on another device than when the optimiser was made."""
        before = self._homes.get(id(p), p.device)
        if before == p.device:
            return
        self._homes |= dict.fromkeys(self._homes, p.device)
        told = f"its parameters were on {before!r} when it was made, and are on {p.device!r} now"
        warn_user(f"{self._name}: {told}. Move the model first: here the state follows them, in PyTorch it may not.")

    def _known_names(self) -> set[str] | None:
        known = self.state_names()
        return known | {MASTER} if known is not None and self._masters else known

    def _empty_state(self) -> defaultdict[Any, dict[str, Any]]:
        return defaultdict(Entry)

    def _entry(self, p: Tensor) -> Entry:
        """What is remembered of a parameter; a dict that somebody else has put there becomes an `Entry`."""
        entry = self.state.get(p)
        if not isinstance(entry, Entry):
            entry = self.state[p] = Entry(entry or {})
        return entry

    def _room(self, dtype: Any, i: int, shape: tuple[int, ...]) -> Array:
        """Memory that is needed only while one bundle moves, so all bundles share it."""
        size, room = math.prod(shape), self._rooms.get((dtype, i))
        if room is None or room.size < size:
            room = self._rooms[dtype, i] = np.zeros(size, dtype)
        return room[:size].reshape(shape)

    def _check(self, p: Tensor, entry: Entry, i: int, group: Group, names: dict[str, float]) -> None:
        """Refuse a parameter that cannot be stepped."""
        array, home = p.array, backends.of(p.array)

        def refuse(kind: type[EduError], why: str, mend: str) -> NoReturn:
            name = group["param_names"][i] if "param_names" in group else f"parameter {i}"
            raise kind(f"{self._name}.step of {name} {tuple(array.shape)} {array.dtype}", why, mend)

        if p.gradient is not None:
            g = p.gradient.array
            if home is not backends.of(g):
                why = f"the parameter lives on {home.name}, but its gradient on {backends.of(g).name}"
                refuse(DeviceError, why, "move the module before the forward pass, or drop the gradient")
            if g.dtype != array.dtype:
                refuse(DtypeError, f"its gradient is {g.dtype}", "convert it: p.grad = p.grad.to(p.dtype)")
            if tuple(g.shape) != tuple(array.shape):
                refuse(ShapeError, f"its gradient has shape {tuple(g.shape)}", "drop it: p.grad = None")
            if not getattr(getattr(array, "flags", None), "writeable", True):
                why = "its memory is read-only: the graph still needs it, or it shows a NumPy array that was read-only"
                refuse(InplaceError, why, "step after backward, or make the parameter from a copy")
        for name, shape in [*((name, tuple(array.shape)) for name in names), *((name, ()) for name in self.tallies)]:
            if entry.get(name) is None:
                continue
            value = as_tensor(entry[name])
            if tuple(value.shape) != shape:
                why = f"its state has {name} in shape {tuple(value.shape)}, but needs {shape}"
                refuse(ShapeError, why, "put a tensor of that shape there, or optimizer.state[p].clear()")
            if not home.readable and name in names and backends.of(value.array).readable:
                why = "the optimiser has stepped outside the recording, and a replay would start from there"
                refuse(AutogradError, why, "make the optimiser inside the recorded function")

    def __getstate__(self) -> dict[str, Any]:
        """For `copy` and `pickle`: the copy makes its own plans, because their arrays must share one memory."""
        return {**self.__dict__, "_plans": [], "_rooms": {}, "_homes": {}}


def _own_names(names: dict[str, float], p: Tensor) -> dict[str, float]:
    """What is remembered of one parameter: in 16 bits it may have master weights, and in 32 it needs none."""
    return names if is_narrow(p.dtype) else {name: start for name, start in names.items() if name != MASTER}


def master_weights(optimizer: Optimizer) -> Optimizer:
    """Let the optimiser keep its 16-bit parameters in float32 as well: it moves these, and rounds them after each step.

    Without, a step smaller than half the distance to the next 16-bit number is rounded away, and training stalls: next
    to 1.0 that distance is 2⁻¹⁰ in float16 and 2⁻⁷ in bfloat16. It costs 4 bytes for each parameter. The copy is in
    ``state`` as "master", and so in `state_dict`. A parameter that something else writes to is taken over. Returns
    the optimiser. Raises `ArgumentError` for one without a formula for each parameter (LBFGS, your own).

    >>> import tinygrad_edu as tg
    >>> w = tg.ones(1, dtype="bfloat16", requires_grad=True)
    >>> step = tg.optim.master_weights(tg.optim.SGD([w], lr=0.001))
    >>> for _ in range(8):
    ...     w.grad = tg.ones(1, dtype="bfloat16")
    ...     step.step()
    >>> w.item(), round(step.state[w]["master"].item(), 4)
    (0.9921875, 0.992)
    """
    if not isinstance(optimizer, InPlaceOptimizer):
        tried = f"master_weights({type(optimizer).__name__})"
        raise ArgumentError(tried, "it has no formula for each parameter", "use SGD, Adam or another of optim")
    optimizer._masters = True
    return optimizer


def _portions(params: list[Tensor]) -> list[list[Tensor]]:
    """The same parameters, in bundles that the cache can hold."""
    portions: list[list[Tensor]] = [[]]
    size = 0
    for p in params:
        if portions[-1] and size + p.array.size > TOGETHER:
            portions.append([])
            size = 0
        portions[-1].append(p)
        size += p.array.size
    return portions
