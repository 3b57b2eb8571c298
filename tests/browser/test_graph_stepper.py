"""The graph stepper in a browser: it walks by itself, and what it shows is what Python would draw."""

from __future__ import annotations

import itertools
import os
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect
from tinygrad_edu_widgets import GraphStepper

from tests.browser.conftest import NotebookPage
from tests.browser.look import SIZES, faults
from tests.browser.stub import put

pytestmark = pytest.mark.browser
Open = Callable[..., NotebookPage]

HEAD = """
import tinygrad_edu as tg
from tinygrad_edu import nn
from tinygrad_edu_widgets import GraphStepper
tg.manual_seed(0)
"""
TEN = (
    HEAD
    + """
def two_paths(W, X):
    fit = (X @ W).tanh().sum()
    penalty = (W ** 2).sum()
    return fit + 0.1 * penalty
W = tg.randn(2, 3, requires_grad=True)
X = tg.randn(4, 2, requires_grad=True)
stepper = GraphStepper(two_paths, W=W, X=X)
stepper
"""
)
TRANSFORMER = (
    HEAD
    + """
layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0)
def loss_of(x):
    y = layer(x)
    return (y * y).mean()
stepper = GraphStepper(loss_of, x=tg.randn(2, 3, 8, requires_grad=True))
stepper
"""
)
RNN = (
    HEAD
    + """
W = tg.full((2, 2), 0.5, requires_grad=True)
xs = tg.ones(166, 1, 2)
def rnn(W):
    h = tg.zeros(1, 2)
    for t in range(166):
        h = (xs[t] + h @ W).tanh() * 0.9 + 0.1
    return h.sum()
stepper = GraphStepper(rnn, W=W)
stepper
"""
)
DOUBLE = (
    HEAD
    + """
def slope(x):
    y = x * x * x
    (g,) = tg.autograd.grad(y, [x], create_graph=True)
    return g * g
stepper = GraphStepper(slope, x=tg.tensor(2.0, requires_grad=True))
stepper
"""
)
SAMPLES = {"ten": TEN, "transformer": TRANSFORMER, "rnn": RNN, "double": DOUBLE}


def widget(page: Page) -> Locator:
    found = page.locator('.edu[aria-label="GraphStepper"]')
    found.wait_for()
    return found


def ask(notebook: NotebookPage, index: int) -> str:
    """Run one more cell, and what it prints."""
    notebook.page.evaluate("i => { window.jupyterapp.shell.currentWidget.content.activeCellIndex = i }", index)
    notebook.execute("notebook:run-cell")
    return str(
        notebook.page.evaluate(
            """i => window.jupyterapp.shell.currentWidget.content.model.toJSON().cells[i].outputs
                .map(output => [output.text ?? ''].flat().join('')).join('')""",
            index,
        )
    )


# The page as a reader has it: without marks of a moment (hover, focus, motion) and what follows the scrolling.
DIFFERENCES = """html => {
  const clean = (node) => {
    for (const e of node.querySelectorAll('.edu-move')) e.remove();
    for (const e of [node, ...node.querySelectorAll('*')]) {
      for (const name of [...e.classList]) if (name.startsWith('is-')) e.classList.remove(name);
      if (!e.classList.length) e.removeAttribute('class');
      e.removeAttribute('data-lm-suppress-shortcuts');
      if (e.matches('[data-view]')) for (const name of ['x', 'y', 'width', 'height']) e.removeAttribute(name);
      if (e.matches('.edu-tip')) e.textContent = '';
    }
    node.normalize();
    return node;
  };
  const shown = clean(document.querySelector('.edu[aria-label="GraphStepper"] > .edu-body').cloneNode(true));
  const section = document.createElement('section');
  section.innerHTML = html;
  const wanted = clean(section.firstChild);
  if (shown.isEqualNode(wanted)) return [];
  const [a, b] = [shown, wanted].map((page) => [...page.querySelectorAll('*')].map((e) => e.cloneNode(false)));
  const found = [`${a.length} elements, ${b.length} wanted`];
  a.forEach((e, i) => { if (b[i] && !e.isEqualNode(b[i])) found.push(`${e.outerHTML} is not ${b[i].outerHTML}`); });
  return found.slice(0, 5);
}"""


