"""What a race claims, read off its drawing and its text, and computed again by NumPy from its times."""

from __future__ import annotations

import itertools
import math
import re
import xml.etree.ElementTree as ET
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tinygrad_edu.common.wording import exact, ratio_text
from tinygrad_edu.views.frame import Figure, Frame
from tinygrad_edu.views.race import RaceState

SECONDS = {"s": 1.0, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}
TIMES = r"([^ ]+) (s|ms|µs|ns) \(([^ ]+)–([^ ]+)\)"  # the median, its unit, and the middle half
RUNS = 224  # the height of the labels under the runs
HALF_A_STEP = 2.5  # a run stands in a column; columns are 4.6 apart
DIGITS = 0.006  # of three significant digits


def number_of(word: str) -> float:
    return float(word.replace("\u2009", "").replace("−", "-"))


def middle(values: Any) -> tuple[float, float, float]:
    """The median and the quartiles."""
    low, half, high = np.percentile(values, [25, 50, 75])
    return float(half), float(low), float(high)


def interval(ratios: list[float]) -> tuple[float, float]:
    """The narrowest pair of order statistics that leaves out at most 2.5 % on each side, by coins."""
    count, ordered = len(ratios), sorted(ratios)
    chances = [Fraction(math.comb(count, k), 2**count) for k in range(count + 1)]
    out = max((k for k in range(count // 2 + 1) if sum(chances[: k + 1]) <= Fraction(25, 1000)), default=-1)
    out = max(out, 0) if out < 0 else out
    return ordered[out], ordered[-1 - out]


def verdict(one: dict[str, Any]) -> str:
    """As the documentation of `Comparison.verdict` says."""
    low, high = interval(one["ratios"])
    ratio = math.exp(np.median(np.log(one["ratios"])))
    pairs, (near, far) = len(one["ratios"]), sorted(abs(math.log(v)) for v in (low, high))
    apart = abs(np.median(one["slow"]["times"]) - np.median(one["fast"]["times"]))
    seen = apart * min(one["slow"]["loops"], one["fast"]["loops"]) > one["conditions"]["clock"]
    sure = pairs >= 6 or (pairs >= 3 and near > far / 3)
    if low <= 1 <= high or not sure or 1 / 1.05 < ratio < 1.05 or not seen:
        return "no difference"
    return "faster" if ratio > 1 else "slower"


def crossover(result: dict[str, Any]) -> float | None:
    """Where the ratio passes 1 between the first two sizes with opposite verdicts, on logarithmic axes."""
    verdicts = [verdict(one) for one in result["comparisons"]]
    decided = [i for i, v in enumerate(verdicts) if v != "no difference"]
    logs = [float(np.median(np.log(one["ratios"]))) for one in result["comparisons"]]
    for first, last in itertools.pairwise(decided):
        if verdicts[first] != verdicts[last]:
            at = next(i for i in range(first, last) if (logs[i] > 0) != (logs[i + 1] > 0))
            ends = np.log(result["sizes"][at : at + 2])
            return float(np.exp(np.interp(0, sorted(logs[at : at + 2]), ends[np.argsort(logs[at : at + 2])])))
    return None


def assert_claims(shown: Frame, data: dict[str, Any], state: RaceState) -> None:
    """Every claim of a race that has been run."""
    result, place = data["result"], data["place"]
    one = result["comparisons"][place]
    assert one["interval"] == pytest.approx(interval(one["ratios"]))
    assert_words(shown.text, data, one)
    for i, other in enumerate(result["comparisons"]):
        assert other["verdict"] == verdict(other)
        if state.sizes:
            assert_size(shown.text, result["sizes"][i], other)
    where = crossover(result)
    said = re.search(r"^between the sizes, the lines cross near n = ([\d\u2009.]+)$", shown.text, re.M)
    assert (said is not None) is (where is not None)
    if said and where is not None:
        assert abs(number_of(said[1]) - where) <= 0.5 + 1e-6 * where
    for figure in (shown.wide, shown.narrow):
        assert_runs(figure, one)
        if len(state.sizes) > 1:
            assert_sweep(figure, data, where)
        else:
            assert_ratio(figure, one, data["said"])


def undecided(ratio: float, low: float, high: float) -> bool:
    """Whether "no difference" would be too much said: the ratio is not near 1, or the interval goes far from it."""
    return ratio >= 1.05 or (low <= 1 and max(high, 1 / low) > 1.15)


def longer(one: dict[str, Any]) -> tuple[float, float, float]:
    """How many times longer the slower one takes, and the ends of the interval."""
    ratio = math.exp(np.median(np.log(one["ratios"])))
    low, high = interval(one["ratios"])
    return (ratio, low, high) if ratio >= 1 else (1 / ratio, 1 / high, 1 / low)


def assert_words(text: str, data: dict[str, Any], one: dict[str, Any]) -> None:
    """The verdict, the ratio and the times of the size that is shown."""
    ratio, low, high = longer(one)
    none = "Less than 5 % apart" if len(one["ratios"]) >= 3 and low > 1 else "No difference in time"
    none = "Not settled which is faster" if undecided(ratio, low, high) else none
    sentence = {"faster": "B is faster", "slower": "A is faster"}.get(verdict(one), none)
    where = f" at n = {exact(data['sizes'][data['place']])}" if data["sizes"] else ""
    line = re.search(rf"^([^ ]+)× {sentence}{where}\. (.*)$", text, re.M)
    assert line and line[1] == ratio_text(ratio)
    pairs = len(one["ratios"])
    sure = "95 % interval of this race" if pairs >= 6 else f"All {pairs} pairs"
    grounds = f"{sure} {ratio_text(low, ratio)}–{ratio_text(high, ratio)}×"
    assert line[2].startswith(grounds if pairs >= 3 else f"{pairs} pair{'s' * (pairs > 1)}, too few to tell.")
    assert line[2].endswith("which includes 1.") is (pairs >= 3 and low <= 1 <= high)
    for letter, timing in (("A", one["slow"]), ("B", one["fast"])):
        told = re.search(rf"^{letter} .*: {TIMES}; (\d+) runs? .*\n(?:  × (.*)\n)?  (.*)$", text, re.M)
        assert told
        unit = SECONDS[told[2]]
        for word, value in zip((told[1], told[3], told[4]), middle(timing["times"]), strict=True):
            assert number_of(word) * unit == pytest.approx(value, rel=DIGITS)
        assert int(told[5]) == len(timing["times"])
        half_run = np.median(timing["times"])
        runs = sorted(np.array(timing["times"]) / half_run)
        run_1 = re.search(rf"^{letter} .*, run 1: ([^ ]+)×:$", text, re.M)
        assert run_1 and number_of(run_1[1]) == pytest.approx(timing["times"][0] / half_run, rel=DIGITS)
        assert [number_of(w) for w in told[7].split(" ")] == pytest.approx(runs, rel=DIGITS)
        warm = [number_of(w) for w in (told[6] or "").split(" ") if w]
        assert warm == pytest.approx(list(np.array(timing["warmups"]) / half_run), rel=DIGITS)


def assert_size(text: str, size: int, one: dict[str, Any]) -> None:
    """One line of the sweep."""
    words = rf"^  n = {exact(size)}: A {TIMES}, B {TIMES}, (.*), ([^ ]+)× \("
    line = re.search(words, text, re.M)
    assert line
    for group, timing in ((1, one["slow"]), (5, one["fast"])):
        unit = SECONDS[line[group + 1]]
        told = (line[group], line[group + 2], line[group + 3])
        for word, value in zip(told, middle(timing["times"]), strict=True):
            assert number_of(word) * unit == pytest.approx(value, rel=DIGITS)
    ratio, low, high = longer(one)
    none = "less than 5 % apart" if len(one["ratios"]) >= 3 and low > 1 else "no difference"
    none = "not settled" if undecided(ratio, low, high) else none
    assert line[9] == {"faster": "B is faster", "slower": "A is faster"}.get(verdict(one), none)
    assert line[10] == ratio_text(ratio)


def assert_runs(figure: Figure, one: dict[str, Any]) -> None:
    """Each run is a mark at its multiple of the median, or counted beyond the axis; bars are the middle halves."""
    root = ET.fromstring(figure.svg())
    ticks = sorted((float(t.get("x", 0)), number_of((t.text or "")[:-1])) for t in root.iter("text")
                   if float(t.get("y", 0)) == 224 and (t.text or "").endswith("×"))  # fmt: skip
    assert len(ticks) >= 2

    def value(x: float) -> float:
        (x0, v0), (x1, v1) = ticks[0], ticks[-1]
        return v0 + (x - x0) / (x1 - x0) * (v1 - v0)

    pixel = abs(value(1) - value(0))
    rounding = 2e-5 * max(abs(v) for _, v in ticks)
    marks = [[float(c.get("cx", 0)) for c in root.iter("circle") if c.get("r") == "2.1" and c.get("class") == cls]
             for cls in ("run-a", "result")]  # fmt: skip
    beyond = [t.text or "" for t in root.iter("text") if (t.text or "").endswith("beyond →")]
    counted = sum(int(b.split()[0]) for b in beyond if "×" not in b)
    crosses = sum(p.get("class") == "cross" for p in root.iter("path"))
    warm = sum(int(b.split()[0].removesuffix("×")) for b in beyond if "×" in b)
    timings = (one["slow"], one["fast"])
    assert sum(map(len, marks)) + counted == sum(len(t["times"]) for t in timings)
    assert crosses + warm == sum(len(t["warmups"]) for t in timings)
    for found, timing, cls in zip(marks, timings, ("middle-a", "middle-b"), strict=True):
        half, low, high = middle(timing["times"])
        multiples = sorted(np.array(timing["times"]) / half)[: len(found)]
        for x, wanted in zip(sorted(found), multiples, strict=True):
            assert abs(value(x) - wanted) <= HALF_A_STEP * pixel + rounding
        bars = [line for line in root.iter("line") if line.get("class") == cls]
        assert any(
            abs(value(float(b.get("x1", 0))) - low / half) <= 0.2 * pixel + rounding
            and abs(value(float(b.get("x2", 0))) - high / half) <= 0.2 * pixel + rounding
            for b in bars
        )


def assert_sweep(figure: Figure, data: dict[str, Any], where: float | None) -> None:
    """Each median at its size and its time, the prediction and the crossover, on logarithmic axes."""
    root = ET.fromstring(figure.svg())
    result = data["result"]
    labels = [t for t in root.iter("text") if t.get("text-anchor") == "end"]
    found = [(t, re.fullmatch(r"([\d.]+) (s|ms|µs|ns)", t.text or "")) for t in labels]
    times = [(float(t.get("y", 0)) - 4, math.log10(number_of(m[1]) * SECONDS[m[2]])) for t, m in found if m]
    assert len(times) >= 2

    def log_seconds(y: float) -> float:
        (y0, v0), (y1, v1) = times[0], times[-1]
        return v0 + (y - y0) / (y1 - y0) * (v1 - v0)

    points = {
        cls: [(float(c.get("cx", 0)), float(c.get("cy", 0))) for c in root.iter("circle")
              if (c.get("class"), float(c.get("r", 0))) == (cls, radius)]
        for cls, radius in (("mark-a", 5.5), ("result", 3))  # A shows on both sides of B where they are equal
    }  # fmt: skip
    for cls, way in (("mark-a", "slow"), ("result", "fast")):
        medians = [float(np.median(one[way]["times"])) for one in result["comparisons"]]
        assert [log_seconds(y) for _, y in points[cls]] == pytest.approx(np.log10(medians), abs=0.02)
    xs, sizes = [x for x, _ in points["mark-a"]], np.log(result["sizes"])
    buttons = {int(g.get("data-value", 0)): g for g in root.iter("g") if g.get("data-act") == "n"}
    assert sorted(buttons) == list(range(len(result["sizes"])))
    if len(xs) > 1:
        assert np.diff(xs) / (xs[-1] - xs[0]) == pytest.approx(np.diff(sizes) / (sizes[-1] - sizes[0]), abs=0.01)
    rings = [c for c in root.iter("circle") if c.get("class") == "ring"]
    assert len(rings) == (where is not None)
    if rings and where is not None:
        expected = np.interp(math.log(where), sizes, xs)
        assert abs(float(rings[0].get("cx", 0)) - expected) <= 0.3
        line = np.interp(math.log(where), sizes, [y for _, y in points["mark-a"]])
        assert abs(float(rings[0].get("cy", 0)) - line) <= 0.3  # it stands on the line of A
    if data["said_at"] < len(result["sizes"]):
        [mark] = [p.get("d", "") for p in root.iter("path") if p.get("class") == "you"]
        x, y = map(float, re.match(r"M([-\d.]+) ([-\d.]+)l7", mark).groups())  # type: ignore[union-attr]
        predicted = math.log10(float(np.median(result["comparisons"][data["said_at"]]["slow"]["times"])) / data["said"])
        assert abs(x + 7 - xs[data["said_at"]]) <= 0.2
        [told] = [t.text or "" for t in root.iter("text") if (t.text or "").startswith("you")]
        lowest, highest = min(v for _, v in times), max(v for _, v in times)
        if told == "you":
            assert log_seconds(y) == pytest.approx(predicted, abs=0.03)
        else:
            assert predicted > log_seconds(y) if told.endswith("↑") else predicted < log_seconds(y)
            assert not lowest <= predicted <= highest


def assert_ratio(figure: Figure, one: dict[str, Any], said: float) -> None:
    """The measured ratio and the predicted one, on a logarithmic axis."""
    root = ET.fromstring(figure.svg())
    labels = [t for t in root.iter("text") if t.get("class") == "t2" and float(t.get("y", 0)) != RUNS]
    found = [t for t in labels if re.fullmatch(r"[\d.]+(e[+-]\d+)?×", t.text or "")]
    ticks = [(float(t.get("x", 0)), math.log(float((t.text or "")[:-1]))) for t in found]

    def log(x: float) -> float:
        (x0, v0), (x1, v1) = ticks[0], ticks[-1]
        return v0 + (x - x0) / (x1 - x0) * (v1 - v0)

    pixel = abs(log(1) - log(0))
    circles = [c for c in root.iter("circle") if c.get("class") == "result" and float(c.get("r", 0)) == 5]
    [dot] = [float(c.get("cx", 0)) for c in circles]
    half, low, high = middle(np.log(one["ratios"]))
    assert abs(log(dot) - half) <= 0.2 * pixel
    [mark] = [p.get("d", "") for p in root.iter("path") if p.get("class") == "you"]
    assert abs(log(float(mark[1:].split(" ")[0]) + 6) - math.log(said)) <= 0.2 * pixel
    ends = [(float(b.get("x1", 0)), float(b.get("x2", 0))) for b in root.iter("line") if b.get("class") == "middle-b"]
    assert any(abs(log(a) - low) <= 0.2 * pixel and abs(log(b) - high) <= 0.2 * pixel for a, b in ends)
