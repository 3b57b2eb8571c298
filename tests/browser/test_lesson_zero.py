"""Lesson 0 as a student goes through it: gates answer, races run, knobs turn."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from .conftest import NotebookPage
from .test_lesson_three import commit, keep

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]
Open = Callable[..., NotebookPage]


def test_a_student_goes_through_lesson_zero(open_notebook: Open) -> None:
    notebook = open_notebook("00_measure_honestly.ipynb")
    notebook.run_all()
    page = notebook.page
    gates = page.locator('.edu[aria-label="PredictGate"]')
    expect(commit(gates.nth(0), "more than 5 times faster")).to_contain_text("The first call makes the window")
    expect(commit(gates.nth(1), "more than 5 times faster")).to_contain_text("sort shuffled numbers")
    expect(commit(gates.nth(2), "about a twentieth of the time")).to_contain_text("is a misconception")
    expect(commit(gates.nth(3), "fewer than 10")).to_contain_text("seldom hits A and B equally")
    races = page.locator('.edu[aria-label="TimingRace"]')
    for place, predicted in enumerate(("5", "10")):
        race = races.nth(place)
        race.get_by_role("textbox").or_(race.get_by_role("spinbutton")).first.fill(predicted)
        race.get_by_role("button", name="Commit").click()
        expect(race.locator(".edu-foot pre")).to_contain_text("measured on", timeout=30_000)
    races.nth(0).get_by_role("radio", name="no warm-up").click()
    expect(races.nth(0).locator(".edu-foot pre")).to_contain_text("without warm-up", timeout=30_000)
    queue, afternoons = page.locator(".widget-interact").all()
    said = queue.locator(".widget-output")
    expect(said).to_contain_text("How long is the whole?")
    queue.get_by_role("combobox").select_option("200 ms")
    expect(said).to_contain_text("your guess for 10 ms, at the end: 200 ms")
    queue.get_by_role("button", name="each at once").click()
    expect(said).to_contain_text("·x")
    said = afternoons.locator(".widget-output")
    expect(said).to_contain_text("A 55, B 37, not settled 8")
    afternoons.get_by_role("button", name="turns").click()
    expect(said).to_contain_text("A 16, B 28, not settled 56")
    for theme in ("Light", "Dark"):
        notebook.set_theme(f"JupyterLab {theme}")
        keep(notebook, f"lesson-zero-{theme.lower()}")
