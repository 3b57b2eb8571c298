"""CheckpointSlider: nothing with cuts is run before the prediction; afterwards every number of segments can be seen."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from tinygrad_edu_widgets import CheckpointSlider

import tinygrad_edu as tg
from tests.support import run_python
from tests.widgets.pages import check
from tinygrad_edu import nn
from tinygrad_edu.errors import ArgumentError
from tinygrad_edu.tensor.random import seeded
from tinygrad_edu.utils import checkpoint as checkpointing
from tinygrad_edu.views import checkpoints
from tinygrad_edu.views.checkpoints import OWNERS, expected, measure


def layers(count: int = 6, width: int = 32) -> nn.Sequential:
    with seeded(0):
        return nn.Sequential(*(nn.Sequential(nn.Linear(width, width), nn.Tanh()) for _ in range(count)))


@pytest.fixture
def made() -> Iterator[Callable[..., CheckpointSlider]]:
    all_made: list[CheckpointSlider] = []

    def make(**given: Any) -> CheckpointSlider:
        all_made.append(CheckpointSlider(layers(), tg.ones(512, 32), **given))
        return all_made[-1]

    yield make
    for one in all_made:
        one.abandon()


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of segments that `checkpoint_sequential` is called with."""
    seen: list[int] = []

    def sequential(functions: Any, segments: int, input: Any) -> Any:
        seen.append(segments)
        return checkpointing.checkpoint_sequential(functions, segments, input)

    monkeypatch.setattr(measure, "checkpoint_sequential", sequential)
    return seen


def test_only_the_run_without_cuts_is_made_before_the_commit(
    made: Callable[..., CheckpointSlider], called: list[int]
) -> None:
    slider = made()
    for act, value in (("draft", 4), ("segments", 3), ("time", None), ("rest", None), ("draft", 2)):
        slider.act(act, value)
        slider.wait()
    assert set(called) == {1}
    assert (slider.prediction, slider.segments, slider.committed, slider.peak) == (2, 1, False, None)
    assert [run["segments"] for run in slider.data()["runs"]] == [1]
    assert "is shown after you commit" in slider.html


def test_committing_runs_every_number_of_segments(made: Callable[..., CheckpointSlider], called: list[int]) -> None:
    slider = made()
    slider.predict(5)
    assert sorted(set(called)) == [1, 2, 3, 4, 5, 6]
    assert slider.committed and slider.segments == slider.prediction == 5
    data = json.loads(json.dumps(slider.data()))
    assert [run["segments"] for run in data["runs"]] == [1, 2, 3, 4, 5, 6]
    for run, found in zip(data["runs"], slider.state.runs, strict=True):
        assert run["peak"] == sum(run["owners"].values()) == max(sum(event["most"]) for event in run["events"])
        assert run["predicted"] == expected(slider.state, found).predicted and list(run["owners"]) == list(OWNERS)
        assert sum(run["parts"]) == 6 and run["gradients"] == ""
    assert slider.peak == data["runs"][4]["peak"]
    least = min(run["peak"] for run in data["runs"])
    assert least < data["runs"][0]["peak"]
    assert re.search(r"The lowest peak is \d[\d.]* kB, with .* You said 5: \d", slider.text())
    check(slider.html, live=True)


def test_the_slider_and_a_bar_show_another_run(made: Callable[..., CheckpointSlider]) -> None:
    slider = made()
    slider.predict(3)
    for count in (2, 6, 1):
        slider.act("segments", count)
        assert slider.segments == count and slider.peak == slider.state.runs[count - 1].peak
        assert f"\n{count} segment" in slider.text() and "← shown" in slider.text()
    slider.act("segments", 99)
    assert "there are 6 layers to divide" in slider.text() and slider.segments == 1
    slider.segments = 4
    assert "\n4 segments: " in slider.text()


