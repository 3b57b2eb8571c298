"""LoaderGantt in JupyterLab: knobs set by keys, a prediction committed, a run drawn, another setting."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from .conftest import NotebookPage
from .look import SIZES, faults

pytestmark = pytest.mark.browser
Open = Callable[..., NotebookPage]

GANTT = """
from tinygrad_edu_widgets import LoaderGantt
gantt = LoaderGantt()
gantt
"""


def test_a_prediction_is_committed_and_the_run_is_drawn(open_cells: Open) -> None:
    notebook = open_cells(GANTT, "print(gantt.committed)")
    notebook.run_all()
    page = notebook.page
    w = page.locator('.edu[aria-label="LoaderGantt"]')
    w.wait_for()
    foot = w.locator(".edu-foot pre")
    workers = w.get_by_role("slider", name="workers")
    workers.focus()
    page.keyboard.press("ArrowRight")
    expect(foot).to_contain_text("3 processes read 2 batches ahead each")
    w.get_by_role("combobox", name="as").select_option("thread")
    w.get_by_role("combobox", name="kept").select_option("on")
    expect(foot).to_contain_text("3 threads read 2 batches ahead each, kept")
    expect(foot).not_to_contain_text("samples a second")
    w.get_by_role("button", name="Commit and run").click()
    expect(foot).to_contain_text("you said 20 %", timeout=60_000)
    expect(w.get_by_role("button", name="Run again")).to_be_enabled()
    w.get_by_role("combobox", name="a sample").select_option("Python")
    expect(w.locator(".edu-since")).to_contain_text("belongs to another setting")
    w.get_by_role("button", name="Commit and run").click()
    expect(w.locator(".edu-why")).to_contain_text("one thread at a time", timeout=60_000)


def test_nothing_is_cut_off_or_overlaps_at_any_size(open_cells: Open) -> None:
    alone = "LoaderGantt(workers=0, predict=False)"
    many = "g = LoaderGantt(workers=8); g.act('kind', 'thread'); g.predict(90); g"
    own = "from tinygrad_edu.data import Chores\nLoaderGantt(Chores(900, 'waits', 0), batch_size=2, predict=False)"
    notebook = open_cells(GANTT, "gantt.act('kind', 'thread'); gantt.predict(0)", alone, many, own)
    notebook.run_all()
    page = notebook.page
    expect(page.locator('.edu[aria-label="LoaderGantt"]')).to_have_count(4)
    for name, (width, height) in SIZES.items():
        page.set_viewport_size({"width": width, "height": height})
        page.wait_for_timeout(300)
        assert faults(page) == [], name
