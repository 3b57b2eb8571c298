"""Widgets before an audience: each state fits a projector, and keys of a remote control are enough."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tinygrad_edu_widgets import GuardLens, PredictGate

from tests.widgets.test_every_widget import MAKERS, STATES, reach

from .conftest import NotebookPage
from .look import faults
from .stub import answer, put
from .test_widgets import LENS, widget

pytestmark = pytest.mark.browser
Open = Callable[..., NotebookPage]

# The visible parts that have to be inside the window, with what is outside of it; the figure's own room may scroll.
OUTSIDE = """() => {
    const root = document.querySelector(".edu");
    const parts = [".edu-head", ".edu-ask", ".edu-body > .edu-stage", ".edu-board", ".edu-desk",
        ".edu-body > .edu-controls", ".edu-body > .edu-controls > *", ".edu-why", ".edu-foot"];
    const found = [];
    for (const part of parts) for (const one of root.querySelectorAll(part)) {
        const box = one.getBoundingClientRect();
        if (!box.width) continue;
        if (box.top < -0.5 || box.left < -0.5 || box.bottom > innerHeight + 0.5 || box.right > innerWidth + 0.5)
            found.push(`${part}: ${[box.left, box.right, box.top, box.bottom].map(Math.round)}`);
    }
    return found;
}"""
ZOOM = "() => Number(document.querySelector('.edu').style.getPropertyValue('--edu-zoom'))"


@pytest.mark.parametrize("name", MAKERS)
def test_every_state_fits_a_projector(page: Page, name: str) -> None:
    """The last ways of MAKERS lead to the tallest states."""
    paths: list[Any] = [path for kind, path in STATES if kind == name]
    for i, path in enumerate(paths):
        made = reach(name, path)
        made.present()
        put(page, made)
        root = page.locator(".edu")
        expect(root).to_have_attribute("data-window", "")
        assert page.evaluate(OUTSIDE) == [], path
        assert page.evaluate(ZOOM) >= 1, path
        assert root.evaluate("e => e.matches(':popover-open')")
        assert faults(page) == [], path
        if folder := os.environ.get("TINYGRAD_EDU_SCREENSHOTS"):
            Path(folder).mkdir(parents=True, exist_ok=True)
            page.screenshot(path=f"{folder}/present-{name.replace(' ', '-')}-{i}.png")


def test_a_remote_control_steps_and_commits_and_escape_leaves(page: Page) -> None:
    lens = GuardLens()
    lens.present()
    put(page, lens)
    root, keys = page.locator(".edu"), page.keyboard
    expect(root).to_be_focused()
    for key, line in (("PageDown", "> 5 "), ("PageDown", "> 6 "), ("PageUp", "> 5 ")):
        keys.press(key)
        answer(page, lens)
        assert line in lens.text()
    keys.press("Escape")
    expect(root).not_to_have_attribute("data-present", "")
    assert not root.evaluate("e => e.hasAttribute('popover')")
    assert page.evaluate("() => state.presenting") is False
    keys.press("PageDown")
    assert page.evaluate("() => sent.length") == 0  # the notebook scrolls


def test_a_remote_control_presses_what_the_question_asks_for(page: Page) -> None:
    gate = PredictGate("Which?", lambda: "b", choices=["a", "b"])
    gate.act("draft", "a")
    gate.present()
    put(page, gate)
    page.keyboard.press("PageUp")
    assert page.evaluate("() => sent.length") == 0
    page.keyboard.press("PageDown")
    answer(page, gate)
    assert gate.committed
    expect(page.get_by_role("status")).to_have_text("You predicted a. Result: b.")
    page.keyboard.press("Escape")
    expect(page.locator(".edu")).not_to_have_attribute("data-present", "")


def test_type_never_grows_under_the_audiences_eyes(page: Page) -> None:
    lens = GuardLens()
    lens.present()
    put(page, lens)
    first = page.evaluate(ZOOM)
    lens.act("edit")
    page.evaluate("html => tell({ html })", lens.html)
    small = page.evaluate(ZOOM)
    assert 1 <= small < first and page.evaluate(OUTSIDE) == []
    lens.act("edit")
    page.evaluate("html => tell({ html })", lens.html)
    assert page.evaluate(ZOOM) == small
    page.set_viewport_size({"width": 1920, "height": 1080})
    page.wait_for_function(f"() => ({ZOOM})() > {first}")
    assert page.evaluate(OUTSIDE) == [] and faults(page) == []


def test_in_jupyterlab_it_covers_everything(open_cells: Open) -> None:
    notebook = open_cells(LENS.replace("GuardLens()", "lens = GuardLens()\nlens"), "lens.present()")
    notebook.run_all()
    page, w = notebook.page, widget(notebook.page, "GuardLens")
    expect(w).to_have_attribute("data-window", "")
    assert w.bounding_box() == {"x": 0, "y": 0, "width": 1280, "height": 720}
    assert page.evaluate("() => document.elementFromPoint(5, 5).closest('.edu') !== null")  # no toolbar above it
    page.keyboard.press("PageDown")
    expect(w.locator(".edu-foot pre")).to_contain_text("> 5 ")
    page.keyboard.press("Escape")
    expect(w).not_to_have_attribute("data-present", "")
    expect(notebook.cell(0).locator(".jp-InputArea")).to_be_visible()


def test_in_jupyterlab_it_can_stay_among_the_cells(open_cells: Open) -> None:
    notebook = open_cells(LENS.replace("GuardLens()", "lens = GuardLens()\nlens.present(code=True)\nlens"))
    notebook.run_all()
    w = widget(notebook.page, "GuardLens")
    expect(w).to_have_attribute("data-present", "")
    expect(w).not_to_have_attribute("data-window", "")
    expect(notebook.cell(0).locator(".jp-InputArea")).to_be_visible()
    box = w.get_by_role("button", name="Reset").bounding_box()
    assert box is not None and box["height"] > 45
    assert faults(notebook.page) == []
