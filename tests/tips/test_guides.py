"""The guides, heading by heading: nothing is left unmapped, and tips and table say the same."""

from __future__ import annotations

from collections import Counter

from tinygrad_edu import tips
from tinygrad_edu.tips.guides import SECTIONS
from tinygrad_edu.tips.tip import GUIDES

TIPS = {tip.slug: tip for tip in tips.all_tips()}
BLOCKS = {"P": 25, "R": 29, "G": 3, "L": 6, "M": 0}  # of code, counted in the guides


def test_every_block_and_every_text_has_a_tip() -> None:
    assert {one.guide for one in SECTIONS} == set(GUIDES)
    assert Counter(one.guide for one in SECTIONS for _ in one.blocks) == Counter({k: n for k, n in BLOCKS.items() if n})
    for one in SECTIONS:
        assert one.bare or one.blocks or one.text, one.heading
        assert not (one.bare and one.blocks), one.heading
        assert all(one.blocks)


def test_tips_name_these_headings() -> None:
    headings = {(one.guide, one.heading) for one in SECTIONS}
    assert {(source.guide, source.section) for tip in TIPS.values() for source in tip.sources} <= headings


def test_the_table_names_tips_of_that_guide() -> None:
    for one in SECTIONS:
        for slug in one.slugs:
            assert one.guide in TIPS[slug].guides, (one.heading, slug)


def test_every_tip_is_in_the_table_of_each_of_its_guides() -> None:
    for tip in TIPS.values():
        for guide in tip.guides:
            assert any(tip.slug in one.slugs for one in SECTIONS if one.guide == guide), (tip.slug, guide)
    assert {slug for one in SECTIONS for slug in one.slugs} == set(TIPS)
    assert len(TIPS) == 78
