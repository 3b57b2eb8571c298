"""Two functions on the clock: predict first, then see all runs."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import traitlets

from tinygrad_edu.errors import ArgumentError, EduError
from tinygrad_edu.observe.timing import Sweep, check_arguments, check_names, checked_sizes, name_of, sweep
from tinygrad_edu.views import race
from tinygrad_edu.views.frame import Frame
from tinygrad_edu.views.given import flags, texts, typed, whole

from . import charts
from .base import EduWidget, Tell


class TimingRace(EduWidget, room=race):
    """``TimingRace(slow, fast, sizes=(10, 100, 1000), make=…)`` races two functions once a prediction is committed.

    Each is called with the result of ``make(size)``: a tuple of arguments, a single one, or None. Without ``make`` it
    is called with the size itself, and without ``sizes`` with no arguments. After the race each is called once more at
    every size, with equal inputs: if the results differ, that is said before the times.

    Inputs are made once for each size, or, with ``fresh=True``, before every call, for functions that change them.
    ``n`` is the size that the question asks about, the largest by default; ``budget`` is how many seconds a race may
    take. ``%%race`` does the same for the code of a cell.

    Gestures: type a prediction, *Commit*; then the slider, or a press on a size in the sweep (Enter), shows that size;
    *up to 3 warm-ups*, *no warm-up* and *Run again* race once more; *Stop* ends between two repeats and keeps what was
    measured; *Ask again* (r) hides the result.
    """

    mirrors: ClassVar[dict[str, str]] = {"place": "n", "size": "size", "prediction": "draft"}
    place = traitlets.Int(0).tag(sync=True)  # of the size that is shown, among the sizes
    size = traitlets.Int(None, allow_none=True).tag(sync=True)  # None for a race without sizes
    prediction = traitlets.Any(None).tag(sync=True)  # times faster, or None
    committed = traitlets.Bool(False, read_only=True).tag(sync=True)
    ratio = traitlets.Float(None, allow_none=True, read_only=True).tag(sync=True)  # at that size, once measured

    def __init__(
        self, slow: Callable[..., object], fast: Callable[..., object], *, sizes: Sequence[int] = (),
        make: Callable[[int], Any] | None = None, ask: str = "", why: str = "", names: Sequence[str] | None = None,
        n: int | None = None, fresh: bool = False, budget: float = 2.0,
    ) -> None:  # fmt: skip
        texts("TimingRace", ask=ask, why=why)
        flags("TimingRace", fresh=fresh)
        found = () if isinstance(sizes, (tuple, list)) and not sizes else checked_sizes(sizes)
        self._make = make if make is not None else int if found else _nothing
        check_arguments({"slow": slow, "fast": fast, "make": self._make}, None, None, 0, budget, None)
        self._pair, self._fresh, self._budget = (slow, fast), fresh, budget
        both = tuple(names) if isinstance(names, (tuple, list)) else _names(slow, fast) if names is None else names
        check_names(both)
        self.state = race.RaceState((both[0], both[1]), found, _place(found, n), ask, why)
        super().__init__()

    def frame(self) -> Frame:
        """The frame of the current state."""
        return race.frame(self.state, self.working)

    def data(self) -> Any:
        """The prediction and, once it is committed, every time as plain data."""
        found = self.state.result
        plain = dataclasses.asdict(replace(self.state, result=None))
        return {**plain, "result": None if found is None else found.to_dict()}

    def mirrored(self) -> dict[str, Any]:
        """The size that is shown, the prediction, and what was measured there."""
        state, shown = self.state, self.state.shown
        return {
            "place": state.place, "size": state.sizes[state.place] if state.sizes else None,
            "prediction": state.draft, "committed": self._said, "ratio": None if shown is None else shown.ratio,
        }  # fmt: skip

    @property
    def _said(self) -> bool:
        return self.state.said is not None

    def predict(self, value: float) -> None:
        """Commit to a prediction from code, and wait for the result."""
        self.act("draft", value)
        self.act("commit")
        self.wait()

    def plot(self, ax: Any = None) -> Any:
        """Draw the runs at the size that is shown with matplotlib, on ``ax`` or on new axes, and return the axes.

        Raises `ArgumentError` before the race, and `MissingPackageError` if matplotlib is not installed.
        """
        return charts.race(self.state, charts.axes_for("TimingRace.plot", ax))

    def plot_sweep(self, ax: Any = None) -> Any:
        """Draw the medians over the sizes, as `plot` does the runs at one size."""
        return charts.sweep(self.state, charts.axes_for("TimingRace.plot_sweep", ax))

    def _act(self, act: str, value: Any) -> None:
        self.state = replace(self.state, message="")
        if act == "draft" and not self._said:
            self.state = replace(self.state, draft=race.prediction(value))
        elif act == "commit":
            self._commit()
        elif act == "n":
            self.state = race.pick(self.state, typed(act, value))
        elif act == "size":
            self.state = race.pick(self.state, _place(self.state.sizes, value))
        elif act == "warmup":
            self._set_warmup(value)
        elif act == "run" and self._said:
            self._run()
        elif act == "reset":
            self.abandon()
            self.state = replace(self.state, draft=None, said=None, result=None, agreements=(), failed=False)
        elif act not in ("draft", "run"):  # which may still have been under way
            raise KeyError(act)

    def _commit(self) -> None:
        if self.state.draft is not None and not self._said:
            self.state = replace(self.state, said=self.state.draft, said_at=self.state.place)
            self._run()

    def _set_warmup(self, value: Any) -> None:
        if value not in race.WARMUPS:
            raise ArgumentError(f"warm-up {value!r}", "there is no such choice", f"take {' or '.join(race.WARMUPS)}")
        self.state = replace(self.state, warmup=value == race.WARMUPS[0])
        if self._said:
            self.abandon()
            self._run()

    def _run(self) -> None:
        slow, fast = self._pair
        names, sizes, warmup = self.state.names, self.state.sizes or (1,), 3 if self.state.warmup else 0

        self.state = replace(self.state, failed=False)

        def job(tell: Tell) -> tuple[Sweep, tuple[race.Agreement, ...]]:
            found = sweep(slow, fast, sizes, make=self._make, fresh=self._fresh, warmup=warmup, budget=self._budget,
                         progress=tell, names=names)  # fmt: skip
            # afterwards, since without warm-ups the very first calls are what is measured
            return found, tuple(race.agreement(slow, fast, self._make, size) for size in found.sizes)

        self.work(job, self._finish)

    def _finish(self, found: tuple[Sweep, tuple[race.Agreement, ...]]) -> None:
        self.state = race.finish(self.state, *found)

    def _refuse(self, error: EduError) -> None:
        line = f" ({error.line})" if error.line and error.__cause__ is not None else ""
        failed = self._said and self.state.result is None and not self.working
        self.state = replace(self.state, message=error.sentence() + line, failed=failed)


def _nothing(_: int) -> None:
    """No arguments."""


def _names(slow: Callable[..., object], fast: Callable[..., object]) -> tuple[str, str]:
    """The functions' names; a lambda has none."""
    one, other = name_of(slow), name_of(fast)
    return ("first", "second") if "<" in one + other or one == other else (one, other)


def _place(sizes: tuple[int, ...], n: int | None) -> int:
    if n is None:
        return max(len(sizes) - 1, 0)
    if whole("TimingRace", "n", n) not in sizes:
        raise ArgumentError(f"TimingRace(n={n!r})", f"the sizes are {sizes}", "take one of them")
    return sizes.index(n)
