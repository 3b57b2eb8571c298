"""The notebooks in JupyterLab, from top to bottom, as a student runs them."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect

from .conftest import NOTEBOOKS, NotebookPage
from .look import SIZES, faults

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]
Open = Callable[..., NotebookPage]


def keep(notebook: NotebookPage, name: str, size: tuple[int, int] = SIZES["wide"]) -> None:
    """Pictures of every widget, where somebody wants to look at them, at the width of ``size``."""
    folder = os.environ.get("TINYGRAD_EDU_SCREENSHOTS")
    if folder:
        Path(folder).mkdir(parents=True, exist_ok=True)
        notebook.page.set_viewport_size({"width": size[0], "height": 1400})
        for i, widget in enumerate(notebook.page.locator(".edu").all()):
            widget.scroll_into_view_if_needed()
            widget.screenshot(path=f"{folder}/{name}-{i:02d}.png")
        notebook.page.set_viewport_size({"width": size[0], "height": size[1]})


@pytest.mark.parametrize("name", sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb")))
def test_a_notebook_runs_and_shows_well(open_notebook: Open, name: str) -> None:
    notebook = open_notebook(f"{name}.ipynb")
    notebook.run_all()
    for theme in ("Light", "Dark"):
        notebook.set_theme(f"JupyterLab {theme}")
        notebook.page.wait_for_timeout(500)
        assert faults(notebook.page) == []
        keep(notebook, f"{name}-{theme.lower()}")
    notebook.execute("application:toggle-left-area")
    for theme, size in itertools.product(("Dark", "Light"), ("half", "zoom")):
        notebook.set_theme(f"JupyterLab {theme}")
        notebook.page.set_viewport_size(dict(zip(("width", "height"), SIZES[size], strict=True)))
        notebook.page.wait_for_timeout(500)
        assert faults(notebook.page) == []
        keep(notebook, f"{name}-{size}-{theme.lower()}", SIZES[size])


def test_welcome_is_played_with(open_notebook: Open) -> None:
    notebook = open_notebook("welcome.ipynb")
    notebook.run_all()
    page = notebook.page
    play = page.locator('.edu[aria-label="Playground"]').first
    said = play.locator(".edu-foot pre")
    expect(said).to_contain_text("step 60")
    play.get_by_role("button", name="Train").click()
    expect(said).not_to_contain_text("step 60")
    play.get_by_role("button", name="Pause").click()
    play.get_by_role("switch", name="one sample at a time").click()
    expect(play.locator(".edu-ask")).to_contain_text("One sample at a time instead of 64 together")
    gate = page.locator('.edu[aria-label="PredictGate"]').filter(has_text="half-wrong labels")
    gate.get_by_role("radio", name="about 50").click()
    gate.get_by_role("button", name="Commit").click()
    expect(gate.locator(".edu-foot pre")).to_contain_text("result: about 90")
    for theme in ("Light", "Dark"):
        notebook.set_theme(f"JupyterLab {theme}")
        keep(notebook, f"welcome-played-{theme.lower()}")


def test_arrays_lesson_reveals_each_result_after_its_prediction(open_notebook: Open) -> None:
    notebook = open_notebook("01_arrays_are_bytes.ipynb")
    notebook.run_all()
    page = notebook.page
    gates, maps = page.locator('.edu[aria-label="PredictGate"]'), page.locator('.edu[aria-label="BufferMap"]')
    expect(maps).to_have_count(2)  # the others are behind their gates
    results = ("164.1", "36", "40 000 000 bytes")
    for i, result in enumerate(results):
        gate = gates.nth(i)
        assert "result:" not in gate.locator(".edu-foot pre").inner_text()
        gate.get_by_role("radio").last.click()
        gate.get_by_role("button", name="Commit").click()
        expect(gate.locator(".edu-foot pre")).to_contain_text(f"result: {result}", timeout=60_000)
        expect(maps).to_have_count(3 + i)
    expect(gates.first).to_contain_text("“A slice is a copy” is a common misconception")
    spoiled = maps.first
    expect(spoiled.locator(".edu-foot pre")).to_contain_text("value     68  69.8  73.4  71.6")
    spoiled.get_by_role("radio", name="rows", exact=True).click()
    spoiled.get_by_role("button", name="rows[0, 0] = 99").click()
    expect(spoiled.locator(".edu-foot pre")).to_contain_text("celsius sees it too")
    gates.first.get_by_role("button", name="Ask again").click()
    expect(maps).to_have_count(4)
    for place, guess in ((3, "2"), (4, "faster")):
        measured = gates.nth(place)
        measured.get_by_role("radio", name=guess, exact=True).click()
        measured.get_by_role("button", name="Commit").click()
        expect(measured.locator(".edu-foot")).to_contain_text("pairs, warm-ups: ", timeout=60_000)
    races = page.locator('.edu[aria-label="TimingRace"]')
    expect(races).to_have_count(1)
    for race in races.all():
        race.get_by_role("spinbutton").fill("16")
        race.get_by_role("spinbutton").press("Enter")
        race.get_by_role("button", name="Commit").click()
        expect(race.locator(".edu-foot pre")).to_contain_text("measured on ", timeout=30_000)
    keep(notebook, "01_arrays_are_bytes-answered")
    assert faults(page) == []


def test_tip_lab_reveals_each_result_after_its_prediction(open_notebook: Open) -> None:
    notebook = open_notebook("tip_lab.ipynb")
    notebook.run_all()
    gates = notebook.page.locator('.edu[aria-label="PredictGate"]')
    for i, result in ((0, "45,003"), (1, "wrong numbers"), (3, "4,000,000 bytes")):
        gate = gates.nth(i)
        gate.get_by_role("radio").first.click()
        gate.get_by_role("button", name="Commit").click()
        expect(gate.locator(".edu-foot pre")).to_contain_text(f"result: {result}", timeout=60_000)
    faster = gates.nth(2)  # about the learner's own report, which is not mended yet
    faster.get_by_role("spinbutton").fill("10")
    faster.get_by_role("button", name="Commit").click()
    expect(faster.get_by_role("alert")).to_contain_text(re.compile("do tasks 1 to 3 first", re.IGNORECASE))
    assert faults(notebook.page) == []
    keep(notebook, "tip_lab-answered")
