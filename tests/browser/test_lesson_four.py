"""Lesson 4 as a student goes through it: gates answer, pictures open, programs are edited, switches move readings."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from .conftest import NotebookPage
from .test_lesson_three import commit, keep

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]
Open = Callable[..., NotebookPage]


def test_a_student_goes_through_lesson_four(open_notebook: Open) -> None:
    notebook = open_notebook("04_mutation_and_guards.ipynb")
    notebook.run_all()
    page = notebook.page
    gates, lenses = page.locator('.edu[aria-label="PredictGate"]'), page.locator('.edu[aria-label="GuardLens"]')
    expect(lenses).to_have_count(1)  # the others wait behind their gates
    table = lenses.nth(0)
    table.get_by_role("button", name="Edit the code").click()
    lines = table.get_by_role("textbox")
    lines.fill(lines.input_value().replace("y = t - 1", "y = t.sin()"))
    table.get_by_role("button", name="Done").click()
    expect(table.locator(".edu-foot pre")).to_contain_text("a locked")
    expect(table.locator(".edu-foot pre")).to_contain_text("a[0] = 10.0   # refused")
    said = commit(gates.nth(0), "the factor that fits best")
    expect(said).to_contain_text("this program ends at 3.20")
    expect(lenses).to_have_count(2)
    expect(lenses.nth(0).locator(".edu-foot pre")).to_contain_text("w.grad  [15]  wrong")
    choices = "both", "refused", "in line 3, at the write", "without dropout and without a graph"
    for place, choice in enumerate(choices, 1):
        expect(commit(gates.nth(place), choice)).to_contain_text("result:")
    expect(lenses).to_have_count(3)
    knobs = page.locator(".widget-interact")
    expect(knobs).to_have_count(2)
    knobs.nth(0).get_by_role("combobox").nth(0).select_option("y = x * x")
    expect(knobs.nth(0)).to_contain_text("Guess first.")
    knobs.nth(0).get_by_role("button", name="harmless").click()
    expect(knobs.nth(0)).to_contain_text("backward through mul")
    switch = knobs.nth(1)
    switch.get_by_role("button", name="allowed").click()
    expect(switch).to_contain_text("a[0] = 9.0                  refused")
    switch.get_by_role("checkbox").nth(1).uncheck()
    expect(switch).to_contain_text("Guess first.")
    switch.get_by_role("button", name="allowed").click()
    expect(switch).to_contain_text("harmless: there is no graph")
    for theme in ("Light", "Dark"):
        notebook.set_theme(f"JupyterLab {theme}")
        keep(notebook, f"lesson-four-{theme.lower()}")
