"""What bounds each operation: predict, run, and see them as points under a machine's roof."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any, ClassVar

import traitlets

from tinygrad_edu import sim
from tinygrad_edu.errors import EduError
from tinygrad_edu.observe.roofline import Roofline as Found
from tinygrad_edu.observe.roofline import measured, simulated
from tinygrad_edu.views import roofline
from tinygrad_edu.views.frame import Frame, Progress
from tinygrad_edu.views.given import flags, refusal, texts
from tinygrad_edu.views.roofline import HERE, RooflineState

from .base import EduWidget, Tell

SHORT = 10.0  # seconds for which a cell waits


class Roofline(EduWidget, room=roofline):
    """``Roofline(run)`` shows the operations of a function as points under the peaks of a machine.

    ``run(device)`` is called with "cpu" or "sim", and does the same on either; a ``run()`` without arguments is for
    this machine alone. On this machine each operation of forward is measured, and so are the peaks, once. On a
    simulated machine each kernel takes what the constants say. ``run`` is called ten times here and four times there:
    what it trains is trained by each. ``machine`` is "this machine" or a preset, such as "T4". ``shown=True`` asks
    nothing.

    Gestures: choose a prediction, *Commit*; press a mark or a row (Enter; arrows go from one row to the next) to read
    what limits that operation; choose other peaks; *Measure again*; *Ask again* (r) hides the result.
    """

    awaited = frozenset({"commit", "machine", "run"})
    mirrors: ClassVar[dict[str, str]] = {"prediction": "draft", "machine": "machine"}
    prediction = traitlets.Unicode(None, allow_none=True).tag(sync=True)
    machine = traitlets.Unicode(HERE).tag(sync=True)
    committed = traitlets.Bool(False, read_only=True).tag(sync=True)

    def __init__(
        self, run: Callable[..., object], *, ask: str = "", machine: str = HERE, shown: bool = False
    ) -> None:  # fmt: skip
        texts("Roofline", ask=ask, machine=machine)
        flags("Roofline", shown=shown)
        self._run_on, anywhere = _callable(run)
        machines = (HERE, *sim.PRESETS) if anywhere else (HERE,)
        if machine not in (HERE, *sim.PRESETS):
            mend = f"use {', '.join((HERE, *sim.PRESETS))}"
            raise refusal("Roofline", "machine", machine, "there is no such machine", mend)
        if machine not in machines:
            why = f"it does not take the device, and is to run on a simulated {machine}"
            raise refusal("Roofline", "run", run, why, "write run=lambda device: …")
        self.state = self._first = RooflineState(machine, machines, ask)
        super().__init__()
        if shown:
            self.act("show")
            with suppress(TimeoutError):  # a longer run goes on while the cell ends, so that it can be stopped
                self.wait(SHORT)

    def frame(self) -> Frame:
        """The frame of the current state."""
        return roofline.frame(self.state, self.working)

    def data(self) -> Any:
        """The prediction and, once it is committed, every operation as plain data."""
        return dataclasses.asdict(self.state)

    def mirrored(self) -> dict[str, Any]:
        """The prediction and the machine."""
        state = self.state
        return {"prediction": state.draft, "machine": state.machine, "committed": state.said is not None}

    def predict(self, choice: str) -> None:
        """Commit to a prediction from code, and wait for the result."""
        self.act("draft", choice)
        if not self._notice:
            self.act("commit")

    def _act(self, act: str, value: Any) -> None:
        state = self.state
        if act == "draft":
            self.state = roofline.draft(state, value)
        elif act in ("commit", "show"):
            if state.result is None and (act == "show" or (state.draft is not None and state.said is None)):
                said = state.draft if act == "commit" else None
                self.state = replace(state, said=said, asked=state.machine, begun=True)
                self._begin()
        elif act == "machine":
            self.state = roofline.machine(state, value)
            if state.begun and (state.result is None or value != state.machine):
                self._begin()
        elif act == "run" and state.begun:
            self._begin()
        elif act == "reset":
            self.abandon()
            self.state = replace(self._first, machine=state.machine)
        elif act == "pick":
            self.state = roofline.pick(state, value)
        elif act != "run":
            raise KeyError(act)

    def _begin(self) -> None:
        """Run the function where the state says, and show what comes out."""
        chosen, run = self.state.machine, self._run_on

        def job(tell: Tell) -> Found | EduError:
            try:
                if chosen == HERE:
                    return measured(lambda: run("cpu"), tell)
                return simulated(lambda: run("sim"), chosen)
            except EduError as error:
                return error

        def then(found: Found | EduError) -> None:
            if isinstance(found, EduError):
                self._failed(found.sentence())
                self._refuse(found)
                return
            self.state = roofline.finish(self.state, found)
            if self.state.machine != chosen:
                self._begin()  # somebody has chosen another one meanwhile

        self.progress = Progress(0, 0, 0.0)
        self.work(job, then)

    def _failed(self, failure: str = "") -> None:
        """What was shown is of another machine, so it goes too."""
        self.state = replace(self.state, result=None, picked=0, failure=failure)


def _callable(run: Any) -> tuple[Callable[[str], object], bool]:
    """The function of a device, and whether it runs on any."""
    if not callable(run):
        raise refusal("Roofline", "run", run, "run is a function of the device", "write run=lambda device: …")
    try:
        signature = inspect.signature(run)
    except ValueError:  # some functions of C do not tell
        return lambda device: run(), False
    for given in (("cpu",), ()):
        with suppress(TypeError):
            signature.bind(*given)
            return (run, True) if given else (lambda device: run(), False)
    raise refusal("Roofline", "run", run, "it takes the device, or nothing", "wrap it: run=lambda device: …")
