"""What is said of a result: the sentence, the one number, the claims and the prediction never contradict each other."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from tests.cli.made_up import RESULT, TIMING, TIP
from tests.views.tips.test_tips import DONE, FAILED, state
from tinygrad_edu.observe.timing import Comparison
from tinygrad_edu.tips import Claim, Judged, Result, find, run
from tinygrad_edu.tips.findings import APART, COUNTS, SAID, disagree, headline, number, verdict_text
from tinygrad_edu.views import tips
from tinygrad_edu.views.tips import Visit
from tinygrad_edu.views.tips.findings import claims, reason_text

CLOCKS = {"faster": 4.0, "no difference": 1.0, "slower": 0.25}
JUDGED = {"faster": "holds", "no difference": "no difference", "slower": "false here"}


def timed(ratio: float) -> Comparison:
    return replace(TIMING, ratios=(ratio,) * 7)


def result(verdict: str, clock: str, **changes: Any) -> Result:
    """The made-up result with another verdict on its counts, and on the clock."""
    judged = (replace(RESULT.claims[0], verdict=verdict), replace(RESULT.claims[1], verdict=JUDGED[clock]))
    return replace(RESULT, verdict=verdict, claims=judged, timing=timed(CLOCKS[clock]), **changes)


@pytest.mark.parametrize("verdict", ["holds", "no difference", "false here"])
@pytest.mark.parametrize("clock", CLOCKS)
def test_counts_and_clock_never_contradict_each_other_without_a_word(verdict: str, clock: str) -> None:
    found = result(verdict, clock)
    agree = JUDGED[clock] == verdict
    assert disagree(found) is not agree
    shown = tips.frame(TIP, state(**{**DONE, "result": found}))
    if agree:
        assert headline(found) == SAID[verdict]
        assert APART not in shown.html() and APART not in shown.text
    else:
        assert headline(found).startswith(COUNTS[verdict] + ",") and "on the clock" in headline(found)
        assert APART in shown.html() and APART in shown.text
    assert headline(found) in shown.html() and headline(found) in shown.text


@pytest.mark.parametrize("clock", CLOCKS)
def test_a_tip_that_claims_no_difference_agrees_with_a_clock_that_finds_none(clock: str) -> None:
    found = result("holds", clock)
    same = replace(found.claims[1], claim=replace(found.claims[1].claim, same=True))
    found = replace(found, claims=(found.claims[0], same))
    assert disagree(found) is (clock != "no difference")
    assert (headline(found) == SAID["holds"]) is (clock == "no difference")
    false = replace(found, verdict="false here")
    assert disagree(false) is (clock != "slower"), "if a count says false, B is expected to take longer"


@pytest.mark.parametrize(
    ("clock", "big", "words"),
    [
        ("faster", "4.0×", "B is faster here"),
        ("slower", "4.0×", "A is faster here"),
        ("no difference", "1.00×", "No difference in time"),
    ],
)
def test_a_ratio_is_never_below_one_and_says_who_is_faster(clock: str, big: str, words: str) -> None:
    assert number(TIP, result("holds", clock))[0] == big
    said = number(TIP, result("holds", clock))[1]
    assert said.startswith(f"**{words}.** Measured: 95 % interval of this race {big[:-1]}–{big}")


def test_the_number_of_a_tip_that_claims_nothing_about_time_is_its_first_count() -> None:
    counted = replace(RESULT, claims=RESULT.claims[:1])
    assert number(TIP, counted) == ("4.00 kB → 0 bytes", "newly allocated, from A to B.")
    alike = replace(counted, claims=(replace(RESULT.claims[0], fast=4000),))
    assert number(TIP, alike) == ("4.00 kB", "newly allocated, in A and in B.")
    assert headline(replace(counted, timing=timed(0.1))) == SAID["holds"]  # nobody claimed that it takes less time


def test_unequal_numbers_have_no_ratio() -> None:
    unequal = replace(result("false here", "faster"), equal=False, met=False)
    assert number(TIP, unequal)[0] == "A ≠ B" and headline(unequal) == SAID["false here"]
    html = tips.frame(TIP, state(**{**DONE, "result": unequal})).html()
    assert "<b>A ≠ B</b>" in html and "<b>4.0×</b>" not in html and "is faster here" not in html
    assert claims(TIP, unequal)[1:] == (("time", "does not matter"), ("equal", "false here"))


def test_less_than_claimed_is_not_called_nothing() -> None:
    claim = Claim("calls", times=10)
    made = replace(
        RESULT, claims=(Judged(claim, "no difference", "operations: A 5, B 3", 5, 3),), verdict="no difference",
        timing=None,
    )  # fmt: skip
    assert verdict_text(made) == headline(made) == "The difference here is smaller than the tip claims."
    assert claims(TIP, made)[0] == ("operations", "less than claimed")
    same = replace(made, claims=(replace(made.claims[0], slow=3),))
    assert verdict_text(same) == SAID["no difference"] and claims(TIP, same)[0] == ("operations", "no difference")


def test_the_chips_hold_each_claim_once() -> None:
    html = tips.frame(TIP, state(**DONE)).html()
    chips = re.findall(r"<li><b>([^<]+)</b> ([^<]+)</li>", html)
    assert chips == [("newly allocated", "holds"), ("time", "holds here"), ("equal", "holds, within 1e−5")]


@pytest.mark.parametrize(
    ("changes", "about"),
    [({"verdict": "false here", "setting": {**RESULT.setting, "kind": "odd"}}, "the setting first shown"),
     ({}, "the code first shown")],
)  # fmt: skip
def test_an_answer_is_given_only_to_what_was_asked(changes: dict[str, Any], about: str) -> None:
    other = replace(RESULT, **changes)
    ran = {} if changes else {"slow": "def A(x):\n    return x"}
    visit = Visit(draft="4 kB", committed=True, result=other, ran=ran)
    assert not tips.as_asked(visit, other)
    for shown in (tips.frame(TIP, state(draft="4 kB", committed=True, result=other, ran=ran)).html(),
                  tips.text(TIP, state(draft="4 kB", committed=True, result=other, ran=ran))):  # fmt: skip
        assert f"You said: 4 kB. That is about {about}: go back to it and run to see." in shown
        assert "They are shared." not in shown
    later = tips.text(TIP, state(draft="4 kB", committed=True, result=other, ran=ran, answer="none"))
    assert "In the setting that the question is about, it is: none. You said: 4 kB." in later


def folded(**visit: Any) -> dict[str, bool]:
    """Whether each step is only a line."""
    sections = tips.sections(TIP, Visit(**visit), None)
    return {section.heading: not section.blocks for section in sections if section.number}


def test_what_is_done_folds_to_a_line_and_can_be_opened_again() -> None:
    assert folded(**DONE) == {
        "Predict": True, "Run": True, "See": False, "Explain": False, "Try where it fails": True,
    }  # fmt: skip
    explained = {**DONE, "explained": True}
    assert folded(**explained)["See"] and not folded(**explained)["Explain"]
    tried = {**explained, "ends": {0: RESULT}}
    assert folded(**tried)["See"] and folded(**tried)["Explain"] and not folded(**tried)["Try where it fails"]
    assert not folded(**tried, open=3)["See"]
    html = tips.frame(TIP, state(**tried)).html()
    assert "<b>4.0×</b> · The tip holds here." in html and re.search('data-value="3" data-act="open"', html)


def test_where_the_tip_fails_its_explanation_waits() -> None:
    assert folded(**{**DONE, "result": result("false here", "faster")})["Explain"]
    html = tips.frame(TIP, state(**{**DONE, "result": FAILED})).html()
    assert "Once A and B can be compared." in html and 'data-act="explanation"' not in html


def test_the_lines_of_an_error_are_those_that_the_learner_reads() -> None:
    tip = find("in-place")
    found = run(tip, {"gradient": "wanted"}, clock=False)
    rows = tips.way(tip, Visit(), "fast").split("\n")
    raised, overwritten = re.findall(r"in line (\d)", reason_text(tip, found))
    assert rows[int(raised) - 1].strip() == "y.sum().backward()"
    assert rows[int(overwritten) - 1].strip() == "y.relu_()"
    assert ".py" in found.reason and ".py" not in reason_text(tip, found)
    visit = Visit(draft="two", committed=True, result=found)
    shown = tips.frame(tip, tips.BrowserState("in-place", visits={"in-place": visit}))
    for said in (shown.html(), shown.text, shown.svg(), tips.text(tip, tips.BrowserState("in-place"))):
        assert "in_place.py" not in said
    elsewhere = replace(found, reason="at in_place.py, line 3: of neither. at this cell, line 2: y.relu_()")
    assert reason_text(tip, elsewhere) == (
        "at in_place.py, line 3: of neither. in line 2 of the edited code: y.relu_()"
    )


def test_a_tip_that_claims_nothing_about_time_shows_none() -> None:
    counted = replace(RESULT, claims=RESULT.claims[:1])
    shown = tips.frame(TIP, state(**{**DONE, "result": counted}))
    assert (shown.conditions, shown.badge) == ("counted; the tip claims nothing about time", None)
    shown = tips.frame(TIP, state(**DONE))
    assert shown.badge == "measured" and "3 pairs after 1 warm-ups; bars: median, middle half" in shown.conditions


@pytest.mark.parametrize("step", [1, 2, 3, 4, 5])
def test_before_an_audience_one_step_is_shown(step: int) -> None:
    shown = tips.frame(TIP, state(**DONE, open=step), presenting=True)
    assert [s.number for s in shown.sections if s.number] == [step]
    assert shown.lists == shown.finders == ()
    html = shown.html()
    assert 'data-act="next" data-key="ArrowRight"' in html and 'data-act="back" data-key="ArrowLeft"' in html
    assert ("def A(<wbr>x)" in html.partition('class="edu-foot"')[0]) == (step < 3)
