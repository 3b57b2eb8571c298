"""Roofline in JupyterLab: predicted, run, picked by mouse and by keys; another machine."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from .conftest import NotebookPage
from .look import SIZES, faults

pytestmark = pytest.mark.browser
Open = Callable[..., NotebookPage]
PATIENCE = 30_000  # milliseconds for runs that take one second on a quiet machine

LAYER = """
import tinygrad_edu as tg
from tinygrad_edu_widgets import Roofline
given = {d: (tg.full((256, 512), 0.01, device=d), tg.full((512, 512), 0.01, device=d)) for d in ("cpu", "sim")}
def layer(device):
    x, w = given[device]
    h = (x @ w).relu()
    for i in range(8):
        h[i] * 2.0
roof = Roofline(layer, machine="T4")
roof
"""


def test_it_is_predicted_run_and_read(open_cells: Open) -> None:
    notebook = open_cells(LAYER, "print(roof.committed, roof.machine)")
    notebook.run_all()
    page = notebook.page
    w = page.locator('.edu[aria-label="Roofline"]')
    w.wait_for()
    expect(w).to_contain_text("Nothing is run before you commit to a prediction.")
    w.get_by_role("radio", name="its arithmetic").click()
    w.get_by_role("button", name="Commit").click()
    expect(w.locator(".edu-stage")).to_contain_text(re.compile("takes .* % of the kernels' time"), timeout=PATIENCE)
    expect(w.locator(".edu-prov")).to_have_text("simulated")
    foot = w.locator(".edu-foot pre")
    expect(foot).to_contain_text("operation 1, ")
    w.locator('.edu-stage svg:visible [data-rove][tabindex="0"]').first.focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(foot).not_to_contain_text("operation 1, ")
    w.locator('.edu-stage svg:visible [data-act="pick"]:not([data-rove])').last.click()
    expect(foot).to_contain_text("operation 1, ")
    w.get_by_role("radio", name="this machine").click()
    expect(w.locator(".edu-prov")).to_have_text("measured", timeout=PATIENCE)
    w.get_by_role("button", name="Measure again").click()
    expect(foot).to_contain_text("this machine: ", timeout=PATIENCE)
    w.get_by_role("button", name="Ask again").click()
    expect(w).to_contain_text("Nothing is run before you commit to a prediction.")


def test_nothing_is_cut_off_or_overlaps_at_any_size(open_cells: Open) -> None:
    notebook = open_cells(LAYER, "roof.predict('its arithmetic')")
    notebook.run_all()
    page = notebook.page
    w = page.locator('.edu[aria-label="Roofline"]')
    expect(w.locator(".edu-stage")).to_contain_text(re.compile("takes .* % of the kernels' time"), timeout=PATIENCE)
    for name, (width, height) in SIZES.items():
        page.set_viewport_size({"width": width, "height": height})
        page.wait_for_timeout(300)
        assert faults(page) == [], name


BOTH = """
import tinygrad_edu as tg
from tinygrad_edu_widgets import Roofline
x, w = tg.full((256, 512), 0.01, device="sim"), tg.full((512, 512), 0.01, device="sim")
def layer(device):
    h = ((x @ w) * 0.5 + 1.0).relu().exp()
    return h / h.sum(1, keepdim=True)
both = Roofline(layer, machine="T4")
both.predict("its arithmetic")
both
"""


def test_as_written_and_compiled(open_cells: Open) -> None:
    notebook = open_cells(BOTH)
    notebook.run_all()
    page = notebook.page
    w = page.locator('.edu[aria-label="Roofline"]')
    w.wait_for()
    stage = w.locator(".edu-stage")
    expect(stage).not_to_contain_text("a run; compiled")
    w.get_by_role("radio", name="compiled").click()
    expect(stage).to_contain_text(re.compile(r"as written 7 kernels, .* a run"), timeout=PATIENCE)
    expect(stage).to_contain_text("filled: compiled; hollow: as written")
    expect(w.get_by_role("radio", name="compiled")).to_have_attribute("aria-checked", "true")
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        for name, (width, height) in SIZES.items():
            page.set_viewport_size({"width": width, "height": height})
            page.wait_for_timeout(300)
            assert faults(page) == [], (theme, name)
    w.get_by_role("radio", name="as written").click()
    expect(stage).to_contain_text("filled: as written; hollow: compiled")


READS = """
import tinygrad_edu as tg
from tinygrad_edu_widgets import Roofline
x = tg.full((16, 16), 0.01)
def reads():
    return x * x.sum().item()
Roofline(reads, shown=True)
"""


def test_what_cannot_be_compiled_says_so_beside_the_result(open_cells: Open) -> None:
    notebook = open_cells(READS)
    notebook.run_all()
    w = notebook.page.locator('.edu[aria-label="Roofline"]')
    w.wait_for()
    w.get_by_role("radio", name="compiled").click()
    expect(w.get_by_role("alert")).to_contain_text("reading a traced value", timeout=PATIENCE)
    expect(w.get_by_role("radio", name="as written")).to_have_attribute("aria-checked", "true")
    expect(w.locator(".edu-stage")).to_contain_text("of forward's time")
