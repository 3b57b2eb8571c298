"""Where floats become wider than they were: a function's own computation as a tree, coloured by dtype."""

from __future__ import annotations

import copy
import dataclasses
import inspect
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import traitlets

from tinygrad_edu import Tensor, nn
from tinygrad_edu.dtypes import NAMES, as_dtype, is_float
from tinygrad_edu.errors import EduError
from tinygrad_edu.inputs.trees import tensors_in
from tinygrad_edu.observe.promotion import Promotions
from tinygrad_edu.observe.results import Comparison
from tinygrad_edu.observe.timing import compare
from tinygrad_edu.settings import promotion as by_table
from tinygrad_edu.views import promotion
from tinygrad_edu.views.frame import Frame
from tinygrad_edu.views.given import callables, refusal, texts
from tinygrad_edu.views.promotion import Input, PromotionState
from tinygrad_edu.views.promotion.model import AS_GIVEN, NUMBER

from .base import EduWidget, Tell

FLOATS = ("float16", "bfloat16", "float32", "float64")


class PromotionTracer(EduWidget, room=promotion):
    """``PromotionTracer(run, x=x, scale=0.5)`` shows in which dtype each operation of ``run(x=x, scale=0.5)`` computes.

    The tree goes from what the function returns to what it was given. Where floats become wider than they were, the
    first operation is marked, with the operand that did it, the bytes that are more than needed, and a fix.
    ``table`` is whose rules hold: "torch", "numpy" or "jax". Inputs are tensors, NumPy arrays, numbers, models, or
    anything else. The function runs again after each change, and often for *Time it*: what it trains is trained again.
    ``%%dtypes`` does the same for the code of a cell.

    Gestures: press a row (Enter; arrows go from one row to the next) to read what met there, or to open a fold; choose
    whose *rules* hold; *make* the input that is picked another dtype; *Time it* compares the run with one that is
    fixed; *Reset* (r).
    """

    awaited = frozenset({"time"})
    mirrors: ClassVar[dict[str, str]] = {"table": "table"}
    table = traitlets.Unicode("torch").tag(sync=True)

    def __init__(
        self, run: Callable[..., Any], *, ask: str = "", table: str = "torch", **inputs: Any
    ) -> None:  # fmt: skip
        callables("PromotionTracer", run=run)
        texts("PromotionTracer", ask=ask)
        _takes(run, inputs)
        self._run, self._inputs = run, inputs
        known = tuple(_input(name, value) for name, value in inputs.items())
        nothing = promotion.read(Promotions(), [])
        first = PromotionState(known, nothing, promotion.known_table(table), ask)
        self.state = self._first = self._traced(first)
        super().__init__()

    def frame(self) -> Frame:
        """The frame of the current state."""
        return promotion.frame(self.state)

    def data(self) -> Any:
        """Every operation, what inputs were made, and what was timed, as plain data."""
        state, trace = self.state, self.state.trace
        steps = [{**_plain(step), "operands": [_plain(one) for one in step.operands]} for step in trace.steps]
        timing = None if state.timing is None else state.timing.to_dict()
        cost = dataclasses.asdict(trace.cost)
        return {"table": state.table, "made": dict(state.made), "first": trace.first, "steps": steps, "cost": cost,
                "failure": trace.failure, "timing": timing}  # fmt: skip

    def mirrored(self) -> dict[str, Any]:
        """The table whose rules hold."""
        return {"table": self.state.table}

    def _act(self, act: str, value: Any) -> None:
        state = self.state
        if act == "pick":
            self.state = promotion.pick(state, value)
        elif act == "table":
            self.state = self._traced(replace(state, table=promotion.known_table(value)))
        elif act == "make":
            one = promotion.in_hand(state)
            self.state = self._traced(promotion.make(state, "" if one is None else one.name, value))
        elif act == "time":
            self._time()
        elif act == "reset":
            self.abandon()
            self.state = self._first
        else:
            raise KeyError(act)

    def _traced(self, state: PromotionState) -> PromotionState:
        """The state after a run. A refusal by the engine ends the run, and is shown."""
        given = self._made(state)
        seen, failure, results = Promotions(dict(_names(given))), "", list[Any]()
        with by_table(state.table):
            try:
                with seen:
                    results = tensors_in(self._run(**given))
            except EduError as error:
                failure = error.sentence()
        return promotion.finish(state, promotion.read(seen, results, failure))

    def _made(self, state: PromotionState) -> dict[str, Any]:
        """The inputs, each in the dtype that it was made."""
        kinds = {one.name: one for one in state.inputs}
        return {name: _as(value, state.choice(name), kinds[name]) for name, value in self._inputs.items()}

    def _time(self) -> None:
        """Compare the run as it is with one that is fixed."""
        state, one, found = self.state, promotion.suspect(self.state), promotion.fix(self.state)
        if one is None or found is None or state.trace.first is None:
            return
        to = NUMBER if one.kind == "scalar" else found.to
        run, wide, mended = self._run, self._made(state), self._made(promotion.make(state, one.name, to))
        table = state.table
        names = f"{one.name} {state.choice(one.name)}", f"{one.name} {to}"

        def job(tell: Tell) -> Comparison:
            with by_table(table):
                return compare(lambda: run(**wide), lambda: run(**mended), budget=2.0, progress=tell, names=names)

        def then(found: Comparison) -> None:
            if self.state.trace is state.trace:  # nothing was changed meanwhile
                self.state = replace(self.state, timing=found)

        self.work(job, then)


