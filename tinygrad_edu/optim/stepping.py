"""How the optimisers of this package take a step: in place, without new memory, and many small parameters at once.

A formula is a method ``update(group, at, p, g)``, written once, for one array ``p`` and its gradient ``g``. A call of
NumPy costs far more than the arithmetic on a small parameter. So small ones are copied side by side into one array,
the formula runs once, and the results are copied back: a `Bundle`. A large one is moved where it lies.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from .. import backends
from ..core.dispatch import here, user_line
from ..core.inplace import own_buffer
from ..core.narrow import is_narrow
from ..core.storage import Storage, written_all
from ..dtypes import float32
from ..errors import ArgumentError, AutogradError, DeviceError, DtypeError, InplaceError, ShapeError
from ..settings import enable_grad
from ..tensor import Tensor, wrap
from .optimizer import Group, Optimizer, Params

Array = Any

SMALL = 2048  # elements: above, a copy costs more than a call
TOGETHER = 32768  # elements of a bundle: all its arrays should stay in the cache


def _maximum(x: Array, y: Array, out: Array) -> None:
    np.maximum(x, y, out=out)  # alone among them, it wants the name


_NUMPY = SimpleNamespace(
    add=np.add, subtract=np.subtract, multiply=np.multiply, divide=np.divide, negative=np.negative, sqrt=np.sqrt,
    abs=np.abs, maximum=_maximum,
)  # fmt: skip


def writing(backend: backends.Backend) -> Any:
    """Functions that write their result into their last argument: ``multiply(x, y, out)``. NumPy's, on the CPU."""
    if backend is backends.CPU:
        return _NUMPY
    xp = backend.xp
    functions = {
        "add": operator.add, "subtract": operator.sub, "multiply": operator.mul, "divide": operator.truediv,
        "negative": operator.neg, "sqrt": xp.sqrt, "abs": xp.abs, "maximum": xp.maximum,
    }  # fmt: skip
    return SimpleNamespace(**{name: _into_last(function) for name, function in functions.items()})


def _into_last(function: Callable[..., Array]) -> Callable[..., None]:
    def call(*arguments: Array) -> None:
        *operands, out = arguments
        out[...] = function(*operands)

    return call


class Bundle:
    """Parameters that one call of a formula moves. On the CPU they may be several; elsewhere each is alone.

    For the formula: ``state`` by name, ``scratch`` arrays, ``count`` (of steps, this one included), and ``write``, the
    functions of `writing`. 16-bit floats are moved as a copy in float32, as their state is: each step rounds them once.
    """

    __slots__ = (
        "_cells", "_values", "arrays", "copies", "count", "gradient", "home", "members", "pairs", "parameter",
        "pieces", "scratch", "state", "steps", "storages", "write",
    )  # fmt: skip

    def __init__(self, params: list[Tensor], scratch: int, room: Callable[[Any, int, int], Array]) -> None:
        self.arrays = arrays = [own_buffer(p) for p in params]
        self.storages: list[Storage] = [p.storage for p in params]
        self.members = [(p, a, a.dtype, a.shape, p.storage) for p, a in zip(params, arrays, strict=True)]
        first, backend = arrays[0], backends.of(arrays[0])
        dtype = float32 if is_narrow(first.dtype) else first.dtype
        self.home = backend
        self.write = writing(backend)
        self.copies = len(params) > 1 or dtype != first.dtype
        self.state: dict[str, Array] = {}
        self.count = 0
        self.steps: Any = None
        self._cells: list[Array] | None = [] if backend is backends.CPU else None
        self._values: tuple[float, ...] = ()
        if backend is backends.CPU:
            size = sum(a.size for a in arrays)
            memory = [room(dtype, i, size) for i in range(scratch + 2 * self.copies)]
        else:
            memory = [_like(first, dtype) for _ in range(scratch + 2 * self.copies)]
        self.scratch = [self._whole(flat) for flat in memory[:scratch]]
        self.parameter: Array = first
        self.gradient: Array = None
        self.pairs: list[tuple[Array, Array]] = []  # of a parameter, and its copy
        self.pieces: list[Array] = []  # the copies of the gradients
        if self.copies:
            self.parameter, self.gradient = memory[scratch:]
            self.pairs = list(zip(arrays, self.cut(self.parameter), strict=True))
            self.pieces = self.cut(self.gradient)

    def _whole(self, flat: Array) -> Array:
        """Memory as the formula sees it."""
        return flat if self.copies or self._cells is None else flat.reshape(self.arrays[0].shape)

    def cut(self, flat: Array) -> list[Array]:
        """Each parameter's part of the memory, in its shape."""
        if self._cells is None:
            return [flat]
        ends = np.cumsum([a.size for a in self.arrays]).tolist()
        return [flat[end - a.size : end].reshape(a.shape) for a, end in zip(self.arrays, ends, strict=True)]

    def remember(self, name: str, start: float, entries: list[dict[str, Any]]) -> None:
        """Make a state array of what ``entries`` hold under ``name``, else of ``start``. They then show it."""
        first, dtype = self.arrays[0], self.scratch[0].dtype
        flat = _like(first, dtype) if self._cells is None else np.zeros(sum(a.size for a in self.arrays), dtype)
        if start:
            flat[...] = start
        self.state[name] = self._whole(flat)
        for piece, entry in zip(self.cut(flat), entries, strict=True):
            if name in entry:
                piece[...] = entry[name].to(device=backends.of(first).device).array
            entry[name] = wrap(piece)

    def keep_count(self, entries: list[dict[str, Any]]) -> None:
        """Let ``entries`` show the number of steps, as PyTorch does: 0-d and float32."""
        self.steps = np.full(len(entries), self.count, float32)
        for i, entry in enumerate(entries):
            entry["step"] = wrap(self.steps[i, ...])

    def numbers(self, *values: Any) -> Any:
        """Settings as what is quickest to compute with: NumPy converts a Python float at every use, a 0-d array never.

        Other devices get the floats.
        """
        values = tuple(map(float, values))
        if self._cells is None:
            return values
        if values != self._values:
            if len(values) != len(self._cells):
                self._cells = [np.zeros((), self.scratch[0].dtype) for _ in values]
            for cell, value in zip(self._cells, values, strict=True):
                cell[...] = value
            self._values = values
        return self._cells

    def gradients(self) -> list[Array] | bool | None:
        """The gradients of now. None where no parameter has one, False where the bundle does not fit any more."""
        found, kind = [], type(self.arrays[0])
        for p, array, dtype, shape, storage in self.members:
            g = p.gradient
            if g is not None:
                g = g.array
                if (g.dtype is not dtype and g.dtype != dtype) or g.shape != shape:
                    return False
                if type(g) is not kind and backends.of(g) is not self.home:
                    return False
                found.append(g)
            if p.array is not array or (storage.locks and not array.flags.writeable):
                return False
        return found if len(found) == len(self.members) else False if found else None

    def move(self, update: Callable[..., None], group: Group, gradients: list[Array]) -> None:
        """One step."""
        self.count += 1
        if self.steps is not None:
            self.steps += 1
        if not self.copies:
            update(group, self, self.parameter, gradients[0])
            return
        for piece, array in zip(self.pieces, gradients, strict=True):
            piece[...] = array
        for array, copy in self.pairs:
            copy[...] = array
        update(group, self, self.parameter, self.gradient)
        for array, copy in self.pairs:
            array[...] = copy


