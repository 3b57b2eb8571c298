"""Tips on the command line: exact text for a made-up tip, and every real tip through every action."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.cli.made_up import CONDITIONS, RESULT, TIP
from tests.support import ROOT, teaches
from tests.tips import made_up as made_up_tip
from tinygrad_edu.cli import listing
from tinygrad_edu.cli import tips as cli_tips
from tinygrad_edu.cli.listing import guide_of, list_tips
from tinygrad_edu.cli.terminal import Progress, Terminal
from tinygrad_edu.cli.tips import (
    arguments,
    check_tips,
    checked,
    explain,
    outcome,
    parse_size,
    run_tip,
)
from tinygrad_edu.tips import GUIDES, THEMES, Judged, Tip, TipError, all_tips, check, run
from tools import tip_index

REAL = all_tips()
OTHER = replace(TIP, slug="other-one", title="Another", sources=TIP.sources * 2, symptoms=("my loop is slow",))


@pytest.fixture
def progress() -> Iterator[Progress]:
    yield Progress(sys.stderr)


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The made-up tip and its like are the only ones there are."""
    tips = {tip.slug: tip for tip in (TIP, OTHER)}
    monkeypatch.setattr(listing, "entries", lambda: [cli_tips.in_short(tip) for tip in tips.values()])
    monkeypatch.setattr(cli_tips, "find", tips.__getitem__)
    monkeypatch.setattr(cli_tips, "all_tips", lambda: tuple(tips.values()))


# list ---------------------------------------------------------------------------------------------------------------


def test_the_list(made_up: None) -> None:
    assert (
        list_tips(Terminal(80), "", "", "", as_json=False)
        == """\
Arrays: views, copies, layout (arrays)
  made-up    R  Alias what is only read
  other-one  R  Another

2 tips. From R torch-rs optimisation guide.
Read one:
  tinygrad-edu tips explain SLUG"""
    )


def test_the_list_as_json(made_up: None) -> None:
    found = json.loads(list_tips(Terminal(), "", "", "", as_json=True))
    first, second = found["tips"]
    assert found["schema"] == 1
    assert first == {
        "slug": "made-up",
        "title": "Alias what is only read",
        "theme": "arrays",
        "guides": ["R"],
        "why": "A tensor over **the same buffer** costs no bytes.",
        "symptoms": ["out of memory", "my copies are slow"],
    }
    assert second["slug"] == "other-one"


def test_nothing_fits_and_near_symptoms_are_named(made_up: None, monkeypatch: pytest.MonkeyPatch) -> None:
    assert list_tips(Terminal(), "", "", "out of memry", as_json=False).split("\n")[:2] == [
        "No tip fits. The known symptoms are:",
        "  out of memory",
    ]
    everything = list_tips(Terminal(), "", "", "zzz", as_json=False)
    assert everything.endswith("\n  my copies are slow\n  my loop is slow\n  out of memory")
    assert list_tips(Terminal(), "compute", "", "", as_json=False) == "No tip fits."
    assert json.loads(list_tips(Terminal(), "", "", "zzz", as_json=True)) == {"schema": 1, "tips": []}


@pytest.mark.parametrize("letter", GUIDES)
def test_a_guide_is_named_by_its_letter_or_its_title(letter: str) -> None:
    assert guide_of(letter) == guide_of(letter.lower()) == guide_of(GUIDES[letter]) == letter


def test_parts_of_titles() -> None:
    assert guide_of("mygrad") == "G"
    assert guide_of("") == ""


@pytest.mark.parametrize(
    ("given", "why"),
    [("performance", "it fits several guides"), ("numpy", "it is not the letter of a guide, nor part of its title")],
)
def test_guides_that_are_not_clear(given: str, why: str) -> None:
    mend = "use one of: " + ", ".join(f"{letter} ({title})" for letter, title in GUIDES.items())
    with teaches(TipError, f"tips from the guide {given!r}", why, mend):
        list_tips(Terminal(), "", given, "", as_json=False)


