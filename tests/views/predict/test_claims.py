"""A prediction and a result, drawn: each mark stands where the axis says, and the words say the same."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from typing import Any

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tinygrad_edu.common.wording import number
from tinygrad_edu.views.frame import Figure
from tinygrad_edu.views.predict import GateState, Outcome, Question, draft, frame, outcome, question

NUMBERS = st.one_of(st.floats(-1e6, 1e6), st.floats(-5, 5), st.floats(-1e300, 1e300), st.integers(-9, 9).map(float))
RESULTS = st.one_of(NUMBERS, st.sampled_from([math.nan, math.inf, -math.inf]))


def parsed(word: str) -> float:
    return float(word.replace("−", "-").replace("\u2009", "").replace("∞", "inf"))


def diamonds(root: ET.Element) -> list[tuple[float, float]]:
    """The middles of the marks of the prediction."""
    found = []
    for path in root.iter("path"):
        if path.get("class") == "you":
            x, y, half = re.match(r"M([-\d.]+) ([-\d.]+)l([\d.]+)", path.get("d", "")).groups()  # type: ignore[union-attr]
            found.append((float(x) + float(half), float(y)))
    return found


def circles(root: ET.Element) -> list[tuple[float, float]]:
    """The middles of the marks of the result."""
    return [(float(c.get("cx", 0)), float(c.get("cy", 0))) for c in root.iter("circle") if c.get("class") == "result"]


def axis(root: ET.Element, across: bool, unit: str) -> list[tuple[float, float]]:
    """The ticks of an axis: where each is, and what is written beside it."""
    rules = [r for r in root.iter("line") if r.get("class") == "rule"]
    if across:
        rules = [r for r in rules if r.get("x1") == r.get("x2")]
        places = [float(r.get("x1", 0)) for r in rules]
        texts = [t for t in root.iter("text") if float(t.get("y", 0)) == 94]
    else:
        rules = [r for r in rules if r.get("y1") == r.get("y2")]
        places = [float(r.get("y1", 0)) for r in rules]
        texts = [t for t in root.iter("text") if float(t.get("x", 0)) == 48]
    words = [(t.text or "").removesuffix(unit) for t in texts]
    assert len(words) == len(places) == len(set(words)) >= 2
    return list(zip(places, map(parsed, words), strict=True))


def assert_at(place: float, value: float, ticks: list[tuple[float, float]]) -> None:
    """A mark is where the ticks say that its value is."""
    (p0, v0), (p1, v1) = ticks[0], ticks[-1]
    per_tick = abs((p1 - p0) / (len(ticks) - 1))
    expected = p0 + (p1 - p0) * ((value - v0) / (v1 - v0))
    rounding = per_tick * max(abs(v0), abs(v1)) * 1e-5 / abs((v1 - v0) / (len(ticks) - 1))  # ticks are written short
    assert abs(place - expected) <= 0.3 + rounding, (place, expected)


def assert_ascending(ticks: list[tuple[float, float]], up: bool) -> None:
    ordered = sorted(ticks, key=lambda tick: tick[1])
    assert ordered == sorted(ticks, reverse=up)


@settings(max_examples=120)
@given(NUMBERS, NUMBERS, NUMBERS, NUMBERS, st.sampled_from(["", " s", " kB"]), st.sampled_from([None, "measured"]))
def test_a_number(one: float, other: float, mine: float, real: float, unit: str, badge: str | None) -> None:
    low, high = min(one, other), max(one, other)
    far = max(abs(v) for v in (low, high, mine, real))
    assume(high - low > 1e-9 * far and high - low > 1e-290)  # so that floats can tell the ticks apart
    q = question("?", low=low, high=high, unit=unit)
    state = GateState(q, draft(q, mine), True, outcome(q, Outcome(real, "", "", badge)))
    shown = frame(state)
    for figure in (shown.wide, shown.narrow):
        root = ET.fromstring(figure.svg())
        ticks = axis(root, True, unit)
        assert_ascending(ticks, up=False)
        [(x, _)], [(there, _)] = diamonds(root), circles(root)
        assert_at(x, mine, ticks)
        assert_at(there, real, ticks)
        assert 0 <= x <= figure.canvas.width and 0 <= there <= figure.canvas.width
        texts = [t.text for t in root.iter("text")]
        assert f"you, {number(mine)}{unit}" in texts
        assert f"{badge or 'result'}, {number(real)}{unit}" in texts
    assert f"you: {number(mine)}{unit}\n{badge or 'result'}: {number(real)}{unit}" in shown.text


@settings(max_examples=120)
@given(st.data())
def test_a_curve(data: st.DataObject) -> None:
    xs = sorted(data.draw(st.sets(st.integers(-50, 2000), min_size=1, max_size=8)))
    low = data.draw(st.floats(-1e6, 1e6))
    high = low + data.draw(st.floats(0.5, 1e6))
    numbers = st.floats(low - (high - low), high + (high - low))
    mine = data.draw(st.tuples(*[numbers] * len(xs)))
    real = data.draw(st.tuples(*[st.one_of(numbers, RESULTS.filter(lambda v: not math.isfinite(v)))] * len(xs)))
    q = question("?", xs=xs, low=low, high=high)
    before, after = GateState(q, draft(q, mine)), GateState(q, draft(q, mine), True, outcome(q, real))
    for state in (before, after):
        shown = frame(state)
        for figure in (shown.wide, shown.narrow):
            assert_curve(figure, q, mine, real if state is after else ())
    said = [[pair.split(": ") for pair in line.split(": ", 1)[1].split(", ")] for line in shown.text.splitlines()
            if line.startswith(("you: ", "result: "))]  # fmt: skip
    assert [[y for _, y in row] for row in said] == [list(map(number, mine)), list(map(number, real))]
    assert [parsed(x) for x, _ in said[0]] == xs


def assert_curve(figure: Figure, q: Question, mine: tuple[float, ...], real: tuple[float, ...]) -> None:
    """Marks at the heights of their values; a result that is not finite is written, and breaks the line."""
    root = ET.fromstring(figure.svg())
    ticks = axis(root, False, "")
    assert_ascending(ticks, up=True)
    marks, results = diamonds(root), circles(root)
    assert len(marks) == len(q.xs)
    for (_, y), value in zip(marks, mine, strict=True):
        assert_at(y, value, ticks)
    finite = [(i, v) for i, v in enumerate(real) if math.isfinite(v)]
    assert len(results) == len(finite)
    for (x, y), (i, value) in zip(results, finite, strict=True):
        assert_at(y, value, ticks)
        assert abs(x - marks[i][0]) < 0.2
    odd = [number(v) for v in real if not math.isfinite(v)]
    texts = [t.text for t in root.iter("text")]
    assert sorted(t for t in texts if t in ("nan", "∞", "−∞")) == sorted(odd)
    lines = [p.get("d", "") for p in root.iter("path") if p.get("class") == "resultline"]
    pieces = "".join(lines).count("M")
    neighbours = [i for n, (i, _) in enumerate(finite) if n == 0 or finite[n - 1][0] != i - 1]
    assert pieces == len(neighbours)
    spread = [x for x, _ in marks]
    if len(q.xs) > 1:
        share = (np.array(q.xs) - q.xs[0]) / (q.xs[-1] - q.xs[0])
        np.testing.assert_allclose(spread, spread[0] + share * (spread[-1] - spread[0]), atol=0.2)


@given(st.lists(st.text("abcdef", min_size=1, max_size=30), min_size=2, max_size=6, unique=True), st.data())
def test_a_choice(choices: list[str], data: st.DataObject) -> None:
    q = question("?", choices=choices)
    mine, real = data.draw(st.sampled_from(choices)), data.draw(st.sampled_from(choices))
    shown = frame(GateState(q, draft(q, mine), True, outcome(q, real, "As it **is**.")))
    root = ET.fromstring(shown.wide.svg())
    rows = {t.text: float(t.get("y", 0)) - 4 for t in root.iter("text") if float(t.get("x", 0)) == 68}
    assert set(rows) == set(choices)
    (_, you), *key = diamonds(root)
    (_, there), *_ = circles(root)
    assert (you, there) == (rows[mine], rows[real])
    assert len(key) == 1  # the key below
    for choice in choices:
        yours, true = "◇" if choice == mine else " ", "●" if choice == real else " "
        assert f"  {yours}{true} {choice}" in shown.text.splitlines()
    assert shown.why == "As it **is**." and shown.text.endswith("As it is.")


@settings(max_examples=60)
@given(st.sampled_from(["choice", "number", "curve"]), st.data())
def test_before_the_commit_nothing_shows_the_result(kind: str, data: st.DataObject) -> None:
    offer: dict[str, Any] = {"choice": {"choices": ["a", "b"]}, "number": {}, "curve": {"xs": [0, 1]}}[kind]
    q = question("?", **offer)
    value: Any = {"choice": "a", "number": 0.5, "curve": (0.2, 0.4)}[kind]
    shown = frame(GateState(q, data.draw(st.sampled_from([None, value]))))
    for figure in (shown.wide, shown.narrow):
        assert circles(ET.fromstring(figure.svg())) == []
    assert not re.search("^result|^you:", shown.text, re.M)
    assert shown.why == "" and shown.badge is None
