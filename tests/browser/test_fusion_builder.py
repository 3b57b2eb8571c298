"""FusionBuilder in JupyterLab: seams pressed by mouse and keyboard, other programs, the compiler's choice."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from .conftest import NotebookPage
from .look import SIZES, faults

pytestmark = pytest.mark.browser
Open = Callable[..., NotebookPage]

BUILDER = """
import tinygrad_edu as tg
from tinygrad_edu_widgets import FusionBuilder
builder = FusionBuilder()
builder
"""


def test_seams_are_pressed_and_the_compiler_is_asked(open_cells: Open) -> None:
    notebook = open_cells(BUILDER, "print(len(builder.data()))")
    notebook.run_all()
    page = notebook.page
    w = page.locator('.edu[aria-label="FusionBuilder"]')
    w.wait_for()
    foot = w.locator(".edu-foot pre")
    seams = w.get_by_role("button", name=": open")
    seams.first.click()
    expect(foot).to_contain_text("launches on a device: as written 9, yours 8")
    seams.first.focus()
    page.keyboard.press("Enter")
    expect(foot).to_contain_text("launches on a device: as written 9, yours 7")
    page.keyboard.press("c")
    expect(foot).to_contain_text("The compiler needs 1 launch")
    w.get_by_role("button", name="Merge all").click()
    expect(foot).to_contain_text("yours 1")
    w.get_by_role("button", name="Part all").click()
    expect(foot).to_contain_text("yours 9")
    w.get_by_role("combobox", name="program").select_option("softmax")
    expect(foot).not_to_contain_text("stays open")
    for seam in (1, 4):
        w.get_by_role("button", name=f"seam {seam}: open").focus()
        page.keyboard.press("Enter")
        expect(foot).to_contain_text(f"seam {seam}: stays open")
        expect(w.get_by_role("button", name=f"seam {seam}: stays open")).to_be_focused()
    expect(w.get_by_role("status")).to_contain_text("This seam stays open")
    w.get_by_role("button", name="Measure").click()
    expect(foot).to_contain_text("time compiler", timeout=30_000)


def test_nothing_is_cut_off_or_overlaps_at_any_size(open_cells: Open) -> None:
    own = "FusionBuilder(lambda x, w: ((x @ w) * 2 + 1).relu().reshape(-1) - 3, tg.rand(512, 64), tg.rand(64, 2048))"
    notebook = open_cells(BUILDER, "builder.act('everything'); builder.act('measure'); builder.wait()", own)
    notebook.run_all()
    page = notebook.page
    expect(page.locator('.edu[aria-label="FusionBuilder"]')).to_have_count(2)
    expect(page.locator(".edu-foot pre").first).to_contain_text("time compiler", timeout=30_000)
    for name, (width, height) in SIZES.items():
        page.set_viewport_size({"width": width, "height": height})
        page.wait_for_timeout(300)
        assert faults(page) == [], name