def test_stop_keeps_what_was_measured_and_the_rest_can_follow(
    made: Callable[..., CheckpointSlider], monkeypatch: pytest.MonkeyPatch
) -> None:
    slider, reached, go_on = made(), threading.Event(), threading.Event()
    once = checkpoints.Subject.run

    def run(self: Any, segments: int) -> Any:
        if segments == 4:
            reached.set()
            go_on.wait(20)
        return once(self, segments)

    monkeypatch.setattr(checkpoints.Subject, "run", run)
    slider.act("draft", 6)
    slider.act("commit")
    assert reached.wait(20) and slider.working
    slider.act("halt")
    go_on.set()
    slider.wait()
    reached_now = [one.segments for one in slider.state.runs]
    assert reached_now[:3] == [1, 2, 3] and 5 not in reached_now
    assert "You said 6: which was not reached." in slider.text() and "not visited: " in slider.text()
    slider.act("segments", 6)
    assert "it was stopped before it came to that number" in slider.text()
    slider.act("rest")
    slider.wait()
    assert [one.segments for one in slider.state.runs] == [1, 2, 3, 4, 5, 6]
    assert "Time this run" in slider.html


def test_time_is_measured_only_when_it_is_asked_for_and_has_a_badge(made: Callable[..., CheckpointSlider]) -> None:
    slider = made(budget=0.02)
    slider.predict(3)
    assert slider.frame().badge is None and slider.data()["times"] == {}
    slider.act("time")
    slider.wait()
    assert slider.frame().badge == "measured"
    assert "On the clock: " in slider.text() and "× the time (" in slider.text()
    found = slider.data()["times"][3]
    assert (found["slow"]["name"], found["fast"]["name"]) == ("1 segment", "3 segments")
    slider.act("segments", 2)
    assert slider.frame().badge is None, "that run has not been timed"
    slider.act("segments", 1)
    slider.act("time")
    assert "it is raced against the run without cuts" in slider.text()


def test_ask_again_forgets_all_but_the_run_without_cuts(made: Callable[..., CheckpointSlider]) -> None:
    slider = made()
    before = slider.html
    slider.predict(slider.prediction)
    slider.act("reset")
    assert slider.html == before and not slider.committed and slider.peak is None
    slider.predict(2)
    assert slider.committed


def test_the_two_models_without_arguments_show_where_cuts_save_and_where_they_do_not() -> None:
    slider = CheckpointSlider()
    slider.predict(9)
    narrow = slider.state
    assert narrow.saves and narrow.lowest == (4, 5) and narrow.best == pytest.approx(4.0)
    assert narrow.runs[8].peak == narrow.plain.peak, "nine segments: eight results wait, and eight layers are the rest"
    assert "the last segment gets the rest of the division, 8 layers and not 1.78" in slider.text()
    assert all(run.gradients == "" for run in narrow.runs)
    slider.model = "wide, batch 8"
    assert not slider.committed and slider.state.layers == 16
    slider.predict(4)
    assert not slider.state.saves and "which no cut makes smaller" in slider.text()
    assert "No difference: " in slider.text()
    slider.act("model", "tall")
    assert "there is no such model" in slider.text()
    assert "choose none: it was given" in refused(CheckpointSlider([nn.Linear(2, 2), tg.tanh], tg.ones(1, 2)))


def refused(slider: CheckpointSlider) -> str:
    slider.act("model", "wide, batch 8")
    return slider.text().lower()


def test_the_models_without_arguments_leave_random_numbers_alone() -> None:
    tg.manual_seed(5)
    wanted = tg.rand(3).tolist()
    tg.manual_seed(5)
    CheckpointSlider()
    assert tg.rand(3).tolist() == wanted


def test_without_a_question_everything_is_shown_at_once(made: Callable[..., CheckpointSlider]) -> None:
    slider = made(predict=False)
    assert slider.committed and len(slider.state.runs) == 6


def test_an_error_while_it_is_measured_is_shown_and_asking_again_goes_on() -> None:
    calls = {"made": 0}

    def unsteady(x: Any) -> Any:
        calls["made"] += 1
        return x * calls["made"]

    slider = CheckpointSlider([nn.Linear(4, 4), unsteady, nn.Linear(4, 4)], tg.ones(2, 4))
    slider.predict(3)
    assert (
        "▲ checkpoint(1 functions, …): the result has other values in the second run than in the first" in slider.text()
    )
    assert not slider.committed and "is shown after you commit" in slider.text()
    slider.act("draft", 2)
    assert "▲" not in slider.text()


def test_stop_before_the_first_run_asks_again(
    made: Callable[..., CheckpointSlider], monkeypatch: pytest.MonkeyPatch
) -> None:
    slider = made()
    monkeypatch.setattr(checkpoints.Subject, "sweep", lambda *_: ())
    slider.predict(4)
    assert not slider.committed and slider.prediction == 4
    assert "It was stopped before the first run with cuts was done." in slider.text()


