"""A report of `tips.advise` as plain data, and which of its tips is in front."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ...common.wording import shown
from ...errors import IndexRangeError
from ...tips.advice import Report
from ..given import refusal


@dataclass(frozen=True)
class Found:
    """A tip that applies: where, what was found there, the share of the run that it took, and what it cost, in words.

    ``known`` is "measured", "simulated", or "" where no time was found. ``again`` is what running the program without
    the habit has shown. ``setting`` opens the tip at the program's sizes.
    """

    slug: str
    title: str
    line: str
    told: str
    share: float
    known: str
    cost: str
    again: str = ""
    setting: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class AdviceState:
    """What a run has shown, and the place of the tip in front."""

    found: tuple[Found, ...]
    watched: int  # operations
    seconds: float
    at: int = 0
    ask: str = ""

    @property
    def front(self) -> Found | None:
        """The tip in front; None where none applies."""
        return self.found[self.at] if self.found else None


def read(report: Any, ask: str = "") -> AdviceState:
    """The state of a report. Raises `ArgumentError` for anything else, or while its block goes on."""
    if not isinstance(report, Report):
        mend = "write: with tips.advise() as report: …, and then AdviceReport(report)"
        raise refusal("AdviceReport", "report", report, "it shows what tips.advise() has found", mend)
    found = tuple(
        Found(
            one.slug, one.title, one.line, one.sign.told, one.share,
            ("simulated" if one.sign.virtual else "measured") if one.sign.seconds else "", one.cost,
            one.again.words if one.again is not None else "", dict(one.sign.setting),
        )
        for one in report
    )  # fmt: skip
    return AdviceState(found, report.watched, report.seconds, ask=ask)


def choose(state: AdviceState, place: Any) -> AdviceState:
    """Another tip in front. Raises `IndexRangeError` for a place where there is none."""
    if isinstance(place, bool) or not isinstance(place, int) or not 0 <= place < len(state.found):
        mend = f"give a place from 0 to {len(state.found) - 1}" if state.found else "no tip applies"
        raise IndexRangeError(f"the tip at {shown(place, 40)}", f"{len(state.found)} apply", mend)
    return replace(state, at=place)
