"""The welcome: each fact that its prose states."""

from __future__ import annotations

import re
from pathlib import Path
from unittest import mock

import pytest
from tinygrad_edu_widgets import Playground

from tests.notebooks import test_notebooks as common
from tests.notebooks.cells import NOTEBOOKS, run_cells, words
from tinygrad_edu.lessons import TASKS, check
from tinygrad_edu.lessons.welcome import nodes, reads
from tinygrad_edu.observe.machine import quiet
from tinygrad_edu.views.playground.model import HABITS, STOPS, Knobs
from tinygrad_edu.views.playground.run import Run

PATH = NOTEBOOKS / "welcome.ipynb"


def prose() -> str:
    return "\n".join(cell.source for cell in common.read(PATH).cells if cell.cell_type == "markdown")


def trained(steps: int, run: Run) -> float:
    """The accuracy on test digits after so many steps."""
    for _ in range(steps):
        run.advance()
    return run.glance().now.test_accuracy


def test_it_is_short_and_its_tasks_are_open() -> None:
    assert words("welcome") <= 1020
    common.test_unsolved_tasks_are_open_and_say_so(PATH)


def test_every_choice_has_its_reason() -> None:
    run = run_cells("welcome")
    run.names["Playground"] = Playground
    assert [gate.answer() for gate in run.gates] == ["without it", "about 90", "fewer"]
    shown = run.gates[0].reveal()
    assert shown.badge is None  # computed, not timed: with both numbers, and their seeds
    assert shown.conditions.endswith(
        "seed 0: 88 without, 85 with; seed 1: 90 without, 87 with; seed 2: 90 without, 87 with"
    )
    for gate in run.gates:
        assert list(gate.why) == gate.choices
        assert "**" in gate.why[gate.answer()]


@pytest.mark.parametrize("seed", range(3))
def test_without_a_hidden_layer_it_begins_faster_and_ends_lower(seed: int) -> None:
    """The reason of the first gate holds for other seeds too."""
    flat, deep = Run(seed, knobs=Knobs(depth=0)), Run(seed)
    assert trained(60, flat) > trained(60, deep) + 0.01
    assert trained(340, flat) < trained(340, deep)


def test_what_the_praise_says_about_widths_and_labels() -> None:
    right = [100 * trained(400, Run(seed, knobs=Knobs(width=8))) for seed in range(4)]
    assert (round(min(right)), round(max(right))) == (87, 93)
    assert "87 to 93 of 100" in TASKS["welcome_width"].praise
    assert round(100 * trained(400, Run(knobs=Knobs(depth=0)))) == 92
    assert min(trained(200, Run(knobs=Knobs(noise=share))) for share in (0.5, 0.6)) > 0.8


def test_what_it_says_about_itself() -> None:
    """Names of controls, numbers of other lessons, and what is folded because it gives answers away."""
    said, page = prose(), Playground(predict=False)
    page.run(1)
    for key in "psr":
        assert f"<kbd>{key}</kbd>" in said and f'data-key="{key}"' in page.html
    for control in ("Start again", "label noise", "depth", "learning rate", "misread now"):
        assert f"*{control}*" in said and control in page.html
    assert f"of 70 to {100 * STOPS['noise'][-1]:g} %" in said
    for lesson, minutes in re.findall(r"\]\((\w+\.ipynb)\).*\| (\d+) \|", said):
        assert f"{minutes} minutes" in common.read(NOTEBOOKS / lesson).cells[0].source, lesson
    page.run(10)
    page.act("flip", "copies")
    page.wait()
    page.set(noise=0.5)
    assert "*wrong labels: random*" in said and "wrong labels: random" in page.html
    page.set(noise=0.0)
    page.run(10)
    page.act("flip", "zeros")
    page.wait()
    assert "Why each meter" in said and "Why each meter" in page.html
    assert len(page.frame().stages) == 3
    last = common.read(PATH).cells[-1].source
    assert last.startswith("<details>") and last.endswith("</details>")
    (step,) = [
        cell.source
        for cell in common.code_cells(common.read(PATH))
        if "loss.backward()" in cell.source and "check(" not in cell.source
    ]
    assert len(step.split("\n\n")[-2].splitlines()) == 4 and "last four statements" in said