def settled(page: Page) -> None:
    """Until the marks out of sight have caught up, and the last parts have come."""
    page.wait_for_timeout(500)
    page.wait_for_function("() => !document.querySelector('.is-late, .edu-move')")
    page.wait_for_timeout(300)


@pytest.mark.drawn(1 / 2)
@pytest.mark.parametrize("name", ["ten", "transformer", "rnn", "double"])
def test_after_any_walk_the_page_is_what_python_draws(open_cells: Open, name: str) -> None:
    source = SAMPLES[name].replace("166", "30")  # enough to jump out of what is in sight
    notebook = open_cells(source, "print(stepper.html)", "print(stepper.step)")
    notebook.run_all()
    w = widget(notebook.page)
    last = int(w.get_by_role("slider").get_attribute("max") or 0)
    order = random.Random(7)
    for _ in range(3):
        for _ in range(4):
            kind = order.choice(["step", "back", "slider", "card", "keys"])
            if kind == "slider":
                w.get_by_role("slider").fill(str(order.randint(0, last)))
            elif kind == "card":
                settled(notebook.page)  # a jump that is still to be drawn would scroll the card away from the pointer
                w.locator("svg [data-current], svg [data-act=jump]").first.click(force=True)
            elif kind == "keys":
                w.locator(".edu-stage").focus()
                notebook.page.keyboard.press(order.choice(["Home", "End", "ArrowRight", "ArrowLeft"]))
            else:
                button = w.get_by_role("button", name={"step": "Step", "back": "Step back"}[kind], exact=True)
                if button.is_enabled():
                    button.click()
        settled(notebook.page)
        at = w.get_by_role("slider").input_value()
        assert ask(notebook, 2).strip() == at  # Python has followed
        assert notebook.page.evaluate(DIFFERENCES, ask(notebook, 1)) == []


def test_steps_do_not_wait_for_a_busy_kernel(open_cells: Open) -> None:
    notebook = open_cells(TEN, "import time\ntime.sleep(4)", "print(stepper.step)")
    notebook.run_all()
    w = widget(notebook.page)
    notebook.page.evaluate(
        """() => { const app = window.jupyterapp; app.shell.currentWidget.content.activeCellIndex = 1;
                   app.commands.execute('notebook:run-cell'); }"""
    )
    notebook.page.wait_for_timeout(500)
    for step in range(1, 5):
        w.get_by_role("button", name="Step", exact=True).click()
        expect(w.locator(".edu-halves b")).to_have_text(f"{step} of 7", timeout=300)
        expect(w.locator(".edu-foot pre")).to_contain_text(f"forward {step} of 7", timeout=300)
    expect(w).not_to_have_class(re.compile("is-busy"))
    ask(notebook, 2)  # when it has time again, it hears of the first step, and then of the last
    settled(notebook.page)
    assert ask(notebook, 2).strip() == "4"


