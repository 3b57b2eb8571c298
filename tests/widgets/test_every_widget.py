"""What all widgets have in common: four renderings, one queue of acts, and no way to be broken from a browser."""

from __future__ import annotations

import base64
import dataclasses
import inspect
import itertools
import json
import random
import re
import threading
import time
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any
from unittest import mock
from xml.dom import minidom

import numpy as np
import pytest
import tinygrad_edu_widgets
from tinygrad_edu_widgets import (
    AdviceReport,
    BroadcastLab,
    BufferMap,
    CheckpointSlider,
    FusionBuilder,
    GraphStepper,
    GuardLens,
    LoaderGantt,
    MemoryRiver,
    Playground,
    PrecisionRuler,
    PredictGate,
    PromotionTracer,
    QueueTimeline,
    RetraceLedger,
    Roofline,
    TimingRace,
    TipBrowser,
    TrainingMonitor,
)
from tinygrad_edu_widgets.base import EduWidget
from tinygrad_edu_widgets.playground import stop_all
from tinygrad_edu_widgets.registry import WIDGETS

import tinygrad_edu as tg
from tests.observe.clock import MILLISECOND, Clock
from tests.widgets.pages import Element, check
from tinygrad_edu import nn
from tinygrad_edu.common.wording import first_line
from tinygrad_edu.data.timeline import Timeline
from tinygrad_edu.observe import timing
from tinygrad_edu.observe.memory import Memory
from tinygrad_edu.settings import modes
from tinygrad_edu.tensor.random import seeded
from tinygrad_edu.tips.advice import Advice, Report
from tinygrad_edu.tips.rewriting import Saving
from tinygrad_edu.tips.signs import Sign
from tinygrad_edu.views import loading
from tinygrad_edu.views.frame import LAST_RUN, NOTHING_YET
from tinygrad_edu.views.playground import meters
from tinygrad_edu.views.race import finish


def advised() -> AdviceReport:
    """Of a run whose times are made up."""
    report = Report([
        Advice("vectorise", "Call the model once, for all samples",
               Sign(None, "linear ran 64 times in a step, each time for one row", 0.004, setting={"n": 64}), 0.4),
        Advice("pinned-memory", "Pin the memory of batches that travel often",
               Sign(None, "16 copies from memory that is not pinned", 0.0005, virtual=True), 0.05,
               Saving(0.002, 0.001, (1.9, 2.0, 2.1), virtual=True)),
        Advice("keep-the-number-not-the-graph", "Add up numbers, not the graphs behind them",
               Sign(None, "10 losses were kept", saves="memory that grows with every step"), 0.0),
    ])  # fmt: skip
    report.watched, report.seconds = 400, 0.01
    return AdviceReport(report)


def stepper() -> GraphStepper:
    model = nn.Sequential(nn.Linear(1, 2), nn.Tanh())
    for p in model.parameters():
        p.data = tg.full(p.shape, 0.5)

    def loss_of(x: tg.Tensor, w: tg.Tensor) -> tg.Tensor:
        y = x * w
        for _ in range(5):
            y = y + x
        return model(y.reshape(1, 1)).sum()

    return GraphStepper(loss_of, x=tg.tensor(2.0, requires_grad=True), w=tg.tensor(-3.0, requires_grad=True))


def buffers() -> BufferMap:
    x = tg.arange(12, dtype="float32").reshape(3, 4)
    return BufferMap(x=x, t=x.T, big=tg.zeros(10_000), one=tg.tensor(True), none=tg.zeros(0), labels={"t": "x.T"})


def stale_map() -> BufferMap:
    x = tg.arange(12, dtype="float32").reshape(3, 4)
    made = BufferMap(x=x, t=x.T)
    x.array[1, 1] = -0.125
    made.look()
    return made


def slider() -> CheckpointSlider:
    return CheckpointSlider([nn.Linear(8, 8) for _ in range(6)], tg.ones(4, 8), budget=0.01)


def two_models() -> CheckpointSlider:
    return CheckpointSlider()


def monitor() -> TrainingMonitor:
    made = TrainingMonitor(3)
    made.log(loss=2.0, accuracy=0.5)
    return made


def playground() -> Playground:
    return Playground()


