"""A network that trains while one plays: knobs, meters, and slow habits to turn on and off."""

from __future__ import annotations

import atexit
import threading
import time
import weakref
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, ClassVar

import traitlets

from tinygrad_edu.common.wording import exact, first_line, shown, suggestion
from tinygrad_edu.errors import ArgumentError
from tinygrad_edu.views import playground
from tinygrad_edu.views.frame import Frame
from tinygrad_edu.views.given import finite, flags, refusal, texts, typed, whole
from tinygrad_edu.views.playground.model import (
    AT_ONCE,
    CHOICES,
    DEVICE_METERS,
    GUESSES,
    KNOBS,
    STOPS,
    Knobs,
    PlayState,
    checked,
    habit_of,
    with_verdict,
)
from tinygrad_edu.views.playground.run import Act, Run, acts_of
from tinygrad_edu.views.playground.trial import TURNS

from . import charts
from .base import EduWidget
from .pacing import rest

_SHARE = 0.1  # of the time, that drawing may take
_DUTY = 0.1  # of the time, that training takes while it plays: else it would be over before one has seen it
_CHUNK = 0.004  # seconds of steps without a pause between them
_PATIENCE = 0.05  # seconds that an answer waits for the step under way
_LIMIT = 100_000  # steps after which play pauses by itself: whoever pressed it may have left
_MOST = 1_000_000  # steps that one call makes
_TRIAL = TURNS + 2  # steps that a switch is tried for while nothing plays
_TRIAL_PAUSE = 0.05  # seconds between them at most: somebody waits for the verdict


