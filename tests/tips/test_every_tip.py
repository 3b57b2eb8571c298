"""What holds for every tip, by counts alone: a new file in ``tips/<theme>/`` is tested without a line here."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from tinygrad_edu import Tensor, tips
from tinygrad_edu.tips import Tip
from tinygrad_edu.tips.checking import Checked
from tinygrad_edu.tips.counting import agree
from tinygrad_edu.tips.facts import TIME
from tinygrad_edu.tips.tip import GUIDES, HOLDS, THEMES
from tinygrad_edu.views.tips.examples import EXAMPLES

FOLDER = Path(tips.__file__).parent
every_tip = pytest.mark.parametrize("tip", tips.all_tips(), ids=lambda tip: tip.slug)


@cache
def checked(slug: str) -> Checked:
    return tips.check(tips.find(slug))


def file_of(tip: Tip) -> Path:
    return FOLDER / tip.theme / f"{tip.slug.replace('-', '_')}.py"


@every_tip
def test_it_is_as_it_says(tip: Tip) -> None:
    """Its words, its code, its claims, its limits, its controls: `tips check` tests them all."""
    found = checked(tip.slug)
    assert found.faults == ()
    assert found.passed
    assert (found.result.verdict, found.result.reason, found.result.met) == (HOLDS, "", True)
    assert {judged.verdict for judged in found.result.claims if judged.counted} <= {HOLDS}


# What is drawn ---------------------------------------------------------------------------------------------------


@every_tip
def test_the_picture_has_what_its_widget_takes(tip: Tip) -> None:
    example = tip.picture.example()
    ways = {name: example.pop(name) for name in ("slow", "fast") if name in example}
    assert tip.picture.widget in EXAMPLES
    assert all(isinstance(value, Tensor) and value.numel() <= 64 for value in example.values())
    if tip.picture.widget in ("TimingRace", "MemoryRiver"):
        assert example == ways == {}
        about = {claim.fact for claim in tip.claims} or {TIME, "peak"}  # or about what is measured itself
        assert about & ({TIME} if tip.picture.widget == "TimingRace" else {"peak"})
    elif tip.picture.widget == "GraphStepper":
        assert set(ways) == {"slow", "fast"}
        assert agree(ways["slow"](**example), ways["fast"](**example), 1e-5)
    elif tip.picture.widget == "QueueTimeline":
        assert example == ways == {} and "sim" in tip.devices
    elif tip.picture.widget == "LoaderGantt":
        assert example == ways == {} and tip.theme == "data"
    elif tip.picture.widget in ("FusionBuilder", "RetraceLedger"):
        assert example == ways == {} and tip.theme == "compilation"
    elif tip.picture.widget == "BroadcastLab":
        assert set(example) == {"a", "b"}
        assert ways == {}
    else:
        assert example
        assert ways == {}


# All of them -----------------------------------------------------------------------------------------------------


def test_every_folder_is_a_theme_and_every_file_a_tip() -> None:
    folders = {path.parent.name for path in FOLDER.glob("*/*.py")}
    assert folders <= set(THEMES)
    files = {path for path in FOLDER.glob("*/*.py") if path.name != "__init__.py"}
    assert files == {file_of(tip) for tip in tips.all_tips()}


def test_slugs_and_titles_are_unique() -> None:
    for names in ([tip.slug for tip in tips.all_tips()], [tip.title for tip in tips.all_tips()]):
        assert len(set(names)) == len(names)


def test_the_arrays_are_complete() -> None:
    assert {tip.slug for tip in tips.search(theme="arrays")} == {
        "share-storage", "views-not-copies", "basic-vs-advanced-indexing", "in-place", "in-place-costs-under-autograd",
        "preallocate", "contiguous-access", "broadcasting", "vectorise", "vectorise-loss",
    }  # fmt: skip


def test_every_guide_and_every_symptom_leads_somewhere() -> None:
    assert all(letter in GUIDES for tip in tips.all_tips() for letter in tip.guides)
    for tip in tips.all_tips():
        for symptom in tip.symptoms:
            assert tip in tips.search(symptom=symptom)
            assert tip in tips.search(symptom)
