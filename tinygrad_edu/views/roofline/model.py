"""A roofline as plain data: what is asked, what was predicted, and the operations with their bounds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ...common.wording import shown
from ...errors import IndexRangeError
from ...observe.roofline import Point, Roofline

HERE = "this machine"
WRITTEN, COMPILED = FORMS = ("as written", "compiled")
CHOICES = {
    "start": "starting it",
    "bytes": "moving its bytes",
    "arithmetic": "its arithmetic",
    "else": "something else",
}


@dataclass(frozen=True)
class RooflineState:
    """What is asked and predicted and, once that is committed, the result and the operation that is picked.

    ``machine`` is `HERE` or a simulated one. ``asked`` is the machine that the prediction was made for. ``form`` is the
    one of `FORMS` that is wanted; ``other`` is the result of the other one on the same machine, where there is one.
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
    form: str = WRITTEN
    other: Roofline | None = None
    ran: str = ""  # the machine of both results
    plain: bool = False  # as written only: the other form is not offered

    @property
    def written(self) -> Roofline | None:
        """The result as written, on the machine that is chosen."""
        here = (one for one in (self.result, self.other) if one is not None and self.ran == self.machine)
        return next((one for one in here if not one.compiled), None)

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


def form(state: RooflineState, given: Any) -> RooflineState:
    """Choose whether it runs as written or compiled. What is known of that form is shown at once.

    Raises `IndexRangeError` for another form.
    """
    offered = FORMS[:1] if state.plain else FORMS
    if given not in offered:
        raise IndexRangeError(
            f"the form {shown(given, 40)}", "there is no such form", f"take one of {', '.join(offered)}"
        )
    state = replace(state, form=given)
    if state.result is None or state.result.compiled == (given == COMPILED) or state.other is None:
        return state
    return replace(state, result=state.other, other=state.result, picked=0)


def finish(state: RooflineState, machine: str, found: Roofline, other: Roofline | None = None) -> RooflineState:
    """Show a result of a machine, and beside it that of the other form, under one roof: what either reached."""
    if other is not None:
        rate = max(found.peaks.rate, other.peaks.rate)
        pairs = zip(found.peaks.bandwidths, other.peaks.bandwidths, strict=True)
        most = tuple(max(pair) for pair in pairs)
        found, other = (replace(one, peaks=replace(one.peaks, rate=rate, bandwidths=most)) for one in (found, other))
    form = COMPILED if found.compiled else WRITTEN
    return replace(state, result=found, other=other, ran=machine, picked=0, failure="", form=form)
