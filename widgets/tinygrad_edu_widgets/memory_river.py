"""Where the memory of one or two runs goes: predict who holds most, then see every owner at every event."""

from __future__ import annotations

import dataclasses
import gc
import inspect
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, ClassVar

import traitlets

from tinygrad_edu.observe.memory import Memory
from tinygrad_edu.views import river
from tinygrad_edu.views.frame import Frame, Progress
from tinygrad_edu.views.given import flags, refusal, texts, typed
from tinygrad_edu.views.river import River

from . import charts
from .base import EduWidget, Tell

Run = Callable[[], object] | Memory | River
SHORT = 10.0  # seconds for which a cell waits
PICTURE = "when this picture was made"


class MemoryRiver(EduWidget, room=river):
    """``MemoryRiver(run)`` runs a function and shows whose the bytes are at each of its events: operations, backward,
    steps of the optimiser.

    ``run`` is a function without arguments, or a finished `Memory`. ``other`` is a second one: both are drawn on one
    scale, A above B. ``names`` are their names. A function is run once a prediction is committed, or at once with
    ``shown=True``, which asks nothing. To mark a moment in it, call `tinygrad_edu.observe.memory.mark`.
    ``%%memory`` does the same for the code of a cell.

    Gestures: choose an owner, *Commit*; then press a column, or *Step* and *Event before* (keys → ←), or the slider, to
    see another event; *A*, *B*: the other run; *Peak* (p): where memory is fullest; *Stop* ends the run; *Ask again*
    (r) hides the result.
    """

    awaited = frozenset({"commit"})
    mirrors: ClassVar[dict[str, str]] = {"prediction": "draft", "which": "which", "event": "event"}
    prediction = traitlets.Unicode(None, allow_none=True).tag(sync=True)  # an owner, such as "activation"
    which = traitlets.Unicode("A").tag(sync=True)
    event = traitlets.Int(0).tag(sync=True)  # that is shown, from 0
    events = traitlets.Int(0, read_only=True).tag(sync=True)  # of the run that is shown; 0 before there is one
    peak = traitlets.Int(None, allow_none=True, read_only=True).tag(sync=True)  # bytes, of the run that is shown
    committed = traitlets.Bool(False, read_only=True).tag(sync=True)

    def __init__(
        self, run: Run, other: Run | None = None, *, names: Sequence[str] = ("A", "B"), ask: str = "",
        shown: bool = False,
    ) -> None:  # fmt: skip
        texts("MemoryRiver", ask=ask)
        flags("MemoryRiver", shown=shown)
        both = _names(names)
        given = {"run": run} if other is None else {"run": run, "other": other}
        for name, one in given.items():
            _check(name, one)
        self._runs = [_finished(one, both[i]) for i, one in enumerate(given.values())]
        self.state = river.RiverState(both[: len(given)], ask)
        super().__init__()
        if shown:
            self.act("show")
            with suppress(TimeoutError):  # a longer run goes on while the cell ends, so that it can be stopped
                self.wait(SHORT)

    def frame(self) -> Frame:
        """The frame of the current state."""
        return river.frame(self.state, self.working)

    def data(self) -> Any:
        """The prediction and, once it is committed, every event and every buffer as plain data."""
        return dataclasses.asdict(self.state)

    def mirrored(self) -> dict[str, Any]:
        """The prediction, the run and the event that are shown, and the bytes at the peak of that run."""
        state, there = self.state, bool(self.state.rivers)
        top = river.total(state.river.events[state.river.peak].most) if there else None
        return {
            "prediction": state.draft, "which": river.LETTERS[state.which], "event": state.event,
            "events": len(state.river.events) if there else 0, "peak": top, "committed": state.said is not None,
        }  # fmt: skip

    def predict(self, owner: str) -> None:
        """Commit to a prediction from code, and wait for the result."""
        self.act("draft", owner)
        if not self._notice:
            self.act("commit")

    def plot(self, ax: Any = None) -> Any:
        """Draw the run that is shown with matplotlib, on ``ax`` or on new axes, and return the axes.

        Raises `ArgumentError` before there is a result, and `MissingPackageError` if matplotlib is not installed.
        """
        return charts.river(self.state, charts.axes_for("MemoryRiver.plot", ax))

    def _act(self, act: str, value: Any) -> None:
        state = self.state
        if act == "draft":
            if state.said is None:
                self.state = replace(state, draft=river.prediction(value))
        elif act in ("commit", "show"):
            if not state.rivers and (act == "show" or (state.draft is not None and state.said is None)):
                self.state = replace(state, said=state.draft if act == "commit" else None, begun=True)
                self._flow()
        elif act == "reset":
            self.abandon()
            self.state = replace(state, draft=None, said=None, begun=False, rivers=(), which=0, event=0)
        elif act in ("which", "event", "at", "back", "step", "peak"):
            self._go(act, value)
        else:
            raise KeyError(act)

    def _go(self, act: str, value: Any) -> None:
        """Show another event; as long as there is none, nothing happens."""
        state = self.state
        if not state.rivers:
            return
        letter = river.LETTERS[state.which]
        if act == "which":
            self.state = river.pick(state, value, state.event)
        elif act == "at":
            run, _, event = str(value).partition(":")
            self.state = river.pick(state, run, typed(act, event))
        elif act == "event":
            self.state = river.pick(state, letter, typed(act, value))
        else:
            place = {"back": state.event - 1, "step": state.event + 1, "peak": state.river.peak}[act]
            self.state = river.pick(state, letter, place)

    def _flow(self) -> None:
        """Run what has to be run, where it can be stopped, and show the rivers.

        To draw this widget takes memory, too. So it says at once that it is running, and the run begins when that is
        drawn; it draws nothing more until the end.
        """
        runs, names = self._runs, self.state.names

        def job(tell: Tell) -> list[River]:
            with self._lock:  # the act that began this is answered
                pass
            return [one if isinstance(one, River) else _watched(one, names[i]) for i, one in enumerate(runs)]

        if all(isinstance(one, River) for one in runs):
            self._show_rivers([one for one in runs if isinstance(one, River)])
        else:
            self.progress = Progress(0, 0, 0.0)
            self.work(job, self._show_rivers)

    def _show_rivers(self, found: list[River]) -> None:
        self.state = river.commit(self.state, found)


