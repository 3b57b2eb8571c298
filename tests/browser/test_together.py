"""Widgets beside others in JupyterLab: in boxes, linked to a slider in the kernel or in the page, with a layout."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from .look import faults
from .test_widgets import Open, snapshot_all, widget

pytestmark = pytest.mark.browser

LINKED = """
import ipywidgets
from tinygrad_edu_widgets import BroadcastLab, GuardLens
lens, lab = GuardLens(), BroadcastLab((2, 1), (1, 2))
slider, twin = ipywidgets.IntSlider(max=5), ipywidgets.Text(description="level", continuous_update=False)
ipywidgets.link((lens, "row"), (slider, "value"))
ipywidgets.jslink((lens, "guard"), (twin, "value"))
ipywidgets.VBox([ipywidgets.HBox([slider, twin]), ipywidgets.HBox([lens, lab])])
"""
NARROW = """
one = GuardLens()
one.layout.width = "500px"
one
"""


def test_two_widgets_in_a_box_fit_answer_and_are_linked(open_cells: Open) -> None:
    notebook = open_cells(LINKED, NARROW)
    notebook.execute("application:toggle-left-area")
    notebook.run_all()
    page = notebook.page
    box, alone = notebook.cell(0), notebook.cell(1)
    lens, lab = box.locator('.edu[aria-label="GuardLens"]'), box.locator('.edu[aria-label="BroadcastLab"]')
    one, two, outer = lens.bounding_box(), lab.bounding_box(), box.locator(".jp-OutputArea-output").first.bounding_box()
    assert one and two and outer
    assert one["x"] + one["width"] <= two["x"] + 1 and abs(one["y"] - two["y"]) < 20
    assert two["x"] + two["width"] <= outer["x"] + outer["width"] + 1
    snapshot_all(page, "together")
    assert one["width"] > 400 and two["width"] > 400, (one, two, outer)
    assert faults(page) == []
    snapshot_all(page, "together")
    slider = box.get_by_role("slider").first
    slider.focus()
    for line in ("> 5 ", "> 6 "):
        page.keyboard.press("ArrowRight")
        expect(lens.locator(".edu-foot pre")).to_contain_text(line)
    lens.get_by_role("button", name="Line up").click()
    expect(slider).to_have_attribute("aria-valuenow", "4.0")
    level = box.get_by_role("textbox", name="level")
    level.fill("off")  # linked in the page, and so in the kernel
    level.press("Enter")
    expect(lens.locator(".edu-foot pre")).to_contain_text("guard off")
    lens.get_by_role("radio", name="on", exact=True).click()
    expect(level).to_have_value("on")
    level.fill("maybe")
    level.press("Enter")
    expect(lens.get_by_role("alert")).to_contain_text("maybe")
    expect(level).to_have_value("on")  # it learns what holds
    lab.get_by_role("radio", name="*", exact=True).click()
    expect(lab.locator(".edu-foot pre")).to_contain_text("c = a * b")
    narrow = alone.locator(".edu").bounding_box()
    assert narrow and narrow["width"] == pytest.approx(500, abs=6)
    expect(widget(page, "BroadcastLab")).to_have_count(1)