def test_an_act_comes_after_the_steps_that_were_walked_before_it(page: Page) -> None:
    stepper = GraphStepper(lambda x: (x * x * x).sum(), x=2.0)
    put(page, stepper)
    figure = page.locator("[data-at]")
    for _ in range(3):
        page.get_by_role("button", name="Step", exact=True).click()
    page.get_by_role("button", name="Reset", exact=True).click()
    page.get_by_role("button", name="Step", exact=True).click()
    sent = page.evaluate("window.sent.splice(0)")
    assert [(one["act"], one["value"]) for one in sent] == [("goto", 1), ("goto", 3), ("reset", None)]
    seen = []
    while sent:
        stepper._handle_custom_msg(sent.pop(0), [])
        page.evaluate("told => tell(told)", {"step": stepper.step})
        page.evaluate("told => tell(told)", {"answers": stepper.answers})
        sent += page.evaluate("window.sent.splice(0)")
        seen.append(figure.get_attribute("data-at"))
    assert seen == ["4", "4", "4", "4"] and stepper.step == 4  # it never went back to what Python had not yet left
    page.get_by_role("button", name="Reset", exact=True).click()
    (sent,) = page.evaluate("window.sent.splice(0)")
    stepper._handle_custom_msg(sent, [])
    page.evaluate("told => tell(told)", {"step": stepper.step, "answers": stepper.answers})
    assert figure.get_attribute("data-at") == "0" and stepper.step == 0
    expect(page.get_by_role("button", name="Step", exact=True)).to_be_enabled()


def test_a_step_sends_little(open_cells: Open, frames: list[str]) -> None:
    notebook = open_cells(RNN)
    notebook.run_all()
    w = widget(notebook.page)
    settled(notebook.page)
    frames.clear()
    for _ in range(30):
        w.get_by_role("button", name="Step", exact=True).click()
    settled(notebook.page)
    assert sum(map(len, frames)) / 30 < 20_000
    frames.clear()
    w.get_by_role("slider").fill("1700")
    settled(notebook.page)
    expect(w.locator(".edu-now")).to_contain_text("backward")
    assert sum(map(len, frames)) < 60_000  # the parts of some forty steps, and the messages about it


def in_sight(w: Locator) -> None:
    view, mark = w.locator(".edu-view").bounding_box(), w.locator("svg g[data-current]").bounding_box()
    assert view is not None and mark is not None
    assert view["x"] <= mark["x"] and mark["x"] + mark["width"] <= view["x"] + view["width"]
    assert view["y"] <= mark["y"] and mark["y"] + mark["height"] <= view["y"] + view["height"]


def test_the_current_card_code_and_sum_stay_in_sight(open_cells: Open) -> None:
    notebook = open_cells(RNN)
    notebook.run_all()
    notebook.execute("application:toggle-left-area")
    w = widget(notebook.page)
    for target in (1, 600, 1200, 1700):
        w.get_by_role("slider").fill(str(target))
        settled(notebook.page)
        in_sight(w)
        view = w.locator(".edu-view").bounding_box()
        for beside in (".edu-lines [data-current]", ".edu-now"):
            box = w.locator(beside).bounding_box()
            assert view and box and abs(box["y"] - view["y"]) < view["height"]
    w.get_by_role("slider").fill("1000")
    w.get_by_role("button", name="Step", exact=True).click()
    in_sight(w)


def test_a_place_on_the_map_is_brought_into_sight(open_cells: Open) -> None:
    notebook = open_cells(RNN, TEN)
    notebook.run_all()
    first = notebook.page.locator('.edu[aria-label="GraphStepper"]').first
    box = first.locator(".edu-map").bounding_box()
    assert box is not None
    first.locator(".edu-map").click(position={"x": box["width"] / 2, "y": box["height"] * 0.75})
    share = first.locator(".edu-view").evaluate("v => (v.scrollTop + v.clientHeight / 2) / v.scrollHeight")
    assert abs(share - 0.75) < 0.02
    top = first.locator("[data-view]").evaluate("r => Number(r.getAttribute('y'))")
    assert top == pytest.approx(first.locator(".edu-view").evaluate("v => v.scrollTop"), abs=2)
    expect(notebook.page.locator('.edu[aria-label="GraphStepper"]').nth(1).locator(".edu-map")).to_be_hidden()


