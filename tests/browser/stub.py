"""A widget on an empty page: the browser's side runs as it is, a stub stands for the model and notes what is sent."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Page
from tinygrad_edu_widgets.base import EduWidget

# `comm_live` and what else the model of a kernel's widget has. `tell` is how the kernel would answer.
STUB = """async ([script, css, state]) => {
    const url = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
    const { default: widget } = await import(url);
    const heard = {};
    const whole = { comm_live: true };
    window.sent = [];
    const model = {
        get: (name) => state[name],
        set: (name, value) => { state[name] = value; },
        save_changes: () => {},
        send: (content) => { window.sent.push(content); },
        on: (name, call) => { (heard[name] ??= []).push(call); },
        off: (name, call) => { heard[name] = (heard[name] ?? []).filter((other) => other !== call); },
        widget_manager: { get_model: async () => whole },
    };
    window.tell = (changes) => {
        Object.assign(state, changes);
        for (const name of Object.keys(changes)) for (const call of heard[`change:${name}`] ?? []) call();
    };
    window.state = state;
    document.head.append(Object.assign(document.createElement("style"), { textContent: css }));
    await widget.initialize({ model });
    const el = document.body.appendChild(document.createElement("div"));
    window.leave = await widget.render({ model, el });
}"""

PAGE = '<!doctype html><html lang="en"><style>html { color-scheme: light dark } body { margin: 0 }</style><body></body>'


def state_of(widget: EduWidget) -> dict[str, Any]:
    """What the browser knows of a widget."""
    names = ["html", "label", "presenting", "with_code", "answers", "key"]
    return {name: getattr(widget, name) for name in names + [n for n in ("reel", "step") if widget.has_trait(n)]}


def put(page: Page, widget: EduWidget) -> None:
    """Show a widget on a page of its own."""
    page.set_content(PAGE)
    page.evaluate(STUB, [widget._esm, widget._css, state_of(widget)])
    page.locator(".edu").wait_for()


def answer(page: Page, widget: EduWidget) -> None:
    """Do in Python what was pressed, and let the page know, as the kernel would."""
    for content in page.evaluate("() => window.sent.splice(0)"):
        widget._handle_custom_msg(content, [])
    widget.wait()
    page.evaluate("changes => tell(changes)", state_of(widget))
