"""Charts for matplotlib hold the widgets' own numbers: they are read back from the axes."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pytest
from matplotlib.colors import to_hex
from tinygrad_edu_widgets import Playground, PredictGate, TimingRace, TipBrowser, TrainingMonitor, charts

from tests.widgets.test_every_widget import RIVER, played, race, raced, reach
from tinygrad_edu.errors import ArgumentError, MissingPackageError
from tinygrad_edu.tips.facts import TIME
from tinygrad_edu.tips.words import count_text, fact_text
from tinygrad_edu.views.tokens import TOKENS

SHEETS = Path(charts.__file__).parent


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    with plt.style.context("default"):
        plt.switch_backend("agg")
        yield
    plt.close("all")


def points(line: Any) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in zip(*line.get_data(), strict=True)]


def labelled(ax: Any, label: str) -> Any:
    (found,) = [line for line in ax.get_lines() if line.get_label() == label]
    return found


def number() -> PredictGate:
    gate = PredictGate("How many?", lambda: 12, low=0, high=10, unit="s")
    gate.predict(2)
    return gate


def curve() -> PredictGate:
    gate = PredictGate("Draw.", lambda: [0.5, 3.0, 0.25], xs=[1, 2, 4], x_label="step", y_label="height")
    gate.predict([0, 0.5, 1])
    return gate


def test_a_race_shows_every_run_over_its_median() -> None:
    made = raced()
    ax = made.plot()
    assert made.state.shown is not None
    for lane, timing in enumerate((made.state.shown.slow, made.state.shown.fast)):
        drawn = ax.collections[lane].get_offsets()
        assert drawn[:, 0].tolist() == pytest.approx([time / timing.median for time in timing.times])
        assert all(abs(y - lane) <= 0.2 for y in drawn[:, 1])
        ends = [quartile / timing.median for quartile in timing.quartiles]
        assert [x for x, _ in points(ax.get_lines()[lane])] == pytest.approx(ends)
    assert [label.get_text() for label in ax.get_yticklabels()] == [
        "A loop\n31.2 ms (31.2–31.2)",
        "B call\n7.81 ms (7.81–7.81)",
    ]


def test_a_sweep_shows_every_median_over_its_size() -> None:
    made = raced()
    ax = made.plot_sweep()
    assert made.state.result is not None
    for label, pick in (("A loop", "slow"), ("B call", "fast")):
        wanted = [
            (size, getattr(one, pick).median)
            for size, one in zip(made.state.result.sizes, made.state.result.comparisons, strict=True)
        ]
        assert points(labelled(ax, label)) == wanted
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")


def test_a_number_is_drawn_beside_its_prediction() -> None:
    gate = number()
    ax = gate.plot()
    assert points(labelled(ax, "you")) == [(2, 0)] and points(labelled(ax, "result")) == [(12, 0)]
    assert ax.get_xlim() == (0, 12) and ax.get_xlabel() == "s" and ax.get_title() == "How many?"


def test_a_curve_is_drawn_over_its_prediction() -> None:
    gate = curve()
    ax = gate.plot()
    assert points(labelled(ax, "you")) == [(1, 0), (2, 0.5), (4, 1)]
    assert points(labelled(ax, "result")) == [(1, 0.5), (2, 3), (4, 0.25)]
    assert ax.get_ylim() == (0, 3) and (ax.get_xlabel(), ax.get_ylabel()) == ("step", "height")


def test_before_the_prediction_no_result_is_drawn() -> None:
    gate = PredictGate("Draw.", lambda: pytest.fail("it was computed"), xs=[1, 2])
    assert gate.plot().get_lines()[:] == []
    gate.act("draw", [0.5, 0.5])
    assert [line.get_label() for line in gate.plot().get_lines()] == ["you"]
    for made, words in ((race(), "nothing has been measured"), (TipBrowser("in-place"), "there is no result yet")):
        with pytest.raises(ArgumentError, match=words):
            made.plot()
    with pytest.raises(ArgumentError, match="nothing has been measured"):
        race().plot_sweep()


def test_a_choice_has_no_chart() -> None:
    with pytest.raises(ArgumentError, match="a choice has no axis"):
        PredictGate("Which?", lambda: "a", choices=["a", "b"]).plot()


def test_a_tip_shows_what_both_ways_need() -> None:
    browser = TipBrowser("share-storage")
    browser.predict("none")
    found = browser.run()
    assert found is not None
    ax = browser.plot()
    labels = [label.get_text() for label in ax.get_yticklabels()]
    lengths = [float(bar.get_width()) for bar in ax.patches]
    assert len(labels) == len(lengths) >= 2
    counted = [judged.claim.fact for judged in found.claims if judged.claim.fact != TIME]
    assert len(counted) >= 2
    for place, fact in enumerate(counted):
        pair = (found.slow[fact], found.fast[fact])
        assert lengths[2 * place : 2 * place + 2] == pytest.approx([value / (max(pair) or 1) for value in pair])
        said = [f"{fact_text(fact)}, {way}: {count_text(fact, value)}" for way, value in zip("AB", pair, strict=True)]
        assert labels[2 * place : 2 * place + 2] == said


def test_a_loss_is_drawn_record_by_record() -> None:
    monitor = TrainingMonitor(5)
    for loss in (2.0, 1.0, math.inf, 0.5):
        monitor.log(loss=loss)
    monitor.wait()
    ax = monitor.plot()
    drawn = points(labelled(ax, "loss"))
    assert [drawn[i] for i in (0, 1, 3)] == [(1, 2), (2, 1), (4, 0.5)] and math.isnan(drawn[2][1])
    assert [x for x, _ in points(labelled(ax, "∞"))] == [3]


@pytest.mark.parametrize(("name", "what"), [("plot", "loss"), ("plot_accuracy", "accuracy")])
def test_what_a_playground_learnt_by_step(name: str, what: str) -> None:
    made = Playground()
    made.run(33)
    ax = getattr(made, name)()
    shown = [*made.state.glance.curve, made.state.glance.now]
    for part in ("test", "training"):
        assert points(labelled(ax, part)) == [(p.step, getattr(p, f"{part}_{what}")) for p in shown]
    assert (ax.get_xlim(), ax.get_ylabel()) == ((0, 33), what)


PLOTS: list[tuple[Callable[[], Any], str]] = [
    (played, "plot"), (played, "plot_accuracy"), (raced, "plot"), (raced, "plot_sweep"), (number, "plot"),
    (curve, "plot"), (lambda: TrainingMonitor(2), "plot"), (lambda: reach("MemoryRiver", RIVER), "plot"),
]  # fmt: skip
NAMES = ["learnt", "accuracy", "race", "sweep", "number", "curve", "losses", "river"]
each_plot = pytest.mark.parametrize(("make", "name"), PLOTS, ids=NAMES)


@each_plot
def test_it_draws_on_the_axes_it_is_given(make: Callable[[], Any], name: str) -> None:
    _, axes = plt.subplots(1, 2)
    assert getattr(make(), name)(axes[1]) is axes[1]
    assert not axes[0].has_data()
    with pytest.raises(ArgumentError, match="ax is matplotlib's axes"):
        getattr(make(), name)("here")


@each_plot
def test_without_matplotlib_it_says_what_to_install(
    make: Callable[[], Any], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = make()
    monkeypatch.setitem(sys.modules, "matplotlib.axes", None)
    with pytest.raises(MissingPackageError, match="pip install matplotlib"):
        getattr(made, name)()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_style_sheet_is_the_palette(theme: str) -> None:
    index = int(theme == "dark")
    assert (SHEETS / f"{theme}.mplstyle").read_text(encoding="utf-8") == charts.style(theme)
    with plt.style.context(f"tinygrad_edu_widgets.{theme}"):
        _, ax = plt.subplots()
        assert to_hex(ax.get_facecolor()) == TOKENS["paper"][index]
        assert to_hex(ax.xaxis.label.get_color()) == TOKENS["ink"][index]
        (line,) = ax.plot([1, 2])
        assert to_hex(line.get_color()) == TOKENS["blue"][index]
        curve().plot(ax)
        assert to_hex(labelled(ax, "result").get_color()) == TOKENS["blue"][index]
        assert to_hex(labelled(ax, "you").get_color()) == TOKENS["ink"][index]


def test_a_race_has_both_charts() -> None:
    assert {name for name in dir(TimingRace) if name.startswith("plot")} == {"plot", "plot_sweep"}
