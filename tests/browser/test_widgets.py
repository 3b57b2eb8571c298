"""Each widget in JupyterLab, as a learner uses it: mouse, keyboard, typing and dragging, at least twice each."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Locator, Page, expect

from .conftest import READY, Lab, NotebookPage
from .look import SIZES, faults

pytestmark = pytest.mark.browser
Open = Callable[..., NotebookPage]

STEPPER = """
import tinygrad_edu as tg
from tinygrad_edu import nn
from tinygrad_edu_widgets import GraphStepper
x = tg.tensor(2.0, requires_grad=True)
w = tg.tensor(-3.0, requires_grad=True)
tg.manual_seed(0)
layer = nn.Sequential(nn.Linear(1, 2), nn.Tanh())
def loss_of(x, w):
    p = x * w
    return p * p + layer(x.reshape(1, 1)).sum()
GraphStepper(loss_of, x=x, w=w, ask="What will `x.grad` hold at the end?")
"""
MAP = """
import tinygrad_edu as tg
from tinygrad_edu_widgets import BufferMap
x = tg.arange(12, dtype="float32").reshape(3, 4)
labels = {"x": "arange(12).reshape(3, 4)", "t": "x.T", "s": "x[::2]", "c": "x.clone()"}
BufferMap(x=x, t=x.T, s=x[::2], c=x.clone(), labels=labels)
"""
LENS = "from tinygrad_edu_widgets import GuardLens\nGuardLens()"
CHOICE = """
from tinygrad_edu_widgets import PredictGate
def reveal():
    return "forty" + "-two"
