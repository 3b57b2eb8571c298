"""The notebooks in JupyterLab, from top to bottom, as a student runs them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect

from .conftest import NotebookPage
from .look import faults

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]
Open = Callable[..., NotebookPage]


def keep(notebook: NotebookPage, name: str) -> None:
    """Pictures of every widget, where somebody wants to look at them."""
    folder = os.environ.get("TINYGRAD_EDU_SCREENSHOTS")
    if folder:
        Path(folder).mkdir(parents=True, exist_ok=True)
        notebook.page.set_viewport_size({"width": 1280, "height": 1400})
        for i, widget in enumerate(notebook.page.locator(".edu").all()):
            widget.scroll_into_view_if_needed()
            widget.screenshot(path=f"{folder}/{name}-{i:02d}.png")
        notebook.page.set_viewport_size({"width": 1280, "height": 720})


@pytest.mark.parametrize("theme", ["Light", "Dark"])
@pytest.mark.parametrize("name", ["welcome", "03_autograd_you_can_step"])
def test_a_notebook_runs_and_shows_well(open_notebook: Open, name: str, theme: str) -> None:
    notebook = open_notebook(f"{name}.ipynb")
    notebook.set_theme(f"JupyterLab {theme}")
    notebook.run_all()
    notebook.page.wait_for_timeout(500)
    assert faults(notebook.page) == []
    keep(notebook, f"{name}-{theme.lower()}")


def test_welcome_trains_and_its_widgets_answer(open_notebook: Open) -> None:
    notebook = open_notebook("welcome.ipynb")
    notebook.run_all()
    page = notebook.page
    expect(page.get_by_text("at least 96 % of the test digits are read right: True")).to_be_visible()
    monitors = page.locator('.edu[aria-label="TrainingMonitor"]')
    expect(monitors.first.locator(".edu-foot pre")).to_contain_text("epoch 40 of 40")
    gate = page.locator('.edu[aria-label="PredictGate"]').first
    gate.get_by_role("radio", name="x stays as it was").click()
    gate.get_by_role("button", name="Commit").click()
    expect(gate.locator(".edu-foot pre")).to_contain_text("result: x changes too")
    stepper = page.locator('.edu[aria-label="GraphStepper"]')
    for _ in range(2):
        stepper.get_by_role("button", name="Step", exact=True).click()
    expect(stepper.locator(".edu-foot")).to_contain_text("forward 2 of 3")
    stepper.get_by_role("textbox", name="w =").fill("4")
    stepper.get_by_role("textbox", name="w =").press("Enter")
    expect(stepper.locator(".edu-foot pre")).to_contain_text("w   4.00")
    later = page.locator('.edu[aria-label="PredictGate"]').nth(2)
    later.get_by_role("radio", name="about the same").click()
    later.get_by_role("button", name="Commit").click()
    expect(later.locator(".edu-foot pre")).to_contain_text("result: lower")
