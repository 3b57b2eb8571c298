"""Where floats become wider than they were: the first operation that did it, whose operand it was, and what it costs.

>>> import numpy as np
>>> import tinygrad_edu as tg
>>> x, target = tg.ones(100, 10), np.zeros((100, 10))
>>> with Promotions() as seen:
...     loss = tg.nn.functional.mse_loss(x, tg.tensor(target))
>>> seen.first.name, seen.first.culprit.dtype
('mse_loss (sub)', dtype('float64'))
>>> seen.cost.extra
16004

float32 meets float64 and becomes float64; so does all that is computed from it, at twice the bytes. No operation
complains. So each operation is watched, forward and backward.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..amp import is_autocast_enabled
from ..common.lines import Line, describe_line, user_line
from ..common.wording import bytes_text, listed, plural, seconds_text
from ..core.base import TensorBase
from ..core.graph import Node
from ..core.slow import Call, Interceptor
from ..dtypes import as_dtype, float32, is_float
from ..settings import Modes, modes

EXPLICIT = "cast"  # `x.double()` and the like: asked for, so no culprit


@dataclass(frozen=True)
class Operand:
    """What an operation was given. ``step`` is the place of the step that made it, if that was seen."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    origin: str  # in words, with the line where that is known
    step: int | None = None
    name: str = ""  # of a tensor, a parameter, a buffer, or what `Promotions` was told
    plain: bool = False  # a Python number


@dataclass(frozen=True)
class Step:
    """One operation. ``widened`` holds where its result is wider than the narrowest float that it was given.

    ``seconds`` were measured, the casts of its operands included; on a simulated device they mean little.
    """

    place: int
    name: str  # "mul"; inside a function made of several, "mse_loss (sub)"
    operands: tuple[Operand, ...]
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    nbytes: int
    module: tuple[str, ...]  # the names of the modules that it ran in, from the outermost inwards
    line: str
    seconds: float
    widened: bool
    blame: int | None  # which operand made it so

    @property
    def culprit(self) -> Operand | None:
        """The operand that made it wider."""
        return None if self.blame is None else self.operands[self.blame]


@dataclass(frozen=True)
class Cost:
    """What was wide from the first culprit on, forward and backward: bytes in all, those too many, and seconds.

    ``casts`` are the bytes of narrow operands that were copied to be as wide, all of which are too many; ``gradients``
    those of wide gradients, and ``narrower`` what they would have at the width from before.
    """

    nbytes: int
    extra: int
    seconds: float
    total: float  # seconds of all operations from there on
    casts: int = 0
    gradients: int = 0
    narrower: int = 0