def test_a_run_that_takes_long_is_ended_in_its_middle_and_the_others_are_kept(
    made: Callable[..., CheckpointSlider], monkeypatch: pytest.MonkeyPatch
) -> None:
    slider, reached = made(), threading.Event()
    once = checkpoints.Subject.run

    def run(self: Any, segments: int) -> Any:
        while segments == 4:
            reached.set()
        return once(self, segments)

    monkeypatch.setattr(checkpoints.Subject, "run", run)
    slider.act("commit")
    assert reached.wait(20)
    slider.act("halt")
    slider.wait()
    assert [one.segments for one in slider.state.runs] == [1, 2, 3] and slider.committed


def test_a_device_presentation_and_files(made: Callable[..., CheckpointSlider], tmp_path: Any) -> None:
    slider = made()
    slider.predict(2)
    slider.present()
    assert slider.presenting
    for ending in ("svg", "png", "pdf"):
        slider.save(tmp_path / f"slider.{ending}", theme="dark")
        assert (tmp_path / f"slider.{ending}").stat().st_size > 1000


def test_the_chart_has_a_bar_for_every_owner_and_the_line_of_arithmetic(made: Callable[..., CheckpointSlider]) -> None:
    slider = made()
    with pytest.raises(ArgumentError, match="nothing with cuts has been measured"):
        slider.plot()
    slider.predict(2)
    ax = slider.plot()
    runs = slider.state.runs
    tops = dict.fromkeys(range(1, 7), 0.0)
    for bars in ax.containers:
        for bar in bars:
            count = round(bar.get_x() + bar.get_width() / 2)
            assert bar.get_y() == pytest.approx(tops[count], abs=1e-9)
            tops[count] += bar.get_height()
    assert list(tops.values()) == pytest.approx([run.peak / 1e6 for run in runs])
    (line,) = [one for one in ax.get_lines() if one.get_label() == "arithmetic"]
    wanted = [expected(slider.state, run).predicted / 1e6 for run in runs]
    assert np.allclose(line.get_xydata(), list(zip(range(1, 7), wanted, strict=True)))
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    there = [owner for place, owner in enumerate(OWNERS) if any(run.owners[place] for run in runs)]
    assert sorted(labels) == sorted([*there, "arithmetic"])


def test_a_wrong_budget_is_refused() -> None:
    with pytest.raises(ArgumentError, match="seconds to spend on the clock"):
        CheckpointSlider(layers(), tg.ones(2, 32), budget=0)


def test_it_shows_itself_without_a_browser_or_matplotlib() -> None:
    told = run_python(
        "import sys; sys.modules['matplotlib'] = None\n"
        "from tinygrad_edu_widgets import CheckpointSlider\n"
        "print(CheckpointSlider())"
    )
    assert told.returncode == 0, told.stderr
    assert "Without cuts the peak is 5.25 MB." in told.stdout


def test_a_prediction_that_cannot_be_is_refused_and_nothing_runs(
    made: Callable[..., CheckpointSlider], called: list[int]
) -> None:
    slider = made()
    for wrong in (0, 7, 2.5, "a"):
        slider.predict(wrong)  # type: ignore[arg-type]
        assert f"▲ segments = {wrong!r}" in slider.text()
    assert set(called) == {1} and not slider.committed


def test_a_prediction_that_is_not_measured_is_told() -> None:
    slider = CheckpointSlider(nn.Sequential(*(nn.Tanh() for _ in range(60)), nn.Linear(2, 2)), tg.ones(2, 2))
    left_out = next(count for count in range(2, 60) if count not in slider.state.counts)
    slider.predict(left_out)
    assert f"{left_out} is not among the numbers that are measured" in slider.text()
    assert "The lowest peak of those measured is" in slider.text()


def test_an_error_of_the_model_later_on_asks_again() -> None:
    class Later(nn.Module):
        fails = False

        def forward(self, x: Any) -> Any:
            if type(self).fails:
                raise ValueError("later")
            return x * 2

    slider = CheckpointSlider(nn.Sequential(nn.Linear(4, 4), Later(), nn.Linear(4, 4)), tg.ones(3, 4))
    Later.fails = True
    slider.predict(2)
    assert not slider.committed and "later" in slider.text()
    Later.fails = False
    slider.predict(2)
    assert slider.committed and "You said 2" in slider.text()
