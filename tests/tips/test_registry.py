"""Finding tips: which files are tips, what is refused, and what a search gives."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support import teaches
from tests.tips import made_up
from tests.tips.made_up import TIP
from tinygrad_edu import tips
from tinygrad_edu.tips import Claim, Limit, Slip, Source, Tip, TipError, registry
from tinygrad_edu.tips.registry import add, faults_of

PLACE = "tinygrad_edu.tips.arrays.made_up"
MEND = "see 'Add a tip' in CONTRIBUTING.md"
COUNTS = (
    "allocated, copied, copies, conversions, tries, peak, calls, nodes, memory, live, kept, locks, stride, held, "
    "shares, changes, threads, processes, moved, launches, virtual, waiting, idle, overlap, device peak, error"
)
OWN = ", ".join(dict.fromkeys(name for tip in tips.all_tips() for name in tip.reads))


# What is refused -------------------------------------------------------------------------------------------------


def test_a_complete_tip_is_entered() -> None:
    found: dict[str, Tip] = {}
    add(found, PLACE, TIP)
    assert found == {"made-up": TIP}
    assert list(faults_of(TIP)) == []


@pytest.mark.parametrize("value", [None, "a tip", Tip])
def test_a_file_without_a_tip(value: Any) -> None:
    mend = "end it with TIP = Tip(…)"
    with teaches(TipError, f"the file of {PLACE}", "it defines no TIP", mend):
        add({}, PLACE, value)


def test_a_slug_is_taken_once() -> None:
    why, mend = "there is already one with that name", "give it another slug"
    with teaches(TipError, "the tip made-up", why, mend):
        add({"made-up": TIP}, PLACE, TIP)


@pytest.mark.parametrize("place", ["arrays.make_up", "compute.made_up", "arrays.made-up"])
def test_a_file_is_called_as_its_tip(place: str) -> None:
    why = f"it is in {place.replace('.', '/')}.py, but belongs in arrays/made_up.py"
    with teaches(TipError, "the tip made-up", why, MEND):
        add({}, f"tinygrad_edu.tips.{place}", TIP)


def test_all_faults_are_told_at_once() -> None:
    bad = replace(TIP, title="", symptoms=())
    with teaches(TipError, "the tip made-up", "title is empty; symptoms is empty", MEND):
        add({}, PLACE, bad)


def other(x: Any, kind: str) -> Any:
    return x


def slow(x: Any, sort: str) -> Any:
    return x


def guide(x: Any) -> Any:
    return x


def only_n(generator: Any, n: int) -> dict[str, Any]:
    return {}


Spoil = Callable[[Tip], Tip]
FAULTS: dict[str, tuple[Spoil, list[str]]] = {
    **{
        name: (lambda tip, name=name: replace(tip, **{name: type(getattr(tip, name))()}), [f"{name} is empty"])
        for name in ("slug", "title", "why", "about", "explain", "sources", "limits", "symptoms")
    },
    "no claim": (
        lambda tip: replace(tip, claims=()),
        ["claims is empty", "no claim is about a count, so nothing would be the same on every machine"],
    ),
    "only time": (
        lambda tip: replace(tip, claims=(Claim("time"),)),
        ["no claim is about a count, so nothing would be the same on every machine"],
    ),
    "an unknown count": (
        lambda tip: replace(tip, claims=(*tip.claims, Claim("flops"))),
        [f"a claim is about 'flops', which is not one of {COUNTS}, time, {OWN}"],
    ),
    "nowhere else": (
        lambda tip: replace(tip, elsewhere=()),
        ["elsewhere is empty", "it does not show how to do the same in PyTorch"],
    ),
    "not in PyTorch": (
        lambda tip: replace(tip, elsewhere=(replace(tip.elsewhere[0], framework="PyTorch3D 0.7"),)),
        ["it does not show how to do the same in PyTorch"],
    ),
    "a framework without a name": (
        lambda tip: replace(tip, elsewhere=(*tip.elsewhere, replace(tip.elsewhere[0], framework=""))),
        [],  # the tests of every tip ask for a version
    ),
    "a long why": (
        lambda tip: replace(tip, why="word " * 26),
        ["why has 26 words, and one sentence of 25 is enough"],
    ),
    "an unknown guide": (
        lambda tip: replace(tip, sources=(Source("Q", "", ""),)),
        ["'Q' is not one of the guides P, R, G, L, M"],
    ),
    "a slip of an unknown guide": (
        lambda tip: replace(tip, slips=(replace(tip.slips[0], guide="p"),)),
        ["'p' is not one of the guides P, R, G, L, M"],
    ),
    "a slip that shows what is not counted": (
        lambda tip: replace(tip, slips=(replace(tip.slips[0], shows={"time": 1, "equal": True}),)),
        [f"the slip shows 'time', which is not one of {COUNTS}, {OWN}, equal"],
    ),
    "other arguments": (
        lambda tip: replace(tip, slow=slow),
        ["fast does not take the arguments of slow: x, sort", "guide 1 does not take the arguments of slow: x, sort"],
    ),
    "other names": (
        lambda tip: replace(tip, slow=other, fast=other),
        ["the function of slow is called other", "the function of fast is called other"],
    ),
    "a guide with other arguments": (
        lambda tip: replace(tip, slips=(Slip("P", guide, {}, ""),)),
        ["guide 1 does not take the arguments of slow: x, kind"],
    ),
    "inputs without a parameter": (
        lambda tip: replace(tip, inputs=only_n),
        ["inputs does not take generator, n, kind"],
    ),
    "a limit that is none": (
        lambda tip: replace(tip, limits=(Limit({"n": 1}, "holds", ""),)),
        ["a limit's verdict is 'holds', which is not one of no difference, false here, could not be compared"],
    ),
    "an unknown theme": (
        lambda tip: replace(tip, theme="array"),
        [f"its theme is 'array', which is not one of {', '.join(tips.THEMES)}"],
    ),
    "no ways in PyTorch without a word": (
        lambda tip: replace(tip, torch=None),
        ["it has no ways in PyTorch, and differs_in_torch does not say why"],
    ),
    "nothing tempting": (
        lambda tip: replace(tip, question=replace(tip.question, tempting="three")),
        ["the tempting answer is not among the choices"],
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_faults(name: str) -> None:
    spoil, faults = FAULTS[name]
    assert list(faults_of(spoil(TIP))) == faults


def test_a_tip_without_a_slip_is_complete() -> None:
    assert list(faults_of(replace(TIP, slips=()))) == []


def test_a_limit_that_cannot_be_set_says_itself_why() -> None:
    mend = "use a whole number from 1 to 1000"
    with teaches(TipError, "n=0", "it is how many numbers", mend):
        list(faults_of(replace(TIP, limits=(Limit({"n": 0}, "false here", ""),))))


# Where files are looked for --------------------------------------------------------------------------------------


def test_an_import_that_fails_inside_a_tip_is_not_taken_for_a_missing_theme(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(name: str) -> Any:
        raise ModuleNotFoundError("No module named 'scipy'", name="scipy")

    monkeypatch.setattr(registry.importlib, "import_module", failing)
    with pytest.raises(ModuleNotFoundError, match="scipy"):
        registry.all_tips.__wrapped__()


def test_themes_come_in_their_order_and_tips_in_that_of_their_files() -> None:
    found = tips.all_tips()
    order = list(tips.THEMES)
    assert list(found) == sorted(found, key=lambda tip: (order.index(tip.theme), tip.slug.replace("-", "_")))


# Tips of other packages -------------------------------------------------------------------------------------------


@pytest.fixture
def course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package that is installed beside this one, and brings tips of its own."""
    home = made_up.course(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in [name for name in sys.modules if name.partition(".")[0] == "my_course"]:
        monkeypatch.delitem(sys.modules, name)
    return home


def test_a_course_brings_its_own_tips(course: Path) -> None:
    source = Path(made_up.__file__).read_text(encoding="utf-8").replace('"made-up"', '"of-the-course"')
    (course / "any_name.py").write_text(source, encoding="utf-8")
    found = registry.all_tips.__wrapped__()
    assert found[:-1] == tips.all_tips()
    assert (found[-1].slug, found[-1].theme) == ("of-the-course", "arrays")
    assert tips.check(found[-1]).faults == ()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("x = 1", "it defines no TIP"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("from tinygrad_edu.tips.arrays.broadcasting import TIP", "there is already one with that name"),
    ],
)
def test_a_faulty_tip_of_another_package_takes_nothing_away(course: Path, text: str, why: str) -> None:
    """Nor from its other tips, whichever file comes first."""
    without = registry.all_tips.__wrapped__()
    for name in ("a_faulty", "z_faulty"):
        (course / f"{name}.py").write_text(text)
    with pytest.warns(UserWarning, match="the tip in my_course.tips.._faulty is left out") as caught:
        assert registry.all_tips.__wrapped__() == without
    assert len(caught) == 2 and all(why in str(one.message) for one in caught)


