"""A playground as plain data: its knobs, its slow habits, what its meters say, and what the learner said they would."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from ...common.wording import shown, suggestion
from ...errors import ArgumentError
from ..given import finite, refusal, whole

ACTIVATIONS = ("relu", "tanh", "sigmoid", "gelu", "none")
OPTIMISERS = ("SGD", "momentum", "Adam")
PIXELS, CLASSES = 64, 10
LEVELS = 15  # in which a weight is shown: seven below zero, zero, seven above

# What a slider can reach. From code, any value between the ends can be set.
STOPS: dict[str, tuple[float, ...]] = {
    "learning_rate": (*(float(f"{d}e{p}") for p in range(-3, 1) for d in (1, 2, 3, 5)), 10.0),
    "width": (4, 8, 16, 32, 64, 128),
    "depth": (0, 1, 2, 3),
    "batch": (1, 2, 4, 8, 16, 32, 64, 128, 256),
    "noise": tuple(i / 20 for i in range(19)),
}
WRONG = ("random", "next digit")
DEVICES = ("cpu", "sim")
CHOICES = {"activation": ACTIVATIONS, "optimiser": OPTIMISERS, "wrong": WRONG, "device": DEVICES}
AT_ONCE = ("learning_rate", "batch", "device")  # the others make another network, which begins untrained


@dataclass(frozen=True)
class Knobs:
    """What can be turned."""

    learning_rate: float = 0.3
    width: int = 64
    depth: int = 1
    activation: str = "relu"
    batch: int = 64
    optimiser: str = "SGD"
    noise: float = 0.0  # the share of training labels that are wrong
    wrong: str = "random"  # what those say: any other digit, or the next one (a 0 for a 9)
    device: str = "cpu"

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many numbers each layer takes and gives: ``(64, 64, 10)``."""
        return (PIXELS, *[self.width] * self.depth, CLASSES)

    @property
    def meters(self) -> tuple[str, ...]:
        """What is metered: on a device of its own also what goes there, and how long it has nothing to do."""
        return METERS if self.device == "cpu" else METERS + DEVICE_METERS

    @property
    def parameters(self) -> int:
        """How many numbers the network learns."""
        return sum((n + 1) * m for n, m in zip(self.sizes, self.sizes[1:], strict=False))

    def turned(self, name: str, value: Any) -> Knobs:
        """The same with another value of one knob. Raises `ArgumentError` for one that cannot be."""
        return replace(self, **{name: checked(name, value)})


KNOBS = tuple(one.name for one in fields(Knobs))


def checked(name: str, value: Any) -> Any:
    """A value of a knob. Raises `ArgumentError` for a knob that there is not, and for a value that it cannot have."""
    if name not in KNOBS:
        mend = suggestion(str(name), KNOBS)
        raise ArgumentError(f"Playground.set({shown(name, 40)}=…)", "there is no knob of that name", mend)
    if name in CHOICES:
        if not isinstance(value, str) or value not in CHOICES[name]:
            mend = suggestion(value if isinstance(value, str) else "", CHOICES[name])
            raise refusal("Playground", name, value, f"{name} is one of {', '.join(CHOICES[name])}", mend)
        return value
    fraction = name in ("learning_rate", "noise")
    given: float = finite("Playground", name, value) if fraction else whole("Playground", name, value)
    least, greatest = STOPS[name][0], STOPS[name][-1]
    if not least <= given <= greatest:
        mend = f"choose one from {least:g} to {greatest:g}"
        raise refusal("Playground", name, value, f"{name} goes from {least:g} to {greatest:g}", mend)
    return given


def stop_of(name: str, value: float) -> int:
    """The place of a value on its slider: that of the nearest stop."""
    stops = STOPS[name]
    if name in ("learning_rate", "width", "batch"):  # whose stops are ratios
        return min(range(len(stops)), key=lambda i: abs(math.log(stops[i] / value)))
    return min(range(len(stops)), key=lambda i: abs(stops[i] - value))


@dataclass(frozen=True)
class Habit:
    """A slow way of doing a part of the step, and the tips that tell more about it; the first that there is counts."""

    name: str
    label: str  # with code in backticks
    ask: str
    before: str  # why it may matter, without saying what the meters do
    tips: tuple[str, ...]