def played() -> Playground:
    """After a switch that was predicted, by a clock that counts."""
    made = Playground(acts=[(20, "flip", "copies", True)])
    ticks = itertools.count()
    with mock.patch.object(meters, "_clock", lambda: next(ticks) * MILLISECOND):
        made.run(30)
    made.state = dataclasses.replace(made.state, said={"copies": {"time": "same", "bytes": "up"}})
    made._show()
    return made


def tips() -> TipBrowser:
    return TipBrowser("share-storage")


def big_step() -> None:
    """Half a megabyte is kept for backward."""
    x = tg.ones(64, 1000, requires_grad=True)
    (x.exp() * x.tanh()).sum().backward()


def big_forward() -> None:
    with tg.no_grad():
        tg.ones(64, 1000).exp().sum()


def on_the_device(pinned: bool = False) -> None:
    x = tg.ones(64, 64).pin_memory() if pinned else tg.ones(64, 64)
    (x.to("sim", non_blocking=True) @ tg.ones(64, 64, device="sim")).sum()


def timelines() -> QueueTimeline:
    return QueueTimeline(on_the_device, lambda pinned: on_the_device(True), knobs={"pinned": (False, True)})


def loading_as_it_was() -> LoaderGantt:
    """Passes of a loop with times that are always the same."""
    passes = []
    for epoch in range(2):
        made = Timeline(2, "process", 10.0 + 0.2 * epoch)
        made.starts = {0: (0.0, 0.04), 1: (0.0, 0.05)}
        for number in range(6):
            began, wanted = made.origin + 0.05 + 0.02 * (number // 2), made.origin + 0.07 + 0.013 * number
            taken = max(wanted, began + 0.019)
            made.note(number, 8, number % 2, began, began, began + 0.015, began + 0.018, began + 0.019, wanted, taken)
        made.end(made.origin + 0.16)
        made.left = made.ended = 0.16
        passes.append(made)
    return LoaderGantt.of(loading.read(passes, "an ordinary computer"))


def roofline() -> Roofline:
    """On a simulated machine, whose times are always the same."""
    x = tg.ones(256, 256, device="sim")
    return Roofline(lambda device: (x @ x).relu().sum(), machine="T4")


def scaled(x: Any, scale: Any) -> Any:
    return (x.relu() * scale - 1.0).mean()


def tracer() -> PromotionTracer:
    return PromotionTracer(scaled, x=tg.ones(64, 8), scale=np.float64(0.5), table="numpy")


def ruler() -> PrecisionRuler:
    """A small network that trains."""
    with seeded(0):
        layer, x = nn.Linear(8, 4), tg.randn(16, 8)

    def step() -> None:
        layer.zero_grad()
        (layer(x).square().mean() * 1e-6).backward()

    return PrecisionRuler(layer, step=step, lr=0.1)


def memory() -> MemoryRiver:
    """Both have been watched before, so that nothing is made for the first time."""
    with Memory():
        big_step()
        big_forward()
    return MemoryRiver(big_step, big_forward, names=("step", "no_grad"))


def choice() -> PredictGate:
    return PredictGate("Which?", lambda: "b", choices=["a", "b"], why="It **is**.")


def number() -> PredictGate:
    return PredictGate("How many?", lambda: 4, low=0, high=10, unit=" s")


def curve() -> PredictGate:
    return PredictGate("Draw.", lambda: [0.5, 0.1], xs=[1, 2])


def race(clock: Clock | None = None) -> TimingRace:
    clock = clock or Clock()

    def loop(n: int) -> None:
        clock.now += n * MILLISECOND

    return TimingRace(loop, clock.takes(8 * MILLISECOND, "call"), sizes=(2, 8, 32), budget=0.01)


@cache
def times() -> timing.Sweep:
    """A race by a clock that always shows the same."""
    clock = Clock()
    made = race(clock)
    with mock.patch.object(timing, "_clock", clock):
        return timing.sweep(*made._pair, made.state.sizes, make=int, names=made.state.names)


def raced() -> TimingRace:
    """After a race."""
    made = race()
    made.state = finish(dataclasses.replace(made.state, said=10.0, said_at=2), times())
    made._show()
    return made


# How to make each, and ways to states that show other controls.
Path = list[tuple[str, Any]]
SAID: Path = [("draft", "(3, 4)"), ("commit", None)]
LAB_PATHS: list[Path] = [
    [], [*SAID, ("point", "a:1")], [("draft", "(3, 1)"), ("a", "3, 2")], [*SAID, ("a", "2, 9, 1"), ("op", "/")],
    [("b", "0")], [("a", "wide")],
]  # fmt: skip
RIVER: Path = [("draft", "gradients"), ("commit", None)]
ROOF: Path = [("draft", "moving its bytes"), ("commit", None)]
SEEN: Path = [("draft", "about the same"), ("commit", None)]
MAKERS: dict[str, tuple[Callable[[], EduWidget], list[Path]]] = {
    "AdviceReport": (advised, [[], [("step", None)], [("pick", 2), ("open", None)], [("pick", 9)]]),
    "nothing advised": (lambda: AdviceReport(Report()), [[]]),
    "GraphStepper": (stepper, [[], [("last", None)], [("goto", 3), ("collapse", None)], [("leaf:x", "none")]]),
    "BroadcastLab": (BroadcastLab, LAB_PATHS),
    "BufferMap": (
        buffers,
        [
            [],
            [("write", None)],
            [("view", "order of visits")],
            [("view", "free view")],
            [("pick", "one")],
            [("pick", "none")],
            [("add", "x +")],
        ],
    ),
    "stale map": (stale_map, [[], [("renew", None)]]),
    "FusionBuilder": (
        FusionBuilder,
        [
            [],
            [("press", 0)],
            [("everything", None), ("reveal", None)],
            [("example", "softmax"), ("press", 0)],
        ],
    ),
    "LoaderGantt": (
        LoaderGantt,
        [
            [],
            [("workers", 4), ("kind", "thread"), ("draft", 55)],
            [("workers", 0), ("reset", None), ("cost", "Python")],
            [("kept", "perhaps")],
        ],
    ),
    "LoaderGantt of a loop": (loading_as_it_was, [[]]),
    "RetraceLedger": (
        RetraceLedger,
        [
            [],
            [("hit", None), ("miss", None)],
            [("series", "a switch"), ("goto", 8), ("cure", None), ("goto", 8)],
            [("series", "none")],
        ],
    ),
    "CheckpointSlider": (
        slider,
        [[], [("draft", 3)], [("draft", 4), ("commit", None)], [("commit", None), ("segments", 2)], [("draft", "x")]],
    ),
    "two models": (two_models, [[]]),
    "GuardLens": (GuardLens, [[], [("guard", "off")], [("edit", None)], [("code", "1 / 0")]]),
    "MemoryRiver": (memory, [[], [("draft", "data")], RIVER, [*RIVER, ("which", "B"), ("step", None)]]),
    "QueueTimeline": (timelines, [[], [("draft", "longer")], SEEN, [*SEEN, ("gap", None)], [*SEEN, ("pick", "0:99")]]),
    "PrecisionRuler": (
        ruler,
        [[], [("scale", 12)], [("format", "int8"), ("scale", 4)], [("format", "e4m3"), ("steps", None)]],
    ),
    "PromotionTracer": (
        tracer,
        [[], [("make", "float32")], [("pick", "l2.1"), ("make", "Python number")], [("table", "torch")]],
    ),
    "Roofline": (
        roofline,
        [
            [],
            [("draft", "its arithmetic")],
            ROOF,
            [*ROOF, ("pick", 1)],
            [*ROOF, ("pick", 9)],
            [*ROOF, ("form", "compiled")],
            [*ROOF, ("form", "compiled"), ("form", "as written")],
        ],
    ),
    "TimingRace": (race, [[], [("draft", "3")], [("draft", "many")]]),
    "raced": (raced, [[], [("n", 0)]]),
    "TipBrowser": (
        tips,
        [[], [("draft", "none")], [("draft", "none"), ("commit", None), ("edit", None)], [("words", "?")]],
    ),
    "TrainingMonitor": (monitor, [[]]),
    "Playground": (playground, [[], [("flip", "zeros")], [("tip", "copies")]]),
    "played": (played, [[], [("flip", "loop"), ("guess:time", "up")]]),
    "choice": (choice, [[], [("draft", "a")], [("draft", "a"), ("commit", None)]]),
    "number": (number, [[], [("draft", "many")], [("draft", 3), ("commit", None)]]),
    "curve": (curve, [[], [("draw", [0, 1])], [("level", None)], [("draw", [0, 1]), ("commit", None)]]),
}


@pytest.fixture(autouse=True)
def nothing_plays() -> Iterator[None]:
    """What a test has pressed does not go on after it."""
    yield
    stop_all()


STATES = [(name, path) for name, (_, paths) in MAKERS.items() for path in paths]
each_widget = pytest.mark.parametrize("name", MAKERS)
each_state = pytest.mark.parametrize("name, path", STATES, ids=[f"{n}-{i}" for i, (n, _) in enumerate(STATES)])


def reach(name: str, path: Path) -> EduWidget:
    made = MAKERS[name][0]()
    for act, value in path:
        made.act(act, value)
        made.wait()
    return made


def message(widget: EduWidget, act: Any, value: Any = None) -> None:
    """What arrives when the browser sends it."""
    widget._handle_custom_msg({"act": act, "value": value}, [])
    widget.wait()


def test_the_names_are_those_that_are_documented() -> None:
    assert tinygrad_edu_widgets.__all__ == [
        *sorted(["Behind", *(one.name for one in WIDGETS)]),
        "export_predictions",
        "show_tip",
    ]
    for name in tinygrad_edu_widgets.__all__:
        assert inspect.getdoc(getattr(tinygrad_edu_widgets, name))


@each_state
def test_the_page_is_well_formed_and_every_control_has_a_name(name: str, path: Path) -> None:
    widget = reach(name, path)
    check(widget.html, live=True)
    page = check(widget.to_html().removeprefix("<!doctype html>"), live=False)
    assert page.active() == []
    assert (NOTHING_YET if widget._still().waiting else LAST_RUN) in widget.to_html()


def fitting(element: Element) -> Any:
    """A value such as the browser would send for this control."""
    given = element.attributes
    if given.get("role") == "slider":
        return [int(given["data-value"]), 1]
    if given.get("role") == "spinbutton":
        return min(int(given["aria-valuenow"]) + 1, int(given["aria-valuemax"]))
    if element.tag == "textarea":
        return "a = np.ones(2)"
    if element.tag == "select":
        return ""
    if element.tag == "input":
        return {"range": 2, "number": "2.5", "search": "view", "text": "x[0]" if given["data-act"] == "add" else "1.5"}[
            given["type"]
        ]
    return given.get("data-value")


def controls(widget: EduWidget) -> list[tuple[str, Any]]:
    """What each can send."""
    shown = [e for e in check(widget.html, live=True).elements if "data-act" in e.attributes]
    return list({str(sent): sent for e in shown for sent in [(e.attributes["data-act"], fitting(e))]}.values())


def press(name: str, path: Path, act: str, value: Any) -> None:
    widget = reach(name, path)
    before = widget.answers
    message(widget, act, value)
    assert widget.answers == before + 1
    assert "no such control" not in widget.text(), act
    assert widget._notice == "", act


@pytest.mark.drawn(1 / 2)
@each_state
def test_a_control_of_each_kind_is_understood(name: str, path: Path, draw: random.Random) -> None:
    shown = sorted(controls(reach(name, path)), key=str)
    for _, alike in itertools.groupby(shown, lambda sent: re.sub(r"\W.*", "", sent[0])):
        press(name, path, *draw.choice(list(alike)))


@pytest.mark.slow
@each_state
def test_every_control_is_understood(name: str, path: Path) -> None:
    for act, value in controls(reach(name, path)):
        press(name, path, act, value)


@each_widget
def test_what_a_control_cannot_take_is_refused_in_words_for_the_learner(name: str, draw: random.Random) -> None:
    widget, raised = reach(name, []), r"\b(?:Type|Value|Key|Index|Overflow|Attribute)Error"
    acts = sorted({act for act, _ in check(widget.html, live=True).acts()})
    for act, junk in draw.sample(sent := list(itertools.product(acts, ["abc", None, {}, 10**30])), len(sent)):
        shown = re.findall(raised, widget.text())  # what the picture is about
        message(widget, act, junk)
        assert "cannot be done here" not in widget.text(), act
        assert set(re.findall(raised, widget.text())) <= set(shown), act


def test_the_browser_side_knows_no_widget_by_name() -> None:
    script = EduWidget._esm.path.read_text() if hasattr(EduWidget._esm, "path") else str(EduWidget._esm)
    assert not any(name in script for name in tinygrad_edu_widgets.__all__)


@each_state
def test_the_picture_is_well_formed_and_says_what_it_is(name: str, path: Path) -> None:
    widget = reach(name, path)
    svg = widget.svg()
    root = minidom.parseString(svg.encode()).documentElement
    title, description = root.firstChild, root.childNodes[1]
    assert (title.tagName, description.tagName) == ("title", "desc")
    assert title.firstChild.data and description.firstChild.data
    assert root.getAttribute("aria-labelledby") == f"{title.getAttribute('id')} {description.getAttribute('id')}"
    style, paper = root.childNodes[2], root.childNodes[3]
    assert style.firstChild.data.startswith("@media (prefers-color-scheme: dark)")
    assert (paper.getAttribute("fill"), paper.getAttribute("width")) == ("#ffffff", "100%")
    assert not re.search(r'\s(tabindex|data-[\w-]+|on\w+|aria-label)="', svg)
    assert "var(" not in svg
    width, height = (float(root.getAttribute(side)) for side in ("width", "height"))
    for text in root.getElementsByTagName("text"):
        assert text.getAttribute("fill").startswith("#")
        assert float(text.getAttribute("font-size").removesuffix("px")) >= 12
    for rect in root.getElementsByTagName("rect"):
        if not rect.getAttribute("width").endswith("%"):
            assert float(rect.getAttribute("x")) + float(rect.getAttribute("width")) <= width
            assert float(rect.getAttribute("y")) <= height


@each_widget
def test_the_bundle_has_view_picture_and_text(name: str) -> None:
    widget = reach(name, [])
    bundle, _ = widget._repr_mimebundle_()
    assert set(bundle) == {"application/vnd.jupyter.widget-view+json", "image/svg+xml", "text/html", "text/plain"}
    assert bundle["image/svg+xml"] == widget.svg()
    page = check(bundle["text/html"], live=False)
    (image,) = [element.attributes for element in page.elements if element.tag == "img"]
    assert base64.b64decode(image["src"].removeprefix("data:image/svg+xml;base64,")).decode() == widget.svg()
    assert image["alt"] and page.elements[-1].text == widget._still().words()  # all that the picture shows
    assert not {element.tag for element in page.elements} & {"svg", "script", "style"}  # which many readers remove
    assert bundle["text/plain"] == repr(widget)
    json.dumps(bundle)


@each_state
def test_the_text_is_stable_and_holds_no_address(name: str, path: Path) -> None:
    one, two = reach(name, path), reach(name, path)
    assert repr(one) == repr(two)
    assert repr(one).startswith(f"{type(one).__name__}")
    assert not re.search(r"0x[0-9a-f]{6,}| at 0x|object at", one.text() + one.html + one.svg())
    assert not any(line != line.rstrip() and line.strip() for line in repr(one).splitlines())
    assert one.html == two.html
    assert one.svg() == two.svg()


@each_state
def test_the_data_are_plain(name: str, path: Path) -> None:
    data = reach(name, path).data()

    def walk(value: Any) -> None:
        assert not isinstance(value, tg.Tensor)
        if isinstance(value, dict):
            [walk(v) for v in value.values()]
        elif isinstance(value, (list, tuple, frozenset)):
            [walk(v) for v in value]
        elif hasattr(value, "__dataclass_fields__"):
            walk(vars(value))
        else:
            assert value is None or isinstance(value, (str, int, float, bool)), value

    walk(data)


JUNK: list[tuple[str, Any]] = [
    ("bogus", 3), ("", None), ("goto", "far"), ("goto", None), ("jump", {}), ("leaf:none", 1), ("toggle", []),
    ("point", "x"), ("point", "nobody:1"), ("point", "none:0"), ("pick", 5), ("axis:9", 1), ("axis:0", 10**9),
    ("axis:", 0), ("shape:0", -1), ("stride:7", 1), ("stride:0", None), ("offset", "x"), ("guard", "maybe"),
    ("row", "x"), ("row", None), ("draft", {}), ("draw", None), ("draw", "abc"), ("draw", [None]), ("nudge", None),
    ("nudge", [0, 1]), ("nudge", [99, 1]), ("commit", None), ("code", None), ("write", {}), ("stop", "x"),
]  # fmt: skip


@each_widget
def test_no_message_breaks_a_widget(name: str, draw: random.Random) -> None:
    """One after the other, in any order."""
    widget = reach(name, [])
    for answered, (act, value) in enumerate(draw.sample(JUNK * 2, 2 * len(JUNK)), 1):
        message(widget, act, value)
        assert widget.answers == answered, act
        check(widget.html, live=True)
        assert isinstance(repr(widget), str)


@each_widget
def test_an_unknown_act_is_named_and_goes_away(name: str) -> None:
    widget = reach(name, [])
    message(widget, "bogus", 3)
    assert widget._framed().text.endswith("▲ 'bogus': this widget has no such control. Press one that it shows.")
    assert "this widget has no such control" in widget.html
    assert 'role="alert"' in widget.html
    for known in check(widget.html, live=True).acts()[:1]:  # a widget without controls has none
        message(widget, *known)
        assert "bogus" not in widget.html
    before = widget.answers
    shown = check(widget.html, live=True).acts()
    with pytest.raises(
        KeyError, match=f"'bogus': {type(widget).__name__} has no such control; on show are "
    ) as refused:
        widget.act("bogus")
    assert all(act in str(refused.value) for act, _ in shown)
    assert widget.answers == before + 1


@each_widget
def test_messages_of_another_kind_are_left_alone(name: str) -> None:
    widget = reach(name, [])
    before = widget.html
    for content in (None, [], "act", {}, {"act": 3}, {"act": None, "value": 1}):
        widget._handle_custom_msg(content, [])
        assert (widget.answers, widget.html) == (0, before), content


class Slow(EduWidget):
    """Notes when an act begins and ends, and what holds while it runs."""

    def __init__(self) -> None:
        self.notes: list[Any] = []
        super().__init__()

    def frame(self) -> Any:
        return PredictGate("?", lambda: 1).frame()

    def _act(self, act: str, value: Any) -> None:
        self.notes.append(("begin", value))
        time.sleep(0.01)
        if act == "fail":
            raise RuntimeError("own")
        self.notes.append(("end", value, modes().grad, modes().guard))


def test_messages_from_two_threads_are_done_one_after_another() -> None:
    widget = Slow()
    threads = [threading.Thread(target=message, args=(widget, "do", i)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert widget.answers == 8
    begun = [note[1] for note in widget.notes[::2]]
    assert [note[1] for note in widget.notes[1::2]] == begun
    assert sorted(begun) == list(range(8))
    assert {note[0] for note in widget.notes[::2]} == {"begin"}


def test_acts_run_under_the_modes_in_which_the_widget_was_made() -> None:
    with tg.no_grad(), tg.guard.off():
        quiet = Slow()
    loud = Slow()
    for widget in (quiet, loud):
        thread = threading.Thread(target=message, args=(widget, "do", 1))
        thread.start()
        thread.join()
    with tg.no_grad(), tg.guard.verify():
        message(loud, "do", 2)
    assert quiet.notes[1] == ("end", 1, False, "off")
    assert [note for note in loud.notes if note[0] == "end"] == [("end", 1, True, "on"), ("end", 2, True, "on")]


def test_an_act_cannot_change_the_modes_for_the_next() -> None:
    lens = GuardLens()
    lens.act("code", "tg.set_grad_enabled(False)\ntg.guard.on().__enter__()")
    assert modes().grad
    lens.act("reset")
    assert "ValueError in line 4" in lens.text()


def test_an_error_of_an_act_is_answered_to_the_browser_and_raised_in_code() -> None:
    widget = Slow()
    message(widget, "fail", 1)
    assert widget.answers == 1
    assert widget._framed().text.endswith(
        "▲ fail = 1: this cannot be done here (RuntimeError: own). Give another value, or press Reset."
    )
    with pytest.raises(RuntimeError, match="own"):
        widget.act("fail", 2)
    assert widget.answers == 2
    message(widget, "do", 3)
    assert "fail" not in widget.text()


def test_first_lines() -> None:
    assert first_line(ValueError("one\ntwo")) == "ValueError: one"
    assert first_line(AssertionError()) == "AssertionError"


@each_widget
def test_presenting_is_only_a_switch(name: str) -> None:
    widget = reach(name, [])
    before = widget.html
    widget.present()
    assert widget.presenting and (widget.html == before or name == "TipBrowser")  # which shows one step at a time
    widget.present(False)
    assert (widget.presenting, widget.html) == (False, before)


@each_widget
def test_the_state_that_is_sent_is_small_and_plain(name: str) -> None:
    state = reach(name, []).get_state()
    own = {key: value for key, value in state.items() if key in ("html", "label", "presenting", "answers")}
    assert len(json.dumps(own)) < 80_000
    assert own["label"] == type(reach(name, [])).__name__