def _takes(run: Callable[..., Any], inputs: dict[str, Any]) -> None:
    """Refuse a function that does not take these inputs by name."""
    try:
        inspect.signature(run.forward if isinstance(run, nn.Module) else run).bind(**inputs)
    except (TypeError, ValueError):  # some functions of C do not tell
        named = ", ".join(inputs) or "no inputs"
        why, mend = f"it is called with {named}, each by name, and does not take them", "wrap it: run=lambda x: …"
        raise refusal("PromotionTracer", "run", run, why, mend) from None


def _plain(value: Any) -> dict[str, Any]:
    """A record as plain data, with dtypes by name."""
    return {key: one.name if isinstance(one, np.dtype) else one for key, one in vars(value).items()}


def _input(name: str, value: Any) -> Input:
    """What an input is, and what it can be made."""
    if isinstance(value, nn.Module):
        dtypes = {one.dtype.name for one in (*value.parameters(), *value.buffers()) if is_float(one.dtype)}
        given = dtypes.pop() if len(dtypes) == 1 else AS_GIVEN
        return Input(name, "model", given, FLOATS if given in FLOATS else (AS_GIVEN, *FLOATS))
    if isinstance(value, float) and not isinstance(value, np.generic):
        return Input(name, "number", NUMBER, (NUMBER, "float32", "float64"))
    if isinstance(value, np.generic) and value.dtype.name in FLOATS:
        return Input(name, "scalar", value.dtype.name, (NUMBER, "float32", "float64"))
    if isinstance(value, (Tensor, np.ndarray)) and value.dtype.name in FLOATS:
        return Input(name, "tensor" if isinstance(value, Tensor) else "array", value.dtype.name, FLOATS)
    if isinstance(value, (Tensor, np.ndarray)) and value.dtype.kind in "iu" and value.dtype.name in NAMES:
        given = value.dtype.name
        return Input(name, "tensor" if isinstance(value, Tensor) else "array", given, (given, *FLOATS))
    return Input(name, "", getattr(getattr(value, "dtype", None), "name", type(value).__name__))


def _as(value: Any, choice: str, one: Input) -> Any:
    """An input in another dtype; as it is, if that is what was chosen."""
    if choice == one.given:
        return value
    if one.kind == "model":
        return copy.deepcopy(value).to(choice)
    if one.kind in ("number", "scalar"):
        return float(value) if choice == NUMBER else as_dtype(choice).type(value)
    if one.kind == "array":
        return value.astype(as_dtype(choice))
    return value.detach().to(choice).requires_grad_(value.requires_grad)


def _names(given: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Every input by its name; of a model, the parameters and buffers too."""
    for name, value in given.items():
        yield name, value
        if isinstance(value, nn.Module):
            yield from ((f"{name}.{inner}", one) for inner, one in (*value.named_parameters(), *value.named_buffers()))