def test_filters() -> None:
    everything = [tip["slug"] for tip in json.loads(list_tips(Terminal(), "", "", "", as_json=True))["tips"]]
    assert everything == [tip.slug for tip in REAL]
    found = json.loads(list_tips(Terminal(), "ARRAYS", "mygrad", "", as_json=True))["tips"]
    assert [tip["slug"] for tip in found] == [t.slug for t in REAL if t.theme == "arrays" and "G" in t.guides]
    assert 0 < len(found) < len(everything)


def test_a_misspelt_theme() -> None:
    mend = f"did you mean arrays? they are {', '.join(THEMES)}"
    with teaches(TipError, "the theme 'aray'", "there is no theme with that name", mend):
        list_tips(Terminal(), "aray", "", "", as_json=False)


def test_the_index_is_that_of_the_tips() -> None:
    assert listing.INDEX.read_text(encoding="utf-8") == tip_index.index(), "run tools/tip_index.py"


def test_the_list_loads_no_tip() -> None:
    program = (
        "import sys; from tinygrad_edu.cli.main import main; main(['tips', 'list']); "
        "assert not any(name.startswith('tinygrad_edu.tips') for name in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert "no-grad" in done.stdout


def listed(**environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tinygrad_edu", "tips", "list"]
    environment = {**os.environ, "PYTHONPROFILEIMPORTTIME": "1", **environment}
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True, env=environment)


def test_the_command_that_lists_loads_no_engine() -> None:
    done = listed()
    assert "no-grad" in done.stdout
    assert "tinygrad_edu.cli.listing" in done.stderr
    assert not re.search(r"\bnumpy\b|tinygrad_edu\.(?:core|tensor|tips)\b", done.stderr)


def test_with_tips_of_another_package_it_does(tmp_path: Path) -> None:
    home = made_up_tip.course(tmp_path)
    source = Path(made_up_tip.__file__).read_text(encoding="utf-8").replace('"made-up"', '"of-the-course"')
    (home / "any_name.py").write_text(source, encoding="utf-8")
    done = listed(PYTHONPATH=os.pathsep.join([str(tmp_path), str(ROOT), str(ROOT / "widgets")]))
    assert "of-the-course" in done.stdout and "no-grad" in done.stdout


# explain ------------------------------------------------------------------------------------------------------------


def test_an_explanation(made_up: None) -> None:
    assert (
        explain(Terminal(80), "made-up", as_json=False)
        == """\
Alias what is only read
A tensor over the same buffer costs no bytes.

Reading needs no copy: detach shares.

Predict
  How many bytes does detach take?
  - none
  - 4 kB

A, what people write
  def slow(x):
      return x.clone()

B, what the tip proposes
  def fast(x):
      return x.detach()

The guides say
  torch-rs optimisation guide, Memory: clone only when you must.

A slip in the torch-rs optimisation guide
  def guide(x):
      return x + 0
  Adding zero copies too.

What they are given
  def inputs(generator, n, kind):
      return {"x": tg.ones(n)}

Settings
  --size n=1000      1 to 4096     how many numbers
  --size kind=plain  plain or odd  which numbers
  --device cpu       cpu           where the tensors live

Where it fails
  --size kind=odd  no difference  With odd numbers clone is free.

Helps when you say
  out of memory
  my copies are slow

In PyTorch 2.13, as of 2026-11
  y = x.detach()

Try it:
  tinygrad-edu tips run made-up"""
    )


def test_an_explanation_as_json(made_up: None) -> None:
    data = json.loads(explain(Terminal(), "made-up", as_json=True))
    assert data["parameters"] == [
        {"name": "n", "default": 1000, "low": 1, "high": 4096, "words": "how many numbers"},
        {"name": "kind", "default": "plain", "options": ["plain", "odd"], "words": "which numbers"},
        {"name": "device", "default": "cpu", "options": ["cpu"], "words": "where the tensors live"},
    ]
    assert data["slow"] == "def slow(x):\n    return x.clone()"
    assert data["slips"] == [
        {"guide": "R", "code": "def guide(x):\n    return x + 0", "words": "Adding zero copies **too**."}
    ]
    assert data["inputs"].startswith("def inputs(generator, n, kind):")
    assert (data["schema"], data["also"], data["figures"]) == (1, [], [])
    assert data["limits"] == [
        {"setting": {"kind": "odd"}, "verdict": "no difference", "words": "With odd numbers `clone` is free."}
    ]
    assert data["question"]["refutation"] == "They are shared."
    assert data["widget"] == "BufferMap"


def test_a_misspelt_slug() -> None:
    with pytest.raises(TipError, match=f"did you mean {REAL[0].slug}"):
        explain(Terminal(), REAL[0].slug[:-1], as_json=False)


# run ----------------------------------------------------------------------------------------------------------------


def test_an_outcome() -> None:
    assert (
        outcome(Terminal(80), TIP, RESULT)
        == f"""\
Alias what is only read
made-up with n=1000, kind=plain, device=cpu

  verdict                    A                    B  about
  holds                4.00 kB              0 bytes  newly allocated
  holds    4.00 µs (4.00–4.00)  1.00 µs (1.00–1.00)  time: B is faster than A:
                                                     4.0× (4.0–4.0)

Verdict: holds

A tensor over the same buffer costs no bytes.

How many bytes does detach take?
  Here: none.
  Not “4 kB”: They are shared.

A slip in the torch-rs optimisation guide: Adding zero copies too. Counted here:
the right numbers yes.

Where it fails
  --size kind=odd  no difference  With odd numbers clone is free.

{Terminal(80).prose(f"Measured on {CONDITIONS.text()}")}
A and B in full:
  tinygrad-edu tips explain made-up"""
    )


def test_an_outcome_that_is_false_and_without_the_clock() -> None:
    claims = (RESULT.claims[0], Judged(TIP.claims[1], "no difference", "time: not taken"))
    result = replace(RESULT, timing=None, verdict="false here", reason="B copies `x`.", claims=claims)
    said = outcome(Terminal(80, colour=True, encoding="ascii"), TIP, result)
    assert "Verdict: \x1b[1;31mfalse here\x1b[0m\n  B copies x.\n" in said
    assert "no difference" + " " * 20 + "time: not taken" in said
    assert "Measured on" not in said
    assert said.isascii()


def test_an_outcome_of_a_way_that_fails_compares_nothing() -> None:
    failed = {"allocated": 0, "error": "no", "line": "line 2", "equal": False, "met": False}
    result = replace(
        RESULT, slow=failed, claims=(), timing=None, verdict="could not be compared", reason="A fails in line 2: no"
    )
    said = outcome(Terminal(80), TIP, result)
    assert "Verdict: could not be compared\n  A fails in line 2: no\n\nWhere it fails" in said
    assert "Here: " not in said and "newly allocated" not in said and "false here" not in said


def test_a_right_guess_is_not_refuted() -> None:
    right = replace(TIP, question=replace(TIP.question, answer=lambda result: "4 kB"))
    assert "\n  Here: 4 kB.\n\n" in outcome(Terminal(80), right, RESULT)


def test_a_setting_can_be_typed_as_it_is_shown() -> None:
    assert arguments({}) == ""
    setting = {"n": 8, "then": "add each row up", "device": "cpu"}
    assert arguments(setting) == "--size n=8 --size 'then=add each row up' --device cpu"


def test_sizes(made_up: None) -> None:
    assert parse_size(TIP, "n=12") == ("n", "12")
    assert parse_size(TIP, "kind=a=b") == ("kind", "a=b")
    with teaches(TipError, "--size 12", "a size has a name", "write: --size n=12"):
        parse_size(TIP, "12")
    with teaches(TipError, "--size kin=odd", "made-up has no parameter 'kin'", "did you mean kind=odd?"):
        parse_size(TIP, "kin=odd")


@pytest.mark.parametrize("given", ["m=3", "n=0", "n=much"])
def test_sizes_that_cannot_be(made_up: None, progress: Progress, given: str) -> None:
    with pytest.raises(TipError):
        run_tip(Terminal(), progress, "made-up", [given], None, as_json=True)


def test_a_device_that_is_not_there(made_up: None, progress: Progress) -> None:
    with teaches(TipError, "device=moon", "it is where the tensors live", "use one of: cpu"):
        run_tip(Terminal(), progress, "made-up", [], "moon", as_json=True)


def test_the_setting_reaches_the_run(made_up: None, progress: Progress) -> None:
    data = json.loads(run_tip(Terminal(), progress, "made-up", ["n=64", "kind=odd"], "cpu", as_json=True))
    assert data["setting"] == {"n": 64, "kind": "odd", "device": "cpu"}
    assert (data["slow"]["allocated"], data["fast"]["allocated"]) == (256, 0)
    assert data["verdict"] == "holds"
    assert data["guides"][0]["allocated"] == 256
    assert data["timing"]["verdict"] in ("faster", "slower", "no difference")
    assert data["timing"]["conditions"]["cpu"]


@pytest.mark.drawn(1 / 3)
@pytest.mark.parametrize("tip", REAL, ids=lambda tip: tip.slug)
def test_every_tip_can_be_shown(tip: Tip) -> None:
    for setting in ({}, *(limit.setting for limit in tip.limits)):
        result = run(tip, setting, clock=False)
        assert f"Verdict: {result.verdict}" in outcome(Terminal(40), tip, result)
        assert json.loads(Terminal().json(result.to_dict()))["verdict"] == result.verdict
    assert tip.title in explain(Terminal(120), tip.slug, as_json=False)
    assert set(json.loads(explain(Terminal(), tip.slug, as_json=True))) == {
        "schema", "slug", "title", "theme", "guides", "why", "symptoms", "about", "sources", "question", "parameters",
        "inputs", "slow", "fast", "also", "limits", "slips", "figures", "elsewhere", "widget",
    }  # fmt: skip


# check --------------------------------------------------------------------------------------------------------------


def test_checks_that_pass_and_fail() -> None:
    found = [
        check(TIP),
        replace(check(TIP), slug="other-one", faults=("by default the verdict is false here: B copies.",)),
    ]
    assert "with {'kind': 'odd'} the verdict is holds, not no difference" in found[0].faults
    passed = replace(found[0], faults=())
    assert checked(Terminal(60), [passed, found[1]]) == (
        "● made-up: holds, with 1 limit\n"
        "▲ other-one: FAILED\n"
        "    by default the verdict is false here: B copies.\n"
        "1 of 2 failed: other-one"
    )
    assert checked(Terminal(60, encoding="ascii"), [passed]) == "* made-up: holds, with 1 limit\n1 of 1 hold"


def test_a_failed_claim_is_the_exit_status(made_up: None, progress: Progress) -> None:
    text, status = check_tips(Terminal(), progress, ["made-up"], as_json=True)
    assert status == 1
    found = json.loads(text)
    assert (found["schema"], found["passed"], len(found["tips"])) == (1, False, 1)
    (tip,) = found["tips"]
    assert "with {'kind': 'odd'} the verdict is holds, not no difference" in tip.pop("faults")
    assert tip == {
        "slug": "made-up",
        "passed": False,
        "verdict": "holds",
        "limits": [{"setting": {"n": 1000, "kind": "odd", "device": "cpu"}, "verdict": "holds"}],
    }


def test_all_are_checked_when_none_is_named(made_up: None, progress: Progress, monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[Any] = []

    def keep(tip: Tip) -> Any:
        held.append(tip.slug)
        return replace(check(tip), slug=tip.slug, faults=())

    monkeypatch.setattr(cli_tips, "check", keep)
    text, status = check_tips(Terminal(), progress, [], as_json=False)
    assert (held, status) == (["made-up", "other-one"], 0)
    assert text.endswith("2 of 2 hold")
