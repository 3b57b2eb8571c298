"""A model as a table: its parts, the output of each, the number and bytes of its parameters, and its FLOPs."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any, NamedTuple

from ..common.blocks import block
from ..core.slow import Call, Interceptor
from ..errors import ArgumentError
from ..inputs.kinds import explain_all
from ..settings import Modes, no_grad
from ..tensor import Tensor
from ..tensor.creation import zeros
from ..tensor.random import generator
from .modes import modes_kept
from .module import Module
from .parameter import is_lazy
from .unregistered import notice


class Row(NamedTuple):
    """One module of a `Summary`. What is counted is its own, without that of modules that have rows below it."""

    path: str  # its dotted name; "" for the model itself
    kind: str  # its class
    output: Any = None  # the output's shape; a tuple of shapes for several; None if unknown
    calls: int = 0  # how often the forward of the model called it
    parameters: int = 0  # numbers, not tensors; each is counted once, at its first place
    trainable: int = 0  # how many of these require grad
    buffers: int = 0
    bytes: int = 0  # of parameters and buffers
    shared: tuple[str, ...] = ()  # where its parameters and buffers that were already counted are; if none, itself
    unsized: int = 0  # tensors, not numbers: those without a shape yet, as in a lazy layer before its first input
    flops: int = 0  # of all its calls; counted once, at its first place


class Summary:
    """The result of `summary`. Print it for the table; ``rows`` and the totals are for programs.

    ``inputs`` are the shapes of the example's arguments, None if the model was not run.
    """

    def __init__(self, rows: tuple[Row, ...], inputs: tuple[Any, ...] | None = None) -> None:
        self.rows, self.inputs = rows, inputs

    @property
    def parameters(self) -> int:
        """The number of parameters, trainable or fixed."""
        return sum(row.parameters for row in self.rows)

    @property
    def trainable(self) -> int:
        """The number of parameters that are learnt."""
        return sum(row.trainable for row in self.rows)

    @property
    def fixed(self) -> int:
        """The number of parameters that do not require grad."""
        return self.parameters - self.trainable

    @property
    def buffers(self) -> int:
        """The number of elements in buffers."""
        return sum(row.buffers for row in self.rows)

    @property
    def bytes(self) -> int:
        """The bytes of all parameters and buffers. Gradients and an optimiser's state need more."""
        return sum(row.bytes for row in self.rows)

    @property
    def flops(self) -> int:
        """The FLOPs of one forward of the example; 0 if the model was not run. Backward needs about twice as many."""
        return sum(row.flops for row in self.rows)

    def __repr__(self) -> str:
        return _table(self)

    __str__ = __repr__


def summary(model: Module, input: Any = None, *, depth: int | None = None) -> Summary:
    """A table of the modules in ``model``: path, class, output shape, parameters, bytes, share of parameters, FLOPs.

    ``input`` is an example: a tensor, a tuple of arguments, or a shape (or list of shapes) for tensors of zeros. With
    it the model runs once, in evaluation mode and outside the graph; its mode and the random generator are restored
    afterwards. If it has lazy layers, a copy of the model runs, twice, and they stay lazy. Without ``input`` shapes and
    FLOPs are left out. ``depth`` is the number of levels that get a row; whatever is deeper counts with the last of
    them. A shared parameter is counted once, and marked.

    FLOPs are the operations on numbers in that run, for the whole example: an addition or a comparison counts one, a
    product of matrices two for each pair of numbers that it multiplies and adds, and moving numbers none. They belong
    to the innermost module that was running. The first layer below has 8 results, each of 4 such pairs and a bias.

    It is a function, not a method, so that `Module` has only PyTorch's names. Raises `ArgumentError` for anything but a
    module, and whatever the model raises for an input that it cannot take.

    >>> from tinygrad_edu import nn
    >>> summary(nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)), (1, 4))
    module   class       output shape  parameters  bytes  share  FLOPs
    (model)  Sequential  (1, 2)                 0      0   0.0%      0
    0        Linear      (1, 8)                40    160  69.0%     72
    1        ReLU        (1, 8)                 0      0   0.0%      8
    2        Linear      (1, 2)                18     72  31.0%     34
    58 parameters: 58 trainable, 0 fixed; 0 numbers in buffers; 232 bytes together
    114 FLOPs for one forward of this input
    """
    if not isinstance(model, Module):
        why, mend = "it takes a module", "pass the model itself: summary(model)"
        raise ArgumentError(f"summary of a {type(model).__name__}", why, mend)
    notice(model)
    if input is None:
        return Summary(tuple(_rows(model, _Run(model), depth)))
    given = _arguments(model, input)
    if any(is_lazy(tensor) for registry in ("_parameters", "_buffers") for tensor in model._members(registry)):
        model = copy.deepcopy(model)
        with _undisturbed(model):
            model(*given)  # to draw the parameters: that is no part of a forward
    return Summary(tuple(_rows(model, _run(model, given), depth)), tuple(_shape(one) for one in given))


