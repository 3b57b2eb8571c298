"""Take the README's pictures, as a browser shows them: docs/graph_stepper.png and docs/tip_browser.png.

python tools/take_picture.py graph_stepper tip_browser
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright
from tinygrad_edu_widgets import TipBrowser

import tinygrad_edu as tg
from tinygrad_edu.views import graph
from tinygrad_edu.views.frame import Frame


def loss_of(X, W1, b1, W2, b2):  # type: ignore[no-untyped-def]  # what the picture shows is what runs
    h = (X @ W1 + b1).relu()
    z = h @ W2 + b2
    fit = (z * z).mean()
    penalty = (W2 * W2).sum()
    return fit + 0.1 * penalty


def graph_stepper() -> Frame:
    """The moment at which the second gradient of W2 arrives."""
    tg.manual_seed(3)
    leaves = {"X": tg.randn(8, 2), "W1": tg.randn(2, 3), "b1": tg.zeros(3), "W2": tg.randn(3, 2), "b2": tg.zeros(2)}
    for name in ("W1", "b1", "W2", "b2"):
        leaves[name].requires_grad_()
    run = graph.record(loss_of, leaves)
    steps = range(len(run.forward) + 1, run.steps + 1)
    fork = [
        step for step in steps
        if (back := graph.moment(run, step).back) and run.nodes[back.node].op == "matmul"
        and any(send.held is not None for send in back.sends)
    ]  # fmt: skip
    ask = "`W2` is used in the matmul and in the penalty. What will its gradient hold after this step?"
    return graph.frame(run, graph.GraphState(fork[0]), ask)


def tip_browser() -> Frame:
    """A tip that was predicted wrongly and run, with the times of this machine."""
    browser = TipBrowser("contiguous-access")
    browser.predict(browser.tip.question.tempting)
    browser.run()
    return browser.frame()


FRAMES = {"graph_stepper": (graph_stepper, 880), "tip_browser": (tip_browser, 1140)}  # and how wide the window is
TALLEST = 910  # of a longer one, the beginning
DOCS = Path(__file__).parents[1] / "docs"


def main(names: list[str]) -> None:
    """Render each in a browser and save it."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name in names:
            frame, width = FRAMES[name]
            page = browser.new_page(viewport={"width": width, "height": 1000}, device_scale_factor=1.5)
            page.set_content(frame().page(theme="light", live=True))
            box = page.locator(".edu").bounding_box()
            assert box is not None
            clip = {"x": box["x"], "y": box["y"], "width": box["width"], "height": min(box["height"], TALLEST)}
            page.screenshot(path=DOCS / f"{name}.png", clip=clip, full_page=True)
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:] or list(FRAMES))
