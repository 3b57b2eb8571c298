"""A run: a seed and a list of acts. It trains step by step, keeps a record, and can say how it stands."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from ...common.wording import shown
from ...errors import ArgumentError, EduError
from ..given import whole
from .meters import Meters
from .model import (
    AT_ONCE,
    HABITS,
    KNOBS,
    LEVELS,
    PRECISIONS,
    Change,
    Glance,
    Knobs,
    Misread,
    Point,
    Reading,
    checked,
    habit_of,
)
from .training import Loop, data, layers, values
from .trial import Trial

MISREAD = 5  # of the misread digits, so many are shown
POINTS = 128  # of the curves at most: then every other one is dropped
ROWS = (
    60  # at a time: with more, BLAS would wake threads of its own, which on a busy machine takes longer than the sums
)
SCALE = 0.98  # of the weights are inside the scale of their colours; with all, a few large ones would pale the rest
Act = tuple[int, str, str, Any]  # (at which step, "set" or "flip", a knob or a habit, its value)


class Run:
    """A network, its training loop, and its meters. Every step and every act takes its turn.

    ``acts`` holds what was done, with step numbers. So `Run(seed, acts)` does the same again, bit for bit.
    """

    def __init__(self, seed: int = 0, acts: Iterable[Act] = (), knobs: Knobs | None = None) -> None:
        self.seed, self.coming = seed, list(acts)
        self.acts: list[Act] = []
        self.turn = threading.RLock()
        self._guests: list[None] = []
        self.curve: list[Point] = []
        self.before: tuple[Point, ...] = ()
        self.was: Knobs | None = None
        self.begun(knobs or Knobs(), ())
        self.due()

    def begun(self, knobs: Knobs, habits: Iterable[str]) -> None:
        """Begin an untrained network. The curve of the one before is kept, if it was trained at all."""
        if self.curve and self.step:
            last = [self._point()] if self.curve[-1].step != self.step else []
            self.before, self.was = (*self.curve, *last), self.knobs
        self.change: Change | None = None
        self.trial: Trial | None = None
        self.loop = Loop(knobs, self.seed)
        for habit in HABITS:
            if habit in habits:
                self.loop.flip(habit, True)
        self.meters = Meters(self.loop)
        self.every = 10
        self.curve = []
        usual = Knobs()
        self.acts = [
            (0, "set", name, getattr(knobs, name)) for name in KNOBS if getattr(knobs, name) != getattr(usual, name)
        ]
        self.acts += [(0, "flip", habit, True) for habit in HABITS if habit in habits]
        self._note()

    @property
    def step(self) -> int:
        """How many steps this network has made."""
        return self.loop.steps

    @property
    def knobs(self) -> Knobs:
        """How the knobs stand."""
        return self.loop.knobs

    def advance(self) -> None:
        """One step, and the acts that are due after it."""
        contextvars.Context().run(self._advance)  # not under the settings of whoever calls: no_grad, observers, …

    def _advance(self) -> None:
        with self.turn, np.errstate(all="ignore"):  # weights may grow beyond all bounds: that is shown
            self.meters.step()
            if self.trial is not None:
                self.trial.turn()
            if self.step % self.every == 0:
                self._note()
            self.due()

    @contextmanager
    def visit(self, seconds: float = -1) -> Iterator[bool]:
        """A turn between two steps, asked for by another thread. Yields whether it came in time."""
        self._guests.append(None)
        try:
            came = self.turn.acquire(timeout=seconds)
        finally:
            self._guests.pop()
        try:
            yield came
        finally:
            if came:
                self.turn.release()

    @property
    def visited(self) -> bool:
        """Whether somebody waits for a turn. A lock goes to whoever is quick, so a thread that trains has to wait."""
        return bool(self._guests)

    @property
    def tried(self) -> bool:
        """Whether the last switch has moved, and its times and all else are known."""
        tried = self.change is not None if self.trial is None else self.trial.done
        return not self.coming and tried and not self.meters.lacking

    def due(self) -> None:
        """Do what comes at this step."""
        with self.turn:
            while self.coming and self.coming[0][0] <= self.step:
                _, act, name, value = self.coming.pop(0)
                self.set(name, value) if act == "set" else self.flip(name, value)

    def set(self, name: str, value: Any) -> None:
        """Turn a knob. Learning rate and batch apply at once; the others begin an untrained network."""
        with self.turn:
            knobs = self.knobs.turned(name, value)
            if knobs == self.knobs:
                return
            if name not in AT_ONCE:
                self.begun(knobs, self.loop.on)
                return
            self.loop.set(knobs)
            if name != "learning_rate":  # which changes no cost
                self.change = self.trial = None
                self.meters.begin()
            self._did("set", name, value)

    def flip(self, habit: str, on: bool) -> None:
        """Turn a slow habit on or off; one that chooses a dtype leaves off the other that does."""
        with self.turn:
            for other in PRECISIONS & self.loop.on if on and habit in PRECISIONS else ():
                if other != habit:
                    self.flip(other, False)
            if (habit in self.loop.on) is not on:
                self.change = Change(habit, on, self.step, self._counted())
                before = self.loop.twin() if self.knobs.device == "cpu" else None
                self.loop.flip(habit, on)
                self.trial = Trial(before, self.loop.twin()) if before is not None else None  # virtual times are exact
                self.meters.begin()
                self._did("flip", habit, on)

    def _counted(self) -> Reading:
        """What the meters say. After a switch they take two steps to say anything, and the next one may come before
        that: then a copy of the run makes them."""
        found, exact = self.meters.reading(), self.knobs.device != "cpu"
        if found.operations is None or (exact and found.time is None):
            other = Meters(self.loop.twin())
            while other.lacking if exact else other.reading().operations is None:
                other.step()
            found = other.reading() if exact else replace(other.reading(), time=None)
        return found

    def later(self, steps: int, habit: str, on: bool) -> None:
        """Turn a slow habit on or off after so many more steps."""
        with self.turn:
            self.coming.append((self.step + steps, "flip", habit, on))
            self.coming.sort(key=lambda act: act[0])

    def _did(self, act: str, name: str, value: Any) -> None:
        """Write an act down. A slider that is dragged is one act."""
        if self.acts and self.acts[-1][0] == self.step and self.acts[-1][2] == name:
            self.acts.pop()
        self.acts.append((self.step, act, name, value))

    def restart(self) -> None:
        """Begin again, with the same knobs and habits."""
        with self.turn:
            self.begun(self.knobs, self.loop.on)

    def weights(self) -> list[Any]:
        """Copies of all weights and biases, as arrays."""
        with self.turn:
            return [values(p).copy() for p in self.loop.model.parameters()]

    # The record: read by NumPy, outside of what the meters count ---------------------------------------------------

    def _note(self) -> None:
        self.curve.append(self._point())
        if len(self.curve) > POINTS:
            self.curve, self.every = self.curve[::2], 2 * self.every

    def _point(self) -> Point:
        loop = self.loop
        count = len(loop.test_labels)
        test = _judged(self._scores(loop.test_images), loop.test_labels)
        training = _judged(self._scores(loop.images[:count]), loop.labels[:count])
        return Point(self.step, *test, *training)

    def _scores(self, images: Any) -> Any:
        return scores(images, [_wide(p) for p in self.loop.model.parameters()], self.knobs.activation)

    def glance(self) -> Glance:
        """How it stands now."""
        with self.turn:
            loop, knobs = self.loop, self.knobs
            guesses = self._scores(loop.test_images).argmax(axis=1)
            wrong = np.flatnonzero(guesses != loop.test_labels)
            first = _wide(loop.model[0].weight)
            with np.errstate(all="ignore"):
                greatest = float(np.quantile(np.abs(first), SCALE))
            change, reading = self._told()
            compared = None if self.trial is None else self.trial.found()
            point = self.curve[-1] if self.curve[-1].step == self.step else self._point()
            return Glance(
                knobs, tuple(one for one in HABITS if one in loop.on), self.step, loop.passes, tuple(self.curve), point,
                _pictures(first, greatest), greatest,
                tuple(self._misread(int(i), int(guesses[i])) for i in wrong[:MISREAD]),
                len(wrong), len(guesses), len(loop.labels), samples(),
                tuple(_norm(layer) for layer in layers(loop.model)), reading, change, compared, self.before,
                self.was, loop.machine.name if loop.device != "cpu" else "", loop.refused,
            )  # fmt: skip

    def _told(self) -> tuple[Change | None, Reading]:
        """The last switch and what the meters say; both times are those of the trial, which can be compared."""
        reading = self.meters.reading()
        if self.trial is None or self.change is None:
            return self.change, reading
        found = self.trial.found()
        if found is None:
            return self.change, replace(reading, time=None, runs=0)
        runs = 2 * found.rounds
        was = replace(self.change.was, time=found.was, runs=runs)
        return replace(self.change, was=was), replace(reading, time=found.now, runs=runs)

    def _misread(self, place: int, read: int) -> Misread:
        return Misread(place, _sixteenths(self.loop.test_images[place]), read, int(self.loop.test_labels[place]))


def _wide(weights: Any) -> Any:
    """Weights as an array that NumPy computes with in 32 bits, if they have 16."""
    found = values(weights)
    return found.astype(np.float32) if found.dtype.itemsize < 4 else found


def scores(images: Any, parameters: list[Any], activation: str) -> Any:
    """What the network says of images, computed by NumPy beside the program: it leaves no trace in its meters."""
    found = []
    with np.errstate(all="ignore"):
        for start in range(0, len(images), ROWS):
            x = images[start : start + ROWS]
            for place in range(0, len(parameters), 2):
                x = x @ parameters[place].T + parameters[place + 1]
                if place + 2 < len(parameters):
                    x = _ACTIVATE[activation](x)
            found.append(x)
    return np.concatenate(found)


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def _gelu(x: Any) -> Any:
    from ...backends._erf import erf

    return 0.5 * x * (1 + erf(x / np.sqrt(2).astype(x.dtype)))


_ACTIVATE: dict[str, Callable[[Any], Any]] = {
    "relu": lambda x: np.maximum(x, 0),
    "tanh": np.tanh,
    "sigmoid": _sigmoid,
    "gelu": _gelu,
    "none": lambda x: x,
}


def _judged(given: Any, labels: Any) -> tuple[float, float]:
    """The mean cross entropy, and the share of right answers."""
    with np.errstate(all="ignore"):
        shifted = given - given.max(axis=1, keepdims=True)
        losses = np.log(np.exp(shifted).sum(axis=1)) - shifted[np.arange(len(labels)), labels]
        return float(losses.mean(dtype=np.float64)), float((given.argmax(axis=1) == labels).mean())


def _norm(layer: Any) -> float | None:
    """The norm of a layer's gradients; None before the first step."""
    found = [values(p.grad) for p in layer.parameters() if p.grad is not None]
    with np.errstate(all="ignore"):
        return float(np.sqrt(sum(float((g.astype(np.float64) ** 2).sum()) for g in found))) if found else None


