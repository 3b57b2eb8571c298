"""The tip browser in JupyterLab: all tips by mouse, one by keyboard alone, Stop, editing, both themes."""

from __future__ import annotations

import itertools
import json
import random
import re
import subprocess
import sys
from collections.abc import Callable, Sequence

import pytest
from playwright.sync_api import Locator, expect

from tinygrad_edu.tips import Number, Tip, all_tips

from .conftest import NotebookPage
from .look import faults
from .test_widgets import snapshot, text_of, widget

pytestmark = [pytest.mark.browser, pytest.mark.timeout(400)]
Open = Callable[..., NotebookPage]
BROWSER = "from tinygrad_edu_widgets import TipBrowser\nTipBrowser()"


def at_the_command_line(tips: Sequence[Tip]) -> dict[str, str]:
    """The tips' verdicts, as the command line has them."""
    command = [sys.executable, "-m", "tinygrad_edu", "tips", "check", "--json", *(tip.slug for tip in tips)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    return {tip["slug"]: tip["verdict"] for tip in json.loads(done.stdout)["tips"]}


def picture(notebook: NotebookPage, name: str) -> None:
    """Keep a picture of the whole widget, even where it is taller than the window."""
    before = notebook.page.viewport_size
    assert before is not None
    notebook.page.set_viewport_size({"width": before["width"], "height": 3600})
    snapshot(notebook.page, name)
    notebook.page.set_viewport_size(before)


def choose(w: Locator, slug: str) -> None:
    w.get_by_role("radiogroup").get_by_role("radio", name=re.compile(rf"(^| ){slug}$")).click()
    expect(w.locator(".edu-kicker")).to_have_text(slug)


def test_some_tips_are_locked_then_revealed(open_cells: Open, draw: random.Random) -> None:
    each_is_locked_then_revealed(open_cells, draw.sample(all_tips(), 8))


@pytest.mark.slow
def test_all_tips_are_locked_then_revealed(open_cells: Open) -> None:
    each_is_locked_then_revealed(open_cells, all_tips())


def predict(w: Locator, tip: Tip) -> None:
    """The tempting answer."""
    if isinstance(tip.question.choices, Number):
        w.get_by_role("spinbutton").fill(f"{tip.question.tempting:g}")
        w.get_by_role("spinbutton").press("Enter")
    else:
        w.get_by_role("radio", name=re.sub("`", "", str(tip.question.tempting)), exact=True).click()


def each_is_locked_then_revealed(open_cells: Open, tips: Sequence[Tip]) -> None:
    """With the verdict of the command line."""
    verdicts = at_the_command_line(tips)
    notebook = open_cells(BROWSER)
    notebook.run_all()
    w = widget(notebook.page, "TipBrowser")
    for tip in tips:
        choose(w, tip.slug)
        expect(w.locator(".edu-step.later")).to_have_count(4)
        expect(w.locator(".hole")).to_be_visible()
        assert w.locator(".edu-one").count() == 0
        assert tip.question.refutation not in notebook.page.content()
        expect(w.get_by_role("button", name="Commit")).to_be_disabled()
        predict(w, tip)
        w.get_by_role("button", name="Commit").click()
        expect(w.locator(".edu-step.later")).to_have_count(3)
        assert w.locator(".edu-one").count() == 0
        w.get_by_role("button", name="Run", exact=True).click()
        expect(w.locator(".edu-one")).to_be_visible(timeout=60_000)
        assert verdicts[tip.slug] == "holds"
        expect(w.locator(".edu-step.hand .edu-said")).to_contain_text(re.compile("^The tip holds (here|for what)"))
        timed = any(claim.fact == "time" for claim in tip.claims)  # all else is counted
        expect(w.locator(".edu-foot .edu-prov")).to_have_count(int(timed))
        assert faults(notebook.page) == []
        picture(notebook, f"tip-{tip.slug}")
    explained = w.get_by_role("radiogroup").get_by_role("img", name="run")
    expect(explained).to_have_count(len(verdicts))


def test_one_tip_by_keyboard_alone(open_cells: Open) -> None:
    notebook = open_cells('from tinygrad_edu_widgets import show_tip\nshow_tip("share-storage")')
    notebook.run_all()
    w, keys = widget(notebook.page, "TipBrowser"), notebook.page.keyboard
    w.get_by_role("radio", name="none", exact=True).focus()
    keys.press("ArrowRight")
    expect(w.get_by_role("radio", name="as many as x has")).to_have_attribute("aria-checked", "true")
    tab_to(notebook, w.get_by_role("button", name="Commit"))
    keys.press("Enter")
    tab_to(notebook, w.get_by_role("button", name="Run", exact=True))
    keys.press("Enter")
    expect(w.locator(".edu-step.hand")).to_contain_text("The tip holds", timeout=60_000)
    tab_to(notebook, w.get_by_role("textbox"))
    keys.type("B shares the buffer.")
    tab_to(notebook, w.get_by_role("button", name="Compare"))
    keys.press("Enter")
    expect(w.locator(".edu-words.why")).to_be_visible()
    expect(w.get_by_role("textbox")).to_have_value("B shares the buffer.")
    tab_to(notebook, w.get_by_role("button", name="use = write"))
    keys.press("Enter")
    expect(w.get_by_text("With use = write: The tip does not hold here.", exact=True)).to_be_visible()
    keys.press("r")
    expect(w.locator(".hole")).to_be_visible()


def tab_to(notebook: NotebookPage, target: Locator) -> None:
    """Press Tab until the target has the focus."""
    for _ in range(40):
        if target.evaluate("e => e === document.activeElement"):
            return
        notebook.page.keyboard.press("Tab")
    raise AssertionError(f"Tab does not lead to {target}")


SLOW = """
from tinygrad_edu_widgets import tip_browser, TipBrowser
from functools import partial
from tinygrad_edu.observe import timing
timing.MOST = 10**6
tip_browser.run = partial(tip_browser.run, budget=60.0)  # long enough to be stopped
TipBrowser("share-storage")
"""


def test_stop_takes_effect_between_repeats_and_keeps_what_was_measured(open_cells: Open) -> None:
    notebook = open_cells(SLOW)
    notebook.run_all()
    w = widget(notebook.page, "TipBrowser")
    w.get_by_role("radio", name="none", exact=True).click()
    w.get_by_role("button", name="Commit").click()
    for _ in range(2):
        w.get_by_role("button", name=re.compile("^Run")).first.click()
        expect(w.get_by_role("progressbar")).to_be_visible()
        expect(w.get_by_text(re.compile(r"of \d+, about .* left"))).to_be_visible()
        w.get_by_role("button", name="Stop").click()
        expect(w.get_by_role("progressbar")).to_have_count(0)
        expect(w.locator(".edu-step.hand")).to_contain_text("The tip holds")


def test_code_is_edited_and_found_by_filters(open_cells: Open) -> None:
    notebook = open_cells(BROWSER)
    notebook.run_all()
    w = widget(notebook.page, "TipBrowser")
    twin = w.locator(".edu-foot pre")
    search = w.get_by_role("searchbox")
    search.fill("detach")
    names = w.get_by_role("radiogroup", name="Arrays").get_by_role("radio")
    expect(names.filter(has_text="share-storage")).to_be_visible()
    expect(names.filter(has_text="vectorise-loss")).to_have_count(0)
    search.fill("nowhere like it")
    expect(w.get_by_text("No tip fits all of this.")).to_be_visible()
    search.fill("")
    w.get_by_role("combobox", name="guide").select_option(label="MyGrad performance tips")
    expect(names.filter(has_text="preallocate")).to_have_count(0)
    w.get_by_role("combobox", name="guide").select_option(label="all guides")
    choose(w, "share-storage")
    w.get_by_role("button", name="Edit the code").click()
    area = w.get_by_role("textbox", name="code of A")
    area.fill("def A(x, read_only):\n    return 3 +")
    w.get_by_role("button", name="Done").click()
    expect(w.get_by_role("alert")).to_contain_text("SyntaxError, line 2")
    expect(area).to_have_value("def A(x, read_only):\n    return 3 +")
    area.fill("def A(x, read_only):\n    return x.amax(), x.amax()")
    w.get_by_role("button", name="Done").click()
    expect(twin).to_contain_text("A, edited")
    w.get_by_role("radio", name="none", exact=True).click()
    w.get_by_role("button", name="Commit").click()
    w.get_by_role("slider").fill("0")
    expect(w.get_by_text("n = 16", exact=True)).to_be_visible()
    w.get_by_role("button", name="Run", exact=True).click()
    expect(w.locator(".edu-step.hand")).to_contain_text("makes no difference", timeout=60_000)


def test_before_an_audience_one_step_after_the_other(open_cells: Open) -> None:
    notebook = open_cells(
        'from tinygrad_edu_widgets import TipBrowser\nb = TipBrowser("share-storage")\nb.present()\nb'
    )
    notebook.run_all()
    w = widget(notebook.page, "TipBrowser")
    expect(w.locator(".edu-nav")).to_have_count(0)
    steps = w.locator(".edu-step:has(.edu-number)")
    w.get_by_role("radio", name="none", exact=True).click()
    for wanted in ("1Predict", "2Run", "3See", "4Explain"):
        expect(steps.locator("h4")).to_have_text(wanted, timeout=60_000)
        assert faults(notebook.page) == []
        w.get_by_role("button", name="Next").click()
    expect(w.locator(".edu-words.why")).to_be_visible()
    w.get_by_role("button", name="Next").click()
    expect(steps.locator("h4")).to_have_text("5Try where it fails")
    w.get_by_role("button", name="Back").click()
    expect(steps.locator("h4")).to_have_text("4Explain")


def test_it_looks_well_in_both_themes_and_when_narrow(open_cells: Open) -> None:
    notebook = open_cells(BROWSER)
    notebook.run_all()
    w = widget(notebook.page, "TipBrowser")
    choose(w, "contiguous-access")
    w.get_by_role("radio", name="4 bytes", exact=True).click()
    w.get_by_role("button", name="Commit").click()
    w.get_by_role("button", name="Run", exact=True).click()
    expect(w.locator(".edu-one")).to_be_visible(timeout=60_000)
    w.get_by_role("button", name="Compare").click()
    expect(w.locator(".edu-words.why")).to_be_visible()
    for theme, width in itertools.product(("Light", "Dark"), (1280, 640)):
        notebook.set_theme(f"JupyterLab {theme}")
        notebook.page.set_viewport_size({"width": width, "height": 1400})
        notebook.page.wait_for_timeout(200)
        assert faults(notebook.page) == []
        picture(notebook, f"tip-browser-{theme.lower()}-{width}")
    assert "share-storage" in text_of(w)
