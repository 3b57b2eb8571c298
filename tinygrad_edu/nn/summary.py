"""A model as a table: its parts, the output of each, and the number and bytes of its parameters."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any, NamedTuple

from ..common.blocks import block
from ..errors import ArgumentError
from ..inputs.kinds import explain_all
from ..settings import no_grad
from ..tensor import Tensor
from ..tensor.creation import zeros
from ..tensor.random import generator
from .modes import modes_kept
from .module import Module
from .parameter import is_lazy
from .unregistered import notice


class Row(NamedTuple):
    """One module of a `Summary`. Parameters and bytes are its own, without those of modules that have rows below it."""

    path: str  # its dotted name; "" for the model itself
    kind: str  # its class
    output: Any = None  # the output's shape; a tuple of shapes for several; None if unknown
    calls: int = 0  # how often the forward of the model called it
    parameters: int = 0  # numbers, not tensors; each is counted once, at its first place
    trainable: int = 0  # how many of these require grad
    buffers: int = 0
    bytes: int = 0  # of parameters and buffers
    shared: tuple[str, ...] = ()  # where its parameters and buffers that were already counted are
    unsized: int = 0  # tensors, not numbers: those without a shape yet, as in a lazy layer before its first input


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

    def __repr__(self) -> str:
        return _table(self)

    __str__ = __repr__


def summary(model: Module, input: Any = None, *, depth: int | None = None) -> Summary:
    """A table of the modules in ``model``: path, class, output shape, parameters, bytes and share of the parameters.

    ``input`` is an example: a tensor, a tuple of arguments, or a shape (or list of shapes) for tensors of zeros. With
    it the model runs once, in evaluation mode and outside the graph; its mode and the random generator are restored
    afterwards. If it has lazy layers, a copy of the model runs, and they stay lazy. Without ``input`` the shapes are
    left out. ``depth`` is the number of levels that get a row; whatever is deeper counts with the last of them. A
    shared parameter is counted once, and marked.

    It is a function, not a method, so that `Module` has only PyTorch's names. Raises `ArgumentError` for anything but a
    module, and whatever the model raises for an input that it cannot take.

    >>> from tinygrad_edu import nn
    >>> summary(nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)), (1, 4))
    module   class       output shape  parameters  bytes  share
    (model)  Sequential  (1, 2)                 0      0   0.0%
    0        Linear      (1, 8)                40    160  69.0%
    1        ReLU        (1, 8)                 0      0   0.0%
    2        Linear      (1, 2)                18     72  31.0%
    58 parameters: 58 trainable, 0 fixed; 0 numbers in buffers; 232 bytes together
    """
    if not isinstance(model, Module):
        why, mend = "it takes a module", "pass the model itself: summary(model)"
        raise ArgumentError(f"summary of a {type(model).__name__}", why, mend)
    notice(model)
    if input is None:
        return Summary(tuple(_rows(model, {}, depth)))
    given = _arguments(model, input)
    if any(is_lazy(tensor) for registry in ("_parameters", "_buffers") for tensor in model._members(registry)):
        model = copy.deepcopy(model)
    seen = _run(model, given)
    return Summary(tuple(_rows(model, seen, depth)), tuple(_shape(one) for one in given))


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


def _run(model: Module, given: tuple[Any, ...]) -> dict[Module, list[Any]]:
    """The output shapes of each module, call by call."""
    seen: dict[Module, list[Any]] = {}

    def note(module: Module, inputs: Any, output: Any) -> None:
        seen.setdefault(module, []).append(_shape(output))

    with ExitStack() as stack:
        stack.enter_context(_undisturbed(model))
        for module in model.modules():
            stack.enter_context(module.register_forward_hook(note))
        model(*given)
    return seen


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


def _rows(model: Module, seen: dict[Module, list[Any]], depth: int | None) -> Iterator[Row]:
    """A row for each place of a module, in the order of the state."""
    counted: dict[int, str] = {}  # parameters and buffers already counted, and where
    times: dict[Module, int] = {}
    for path, module in model.named_modules(remove_duplicate=False):
        level = path.count(".") + 1 if path else 0
        if depth is not None and level > depth:
            continue
        place = times[module] = times.get(module, -1) + 1
        shapes = seen.get(module, [])
        folded = depth == level
        yield Row(
            path, type(module).__name__,
            output=shapes[min(place, len(shapes) - 1)] if shapes else None,
            calls=len(shapes), **_count(path, module, counted, folded),
        )  # fmt: skip


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
    lines = [["module", "class", *["output shape"] * ran, "parameters", "bytes", "share"]]
    notes = [""]
    for row in found.rows:
        share = row.parameters / found.parameters if found.parameters else 0.0
        numbers = [f"{row.parameters:,}", f"{row.bytes:,}", f"{share:.1%}"]
        lines.append([row.path or "(model)", row.kind, *[_shown(row)] * ran, *numbers])
        notes.append(_note(row, ran))
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    words = len(widths) - 3  # they stand to the left, numbers to the right
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
    return "\n".join([*text, total])


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
