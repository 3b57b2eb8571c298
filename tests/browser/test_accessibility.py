"""What axe finds in the widgets, and what is cut off: in every state, both themes, both widths, and in JupyterLab."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from tests.widgets.test_every_widget import MAKERS, STATES, reach

from .conftest import NotebookPage
from .look import faults

pytestmark = pytest.mark.browser
Open = Callable[..., NotebookPage]

GRAVE = ("serious", "critical")
THEMES = ("light", "dark")
WIDTHS = (860, 480)


def grave(page: Page) -> list[str]:
    """What hinders people inside widgets, one entry for each place: rule, impact, what is wrong, and the element."""
    found = Axe().run(page, ".edu", {"resultTypes": ["violations"]}).response["violations"]
    return [
        f"{rule['id']} ({rule['impact']}): {reason(node)}\n    {node['html'][:200]}"
        for rule in found
        if rule["impact"] in GRAVE
        for node in rule["nodes"]
    ]


def reason(node: dict[str, Any]) -> str:
    """What axe says about one element."""
    return "; ".join(check["message"] for kind in ("any", "all", "none") for check in node[kind])


def show(page: Page, html: str, width: int = WIDTHS[0]) -> None:
    """Show a page, with the text twin open, so that this is looked at too."""
    page.set_viewport_size({"width": width, "height": 720})
    page.set_content(html)
    page.locator(".edu-foot summary").click()


def test_the_check_sees_what_is_wrong(page: Page) -> None:
    faint = '<p style="color: silver; background: white">faint</p>'
    page.set_content(
        f'<html lang="en"><main class="edu"><button></button><input>{faint}</main><button></button></html>'
    )
    assert [line.split(":")[0] for line in grave(page)] == [
        "button-name (critical)", "color-contrast (serious)", "label (critical)",
    ]  # fmt: skip


@pytest.mark.parametrize("name, path", STATES, ids=[f"{name}-{i}" for i, (name, _) in enumerate(STATES)])
def test_no_state_of_a_widget_hinders_anybody(
    page: Page, draw: random.Random, name: str, path: list[tuple[str, Any]]
) -> None:
    """Which theme is looked at in which width is drawn."""
    frame = reach(name, path)._framed()
    for theme, width in zip(THEMES, draw.sample(WIDTHS, 2), strict=True):
        show(page, frame.page(theme, live=True), width)
        assert grave(page) == [], f"{theme}, {width} px wide"
        assert faults(page) == [], f"{theme}, {width} px wide"


@pytest.mark.parametrize("name", MAKERS)
def test_a_still_page_hinders_nobody(page: Page, name: str) -> None:
    show(page, reach(name, []).to_html())
    assert grave(page) == []


def test_in_jupyterlab_no_widget_hinders_anybody(open_notebook: Open) -> None:
    """The gallery has every widget."""
    notebook = open_notebook("gallery.ipynb")
    notebook.run_all()
    for theme in THEMES:
        notebook.set_theme(f"JupyterLab {theme.title()}")
        assert grave(notebook.page) == [], theme