PredictGate("What is the answer?", reveal, choices=["one", "forty-two", "none"], why="It **always** was.")
"""
NUMBER = """
from tinygrad_edu_widgets import PredictGate
PredictGate("How many?", lambda: 6.1e9 * 7e9, low=0, high=1e20)
"""
SECRET = "4.27e19"  # no time stamp or identifier in a message can hold it by chance
CURVE = """
from tinygrad_edu_widgets import PredictGate
PredictGate("Draw it.", lambda: [v / 8 for v in range(9)], xs=range(9), x_label="step", y_label="height")
"""


def widget(page: Page, name: str) -> Locator:
    """The live widget of that name."""
    found = page.locator(f'.edu[aria-label="{name}"]')
    found.wait_for()
    return found


def snapshot(page: Page, name: str) -> None:
    """Keep a picture for people, where they ask for it."""
    folder = os.environ.get("TINYGRAD_EDU_SCREENSHOTS")
    if folder:
        Path(folder).mkdir(parents=True, exist_ok=True)
        page.locator(".edu").first.screenshot(path=f"{folder}/{name}.png")


def snapshot_all(page: Page, name: str) -> None:
    """Keep a picture of all that the window shows."""
    folder = os.environ.get("TINYGRAD_EDU_SCREENSHOTS")
    if folder:
        Path(folder).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=f"{folder}/{name}.png")


def text_of(w: Locator) -> str:
    """The text twin, as the page has it."""
    return w.locator(".edu-foot pre").text_content() or ""


def test_graph_stepper_steps_by_mouse_and_keys(open_cells: Open) -> None:
    notebook = open_cells(STEPPER)
    notebook.run_all()
    w = widget(notebook.page, "GraphStepper")
    foot = w.locator(".edu-foot")
    expect(foot).to_contain_text("forward 0 of")
    w.get_by_role("button", name="Step", exact=True).click()
    expect(foot).to_contain_text("forward 1 of")
    w.get_by_role("button", name="Step", exact=True).click()
    expect(foot).to_contain_text("forward 2 of")
    notebook.page.keyboard.press("ArrowLeft")
    expect(foot).to_contain_text("forward 1 of")
    notebook.page.keyboard.press("End")
    expect(foot).to_contain_text("backward")
    notebook.page.keyboard.press("Home")
    expect(foot).to_contain_text("forward 0 of")
    slider = w.get_by_role("slider")
    slider.fill("5")
    expect(foot).to_contain_text("forward 5 of")
    slider.fill("9")
    expect(foot).not_to_contain_text("forward 5 of")


def test_graph_stepper_edits_a_leaf_and_resets(open_cells: Open) -> None:
    notebook = open_cells(STEPPER)
    notebook.run_all()
    w = widget(notebook.page, "GraphStepper")
    box = w.get_by_role("textbox", name="x =")
    box.fill("5")
    box.press("Enter")
    expect(w.locator(".edu-foot pre")).to_contain_text(re.compile(r"^  x   5\.00", re.M))
    box.fill("not a number")
    box.press("Enter")
    expect(box).to_have_value("5")
    expect(w.get_by_role("alert")).to_contain_text("it is not a number")
    box.fill("-1.5")
    box.press("Enter")
    expect(w.locator(".edu-foot pre")).to_contain_text(re.compile(r"^  x   −1\.50", re.M))
    w.get_by_role("button", name="Reset").click()
    expect(w.locator(".edu-foot pre")).to_contain_text(re.compile(r"^  x   2\.00", re.M))


def test_graph_stepper_collapses_modules_and_jumps(open_cells: Open) -> None:
    notebook = open_cells(STEPPER)
    notebook.run_all()
    w = widget(notebook.page, "GraphStepper")
    w.get_by_role("button", name="Collapse modules").click()
    module = w.locator("svg:visible [data-act=toggle]").filter(has_text="▸2")
    expect(module).to_be_visible()
    module.focus()
    notebook.page.keyboard.press("Enter")
    expect(module).to_have_count(0)
    notebook.page.keyboard.press("m")
    expect(module).to_be_visible()
    notebook.page.keyboard.press("m")
    card = w.locator("svg:visible [data-act=jump]").filter(has_text="tanh")
    card.click()
    expect(w.locator(".edu-foot pre")).to_contain_text("now: tanh forward")
    card.hover()
    expect(w.locator(".edu-tip")).to_contain_text("tanh")


def test_buffer_map_points_writes_and_adds(open_cells: Open) -> None:
    notebook = open_cells(MAP)
    notebook.run_all()
    w = widget(notebook.page, "BufferMap")
    twin = w.locator(".edu-foot pre")
    w.get_by_role("radio", name="t", exact=True).click()
    expect(twin).to_contain_text("t[0, 0] holds 0 and is at byte 0")
    axis = w.get_by_role("spinbutton", name="index along axis 0")
    axis.focus()
    notebook.page.keyboard.press("ArrowUp")
    notebook.page.keyboard.press("ArrowUp")
    expect(twin).to_contain_text("t[2, 0] holds 2 and is at byte 0 + 2·4 + 0·16 = 8, as are x[0, 2] and s[0, 2]")
    box = axis.bounding_box()
    assert box is not None
    notebook.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 10)
    notebook.page.mouse.down()
    notebook.page.mouse.move(box["x"] + box["width"] / 2 - 30, box["y"] + 10, steps=6)
    notebook.page.mouse.up()
    expect(twin).to_contain_text("t[0, 0] holds 0 and is at byte 0")
    w.locator("svg:visible [data-act=point]").nth(5).click()
    expect(twin).to_contain_text("x[1, 1] holds 5 and is at byte 0 + 1·16 + 1·4 = 20")
    w.get_by_role("button", name="x[1, 1] = 99").click()
    expect(twin).to_contain_text("x[1, 1] = 99 wrote bytes 20 to 23 of buffer A: t sees it too, s and c do not")
    w.locator("svg:visible [data-act=point]").nth(3).hover()
    expect(w.locator(".edu-tip")).to_contain_text("x[0, 3] is at byte 12 of buffer A and holds 3")
    add = w.get_by_role("textbox", name="add")
    add.fill("x[1:, ::2].T")
    add.press("Enter")
    expect(twin).to_contain_text("v = x[1:, ::2].T: (2, 2), strides (8, 16) bytes, from byte 16")
    w.get_by_role("radio", name="order of visits").click()
    expect(twin).to_contain_text("12th")
    w.get_by_role("radio", name="values").click()
    expect(twin).not_to_contain_text("12th")
    w.get_by_role("button", name="Remove v").click()
    expect(twin).not_to_contain_text("v = ")
    add.fill("x.nonsense()")
    add.press("Enter")
    expect(twin).to_contain_text("▲ the view 'x.nonsense()'")
    w.get_by_role("button", name="Reset").click()
    expect(twin).not_to_contain_text("99")


def test_a_buffer_map_says_when_another_or_a_cell_has_written(open_cells: Open) -> None:
    notebook = open_cells(MAP, "BufferMap(x=x)", "x.array[2, 3] = 7")
    notebook.run_all()
    maps = notebook.page.locator('.edu[aria-label="BufferMap"]')
    expect(maps).to_have_count(2)
    for one in (maps.nth(0), maps.nth(1)):
        expect(one.locator(".edu-since")).to_contain_text("changed since this picture was made")
        one.get_by_role("button", name="Read again").click()
        expect(one.locator(".edu-since")).to_have_count(0)
    maps.nth(1).get_by_role("button", name="x[0, 0] = 99").click()
    expect(maps.nth(1).locator(".edu-since")).to_have_count(0)
    expect(maps.nth(0).locator(".edu-since")).to_contain_text("x, t and s have changed since this picture was made")
    maps.nth(0).get_by_role("button", name="Read again").press("Enter")
    expect(maps.nth(0).locator(".edu-foot pre")).to_contain_text("value     99")


def test_buffer_map_free_view(open_cells: Open) -> None:
    notebook = open_cells(MAP)
    notebook.run_all()
    w = widget(notebook.page, "BufferMap")
    twin = w.locator(".edu-foot pre")
    w.get_by_role("radio", name="free view").click()
    stride = w.get_by_role("spinbutton", name="stride in bytes, axis 0")
    stride.focus()
    notebook.page.keyboard.press("ArrowDown")
    expect(twin).to_contain_text("(3, 4), strides (12, 4) bytes")
    notebook.page.keyboard.press("ArrowDown")
    expect(twin).to_contain_text("(3, 4), strides (8, 4) bytes")
    for _ in range(5):
        notebook.page.keyboard.press("ArrowUp")
    expect(twin).to_contain_text("would begin at byte")


def test_guard_lens_switches_walks_and_edits(open_cells: Open) -> None:
    notebook = open_cells(LENS)
    notebook.run_all()
    w = widget(notebook.page, "GuardLens")
    twin = w.locator(".edu-foot pre")
    expect(twin).to_contain_text("▲ ValueError in line 4")
    w.get_by_role("radio", name="off").click()
    expect(twin).to_contain_text("t.grad  [20, 4, 6]  wrong")
    w.get_by_role("radio", name="off").press("ArrowLeft")
    expect(twin).to_contain_text("guard on")
    notebook.page.locator(".edu svg:visible [data-act=row]").nth(5).click()
    expect(twin).to_contain_text("> 6 a[0] = 10.0   # allowed")
    w.get_by_role("button", name="Line up").click()
    expect(twin).to_contain_text("> 5 y.backward()")
    w.get_by_role("button", name="Edit the code").click()
    area = w.get_by_role("textbox", name="the program")
    area.fill(
        "a = np.array([1., 2.])\nt = tensor([1., 2.], requires_grad=True)\ny = (t + a).sum()\na[0] = 5\ny.backward()"
    )
    w.get_by_role("button", name="Done").click()
    expect(twin).to_contain_text("4 a[0] = 5   # allowed")
    w.get_by_role("button", name="Edit the code").click()
    w.get_by_role("textbox", name="the program").fill("a = np.ones(2)\nwhile True: pass")
    w.get_by_role("button", name="Done").click()
    w.get_by_role("button", name="Stop").click()
    expect(twin).to_contain_text("it was stopped")
    expect(twin).to_contain_text("while True: pass")
    w.get_by_role("button", name="Reset").click()
    expect(twin).to_contain_text("▲ ValueError in line 4")


@pytest.mark.parametrize("source, secret", [(CHOICE, "It <b>always</b> was"), (NUMBER, SECRET)])
def test_predict_gate_hides_until_committed(frames: list[str], open_cells: Open, source: str, secret: str) -> None:
    notebook = open_cells(source)
    notebook.run_all()
    w = widget(notebook.page, "PredictGate")
    commit = w.get_by_role("button", name="Commit")
    expect(commit).to_be_disabled()
    if source is CHOICE:
        w.get_by_role("radio", name="one", exact=True).click()
        w.get_by_role("radio", name="one", exact=True).press("ArrowRight")
        expect(w.get_by_role("radio", name="forty-two")).to_have_attribute("aria-checked", "true")
        w.get_by_role("radio", name="none", exact=True).click()
    else:
        w.get_by_role("spinbutton").fill("10")
        expect(commit).to_be_enabled()
        w.get_by_role("spinbutton").fill("12")
    expect(commit).to_be_enabled()
    saved = notebook.page.evaluate(
        "() => JSON.stringify(window.jupyterapp.shell.currentWidget.content.model.toJSON().cells[0].outputs)"
    )
    assert secret not in notebook.page.content() and secret not in saved
    assert frames and not any(secret in frame for frame in frames)
    commit.click()
    expect(w.locator(".edu-foot pre")).to_contain_text("you: none" if source is CHOICE else f"result: {SECRET}")
    expect(w.get_by_role("status")).to_contain_text("You predicted ")
    expect(w.locator(".edu-stage")).to_be_focused()  # Commit is gone: the next thing read is the result
    assert secret in notebook.page.content()
    assert any(secret in frame for frame in frames)  # it would have been seen
    snapshot(notebook.page, f"predict-{'choice' if source is CHOICE else 'number'}")
    w.get_by_role("button", name="Ask again").click()
    expect(w.get_by_role("button", name="Commit")).to_be_disabled()


def test_predict_gate_draws_a_curve(open_cells: Open) -> None:
    notebook = open_cells(CURVE)
    notebook.run_all()
    w = widget(notebook.page, "PredictGate")
    w.get_by_role("button", name="Start level").click()  # the way in without a pointer
    expect(w.locator("svg:visible [data-act=nudge]")).to_have_count(9)
    for height in (0.3, 0.8):
        sheet = w.locator("svg:visible [data-draw] rect").bounding_box()
        assert sheet is not None
        y = sheet["y"] + sheet["height"] * (1 - height)
        notebook.page.mouse.move(sheet["x"] + 4, y)
        notebook.page.mouse.down()
        notebook.page.mouse.move(sheet["x"] + sheet["width"] - 4, y, steps=20)
        notebook.page.mouse.up()
        expect(w.locator(".edu-foot pre")).to_contain_text(re.compile(rf"0: {height - 0.01:.2f}|0: {height:.1f}"))
    point = w.locator("svg:visible [data-act=nudge]").first
    point.focus()
    notebook.page.keyboard.press("ArrowUp")
    notebook.page.keyboard.press("ArrowUp")
    expect(w.locator(".edu-foot pre")).to_contain_text(re.compile(r"0: 0\.8[2-5]"))
    w.get_by_role("button", name="Commit").click()
    expect(w.locator(".edu-foot pre")).to_contain_text("8: 1.00")


TRAINING = """
import time
from tinygrad_edu_widgets import TrainingMonitor
monitor = TrainingMonitor(40)
monitor
"""
LOOP = """
for epoch in range(40):
    monitor.log(1 / (epoch + 1))
    time.sleep(0.1)