HABITS: dict[str, Habit] = {
    one.name: one
    for one in (
        Habit(
            "one sample", "one sample at a time", "One sample at a time instead of {batch} together",
            "For one step, each of {batch} digits goes through the network **by itself**, with its own `backward`.",
            ("batching", "vectorise"),
        ),
        Habit(
            "float64", "float64 data", "Data in float64, and so a network in float64",
            "A float64 has **64 bits** where a float32 has 32: NumPy makes it unless it is told otherwise.",
            ("spurious-promotion", "float32-is-enough"),
        ),
        Habit(
            "bfloat16", "network in bfloat16", "Data and network in bfloat16",
            "A bfloat16 has **16 bits** where a float32 has 32: the exponent is as long, the fraction shorter.",
            ("half-precision",),
        ),
        Habit(
            "autocast", "forward under `autocast`", "Forward under `autocast`",
            "Weights stay float32; products are computed in **16 bits**: bfloat16 on the CPU, float16 on a device.",
            ("mixed-precision",),
        ),
        Habit(
            "total", "`total += loss`", "`total += loss` instead of `total += loss.item()`",
            "`loss` is a tensor with a graph behind it; `loss.item()` is **only the number**.",
            ("keep-the-number-not-the-graph",),
        ),
        Habit(
            "evaluation", "evaluation without `no_grad`", "Reading test digits without `no_grad`",
            "The test digits are read **only forward**: nobody calls `backward` on their loss.",
            ("no-grad", "evaluate-without-gradients"),
        ),
        Habit(
            "zeros", "gradients filled with zeros", "Gradients filled with zeros instead of released",
            "`zero_grad(set_to_none=False)` **keeps** each gradient and fills it with zeros.",
            ("zero-grad-to-none",),
        ),
        Habit(
            "copies", "copies of each batch", "A copy of each batch instead of a view",
            "A batch is a slice of the shuffled digits, so it can be **a view** of them; `clone()` copies its bytes.",
            ("share-storage",),
        ),
        Habit(
            "loop", "loss in a Python loop", "The loss summed digit by digit in a Python loop",
            "The network reads all {batch} digits together; then **a loop** adds up their losses, for one `backward`.",
            ("vectorise-loss",),
        ),
        Habit(
            "moves", "batches from the host", "Each batch moved to the device instead of all digits once",
            "The digits stay in **the host's memory**, and each batch goes to the device when its step begins.",
            ("avoid-transfers", "use-the-accelerator"),
        ),
        Habit(
            "compiled", "compiled step", "Forward and backward of a step as a program of `tg.compile`",
            "The step is recorded once; then **a program** of kernels runs in place of its operations.",
            ("compile",),
        ),
    )
}  # fmt: skip


PRECISIONS = frozenset({"float64", "bfloat16", "autocast"})  # of which one can be on: each is another choice of dtype


def habits_of(glance: Glance) -> tuple[str, ...]:
    """The habits that there are a switch for. On the CPU nothing has to be moved."""
    hidden = glance.knobs.device == "cpu" and "moves" not in glance.habits
    return tuple(name for name in HABITS if name != "moves" or not hidden)


def habit_of(name: Any, call: str = "flip") -> str:
    """The name of a habit, also given by its label. Raises `ArgumentError` for one that there is not."""
    labels = {one.label.replace("`", ""): one.name for one in HABITS.values()}
    found = labels.get(name, name) if isinstance(name, str) else name
    if not isinstance(found, str) or found not in HABITS:
        mend = suggestion(found if isinstance(found, str) else "", HABITS, likeness=0.4)
        raise ArgumentError(f"Playground.{call}({shown(name, 40)})", "there is no habit of that name", mend)
    return found


METERS = ("time", "bytes", "nodes", "operations")
DEVICE_METERS = ("transfers", "idle")  # which only a device of its own has
GUESSES = ("down", "same", "up")
SAME = 0.05  # a ratio this near to one is "same"


UNCLEAR = "cannot tell"


def zone(ratio: float) -> str:
    """Down, same or up."""
    return "down" if ratio < 1 - SAME else "up" if ratio > 1 + SAME else "same"


@dataclass(frozen=True)
class Compared:
    """The time of a step before and after a switch, measured in turns: medians in seconds, and their ratio.

    ``low`` and ``high`` hold the ratio in 98 of 100 such comparisons. ``scatter`` is how far from one it may be with
    nothing changed, as steps of the same loop say: 0.1 is a tenth.
    """

    was: float
    now: float
    ratio: float
    low: float
    high: float
    scatter: float
    rounds: int

    @property
    def zone(self) -> str:
        """Down, same, up; or that these times cannot tell."""
        found = zone(self.ratio)
        if found == "same":
            near = self.low >= 1 - 2 * SAME and self.high <= 1 + 2 * SAME
            return found if near else UNCLEAR
        apart = zone(self.low) == found == zone(self.high)
        return found if apart and abs(math.log(self.ratio)) > math.log1p(self.scatter) else UNCLEAR


@dataclass(frozen=True)
class Reading:
    """What the meters say; None for what is not known yet.

    ``time`` is the median of ``runs`` steps in seconds, ``low`` and ``high`` hold the middle half of them. ``bytes``
    is the most that were alive at once within a step, ``nodes`` how many graph nodes are alive after it. On a device,
    ``transfers`` are copies between it and the host in a step, of ``moved`` bytes together, and ``idle`` is the share
    of the step in which no kernel runs.
    """

    time: float | None = None
    low: float = 0.0
    high: float = 0.0
    runs: int = 0
    bytes: int | None = None
    nodes: int | None = None
    operations: int | None = None
    transfers: int | None = None
    moved: int = 0
    idle: float | None = None

    def value(self, meter: str) -> float | None:
        """What one meter says."""
        found: float | None = getattr(self, meter)
        return found


@dataclass(frozen=True)
class Change:
    """The last switch: which habit, whether it was turned on, at which step, and what the meters said before it."""

    habit: str
    on: bool
    step: int
    was: Reading


