"""AdviceReport in JupyterLab: rows chosen by keys, a tip opened, predicted and run, and the way back."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from .conftest import NotebookPage
from .look import SIZES, faults

pytestmark = pytest.mark.browser
Open = Callable[..., NotebookPage]

ADVISED = """
import tinygrad_edu as tg
from tinygrad_edu import tips
from tinygrad_edu_widgets import AdviceReport

x, model = tg.rand(64, 8), tg.nn.Linear(8, 2)
with tips.advise() as report:
    for _ in range(8):
        tg.stack([model(x[i : i + 1]) for i in range(64)])
shown = AdviceReport(report)
shown
"""


def test_a_tip_is_chosen_opened_and_run(open_cells: Open) -> None:
    notebook = open_cells(ADVISED)
    notebook.run_all()
    page = notebook.page
    w = page.locator('.edu[aria-label="AdviceReport"]')
    w.wait_for()
    foot = w.locator(".edu-foot pre")
    expect(foot).to_contain_text("▸ 1. ")
    w.get_by_role("button", name="Next tip").click()
    expect(foot).to_contain_text("▸ 2. ")
    page.keyboard.press("ArrowLeft")
    expect(foot).to_contain_text("▸ 1. Call the model once, for all samples")
    page.keyboard.press("o")
    expect(w.get_by_role("button", name="Back to the report")).to_be_visible()
    w.get_by_role("radio").first.click()
    w.get_by_role("button", name="Commit").click()
    w.get_by_role("button", name="Run", exact=True).click()
    expect(w.get_by_role("button", name="Compare")).to_be_visible(timeout=60_000)
    w.get_by_role("button", name="Back to the report").click()
    expect(foot).to_contain_text("▸ 1. Call the model once, for all samples")


def test_nothing_is_cut_off_or_overlaps_at_any_size(open_cells: Open) -> None:
    notebook = open_cells(ADVISED, "shown.act('open')", "AdviceReport(report)", "AdviceReport(tips.advice.Report())")
    notebook.run_all()
    page = notebook.page
    expect(page.locator('.edu[aria-label="AdviceReport"]')).to_have_count(3)
    for name, (width, height) in SIZES.items():
        page.set_viewport_size({"width": width, "height": height})
        page.wait_for_timeout(300)
        assert faults(page) == [], name
