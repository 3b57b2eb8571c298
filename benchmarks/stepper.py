"""How soon the graph stepper shows a step in a real browser, and what goes over the wire, at a thousand nodes."""

from __future__ import annotations

import json
import os
import shutil
import statistics
from typing import Any

from benchmarks import harness
from benchmarks.layout import leaves_and_loss

BUDGET, BYTES = 50.0, 20_000  # milliseconds from a click until it is painted; bytes of a step
TURNS = {"step": 60, "slider": 40, "hover": 40}
BROWSERS = ("chromium", "chromium-browser", "google-chrome")

# A model as Jupyter's: what is set and sent goes to Python, and what Python answers comes back as a message.
PAGE = """
window.start = async ({ esm, traits }) => {
  const module = await import(URL.createObjectURL(new Blob([esm], { type: "text/javascript" })));
  const heard = {};
  const model = {
    get: (name) => traits[name],
    set: (name, value) => { traits[name] = value; },
    save_changes: () => window.python(JSON.stringify({ step: traits.step })),
    send: async (message) => {
      const answer = JSON.parse(await window.python(JSON.stringify(message)));
      for (const listener of heard["msg:custom"] ?? []) listener(answer);
    },
    on: (event, listener) => (heard[event] ??= []).push(listener),
    off: () => {},
  };
  module.default.render({ model, el: document.body });
};
const painted = () => new Promise((done) => requestAnimationFrame(() => {
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => done(performance.now());
  port2.postMessage(0);
}));
window.times = async (act, turns) => {
  const root = document.querySelector(".edu");
  const slider = root.querySelector("input[type=range]");
  const found = [];
  for (let i = 0; i < turns; i++) {
    await new Promise((done) => setTimeout(done, 30));
    await painted();
    const start = performance.now();
    if (act === "step") root.querySelector("[data-walk='+1']").click();
    if (act === "hover") {
      const view = root.querySelector(".edu-view").getBoundingClientRect();
      const cards = [...root.querySelectorAll("svg [data-link]")].filter((card) => {
        const { top, bottom } = card.getBoundingClientRect();
        return top > view.top && bottom < view.bottom;
      });
      cards[i % cards.length].focus();
    }
    if (act === "slider") {
      slider.value = (i * 397) % Number(slider.max);
      slider.dispatchEvent(new Event("input", { bubbles: true }));
    }
    found.push((await painted()) - start);
  }
  return found;
};
"""


def run() -> str:
    """The times and bytes, as a table of Markdown, and whether they keep to the budget."""
    from playwright.sync_api import sync_playwright  # extras, both
    from tinygrad_edu_widgets import GraphStepper

    from tinygrad_edu.views.tokens import stylesheet

    loss_of, leaves = leaves_and_loss()
    widget: Any = GraphStepper(loss_of, **leaves)
    sent = [0]

    def python(message: str) -> str:
        told = json.loads(message)
        if told.get("act") == "reel":
            answer = json.dumps(
                {"reel": widget._playing.chunk(told["value"]), "id": widget.reel["id"]}, ensure_ascii=False
            )
            sent[0] += len(answer.encode())
            return answer
        sent[0] += len(message)
        return "null"

    found = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), None)
    lines = ["| act | median | quartiles | bytes |", "|---|---|---|---|"]
    worst, most = 0.0, 0.0
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 720})
        page.set_content(f"<!doctype html><style>{stylesheet()}</style>")
        page.expose_function("python", python)
        page.add_script_tag(content=PAGE)
        traits = {name: getattr(widget, name) for name in ("html", "label", "presenting", "answers", "step", "reel")}
        first = len(json.dumps(traits, ensure_ascii=False).encode())
        page.evaluate("given => start(given)", {"esm": widget._esm, "traits": traits})
        for act, turns in TURNS.items():
            sent[0] = 0
            times = page.evaluate("([act, turns]) => times(act, turns)", [act, turns])
            low, middle, high = statistics.quantiles(times, n=4)
            worst, most = max(worst, middle), max(most, sent[0] / turns)
            lines.append(f"| {act} | {middle:.0f} ms | {low:.0f}–{high:.0f} ms | {sent[0] / turns:,.0f} |")
        browser.close()
    nodes = len(widget.run.nodes)
    paint = f"click to paint: {worst:.0f} ms of {BUDGET:.0f} ms{harness.over(worst, BUDGET)}"
    verdict = f"{paint}; bytes per act: {most:,.0f} of {BYTES:,}{harness.over(most, BYTES)}"
    head = f"Graph stepper, {nodes} nodes; its page and reel are {first / 1e6:.2f} MB, sent once"
    return "\n\n".join([harness.machine("numpy", "playwright"), head, "\n".join(lines), verdict])
