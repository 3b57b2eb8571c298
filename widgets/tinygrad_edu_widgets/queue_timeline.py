"""Host and device over virtual time: predict, run on the simulated device, and see why it is idle."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, ClassVar

import traitlets

from tinygrad_edu import sim
from tinygrad_edu.common.lines import describe_line, failing_line
from tinygrad_edu.common.wording import first_line
from tinygrad_edu.errors import EduError, RaceError
from tinygrad_edu.views import queue
from tinygrad_edu.views.frame import Frame, Progress
from tinygrad_edu.views.given import flags, refusal, texts
from tinygrad_edu.views.queue import Knob, QueueState

from .base import EduWidget, Tell

Run = Callable[..., object] | sim.Timeline
SHORT = 10.0  # seconds for which a cell waits


class QueueTimeline(EduWidget, room=queue):
    """``QueueTimeline(run)`` runs a function on the simulated device and shows what host, copies and streams do when.

    ``other`` is a second one: both are drawn on one scale. ``names`` are their names. ``knobs`` are parameters of the
    functions, by name, each with its values: ``knobs={"pinned": (False, True)}`` calls ``run(pinned=False)``, and again
    when the knob is turned. Each function runs twice, first only to reserve memory as in a loop; one that raises is
    shown up to there, and one with a race to its end, as a real device would run it. ``run`` may also be a finished
    `sim.Timeline`. ``machine`` is a preset, such as "T4"; by default the machine in use. ``shown=True`` asks nothing.
    ``timelines`` are what is shown, as `sim.Timeline`.

    Gestures: choose a prediction, *Commit*; then press work or a hatched gap (Enter; arrows go from one to the next) to
    read what it is and what was waited for; *Longest gap* (g); drag *also wait* to let the host synchronise after
    another kernel; turn a knob; choose another machine; *Stop* ends the run; *Ask again* (r) hides the result.
    """

    awaited = frozenset({"commit", "machine"})
    mirrors: ClassVar[dict[str, str]] = {"prediction": "draft", "machine": "machine"}
    prediction = traitlets.Unicode(None, allow_none=True).tag(sync=True)
    machine = traitlets.Unicode("T4").tag(sync=True)
    committed = traitlets.Bool(False, read_only=True).tag(sync=True)

    def __init__(
        self, run: Run, other: Run | None = None, *, names: Sequence[str] = ("A", "B"), ask: str = "",
        knobs: dict[str, Sequence[Any]] | None = None, machine: str | None = None, shown: bool = False,
    ) -> None:  # fmt: skip
        machine = sim.machine().preset if machine is None else machine
        texts("QueueTimeline", ask=ask, machine=machine)
        flags("QueueTimeline", shown=shown)
        given: dict[str, Run] = {"run": run} if other is None else {"run": run, "other": other}
        turned = _knobs({} if knobs is None else knobs)
        for name, one in given.items():
            _check(name, one, turned)
        if machine not in sim.PRESETS:
            raise refusal(
                "QueueTimeline", "machine", machine, "no such machine is known", f"use {', '.join(sim.PRESETS)}"
            )
        self._runs = list(given.values())
        self.timelines: list[sim.Timeline] = []
        made = tuple(sim.PRESETS) if all(map(callable, self._runs)) else ()
        self.state = self._first = QueueState(_names(names)[: len(given)], ask, machine, made, turned)
        super().__init__()
        if shown:
            self.act("show")
            with suppress(TimeoutError):  # a longer run goes on while the cell ends, so that it can be stopped
                self.wait(SHORT)

    def frame(self) -> Frame:
        """The frame of the current state."""
        return queue.frame(self.state, self.working)

    def data(self) -> Any:
        """The prediction and, once it is committed, every piece of work as plain data."""
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
            self.state = queue.draft(state, value)
        elif act in ("commit", "show"):
            if not state.runs and (act == "show" or (state.draft is not None and state.said is None)):
                said = state.draft if act == "commit" else None
                self._flow(replace(state, said=said, asked=state.setting, begun=True))
        elif act == "machine":
            self._flow(queue.machine(state, value))
        elif act.startswith("knob:"):
            self._flow(queue.turn(state, act.removeprefix("knob:"), value))
        elif act == "stop":
            self._flow(queue.stop(state, value))
        elif act == "reset":
            self.abandon()
            self.state = replace(self._first, knobs=state.knobs, machine=state.machine)
            self.timelines = []
        elif act == "gap":
            self.state = queue.longest_gap(state)
        elif act in ("pick", "idle"):
            if state.runs:
                self.state = queue.pick(state, value) if act == "pick" else queue.pick_gap(state, value)
        else:
            raise KeyError(act)

    def _flow(self, state: QueueState) -> None:
        """Go to this state, and run what has to be run in it. Before the commit nothing runs."""
        before, self.state = self.state, state
        same = before.runs and before.setting == state.setting
        if state.begun and not same and not self.working:
            self._run()

    def _run(self) -> None:
        """Run the functions as the knobs stand, where it can be stopped, and show the timelines."""
        state, runs = self.state, self._runs
        names = state.names if len(state.names) > 1 else ("",)
        turned = {knob.name: knob.value for knob in state.knobs}

        def job(tell: Tell) -> list[tuple[sim.Timeline, queue.Run]] | EduError:
            try:
                return [_read(one, name, turned, state) for one, name in zip(runs, names, strict=True)]
            except EduError as error:
                return error

        def then(found: list[tuple[sim.Timeline, queue.Run]] | EduError) -> None:
            if isinstance(found, EduError):
                self._failed(found.sentence())
                self._refuse(found)
                return
            self.timelines = [seen for seen, _ in found]
            shown = tuple(run for _, run in found)
            self.state = replace(self.state, runs=shown, ran=state.setting, picked=None, gap=None, failure="")
            if self.state.setting != state.setting:
                self._run()  # somebody has turned a knob meanwhile

        self.progress = Progress(0, 0, 0.0)
        self.work(job, then)

    def _failed(self, failure: str = "") -> None:
        """What was shown is of another setting, so it goes too."""
        self.state = replace(self.state, runs=(), picked=None, gap=None, failure=failure)
        self.timelines = []


def _read(run: Run, name: str, turned: dict[str, Any], state: QueueState) -> tuple[sim.Timeline, queue.Run]:
    """A run with the knobs turned so, on the machine that is chosen."""
    if isinstance(run, sim.Timeline):
        return run, queue.read(run, name)
    seen, error, rehearsed = _watched(run, turned, state)
    return seen, queue.read(seen, name, rehearsed=rehearsed, error=error)


def _names(given: Any) -> tuple[str, str]:
    fits = isinstance(given, (tuple, list)) and len(given) == 2 and all(isinstance(n, str) and n for n in given)
    if not fits:
        why = "names are two texts, one for each run"
        raise refusal("QueueTimeline", "names", given, why, 'write names=("pageable", "pinned")')
    return given[0], given[1]


def _knobs(given: Any) -> tuple[Knob, ...]:
    """The knobs as plain data. Raises `ArgumentError` for what are none."""
    why, mend = "knobs are names of parameters, each with its values", 'write knobs={"batch": (64, 128)}'
    if not isinstance(given, dict):
        raise refusal("QueueTimeline", "knobs", given, why, mend)
    found = []
    for name, values in given.items():
        if not isinstance(name, str) or isinstance(values, str) or not isinstance(values, Sequence) or not len(values):
            raise refusal("QueueTimeline", "knobs", given, why, mend)
        if len({str(value) for value in values}) < len(values):
            raise refusal("QueueTimeline", "knobs", given, f"two values of {name} read alike", mend)
        found.append(Knob(name, tuple(values), values[0]))
    return tuple(found)


def _check(name: str, run: Any, knobs: tuple[Knob, ...]) -> None:
    """Refuse what is neither a timeline nor a function of the knobs."""
    if isinstance(run, sim.Timeline):
        queue.read(run)  # refuses one that is empty
        return
    if not callable(run):
        why = f"{name} is a function that can be run, or a finished timeline"
        raise refusal("QueueTimeline", name, run, why, f"write {name}=lambda: x @ x")
    try:
        signature = inspect.signature(run)
    except ValueError:  # some functions of C do not tell
        return
    try:
        signature.bind(**{knob.name: knob.value for knob in knobs})
    except TypeError as error:
        why = f"{name} is called with the knobs only, but {error}"
        raise refusal(
            "QueueTimeline",
            name,
            run,
            why,
            f"let it take what is turned, and nothing else: {name}=lambda {', '.join(k.name for k in knobs)}: …",
        ) from None


@sim.alone()
def _watched(run: Callable[..., object], turned: dict[str, Any], state: QueueState) -> tuple[sim.Timeline, str, bool]:
    """What happens in a run, on a device that is as at the start of a program but has its memory.

    With the error that ended it, and whether it was rehearsed: what fails is seen at once. A race ends no run, as on a
    real device. Raises what fails before the device was asked for anything.
    """
    before = sim.machine()
    sim.use(before if before.preset == state.machine else state.machine)
    try:
        seen, error, raced = _recorded(run, turned, state.stop)
        if raced:
            seen, error, _ = _recorded(run, turned, state.stop, "warn")
        if error:
            return seen, error, False
        rehearsed = seen.races
        seen, error, _ = _recorded(run, turned, state.stop, "warn" if raced else "")
        seen.races = tuple(dict.fromkeys((*rehearsed, *seen.races)))
        return seen, error, True
    finally:
        sim.use(before)


def _recorded(
    run: Callable[..., object], turned: dict[str, Any], stop: int, race: str = ""
) -> tuple[sim.Timeline, str, bool]:
    """What happens in one run, the words of the error that ended it, and whether that is a race."""
    sim.restart()
    before = sim.on_race(race) if race else ""
    try:
        with sim.timeline() as seen:
            error, raced = _called(run, turned, seen, stop)
            sim.finish()
    finally:
        if before:
            sim.on_race(before)
    return seen, error, raced


def _called(run: Callable[..., object], turned: dict[str, Any], seen: sim.Timeline, stop: int) -> tuple[str, bool]:
    """Call it. Returns the words of the error that it raises, if any, and whether that is a race."""
    try:
        with sim.stopped_after(stop):
            kept = run(**turned)
    except Exception as error:
        if not seen.so_far():
            raise
        if isinstance(error, EduError):
            return error.sentence(), isinstance(error, RaceError)
        place = describe_line(failing_line(error)).partition(": ")[0]
        return (f"{first_line(error)} ({place})" if place else first_line(error)), False
    if inspect.isgenerator(kept) or inspect.iscoroutine(kept):
        kept.close()
        why = "it gave a generator or a coroutine, whose code has not run"
        raise refusal("QueueTimeline", "run", run, why, "wrap it: run=lambda: list(f())")
    return "", False
