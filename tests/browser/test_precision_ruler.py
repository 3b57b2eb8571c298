"""PrecisionRuler in JupyterLab: the scale dragged by keys, formats, training on."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from .conftest import NotebookPage
from .look import SIZES, faults

pytestmark = pytest.mark.browser
Open = Callable[..., NotebookPage]
PATIENCE = 30_000  # milliseconds

MODEL = """
import tinygrad_edu as tg
from tinygrad_edu import nn
from tinygrad_edu_widgets import PrecisionRuler
layer, x = nn.Linear(64, 32), tg.randn(128, 64)
def step():
    layer.zero_grad()
    (layer(x).square().mean() * 1e-5).backward()
ruler = PrecisionRuler(layer, step=step, lr=0.1)
ruler
"""


def test_the_scale_is_dragged_and_the_format_chosen(open_cells: Open) -> None:
    notebook = open_cells(MODEL, "print(ruler.power)")
    notebook.run_all()
    page = notebook.page
    w = page.locator('.edu[aria-label="PrecisionRuler"]')
    w.wait_for()
    foot = w.locator(".edu-foot pre")
    expect(foot).to_contain_text("format: float16, loss scale: 1")
    w.get_by_role("slider").focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    expect(foot).to_contain_text("loss scale: 2³")
    expect(w.locator(".edu-why")).to_contain_text("2³")
    w.get_by_role("radio", name="int8").click()
    expect(w.locator(".edu-why")).to_contain_text("its step from the largest number")
    w.get_by_role("button", name="20 steps").click()
    expect(foot).to_contain_text("after 20 steps here", timeout=PATIENCE)
    page.keyboard.press("s")
    expect(foot).to_contain_text("after 21 steps here", timeout=PATIENCE)
    w.get_by_role("button", name="Reset").click()
    expect(foot).to_contain_text("format: float16, loss scale: 1")


def test_nothing_is_cut_off_or_overlaps_at_any_size(open_cells: Open) -> None:
    notebook = open_cells(MODEL, "ruler.act('scale', 12)", "PrecisionRuler(tg.randn(999) * 1e9, format='e4m3')")
    notebook.run_all()
    page = notebook.page
    expect(page.locator('.edu[aria-label="PrecisionRuler"]')).to_have_count(2)
    for name, (width, height) in SIZES.items():
        page.set_viewport_size({"width": width, "height": height})
        page.wait_for_timeout(300)
        assert faults(page) == [], name
