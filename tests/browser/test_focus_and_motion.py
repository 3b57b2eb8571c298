"""Where the focus goes, what is read aloud, and what moves: after an act, with and without reduced motion."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect
from tinygrad_edu_widgets import BroadcastLab, BufferMap, GuardLens, PredictGate, TipBrowser
from tinygrad_edu_widgets.base import EduWidget

import tinygrad_edu as tg
from tests.widgets.test_every_widget import race, raced

from .stub import answer, put

pytestmark = pytest.mark.browser


def gate() -> PredictGate:
    made = PredictGate("How many?", lambda: 4, low=0, high=10, unit=" s")
    made.act("draft", 2)
    return made


def lab() -> BroadcastLab:
    made = BroadcastLab()
    made.act("draft", "(3, 4)")
    return made


def tips() -> TipBrowser:
    made = TipBrowser("share-storage", alone=True)
    made.act("draft", "none")
    return made


def started() -> EduWidget:
    made = race()
    made.act("draft", 3)
    return made


COMMITS: list[tuple[Callable[[], EduWidget], str, str]] = [
    (gate, "You predicted 2.00 s. Result: 4.00 s.", ".edu-stage"),
    (lab, "You predicted (3, 4). The gradient of a has the shape (3, 1).", ".edu-stage"),
    (started, "At n = 32, A loop takes", ".edu-stage"),
    (tips, "You said: none. The next step is Run.", "button.main"),
]


@pytest.mark.parametrize(("make", "says", "focused"), COMMITS, ids=["gate", "lab", "race", "tips"])
def test_after_a_commit_the_result_has_the_focus_and_is_read_aloud(
    page: Page, make: Callable[[], EduWidget], says: str, focused: str
) -> None:
    made = make()
    put(page, made)
    commit, status = page.get_by_role("button", name="Commit"), page.locator("[role=status]")
    expect(status).to_have_text("")  # it is there before it has words, or they would not be read
    commit.focus()
    page.keyboard.press("Enter")
    answer(page, made)
    expect(commit).to_have_count(0)
    expect(page.locator(f".edu {focused}").first).to_be_focused()
    expect(status).to_contain_text(says)


def test_a_line_of_the_lens_and_a_verdict_are_read_aloud(page: Page) -> None:
    lens = GuardLens()
    put(page, lens)
    status = page.locator("[role=status]")
    for name, says in (("Line down", "Line 5: y.backward(), a released. Guard on."), ("Line down", "Line 6: a[0]")):
        page.get_by_role("button", name=name).click()
        answer(page, lens)
        expect(status).to_contain_text(says)
    browser = tips()
    browser.act("commit")
    put(page, browser)
    page.get_by_role("button", name="Run", exact=True).click()
    answer(page, browser)
    expect(status).to_contain_text("The tip holds here. It is: none.")


def choices() -> PredictGate:
    return PredictGate("Which?", lambda: "both", choices=["one", "both"])


def number() -> PredictGate:
    return PredictGate("How many?", lambda: 4, low=0, high=10)


@pytest.mark.parametrize(("make", "said"), [(choices, "both"), (number, 7.0)], ids=["choice", "number"])
def test_tab_finds_commit_before_the_kernel_has_answered(
    page: Page, make: Callable[[], PredictGate], said: Any
) -> None:
    made = make()
    put(page, made)
    commit = page.get_by_role("button", name="Commit")
    expect(commit).to_be_disabled()
    if make is choices:
        page.get_by_role("radio", name="one").focus()
        page.keyboard.press("ArrowRight")
    else:
        page.get_by_role("spinbutton").focus()
        page.keyboard.type("7")
    page.keyboard.press("Tab")
    expect(commit).to_be_focused()
    page.keyboard.press("Enter")
    assert [one["act"] for one in page.evaluate("() => window.sent")] == ["draft", "commit"]
    answer(page, made)
    expect(commit).to_have_count(0)
    assert made.committed and made.prediction == said


def test_a_refused_prediction_cannot_be_committed_after_the_answer(page: Page) -> None:
    made = race()
    put(page, made)
    commit = page.get_by_role("button", name="Commit")
    for _ in range(2):  # the second answer shows what the first one did
        page.get_by_role("spinbutton").fill("-3")
        expect(commit).to_be_enabled()
        page.wait_for_timeout(200)
        answer(page, made)
        expect(commit).to_be_disabled()


REFUSED: list[tuple[Callable[[], EduWidget], Callable[[Page], Locator], str, str]] = [
    (BroadcastLab, lambda page: page.get_by_role("textbox", name="shape of a"), "wide", "3, 1"),
    (lambda: BufferMap(x=tg.zeros(2, 3)), lambda page: page.get_by_role("textbox", name="add"), "x +", ""),
    (race, lambda page: page.get_by_role("spinbutton"), "-3", ""),
]


@pytest.mark.parametrize(("make", "find", "entry", "after"), REFUSED, ids=["lab", "map", "race"])
def test_a_refused_entry_keeps_the_focus_near_and_says_why(
    page: Page, make: Callable[[], EduWidget], find: Callable[[Page], Locator], entry: str, after: str
) -> None:
    made = make()
    put(page, made)
    box = find(page)
    for _ in range(2):
        box.fill(entry)
        box.press("Enter")
        if box.get_attribute("type") == "text":
            expect(box).not_to_be_focused()  # Enter ends the entry; the keys of the widget hold again
        page.wait_for_timeout(200)
        answer(page, made)
        expect(page.get_by_role("alert")).to_be_visible()
        page.evaluate("() => document.activeElement.blur()")
        page.evaluate("changes => tell(changes)", {"answers": made.answers + 1})
        expect(box).to_have_value(after)


def test_presses_that_come_faster_than_answers_are_all_counted(page: Page) -> None:
    made = BufferMap(x=tg.arange(12, dtype="float32").reshape(3, 4))
    put(page, made)
    page.get_by_role("radio", name="free view").click()
    answer(page, made)
    stride = page.get_by_role("spinbutton", name="stride in bytes, axis 0")
    stride.focus()
    for _ in range(3):
        stride.press("ArrowDown")
    first, *others = page.evaluate("() => window.sent.splice(0)")
    made._handle_custom_msg(first, [])
    page.evaluate("changes => tell(changes)", {"html": made.html, "answers": made.answers})
    expect(stride).to_have_text("4")  # of the third press, though only the first is answered
    stride.press("ArrowDown")
    for content in others:
        made._handle_custom_msg(content, [])
    page.evaluate("changes => tell(changes)", {"html": made.html, "answers": made.answers})
    expect(stride).to_have_text("0")
    answer(page, made)
    expect(stride).to_have_text("0")
    expect(page.locator(".edu-foot pre")).to_contain_text("(3, 4), strides (0, 4) bytes")


def note_motion(page: Page) -> None:
    """From now on, note each animation of a mark, since on a slow machine it may be over before a test looks."""
    page.evaluate(
        """() => {
            window.begun = [];
            const animate = Element.prototype.animate;
            Element.prototype.animate = function (frames, how) {
                window.begun.push({ says: this.textContent, glides: frames.some((frame) => "translate" in frame) });
                return animate.call(this, frames, how);
            };
        }"""
    )


def moving(page: Page) -> list[dict[str, Any]]:
    """The animations that were begun since motion is noted, or since this was asked."""
    return list(page.evaluate("() => window.begun.splice(0)"))


def press(page: Page, made: EduWidget, part: Locator) -> None:
    """Press, and let the kernel answer."""
    part.click()
    answer(page, made)


@pytest.mark.parametrize("calm", [False, True])
def test_only_what_changed_moves_and_with_reduced_motion_it_is_outlined(page: Page, calm: bool) -> None:
    page.emulate_media(reduced_motion="reduce" if calm else "no-preference")
    made = BufferMap(x=tg.arange(6, dtype="float32").reshape(2, 3))
    put(page, made)
    note_motion(page)
    unchanged = page.locator("svg:visible [data-act=point]").count() - 2
    write = page.get_by_role("button", name="x[0, 0] = 99")
    press(page, made, write)
    outlined = page.locator("svg:visible .is-changed")
    if calm:
        assert moving(page) == []
        assert outlined.count() >= 1 and all("99" in words for words in outlined.all_text_contents())
        press(page, made, page.get_by_role("radio", name="order of visits"))
        assert "99" not in " ".join(outlined.all_text_contents())  # for one step
    else:
        assert outlined.count() == 0
        found = moving(page)
        assert found and all("99" in one["says"] for one in found) and len(found) < unchanged


def test_nothing_moves_when_the_kernel_tells_something_by_itself(page: Page) -> None:
    made = raced()
    put(page, made)
    note_motion(page)
    made.act("n", 0)
    page.evaluate("changes => tell(changes)", {"html": made.html, "answers": made.answers})
    assert moving(page) == []


def test_what_has_another_place_glides_there(page: Page) -> None:
    made = raced()
    put(page, made)
    made_to_glide = """() => {
        const place = '<g data-act="n" data-value="0"';
        tell({ html: state.html.replaceAll(place, place.replace("<g", '<g transform="translate(40 0)"')) });
    }"""
    note_motion(page)
    page.locator("svg:visible [data-act=n]").nth(1).click()
    page.evaluate(made_to_glide)
    assert [one["glides"] for one in moving(page)] == [True]