"""


def test_training_monitor_follows_a_running_cell(open_cells: Open) -> None:
    notebook = open_cells(TRAINING, LOOP)
    notebook.page.evaluate("() => { window.jupyterapp.commands.execute('notebook:run-all-cells'); }")  # and go on
    w = widget(notebook.page, "TrainingMonitor")
    expect(w.locator(".edu-foot pre")).to_contain_text("2: 0.500")
    assert "40: 0.0250" not in text_of(w)  # the cell is still at work
    for point, words in (("p0", "epoch 1: loss 1.00"), ("p1", "epoch 2: loss 0.500")):
        w.locator(f"svg:visible [data-link={point}]").hover()
        expect(w.locator(".edu-tip")).to_contain_text(words)
    expect(w.locator(".edu-foot pre")).to_contain_text("40: 0.0250")
    assert faults(notebook.page) == []


def test_widgets_work_in_notebook_7(page: Page, notebook7: Lab, complaints: list[str]) -> None:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in (STEPPER, CHOICE)])
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(notebook, notebook7.root / "widgets.ipynb")
    page.goto(f"{notebook7.address}/notebooks/widgets.ipynb?token={notebook7.token}")
    page.wait_for_function("() => window.jupyterapp")
    NotebookPage(page).wait_for(READY, "widgets.ipynb")
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
    w = widget(page, "GraphStepper")
    w.get_by_role("button", name="Step", exact=True).click()
    w.get_by_role("button", name="Step", exact=True).click()
    expect(w.locator(".edu-foot")).to_contain_text("forward 2 of")
    gate = widget(page, "PredictGate")
    gate.get_by_role("radio", name="none", exact=True).click()
    gate.get_by_role("button", name="Commit").click()
    expect(gate.locator(".edu-foot pre")).to_contain_text("you: none")
    assert faults(page) == []
    own = "page error: Cannot read properties of undefined (reading 'schema')"  # Notebook's, on an empty page too
    complaints[:] = [complaint for complaint in complaints if complaint != own]


def test_nothing_is_cut_off_or_overlaps(open_cells: Open) -> None:
    notebook = open_cells(STEPPER, MAP, LENS, CHOICE, CURVE)
    notebook.run_all()
    notebook.execute("application:toggle-left-area")
    w = widget(notebook.page, "GraphStepper")
    for theme, (size, (width, height)) in itertools.product(("JupyterLab Dark", "JupyterLab Light"), SIZES.items()):
        notebook.set_theme(theme)
        notebook.page.set_viewport_size({"width": width, "height": height})
        for _ in range(12):
            w.get_by_role("button", name="Step", exact=True).click()
        notebook.page.wait_for_timeout(300)
        assert faults(notebook.page) == []
        folder = os.environ.get("TINYGRAD_EDU_SCREENSHOTS")
        if folder:
            Path(folder).mkdir(parents=True, exist_ok=True)
            for i, each in enumerate(notebook.page.locator(".edu").all()):
                each.screenshot(path=f"{folder}/{i}-{size}-{theme.split()[-1].lower()}.png")
        w.get_by_role("button", name="Reset").click()


def test_a_static_page_needs_no_kernel(page: Page, tmp_path: Path) -> None:
    from tinygrad_edu_widgets import GuardLens

    file = tmp_path / "lens.html"
    file.write_text(GuardLens().to_html(), encoding="utf-8")
    page.route("file://**", lambda route: route.continue_())
    page.goto(file.as_uri())
    assert page.get_by_role("button").count() == 0
    page.locator("summary").click()
    expect(page.locator("pre")).to_contain_text("ValueError in line 4")
    assert faults(page) == []
