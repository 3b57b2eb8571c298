"""MemoryRiver in JupyterLab: predicted, run, and walked through by mouse and by keyboard; and its cell magic."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.views.river.test_river import fake, shown
from tests.widgets.test_every_widget import RIVER, reach
from tinygrad_edu.views import river
from tinygrad_edu.views.river import RiverState, frame

from .look import SIZES, faults
from .stub import answer, put
from .test_widgets import Open, snapshot, widget

pytestmark = pytest.mark.browser

RUNS = """
import tinygrad_edu as tg
from tinygrad_edu.observe.memory import mark
from tinygrad_edu_widgets import MemoryRiver
def step():
    x = tg.ones(500, 500, requires_grad=True)
    loss = (x.exp() * x.tanh()).sum()
    mark("loss", kept=True)
    loss.backward()
def forward():
    with tg.no_grad():
        tg.ones(500, 500).exp().sum()
ran = []
river = MemoryRiver(lambda: ran.append(step()), forward, names=("step", "no_grad"))
river
"""
LONG = """
import tinygrad_edu as tg
from tinygrad_edu_widgets import MemoryRiver
def run():
    x = tg.ones(10)
    while True:
        x = x + 1
MemoryRiver(run)
"""
FIRST = "%%memory -n two recorded\nx = tg.ones(500, 500, requires_grad=True)\ny = x * 2"
SECOND = "%%memory -n two no_grad\nwith tg.no_grad():\n    y = x * 2"
SOON = 60_000


def test_predicted_and_run_by_mouse_and_by_keys(open_cells: Open) -> None:
    notebook = open_cells(RUNS, "ran")
    notebook.run_all()
    page = notebook.page
    w = widget(page, "MemoryRiver")
    twin = w.locator(".edu-foot pre")
    expect(twin).to_contain_text("Nothing is shown before you commit to a prediction.")
    expect(w.get_by_role("button", name="Commit")).to_be_disabled()
    expect(notebook.cell(1).locator(".jp-OutputArea-output")).to_contain_text("[]")
    snapshot(page, "memory-river-hidden")
    w.get_by_role("radio", name="data").click()
    w.get_by_role("button", name="Commit").click()
    expect(twin).to_contain_text("You predicted data. At the peak of A, gradients hold the most", timeout=SOON)
    expect(w.locator("svg:visible").get_by_text("you", exact=True)).to_be_visible()
    assert faults(page) == []
    snapshot(page, "memory-river")
    w.get_by_role("button", name="Ask again").click()
    expect(twin).to_contain_text("Nothing is shown")
    w.get_by_role("radio", name="optimiser").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(w.get_by_role("radio", name="gradients")).to_be_checked()
    w.get_by_role("button", name="Commit").focus()
    page.keyboard.press("Enter")
    expect(twin).to_contain_text("As you predicted: at the peak of A, gradients hold the most", timeout=SOON)
    page.keyboard.press("r")
    expect(twin).to_contain_text("Nothing is shown")


def test_walking_by_columns_keys_slider_and_buttons(open_cells: Open) -> None:
    notebook = open_cells(RUNS, "river.predict('data')")
    notebook.run_all()
    page = notebook.page
    w = widget(page, "MemoryRiver")
    twin = w.locator(".edu-foot pre")
    slider = w.get_by_role("slider")
    columns = w.locator("svg:visible [data-act=at]")
    for i in (2, 4):
        columns.nth(i).click()
        expect(twin).to_contain_text(f"A, event {i + 1} of")
    page.keyboard.press("ArrowLeft")
    expect(twin).to_contain_text("A, event 4 of")
    page.keyboard.press("ArrowLeft")
    expect(twin).to_contain_text("A, event 3 of")
    page.keyboard.press("ArrowRight")
    expect(twin).to_contain_text("A, event 4 of")
    w.get_by_role("button", name="Step", exact=True).click()
    expect(twin).to_contain_text("A, event 5 of")
    w.get_by_role("button", name="Event before").click()
    expect(twin).to_contain_text("A, event 4 of")
    slider.fill("1")
    expect(twin).to_contain_text("A, event 2 of")
    slider.fill("2")
    expect(twin).to_contain_text("A, event 3 of")
    w.get_by_role("button", name="Peak").click()
    expect(twin).to_contain_text(", the peak: backward of")
    w.get_by_role("radio", name="B", exact=True).click()
    expect(twin).to_contain_text("\nB, event ")
    page.keyboard.press("p")
    expect(twin).to_contain_text("the peak: exp")
    w.get_by_role("radio", name="B", exact=True).press("ArrowLeft")
    expect(twin).to_contain_text("\nA, event ")
    columns.nth(1).hover()
    expect(w.locator(".edu-tip")).to_contain_text("event 2, ")
    columns.nth(2).hover()
    expect(w.locator(".edu-tip")).to_contain_text("event 3, ")
    columns.last.press("Enter")
    expect(twin).to_contain_text("\nB, event ")


def test_a_run_is_stopped(open_cells: Open) -> None:
    notebook = open_cells(LONG)
    notebook.run_all()
    w = widget(notebook.page, "MemoryRiver")
    twin = w.locator(".edu-foot pre")
    for by_keys in (False, True):
        w.get_by_role("radio", name="data").click()
        w.get_by_role("button", name="Commit").click()
        expect(w.get_by_role("progressbar")).to_be_visible()
        expect(twin).to_contain_text("The run is under way.")
        stop = w.get_by_role("button", name="Stop")
        if by_keys:
            stop.focus()
            notebook.page.keyboard.press("Enter")
        else:
            stop.click()
        expect(w.get_by_role("alert")).to_contain_text("It was stopped.", timeout=SOON)
        w.get_by_role("button", name="Ask again").click()


def test_two_cells_of_one_name_are_drawn_on_one_scale(open_cells: Open) -> None:
    notebook = open_cells("%load_ext tinygrad_edu_widgets\nimport tinygrad_edu as tg", FIRST, SECOND, "y.requires_grad")
    notebook.run_all()
    rivers = notebook.page.locator('.edu[aria-label="MemoryRiver"]')
    expect(rivers).to_have_count(2)
    expect(notebook.cell(3).locator(".jp-OutputArea-output")).to_contain_text("False")
    for one, told in ((rivers.nth(0), "peak of recorded"), (rivers.nth(1), "A peaks at")):
        one.get_by_role("radio", name="parameters").click()
        one.get_by_role("button", name="Commit").click()
        expect(one.locator(".edu-foot pre")).to_contain_text(told)
    expect(rivers.nth(1).locator(".edu-foot pre")).to_contain_text("cell In[3], line 3: y = x * 2")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_nothing_is_cut_off_at_any_width(page: Page, size: str, theme: str) -> None:
    width, height = SIZES[size]
    page.set_viewport_size({"width": width, "height": height})
    many = river.commit(RiverState(("A",), said="data"), [fake([(i * 37) % 1000 * 10**7 for i in range(900)])])
    long = (
        "a run with a rather long name that says what it does",
        "the same run without a graph, and with a long name",
    )
    for state in (shown("chain", "forward only"), shown("train"), many, RiverState(long)):
        page.set_content(frame(state).page(theme, live=True))
        assert faults(page) == []
    state = river.commit(RiverState(long, said="data"), shown("chain", "train").rivers)
    page.set_content(frame(state).page(theme, live=True))
    assert faults(page) == []


def test_a_remote_control_commits_and_steps(page: Page) -> None:
    made = reach("MemoryRiver", RIVER[:1])
    made.present()
    put(page, made)
    page.keyboard.press("PageDown")
    answer(page, made)
    expect(page.locator(".edu-foot pre")).to_contain_text("As you predicted", use_inner_text=False)
    made.act("event", 0)
    put(page, made)
    for shown_event in (2, 3):
        page.keyboard.press("PageDown")
        answer(page, made)
        expect(page.locator(".edu-foot pre")).to_contain_text(f"A, event {shown_event} of")
    page.keyboard.press("PageUp")
    answer(page, made)
    expect(page.locator(".edu-foot pre")).to_contain_text("A, event 2 of")
