"""What readers without a kernel see: always the picture of the last run and a sentence, never a dead control."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbconvert import HTMLExporter
from playwright.sync_api import Locator, Page, expect
from tinygrad_edu_widgets import GuardLens

from tests.widgets.test_every_widget import MAKERS, reach
from tinygrad_edu.views.frame import BACK_AGAIN, LAST_RUN, NOTHING_YET

from .conftest import Lab, NotebookPage, Workbench
from .look import faults
from .test_widgets import CHOICE, LENS, Open, snapshot, widget

pytestmark = pytest.mark.browser

ENDS = {
    "restarted": "kernel => kernel.restart()",
    "shut down": "kernel => kernel.shutdown()",
}
CLOSE = """async end => {
    const { currentWidget } = window.jupyterapp.shell;
    if (end) await currentWidget.context.sessionContext.shutdown();
    currentWidget.dispose();
}"""
STATE = "application/vnd.jupyter.widget-state+json"
CONTROLS = "button, input, select, textarea, [data-act], [role=spinbutton]"


def assert_still(w: Locator) -> None:
    """The picture, a sentence, the text, and nothing to press."""
    expect(w.locator(".edu-last")).to_have_text(re.compile(f"({LAST_RUN}|{NOTHING_YET}) {BACK_AGAIN}"))
    expect(w.locator(CONTROLS)).to_have_count(0)
    expect(w.locator("figure svg:visible").first).to_be_visible()
    w.get_by_text("Read as text").click()
    expect(w.locator(".edu-foot pre")).to_be_visible()
    w.get_by_text("Read as text").click()


def path_of(notebook: NotebookPage) -> str:
    return str(notebook.page.evaluate("() => window.jupyterapp.shell.currentWidget.context.path"))


@pytest.mark.parametrize("end", ENDS)
def test_a_kernel_that_ends_takes_the_controls_with_it(open_cells: Open, end: str) -> None:
    notebook = open_cells(LENS, CHOICE)
    notebook.run_all()
    w = widget(notebook.page, "GuardLens")
    w.get_by_role("button", name="Line down").click()
    expect(w.locator(".edu-foot pre")).to_contain_text("> 5 ")
    kernel = "window.jupyterapp.shell.currentWidget.context.sessionContext.session.kernel"
    notebook.page.evaluate(f"async () => {{ await ({ENDS[end]})({kernel}); }}")
    for name in ("GuardLens", "PredictGate"):
        assert_still(widget(notebook.page, name))
    expect(w.locator(".edu-foot pre")).to_contain_text("> 5 ")
    assert faults(notebook.page) == []
    snapshot(notebook.page, f"alone-{end.replace(' ', '-')}")
    if end == "restarted":  # and the cell brings them back
        notebook.run_all()
        widget(notebook.page, "GuardLens").get_by_role("button", name="Line down").click()
        expect(w.locator(".edu-foot pre")).to_contain_text("> 5 ")


def test_a_notebook_opened_again_shows_its_pictures(
    open_cells: Open, open_notebook: Open, lab: Lab, workbench: Workbench
) -> None:
    notebook = open_cells(LENS, CHOICE)
    notebook.run_all()
    page, path = notebook.page, path_of(notebook)
    widget(page, "GuardLens").get_by_role("button", name="Line down").click()
    expect(widget(page, "GuardLens").locator(".edu-foot pre")).to_contain_text("> 5 ")
    notebook.execute("docmanager:save")
    page.evaluate(CLOSE, False)
    open_notebook(path)  # the kernel still runs: all is live
    w = widget(page, "GuardLens")
    w.get_by_role("button", name="Line down").click()
    expect(w.locator(".edu-foot pre")).to_contain_text("> 6 ")
    notebook.execute("docmanager:save")
    for _ in range(2):  # what is saved without a kernel can be opened once more
        page.evaluate(CLOSE, True)
        open_notebook(path)
        for name in ("GuardLens", "PredictGate"):
            assert_still(widget(page, name))
        expect(widget(page, "GuardLens").locator(".edu-foot pre")).to_contain_text("> 6 ")
        assert "model not found" not in page.content()
        notebook.execute("docmanager:save")
    snapshot(page, "alone-reopened")
    saved = json.loads((lab.root / path).read_text())
    assert list(saved["metadata"]["widgets"][STATE]["state"]) == ["tinygrad_edu-pictures"]
    notebook.run_all()  # live again, and what was saved of the old ones goes with their outputs
    expect(widget(page, "GuardLens").get_by_role("button", name="Line down")).to_be_visible()
    notebook.execute("notebook:clear-all-cell-outputs")
    notebook.execute("docmanager:save")
    state = json.loads((lab.root / path).read_text())["metadata"]["widgets"][STATE]["state"]
    assert state == {}
    late = "widget model not found"  # under load; the next test shows that it is mended
    workbench.complaints[:] = [one for one in workbench.complaints if late not in one]


IMPATIENT = """() => {
    const now = Date.now;
    let ahead = 0;
    Date.now = () => now() + (ahead += 3000);
    return new Promise(done => setTimeout(done, 100));
}"""


def test_a_slow_machine_shows_its_pictures_too(open_cells: Open, open_notebook: Open, workbench: Workbench) -> None:
    """JupyterLab looks for a widget for two seconds by the clock, and then writes "model not found" into the output."""
    notebook = open_cells(LENS, CHOICE)
    notebook.run_all()
    page, path = notebook.page, path_of(notebook)
    notebook.execute("docmanager:save")
    for end in (False, True):
        page.evaluate(CLOSE, end)
        page.evaluate(IMPATIENT)
        open_notebook(path)
        for name in ("GuardLens", "PredictGate"):
            expect(widget(page, name).locator("figure svg:visible").first).to_be_visible()
    for name in ("GuardLens", "PredictGate"):
        assert_still(widget(page, name))
    expect(page.get_by_text("model not found")).to_have_count(0)

    assert "widget model not found" in "\n".join(workbench.complaints), "it was too late for JupyterLab"
    workbench.throw_away()  # with its clock
    workbench.complaints.clear()


def saved_notebook(open_cells: Open, lab: Lab) -> Any:
    """A notebook as JupyterLab saves it."""
    notebook = open_cells(LENS)
    notebook.run_all()
    path = path_of(notebook)
    notebook.execute("docmanager:save")
    notebook.page.evaluate(CLOSE, True)
    return nbformat.read(lab.root / path, as_version=4)


def test_where_trust_is_withheld_the_picture_is_shown(open_cells: Open, open_notebook: Open, lab: Lab) -> None:
    saved = saved_notebook(open_cells, lab)
    saved.cells.append(nbformat.v4.new_code_cell("1 + 1"))  # by somebody else: it was not signed here
    nbformat.write(saved, lab.root / "strange.ipynb")
    page = open_notebook("strange.ipynb").page
    assert page.evaluate("() => window.jupyterapp.shell.currentWidget.content.model.cells.get(0).trusted") is False
    assert_picture(page)
    if page.locator(".edu").count():
        raise AssertionError("a widget's own code ran, though the notebook is not trusted")
    snapshot_of(page.locator(".jp-OutputArea-output").first, "alone-untrusted")


def assert_picture(page: Page) -> None:
    """The image of a saved output, with its words."""
    image = page.locator('img[src^="data:image/svg+xml;base64,"]')
    expect(image).to_have_count(1)
    image.scroll_into_view_if_needed()
    assert image.evaluate("async i => { await i.decode(); return i.naturalWidth; }") == 860
    assert "guard" in (image.get_attribute("alt") or "").lower()
    expect(page.get_by_text(LAST_RUN)).to_be_visible()
    page.get_by_text("Read as text").click()
    expect(page.locator("details pre")).to_contain_text("ValueError in line 4")
    assert page.locator(".edu button").count() == 0


def snapshot_of(part: Locator, name: str) -> None:
    if folder := os.environ.get("TINYGRAD_EDU_SCREENSHOTS"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        part.screenshot(path=f"{folder}/{name}.png")


def test_an_exported_page_shows_the_picture(
    open_cells: Open, lab: Lab, page: Page, complaints: list[str], tmp_path: Path
) -> None:
    """With the pictures that JupyterLab saves for itself, and without; and no network."""
    saved = saved_notebook(open_cells, lab)
    assert STATE in saved.metadata.widgets
    page.route("file://**", lambda route: route.continue_())
    for state in (True, False):
        if not state:
            del saved.metadata["widgets"]
        file = tmp_path / f"{state}.html"
        file.write_text(HTMLExporter().from_notebook_node(saved)[0], encoding="utf-8")
        page.goto(file.as_uri(), wait_until="domcontentloaded")
        assert_picture(page)
        snapshot_of(page.locator("body"), f"alone-exported-{'with' if state else 'without'}-state")
    known = re.compile(
        "asked the network for|ERR_FAILED|require|is not defined|MathJax"
    )  # what every such page asks for
    complaints[:] = [complaint for complaint in complaints if not known.search(complaint)]


def test_on_paper_there_is_nothing_to_press(page: Page, tmp_path: Path) -> None:
    page.set_content(GuardLens()._framed().page(live=True))
    expect(page.locator(".edu-controls")).to_be_visible()
    page.emulate_media(media="print")
    for part in (".edu-controls", ".edu-tip", ".edu-foot details"):
        expect(page.locator(part)).to_be_hidden()
    for part in (".edu-ask", ".edu-why", ".edu-stage svg.w"):
        expect(page.locator(part)).to_be_visible()
    page.emulate_media(media=None)
    file = tmp_path / "lens.pdf"
    page.pdf(path=file, print_background=True)
    assert file.read_bytes().startswith(b"%PDF")


# What is said around the figure. A live figure may hold more than a still one: a graph to be scrolled, and its map.
WORDS = """() => {
    for (const figure of document.querySelectorAll("main figure")) figure.remove();
    return document.querySelector("main").innerText;
}"""
MODULE = """async script => {
    window.ours = await import(URL.createObjectURL(new Blob([script], { type: "text/javascript" })));
}"""


@pytest.mark.parametrize("name", MAKERS)
def test_the_browser_leaves_what_python_draws_for_readers_without_a_kernel(page: Page, name: str) -> None:
    made = reach(name, [])
    page.set_content("<main></main>")
    page.evaluate(MODULE, f"{made._esm}\nexport {{ still }};")
    show = "html => { document.querySelector('main').innerHTML = `<section class=edu>${html}</section>`; }"
    html = page.evaluate("html => ours.still(html)", made.html)
    assert page.evaluate("html => ours.still(html)", html) == html
    page.evaluate(show, html)
    expect(page.locator(CONTROLS)).to_have_count(0)
    mine = page.evaluate(WORDS).replace(f" {BACK_AGAIN}", "")
    page.evaluate(show, made._framed().html(live=False))
    assert mine == page.evaluate(WORDS)