def test_modules_close_by_their_name_and_open_again(open_cells: Open) -> None:
    notebook = open_cells(TRANSFORMER)
    notebook.run_all()
    w = widget(notebook.page)
    w.get_by_role("button", name="close self_attn").click(force=True)
    closed = w.locator("svg g[data-act=toggle]").filter(has_text="▸14")
    expect(closed).to_have_count(1)
    w.get_by_role("slider").fill("10")
    settled(notebook.page)
    expect(closed).to_have_attribute("data-current", "true")
    closed.click(force=True)
    expect(w.get_by_role("button", name="close self_attn")).to_have_count(1)


def test_leaves_light_up_with_all_their_uses(open_cells: Open) -> None:
    notebook = open_cells(RNN)
    notebook.run_all()
    w = widget(notebook.page)
    w.locator('svg g[data-link="n0"]').first.hover()
    assert w.locator("svg .is-linked").count() == 166  # the card, and a tag at each use but the first
    expect(w.locator(".edu-tip")).to_contain_text("W")


def test_a_linked_slider_leads_the_stepper_and_follows_it(open_cells: Open) -> None:
    link = "import ipywidgets\nfrom traitlets import link\nslider = ipywidgets.IntSlider(max=stepper.steps)\n"
    notebook = open_cells(
        TEN, link + 'link((stepper, "step"), (slider, "value"))\nslider', "slider.value = 9", "print(slider.value)"
    )
    notebook.run_all()
    w = widget(notebook.page)
    expect(w.locator(".edu-foot pre")).to_contain_text("backward 2 of 7")
    w.get_by_role("button", name="Step", exact=True).click()
    settled(notebook.page)
    assert ask(notebook, 3).strip() == "10"


def test_a_later_cell_makes_the_picture_say_so(open_cells: Open) -> None:
    notebook = open_cells(TEN, "with tg.no_grad():\n    W.mul_(2)")
    notebook.run_all()
    w = widget(notebook.page)
    expect(w.locator(".edu-since")).to_have_text(
        "W has changed since this picture was made: it still shows that moment."
    )
    before = w.locator(".edu-foot pre").text_content() or ""
    w.get_by_role("button", name="Record again").click()
    expect(w.locator(".edu-since")).to_have_count(0)
    assert w.locator(".edu-foot pre").text_content() not in before


def test_reduced_motion_outlines_what_changed(open_cells: Open) -> None:
    notebook = open_cells(TEN)
    notebook.run_all()
    w = widget(notebook.page)
    step = w.get_by_role("button", name="Step", exact=True)
    notebook.page.emulate_media(reduced_motion="reduce")
    try:
        step.click()
        step.click()
        assert w.locator("svg .is-changed").count() == 2  # the card before, and this one
        assert w.locator(".edu-move").count() == 0
    finally:
        notebook.page.emulate_media(reduced_motion="no-preference")
    step.click()
    assert w.locator("svg .is-changed").count() == 0


@pytest.mark.drawn(1 / 2)
@pytest.mark.parametrize("name", SAMPLES)
def test_nothing_is_cut_off_or_overlaps(open_cells: Open, name: str) -> None:
    notebook = open_cells(SAMPLES[name])
    notebook.run_all()
    notebook.execute("application:toggle-left-area")
    w = widget(notebook.page)
    last = int(w.get_by_role("slider").get_attribute("max") or 0)
    folder = os.environ.get("TINYGRAD_EDU_SCREENSHOTS")
    for theme, (size, (width, height)) in itertools.product(("JupyterLab Dark", "JupyterLab Light"), SIZES.items()):
        notebook.set_theme(theme)
        notebook.page.set_viewport_size({"width": width, "height": height})
        w.get_by_role("slider").fill(str(last * 3 // 4))
        w.get_by_role("button", name="Step", exact=True).click()
        settled(notebook.page)
        in_sight(w)
        found: Any = faults(notebook.page) if name != "rnn" else []  # its 3 000 texts are compared pair by pair
        assert found == []
        if folder:
            Path(folder).mkdir(parents=True, exist_ok=True)
            w.screenshot(path=f"{folder}/{name}-{size}-{theme.split()[-1].lower()}.png")