# Running it once ----------------------------------------------------------------------------------------------------


def _is_shape(value: Any) -> bool:
    return isinstance(value, (tuple, list)) and all(type(n) is int for n in value)


def _arguments(model: Module, input: Any) -> tuple[Any, ...]:
    """The arguments for the example run."""
    if _is_shape(input):
        input = [input]
    if isinstance(input, (tuple, list)) and input and all(_is_shape(one) for one in input):
        like: Any = next((p for p in model._members("_parameters") if p.is_floating_point()), None)
        same = {} if like is None else {"dtype": like.dtype, "device": like.device}
        return tuple(zeros(tuple(one), **same) for one in input)
    return tuple(input) if isinstance(input, (tuple, list)) else (input,)


class _Run(Interceptor):
    """What is seen of each module while the model runs: the output shapes, call by call, and the FLOPs of all calls."""

    keeps = False

    def __init__(self, model: Module) -> None:
        self.model, self.modules = model, set(model.modules())
        self.shapes: dict[Module, list[Any]] = {}
        self.flops: Counter[Module] = Counter()

    def note(self, module: Module, inputs: Any, output: Any) -> None:
        """The forward hook of every module."""
        self.shapes.setdefault(module, []).append(_shape(output))

    def _changed(self, m: Modes) -> Modes:
        return m.watched_by((self, *m.observers))  # nearest to the operation, or the others would hide what is inside

    def forward(self, call: Call, proceed: Callable[[], Any]) -> Any:
        """Count one operation; of a `Function`, the operations inside."""
        if not hasattr(call.op, "cost"):
            with self:
                return proceed()
        result = proceed()
        operands = tuple(getattr(one, "array", one) for one in call.operands)
        self.flops[self._running(call)] += call.op.cost(operands, result.array, call.params).flops
        return result

    def _running(self, call: Call) -> Module:
        """The innermost module that is part of the model: another one may be made in a forward."""
        scope = call.modes.scope
        while scope is not None and scope.module not in self.modules:
            scope = scope.parent
        return self.model if scope is None else scope.module


def _run(model: Module, given: tuple[Any, ...]) -> _Run:
    """Run the model once, and see."""
    run = _Run(model)
    with ExitStack() as stack:
        stack.enter_context(_undisturbed(model))
        for module in model.modules():
            stack.enter_context(module.register_forward_hook(run.note))
        stack.enter_context(run)
        model(*given)
    return run


@block
def _undisturbed(model: Module) -> Iterator[None]:
    """Evaluation mode, outside the graph; all modes and the random generator are restored afterwards."""
    bits = generator().bit_generator
    state = bits.state
    try:
        with modes_kept(model), no_grad():
            model.eval()
            yield
    finally:
        bits.state = state


def _shape(value: Any) -> Any:
    """The shape of a tensor, the shapes of several; None for anything else."""
    if isinstance(value, Tensor):
        return tuple(value.shape)
    if isinstance(value, dict):
        value = list(value.values())
    return tuple(_shape(one) for one in value) if isinstance(value, (tuple, list)) else None


# Counting -----------------------------------------------------------------------------------------------------------


