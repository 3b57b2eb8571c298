"""The tips to come: each is in one place only, and says how it will be said."""

from __future__ import annotations

from collections import Counter

import pytest

from tinygrad_edu.tips import THEMES, all_tips
from tinygrad_edu.tips.planned import NEEDS, PLANNED, Planned

THERE = {tip.slug for tip in all_tips()}


def test_every_tip_of_the_guides_is_here_or_to_come() -> None:
    """Seventy-eight were read out of the guides. A tip that is written leaves the list."""
    planned = Counter(row.slug for row in PLANNED)
    assert max(planned.values()) == 1
    assert not THERE & set(planned)
    assert len(THERE) + len(planned) == 78


@pytest.mark.parametrize("row", PLANNED, ids=[row.slug for row in PLANNED])
def test_a_row_says_all_that_there_is_to_say(row: Planned) -> None:
    assert row.theme in THEMES
    assert all((row.a, row.b, row.claim)) and row.a != row.b
    assert not any(part.endswith(".") or "|" in part for part in (row.a, row.b, row.claim))
    assert set(row.needs) <= set(NEEDS) and len(set(row.needs)) == len(row.needs)


def test_every_need_is_somebodys() -> None:
    assert {need for row in PLANNED for need in row.needs} == set(NEEDS)
