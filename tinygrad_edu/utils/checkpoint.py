"""Keeping less for backward: a part of a model keeps only what goes into it, and backward computes the rest again.

Chen et al. 2016, "Training deep nets with sublinear memory cost". The names and arguments are those of
``torch.utils.checkpoint``; as with its ``use_reentrant=False``, parameters and other tensors that the function finds
by itself get their gradients, `autograd.grad` and second derivatives work, and checkpoints may stand inside others.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from .. import backends
from ..amp import autocast
from ..autograd.engine import between
from ..autograd.function import Function
from ..common.blocks import block
from ..common.lines import user_line
from ..common.wording import plural, shown
from ..core.base import TensorBase
from ..core.slow import Call, Interceptor
from ..core.storage import find, number
from ..errors import ArgumentError, AutogradError, DtypeError
from ..inputs.trees import tensors_in
from ..nn.containers import Sequential
from ..nn.module import Module
from ..settings import modes, no_grad, scoped
from ..tensor.random import get_rng_state, set_rng_state

__all__ = ["CheckpointError", "checkpoint", "checkpoint_sequential", "noop_context_fn"]
SAMPLE = 64  # values of each result that are compared with those of the first run
NEAR = 1e-3  # how far they may be apart, of the largest: sums may be taken in another order


class CheckpointError(AutogradError):
    """Backward computed a part again, and the result was not what it had been."""


def noop_context_fn() -> tuple[AbstractContextManager[Any], AbstractContextManager[Any]]:
    """Two blocks that do nothing, around the first run of a function and around the second."""
    return nullcontext(), nullcontext()


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], tuple[Any, Any]] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    preserve_rng_state: bool = True,
    **kwargs: Any,
) -> Any:
    """``function(*args, **kwargs)``, of which only the tensors that go in are kept: backward calls it once more.

    That costs one more forward pass of this part, and saves the memory of all that is computed inside. The values and
    gradients are the same as without. ``preserve_rng_state`` draws the same random numbers again, from `manual_seed`'s
    stream. ``context_fn`` returns two blocks, around the first run and around the second. ``use_reentrant``, ``debug``
    and ``early_stop`` choose in PyTorch how it is done, and change nothing here.

    In the first run nothing is recorded, so inside `is_grad_enabled` is False there. What else the function does, it
    does twice: batch norm moves its running statistics at each run, as in PyTorch.

    Raises `CheckpointError` if the function writes into its arguments, and if the second run gives other shapes,
    dtypes or values (64 of each result are compared); ``determinism_check="none"`` turns the comparison off.

    >>> import tinygrad_edu as tg
    >>> x = tg.tensor(2.0, requires_grad=True)
    >>> checkpoint(lambda x: x.exp().log() * x, x).backward()
    >>> round(x.grad.item(), 4)
    4.0
    """
    if not callable(function):
        why, mend = "it is called, now and again in backward", "give a function or a module, and its arguments after it"
        raise DtypeError(f"checkpoint of {shown(function, 40)}", why, mend)
    if determinism_check not in ("default", "none"):
        tried, why = f"determinism_check={determinism_check!r}", "it says whether results are compared"
        raise ArgumentError(tried, why, "use 'default' or 'none'")
    first, again = context_fn()
    part = _Part(function, args, kwargs, again, determinism_check == "default", preserve_rng_state)
    with first:
        return part.run()


def checkpoint_sequential(
    functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """The functions one after the other, each on the result before it, in ``segments`` parts of about the same number.

    All parts but the last are checkpoints: backward begins with the last, so computing it again would save nothing.
    ``functions`` is an `nn.Sequential`, or a list of modules and functions; ``kwargs`` go to `checkpoint`.

    >>> import tinygrad_edu as tg
    >>> model = tg.nn.Sequential(*(tg.nn.Linear(4, 4) for _ in range(6)))
    >>> checkpoint_sequential(model, 3, tg.ones(1, 4)).shape
    (1, 4)
    """
    steps = _steps(functions)
    segments = _segments(segments, len(steps))
    size = len(steps) // segments
    for start in range(0, size * (segments - 1), size):
        input = checkpoint(_Chain(steps[start : start + size]), input, use_reentrant=use_reentrant, **kwargs)
    return _Chain(steps[size * (segments - 1) :])(input)


def _steps(functions: Any) -> list[Callable[[Any], Any]]:
    steps: list[Any] = []
    if isinstance(functions, Module):
        steps = list(functions) if isinstance(functions, Sequential) else list(functions.children())
    elif isinstance(functions, (list, tuple)):
        steps = list(functions)
    if not steps or not all(map(callable, steps)):
        why, mend = "it runs functions in a row", "give an nn.Sequential, or a list of modules and functions"
        raise DtypeError(f"checkpoint_sequential of {shown(functions, 40)}", why, mend)
    return steps


def _segments(given: Any, most: int) -> int:
    try:
        found = operator.index(given)
    except TypeError:
        found = 0
    if not 1 <= found <= most:
        tried, why = f"checkpoint_sequential with segments={given!r}", f"there are {plural(most, 'function')} to divide"
        raise ArgumentError(tried, why, f"use a whole number from 1 to {most}")
    return found


class _Chain:
    """Functions one after the other, as one function."""

    def __init__(self, steps: Sequence[Callable[[Any], Any]]) -> None:
        self.steps, self.__name__ = steps, f"{len(steps)} functions"

    def __call__(self, value: Any) -> Any:
        for step in self.steps:
            value = step(value)
        return value


class _Part:
    """One call of `checkpoint`: the function with its arguments, and what its second run needs from the first."""

    def __init__(
        self, function: Callable[..., Any], args: Any, kwargs: Any, again: Any, compared: bool, same_numbers: bool
    ) -> None:
        self.function, self.args, self.kwargs, self.again, self.compared = function, args, kwargs, again, compared
        m = modes()
        self.settings = {name: getattr(m, name) for name in ("guard", "promotion", "device", "dtype", "scope")}
        self.casting = [one for one in m.observers if isinstance(one, autocast)]
        self.stream = get_rng_state() if same_numbers and m.grad else None
        self.line = user_line()
        name = getattr(function, "__name__", type(function).__name__)
        self.tried = f"checkpoint({name}, …)"
        self.outside: tuple[Any, ...] = ()  # the tensors of the graph that the function uses
        self.looks: list[_Look] = []

    def run(self) -> Any:
        """The first run, of which nothing is recorded, and one node for all of it."""
        if not modes().grad:
            return self.function(*self.args, **self.kwargs)
        given = tensors_in((self.args, self.kwargs))
        before = [_stamp(tensor) for tensor in given]
        seen = _Outside()
        with no_grad(), seen:
            output = self.function(*self.args, **self.kwargs)
        if [_stamp(tensor) for tensor in given] != before:
            why = "the function writes into one of its arguments, so a second run would begin with other values"
            raise CheckpointError(self.tried, why, "let it make new tensors: without out= and in-place methods")
        self.outside, results = tuple(seen.found.values()), tensors_in(output)
        if not self.outside or not results:
            return output
        self.looks = [_Look(result) for result in results] if self.compared else []
        return _rebuilt(output, iter(Checkpoint.apply(self, results, given, *self.outside)))

    def gradients(self, upstream: tuple[Any, ...]) -> list[Any]:
        """The gradients of the tensors outside, by a second run that is recorded, and a walk back through it."""
        since = number()
        # Casts as in the first run, whatever holds now; and afresh, since a cast kept from before is not part of this.
        watching = [one for one in modes().observers if not isinstance(one, autocast)]
        watching += [one.afresh() for one in self.casting]
        settings = {**self.settings, "grad": True, "observers": tuple(watching)}
        with _drawing_from(self.stream), scoped(**settings), self.again:
            results = tensors_in(self.function(*self.args, **self.kwargs))
        self._compare(results)
        ends = [x.node for x in self.outside]
        places = [i for i, result in enumerate(results) if result.node is not None]
        return between([results[i] for i in places], [upstream[i] for i in places], ends, since)

    def _compare(self, results: list[Any]) -> None:
        """Refuse a second run that gave something else."""
        if not self.compared:
            return
        why = ""
        if len(results) != len(self.looks):
            why = f"the first run gave {plural(len(self.looks), 'tensor')}, and the second {len(results)}"
        for place, (then, now) in enumerate(zip(self.looks, map(_Look, results), strict=False)):
            why = why or then.differs(now, f"result {place}" if len(results) > 1 else "the result")
        if why:
            mend = "take out of the function whatever is not the same in both runs"
            raise CheckpointError(self.tried, why, mend, self.line)


class Checkpoint(Function):
    """The node of a whole part."""

    recomputes = True

    @staticmethod
    def forward(ctx: Any, part: _Part, results: list[Any], given: list[Any], *outside: Any) -> Any:
        # The part is saved as well: with the rest it is freed by backward, and what it holds is freed with it.
        ctx.save_for_backward(part, *outside, *given)
        return tuple(results)

    @staticmethod
    def backward(ctx: Any, *upstream: Any) -> Any:
        part = ctx.saved_tensors[0]
        return (None, None, None, *part.gradients(upstream))


class _Outside(Interceptor):
    """Finds the tensors of the graph that operations use: while nothing is recorded, all of them come from outside."""

    def __init__(self) -> None:
        self.found: dict[int, Any] = {}
        self.since = number()

    def forward(self, call: Call, proceed: Callable[[], Any]) -> Any:
        for x in call.operands:
            if isinstance(x, TensorBase) and x.node is not None and x.node.number < self.since:
                self.found[id(x)] = x
        return proceed()


class _Look:
    """A look at a tensor: shape, dtype, and some of its values."""

    def __init__(self, tensor: Any) -> None:
        array = tensor.array
        self.kind = f"shape {tuple(array.shape)}, {array.dtype}"
        places = np.linspace(0, max(array.size - 1, 0), min(SAMPLE, array.size)).astype(int)
        values = array[np.unravel_index(places, array.shape)] if array.ndim else array
        self.values = np.asarray(backends.of(array).to_numpy(values), np.float64)

    def differs(self, later: _Look, name: str) -> str:
        """What is not the same; "" if nothing is."""
        if self.kind != later.kind:
            return f"{name} had {self.kind} in the first run, and {later.kind} in the second"
        room = NEAR * np.abs(self.values).max(initial=0.0, where=np.isfinite(self.values))
        if np.allclose(self.values, later.values, rtol=0, atol=room, equal_nan=True):
            return ""
        return f"{name} has other values in the second run than in the first"


def _stamp(tensor: Any) -> int:
    """The number of the last write to a tensor's memory."""
    storage = find(tensor.array)
    return 0 if storage is None else storage.stamp


@block
def _drawing_from(state: Any) -> Iterator[None]:
    """In the block, random numbers are drawn from where the stream was then; afterwards it goes on from here."""
    if state is None:
        yield
        return
    here = get_rng_state()
    set_rng_state(state)
    try:
        yield
    finally:
        set_rng_state(here)


def _rebuilt(tree: Any, tensors: Iterator[Any]) -> Any:
    """The same tree with other tensors, in order. A named tuple stays one."""
    if isinstance(tree, TensorBase):
        return next(tensors)
    if isinstance(tree, dict):
        return type(tree)((key, _rebuilt(item, tensors)) for key, item in tree.items())
    if isinstance(tree, (tuple, list)):
        parts = [_rebuilt(item, tensors) for item in tree]
        return type(tree)(*parts) if hasattr(tree, "_fields") else type(tree)(parts)
    return tree
