"""The tips as a front door, as plain data: which tip is in front, and how far each one is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ... import cuda
from ...tips import Result, Tip, search, source_of
from ...tips.tip import HOLDS, Answer

WAYS = (("A", "slow"), ("B", "fast"))
ANY = "any"  # device
LETTERS = {name: letter for letter, name in WAYS}


def here(tip: Tip) -> tuple[str, ...]:
    """The devices of a tip that this machine has."""
    return tuple(device for device in tip.devices if device != "cuda" or cuda.is_available())


@dataclass(frozen=True)
class Visit:
    """How far the learner is with one tip."""

    setting: Mapping[str, Any] = field(default_factory=dict)  # what differs from the defaults
    draft: Answer | None = None
    committed: bool = False
    code: Mapping[str, str] = field(default_factory=dict)  # edited copies, by "slow" and "fast"
    editing: bool = False
    result: Result | None = None
    ran: Mapping[str, str] = field(default_factory=dict)  # the edited copies that gave the result
    there: Result | None = None  # of the tip's ways in PyTorch
    explanation: str = ""
    explained: bool = False
    ends: Mapping[int, Result] = field(default_factory=dict)  # the limits that were tried
    answer: Answer | None = None  # to the question, from the first run as it was asked
    open: int = 0  # the step that the learner has opened; 0 for the one that is next

    @property
    def reached(self) -> int:
        """The last step that can be opened."""
        return 1 if not self.committed else 2 if self.result is None else 5

    @property
    def hand(self) -> int:
        """The step in hand: 1 predict, 2 run, 3 see, 4 explain, 5 try where it fails."""
        if self.open:
            return min(self.open, self.reached)
        return min(self.reached, 5 if self.ends else 4 if self.explained else 3)

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
    device: str = ANY
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
        """The tips that the filters leave. Those that are most about the words of the search come first."""
        found = search(self.words, theme=self.theme, source=self.source, symptom=self.symptom)
        left = (tip for tip in found if self.device in (ANY, *tip.devices))
        asked = self.words.lower().strip()
        return tuple(sorted(left, key=lambda tip: _rank(tip, asked))) if asked else tuple(left)


def _rank(tip: Tip, asked: str) -> tuple[int, int]:
    """How far a tip is from a search: its main symptom comes first, and then what its text says most about."""
    place = next((i for i, symptom in enumerate(tip.symptoms) if asked in symptom.lower()), len(tip.symptoms))
    text = f"{tip.slug} {tip.title} {tip.why} {tip.about}".lower()
    return place, -sum(text.count(word) for word in asked.split() if len(word) > 3)


def draft(tip: Tip, state: BrowserState, value: Any) -> BrowserState:
    """A prediction, not committed yet. Raises `TipError` if the question does not take it."""
    return state.with_visit(draft=tip.question.parse(value))


def as_asked(visit: Visit, result: Result) -> bool:
    """Whether a result answers the question: it is about the tip's own code, where the tip holds."""
    return result.verdict == HOLDS and not visit.ran


def way(tip: Tip, visit: Visit, name: str) -> str:
    """The code of ``slow`` or ``fast``, as edited. Its name is A or B, so that it does not tell which is faster."""
    return visit.code.get(name, source_of(getattr(tip, name), LETTERS[name]))
