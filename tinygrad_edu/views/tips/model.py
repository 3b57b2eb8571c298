"""The tips as a front door, as plain data: which tip is in front, and how far each one is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ...common.wording import shown
from ...errors import ArgumentError
from ...tips import Result, Tip, search, source_of

WAYS = (("A", "slow"), ("B", "fast"))
LETTERS = {name: letter for letter, name in WAYS}


@dataclass(frozen=True)
class Visit:
    """How far the learner is with one tip."""

    setting: Mapping[str, Any] = field(default_factory=dict)  # what differs from the defaults
    draft: str | None = None
    committed: bool = False
    code: Mapping[str, str] = field(default_factory=dict)  # edited copies, by "slow" and "fast"
    editing: bool = False
    result: Result | None = None
    ran: Mapping[str, str] = field(default_factory=dict)  # the edited copies that gave the result
    explanation: str = ""
    explained: bool = False
    ends: Mapping[int, Result] = field(default_factory=dict)  # the limits that were tried

    @property
    def state(self) -> str:
        """The visit in a word, for the list."""
        if self.explained:
            return "explained"
        return "run" if self.result is not None else "predicted" if self.committed else "not yet"


@dataclass(frozen=True)
class BrowserState:
    """The filters, the tip in front, and the visit to each tip."""

    slug: str
    alone: bool = False  # one tip, without the list
    words: str = ""
    theme: str = ""
    source: str = ""
    symptom: str = ""
    visits: Mapping[str, Visit] = field(default_factory=dict)
    message: str = ""

    @property
    def visit(self) -> Visit:
        """The visit to the tip in front."""
        return self.visit_of(self.slug)

    def visit_of(self, slug: str) -> Visit:
        """The visit to a tip."""
        return self.visits.get(slug, Visit())

    def with_visit(self, **changes: Any) -> BrowserState:
        """The state after something was done with the tip in front."""
        return replace(self, visits={**self.visits, self.slug: replace(self.visit, **changes)}, message="")

    def shown(self) -> tuple[Tip, ...]:
        """The tips that the filters leave."""
        return search(self.words, theme=self.theme, source=self.source, symptom=self.symptom)


def draft(tip: Tip, state: BrowserState, value: Any) -> BrowserState:
    """A prediction, not committed yet. Raises `ArgumentError` if it is not one of the choices."""
    if not isinstance(value, str) or value not in tip.question.choices:
        raise ArgumentError(
            f"the prediction {shown(value, 40)}",
            "it is not one of the choices",
            f"take one of {', '.join(tip.question.choices)}",
        )
    return state.with_visit(draft=value)


def way(tip: Tip, visit: Visit, name: str) -> str:
    """The code of ``slow`` or ``fast``, as edited. Its name is A or B, so that it does not tell which is faster."""
    return visit.code.get(name, source_of(getattr(tip, name), LETTERS[name]))