# Finding ---------------------------------------------------------------------------------------------------------


def test_find() -> None:
    assert [tips.find(tip.slug) for tip in tips.all_tips()] == list(tips.all_tips())


@pytest.mark.parametrize("given", ["brodcasting", "Broadcasting", "broadcast"])
def test_a_misspelt_slug_is_told_the_nearest(given: str) -> None:
    with pytest.raises(TipError) as caught:
        tips.find(given)
    assert caught.value.tried == f"the tip {given!r}"
    assert caught.value.why == "there is no tip with that name"
    assert caught.value.mend.startswith("did you mean broadcasting")


def test_a_name_that_is_near_to_none_is_told_all() -> None:
    mend = f"there are: {', '.join(tip.slug for tip in tips.all_tips())}"
    with teaches(TipError, "the tip 'xyz'", "there is no tip with that name", mend):
        tips.find("xyz")


# Searching -------------------------------------------------------------------------------------------------------


@pytest.fixture
def three(monkeypatch: pytest.MonkeyPatch) -> None:
    found = (
        TIP,
        replace(TIP, slug="second", theme="compute", sources=(Source("R", "", ""), Source("G", "", ""))),
        replace(TIP, slug="third", symptoms=("Out of memory", "my loop is slow"), about="Nothing is moved."),
    )
    monkeypatch.setattr(registry, "all_tips", lambda: found)


