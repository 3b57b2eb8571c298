"""The broadcast lab in JupyterLab, by mouse and by keyboard; and nothing of the gradients before the prediction."""

from __future__ import annotations

import itertools

import pytest
from playwright.sync_api import expect

from .look import faults
from .test_widgets import Open, snapshot, widget

pytestmark = pytest.mark.browser

LAB = """
from tinygrad_edu_widgets import BroadcastLab
lab = BroadcastLab((3, 1), (1, 4))
lab
"""
HIDDEN = """
import tinygrad_edu as tg
from tinygrad_edu_widgets import BroadcastLab
BroadcastLab(tg.tensor([[1.0], [2.0]]), tg.tensor([427.0, 316.0]), "*")
"""
SECRET = "854+316"  # the terms of a gradient
THREE = "from tinygrad_edu_widgets import BroadcastLab\nBroadcastLab((2, 1, 3), (5, 1), '/', predict=False)"


def test_a_prediction_by_mouse_and_by_keys(open_cells: Open) -> None:
    notebook = open_cells(LAB)
    notebook.run_all()
    w = widget(notebook.page, "BroadcastLab")
    twin = w.locator(".edu-foot pre")
    commit = w.get_by_role("button", name="Commit")
    for by_keys in (False, True):
        expect(twin).to_contain_text("The gradients wait for your prediction.")
        expect(commit).to_be_disabled()
        if by_keys:
            w.get_by_role("radio", name="(1, 4)", exact=True).focus()
            notebook.page.keyboard.press("ArrowRight")
            expect(w.get_by_role("radio", name="(3, 1)", exact=True)).to_have_attribute("aria-checked", "true")
            notebook.page.keyboard.press("Tab")
            notebook.page.keyboard.press("Enter")
        else:
            w.get_by_role("radio", name="(3, 4)", exact=True).click()
            commit.click()
        expect(twin).to_contain_text(f"you: ({'3, 1' if by_keys else '3, 4'})   ∂a: (3, 1)")
        expect(twin).to_contain_text("∂a[0, 0] 4 = 1+0+2+1")
        notebook.page.keyboard.press("r")
    expect(commit).to_be_disabled()


def test_shapes_operation_and_gradient_of_c(open_cells: Open) -> None:
    notebook = open_cells(LAB.replace("(1, 4))", "(1, 4), predict=False)"))
    notebook.run_all()
    w = widget(notebook.page, "BroadcastLab")
    twin = w.locator(".edu-foot pre")
    a = w.get_by_role("textbox", name="shape of a")
    a.fill("3, 2")
    a.press("Enter")
    expect(twin).to_contain_text("axis -1 has 2 elements in one and 4 in the other")
    a.fill("(4,)")
    a.press("Enter")
    expect(twin).to_contain_text("a (4,)")
    a.fill("wide")
    a.press("Enter")
    expect(w.get_by_role("alert")).to_contain_text("a shape is a list of sizes")
    expect(a).to_have_value("4")
    w.get_by_role("button", name="Reset").click()
    w.get_by_role("radio", name="*", exact=True).click()
    expect(twin).to_contain_text("c = a * b")
    w.get_by_role("radio", name="*", exact=True).press("ArrowLeft")
    expect(twin).to_contain_text("c = a - b")
    w.get_by_role("radio", name="+", exact=True).click()
    w.get_by_role("radio", name="ones").click()
    expect(twin).to_contain_text("∂a[0, 0] 4 = 1+1+1+1")
    turn = w.locator("svg:visible [data-act=turn]")
    turn.nth(1).click()
    expect(twin).to_contain_text("∂a[0, 0] 5 = 1+2+1+1")
    turn.nth(1).focus()
    notebook.page.keyboard.press("Enter")
    expect(twin).to_contain_text("∂a[0, 0] 6 = 1+3+1+1")
    w.get_by_role("radio", name="made up").press("ArrowLeft")
    expect(twin).to_contain_text("∂a[0, 0] 4 = 1+1+1+1")


def test_a_number_is_followed_through_its_reads(open_cells: Open) -> None:
    notebook = open_cells(LAB.replace("(1, 4))", "(1, 4), predict=False)"))
    notebook.run_all()
    w = widget(notebook.page, "BroadcastLab")
    twin, numbers = w.locator(".edu-foot pre"), w.locator("svg:visible [data-act=point]")
    numbers.nth(1).hover()
    expect(w.locator(".edu-tip")).to_have_text("a[1, 0] = 20, read 4 times; ∂a[1, 0] = 0+1+1+0 = 2")
    assert w.locator("svg:visible .is-linked").count() == 5  # four reads and the gradient
    numbers.nth(3).focus()
    expect(w.locator(".edu-tip")).to_contain_text("a[1, 0]")  # what is under the pointer comes first
    notebook.page.mouse.move(1, 1)
    expect(w.locator(".edu-tip")).to_contain_text("b[0, 0] = 1, read 3 times")
    notebook.page.keyboard.press("Enter")
    expect(twin).to_contain_text("picked: b[0, 0] = 1, read 3 times")
    notebook.page.keyboard.press("Enter")
    expect(twin).not_to_contain_text("picked")
    numbers.nth(0).click()
    expect(twin).to_contain_text("picked: a[0, 0] = 10, read 4 times")


def test_no_gradient_is_in_the_page_before_the_commit(frames: list[str], open_cells: Open) -> None:
    notebook = open_cells(HIDDEN)
    notebook.run_all()
    w = widget(notebook.page, "BroadcastLab")
    w.get_by_role("radio", name="(2, 2)", exact=True).click()
    expect(w.get_by_role("button", name="Commit")).to_be_enabled()
    saved = notebook.page.evaluate(
        "() => JSON.stringify(window.jupyterapp.shell.currentWidget.content.model.toJSON().cells[0].outputs)"
    )
    assert SECRET not in notebook.page.content() and SECRET not in saved
    assert frames and not any(SECRET in frame for frame in frames)
    w.get_by_role("button", name="Commit").click()
    expect(w.locator(".edu-foot pre")).to_contain_text(SECRET)
    assert any(SECRET in frame for frame in frames)  # it would have been seen


LARGE = LAB.replace("(3, 1)", "(1000, 1)").replace("(1, 4)", "(1000,)")


@pytest.mark.parametrize("source", [LAB, THREE, LARGE], ids=["two axes", "three axes", "large"])
def test_nothing_is_cut_off_or_overlaps(open_cells: Open, source: str) -> None:
    notebook = open_cells(source)
    notebook.run_all()
    notebook.execute("application:toggle-left-area")
    w = widget(notebook.page, "BroadcastLab")
    for theme, width in itertools.product(("JupyterLab Dark", "JupyterLab Light"), (1280, 640)):
        notebook.set_theme(theme)
        notebook.page.set_viewport_size({"width": width, "height": 720})
        assert faults(notebook.page) == []
        if w.get_by_role("button", name="Commit").count():
            w.locator(".seg").last.get_by_role("radio").last.click()
            w.get_by_role("button", name="Commit").click()
            expect(w.locator(".edu-foot pre")).to_contain_text("you: ")
            assert faults(notebook.page) == []
            snapshot(notebook.page, f"broadcast-{width}-{theme.split()[-1].lower()}")
            w.get_by_role("button", name="Reset").click()
            expect(w.get_by_role("button", name="Commit")).to_be_visible()
