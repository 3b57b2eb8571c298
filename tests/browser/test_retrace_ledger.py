"""RetraceLedger in JupyterLab: calls predicted and stepped by keys, another series, its cure."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from .conftest import NotebookPage
from .look import SIZES, faults

pytestmark = pytest.mark.browser
Open = Callable[..., NotebookPage]

LEDGER = """
import tinygrad_edu as tg
from tinygrad_edu_widgets import RetraceLedger
ledger = RetraceLedger()
ledger
"""


def test_calls_are_predicted_and_stepped(open_cells: Open) -> None:
    notebook = open_cells(LEDGER, "print(ledger.at)")
    notebook.run_all()
    page = notebook.page
    w = page.locator('.edu[aria-label="RetraceLedger"]')
    w.wait_for()
    foot = w.locator(".edu-foot pre")
    w.get_by_role("button", name="There is a program").click()
    expect(foot).to_contain_text("2 calls, 1 program made")
    page.keyboard.press("ArrowRight")
    expect(foot).to_contain_text("3 calls, 1 program made")
    page.keyboard.press("m")
    expect(foot).to_contain_text("4 calls, 2 programs made")
    expect(foot).to_contain_text("2 of them right")
    page.keyboard.press("ArrowLeft")
    expect(foot).to_contain_text("3 calls, 1 program made")
    w.get_by_role("button", name="pad to 16 rows").click()
    expect(foot).to_contain_text("1 call, 1 program made")
    for made in range(2, 9):
        page.keyboard.press("ArrowRight")
        expect(foot).to_contain_text(f"{made} calls, 1 program made")
    expect(w.locator(".edu-why")).to_contain_text("16 of 128 rows are zeros")
    w.get_by_role("combobox", name="series").select_option("sentences")
    w.get_by_role("button", name="dynamic=True").click()
    expect(foot).to_contain_text("1 call, 1 program made")
    for made in range(2, 7):
        page.keyboard.press("ArrowRight")
        expect(foot).to_contain_text(f"{made} calls, 2 programs made")
    expect(w.locator(".edu-why")).to_contain_text("Two recordings tell")
    w.get_by_role("button", name="Back").click()
    expect(foot).to_contain_text("5 calls, 2 programs made")
    page.keyboard.press("f")
    expect(foot).to_contain_text("you said: a length is filled in")
    w.get_by_role("button", name="A length is filled in").click()
    expect(foot).to_contain_text("You predicted 2 calls, 1 of them right.")


def test_nothing_is_cut_off_or_overlaps_at_any_size(open_cells: Open) -> None:
    known = "f = tg.compile(lambda x: x * 2); f(tg.ones(2)); f(tg.ones(3, 400)); RetraceLedger(f)"
    many = "RetraceLedger(lambda x: x * 2, [(tg.ones(i + 1, 512, 64),) for i in range(10)])"
    show = "ledger.act('series', 'a switch'); ledger.act('goto', 8); ledger.act('time')"
    notebook = open_cells(LEDGER, show, known, many)
    notebook.run_all()
    page = notebook.page
    expect(page.locator('.edu[aria-label="RetraceLedger"]')).to_have_count(3)
    for name, (width, height) in SIZES.items():
        page.set_viewport_size({"width": width, "height": height})
        page.wait_for_timeout(300)
        assert faults(page) == [], name