def _names(given: Any) -> tuple[str, str]:
    """Two names for two runs."""
    fits = isinstance(given, (tuple, list)) and len(given) == 2 and all(isinstance(n, str) and n for n in given)
    if not fits:
        why = "names are two texts, one for each run"
        raise refusal("MemoryRiver", "names", given, why, 'write names=("recorded", "no_grad")')
    return given[0], given[1]


def _check(name: str, run: Any) -> None:
    """Refuse what is neither a watch nor a function without arguments."""
    if isinstance(run, (Memory, River)):
        return
    if not callable(run):
        why = f"{name} is a function that can be run, or a finished Memory"
        raise refusal("MemoryRiver", name, run, why, f"write {name}=lambda: model(x).sum().backward()")
    try:
        signature = inspect.signature(run)
    except ValueError:  # some functions of C do not tell
        return
    try:
        signature.bind()
    except TypeError as error:
        why = f"{name} is called without arguments, but {error}"
        raise refusal("MemoryRiver", name, run, why, f"wrap it: {name}=lambda: …") from None


def _finished(run: Run, name: str) -> Callable[[], object] | River:
    """A function as it is; what a watch has seen, read now, while the names in the program are as they are."""
    if isinstance(run, Memory):
        return river.read(run, name, PICTURE, run.kept())
    return replace(run, name=name) if isinstance(run, River) else run


def _watched(run: Callable[[], object], name: str) -> River:
    """Run a function, and read what was seen. What was garbage before is not given back during the run."""
    gc.collect()
    with Memory() as seen:
        run()
    return river.read(seen, name, kept=seen.kept(of=run))
