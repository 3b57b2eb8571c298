"""A roofline as plain data: what is asked, what was predicted, and the operations with their bounds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ...common.wording import shown
from ...errors import IndexRangeError
from ...observe.roofline import Point, Roofline

HERE = "this machine"
CHOICES = {
    "start": "starting it",
    "bytes": "moving its bytes",
    "arithmetic": "its arithmetic",
    "else": "something else",
}


@dataclass(frozen=True)
class RooflineState:
    """What is asked and predicted and, once that is committed, the result and the operation that is picked.

    ``machine`` is `HERE` or a simulated one. ``asked`` is the machine that the prediction was made for.
    """

    machine: str
    machines: tuple[str, ...]
    ask: str = ""
    draft: str | None = None
    said: str | None = None
    asked: str = ""
    begun: bool = False
    failure: str = ""  # why there is no result
    result: Roofline | None = None
    picked: int = 0

    @property
    def point(self) -> Point | None:
        """The operation that is picked."""
        return None if self.result is None else self.result.points[self.picked]


def answer(state: RooflineState) -> str:
    """The right choice: what bounds the operation that takes most of the time."""
    assert state.result is not None
    return CHOICES[state.result.points[0].bound(state.result.peaks)]


def draft(state: RooflineState, given: Any) -> RooflineState:
    """Choose a prediction. Raises `IndexRangeError` for one that is not offered."""
    if given not in CHOICES.values():
        mend = f"take one of {', '.join(CHOICES.values())}"
        raise IndexRangeError(f"the prediction {shown(given, 40)}", "it is not offered", mend)
    return replace(state, draft=given) if state.said is None else state


def machine(state: RooflineState, given: Any) -> RooflineState:
    """Choose another machine. Raises `IndexRangeError` for one that there is not."""
    if given not in state.machines:
        mend = f"take one of {', '.join(state.machines)}"
        raise IndexRangeError(f"the machine {shown(given, 40)}", "it cannot be chosen here", mend)
    return replace(state, machine=given)


def pick(state: RooflineState, given: Any) -> RooflineState:
    """Pick an operation by its place. Raises `IndexRangeError` where there is none."""
    place = str(given)
    if state.result is None or not place.isdecimal() or int(place) >= len(state.result.points):
        raise IndexRangeError(f"the operation {shown(given, 40)}", "there is no such one", "press one that is drawn")
    return replace(state, picked=int(place))


def finish(state: RooflineState, found: Roofline) -> RooflineState:
    """Show a result."""
    return replace(state, result=found, picked=0, failure="")