class Promotions(Interceptor):
    """Watches operations while its ``with`` block runs, and finds the first that made floats wider.

    ``steps`` are all operations in order, as `Step`; ``first`` is the first that widened, or None; ``cost`` is what
    that one and those after it cost. It prints as a report.

    Casts that the program asks for are no culprits, and within `autocast` neither is float32. Writes in place keep
    their dtype, so they are not reported, however wide the computation is that they come from. 16-bit floats count as
    float32 does: next to a float32 tensor they are widened.

    ``names`` are values by the names under which reports tell of them.
    """

    keeps = False

    def __init__(self, names: Mapping[str, Any] | None = None) -> None:
        self.steps: list[Step] = []
        self._given = dict(names or {})
        self._pending: list[tuple[str, tuple[Any, ...], Line]] = []  # what was given and has not been done yet
        self._seen: dict[int, tuple[Any, int | None, str]] = {}  # arrays by identity, kept: the step, or the origin
        self._passing: list[tuple[int, float, float]] = []  # of backward: bytes, those too many, seconds
        self._cast = 0.0  # seconds of casts for the operation that comes next
        self._moved = 0  # bytes of these casts
        self._extra: dict[int, int] = {}  # bytes of casts by step
        self._names: dict[int, tuple[Any, dict[int, str]]] = {}  # of the parameters and buffers of modules

    # What is seen ---------------------------------------------------------------------------------------------------

    def given(self, name: str, operands: tuple[Any, ...]) -> tuple[Any, ...]:
        """Remember the operands as they were, before they are cast."""
        line = modes().line or user_line()
        self._pending = [one for one in self._pending if one[2] == line]
        self._pending.append((name, operands, line))
        return operands

    def made(self, array: Any, why: str) -> None:
        """Remember where a buffer was made."""
        if why == "created":
            self._seen[id(array)] = array, None, f"made in {describe_line(modes().line or user_line())}"

    def forward(self, call: Call, proceed: Callable[[], Any]) -> Any:
        """Note a step, unless it is the cast of an operand that meets others."""
        begin = time.perf_counter()
        result = proceed()
        seconds = time.perf_counter() - begin
        if call.target is not None:  # in place: the dtype is fixed
            return result
        name, operands = call.op.name, call.operands
        at = next((i for i in reversed(range(len(self._pending))) if self._pending[i][0] == name), None)
        if at is not None:
            operands = self._pending[at][1]
            del self._pending[at:]
        if name == EXPLICIT and any(operands[0] is one for _, given, _ in self._pending for one in given):
            self._cast += seconds
            self._moved += result.array.nbytes
            self._seen[id(result.array)] = (result.array, *self._origin(operands[0])[:2])
            return result
        self._note(call, name, operands, result, seconds)
        return result

    def backward(self, node: Node, g: Any, proceed: Callable[[], tuple[Any, ...]]) -> tuple[Any, ...]:
        """Note how wide a gradient is."""
        begin = time.perf_counter()
        found = proceed()
        if (first := self.first) is not None:
            wide, narrow = g.dtype.itemsize, _base(first)
            extra = g.nbytes * (wide - narrow) / wide if is_float(g.dtype) and wide > narrow else 0
            self._passing.append((g.nbytes if extra else 0, extra, time.perf_counter() - begin))
        return found

    def _note(self, call: Call, name: str, operands: tuple[Any, ...], result: Any, seconds: float) -> None:
        arrays = tuple(_operand(one, *self._origin(one)) for one in operands if one is not None)
        blame = _blame(arrays, result.dtype, call.modes) if name != EXPLICIT else None
        outer = self._pending[-1][0] if self._pending else ""
        scope = call.modes.scope
        place = len(self.steps)
        step = Step(
            place, f"{outer} ({name})" if outer else name, arrays, result.dtype, tuple(result.shape),
            result.array.nbytes, () if scope is None else scope.path(), describe_line(call.line),
            seconds + self._cast, blame is not None, blame,
        )  # fmt: skip
        self.steps.append(step)
        self._extra[place], self._cast, self._moved = self._moved, 0.0, 0
        self._seen[id(result.array)] = result.array, place, ""

    def _origin(self, value: Any) -> tuple[int | None, str, str]:
        """The step that made it, or where it came from in words, and its name."""
        name = next((name for name, one in self._given.items() if _is(one, value)), "")
        if not isinstance(value, TensorBase):
            return None, ", ".join(filter(None, [name, _outside(value)])), name
        found, name, node = self._seen.get(id(value.array)), name or self._name(value), value.node
        if found is not None and found[1] is not None:
            step = self.steps[found[1]]
            return found[1], f"the result of {step.name}, {step.line}", name
        if found is not None:
            origin = found[2]
        elif node is not None and node.op is not None:
            origin = f"the result of {node.op.name}, {describe_line(node.line)}"
        else:
            origin = "" if name else "a tensor from before"
        return None, ", ".join(filter(None, [name, origin])), name

    def _name(self, tensor: Any) -> str:
        """Its own name, or that of the parameter or buffer that it is, in the modules that are running."""
        if tensor.name:
            return str(tensor.name)
        scope = modes().scope
        while scope is not None:
            if id(scope.module) not in self._names:
                pairs = [("parameter", scope.module.named_parameters()), ("buffer", scope.module.named_buffers())]
                names = {
                    id(one): f"the {kind} {'.'.join([*scope.path(), name])!r}"
                    for kind, found in pairs
                    for name, one in found
                }
                self._names[id(scope.module)] = scope.module, names
            if found := self._names[id(scope.module)][1].get(id(tensor)):
                return found
            scope = scope.parent
        return ""

    def maker(self, value: Any) -> int | None:
        """The place of the step that made a tensor, if it was seen."""
        found = self._seen.get(id(value.array)) if isinstance(value, TensorBase) else None
        return None if found is None else found[1]

    @property
    def unfinished(self) -> tuple[str, tuple[Operand, ...], str] | None:
        """After an error: the operation that was refused, what it was given, and its line."""
        if not self._pending:
            return None
        name, operands, line = self._pending[-1]
        found = tuple(_operand(one, *self._origin(one)) for one in operands if one is not None)
        return name, found, describe_line(line)

    # What was found -------------------------------------------------------------------------------------------------

    @property
    def first(self) -> Step | None:
        """The first step that made floats wider."""
        return next((step for step in self.steps if step.widened), None)

    def source(self, operand: Operand) -> Operand:
        """Where a dtype comes from: what this operand was computed from, as far back as the dtype was the same."""
        while operand.step is not None:
            step = self.steps[operand.step]
            same = [one for one in step.operands if one.dtype == operand.dtype]
            if step.widened or not same:
                break
            operand = same[0]
        return operand

    @property
    def narrow(self) -> int | None:
        """The bytes of a float as it was before the first that widened; None if none did."""
        return None if self.first is None else _base(self.first)

    @property
    def cost(self) -> Cost:
        """What is wide from the first culprit on."""
        first = self.first
        if first is None:
            return Cost(0, 0, 0.0, 0.0)
        narrow = _base(first)
        after = self.steps[first.place :]
        wide = [step for step in after if is_float(step.dtype) and step.dtype.itemsize > narrow]
        nbytes = sum(step.nbytes + self._extra[step.place] for step in wide) + sum(one for one, _, _ in self._passing)
        extra = sum(step.nbytes * (1 - narrow / step.dtype.itemsize) + self._extra[step.place] for step in wide)
        extra += sum(one for _, one, _ in self._passing)
        spent = sum(step.seconds for step in wide) + sum(one for bytes_, _, one in self._passing if bytes_)
        total = sum(step.seconds for step in after) + sum(one for _, _, one in self._passing)
        casts = sum(self._extra[step.place] for step in wide)
        gradients = sum(one for one, _, _ in self._passing)
        narrower = gradients - sum(one for _, one, _ in self._passing)
        return Cost(nbytes, round(extra), spent, total, casts, gradients, round(narrower))

    def __repr__(self) -> str:
        first = self.first
        if first is None or first.culprit is None:
            return f"Promotions: {plural(len(self.steps), 'operation')}, and none made floats wider"
        cost, culprit = self.cost, first.culprit
        where = f" in {'.'.join(first.module)}" if first.module else ""
        meeting = listed([f"{one.dtype} {one.shape}" for one in first.operands])
        return "\n".join([
            f"first to widen: {first.name}{where}, {first.line}",
            f"  {meeting} gave {first.dtype} {first.shape}",
            f"  the {culprit.dtype}: {self.source(culprit).origin}",
            f"from there on {bytes_text(cost.nbytes)} were {first.dtype} or wider, {bytes_text(cost.extra)} more than "
            f"needed, and took {seconds_text(cost.seconds)} of {seconds_text(cost.total)}",
        ])  # fmt: skip


