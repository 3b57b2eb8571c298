"""CheckpointSlider in JupyterLab: nothing with cuts before the prediction; then every gesture, by mouse and by keys."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.views.checkpoints.test_checkpoints import ASKED, DONE, timed
from tinygrad_edu.views.checkpoints import frame, pick

from .look import SIZES, faults
from .test_widgets import Open, snapshot, widget

pytestmark = pytest.mark.browser

SLIDER = """
import tinygrad_edu as tg
from tinygrad_edu import nn
from tinygrad_edu_widgets import CheckpointSlider
model = nn.Sequential(*(nn.Sequential(nn.Linear(32, 32), nn.Tanh()) for _ in range(6)))
slider = CheckpointSlider(model, tg.ones(512, 32), budget=0.05)
slider
"""
MODELS = "from tinygrad_edu_widgets import CheckpointSlider\nCheckpointSlider(budget=0.05)"
LONG = """
import time
import tinygrad_edu as tg
from tinygrad_edu import nn
from tinygrad_edu_widgets import CheckpointSlider
def slow(x):
    time.sleep(0.15)
    return x * 1.0
CheckpointSlider([nn.Linear(4, 4), slow, slow, nn.Linear(4, 4)], tg.ones(2, 4))
"""
SOON = 60_000  # all runs take a second; a busy machine may need longer


def test_a_prediction_by_mouse_and_by_keys(open_cells: Open) -> None:
    notebook = open_cells(SLIDER, "len(slider.data()['runs'])")
    notebook.run_all()
    expect(notebook.cell(1).locator(".jp-OutputArea-output")).to_contain_text("1")
    w = widget(notebook.page, "CheckpointSlider")
    twin = w.locator(".edu-foot pre")
    snapshot(notebook.page, "checkpoint-slider-asks")
    for by_keys in (False, True):
        expect(twin).to_contain_text("What is alive in each moment is shown after you commit.")
        expect(w.locator("svg:visible [data-act=segments]")).to_have_count(0)
        guess = w.get_by_role("slider")
        if by_keys:
            guess.focus()
            notebook.page.keyboard.press("ArrowRight")
            expect(twin).to_contain_text("you: lowest at 3, not committed")
            notebook.page.keyboard.press("Tab")
            notebook.page.keyboard.press("Enter")
        else:
            guess.fill("2")
            expect(twin).to_contain_text("you: lowest at 2, not committed")
            w.get_by_role("button", name="Commit and measure").click()
        expect(twin).to_contain_text(f"You said {3 if by_keys else 2}: ", timeout=SOON)
        expect(twin).to_contain_text("Every gradient is the same as without cuts, bit for bit.")
        expect(w.locator("svg:visible [data-act=segments]")).to_have_count(6)
        assert faults(notebook.page) == []
        w.get_by_role("button", name="Ask again").click()
        expect(twin).to_contain_text("not committed")


def test_runs_by_the_slider_and_by_bars(open_cells: Open) -> None:
    notebook = open_cells(SLIDER, "slider.predict(2)")
    notebook.run_all()
    w = widget(notebook.page, "CheckpointSlider")
    twin = w.locator(".edu-foot pre")
    snapshot(notebook.page, "checkpoint-slider")
    shown = w.get_by_role("slider")
    shown.focus()
    notebook.page.keyboard.press("ArrowRight")
    expect(twin).to_contain_text("alive during one step, 3 segments")
    notebook.page.keyboard.press("ArrowLeft")
    expect(twin).to_contain_text("alive during one step, 2 segments")
    shown.fill("5")
    expect(twin).to_contain_text("alive during one step, 5 segments")
    bars = w.locator("svg:visible [data-act=segments]")
    bars.nth(5).click()
    expect(twin).to_contain_text("alive during one step, 6 segments")
    bars.nth(0).click()
    expect(twin).to_contain_text("alive during one step, 1 segment")
    notebook.page.mouse.move(0, 0)  # or the bar below it would be read
    for place in (2, 3):
        bars.nth(place).focus()
        expect(w.locator(".edu-tip")).to_contain_text(f"{place + 1} segments: ")
        notebook.page.keyboard.press("Enter")
        expect(twin).to_contain_text(f"alive during one step, {place + 1} segments")
    bars.nth(1).hover()
    expect(w.locator(".edu-tip")).to_contain_text("parameters")
    notebook.page.keyboard.press("r")
    expect(twin).to_contain_text("not committed")


def test_the_clock_by_mouse_and_by_keys(open_cells: Open) -> None:
    notebook = open_cells(SLIDER, "slider.predict(2)")
    notebook.run_all()
    w = widget(notebook.page, "CheckpointSlider")
    twin = w.locator(".edu-foot pre")
    expect(w.locator(".edu-foot .measured")).to_have_count(0)
    w.get_by_role("button", name="Time this run").click()
    expect(twin).to_contain_text("On the clock: ", timeout=SOON)
    expect(w.locator(".edu-foot .measured")).to_be_visible()
    w.get_by_role("slider").fill("3")
    expect(w.locator(".edu-foot .measured")).to_have_count(0)
    w.get_by_role("button", name="Time this run").focus()
    notebook.page.keyboard.press("Enter")
    expect(w.locator(".edu-foot .measured")).to_be_visible(timeout=SOON)
    assert faults(notebook.page) == []


def test_stop_and_the_rest(open_cells: Open) -> None:
    notebook = open_cells(LONG)
    notebook.run_all()
    w = widget(notebook.page, "CheckpointSlider")
    twin = w.locator(".edu-foot pre")
    for by_keys in (False, True):
        w.get_by_role("button", name="Commit and measure").click()
        stop = w.get_by_role("button", name="Stop")
        expect(w.locator(".edu-progress")).to_contain_text("2 of 4", timeout=SOON)
        if by_keys:
            stop.focus()
            notebook.page.keyboard.press("Enter")
        else:
            stop.click()
        rest = w.get_by_role("button", name="Measure the rest")
        expect(rest).to_be_enabled(timeout=SOON)
        expect(twin).to_contain_text("not visited: ")
        rest.click()
        expect(w.get_by_role("button", name="Time this run")).to_be_visible(timeout=SOON)
        expect(twin).not_to_contain_text("not visited: ")
        notebook.page.keyboard.press("r")
        expect(twin).to_contain_text("not committed")


def test_the_two_models_by_mouse_and_by_keys(open_cells: Open) -> None:
    notebook = open_cells(MODELS)
    notebook.run_all()
    w = widget(notebook.page, "CheckpointSlider")
    twin = w.locator(".edu-foot pre")
    w.get_by_role("radio", name="wide, batch 8").click()
    expect(twin).to_contain_text("model: wide, batch 8", timeout=SOON)
    w.get_by_role("button", name="Commit and measure").click()
    expect(twin).to_contain_text("No difference: ", timeout=SOON)
    w.get_by_role("radio", name="wide, batch 8").press("ArrowLeft")
    expect(twin).to_contain_text("model: narrow, batch 1024", timeout=SOON)
    expect(twin).to_contain_text("not committed")


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_is_cut_off_at_any_size(page: Page, size: str, theme: str) -> None:
    width, height = SIZES[size]
    page.set_viewport_size({"width": width, "height": height})
    for state in (ASKED, *(pick(DONE, count) for count in (1, 2, 6)), timed(1.3)):
        page.set_content(frame(state).page(theme, live=True))
        assert faults(page) == []