def _rows(model: Module, run: _Run, depth: int | None) -> Iterator[Row]:
    """A row for each place of a module, in the order of the state."""
    counted: dict[int, str] = {}  # parameters and buffers already counted, and where
    worked: dict[Module, str] = {}  # modules whose FLOPs are already counted, and where
    times: dict[Module, int] = {}
    for path, module in model.named_modules(remove_duplicate=False):
        level = path.count(".") + 1 if path else 0
        if depth is not None and level > depth:
            continue
        place = times[module] = times.get(module, -1) + 1
        shapes = run.shapes.get(module, [])
        folded = depth == level
        held = _count(path, module, counted, folded)
        if module in worked and not held["shared"]:
            held["shared"] = (worked[module],)
        yield Row(
            path, type(module).__name__,
            output=shapes[min(place, len(shapes) - 1)] if shapes else None,
            calls=len(shapes), flops=_work(path, module, run, worked, folded), **held,
        )  # fmt: skip


def _work(path: str, module: Module, run: _Run, worked: dict[Module, str], folded: bool) -> int:
    """The FLOPs of a module itself, or with all inside it, that were not counted before."""
    inside = list(module.named_modules(prefix=path)) if folded else [(path, module)]
    new = {one: name for name, one in inside if one not in worked}
    worked.update(new)
    return sum(run.flops[one] for one in new)


def _count(path: str, module: Module, counted: dict[int, str], folded: bool) -> dict[str, Any]:
    """What a module holds itself, or with all inside it, and was not counted before."""
    totals = {"parameters": 0, "trainable": 0, "buffers": 0, "bytes": 0, "unsized": 0}
    shared = []
    for registry in ("_parameters", "_buffers"):
        for name, tensor in module._named_members(registry, path, folded):
            if id(tensor) in counted:
                shared.append(counted[id(tensor)])
                continue
            counted[id(tensor)] = name
            if is_lazy(tensor):
                totals["unsized"] += 1
                continue
            totals["bytes"] += tensor.nbytes
            totals[registry[1:]] += tensor.numel()
            if registry == "_parameters" and tensor.requires_grad:
                totals["trainable"] += tensor.numel()
    return {**totals, "shared": tuple(shared)}


# In print -----------------------------------------------------------------------------------------------------------


def _table(found: Summary) -> str:
    ran = found.inputs is not None
    lines = [["module", "class", *["output shape"] * ran, "parameters", "bytes", "share", *["FLOPs"] * ran]]
    notes = [""]
    for row in found.rows:
        share = row.parameters / found.parameters if found.parameters else 0.0
        numbers = [f"{row.parameters:,}", f"{row.bytes:,}", f"{share:.1%}", *[f"{row.flops:,}"] * ran]
        lines.append([row.path or "(model)", row.kind, *[_shown(row)] * ran, *numbers])
        notes.append(_note(row, ran))
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    words = 2 + ran  # they stand to the left, numbers to the right
    text = []
    for line, note in zip(lines, notes, strict=True):
        cells = [cell.ljust(width) for cell, width in zip(line[:words], widths, strict=False)]
        cells += [cell.rjust(width) for cell, width in zip(line[words:], widths[words:], strict=True)]
        text.append("  ".join(cells) + note)
    total = (
        f"{found.parameters:,} parameters: {found.trainable:,} trainable, {found.fixed:,} fixed; "
        f"{found.buffers:,} numbers in buffers; {found.bytes:,} bytes together"
    )
    unsized = sum(row.unsized for row in found.rows)
    total += f"; {unsized} tensors without a shape yet: pass an input to find them out" if unsized else ""
    work = [f"{found.flops:,} FLOPs for one forward of this input"] if ran else []
    return "\n".join([*text, total, *work])


def _shown(row: Row) -> str:
    if not row.calls:
        return "not called"
    return "-" if row.output is None else repr(row.output)


def _note(row: Row, ran: bool) -> str:
    """What the columns do not say."""
    said = [f"shared with {', '.join(row.shared)}"] if row.shared else []
    said += [f"called {row.calls} times"] if ran and row.calls > 1 else []
    said += [f"{row.unsized} tensors without a shape yet"] if row.unsized else []
    said += ["fixed"] if row.parameters and not row.trainable else []
    return f"  ({'; '.join(said)})" if said else ""


explain_all(globals())
