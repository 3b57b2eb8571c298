"""What the tip browser shows, from states that are made by hand."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from tests.cli.made_up import RESULT, TIP
from tests.views.twin import collisions
from tests.widgets.pages import check
from tinygrad_edu.tips import TipError, find, search
from tinygrad_edu.views import tips
from tinygrad_edu.views.frame import NARROW, WIDE, Progress
from tinygrad_edu.views.tips import BrowserState, Visit
from tinygrad_edu.views.tips.bars import bars


def state(**visit: Any) -> BrowserState:
    return BrowserState("made-up", alone=True, visits={"made-up": Visit(**visit)})


DONE = {"draft": "4 kB", "committed": True, "result": RESULT, "answer": "none"}
FAILED = replace(
    RESULT, slow={"allocated": 0, "error": "no", "equal": False, "met": False},
    verdict="could not be compared", reason="A fails: `no`.",
    timing=None, claims=(),
)  # fmt: skip


def test_the_text_before_the_prediction() -> None:
    assert tips.text(TIP, state(draft="none")) == (
        "Tip: made-up\n"
        "How many bytes does detach take?\n"
        "  ◇ none\n"
        "    4 kB\n"
        "A:\n"
        "  def A(x):\n"
        "      return x.clone()\n"
        "B:\n"
        "  def B(x):\n"
        "      return x.detach()\n"
        "The result is not on this page: it is measured after your prediction."
    )


def test_the_text_after_the_run_and_the_explanation() -> None:
    shown = tips.text(TIP, state(**DONE, explained=True, ends={0: replace(RESULT, verdict="no difference")}))
    assert shown.partition("return x.detach()\n")[2] == (
        "with n = 1000, kind = plain: The tip holds here.\n"
        "4.0× B is faster here. Measured: all 3 pairs 4.0–4.0×.\n"
        "It is: none. You said: 4 kB.\n"
        "They are shared.\n"
        "  newly allocated, claimed: B 0 bytes. A 4.00 kB, B 0 bytes: holds\n"
        "  time, claimed: B less. A 4.00 µs (4.00–4.00), B 1.00 µs (1.00–1.00): holds here\n"
        "  equal holds, within 1e−5\n"
        "explain: Why?\n"
        "A tensor over the same buffer costs no bytes.\n"
        "Reading needs no copy: detach shares.\n"
        "with kind = odd: The tip makes no difference here. "
    )


def test_a_saved_tip_lists_its_question_and_its_choices() -> None:
    asked = "Tip: made-up\nHow many bytes does detach take?\n"
    waiting = "The result is not on this page: it is measured after your prediction."
    assert tips.frame(TIP, state()).summary == f"{asked}    none\n    4 kB\n{waiting}"
    assert tips.frame(TIP, state(draft="none")).summary == f"{asked}  ◇ none\n    4 kB\n{waiting}"
    committed = tips.frame(TIP, state(draft="none", committed=True)).summary
    assert committed == f"{asked}  ◇ none\n    4 kB\nRun it to see."


def test_a_search_begins_with_the_tips_that_are_most_about_it() -> None:
    def found(words: str) -> list[str]:
        return [tip.slug for tip in BrowserState("in-place", words=words).shown()]

    slow = found("my loop is slow")
    places = [next((i for i, s in enumerate(find(x).symptoms) if "my loop is slow" in s), 9) for x in slow]
    assert places == sorted(places) and places[0] == 0 < places[-1]  # the main symptom comes first
    assert found("slower after a transpose")[0] == "contiguous-access"
    assert found("") == [tip.slug for tip in search()]
    assert sorted(slow) == sorted(tip.slug for tip in search("my loop is slow"))  # none is lost


def test_who_was_right_is_not_refuted_less() -> None:
    """The tempting answer is refuted also for those who did not fall for it: they may have guessed."""
    shown = tips.text(TIP, state(**{**DONE, "draft": "none"}))
    assert "They are shared." in shown
    html = tips.frame(TIP, state(**{**DONE, "draft": "none"})).html()
    assert "It is: <b>none</b>. You said the same." in html


@pytest.mark.parametrize("visit", [{}, {"draft": "none", "committed": True}])
def test_what_is_held_back_is_nowhere(visit: dict[str, Any]) -> None:
    frame = tips.frame(TIP, state(**visit))
    for shown in (frame.html(), frame.html(live=False), frame.svg(), frame.text, frame.summary, frame.page()):
        for secret in ("They are shared", "no bytes", "Adding zero", "odd numbers", "Reading needs", "clone only when"):
            assert secret not in shown


def test_the_steps_are_marked_as_far_as_they_are_gone() -> None:
    def states(**visit: Any) -> str:
        html = tips.frame(TIP, state(**visit)).html()
        return " ".join(re.findall(r'edu-step (\w+)(?: hand)?"[^>]*><div class="edu-line"><h4>', html))

    assert states() == "now later later later later"
    assert states(draft="none", committed=True) == "done now later later later"
    assert states(**DONE) == "done done done now now"
    assert states(**DONE, explained=True, ends={0: RESULT}) == "done done done done done"


def test_the_state_of_a_visit_in_a_word() -> None:
    assert Visit().state == "not yet"
    assert Visit(draft="none").state == "not yet"
    assert Visit(draft="none", committed=True).state == "predicted"
    assert Visit(**DONE).state == "run"
    assert Visit(**DONE, explained=True).state == "explained"


def test_bars_begin_at_zero_and_say_their_numbers() -> None:
    figure = bars(RESULT, NARROW)
    assert figure.canvas.text_items == [
        "newly allocated", "claimed: B 0 bytes", "A", "4.00 kB", "B", "0 bytes",
        "time", "claimed: B less", "A", "4.00 µs (4.00–4.00)", "B", "1.00 µs (1.00–1.00)",
    ]  # fmt: skip
    assert figure.description == "newly allocated: A 4.00 kB, B 0 bytes. time: B is faster than A: 4.0× (4.0–4.0)."
    widths = re.findall(
        r'class="(mark-a|result)" x="191(?:\.0)?" y="[\d.]+" width="([\d.]+)"', "".join(figure.canvas.items)
    )
    (a_bytes, a_time, b_time) = [float(width) for _, width in widths]
    assert a_bytes == a_time == pytest.approx(4 * b_time)
    assert [mark for mark, _ in widths] == ["mark-a", "mark-a", "result"]  # nothing is no bar


@pytest.mark.parametrize("width", [WIDE, NARROW])
@pytest.mark.parametrize("visit", [{}, DONE])
def test_no_text_of_the_picture_runs_into_another(visit: dict[str, Any], width: int) -> None:
    assert collisions(tips.draw(TIP, Visit(**visit), width)) == []


def test_a_way_that_fails_has_no_bars() -> None:
    html = tips.frame(TIP, state(**{**DONE, "result": FAILED})).html()
    assert (
        "A fails: <code>no</code>." in html and "The two could not be compared." in html and "does not hold" not in html
    )
    for width in (WIDE, NARROW):
        figure = tips.draw(TIP, Visit(**{**DONE, "result": FAILED}), width)
        assert figure.canvas.text_items[-2:] == ["The two could not be compared.", "▲ A fails: no."]
        assert figure.description == "The two could not be compared. A fails: no."
    assert 'class="mark-a"' not in html and 'class="result"' not in html


def test_progress_has_its_place_under_run() -> None:
    html = tips.frame(TIP, state(draft="none", committed=True), Progress(3, 60, 2.0)).html()
    assert "3 of 60, about 2.00 s left" in html
    page = check(html, live=True)
    run = next(e for e in page.elements if e.attributes.get("data-act") == "run")
    assert "disabled" in run.attributes


def test_a_setting_that_changed_makes_the_old_result_say_what_it_is_for() -> None:
    html = tips.frame(TIP, state(**DONE, setting={"n": 4096})).html()
    assert "The result below is for <code>n</code> = 1000, <code>kind</code> = plain." in html


def test_a_prediction_that_is_no_choice_is_refused() -> None:
    with pytest.raises(TipError, match="take one of none, 4 kB"):
        tips.draft(TIP, state(), "all")


def test_edited_code_is_shown_as_edited() -> None:
    frame = tips.frame(TIP, state(code={"slow": "def A(x):\n    return x"}))
    assert "A, edited:\n  def A(x):\n      return x" in frame.text
    assert "<b>A</b>, edited" in frame.html()
    assert '<textarea data-act="code:fast"' in tips.frame(TIP, state(editing=True)).html()


def test_the_guide_s_slip_and_the_other_frameworks_are_folded_below() -> None:
    """Once the tip is explained: before, they would explain it."""
    assert "Where the guide slips" not in tips.frame(TIP, state(**DONE)).html()
    html = tips.frame(TIP, state(**DONE, explained=True)).html().replace("<wbr>", "")
    assert "torch-rs optimisation guide, Memory: clone only when you must." in html
    assert "Adding zero copies <b>too</b>." in html
    assert "y = x.detach()" in html
    assert html.count("<details") == 5  # the small array, three, and the text
