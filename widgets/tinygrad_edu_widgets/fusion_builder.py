"""Merge the operations of a program into kernels by hand, and see what that saves; then see the compiler's choice."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

from tinygrad_edu import Tensor
from tinygrad_edu.compiler import Program, trace
from tinygrad_edu.compiler.numpy_code import Code
from tinygrad_edu.observe.machine import quiet
from tinygrad_edu.views import fusion
from tinygrad_edu.views.frame import Frame, Progress
from tinygrad_edu.views.fusion import FusionState, Timing
from tinygrad_edu.views.given import callables, refusal, texts

from .base import EduWidget, Tell

RUNS = 15


class FusionBuilder(EduWidget, room=fusion):
    """``FusionBuilder()`` shows an example; ``FusionBuilder(function, x, …)`` your own function of tensors.

    It is recorded once. Elementwise operations over arrays of one shape can be merged into a kernel, by the rule that
    the compiler follows; bytes allocated, bytes moved and launches are counted from shapes. A launch is what a device
    starts; the CPU makes a NumPy call for each operation of a kernel.

    Gestures: press a seam (Enter) to merge two operations or to part them, or to read why it stays open;
    *Merge all* (a); choose another program or size; *Show the compiler's choice* (c); *Measure* (m) times all three on
    this machine.
    """

    awaited = frozenset({"measure"})

    def __init__(self, function: Callable[..., Any] | None = None, *tensors: Tensor, ask: str = "") -> None:
        texts("FusionBuilder", ask=ask)
        self._arrays: tuple[Any, ...] | None = None
        if function is None:
            if tensors:
                raise refusal("FusionBuilder", "function", None, "tensors need a function", "give the function first")
            self.state = fusion.chosen(FusionState(Program((), (), ()), "", ask=ask), "an activation")
        else:
            callables("FusionBuilder", function=function)
            for one in tensors:
                if not isinstance(one, Tensor):
                    raise refusal("FusionBuilder", "tensors", one, "the function takes tensors", "use tg.tensor(…)")
            if not tensors:
                why = "the recording needs tensors to work on"
                raise refusal("FusionBuilder", "tensors", (), why, "write FusionBuilder(function, x)")
            plain = [one.detach().cpu() for one in tensors]
            self._arrays = tuple(one.array for one in plain)
            self.state = fusion.read(trace(function, *plain), ask=ask)
        super().__init__()

    def frame(self) -> Frame:
        """The frame of the current state."""
        return fusion.frame(self.state, self.working)

    def data(self) -> Any:
        """The operations, the seams, and what each program costs, as plain data."""
        state = self.state
        return {
            "operations": [str(one).split("\n", maxsplit=1)[0] for one in state.program.equations],
            "closed": sorted(state.closed), "revealed": state.revealed,
            "costs": {name: cost._asdict() for name, cost in state.costs.items()},
            "timing": None if state.timing is None else asdict(state.timing),
        }  # fmt: skip

    def _act(self, act: str, value: Any) -> None:
        state = self.state
        if act == "press":
            self.state = fusion.press(state, value)
        elif act == "everything":
            self.state = fusion.everything(state)
        elif act == "example" and state.example:
            self.state = fusion.chosen(state, value or state.example)
        elif act == "numbers":
            self.state = fusion.resize(state, int(value) if str(value).isdecimal() else value or state.numbers)
        elif act == "reveal":
            self.state = replace(state, revealed=not state.revealed, timing=None)
        elif act == "measure":
            self._measure()
        else:
            raise KeyError(act)

    def _measure(self) -> None:
        """Run all three in turns: each as the function that the compiler writes for its kernels."""
        state = self.state
        arrays = self._arrays or fusion.traced(state.example, state.numbers)[1]

        def job(tell: Tell) -> Timing:
            runs = [Code(one).run for one in (state.program, state.yours, state.compiled)]
            taken: list[list[float]] = [[], [], []]
            with quiet() as machine:
                for done in range(RUNS + 1):
                    for run, seconds in zip(runs, taken, strict=True):
                        start = time.perf_counter()
                        run(*arrays)
                        seconds.append(time.perf_counter() - start)
                    if tell(done + 1, RUNS + 1, 0.0) is False:
                        break
            written, yours, compiler = (_spread(seconds[1:] or seconds) for seconds in taken)
            return Timing(written, yours, compiler, len(taken[0]) - 1, machine.text())

        def then(found: Timing) -> None:
            if self.state.program is state.program and self.state.closed == state.closed:
                self.state = fusion.finish(self.state, found)

        self.progress = Progress(0, RUNS + 1, 0.0)
        self.work(job, then)


def _spread(seconds: list[float]) -> tuple[float, float, float]:
    """Median and quartiles."""
    if len(seconds) < 2:
        return (seconds[0],) * 3
    low, middle, high = statistics.quantiles(seconds, n=4)
    return middle, low, high