def slugs(*words: str, **chosen: str) -> list[str]:
    return [tip.slug for tip in tips.search(*words, **chosen)]


@pytest.mark.usefixtures("three")
def test_search_by_what_is_chosen() -> None:
    assert slugs() == ["made-up", "second", "third"]
    assert slugs(theme="arrays") == ["made-up", "third"]
    assert slugs(source="P") == ["made-up", "third"]
    assert slugs(source="G") == slugs(source="R") == ["second"]
    assert slugs(symptom="out of MEMORY") == ["third"]
    assert slugs(symptom="loop") == ["made-up", "second", "third"]
    assert slugs(theme="compute", source="R", symptom="slow") == ["second"]
    assert slugs(theme="compute", source="P") == []
    assert slugs(theme="precision") == []


@pytest.mark.usefixtures("three")
def test_search_by_words_that_all_stand_somewhere() -> None:
    assert slugs("second") == ["second"]
    assert slugs("NOTHING memory") == ["third"]
    assert slugs("nothing twice") == []
    assert slugs("mygrad") == ["second"]  # the guide's name
    assert slugs("new buffer") == ["made-up", "second", "third"]
    assert slugs("multiply", theme="compute") == ["second"]
    assert slugs("  ") == ["made-up", "second", "third"]


def test_a_theme_or_guide_that_there_is_none_of() -> None:
    mend = "did you mean arrays or autograd or data?"
    with teaches(TipError, "the theme 'array'", "there is no theme with that name", mend):
        tips.search(theme="array")
    mend = "there are: P, R, G, L, M"
    with teaches(TipError, "the guide 'X'", "there is no guide with that name", mend):
        tips.search(source="X")
