"""TimingRace in JupyterLab: locked before the prediction, raced after it, by mouse and by keyboard."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from playwright.sync_api import Page, expect

from tests.views.race.test_race import DONE, STATE, UNSIZED, comparison
from tinygrad_edu.observe.results import Sweep
from tinygrad_edu.views.race import finish, frame

from .look import faults
from .test_widgets import Open, snapshot, widget

pytestmark = pytest.mark.browser

# The first function is slower by far on any machine, so that the verdict is the same everywhere.
RACE = """
from tinygrad_edu_widgets import TimingRace
def loop(n):
    total = 0
    for i in range(n):
        total += i * i
    return total
race = TimingRace(loop, abs, sizes=(1000, 3000, 9000), n=3000, budget=1.0, names=("loop", "abs"))
race
"""
LONG = """
import time
from tinygrad_edu_widgets import TimingRace
TimingRace(lambda: time.sleep(0.05), lambda: time.sleep(0.01), budget=100)
"""
CELL = """%%race n=2000
def make(n):
    return list(range(n)),

def loop(xs):
    total = 0
    for x in xs:
        total += x
    return total

def one_call(xs):
    return len(xs)
"""
SOON = 60_000  # a race takes a second; a busy machine may need longer


def test_nothing_is_shown_or_measured_before_the_prediction(open_cells: Open) -> None:
    notebook = open_cells(RACE, "race.data()['result']")
    notebook.run_all()
    w = widget(notebook.page, "TimingRace")
    twin = w.locator(".edu-foot pre")
    expect(twin).to_contain_text("Nothing is measured before you commit to a prediction.")
    expect(w.get_by_role("button", name="Commit")).to_be_disabled()
    expect(w.locator(".edu-foot .measured")).to_have_count(0)
    expect(notebook.cell(1).locator(".jp-OutputArea-output")).to_have_count(0)


def test_a_race_by_mouse(open_cells: Open) -> None:
    notebook = open_cells(RACE)
    notebook.run_all()
    w = widget(notebook.page, "TimingRace")
    twin = w.locator(".edu-foot pre")
    snapshot(notebook.page, "timing-race-hidden")
    for said in ("5", "7"):
        w.get_by_role("spinbutton").fill(said)
        expect(w.get_by_role("button", name="Commit")).to_be_enabled()
        w.get_by_role("button", name="Commit").click()
        expect(twin).to_contain_text("× B is faster at n = 3000.", timeout=SOON)
        expect(twin).to_contain_text(f"You predicted {said}× at n = 3000.")
        expect(w.locator(".edu-foot .measured")).to_be_visible()
        assert faults(notebook.page) == []
        w.get_by_role("button", name="Ask again").click()
        expect(twin).to_contain_text("Nothing is measured")


def test_sizes_and_warm_up_by_mouse_and_by_keys(open_cells: Open) -> None:
    notebook = open_cells(RACE, "race.predict(10)")
    notebook.run_all()
    w = widget(notebook.page, "TimingRace")
    twin = w.locator(".edu-foot pre")
    snapshot(notebook.page, "timing-race")
    slider = w.get_by_role("slider", name=re.compile("^n = "))
    slider.focus()
    notebook.page.keyboard.press("ArrowRight")
    expect(twin).to_contain_text("n = 9000 is shown")
    notebook.page.keyboard.press("ArrowLeft")
    expect(twin).to_contain_text("n = 3000 is shown")
    sizes = w.locator("svg:visible [data-act=n]")
    sizes.nth(0).click()
    expect(twin).to_contain_text("n = 1000 is shown")
    sizes.nth(2).focus()
    notebook.page.keyboard.press("Enter")
    expect(twin).to_contain_text("n = 9000 is shown")
    w.get_by_role("radio", name="no warm-up").click()
    expect(twin).to_contain_text("without warm-up", timeout=SOON)
    w.get_by_role("radio", name="no warm-up").press("ArrowLeft")
    expect(twin).to_contain_text("after 3 warm-ups (×)", timeout=SOON)
    w.get_by_role("button", name="Run again").click()
    expect(w.get_by_role("button", name="Run again")).to_be_enabled(timeout=SOON)
    notebook.page.keyboard.press("r")
    expect(twin).to_contain_text("Nothing is measured")


def test_stop_keeps_what_was_measured(open_cells: Open) -> None:
    notebook = open_cells(LONG)
    notebook.run_all()
    w = widget(notebook.page, "TimingRace")
    twin = w.locator(".edu-foot pre")
    for by_keys in (False, True):
        w.get_by_role("spinbutton").fill("2")
        expect(w.get_by_role("button", name="Commit")).to_be_enabled()
        w.get_by_role("button", name="Commit").click()
        expect(w.get_by_role("progressbar")).to_be_visible()
        notebook.page.wait_for_timeout(1500)  # a few pairs
        stop = w.get_by_role("button", name="Stop")
        snapshot(notebook.page, "timing-race-running")
        if by_keys:
            stop.focus()
            notebook.page.keyboard.press("Enter")
        else:
            stop.click()
        expect(twin).to_contain_text("Stopped before all pairs were done.", timeout=SOON)
        expect(w.get_by_role("progressbar")).to_have_count(0)
        w.get_by_role("button", name="Ask again").click()


@pytest.mark.parametrize("width, height", [(1280, 720), (640, 720), (640, 360)])  # the last is 1280 at 200 %
def test_long_names_and_equal_lines_are_seen_at_every_width(page: Page, width: int, height: int) -> None:
    page.set_viewport_size({"width": width, "height": height})
    names = ("a loop over every single row in Python", "numpy_vectorised_with_keepdims_and_out")
    alike = finish(STATE, Sweep(STATE.sizes, (comparison(1e-5, 1e-5), comparison(1e-5, 1.02e-5), comparison(1, 1))))
    for state in (DONE, replace(DONE, names=names), replace(UNSIZED, names=names), alike, replace(alike, names=names)):
        page.set_content(frame(state).page(live=True))
        assert faults(page) == []
        said = page.locator("svg:visible .edu-stage, .edu-stage svg:visible").last.text_content() or ""
        assert "…" not in said and state.names[0] in said and state.names[1] in said


def test_what_is_no_number_is_refused(open_cells: Open) -> None:
    notebook = open_cells(RACE)
    notebook.run_all()
    w = widget(notebook.page, "TimingRace")
    for wrong in ("-3", "0"):
        w.get_by_role("spinbutton").fill(wrong)
        expect(w.get_by_role("alert")).to_contain_text("no time is below 0")
        expect(w.get_by_role("button", name="Commit")).to_be_disabled()
    w.get_by_role("spinbutton").fill("3")
    expect(w.get_by_role("alert")).to_have_count(0)


def test_a_cell_that_begins_with_race(open_cells: Open) -> None:
    notebook = open_cells("%load_ext tinygrad_edu_widgets", CELL)
    notebook.run_all()
    w = widget(notebook.page, "TimingRace")
    expect(w.locator(".edu-ask")).to_have_text("How many times faster is B one_call than A loop at n = 2000?")
    w.get_by_role("spinbutton").fill("30")
    expect(w.get_by_role("button", name="Commit")).to_be_enabled()
    w.get_by_role("button", name="Commit").click()
    expect(w.locator(".edu-foot pre")).to_contain_text("× B is faster at n = 2000.", timeout=SOON)
