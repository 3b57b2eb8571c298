"""The state of each widget as traits: read, set, refused, linked."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from unittest import mock

import ipywidgets
import pytest
import traitlets
from tinygrad_edu_widgets import (
    BroadcastLab,
    BufferMap,
    CheckpointSlider,
    GuardLens,
    LoaderGantt,
    PredictGate,
    RetraceLedger,
    TipBrowser,
    TrainingMonitor,
)
from tinygrad_edu_widgets.base import EduWidget

import tinygrad_edu as tg
from tests.widgets.test_every_widget import (
    MAKERS,
    RIVER,
    STATES,
    advised,
    memory,
    race,
    raced,
    reach,
    roofline,
    ruler,
    slider,
    timelines,
    tracer,
)
from tinygrad_edu.tips import all_tips


def gate() -> PredictGate:
    return PredictGate("Which?", lambda: "b", choices=["a", "b"])


def two_names() -> BufferMap:
    x = tg.arange(12, dtype="float32").reshape(3, 4)
    return BufferMap(x=x, t=x.T)


def slid() -> CheckpointSlider:
    made = slider()
    made.predict(4)
    return made


def remembered() -> EduWidget:
    return reach("MemoryRiver", RIVER)


OTHER = all_tips()[1].slug

# Each trait that can be set: the widget, a value, what its text then says, and a value that is refused with its words.
SET: list[tuple[Callable[[], EduWidget], str, Any, str, Any, str]] = [
    (gate, "prediction", "b", "◇  b", "c", ""),  # a refused prediction is none
    (race, "place", 1, "n = 8", 7, "there are 3 sizes"),
    (race, "size", 2, "n = 2", 5, "the sizes are (2, 8, 32)"),
    (race, "prediction", 3.0, "3", -1.0, "no time is below 0"),
    (slid, "segments", 2, "2 segments:", 9, "there are 6 layers to divide"),
    (slider, "prediction", 5, "you: lowest at 5, not committed", 0, "there are 6 layers to divide"),
    (CheckpointSlider, "model", "wide, batch 8", "model: wide, batch 8", "tall", "there is no such model"),
    (GuardLens, "guard", "off", "guard off", "maybe", "maybe"),
    (GuardLens, "row", 5, "> 6 a[0] = 10.0", "x", ""),
    (BroadcastLab, "a", (2, 1), "a (2, 1)", (1, 1, 1, 1), "axes"),
    (BroadcastLab, "b", (3, 2), "b (3, 2)", (-1,), "a shape is a list of sizes"),
    (BroadcastLab, "op", "*", "c = a * b", "@", "the lab does not have it"),
    (BroadcastLab, "prediction", "(3, 1)", "(3, 1)", "(9, 9)", "the choices are"),
    (memory, "prediction", "gradient", "◇ gradients: ", "weights", "it is no owner of memory"),
    (remembered, "which", "B", "B, event 3 of 3: ", "C", "the runs are A and B"),
    (remembered, "event", 0, "A, event 1 of ", "x", ""),
    (timelines, "prediction", "longer", "◇ longer", "never", "it is not offered"),
    (ruler, "power", 3, "loss scale: 2³", 50, "the scale goes from 1 to 2**44"),
    (ruler, "format", "int8", "format: int8", "int4", "the formats are float16, bfloat16, e4m3, e5m2, int8"),
    (advised, "at", 2, "▸ 3. Add up numbers", 9, "3 apply"),
    (LoaderGantt, "workers", 4, "set: 4 processes read 2 batches ahead each", 99, "it is not offered"),
    (LoaderGantt, "prediction", 35, "you: 35 %, not committed", 101, "it is a share in per cent"),
    (RetraceLedger, "at", 4, "4 calls, 2 programs made", "x", ""),
    (tracer, "table", "jax", "rules: JAX", "julia", "the tables are torch, numpy, jax"),
    (roofline, "prediction", "its arithmetic", "◇ its arithmetic", "never", "it is not offered"),
    (roofline, "machine", "A100", "A100, float32", "abacus", "it cannot be chosen here"),
    (roofline, "form", "compiled", "T4, float32, compiled", "faster", "there is no such form"),
    (timelines, "machine", "A100", "preset A100", "abacus", "it cannot be chosen here"),
    (two_names, "picked", "t", "t[0, 0]", "u", "this map has x, t"),
    (two_names, "index", (1, 2), "x[1, 2]", (9, 9), "Choose an index inside it"),
    (TipBrowser, "slug", OTHER, OTHER, "nothing", "nothing"),
]
each_setting = pytest.mark.parametrize(
    ("make", "name", "value", "says", "bad", "why"), SET, ids=[f"{make.__name__}-{name}" for make, name, *_ in SET]
)


@each_setting
def test_to_set_a_trait_does_what_its_control_does(
    make: Callable[[], EduWidget], name: str, value: Any, says: str, bad: Any, why: str
) -> None:
    widget = make()
    before, seen = getattr(widget, name), []
    widget.observe(lambda change: seen.append(change["new"]), name)
    setattr(widget, name, value)
    assert (getattr(widget, name), seen) == (value, [value])
    assert before != value and says in widget.text()
    if why:
        setattr(widget, name, bad)
        assert getattr(widget, name) == value and seen == [value]
        assert why in widget.text()


@each_setting
def test_the_browser_sets_it_too_and_learns_what_was_refused(
    make: Callable[[], EduWidget], name: str, value: Any, says: str, bad: Any, why: str
) -> None:
    widget = make()
    widget.set_state({name: json.loads(json.dumps(value))})
    assert getattr(widget, name) == value and says in widget.text()
    if why:
        with mock.patch.object(widget, "send_state") as sent:
            widget.set_state({name: json.loads(json.dumps(bad))})
        assert getattr(widget, name) == value
        assert mock.call(name) in sent.call_args_list


def test_every_settable_trait_is_tried() -> None:
    tried = {(type(make()).__name__, name) for make, name, *_ in SET} | {("GuardLens", "code")}
    ours = {(type(make()).__name__, name) for make, _ in MAKERS.values() for name in make().mirrors}
    assert {pair for pair in ours if pair[0] not in ("GraphStepper", "Playground")} == tried


def test_a_program_given_to_the_lens_is_run() -> None:
    lens = GuardLens()
    lens.code = "a = np.ones(3)\na[0] = 2"
    lens.wait()
    assert "2 a[0] = 2   # allowed" in lens.text() and lens.code == "a = np.ones(3)\na[0] = 2"
    lens.act("reset")
    assert lens.code.startswith("a = np.array")


READ_ONLY = [
    (gate, "committed"), (gate, "result"), (raced, "committed"), (raced, "ratio"), (BroadcastLab, "committed"),
    (two_names, "stale"), (TipBrowser, "committed"), (TipBrowser, "verdict"), (lambda: TrainingMonitor(3), "count"),
    (lambda: TrainingMonitor(3), "loss"), (lambda: TrainingMonitor(3), "ended"),
    (slid, "committed"), (slid, "peak"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "name"), READ_ONLY, ids=[name for _, name in READ_ONLY])
def test_what_was_found_cannot_be_set(make: Callable[[], EduWidget], name: str) -> None:
    widget = make()
    before = getattr(widget, name)
    other = {bool: True, int: 7, float: 0.5, type(None): None}[type(before)] if before is not True else False
    if other is None:
        other = "b" if name in ("result", "verdict") else 0.5
    with pytest.raises(traitlets.TraitError, match="read-only"):
        setattr(widget, name, other)
    with mock.patch.object(widget, "send_state") as sent:
        widget.set_state({name: other})
    assert getattr(widget, name) == before
    assert mock.call(name) in sent.call_args_list


def test_what_was_found_can_be_observed() -> None:
    seen: list[Any] = []
    one = gate()
    one.observe(lambda change: seen.append((change["name"], change["new"])), ["committed", "result", "prediction"])
    one.predict("a")
    assert sorted(seen) == [("committed", True), ("prediction", "a"), ("result", "b")]
    monitor = TrainingMonitor(2)
    monitor.log(loss=0.5)
    monitor.wait()
    assert (monitor.count, monitor.loss, monitor.ended) == (1, 0.5, False)
    assert raced().ratio == pytest.approx(4.0)


def test_no_result_is_in_a_trait_before_the_prediction() -> None:
    for make in (gate, race, slider, TipBrowser, BroadcastLab):
        state = make().get_state()
        found = [state.get(name) for name in ("result", "ratio", "peak", "verdict", "committed")]
        assert set(found) <= {None, False}


def test_traits_follow_every_state() -> None:
    for name, path in STATES:
        widget = reach(name, path)
        for trait, value in widget.mirrored().items():
            assert getattr(widget, trait) == value, (name, trait)
        json.dumps(widget.get_state(list(widget.mirrored())))


def test_a_slider_walks_through_the_sizes_and_two_labs_share_a_shape() -> None:
    one, slider = race(), ipywidgets.IntSlider(max=2)
    traitlets.link((one, "place"), (slider, "value"))
    assert slider.value == 2
    slider.value = 0
    assert one.size == 2 and "n = 2" in one.text()
    left, right = BroadcastLab(), BroadcastLab(op="*")
    traitlets.link((left, "a"), (right, "a"))
    left.act("a", "2, 4")
    assert right.a == (2, 4) and "a (2, 4)" in right.text()
