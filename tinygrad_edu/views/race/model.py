"""Two functions on the clock, as plain data: what was predicted, and what was measured."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ...common.wording import exact
from ...errors import IndexRangeError
from ...observe.results import Comparison, Sweep, Timing
from .. import predict
from .compared import Agreement

WARMUPS = ("up to 3 warm-ups", "no warm-up")


@dataclass(frozen=True)
class RaceState:
    """What is raced, what was predicted, and what was measured. ``place`` is the position of the size shown.

    Without ``sizes`` the functions are called as they are. ``said`` is the committed prediction, times faster, and
    ``said_at`` the place it was made for. ``result`` holds the sizes that were reached.
    """

    names: tuple[str, str]
    sizes: tuple[int, ...] = ()
    place: int = 0
    ask: str = ""
    why: str = ""
    warmup: bool = True
    draft: float | None = None
    said: float | None = None
    said_at: int = 0
    result: Sweep | None = None
    agreements: tuple[Agreement, ...] = ()  # at each size that was measured; none in an old record
    failed: bool = False  # did the last race end without a result?
    message: str = ""

    @property
    def shown(self) -> Comparison | None:
        """The comparison at the size that is shown."""
        return None if self.result is None else self.result.comparisons[self.place]


def prediction(value: Any) -> float | None:
    """How many times faster, as a number above 0; None for an empty entry."""
    if value is None or (isinstance(value, str) and not value):
        return None
    found = float(predict.draft(predict.Question("", "number"), value))
    if found <= 0:
        why, mend = "no time is below 0", "0.5 means that B takes twice as long, 1 that both take the same"
        raise IndexRangeError(f"the prediction {found:g} times", why, mend)
    return found


def pick(state: RaceState, place: int) -> RaceState:
    """Show another size."""
    if not 0 <= place < max(len(state.sizes), 1):
        raise IndexRangeError(f"size {place}", f"there are {len(state.sizes)} sizes", "count from 0")
    if state.result is not None and place >= len(state.result.sizes):
        why = "the race was stopped before it reached that size"
        raise IndexRangeError(
            f"n = {exact(state.sizes[place])}" if state.sizes else "", why, "run it again, and wait a little longer"
        )
    return replace(state, place=place)


def finish(state: RaceState, result: Sweep, agreements: tuple[Agreement, ...] = ()) -> RaceState:
    """The state with what was measured. It shows the size that was asked for, or the largest reached."""
    place = min(state.place, len(result.sizes) - 1)
    return replace(state, result=result, agreements=agreements, place=place, failed=False, message="")


def agreed(state: RaceState, place: int) -> Agreement | None:
    """Whether both gave the same at a size; None if that is not known."""
    return state.agreements[place] if place < len(state.agreements) else None


def differs(state: RaceState, place: int) -> bool:
    """Whether they gave different results at a size."""
    found = agreed(state, place)
    return found is not None and found.same is False


def multiples(timing: Timing) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Runs and warm-ups as multiples of the median run."""
    middle_run = timing.median
    return tuple(t / middle_run for t in timing.times), tuple(t / middle_run for t in timing.warmups)


def otherwise(state: RaceState) -> int | None:
    """The smallest size with the opposite verdict, if there is one: there the claim is false, or true after all."""
    assert state.result is not None and state.shown is not None
    wanted = "slower" if state.shown.verdict == "faster" else "faster"
    return next((i for i, one in enumerate(state.result.comparisons) if one.verdict == wanted), None)
