"""What holds for every tip, by counts alone: a new file in ``tips/<theme>/`` is tested without a line here."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tinygrad_edu import Generator, Tensor, tips
from tinygrad_edu.inputs.trees import tensors_in
from tinygrad_edu.tips import Choice, Result, Tip, source_of
from tinygrad_edu.tips.facts import TIME
from tinygrad_edu.tips.runner import Checked, agree
from tinygrad_edu.tips.tip import GUIDES, HOLDS, THEMES
from tinygrad_edu.views.tips.examples import EXAMPLES

FOLDER = Path(tips.__file__).parent
LARGEST = 100_000_000  # bytes of one call at the defaults
every_tip = pytest.mark.parametrize("tip", tips.all_tips(), ids=lambda tip: tip.slug)


@cache
def checked(slug: str) -> Checked:
    return tips.check(tips.find(slug))


def file_of(tip: Tip) -> Path:
    return FOLDER / tip.theme / f"{tip.slug.replace('-', '_')}.py"


def given(tip: Tip) -> dict[str, Any]:
    """The inputs at the defaults."""
    own = {parameter.name: parameter.default for parameter in tip.parameters}
    return tip.inputs(Generator().manual_seed(0), **own)


# What is claimed -------------------------------------------------------------------------------------------------


@every_tip
def test_it_is_as_it_says(tip: Tip) -> None:
    found = checked(tip.slug)
    assert found.faults == ()
    assert found.passed
    assert (found.result.verdict, found.result.reason, found.result.equal) == (HOLDS, "", True)
    assert {judged.verdict for judged in found.result.claims if judged.claim.counted} == {HOLDS}


@every_tip
def test_each_limit_ends_it_for_the_reason_it_gives(tip: Tip) -> None:
    for limit, found in zip(tip.limits, checked(tip.slug).limits, strict=True):
        assert found.verdict == limit.verdict != HOLDS
        assert limit.words in found.reason


@every_tip
def test_two_runs_count_the_same(tip: Tip) -> None:
    first, second = checked(tip.slug).result, tips.run(tip, clock=False)
    assert first.to_dict() == second.to_dict()


@every_tip
def test_the_answer_is_a_choice_and_not_the_tempting_one(tip: Tip) -> None:
    answer = tip.question.answer(checked(tip.slug).result)
    assert answer in tip.question.choices
    assert answer != tip.question.tempting
    assert len(set(tip.question.choices)) == len(tip.question.choices) >= 2


@every_tip
def test_the_answer_comes_from_the_result(tip: Tip) -> None:
    """Where the fast way needs what the slow one needs, something else is right."""
    found = checked(tip.slug).result
    answers = {tip.question.answer(one) for one in (found, *checked(tip.slug).limits, *swapped(found))}
    assert answers <= set(tip.question.choices)
    assert len(answers) > 1, f"whatever comes out, the answer is {answers}"


def swapped(result: Result) -> list[Result]:
    """The result with what was counted in other places."""
    slow, fast, guide = result.slow, result.fast, result.guide or {}
    rest = {name: getattr(result, name) for name in ("slug", "setting", "equal", "claims", "verdict", "reason")}
    mirrored = {key: not value if isinstance(value, bool) else value for key, value in guide.items()}
    return [
        Result(slow=a, fast=b, guide=mirrored or None, timing=None, **rest)
        for a, b in ((fast, slow), (fast, fast), (slow, slow))
    ]


# What runs -------------------------------------------------------------------------------------------------------


@every_tip
def test_inputs_are_the_arguments_by_name(tip: Tip) -> None:
    assert list(given(tip)) == list(inspect.signature(tip.slow).parameters)


@every_tip
def test_inputs_are_the_same_each_time(tip: Tip) -> None:
    for one, other in zip(given(tip).values(), given(tip).values(), strict=True):
        assert callable(one) or agree(one, other, 0.0)


@every_tip
def test_it_is_small_enough_for_any_machine(tip: Tip) -> None:
    inputs = sum(t.nbytes for t in tensors_in(list(given(tip).values())))
    result = checked(tip.slug).result
    ways = [way for way in (result.slow, result.fast, result.guide) if way is not None]
    assert inputs + max(way["peak"] for way in ways) <= LARGEST


def extremes(tip: Tip) -> list[tuple[str, Any]]:
    return [
        (parameter.name, value)
        for parameter in tip.parameters
        for value in (parameter.options if isinstance(parameter, Choice) else (parameter.low, parameter.high))
        if value != parameter.default
    ]


@pytest.mark.parametrize(
    ("tip", "name", "value"),
    [
        pytest.param(tip, name, value, id=f"{tip.slug}-{name}={value}")
        for tip in tips.all_tips()
        for name, value in extremes(tip)
    ],
)
def test_every_control_runs_to_its_ends(tip: Tip, name: str, value: Any) -> None:
    """Errors come only where a limit says so."""
    found = tips.run(tip, {name: value}, clock=False)
    if not any(limit.setting.items() <= found.setting.items() for limit in tip.limits):
        assert (found.slow["error"], found.fast["error"], found.equal) == ("", "", True)
    assert found.verdict == HOLDS or found.reason


# What is read ----------------------------------------------------------------------------------------------------


@every_tip
def test_the_functions_are_short(tip: Tip) -> None:
    for way in (tip.slow, tip.fast, *((tip.slip.run,) if tip.slip else ())):
        lines = source_of(way).splitlines()
        assert 2 <= len(lines) < 15
        head = next(line for line in lines if not line.startswith("@"))
        assert head == f"def {way.__name__}({', '.join(inspect.signature(way).parameters)}):"
        assert max(map(len, lines)) <= 100
        ast.parse(source_of(way))


@every_tip
def test_the_file_is_short_and_says_what_it_is(tip: Tip) -> None:
    assert 50 <= len(file_of(tip).read_text(encoding="utf-8").splitlines()) <= 100
    module = importlib.import_module(f"tinygrad_edu.tips.{tip.theme}.{tip.slug.replace('-', '_')}")
    assert module.__doc__ == f"{tip.title}."


@every_tip
def test_why_is_one_sentence_with_its_cause_in_bold(tip: Tip) -> None:
    assert len(tip.why.split()) <= 25
    assert re.fullmatch(r"[^.]+\.", re.sub("`[^`]+`", "", tip.why)), "one full stop, at the end"
    assert len(re.findall(r"\*\*[^*]+\*\*", tip.why)) == 1


@every_tip
def test_texts_are_sentences(tip: Tip) -> None:
    texts = [tip.about, tip.question.refutation, *(limit.words for limit in tip.limits)]
    assert [text for text in texts if not text.endswith((".", ".)"))] == []
    assert tip.question.ask.endswith("?")
    assert tip.explain.endswith("?")
    assert 50 <= len(tip.about.split()) <= 130


@every_tip
def test_the_slip_is_told_of_a_guide_that_it_comes_from(tip: Tip) -> None:
    if tip.slip is not None:
        assert tip.slip.guide in tip.guides
        assert tip.slip.shows
        assert tip.slip.words.endswith(".")


@every_tip
def test_elsewhere_is_dated_and_has_a_version(tip: Tip) -> None:
    for elsewhere in tip.elsewhere:
        assert re.fullmatch(r"[A-Z][\w.-]* \d+\.\d+|tch-rs \d+\.\d+", elsewhere.framework)
        assert re.fullmatch(r"20\d\d-(0[1-9]|1[0-2])", elsewhere.date)
        assert elsewhere.code.strip() == elsewhere.code != ""


@every_tip
def test_symptoms_are_as_a_learner_says_them(tip: Tip) -> None:
    assert len(set(tip.symptoms)) == len(tip.symptoms)
    assert [symptom for symptom in tip.symptoms if symptom.endswith(".") or len(symptom) > 60] == []


# What is drawn ---------------------------------------------------------------------------------------------------


@every_tip
def test_the_picture_has_what_its_widget_takes(tip: Tip) -> None:
    example = tip.picture.example()
    ways = {name: example.pop(name) for name in ("slow", "fast") if name in example}
    assert tip.picture.widget in EXAMPLES
    assert all(isinstance(value, Tensor) and value.numel() <= 64 for value in example.values())
    if tip.picture.widget == "TimingRace":
        assert example == ways == {}
        assert any(claim.fact == TIME for claim in tip.claims)
    elif tip.picture.widget == "GraphStepper":
        assert set(ways) == {"slow", "fast"}
        assert agree(ways["slow"](**example), ways["fast"](**example), 1e-5)
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