@dataclass(frozen=True)
class Misread:
    """A test digit that the network reads wrongly now."""

    place: int
    pixels: bytes  # 64, from 0 to 16
    read: int
    truth: int


@dataclass(frozen=True)
class Point:
    """The losses and the accuracies after a step, on test digits and on as many training digits."""

    step: int
    test_loss: float
    test_accuracy: float
    training_loss: float
    training_accuracy: float


@dataclass(frozen=True)
class Glance:
    """The run at one moment."""

    knobs: Knobs
    habits: tuple[str, ...]  # that are on
    step: int
    passes: int  # of the training digits, begun so far
    curve: tuple[Point, ...]
    now: Point
    weights: tuple[bytes, ...]  # of the first layer, in LEVELS, one picture for each unit
    greatest: float  # the end of their scale: what lies beyond is drawn as if it were that
    misread: tuple[Misread, ...]  # the first of them
    wrong: int  # how many test digits are misread
    tested: int
    trained: int
    samples: tuple[bytes, ...]  # one digit of each kind
    gradients: tuple[float | None, ...]  # norm by layer
    reading: Reading
    change: Change | None  # the last switch; None if there was none, or the steps were made others after it
    compared: Compared | None = None  # what that switch did to the time, once it is known
    before: tuple[Point, ...] = ()  # the curve of the network before this one
    was: Knobs | None = None  # and its knobs
    machine: str = ""  # that is simulated: its name
    refused: bool = False  # whether the compiler has no program for the step


@dataclass(frozen=True)
class PlayState:
    """All that a playground shows."""

    glance: Glance
    playing: bool = False
    asking: str = ""  # the habit whose switch waits for a prediction
    draft: Mapping[str, str] = field(default_factory=dict)  # that prediction, by meter
    asked: frozenset[str] = frozenset()  # habits that need not ask any more
    said: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # what was committed, by habit and meter
    verdicts: Mapping[str, tuple[str, float]] = field(default_factory=dict)  # by habit: the meter, and how many times
    tip: str = ""  # the habit whose tip is open
    ask: str = ""  # the question of whoever made it

    def ratio(self, meter: str) -> float | None:
        """How many times what it was before the last switch a meter shows now; None if that is not known."""
        glance = self.glance
        if glance.change is None:
            return None
        if meter == "time" and glance.compared is not None:
            return glance.compared.ratio
        was, now = glance.change.was.value(meter), glance.reading.value(meter)
        if was is None or now is None:
            return None
        return now / was if was else math.inf if now else 1.0

    def spread(self) -> tuple[float, float] | None:
        """Between which ratios of times the true one is. Recorded times have only their middle halves to tell."""
        change, now, compared = self.glance.change, self.glance.reading, self.glance.compared
        if change is None or now.time is None:
            return None
        if compared is not None:
            return compared.low, compared.high
        return (now.low / change.was.high, now.high / change.was.low) if change.was.low else None

    def zone(self, meter: str) -> str:
        """Where a meter went with the last switch: down, same, up, or that its times cannot tell. "" if not known."""
        ratio = self.ratio(meter)
        if ratio is None:
            return ""
        if meter != "time":
            return zone(ratio)
        if self.glance.compared is not None:
            return self.glance.compared.zone
        low, high = self.spread() or (1.0, 1.0)
        return zone(ratio) if low > 1 or high < 1 or (zone(ratio) == "same" and low == high) else UNCLEAR


def verdict(state: PlayState) -> tuple[str, float] | None:
    """What the last switch costs: the time if that is another, else the meter that moved most, else the time, if that
    is known to be the same; if not, the ratio is 0.

    None as long as the meters have not seen enough steps.
    """
    ratios = {meter: ratio for meter in state.glance.knobs.meters if (ratio := state.ratio(meter)) is not None}
    if "time" not in ratios or state.glance.change is None:
        return None
    found = state.zone("time")
    if found in ("down", "up"):
        return "time", ratios["time"]
    moved = max(("bytes", "nodes"), key=lambda meter: _distance(ratios.get(meter, 1.0)))
    if zone(ratios.get(moved, 1.0)) != "same":
        return moved, ratios[moved]
    return "time", 0.0 if found == UNCLEAR else ratios["time"]


def _distance(ratio: float) -> float:
    """How far a ratio is from one."""
    return abs(math.log(ratio)) if ratio else math.inf


def with_verdict(state: PlayState) -> PlayState:
    """The state, with the verdict on the last switch if that turned a habit on. Of what grows from step to step, the
    most counts."""
    found, change = verdict(state), state.glance.change
    if found is None or change is None or not change.on:
        return state
    before = state.verdicts.get(change.habit)
    if before is not None and before[0] == found[0] != "time":
        found = max(before, found)
    return replace(state, verdicts={**state.verdicts, change.habit: found})


def tip_of(habit: str) -> Any:
    """The tip about a habit, if there is one yet."""
    from ...tips import all_tips  # they are many, and needed only here

    known = {tip.slug: tip for tip in all_tips()}
    return next((known[slug] for slug in HABITS[habit].tips if slug in known), None)
