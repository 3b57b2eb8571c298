"""PromotionTracer in JupyterLab: rows pressed by mouse and keys, tables, an input made narrow, the clock, the magic."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from .conftest import NotebookPage
from .look import SIZES, faults

pytestmark = pytest.mark.browser
Open = Callable[..., NotebookPage]
PATIENCE = 30_000  # milliseconds for a race that takes two seconds on a quiet machine

LOSS = """
import numpy as np
import tinygrad_edu as tg
from tinygrad_edu_widgets import PromotionTracer
def loss_of(x, W, scale, target):
    guess = (x @ W).tanh()
    return ((guess - target) * scale).square().mean()
given = dict(x=tg.ones(64, 32), W=tg.full((32, 8), 0.1), scale=np.linspace(0.5, 1.5, 8), target=tg.zeros(64, 8))
tracer = PromotionTracer(loss_of, **given)
tracer
"""


def test_rows_are_read_and_the_culprit_is_made_narrow(open_cells: Open) -> None:
    notebook = open_cells(LOSS, "print(tracer.table, tracer.state.trace.first)")
    notebook.run_all()
    page = notebook.page
    w = page.locator('.edu[aria-label="PromotionTracer"]')
    w.wait_for()
    foot = w.locator(".edu-foot pre")
    expect(foot).to_contain_text("first to widen")
    expect(foot).to_contain_text("> ")
    w.locator('.edu-stage svg:visible [data-rove][tabindex="0"]').first.focus()
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    expect(foot).to_contain_text("mean: float64 64×8 gave float64 scalar")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(foot).to_contain_text("square: float64 64×8 gave")
    w.locator('.edu-stage svg:visible [data-act="pick"]', has_text="target").click()
    expect(w).to_contain_text("make target")
    w.locator('.edu-stage svg:visible [data-act="pick"]', has_text="scale").click()
    w.get_by_role("button", name="Time it").click()
    expect(w.locator(".edu-prov")).to_have_text("measured", timeout=PATIENCE)
    expect(foot).to_contain_text("scale float64, ")
    w.get_by_role("radio", name="float32").click()
    expect(foot).not_to_contain_text("first to widen")
    expect(w).to_contain_text("All floats here are float32")
    w.get_by_role("radio", name="numpy").click()
    expect(foot).to_contain_text("rules: NumPy")
    page.keyboard.press("r")
    expect(foot).to_contain_text("first to widen")


def test_a_cell_is_traced_by_the_magic(open_cells: Open) -> None:
    notebook = open_cells(LOSS, "%load_ext tinygrad_edu_widgets", "%%dtypes\nx, scale = given['x'], 0.5\nx * scale")
    notebook.run_all()
    tracers = notebook.page.locator('.edu[aria-label="PromotionTracer"]')
    expect(tracers).to_have_count(2)
    expect(tracers.last.locator(".edu-foot pre")).to_contain_text("mul, 64×32 float32")


def test_nothing_is_cut_off_or_overlaps_at_any_size(open_cells: Open) -> None:
    refused = "PromotionTracer(loss_of, **{**given, 'W': tg.ones(32, 8, dtype='float64')})"
    notebook = open_cells(LOSS, refused, "tracer.act('time')")
    notebook.run_all()
    page = notebook.page
    w = page.locator('.edu[aria-label="PromotionTracer"]')
    expect(w.first.locator(".edu-prov")).to_have_text("measured", timeout=PATIENCE)
    expect(w.last).to_contain_text("a matrix product does not mix dtypes")
    for name, (width, height) in SIZES.items():
        page.set_viewport_size({"width": width, "height": height})
        page.wait_for_timeout(300)
        assert faults(page) == [], name
