"""Lesson 7: each fact that its prose states, the reasons of its gates, and what its checks refuse."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from tinygrad_edu_widgets import CheckpointSlider

import tinygrad_edu as tg
from tests.notebooks.cells import Run, check_reasons, check_size, run_cells, sources
from tinygrad_edu.lessons.memory_models import CALLS, LIMIT, SERVER, denoiser, next_word, records
from tinygrad_edu.nn import functional as F
from tinygrad_edu.observe.counters import Counters
from tinygrad_edu.observe.memory import Memory

LESSON = "07_where_memory_goes"
ANSWERS = {
    "From one epoch": "the list of losses",
    "with 20 rows": "the optimiser",
    "Four activations": "nothing",
    "the guide's is": "one in which the last 100 rows count for too much",
}


@pytest.fixture(scope="module")
def lesson() -> Run:
    return run_cells(LESSON)


def test_the_lesson_keeps_to_its_size(lesson: Run) -> None:
    check_size(LESSON, lesson.gates, count=4)  # the river and the slider ask too


def test_every_choice_has_its_reason_and_one_has_the_cause(lesson: Run) -> None:
    for gate in lesson.gates:
        check_reasons(gate, ANSWERS)


def test_the_given_program_is_stopped_and_what_grows_is_kept_by_losses(
    lesson: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    lesson.names["report"](lesson.names["as_given"], epochs=8)
    held = [float(found) for found in re.findall(r"epoch \d +([\d.]+) MB", capsys.readouterr().out)]
    assert held[-2] * 1e6 < SERVER < held[-1] * 1e6
    assert all(4 < after - before < 4.4 for before, after in itertools.pairwise(held))
    model = denoiser()
    assert sum(p.nbytes for p in model.parameters()) < 1e6
    assert sum(p.numel() for p in model.parameters()) == pytest.approx(214_000, abs=500)


def test_the_worked_example() -> None:
    model, x = tg.nn.Sequential(tg.nn.Linear(50, 300), tg.nn.Tanh(), tg.nn.Linear(300, 50)), tg.rand(100, 50)
    optimizer = tg.optim.Adam(model.parameters())
    with Memory(model, optimizer, x) as seen:
        y = model(x)
        assert seen.now["activation"] - y.nbytes == 120_000
        y.sum().backward()
    assert seen.now["parameter"] == seen.now["gradient"] == 121_400
    optimizer.step()
    averages = [v for state in optimizer.state.values() for v in state.values() if getattr(v, "numel", lambda: 1)() > 1]
    assert sum(v.nbytes for v in averages) == 242_800


def peak(step: Any) -> tuple[Memory, int]:
    with Memory() as seen:
        step()
    return seen, seen.peak - seen.owners["elsewhere"]


def test_activations_hold_most_at_the_peak_early_in_backward(lesson: Run) -> None:
    seen, _ = peak(lesson.names["a_step"](1000))
    assert max(seen.owners, key=seen.owners.__getitem__) == "activation"
    assert seen.at_peak is not None and seen.at_peak.phase == "backward"
    forward = next(moment for moment in seen.moments if moment.phase == "mark")
    at_end, at_peak = seen.by_owner(forward.after), seen.owners
    assert at_peak["activation"] > 0.9 * at_end["activation"]
    assert at_peak["gradient"] > at_end["gradient"] + 1e6
    sizes = [p.nbytes for p in denoiser().parameters()]
    assert seen.owners["optimiser"] == pytest.approx(2 * sum(sizes) + 2 * max(sizes), rel=0.01)
    few, _ = peak(lesson.names["a_step"](20))
    assert few.owners["activation"] < 100_000
    assert sum(p.nbytes for p in denoiser().parameters()) < few.owners["optimiser"]


def test_the_knob_asks_before_it_measures_and_gradients_can_be_most(
    lesson: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    function, sliders = lesson.knobs[0]
    capsys.readouterr()
    function(**{name: slider.value for name, slider in sliders.items()})
    assert capsys.readouterr().out == "Type your guess of the peak, in MB.\n"
    found = lesson.names["owners_of"](4000, 100, 1)
    assert max(found, key=found.get) == "gradient"


def test_names_give_back_nothing_under_a_graph_and_everything_without_one(lesson: Run) -> None:
    def held(recorded: bool) -> list[int]:
        model, (x, y) = denoiser(), records(1000)
        cell = next(cell for cell in sources(LESSON) if "def forward_and_delete" in cell)
        scope = dict(lesson.names)
        exec(cell if recorded else cell.replace("    loss.backward()\n", "").replace("    loss.backward()", ""), scope)
        with tg.set_grad_enabled(recorded), Memory(model, x, y) as seen:
            scope["forward_and_delete"](model, x, y)
        counts = [seen.by_owner(moment.after) for moment in seen.moments if moment.phase == "mark"]
        return [count["activation"] + count["temporary"] for count in counts]

    before, after = held(True)
    assert before == after > 4e6
    before, after = held(False)
    assert before >= 4e6 and after < 1000


def test_the_checkpoint_of_four_layers(lesson: Run) -> None:
    read = r"activations ([\d.]+) MB, peak ([\d.]+) MB, layers run: (\d+)"
    (kept, peak, layers), (less, lower, again) = (
        re.findall(read, lesson.names["compared"](again))[0] for again in (False, True)
    )
    assert (layers, again) == ("9", "13")
    assert (kept, less) == ("4.20", "3.20")  # what is at the cut stays
    assert 0.95 < float(lower) / float(peak) < 1
    model, (x, y) = denoiser(), records(1000)
    with Memory(model, x, y) as plain:
        lesson.names["one_step"](model, x, y, False)
    model.zero_grad()
    with Memory(model, x, y) as cut:
        lesson.names["one_step"](model, x, y, True)
    assert plain.owners["activation"] - cut.owners["activation"] == 2_000_000  # two of four are let go by then
    later = sum(p.nbytes for p in model[2:8].parameters())  # memory is fullest in the first tanh
    grown = cut.owners["gradient"] - plain.owners["gradient"]
    assert grown == pytest.approx(1_000_000 + later, rel=0.02)  # what arrives, and those of later layers


def test_checkpoints_save_nothing_in_the_wide_model() -> None:
    slider = CheckpointSlider()
    slider.act("model", "wide, batch 8")
    slider.predict(4)
    runs = slider.data()["runs"]
    assert min(runs, key=lambda run: run["peak"])["segments"] == 1
    owners = runs[0]["owners"]
    assert owners["parameters"] + owners["gradients"] > 0.99 * runs[0]["peak"]


def test_the_knob_of_the_parts(lesson: Run, capsys: pytest.CaptureFixture[str]) -> None:
    function, sliders = lesson.knobs[1]
    lesson.names["task4"] = lambda model, x, y, rows: tg.training.accumulate(
        lambda part, wanted: F.mse_loss(model(part), wanted), x, y, size=rows
    )
    assert function.__globals__ is lesson.names
    found = {}
    for rows, norm in ((1000, False), (400, False), (10, False), (400, True)):
        capsys.readouterr()
        function(rows=rows, batch_norm=norm)
        said = capsys.readouterr().out
        told = re.search(r"peak +([\d.]+) MB.*by ([\d.]+)%", said, re.S)
        assert told is not None, said
        found[rows, norm] = float(told[1]), float(told[2])
    assert sliders["rows"].value == 1000
    assert found[400, False][0] < found[1000, False][0]
    assert found[10, False][0] > 2.0  # parameters, gradients and data stay
    assert found[400, False][1] < 0.1 < 1 < found[400, True][1]


def test_the_last_program_needs_about_twice_the_limit(lesson: Run) -> None:
    given = next_word()
    _, most = peak(lambda: lesson.names["step"](*given))
    assert 1.7 * LIMIT < most < 2.3 * LIMIT
    with Counters() as counted:
        lesson.names["step"](*given)
    assert counted.calls < CALLS


def test_nothing_above_a_gate_tells_its_result() -> None:
    notebook = nbformat.read(Path(__file__).parents[2] / "notebooks" / f"{LESSON}.ipynb", as_version=4)
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            assert "result:" not in str(output.get("data", {}).get("text/plain", "")) + output.get("text", "")
    knobs = [cell for cell in notebook.cells if "no-saved-output" in cell.metadata.get("tags", [])]
    assert len(knobs) == 2
    assert not [cell for cell in knobs if cell.outputs]
