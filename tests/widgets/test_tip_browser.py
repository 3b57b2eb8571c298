"""The tip browser: nothing is given away, what runs is what is read, and every step can be taken back."""

from __future__ import annotations

import itertools
import json
import math
import random
import statistics
import sys
from typing import Any

import pytest
from tinygrad_edu_widgets import TipBrowser, export_predictions, show_tip
from tinygrad_edu_widgets.tip_browser import FILTERS

from tests.widgets.pages import check
from tinygrad_edu.observe import timing
from tinygrad_edu.tips import THEMES, Size, TipError, all_tips, find, run
from tinygrad_edu.tips.findings import APART, headline, number, verdict_text
from tinygrad_edu.views import tips

SLUGS = [tip.slug for tip in all_tips()]


@pytest.fixture(autouse=True)
def ticking(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock on which every look takes a fifth of a second: the budget is soon spent, and runs are always the same."""
    ticks = itertools.count()
    monkeypatch.setattr(timing, "_clock", lambda: next(ticks) * 0.2)


def predicted(slug: str = "share-storage", **options: Any) -> TipBrowser:
    widget = TipBrowser(slug, **options)
    widget.predict(widget.tip.question.tempting)
    return widget


def finished(slug: str = "share-storage", **options: Any) -> TipBrowser:
    widget = predicted(slug, **options)
    assert widget.run() is not None
    return widget


@pytest.mark.parametrize("slug", SLUGS)
def test_nothing_is_given_away_before_the_prediction(slug: str) -> None:
    widget = TipBrowser(slug)
    tip = widget.tip
    hidden = [tip.title, tip.why, tip.about, tip.question.refutation, *(limit.words for limit in tip.limits)]
    hidden += [slip.words for slip in tip.slips] + [way.words for way in tip.also]
    for shown in (widget.html, widget.svg(), widget.text(), repr(widget), widget.to_html(), json.dumps(widget.data())):
        assert not any(words in shown for words in hidden)
    assert widget.run() is None  # Run is not offered, and does nothing
    assert [e.text for e in check(widget.html, live=True).elements if e.tag == "h4"] == [
        "1Predict", "2Run", "3See", "4Explain", "5Try where it fails",
    ]  # fmt: skip
    assert ("run", None) not in check(widget.html, live=True).acts()
    assert "def slow" not in widget.html and "def fast" not in widget.html


def test_a_number_is_predicted() -> None:
    widget = TipBrowser("preallocate")
    (control,) = [e for e in check(widget.html, live=True).elements if e.attributes.get("data-act") == "draft"]
    assert (control.tag, control.attributes["type"]) == ("input", "number")
    assert "a number from 0 to 20 buffers" in widget.text()
    message = {"act": "draft", "value": "many"}
    widget._handle_custom_msg(message, [])
    assert "it is not a number" in widget.html and widget.data()["predicted"] is None
    widget.predict(3)
    assert "You said: <b>3 buffers</b>." in widget.html and "◇ 3 buffers" in widget.text()
    widget.run()
    assert "It is: 6 buffers. You said: 3 buffers." in widget.text()
    assert widget.tip.question.refutation.replace("`", "") in widget.text()
    assert widget.data()["answer"] == 6.0


@pytest.mark.drawn(1 / 3)
@pytest.mark.parametrize("slug", SLUGS)
def test_the_whole_way_of_every_tip(slug: str) -> None:
    widget = finished(slug)
    tip, result = widget.tip, widget.result
    answer, said = tip.question.answer, tip.question.said
    assert result is not None and result.verdict == "holds"
    assert headline(result) in widget.html
    assert f"It is: {said(answer(result))}. You said: {said(tip.question.tempting)}." in widget.text()
    assert tip.about not in widget.text()
    widget.act("explain")
    assert "Compare" in widget.html
    for place, limit in enumerate(tip.limits):
        widget.act("limit", str(place))
        assert widget.state.visit.ends[place].verdict == limit.verdict
        assert f": {verdict_text(widget.state.visit.ends[place])} " in widget.text()
    check(widget.html, live=True)
    assert check(widget.to_html().removeprefix("<!doctype html>"), live=False).active() == []
    json.dumps(widget.data())
    assert widget.data()["tips"] == {slug: "explained"}


def test_the_list_shows_all_tips_by_theme_and_how_far_they_are() -> None:
    widget = finished()
    page = check(widget.html, live=True)
    assert [value for act, value in page.acts() if act == "pick"] == SLUGS
    assert THEMES["arrays"] in widget.html
    widget.act("pick", "in-place")
    assert widget.tip.slug == "in-place"
    labels = [e.attributes["aria-label"] for e in check(widget.html, live=True).elements if e.tag == "svg"]
    assert labels.count("run") == 1
    assert labels.count("not yet") == len(SLUGS) - 1
    widget.act("pick", "share-storage")
    assert widget.result is not None  # a tip keeps its state


def test_one_tip_alone_has_no_list() -> None:
    widget = show_tip("in-place")
    assert "<nav" not in widget.html
    assert repr(widget).startswith("Tip: in-place")
    assert "tips:" not in widget.text()
    with pytest.raises(TipError, match="did you mean in-place"):
        show_tip("inplace")


@pytest.mark.parametrize(
    "act, value, slugs",
    [
        ("words", "stride", None),
        ("words", "no such words", []),
        ("theme", "arrays", [tip.slug for tip in all_tips() if tip.theme == "arrays"]),
        ("source", "P", None),
        ("symptom", "out of memory", None),
        ("device", "sim", [tip.slug for tip in all_tips() if "sim" in tip.devices]),
        ("device", "cpu", [tip.slug for tip in all_tips() if "cpu" in tip.devices]),
    ],
)
def test_the_filters(act: str, value: str, slugs: list[str] | None) -> None:
    widget = TipBrowser()
    before = widget.tip.slug
    widget.act(act, value)
    shown = [v for a, v in check(widget.html, live=True).acts() if a == "pick"]
    assert sorted(shown) == sorted(tip.slug for tip in widget.state.shown())  # the list goes by theme
    assert slugs is None or shown == slugs
    assert slugs is not None or 0 < len(shown) < len(SLUGS)
    assert widget.tip.slug == before  # finding something is not yet choosing it
    assert ("No tip fits all of this." in widget.html) == (not shown)
    widget.act(act, "")
    assert len(widget.state.shown()) == len(SLUGS)


def test_a_prediction_is_one_of_the_choices() -> None:
    widget = TipBrowser("share-storage")
    widget.act("commit")
    assert not widget.state.visit.committed
    widget.act("draft", "a lot")
    assert "▲ the prediction 'a lot'" in widget.text()
    assert widget.state.visit.draft is None
    widget.predict("none")
    widget.act("draft", "as many as x has")  # too late
    assert widget.state.visit.draft == "none"


def test_predictions_are_kept_with_what_turned_out() -> None:
    widget = finished()
    assert export_predictions()[-1] == {
        "question": widget.tip.question.ask, "predicted": "as many as x has", "result": "none",
    }  # fmt: skip
    count = len(export_predictions())
    widget.run()
    assert len(export_predictions()) == count  # the second run was no prediction


def test_controls_come_from_the_parameters() -> None:
    widget = predicted()
    tip = widget.tip
    widget.act("set:n", 0)
    assert widget.data()["setting"] == {"n": 16, "use": "only read", "device": "cpu"}
    widget.act("set:n", 999)
    assert widget.data()["setting"]["n"] == 2048
    widget.act("set:use", "write")
    result = widget.run()
    assert result is not None
    assert dict(result.setting) == {"n": 2048, "use": "write", "device": "cpu"}
    assert result.verdict == "false here"
    assert tip.limits[0].words in widget.html
    widget.act("set:use", "only read")
    assert "The result below is for" in widget.html  # the old result is not taken for the new setting's
    widget.run()
    assert "The result below is for" not in widget.html
    with pytest.raises(KeyError):
        widget.act("set:colour", 1)


def test_edited_code_is_what_runs() -> None:
    widget = finished()
    widget.act("edit")
    assert ("code:slow", None) in check(widget.html, live=True).acts()
    widget.act("code:slow", "def A(x, read_only):\n    return x.amax(), x.amax()\n")
    widget.act("edited")
    assert "A, edited" in widget.text()
    result = widget.run()
    assert result is not None
    assert (result.slow["allocated"], result.verdict) == (0, "no difference")
    assert "The result below is for" not in widget.html
    widget.act("restore")
    assert "edited" not in widget.text()
    assert "The result below is for the code as it was." in widget.html
    result = widget.run()
    assert result is not None and result.verdict == "holds"


@pytest.mark.parametrize(
    "source, words",
    [
        ("def A(x, read_only:", "SyntaxError, line 1"),
        ("A = 3", "it defines no function A"),
        ("def B(x, read_only): pass", "it defines no function A"),
        ("raise ValueError('no')", "ValueError: no"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("\0", "SyntaxError: "),
    ],
)
def test_code_that_is_no_function_is_refused_with_a_reason(source: str, words: str) -> None:
    widget = finished()
    widget.act("edit")
    widget.act("code:slow", source)
    for act in ("edited", "run"):
        widget.act(act)
        widget.wait()
        assert "▲ the edited A" in widget.text() and words in widget.text()
        assert not widget.working
    assert widget.state.visit.editing  # and what was typed is not lost
    assert source in widget.text()
    widget.act("restore")
    assert "▲" not in widget.text()


def test_edited_code_that_fails_is_a_verdict_with_its_reason() -> None:
    widget = finished()
    widget.act("code:fast", "def B(x, read_only):\n    return x @ x.reshape(-1, 3)\n")
    result = widget.run()
    assert result is not None and result.verdict == "could not be compared"
    assert result.reason.startswith("B fails in line 2, `return x @ x.reshape(-1, 3)`: reshape(")
    for shown in (widget.html, widget.svg()):
        assert "The two could not be compared." in shown
        assert "does not hold" not in shown and "false here" not in shown and "counted, not timed" not in shown
    assert 'class="mark-a"' not in widget.svg()
    assert check(widget.to_html().removeprefix("<!doctype html>"), live=False)


def test_a_first_run_that_fails_does_not_use_up_the_prediction() -> None:
    widget = predicted()
    widget.act("code:fast", "def B(x, read_only):\n    return undefined\n")
    count = len(export_predictions())
    widget.run()
    assert len(export_predictions()) == count
    widget.act("restore")
    widget.run()
    assert len(export_predictions()) == count + 1


def test_edited_code_that_raises_anything_else_is_told() -> None:
    widget = finished()
    widget.act("code:fast", "def B(x, read_only):\n    return undefined\n")
    widget.run()
    assert widget.result is not None and widget.result.verdict == "could not be compared"
    assert "B fails in line 2, return undefined: NameError: name 'undefined' is not defined" in widget.text()


def test_reset_forgets_this_tip_alone() -> None:
    widget = finished()
    widget.act("pick", "in-place")
    widget.predict(widget.tip.question.tempting)
    widget.act("reset")
    assert widget.state.visit.state == "not yet"
    widget.act("pick", "share-storage")
    assert widget.state.visit.state == "run"
    widget.act("again")
    assert (widget.result, widget.state.visit.committed) == (None, False)


def test_choosing_another_tip_gives_up_the_run() -> None:
    widget = predicted("vectorise-loss")
    widget.act("run")
    work = widget._work
    widget.act("pick", "in-place")
    assert not widget.working
    assert work is not None
    work.join(60)
    assert (widget.state.visits["vectorise-loss"].result, widget.state.visit.result) == (None, None)


def test_the_saved_picture_is_the_same_on_every_machine() -> None:
    assert repr(finished()) == (
        "TipBrowser: share-storage, Share what is only read\n"
        "detach() gives a second tensor that can be used in place of x. How many new bytes does it take?\n"
        "holds"
    )


def test_no_tip_of_that_name() -> None:
    with pytest.raises(TipError, match="share-storage"):
        TipBrowser("share_storage")
    widget = TipBrowser()
    before = widget.state.slug
    widget.act("pick", "sharing")
    assert widget.state.slug == before
    assert "▲ the tip 'sharing'" in widget.text()


def test_limits_are_not_run_before_the_tip() -> None:
    widget = predicted()
    widget.act("limit", "0")
    widget.act("explain")
    assert (widget.state.visit.ends, widget.state.visit.explained) == ({}, False)


def test_find_and_the_browser_know_the_same_tips() -> None:
    assert all(find(slug).slug == slug for slug in SLUGS)


def test_a_prediction_made_for_one_setting_is_not_judged_by_another() -> None:
    widget = predicted("broadcasting")
    widget.act("set:then", "add each row up")
    count = len(export_predictions())
    widget.run()
    assert widget.data()["answer"] is None and len(export_predictions()) == count
    assert "go back to it and run to see" in widget.text() and "It is:" not in widget.text()
    widget.act("set:then", "keep the rows")
    widget.run()
    assert widget.data()["answer"] == "none" and len(export_predictions()) == count + 1
    widget.act("set:then", "add each row up")
    widget.run()
    assert "In the setting that the question is about, it is: none." in widget.text()


def test_before_an_audience_each_press_is_one_step() -> None:
    widget = TipBrowser("share-storage")
    widget.present()
    assert "<nav" not in widget.html
    widget.act("next")
    assert "▲ the next step: there is no prediction yet" in widget.text()
    widget.act("draft", "none")
    hands = []
    for _ in range(7):
        hands.append(widget.state.visit.hand)
        widget.act("next")
        widget.wait()
    assert hands == [1, 2, 3, 4, 4, 5, 5]  # the explanation is revealed by one press, each limit by another
    assert widget.state.visit.explained and list(widget.state.visit.ends) == [0]
    widget.act("next")  # there is nothing more
    for hand in (4, 3, 2, 1, 1):
        widget.act("back")
        assert widget.state.visit.hand == hand
    widget.present(False)
    assert "<nav" in widget.html


def test_a_result_that_failed_can_be_passed_before_an_audience() -> None:
    widget = predicted("in-place")
    widget.present()
    widget.act("set:gradient", "wanted")
    widget.run()
    assert "fails in line 6" in widget.text() and "The two could not be compared." in widget.html
    for hand in (4, 5):
        widget.act("next")
        assert widget.state.visit.hand == hand
    assert not widget.state.visit.explained


# Claims by property --------------------------------------------------------------------------------------------------

ANSWERS = {slug: find(slug).question.answer(run(find(slug), clock=False)) for slug in SLUGS}
CLICKED = ("share-storage", "broadcasting", "in-place", "vectorise", "basic-vs-advanced-indexing")


def click(widget: TipBrowser, chance: random.Random) -> None:
    """Press something that is on the page, or change the code."""
    offered = [(a, v) for a, v in check(widget.html, live=True).acts() if a.partition(":")[0] not in ("pick", *FILTERS)]
    act, value = chance.choice(offered)
    if act.startswith("set:") and value is None:
        sizes = {p.name: p for p in widget.tip.parameters if isinstance(p, Size)}
        value = chance.randrange(len(sizes[act.removeprefix("set:")].stops))
    if act.startswith("code:"):
        letter = "A" if act == "code:slow" else "B"
        head = tips.way(widget.tip, tips.Visit(), act.removeprefix("code:")).split("\n")[0]
        value = f"{head}\n    {chance.choice(['return None', 'return undefined', f'return {letter}'])}"
    widget.act(act, "" if value is None else value)
    widget.wait()


def assert_true(widget: TipBrowser) -> None:
    """Every number and sentence on the screen is that of the result."""
    visit, tip, result = widget.state.visit, widget.tip, widget.result
    page = check(widget.html, live=True)
    shown = " ".join(widget.html.partition('class="edu-foot"')[0].split())
    one = [e for e in page.elements if e.attributes.get("class") == "edu-one"]
    steps = [e for e in page.elements if e.tag == "section" and e.attributes.get("aria-current") == "step"]
    assert len(steps) == 1 and visit.hand <= visit.reached
    if result is None:
        assert not one and tip.question.refutation not in shown and tip.title not in widget.html
        return
    assert ("The result below is for" in shown) == (
        tip.setting(visit.setting) != dict(result.setting) or visit.code != visit.ran
    )
    assert visit.answer in (None, ANSWERS[tip.slug])
    if visit.hand != 3:
        assert not one
        return
    if result.failed:
        assert not one and "The two could not be compared." in shown and " fails" in shown
        assert "<rect" not in shown.partition('class="edu-step done hand"')[2]
        return
    timing = result.timing if result.equal and any(j.claim.fact == "time" for j in result.claims) else None
    big, said = one[0].children[0].text, one[0].children[1].text + "".join(c.text for c in one[0].children[1].children)
    if not result.equal:
        assert big == "A ≠ B"
    elif timing is not None:
        ratio = math.exp(statistics.median(map(math.log, timing.ratios)))
        assert float(big.rstrip("×").replace("\u2009", "")) == pytest.approx(max(ratio, 1 / ratio), rel=0.06)
        assert ("B is faster here" in said) == (timing.verdict == "faster")
        assert ("A is faster here" in said) == (timing.verdict == "slower")
    else:
        assert big == number(widget.tip, result)[0]
    counted = [j.verdict for j in result.claims if j.counted]
    assert result.verdict == ("false here" if "false here" in counted or not result.equal else
                              "no difference" if "no difference" in counted else "holds")  # fmt: skip
    agree = timing is None or (timing.verdict, result.verdict) in (
        ("faster", "holds"), ("no difference", "no difference"), ("slower", "false here"),
    )  # fmt: skip
    assert ("The tip holds here." in shown) == (result.verdict == "holds" and agree)
    assert (APART in shown) == (not agree)
    chips = next(e for e in page.elements if e.attributes.get("class") == "edu-chips").children
    assert len(chips) == len(result.claims) + 1
    assert sum("holds" in chip.text for chip in chips) == (
        sum(j.verdict == "holds" and (result.equal or j.claim.counted) for j in result.claims) + result.equal
    )
    assert ("It is:" in shown) == (visit.answer is not None and result.verdict == "holds" and not visit.ran)


@pytest.mark.drawn(1 / 2)
@pytest.mark.parametrize("slug", CLICKED)
@pytest.mark.parametrize("seed", range(4))
def test_random_clicks_never_contradict_the_result(slug: str, seed: int) -> None:
    chance, widget = random.Random(seed * 100 + CLICKED.index(slug)), predicted(slug)
    seen = set()
    for _ in range(30):
        click(widget, chance)
        assert_true(widget)
        seen.add(widget.state.visit.hand)
    assert len(seen) >= 2


def test_the_same_ways_in_pytorch() -> None:
    pytest.importorskip("torch", reason="needs PyTorch: pip install -e '.[peers]'")
    widget = TipBrowser("broadcasting", alone=True)
    widget.act("torch")  # before there is a result, it does nothing
    assert widget.state.visit.there is None
    widget.predict(widget.tip.question.choices[0])
    widget.run()
    widget.act("torch")
    widget.wait(60)
    assert "In PyTorch, on this machine, the tip holds too." in widget.html
    assert "In PyTorch: operations: A 514, B 1." in widget.text()
    widget.run()
    assert widget.state.visit.there is None  # that was about the run before


def test_without_pytorch_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)  # as if it were not installed
    widget = TipBrowser("broadcasting", alone=True)
    widget.predict(widget.tip.question.choices[0])
    widget.run()
    widget.act("torch")
    widget.wait(60)
    shown = widget.text()
    assert "PyTorch is not installed" in shown
    assert "pip install torch" in shown


def test_a_tip_without_ways_in_pytorch_does_not_offer_them() -> None:
    widget = TipBrowser("memory-guard-cost", alone=True)
    widget.predict(widget.tip.question.choices[0])
    widget.run()
    assert "Also in PyTorch" not in widget.html