def test_labels_that_are_all_wrong_in_one_way_do_harm() -> None:
    """With the same share of wrong labels, but all of one kind, it reads far less, whatever the seed."""
    for seed in range(3):
        assert trained(200, Run(seed, knobs=Knobs(noise=0.5))) > 0.8
        assert trained(200, Run(seed, knobs=Knobs(noise=0.5, wrong="next digit"))) < 0.5


def test_the_habit_with_the_most_nodes_needs_more_than_the_one_that_the_section_presses() -> None:
    found = {habit: nodes(habit) for habit in HABITS}
    assert max(found, key=lambda habit: found[habit]) == "loop"
    assert (found["loop"], found["total"], found["evaluation"], found["one sample"]) == (328, 114, 12, 8)


def test_where_something_breaks() -> None:
    told = "random *label noise* of 70 to 90 %, and Adam at a *learning rate* of 0.3, or of 0.01 at *depth* 0 and 1"
    assert told in prose()
    adam = [reads(60, optimiser="Adam", learning_rate=0.01, depth=depth) for depth in (0, 1)]
    assert adam[0] < adam[1] and reads(60, depth=0) > reads(60, depth=1)  # SGD the other way round
    right = [reads(200, noise=share) for share in (0.6, 0.7, 0.8, 0.9)]
    assert right[0] > 80 > right[1] > 60 > right[2] > 30 > right[3]
    assert reads(200, optimiser="Adam", learning_rate=0.3) < 20 < reads(200, optimiser="Adam", learning_rate=0.01)


def test_what_other_seeds_read_where_labels_agree() -> None:
    read = []
    for seed in range(1, 8):
        run = Run(seed, knobs=Knobs(noise=0.4, wrong="next digit"))
        read.append(round(100 * trained(200, run)))
    assert f"Seeds 1 to 7 read {min(read)} to {max(read)} there" in TASKS["welcome_next"].praise


def test_the_layer_is_as_large_as_it_says() -> None:
    usual = Knobs()
    assert usual.parameters == 4810 and (64 + 1) * usual.width == 4160
    assert "4160 of the 4810 numbers" in prose()


def test_an_answer_is_checked_soon() -> None:
    """Whatever BLAS would do with more threads: it is told to use one."""
    reads.cache_clear()
    with mock.patch("tinygrad_edu.lessons.welcome.quiet", wraps=quiet) as held:
        check("welcome_width", 128)
    assert held.call_count == 2


def test_too_large_a_rate_does_what_the_check_says() -> None:
    run = Run(knobs=Knobs(learning_rate=3.0))
    assert trained(200, run) < 0.2
    losses = [point.training_loss for point in run.curve]
    assert max(losses) > losses[0]
    weight, bias = (p.array for p in list(run.loop.model.parameters())[:2])
    alive = ((run.loop.test_images @ weight.T + bias) > 0).any(axis=0)
    assert alive.sum() < 16
    assert len(set(run._scores(run.loop.test_images).argmax(1).tolist())) == 1
    assert "every digit gets the same answer" in TASKS["welcome_rate"].praise


def test_one_sample_at_a_time_costs_next_to_nothing_where_a_batch_is_one() -> None:
    alone = Run(knobs=Knobs(batch=1))
    counted = []
    for on in (False, True):
        alone.flip("one sample", on)
        for _ in range(4):
            alone.advance()
        counted.append(alone.meters.operations)
    assert counted[1] == counted[0] + 2  # it cuts out one row of each


def test_the_core_is_as_large_as_it_says() -> None:
    said = "ten modules, about two thousand lines"
    assert said in prose()
    files = [path for path in (PATH.parents[1] / "tinygrad_edu" / "core").glob("*.py") if path.stem != "__init__"]
    assert len(files) == 10
    assert 1900 < sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files) < 2100


def test_it_leads_to_every_other_notebook_that_stands_for_itself() -> None:
    linked = set(re.findall(r"\]\((\w+\.ipynb)\)", prose()))
    assert linked == {p.name for p in Path(NOTEBOOKS).glob("*.ipynb") if not p.stem.endswith("_further")} - {PATH.name}
