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
from tinygrad_edu.compiler import compile
from tinygrad_edu.errors import ArgumentError, EduError
from tinygrad_edu.observe.roofline import Roofline as Found
from tinygrad_edu.observe.roofline import measured, simulated
from tinygrad_edu.views import roofline
from tinygrad_edu.views.frame import Frame, Progress
from tinygrad_edu.views.given import flags, refusal, texts
from tinygrad_edu.views.roofline import FORMS, HERE, RooflineState

from .base import EduWidget, Tell

SHORT = 10.0  # seconds for which a cell waits
TRIED = "a roofline of the compiled function"
TRIES = 4  # calls in which all programs have to be made
WRITTEN, COMPILED = FORMS
_Pair = tuple[Found | None, Found | None, EduError | None]  # as written, compiled, and why one is missing


class Roofline(EduWidget, room=roofline):
    """``Roofline(run)`` shows the operations of a function as points under the peaks of a machine.

    ``run(device)`` is called with "cpu" or "sim", and does the same on either; a ``run()`` without arguments is for
    this machine alone. On this machine each operation of forward is measured, and so are the peaks, once. On a
    simulated machine each kernel takes what the constants say. ``run`` is called nineteen times here and four times
    there: what it trains is trained by each. ``machine`` is "this machine" or a preset, such as "T4". ``shown=True``
    asks nothing. *compiled* runs it again through `compile`, and draws both; ``compiled=False`` does not offer it.

    Gestures: choose a prediction, *Commit*; press a mark or a row (Enter; arrows go from one row to the next) to read
    what limits that operation; *as written* and *compiled*; choose other peaks; *Measure again*; *Ask again* (r) hides
    the result.
    """

    awaited = frozenset({"commit", "form", "machine", "run"})
    mirrors: ClassVar[dict[str, str]] = {"prediction": "draft", "machine": "machine", "form": "form"}
    prediction = traitlets.Unicode(None, allow_none=True).tag(sync=True)
    machine = traitlets.Unicode(HERE).tag(sync=True)
    form = traitlets.Unicode(WRITTEN).tag(sync=True)
    committed = traitlets.Bool(False, read_only=True).tag(sync=True)

    def __init__(
        self, run: Callable[..., object], *, ask: str = "", machine: str = HERE, shown: bool = False,
        compiled: bool = True,
    ) -> None:  # fmt: skip
        texts("Roofline", ask=ask, machine=machine)
        flags("Roofline", shown=shown, compiled=compiled)
        self._run_on, anywhere = _callable(run)
        machines = (HERE, *sim.PRESETS) if anywhere else (HERE,)
        if machine not in (HERE, *sim.PRESETS):
            mend = f"use {', '.join((HERE, *sim.PRESETS))}"
            raise refusal("Roofline", "machine", machine, "there is no such machine", mend)
        if machine not in machines:
            why = f"it does not take the device, and is to run on a simulated {machine}"
            raise refusal("Roofline", "run", run, why, "write run=lambda device: …")
        self.state = self._first = RooflineState(machine, machines, ask, plain=not compiled)
        self._program = _Program(self._run_on)
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
        """The prediction, the machine and the form."""
        state, committed = self.state, self.state.said is not None
        return {"prediction": state.draft, "machine": state.machine, "form": state.form, "committed": committed}

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
        elif act == "form":
            self.state = roofline.form(state, value)
            if state.begun and not self._shows_what_is_wanted():
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
        chosen, form, known = self.state.machine, self.state.form, self.state.written
        if form == WRITTEN or self._shows_what_is_wanted():
            known = None  # it is measured again

        def job(tell: Tell) -> _Pair:
            written = known
            try:
                written = written or _found(self._run_on, chosen, tell)
                if form == WRITTEN:
                    return written, None, None
                return written, self._program.found(chosen, tell), None
            except EduError as error:
                return written, None, error

        def then(found: _Pair) -> None:
            self._finish(chosen, *found)

        self.progress = Progress(0, 0, 0.0)
        self.work(job, then)

    def _finish(self, chosen: str, written: Found | None, compiled: Found | None, error: EduError | None) -> None:
        """Show what came out. Where only the compiled form has failed, the result as written stays."""
        wanted = self.state.form
        if written is None:
            self._failed("" if error is None else error.sentence())
        elif compiled is None:
            self.state = roofline.finish(self.state, chosen, written)
        else:
            self.state = roofline.finish(self.state, chosen, compiled, written)
        if error is not None:
            self._refuse(error)
            return
        self.state = roofline.form(self.state, wanted)
        if not self._shows_what_is_wanted():
            self._begin()  # somebody has chosen another one meanwhile

    def _shows_what_is_wanted(self) -> bool:
        """Whether the result is of the machine and the form that are chosen."""
        state = self.state
        return (
            state.result is not None
            and state.ran == state.machine
            and state.result.compiled == (state.form == COMPILED)
        )

    def _failed(self, failure: str = "") -> None:
        """The run has ended without a result. What was shown goes too, unless only the other form of it was wanted."""
        state = self.state
        if state.result is not None and state.ran == state.machine and not self._shows_what_is_wanted():
            self.state = replace(state, form=COMPILED if state.result.compiled else WRITTEN)
        else:
            self.state = replace(state, result=None, other=None, picked=0, failure=failure)


class _Program:
    """A function of the device, compiled once."""

    def __init__(self, run: Callable[[str], object]) -> None:
        self._run = compile(run, fullgraph=True)

    def found(self, machine: str, tell: Tell) -> Found:
        """What its programs take. They are made before, which is not measured.

        Raises `EduError` where there can be no program, and where each call would need a new one.
        """
        device = "cpu" if machine == HERE else "sim"
        for _ in range(TRIES):  # a step of training may need another one when it is run again
            made, ran = len(self._run.ledger), self._calls()
            self._run(device)
            if len(self._run.ledger) == made:
                break
        else:
            why = f"a program is made anew at each call: {self._run.ledger[-1].reason}"
            raise ArgumentError(TRIED, why, "let each call read the same values of Python")
        if self._calls() == ran:
            why = "it ran as it is written: somebody watches each operation, such as autocast or a guard that verifies"
            raise ArgumentError(TRIED, why, "make the widget outside of that block")
        return _found(self._run, machine, tell, compiled=True)

    def _calls(self) -> int:
        """How often a program has run, and not the function."""
        return sum(trace.calls for trace in self._run.ledger if not trace.broken)


def _found(run: Callable[[str], object], machine: str, tell: Tell, compiled: bool = False) -> Found:
    """What a function, or a compiled one, takes on a machine."""
    if machine == HERE:
        return measured(lambda: run("cpu"), tell, compiled)
    return simulated(lambda: run("sim"), machine, compiled)


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
