"""The way from a click in the browser to the kernel and back, without anything of ours."""

import pytest

pytestmark = pytest.mark.browser

BUTTON = """
import ipywidgets
button = ipywidgets.Button(description="clicked 0 times")
clicks = []
def count(_):
    clicks.append(1)
    button.description = f"clicked {len(clicks)} times"
button.on_click(count)
button
"""


def test_cells_run_and_two_clicks_arrive(open_cells):
    notebook = open_cells("print('the kernel', 'answers')", BUTTON)
    notebook.run_all()
    assert "the kernel answers" in notebook.cell(0).inner_text()
    for times in (1, 2):
        notebook.cell(1).get_by_role("button", name="clicked").click()
        notebook.cell(1).get_by_text(f"clicked {times} times").wait_for()


def test_an_error_in_a_cell_fails_run_all(open_cells):
    notebook = open_cells("raise ValueError('seen')")
    with pytest.raises(AssertionError, match="seen"):
        notebook.run_all()


def test_the_theme_changes_there_and_back(open_cells):
    notebook = open_cells("1")
    for theme in ("JupyterLab Dark", "JupyterLab Light"):
        notebook.set_theme(theme)


def test_the_page_has_no_way_out_and_trying_is_noticed(page, lab, complaints):
    page.goto(f"{lab.address}/login")
    assert page.evaluate("() => fetch('http://example.org').then(() => 'out', () => 'kept')") == "kept"
    assert "asked the network for http://example.org/" in complaints
    complaints.clear()