class Playground(EduWidget, room=playground):
    """``Playground()`` trains a network on handwritten digits, in the kernel, while its knobs and switches are moved.

    A run is its ``seed`` and its ``acts``, a list such as ``[(400, "flip", "one sample", True)]``: the same two give
    the same weights, bit for bit. Knobs are arguments too: ``learning_rate``, ``width``, ``depth``, ``activation``,
    ``batch``, ``optimiser``, ``noise`` (the share of labels that are wrong), ``wrong`` (``"random"``, or ``"next
    digit"``), ``device`` (``"cpu"`` or ``"sim"``). On ``"sim"`` it trains on the machine that `sim.use` has chosen, in
    virtual time, and two meters more show transfers and how long the device is idle. ``predict=False`` lets switches
    move without a prediction. ``pace`` is a number of steps from one drawing to the next; without it, drawing takes at
    most a tenth of the time.

    Gestures: *Train*, *Pause* (p), one *Step* (s), start again (r); turn a knob; press a switch, say what each
    meter will do, and *Commit*.
    """

    mirrors: ClassVar[dict[str, str]] = {
        "playing": "playing", "learning_rate": "set:learning_rate", "width": "set:width",
        "depth": "set:depth", "activation": "set:activation", "batch": "set:batch", "optimiser": "set:optimiser",
        "noise": "set:noise", "wrong": "set:wrong", "device": "set:device",
    }  # fmt: skip
    _trainer: _Trainer | None = None
    playing = traitlets.Bool(False).tag(sync=True)
    steps = traitlets.Int(0).tag(sync=True)
    learning_rate = traitlets.Float(Knobs.learning_rate).tag(sync=True)
    width = traitlets.Int(Knobs.width).tag(sync=True)
    depth = traitlets.Int(Knobs.depth).tag(sync=True)
    activation = traitlets.Unicode(Knobs.activation).tag(sync=True)
    batch = traitlets.Int(Knobs.batch).tag(sync=True)
    optimiser = traitlets.Unicode(Knobs.optimiser).tag(sync=True)
    noise = traitlets.Float(Knobs.noise).tag(sync=True)
    wrong = traitlets.Unicode(Knobs.wrong).tag(sync=True)
    device = traitlets.Unicode(Knobs.device).tag(sync=True)

    def __init__(
        self,
        seed: int = 0,
        *,
        acts: Iterable[Act] = (),
        ask: str = "",
        predict: bool = True,
        pace: int | None = None,
        **knobs: Any,
    ) -> None:
        if whole("Playground", "seed", seed) < 0:
            raise refusal("Playground", "seed", seed, "a seed is 0 or more", "write seed=0")
        texts("Playground", ask=ask)
        flags("Playground", predict=predict)
        if pace is not None and whole("Playground", "pace", pace) < 1:
            raise refusal("Playground", "pace", pace, "it is a number of steps, 1 or more", "write pace=10")
        self._predict, self._pace = predict, pace
        self._run = Run(int(seed), acts_of(acts), _turned(Knobs(), knobs))
        self.state = PlayState(self._run.glance(), ask=ask)
        super().__init__()

    def frame(self) -> Frame:
        """The frame of the current state."""
        return playground.frame(self.state)

    def data(self) -> Any:
        """Knobs, habits, acts, the curves, what the meters say, and how each switch moved them."""
        return playground.data(self.state, self.acts)

    def mirrored(self) -> dict[str, Any]:
        glance = self.state.glance
        values = {name: getattr(glance.knobs, name) for name in KNOBS}
        return {"playing": self.state.playing, "steps": glance.step, **values}

    @property
    def acts(self) -> list[Act]:
        """What was done to this network, each with the step after which it was done."""
        return list(self._run.acts)

    # From code: all that the browser can do ------------------------------------------------------------------------

    def play(self) -> None:
        """Train until `pause`, on a thread of its own. It takes a tenth of the time, so that one can watch."""
        self.act("play")

    def pause(self) -> None:
        """Stop training after the step under way, and show it."""
        trainer = self._trainer
        if trainer is not None:
            self.act("pause")
            trainer.finish()
            self._refresh()

    def step(self, n: int = 1) -> None:
        """Make ``n`` steps now, and show the result."""
        self._make(_count("Playground.step", "n", n))

    def run(self, steps: int) -> None:
        """Make so many steps now, as fast as they go, and show the result."""
        self._make(_count("Playground.run", "steps", steps))

    def set(self, **knobs: Any) -> None:
        """Turn knobs: ``set(learning_rate=0.1, batch=16)``. ``lr`` stands for ``learning_rate``.

        Learning rate, batch size and device apply at once; any other knob begins an untrained network.
        """
        _turned(self._run.knobs, knobs)  # all or none
        for name, value in knobs.items():
            self.act(f"set:{_SHORT.get(name, name)}", value)

    def flip(self, habit: str, on: bool | None = None) -> None:
        """Turn a slow habit on or off, by its name; without ``on``, the other way. It does not ask."""
        if on is not None:
            flags("Playground.flip", on=on)
        self.act("switch", [habit_of(habit), on])

    def predict(self, habit: str, **meters: str) -> None:
        """Say what the meters will do, and turn the habit on: ``predict("loop", time="up", bytes="same")``.

        They answer in the next steps: ``run(20)`` makes enough of them.
        """
        habit = habit_of(habit, "predict")
        for meter, guess in meters.items():
            _check_guess(meter, guess, self._run.knobs)
        with self._lock:
            self.state = replace(self.state, asking=habit, draft=meters)
            self.act("switch", [habit, True])

    def reset(self) -> None:
        """Begin again with an untrained network. Knobs and habits stay."""
        self.act("reset")

    def replay(self, acts: Iterable[Act], until: int) -> None:
        """Begin again with the first knobs and no habits, make so many steps, and do the acts on the way."""
        given = acts_of(acts)
        _count("Playground.replay", "until", until)
        self.pause()
        with self._lock:
            self._run = Run(self._run.seed, given)
            self.state = PlayState(self._run.glance(), ask=self.state.ask, asked=self.state.asked)
        self._make(until)

    def _make(self, count: int) -> None:
        self.pause()
        for _ in range(count):
            self._run.advance()
        self._refresh()

    def weights(self) -> list[Any]:
        """Copies of all weights and biases, as arrays: to compare two runs."""
        return self._run.weights()

    def plot(self, ax: Any = None) -> Any:
        """Draw the losses by step with matplotlib, on ``ax`` or on new axes, and return the axes.

        Raises `MissingPackageError` if matplotlib is not installed.
        """
        return charts.learnt(self.state, charts.axes_for("Playground.plot", ax), "loss")

    def plot_accuracy(self, ax: Any = None) -> Any:
        """Draw the accuracies by step, as `plot` does the losses."""
        return charts.learnt(self.state, charts.axes_for("Playground.plot_accuracy", ax), "accuracy")

    def wait(self, seconds: float = 60.0) -> None:
        """Wait for a trial of a switch to end. Raises `TimeoutError` after ``seconds``."""
        if finite("Playground.wait", "seconds", seconds) < 0:
            raise refusal("Playground.wait", "seconds", seconds, "it is a time to wait", "write seconds=60")
        trainer = self._trainer
        if trainer is not None and trainer.until is not None and not trainer.finish(seconds, stop=False):
            raise TimeoutError(f"Playground has been at work for {seconds:g} s")

    def close(self) -> None:
        """Stop training, and leave the page."""
        self._stop()
        super().close()

    # Acts ----------------------------------------------------------------------------------------------------------

    def _act(self, act: str, value: Any) -> None:
        name, _, part = act.partition(":")
        if name in ("set", "knob", "guess"):
            getattr(self, f"_{name}")(part, value)
        elif act in ("flip", "switch", "playing", "tip"):
            getattr(self, f"_{act}")(value)
        elif act in ("play", "pause", "advance", "commit", "reset"):
            getattr(self, f"_{act}")()
        else:
            raise KeyError(act)
        self._look()
        if self._trainer is not None and self._trainer.ident is None:
            self._trainer.start()

    def _play(self, until: int | None = None) -> None:
        """Let a thread train. It is started at the end of the act, so that the answer shows what was before it."""
        if self._trainer is None:
            self._trainer = _Trainer(self, until)
        elif until is None:
            self._trainer.until = None

    def _pause(self) -> None:
        self._stop()

    def _stop(self) -> None:
        trainer, self._trainer = self._trainer, None
        if trainer is not None:
            trainer.stop.set()

    def _playing(self, value: Any) -> None:
        flags("Playground", playing=value)
        (self._play if value else self._stop)()

    def _advance(self) -> None:
        self._stop()
        self._run.advance()

    def _set(self, name: str, value: Any) -> None:
        checked(name, value)
        with self._run.visit():
            before = self._run.knobs
            self._run.set(name, value)
        if name in self._restarts and before != self._run.knobs:
            self.state = replace(self.state, asking="", draft={}, verdicts={})
        if before.device != self._run.knobs.device:  # what a habit costs there is another question
            self.state = replace(self.state, asking="", draft={}, verdicts={}, said={}, asked=frozenset(), tip="")

    _restarts = frozenset(KNOBS) - frozenset(AT_ONCE)

    def _knob(self, name: str, value: Any) -> None:
        """A slider sends a place, a list its words."""
        if name in CHOICES:
            if value:  # a list without a choice sends nothing
                self._set(name, value)
        elif name in STOPS:
            place, last = typed(f"knob:{name}", value), len(STOPS[name]) - 1
            if not 0 <= place <= last:
                why = f"its slider has the places 0 to {last}"
                raise refusal("Playground", name, value, why, f"set(…) takes values: set({name}={STOPS[name][last]:g})")
            self._set(name, STOPS[name][place])
        else:
            raise KeyError(name)

    def _flip(self, value: Any) -> None:
        """A switch was pressed."""
        habit = habit_of(value)
        state = self.state
        if state.asking == habit:
            self.state = replace(state, asking="", draft={})
        elif self._predict and habit not in state.asked and habit not in state.glance.habits:
            self.state = replace(state, asking=habit, draft={}, tip="")
        else:
            self._try(habit, habit not in state.glance.habits)

    def _guess(self, meter: str, value: Any) -> None:
        if not self.state.asking:
            why = "no switch asks what the meters will do"
            raise ArgumentError(f"a prediction for {shown(meter)}", why, "press a switch first")
        _check_guess(meter, value, self._run.knobs)
        self.state = replace(self.state, draft={**self.state.draft, meter: value})

    def _commit(self) -> None:
        habit = self.state.asking
        if habit and self.state.draft:
            self._try(habit, True)

    def _said(self, habit: str, on: bool) -> None:
        """What was said before a switch moves is kept, and a new verdict will come if it is turned on."""
        state = self.state
        said = {**state.said, habit: state.draft} if state.asking == habit and state.draft else state.said
        asking = "" if state.asking == habit else state.asking
        draft = {} if state.asking == habit else state.draft
        verdicts = {name: found for name, found in state.verdicts.items() if name != habit or not on}
        self.state = replace(
            state, asking=asking, draft=draft, said=said, asked=state.asked | {habit}, verdicts=verdicts
        )

    def _try(self, habit: str, on: bool) -> None:
        """Switch as soon as the meters have seen enough to compare with, and go on until they have again."""
        self._said(habit, on)
        with self._run.visit():
            lacking = self._run.meters.lacking
            self._run.later(lacking, habit, on)
            if not lacking:
                self._run.due()
        if self._trainer is None:
            self._play(self._run.step + lacking + _TRIAL)

    def _switch(self, value: Any) -> None:
        """From code: a habit, and whether it is on; None for the other way."""
        habit, on = habit_of(value[0]), value[1]
        with self._run.visit():
            wanted = habit not in self._run.loop.on if on is None else on
            self._said(habit, wanted)
            self._run.flip(habit, wanted)

    def _tip(self, value: Any) -> None:
        habit = habit_of(value, "tip")
        self.state = replace(self.state, tip="" if self.state.tip == habit else habit)

    def _reset(self) -> None:
        self._stop()
        with self._run.visit():
            self._run.coming.clear()
            self._run.restart()
        self.state = replace(self.state, asking="", draft={}, verdicts={})

    # Drawing -------------------------------------------------------------------------------------------------------

    def _look(self) -> None:
        """Take the run as it is now into the state; as it was, if the step under way takes long."""
        with self._run.visit(_PATIENCE) as came:
            glance = self._run.glance() if came else self.state.glance
        self.state = with_verdict(replace(self.state, glance=glance, playing=self._trainer is not None))

    def _refresh(self) -> None:
        with self._lock:
            self._look()
            self._show()

    def _ended(self, trainer: _Trainer) -> None:
        """A thread has ended: it came to its last step, was stopped, or failed."""
        with self._lock:
            if self._trainer is trainer:
                self._trainer = None
            if trainer.failure is not None:
                self._notice = f"Training ended: {first_line(trainer.failure)}"
            if self._trainer is None:
                self._refresh()


