"""Take the README's picture: GraphStepper in the middle of a backward pass, as a browser shows it.

python tools/take_picture.py docs/graph_stepper.png
"""

from __future__ import annotations

import shutil
import sys

from playwright.sync_api import sync_playwright

import tinygrad_edu as tg
from tinygrad_edu.views import graph_figure
from tinygrad_edu.views.frame import Frame
from tinygrad_edu.views.graph import record


def loss_of(X, W1, b1, W2, b2):  # type: ignore[no-untyped-def]  # what the picture shows is what runs
    h = (X @ W1 + b1).relu()
    z = h @ W2 + b2
    fit = (z * z).mean()
    penalty = (W2 * W2).sum()
    return fit + 0.1 * penalty


def frame() -> Frame:
    """The moment at which the second gradient of W2 arrives."""
    tg.manual_seed(3)
    leaves = {"X": tg.randn(8, 2), "W1": tg.randn(2, 3), "b1": tg.zeros(3), "W2": tg.randn(3, 2), "b2": tg.zeros(2)}
    for name in ("W1", "b1", "W2", "b2"):
        leaves[name].requires_grad_()
    run = record(loss_of, leaves)
    steps = range(len(run.forward) + 1, run.steps + 1)
    fork = [
        step for step in steps
        if (back := graph_figure.moment(run, step).back) and run.nodes[back.node].op == "matmul"
        and any(send.held is not None for send in back.sends)
    ]  # fmt: skip
    ask = "`W2` is used in the matmul and in the penalty. What will its gradient hold after this step?"
    return graph_figure.frame(run, graph_figure.GraphState(fork[0]), ask)


def main(path: str) -> None:
    """Render it in a browser and save it."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 880, "height": 800}, device_scale_factor=1.5)
        page.set_content(frame().page(theme="light", live=True))
        page.locator(".edu").screenshot(path=path)
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1])