# Operands ------------------------------------------------------------------------------------------------------------


def _operand(value: Any, step: int | None, origin: str, name: str) -> Operand:
    if isinstance(value, TensorBase):
        return Operand(value.array.dtype, tuple(value.array.shape), origin, step, name)
    array = np.asarray(value)
    plain = isinstance(value, (bool, int, float)) and not isinstance(value, np.generic)  # np.float64 is a float, too
    return Operand(array.dtype, array.shape, origin, step, name, plain)


def _is(one: Any, value: Any) -> bool:
    """Whether a name means this value. A small whole number is one object wherever it stands, so it has no name."""
    return one is value and not isinstance(value, int)


def _outside(value: Any) -> str:
    """What came from outside the engine, in words."""
    if isinstance(value, np.ndarray):
        return f"a NumPy array {value.shape}"
    if isinstance(value, np.generic):
        return f"a NumPy scalar, np.{type(value).__name__}({value})"
    if isinstance(value, (bool, int, float)):
        return f"the Python number {value!r}"
    return f"a {type(value).__name__}"


def _blame(operands: tuple[Operand, ...], result: Any, m: Modes) -> int | None:
    """Which operand made the result wider than the narrowest float among them, if one did."""
    if not is_float(result):
        return None
    floats = [one.dtype for one in operands if is_float(one.dtype) and one.shape != ()] or [
        one.dtype for one in operands if is_float(one.dtype) and not one.plain
    ]
    least = min((one.itemsize for one in floats), default=as_dtype(m.dtype).itemsize)
    if result.itemsize <= least or (result.itemsize <= float32.itemsize and is_autocast_enabled()):
        return None
    same = [place for place, one in enumerate(operands) if one.dtype == result and not one.plain]
    if same:
        return same[0]
    others = [place for place, one in enumerate(operands) if not is_float(one.dtype) or one.dtype.itemsize > least]
    counting = [place for place in others if not operands[place].plain] or others  # a number counts by its kind alone
    return counting[0] if counting else 0


def _base(first: Step) -> int:
    """The bytes of a float as it was before the first culprit."""
    floats = [one.dtype.itemsize for one in first.operands if is_float(one.dtype) and one.dtype != first.dtype]
    return min(floats, default=float32.itemsize)