def _like(array: Array, dtype: Any) -> Array:
    xp = backends.of(array).xp
    zeros = xp.zeros_like(array)
    return zeros if dtype == array.dtype else xp.astype(zeros, dtype)


class Plan:
    """How one group is stepped: its bundles, those that had no gradient yet, and what all this was made for."""

    def __init__(self, params: list[Tensor], names: dict[str, float]) -> None:
        self.params, self.names = list(params), names
        self.bundles: list[Bundle] = []
        self.idle: list[Tensor] = []
        self.laid: list[Tensor] = []  # in the order of `entries`
        self.entries: list[dict[str, Any]] = []

    def work(self, params: list[Tensor], names: dict[str, float], state: Any) -> list[Any] | None:
        """The bundles that have gradients, with them. None where the plan does not fit any more."""
        same = operator.is_
        if len(params) != len(self.params) or not all(map(same, params, self.params)) or names != self.names:
            return None
        if not all(map(same, map(state.get, self.laid), self.entries)):
            return None
        work = []
        for bundle in self.bundles:
            gradients = bundle.gradients()
            if gradients is False:
                return None
            if gradients is not None:
                work.append((bundle, gradients))
        return None if any(p.gradient is not None for p in self.idle) else work


class InPlaceOptimizer(Optimizer):
    """An optimiser that is given by a formula for one parameter: see `update`, and the subclasses for examples."""

    counts = True  # does the state hold the number of steps?
    scratch = 1  # arrays that the formula needs besides

    def __init__(self, params: Params, defaults: dict[str, Any]) -> None:
        self._plans: dict[int, Plan] = {}
        self._rooms: dict[tuple[Any, int], Array] = {}
        super().__init__(params, defaults)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.__dict__.get("defaults", ()):
            mend = f'for group in optimizer.param_groups: group["{name}"] = …'
            raise ArgumentError(f"{self._name}.{name} = {value!r}", "each group has its own settings", mend, here())
        super().__setattr__(name, value)

    def remembers(self, group: Group) -> dict[str, float]:
        """The names of the state arrays, and what each is filled with at first."""
        raise NotImplementedError

    def update(self, group: Group, at: Bundle, p: Array, g: Array) -> None:
        """Move ``p``. ``g`` may be the gradient itself: it is only read."""
        raise NotImplementedError

    def descent(self, at: Bundle, p: Array, g: Array, out: Array, decay: float, maximize: bool) -> Array:
        """The gradient, turned round for ``maximize``, plus ``decay * p``: ``g`` itself, or ``out``."""
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

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Move every parameter that has a gradient. ``closure`` computes the loss anew, which is returned.

        Raises `DtypeError`, `DeviceError` or `ShapeError` for a gradient unlike its parameter, and `InplaceError` for a
        parameter in read-only memory; then nothing has moved.
        """
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        line = user_line()
        work = [(group, self._work(group)) for group in self.param_groups]
        written: list[Storage] = []
        try:
            for group, bundles in work:
                for bundle, gradients in bundles:
                    written += bundle.storages
                    bundle.move(self.update, group, gradients)
        finally:
            written_all(written, f"{self._name}.step", line)
        return loss

    def _work(self, group: Group) -> list[Any]:
        names, plan = self.remembers(group), self._plans.get(id(group))
        work = None if plan is None else plan.work(group["params"], names, self.state)
        if work is None:
            self._plans[id(group)] = fresh = self._plan(group, names, plan)
            work = fresh.work(group["params"], names, self.state)
            assert work is not None
        return work

    def _plan(self, group: Group, names: dict[str, float], old: Plan | None) -> Plan:
        """Put the parameters into bundles. One that had a gradient before keeps its place, with or without one now.

        What stood in different bundles stays apart, so that a group of which now some and now others have gradients
        is soon laid out for good.
        """
        plan = Plan(group["params"], names)
        before = {id(p): i for i, bundle in enumerate(old.bundles) for p, *_ in bundle.members} if old else {}
        heaps: dict[Any, list[list[Tensor]]] = {}
        storages: set[int] = set()
        for i, p in enumerate(group["params"]):
            if p.gradient is None and id(p) not in before:
                plan.idle.append(p)
                continue
            array = own_buffer(p)
            if p.gradient is not None:
                self._check_gradient(p, i, group)
            shared = id(p.storage) in storages  # then each must see what the other's step has done
            storages.add(id(p.storage))
            alone = shared or backends.of(array) is not backends.CPU or array.size > SMALL
            kind = (array.dtype, self._count(p, names), id(p) if alone else None)
            heap = heaps.setdefault((before.get(id(p)), p.gradient is None, kind), [[]])
            if sum(q.array.size for q in heap[-1]) + array.size > TOGETHER and heap[-1]:
                heap.append([])
            heap[-1].append(p)
        for heap in heaps.values():
            for params in heap:
                self._lay_out(plan, params, names)
        return plan

    def _lay_out(self, plan: Plan, params: list[Tensor], names: dict[str, float]) -> None:
        bundle = Bundle(params, self.scratch, self._room)
        entries = [self.state[p] for p in params]
        bundle.count = self._count(params[0], names)
        for name, start in names.items():
            bundle.remember(name, start, entries)
        if self.counts:
            bundle.keep_count(entries)
        plan.bundles.append(bundle)
        plan.laid += params
        plan.entries += entries

    def _count(self, p: Tensor, names: dict[str, float]) -> int:
        """How many steps the parameter has made; where none are counted, whether it has made one."""
        entry = self.state.get(p, {})
        if self.counts:
            return int(float(entry.get("step", 0)))
        return int(bool(names) and all(name in entry for name in names))

    def _room(self, dtype: Any, i: int, size: int) -> Array:
        """Memory that is needed only while one bundle moves: all share it."""
        room = self._rooms.get((dtype, i))
        if room is None or room.size < size:
            room = self._rooms[dtype, i] = np.zeros(size, dtype)
        return room[:size]

    def _check_gradient(self, p: Tensor, i: int, group: Group) -> None:
        array, g = p.array, p.gradient.array
        name = group["param_names"][i] if "param_names" in group else f"parameter {i}"
        tried = f"{self._name}.step of {name} {tuple(array.shape)} {array.dtype}"
        home, other = backends.of(array), backends.of(g)
        if home is not other:
            why = f"the parameter lives on {home.name}, and its gradient on {other.name}"
            raise DeviceError(tried, why, "move the module before the forward pass, or drop the gradient", here())
        if g.dtype != array.dtype:
            why, mend = f"its gradient is {g.dtype}", "convert it: p.grad = p.grad.to(p.dtype)"
            raise DtypeError(tried, why, mend, here())
        if tuple(g.shape) != tuple(array.shape):
            raise ShapeError(tried, f"its gradient has shape {tuple(g.shape)}", "drop it: p.grad = None", here())
        if not getattr(getattr(array, "flags", None), "writeable", True):
            why = "its memory is read-only: the graph still needs it, or it shows a NumPy array that was read-only"
            raise InplaceError(tried, why, "step after backward, or make the parameter of a copy", here())
        if not home.readable and any(
            backends.of(v.array).readable for name, v in self.state.get(p, {}).items() if name != "step"
        ):
            why = "the optimiser has stepped outside of what is being recorded, and a replay would start from there"
            raise AutogradError(tried, why, "make the optimiser inside the recorded function", here())

    def __getstate__(self) -> dict[str, Any]:
        """For `copy` and `pickle`: plans are made anew, as their arrays must look at one memory."""
        return {**self.__dict__, "_plans": {}, "_rooms": {}}

    def load_state_dict(self, state_dict: Any) -> None:
        super().load_state_dict(state_dict)
        self._plans.clear()

    load_state_dict.__doc__ = Optimizer.load_state_dict.__doc__