def _pictures(weights: Any, greatest: float) -> tuple[bytes, ...]:
    """Each unit's weights in `LEVELS`; all in the middle where they are not finite."""
    middle = LEVELS // 2
    with np.errstate(all="ignore"):
        shares = np.nan_to_num(weights / greatest if greatest > 0 else weights * 0, nan=0.0, posinf=1.0, neginf=-1.0)
        return tuple(row.tobytes() for row in (np.rint(np.clip(shares, -1, 1) * middle) + middle).astype(np.uint8))


def _sixteenths(image: Any) -> bytes:
    return bytes(np.rint(image * 16).astype(np.uint8).tobytes())


def samples() -> tuple[bytes, ...]:
    """The first training digit of each kind."""
    images, labels, _, _ = data()
    return tuple(_sixteenths(images[np.flatnonzero(labels == digit)[0]]) for digit in range(10))


def acts_of(given: Any) -> list[Act]:
    """A list of acts, checked and in order. Raises `ArgumentError` for what cannot be done."""
    call = "Playground(acts=…)"
    try:
        listed = None if isinstance(given, (str, bytes)) else list(given)
    except (TypeError, EduError):  # it is one thing
        listed = None
    if listed is None:
        raise ArgumentError(call, f"{shown(given, 40)} is no list of acts", 'write [(400, "flip", "float64", True)]')
    found = [_act(one) for one in listed]
    steps = [one[0] for one in found]
    if steps != sorted(steps):
        place = next(i for i in range(1, len(steps)) if steps[i] < steps[i - 1])
        why = f"{shown(found[place])} comes after an act at step {steps[place - 1]}"
        raise ArgumentError(call, why, "put the acts in the order of their steps")
    return found


def _act(one: Any) -> Act:
    call, form = "Playground(acts=…)", '(step, "set", knob, value) or (step, "flip", habit, True)'
    if not isinstance(one, (tuple, list)) or len(one) != 4 or one[1] not in ("set", "flip"):
        raise ArgumentError(call, f"{shown(one)} is no act", f"an act is {form}")
    step = whole("Playground", "step", one[0])
    if step < 0:
        raise ArgumentError(call, f"{shown(one)} stands before the first step", "count steps from 0")
    if one[1] == "flip":
        if not isinstance(one[3], bool):
            raise ArgumentError(call, f"{shown(one)}: a switch is True or False", f"an act is {form}")
        return step, "flip", habit_of(one[2]), one[3]
    value = checked(one[2], one[3])
    if one[2] not in AT_ONCE and step:
        why = f"{one[2]} makes another network, which begins at step 0"
        raise ArgumentError(call, f"{shown(one)}: {why}", "set it at step 0")
    return step, "set", one[2], value
