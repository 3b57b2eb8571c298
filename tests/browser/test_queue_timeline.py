"""QueueTimeline in JupyterLab: predicted, run, picked by mouse and by keys; a knob and another machine."""

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

LOOPS = """
import tinygrad_edu as tg
from tinygrad_edu_widgets import QueueTimeline
batches = [tg.ones(4096, 64) for _ in range(4)]
fixed = [batch.pin_memory() for batch in batches]
def train(pinned, layers):
    w = tg.full((64, 64), 0.001, device="sim")
    for x in fixed if pinned else batches:
        y = x.to("sim", non_blocking=True)
        for _ in range(layers):
            y = y @ w
timeline = QueueTimeline(lambda layers: train(False, layers), lambda layers: train(True, layers),
                         names=("pageable", "pinned"), knobs={"layers": (2, 8)})
timeline
"""


def test_it_is_predicted_run_and_read(open_cells: Open) -> None:
    notebook = open_cells(LOOPS, "print(timeline.committed, timeline.machine)")
    notebook.run_all()
    page = notebook.page
    w = page.locator('.edu[aria-label="QueueTimeline"]')
    w.wait_for()
    expect(w).to_contain_text("Nothing is run before you commit to a prediction.")
    assert "µs" not in (w.locator(".edu-foot pre").text_content() or "")
    w.get_by_role("radio", name="half to nine tenths").click()
    w.get_by_role("button", name="Commit").click()
    expect(w.locator(".edu-stage")).to_contain_text(re.compile("pinned took"), timeout=PATIENCE)
    expect(w.locator(".edu-prov")).to_have_text("simulated")
    foot = w.locator(".edu-foot pre")
    w.get_by_role("button", name="Longest gap").click()
    expect(foot).to_contain_text(re.compile(r"\nidle .* before matmul: the host is busy with the copy"))
    w.focus()
    page.keyboard.press("g")
    w.locator('.edu-stage svg:visible [data-rove][tabindex="0"]').first.focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowLeft", "Home", "ArrowRight"):
        page.keyboard.press(key)
    held = "document.activeElement.dataset.value"
    assert page.evaluate(held) == w.locator(".edu-stage svg:visible [data-rove]").nth(1).get_attribute("data-value")
    before = page.evaluate(held)
    page.keyboard.press("Enter")
    expect(foot).to_contain_text(re.compile(r"(host|copy in): "))
    assert page.evaluate(held) == before, "the focus stays on what was pressed, though the words above grow"
    w.get_by_role("slider").press("ArrowRight")
    expect(foot).to_contain_text("the host waits after kernel 1", timeout=PATIENCE)
    before = foot.text_content()
    w.get_by_role("radio", name="8", exact=True).click()
    expect(foot).to_contain_text("layers: 8")
    assert foot.text_content() != before
    w.get_by_role("radio", name="H100").click()
    expect(foot).to_contain_text("on a simulated H100", timeout=PATIENCE)
    w.get_by_role("button", name="Ask again").click()
    expect(w).to_contain_text("Nothing is run before you commit to a prediction.")


def test_nothing_is_cut_off_or_overlaps_at_any_size(open_cells: Open) -> None:
    notebook = open_cells(LOOPS, "timeline.predict('longer')\ntimeline.act('gap')")
    notebook.run_all()
    page = notebook.page
    w = page.locator('.edu[aria-label="QueueTimeline"]')
    expect(w.locator(".edu-stage")).to_contain_text(re.compile("pinned took"), timeout=PATIENCE)
    for name, (width, height) in SIZES.items():
        page.set_viewport_size({"width": width, "height": height})
        page.wait_for_timeout(300)
        assert faults(page) == [], name