_SHORT = {"lr": "learning_rate"}


def _turned(knobs: Knobs, given: Mapping[str, Any]) -> Knobs:
    for name, value in given.items():
        knobs = knobs.turned(_SHORT.get(name, name), value)
    return knobs


def _count(call: str, name: str, value: Any) -> int:
    """A number of steps."""
    if not 0 <= whole(call, name, value) <= _MOST:
        raise refusal(call, name, value, f"it counts steps, from 0 to {exact(_MOST)}", f"write {name}=100")
    return int(value)


def _check_guess(meter: Any, guess: Any, knobs: Knobs) -> None:
    if meter not in knobs.meters:
        why, mend = "there is no meter of that name", suggestion(str(meter), knobs.meters)
        if meter in DEVICE_METERS:
            why, mend = "the CPU has no such meter", 'set(device="sim") first'
        raise ArgumentError(f"a prediction for {shown(meter)}", why, mend)
    if not isinstance(guess, str) or guess not in GUESSES:
        mend = f"say one of {', '.join(GUESSES)}"
        raise ArgumentError(f"predict({meter}={shown(guess)})", "a meter goes down, stays the same or goes up", mend)


class _Trainer(threading.Thread):
    """Trains until it is stopped. Another thread draws meanwhile. Neither keeps the widget alive."""

    def __init__(self, widget: Playground, until: int | None) -> None:
        super().__init__(name="Playground trains", daemon=True)
        self.stop, self.until = threading.Event(), until
        self.failure: BaseException | None = None
        self._run, self._pace = widget._run, widget._pace
        self._limit = widget._run.step + _LIMIT
        self._widget = weakref.ref(widget, lambda _: self.stop.set())
        self._drawer = threading.Thread(target=self._draw, name="Playground draws", daemon=True)
        _TRAINERS.add(self)

    def start(self) -> None:
        """Begin."""
        super().start()
        self._drawer.start()

    def run(self) -> None:
        """Steps, and pauses between them."""
        try:
            while not self._over():
                took = self._steps()
                pause = took * (1 / _DUTY - 1)
                self.stop.wait(pause if self.until is None else min(pause, _TRIAL_PAUSE))
        except BaseException as error:  # nobody could catch it here: the picture says it
            self.failure = error
        finally:
            self.stop.set()

    def _over(self) -> bool:
        if self.until is not None:
            return self.stop.is_set() or self._run.step >= self.until or self._run.tried
        return self.stop.is_set() or self._run.step >= self._limit

    def _steps(self) -> float:
        """A few steps. Returns how long they took."""
        took = 0.0
        while took < _CHUNK and not self._over():
            while self._run.visited and not self.stop.is_set():
                time.sleep(0.0005)
            start = time.perf_counter()
            self._run.advance()
            took += time.perf_counter() - start
            if self._pace and self._run.step % self._pace == 0:
                self._refresh()
        return took

    def _refresh(self) -> None:
        widget = self._widget()
        if widget is not None and widget._trainer is self:
            widget._refresh()

    def _draw(self) -> None:
        pause = rest(0.0, _SHARE)
        while not self.stop.wait(pause):
            start = time.perf_counter()
            if not self._pace:
                self._refresh()
            pause = rest(time.perf_counter() - start, _SHARE)
        self.join()
        widget = self._widget()
        if widget is not None:
            widget._ended(self)

    def finish(self, seconds: float = 60.0, stop: bool = True) -> bool:
        """Wait until both threads have ended; ``stop`` them first. Returns whether they have."""
        if stop:
            self.stop.set()
        end = time.monotonic() + seconds
        for thread in (self, self._drawer):
            if thread is not threading.current_thread():
                thread.join(max(0.0, end - time.monotonic()))
        return not self.is_alive() and not self._drawer.is_alive()


_TRAINERS: weakref.WeakSet[_Trainer] = weakref.WeakSet()


@atexit.register
def stop_all() -> None:
    """End every thread that trains, before the interpreter is taken apart."""
    for trainer in list(_TRAINERS):
        if trainer.ident is not None:
            trainer.finish(1.0)
