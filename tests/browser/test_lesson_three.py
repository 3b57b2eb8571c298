"""Lesson 3 as a student goes through it: the knob turns, gates answer, pictures step."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from .conftest import NotebookPage

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]
Open = Callable[..., NotebookPage]


def keep(notebook: NotebookPage, name: str) -> None:
    """A picture of the whole notebook, where somebody wants to look at it."""
    folder = os.environ.get("TINYGRAD_EDU_SCREENSHOTS")
    if folder:
        Path(folder).mkdir(parents=True, exist_ok=True)
        tall = notebook.page.evaluate("document.querySelector('.jp-WindowedPanel-inner')?.scrollHeight ?? 6000")
        notebook.page.set_viewport_size({"width": 1280, "height": int(tall) + 300})
        notebook.page.evaluate("document.querySelector('.jp-WindowedPanel-outer').scrollTop = 0")
        notebook.page.wait_for_timeout(500)
        notebook.page.screenshot(path=f"{folder}/{name}.png")
        notebook.page.set_viewport_size({"width": 1280, "height": 720})


def commit(gate: Locator, choice: str) -> Locator:
    """Predict; the text of the gate afterwards."""
    gate.get_by_role("radio", name=choice, exact=True).click()
    gate.get_by_role("button", name="Commit").click()
    return gate.locator(".edu-foot pre")


def test_a_student_goes_through_lesson_three(open_notebook: Open) -> None:
    notebook = open_notebook("03_autograd_you_can_step.ipynb")
    notebook.run_all()
    page = notebook.page
    gates = page.locator('.edu[aria-label="PredictGate"]')
    said = commit(gates.nth(0), "fall and stay near zero")
    expect(said).to_contain_text("at their old height by step 23")
    knob = page.get_by_role("spinbutton", name="lr").first  # the second stands beside the task
    bars = page.locator(".widget-output").first
    before = bars.inner_text()
    knob.press("ArrowUp")
    expect(bars).not_to_have_text(before)
    steppers = page.locator('.edu[aria-label="GraphStepper"]')
    worked, paths = steppers.nth(0), steppers.nth(1)
    worked.get_by_role("textbox", name="w =").fill("2.5")
    worked.get_by_role("textbox", name="w =").press("Enter")
    expect(worked.locator(".edu-foot pre")).to_contain_text("w   2.50  ∂0")
    expect(paths.locator(".edu-foot pre")).to_contain_text("w   3.00  ∂6.00")
    paths.get_by_role("button", name="Step", exact=True).click()
    expect(paths.locator(".edu-foot pre")).to_contain_text("arriving 4.00")
    paths.get_by_role("textbox", name="w =").fill("2")
    paths.get_by_role("textbox", name="w =").press("Enter")
    expect(paths.locator(".edu-foot pre")).to_contain_text("w   2.00  ∂0")
    expect(commit(gates.nth(1), "the second")).to_contain_text("A new gradient replaces the old one")
    lab = page.locator('.edu[aria-label="BroadcastLab"]')
    commit(lab, "(3, 4)")
    expect(lab.locator(".edu-why")).to_contain_text("(3, 4) is the shape of c")
    for theme in ("Light", "Dark"):
        notebook.set_theme(f"JupyterLab {theme}")
        keep(notebook, f"lesson-three-{theme.lower()}")
