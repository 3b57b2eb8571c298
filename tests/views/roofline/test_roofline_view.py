"""Roofline as a picture: marks stand where their operations are, under a roof that is the machine's."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from typing import Any

import pytest

from tests.views.twin import assert_twin
from tinygrad_edu.common.wording import si
from tinygrad_edu.errors import IndexRangeError
from tinygrad_edu.observe.roofline import Peaks, Point, Roofline
from tinygrad_edu.views import roofline
from tinygrad_edu.views.frame import NARROW, WIDE
from tinygrad_edu.views.roofline import CHOICES, RooflineState
from tinygrad_edu.views.roofline.words import times_text

CAPTIONS = [
    r"[\d.]+( [kMGT])?", "FLOP/s", "FLOP per byte", r"(memory|cache) .*", r"[\d.]+ [kMGT]FLOP/s", r"\d+(, \d+)*",
    "dotted: what its start allows", r"\d+ %",
]  # fmt: skip
PEAKS = Peaks("T4", 8e12, ((1e6, 900e9), (float("inf"), 320e9)), 5e-6, simulated=True)
POINTS = (
    Point("matmul", "train.py, line 3: h = x @ w", 1, 2e9, 12e6, 3e-4),
    Point("add", "train.py, line 4: h + b", 4, 1e6, 8e6, 3e-5),
    Point("mul", "train.py, line 5: h * 2", 4, 1e6, 8e6, 3.1e-5),
    Point("relu", "", 100, 1e3, 8e3, 5e-6),
    Point("stack", "", 1, 0, 8e6, 3e-5),
)
FOUND = Roofline(PEAKS, POINTS)


def state(**changes: Any) -> RooflineState:
    return RooflineState("T4", ("this machine", "T4"), begun=True, result=FOUND, asked="T4", **changes)


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_marks_stand_at_what_they_do(width: int) -> None:
    figure = roofline.draw(FOUND, width, 0)
    root = ET.fromstring(figure.svg())
    circles = {
        g.get("data-value"): next(c for c in g if c.tag.endswith("circle"))
        for g in root.iter("g") if g.get("data-act") == "pick" and any(c.tag.endswith("circle") for c in g)
    }  # fmt: skip
    assert set(circles) == {"0", "1", "2", "3"}, "what does no arithmetic has no place"
    at = {i: (float(c.get("cx") or 0), float(c.get("cy") or 0)) for i, c in circles.items()}
    xs = [(math.log10(POINTS[int(i)].intensity), x) for i, (x, _) in at.items()]
    ys = [(math.log10(POINTS[int(i)].achieved), y) for i, (_, y) in at.items()]
    for pairs, rises in ((xs, True), (ys, False)):
        (v1, p1), (v2, p2) = min(pairs), max(pairs)
        assert (p2 > p1) == rises
        for value, place in pairs:
            assert place == pytest.approx(p1 + (p2 - p1) * (value - v1) / (v2 - v1), abs=0.1)


@pytest.mark.parametrize("picked", range(5))
def test_the_twin_says_what_is_drawn(picked: int) -> None:
    assert_twin(roofline.frame(state(picked=picked, said=CHOICES["bytes"])), CAPTIONS)


def test_the_verdict_and_what_each_is_limited_by() -> None:
    made = state(said="its arithmetic")
    assert (
        roofline.verdict(made)
        == "As you predicted: matmul takes 28 % of the kernels' time, and is limited by its arithmetic."
    )
    wrong = state(said="moving its bytes")
    assert roofline.verdict(wrong).startswith("You predicted: moving its bytes. Result: matmul takes")
    other = RooflineState("A100", ("T4", "A100"), result=FOUND, said="starting it", asked="T4")
    assert roofline.verdict(other).startswith("Result: "), "it was predicted for another machine"
    bounds = [point.bound(PEAKS) for point in POINTS]
    assert bounds == ["arithmetic", "bytes", "bytes", "start", "bytes"]
    assert "limited by starting it" in roofline.text(made)
    for place, bound in enumerate(bounds):
        assert roofline.why(state(picked=place)) == roofline.words.WHY[bound]


def test_marks_on_each_other_share_a_name() -> None:
    svg = roofline.draw(FOUND, WIDE, 0).svg()
    assert re.search(r">2, 3<", svg) and re.search(r">1<", svg)


def test_before_the_prediction_nothing_is_told() -> None:
    asked = RooflineState("T4", ("T4",))
    text = roofline.text(asked)
    assert "Nothing is run before you commit to a prediction." in text and "FLOP" not in text
    assert roofline.summary(asked) == "Roofline: hidden until predicted"


def test_words_of_figures() -> None:
    assert (si(134e6, "FLOP"), si(0.0, "FLOP"), si(2e12, "FLOP/s")) == ("134 MFLOP", "0 FLOP", "2.00 TFLOP/s")
    assert [times_text(t, False) for t in (1.0, 1.04, 1.5, float("inf"))] == [
        "no gain",
        "no gain",
        "about 1.50×",
        "without limit",
    ]


def test_what_is_not_there_is_refused() -> None:
    for wrong in ("9", -1, None, "x"):
        with pytest.raises(IndexRangeError, match="there is no such one"):
            roofline.pick(state(), wrong)
    with pytest.raises(IndexRangeError, match="it is not offered"):
        roofline.draft(RooflineState("T4", ("T4",)), "luck")
    with pytest.raises(IndexRangeError, match="it cannot be chosen here"):
        roofline.machine(state(), "abacus")


@pytest.mark.parametrize(("picked", "before", "after"), [(0, 0, 14), (5, 1, 13), (10, 6, 8), (19, 14, 0)])
def test_every_operation_can_be_reached_from_its_neighbours(picked: int, before: int, after: int) -> None:
    many = Roofline(PEAKS, tuple(Point(f"op{i}", "", 1, 0 if i % 2 else 1e6, 8e6, 3e-5) for i in range(20)))
    root = ET.fromstring(roofline.draw(many, WIDE, picked).svg())
    rows = [g for g in root.iter("g") if g.get("data-rove")]
    told = ["".join(g.itertext()) for g in rows]
    assert [row for row in told if "more" in row] == [
        *[f"{before} more before these"] * bool(before),
        *[f"{after} more after these"] * bool(after),
    ]
    reached = [int(g.get("data-value") or -1) for g in rows]
    assert reached == list(range(max(before - 1, 0), before + 6 + bool(after)))
    assert [g.get("data-value") for g in rows if g.get("tabindex") == "0"] == [str(picked)]


# As written, and compiled --------------------------------------------------------------------------------------------

FUSED = Roofline(
    PEAKS,
    (Point("matmul+add+mul+relu", "", 1, 2.1e9, 12e6, 3.2e-4), Point("stack", "", 1, 0, 8e6, 3e-5)),
    whole=4e-4,
    compiled=True,
)
WRITTEN = replace(FOUND, whole=2e-3)
TOLD = "as written 110 kernels, 2.00 ms a run; compiled 2 kernels, 400 µs a run"


def pair(compiled: bool, **changes: Any) -> RooflineState:
    shown, other = (FUSED, WRITTEN) if compiled else (WRITTEN, FUSED)
    form = "compiled" if compiled else "as written"
    return replace(state(**changes), result=shown, other=other, ran="T4", form=form)


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("picked", [0, 1])
def test_the_twin_says_what_both_forms_are(compiled: bool, picked: int) -> None:
    made = pair(compiled, picked=picked)
    assert_twin(roofline.frame(made), CAPTIONS)
    assert TOLD in roofline.text(made) and roofline.comparison(made) == TOLD
    assert roofline.comparison(state()) == ""


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_the_other_form_is_hollow_and_stands_where_it_would_be_filled(width: int) -> None:
    circles: dict[bool, list[Any]] = {}
    for compiled in (True, False):
        frame = roofline.frame(pair(compiled))
        root = ET.fromstring((frame.wide if width == WIDE else frame.narrow).svg())
        circles[compiled] = [one for one in root.iter() if one.tag.endswith("circle")]
    places = {
        (compiled, kind): {(one.get("cx"), one.get("cy")) for one in circles[compiled] if one.get("class") == kind}
        for compiled in circles
        for kind in ("result", "mark-a")
    }
    assert len(places[True, "result"]) == 1 and len(places[True, "mark-a"]) == 4
    assert places[True, "result"] == places[False, "mark-a"] and places[False, "result"] == places[True, "mark-a"], (
        "the axes stay as they are"
    )


def test_forms_are_changed_at_once_where_both_are_known() -> None:
    made = roofline.form(pair(False, picked=3), "compiled")
    assert (made.result, made.other, made.form, made.picked) == (FUSED, WRITTEN, "compiled", 0)
    assert roofline.form(made, "compiled") == made
    alone = roofline.form(state(), "compiled")
    assert (alone.result, alone.form) == (FOUND, "compiled")
    with pytest.raises(IndexRangeError, match="there is no such form"):
        roofline.form(made, "faster")


def test_both_forms_stand_under_one_roof() -> None:
    faster = replace(FUSED, peaks=replace(PEAKS, rate=9e12))
    made = roofline.finish(state(picked=2), "T4", faster, WRITTEN)
    assert made.result is not None and made.other is not None and made.picked == 0 and made.form == "compiled"
    assert made.result.peaks.rate == made.other.peaks.rate == 9e12
    assert made.written == made.other
    assert replace(made, machine="A100").written is None, "it is of another machine"


def test_what_a_program_needs() -> None:
    peaks = replace(PEAKS, call=1e-6)
    point = Point("program of 4 kernels", "", 1, 8e6, 4e6, 1e-4, kernels=4, asked=9)
    assert point.needs(peaks) == {"start": 9e-6, "bytes": 4 * 1e6 / 900e9, "arithmetic": 1e-6}
    assert ("NumPy calls", "9") in roofline.words.details(point, peaks)
    assert Roofline(peaks, (point, Point("sum", "", 3, 1, 4, 1e-6))).count == 7


def test_counts_without_times() -> None:
    here = replace(PEAKS, simulated=False)
    made = replace(pair(True), result=replace(FUSED, peaks=here), other=replace(WRITTEN, peaks=here))
    told = "Roofline: measured; as written 110 operations of forward; compiled 2 kernels"
    assert roofline.summary(made) == told


def test_what_a_numpy_call_takes_is_said_only_beside_a_program() -> None:
    peaks = replace(PEAKS, call=1e-6)
    assert "NumPy call" not in roofline.text(replace(state(), result=replace(FOUND, peaks=peaks)))
    made = replace(pair(True), result=replace(FUSED, peaks=peaks))
    assert "1.00 µs for a NumPy call of a program" in roofline.text(made)


def test_gains_on_a_real_machine_are_estimates_and_say_so() -> None:
    real = replace(FOUND, peaks=replace(PEAKS, simulated=False))
    said, exact = (f"if one of them cost nothing, {how}:" for how in ("estimated", "computed"))
    assert f"  {said}\n  without starting it: " in roofline.text(replace(state(), result=real))
    assert said in roofline.draw(real, WIDE).canvas.text_items
    assert said not in roofline.text(state()) and exact in roofline.draw(FOUND, WIDE).canvas.text_items


def test_what_is_needed_is_computed_at_a_rate_that_is_named() -> None:
    peaks = Peaks("here", 8e12, ((1e6, 900e9), (1e8, 320e9)), 5e-6, (("matmul", 7e-6),))
    made = replace(state(), result=Roofline(peaks, POINTS[:2]))
    told = roofline.text(made)
    assert "takes, measured: 300 µs, 1 call" in told and "at least needed, computed from the peaks:" in told
    assert "starting a matmul: 7.00 µs" in told
    assert "starting an operation: 5.00 µs" in roofline.text(replace(made, picked=1))
    for size, where in ((1e5, "from a cache"), (5e7, "partly from a cache"), (1e9, "from memory")):
        found = Roofline(peaks, (replace(POINTS[0], nbytes=size),))
        expected = f"that is, {where}, at: {si(peaks.bandwidth_of(size), 'B/s')}"
        assert expected in roofline.text(replace(made, result=found))


def test_the_other_form_need_not_be_offered() -> None:
    made = state(plain=True)
    assert ">compiled<" not in roofline.frame(made).html() and ">compiled<" in roofline.frame(state()).html()
    with pytest.raises(IndexRangeError, match="the form 'compiled'"):
        roofline.form(made, "compiled")
