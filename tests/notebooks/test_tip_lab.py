"""The tip lab keeps to its limits, gives nothing away, can be solved, and what its words state is so."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import nbformat
import pytest

import tinygrad_edu as tg
from tests.lessons.lab_solutions import LAB_SOLUTIONS
from tests.lessons.test_checks import solve
from tests.notebooks.cells import execute
from tinygrad_edu.errors import ArgumentError
from tinygrad_edu.lessons import REASONS, TASKS, check, reason
from tinygrad_edu.observe.counters import Counters
from tinygrad_edu.observe.timing import compare
from tinygrad_edu.views.predict import Outcome

FOLDER = Path(__file__).parents[2] / "notebooks"
LAB = nbformat.read(FOLDER / "tip_lab.ipynb", as_version=4)
PROSE = "\n".join(cell.source for cell in LAB.cells if cell.cell_type == "markdown")
SOURCE = "\n".join(cell.source for cell in LAB.cells if cell.cell_type == "code")
MADE = {
    *("centre_rows", "thin_rows", "score_rows", "report", "scale", "scale_rows", "operations", "fate", "alive_bytes"),
    *("distances_rows", "distances", "raced", "fixed", "costs", "measured"),
}
SOLVED = ("centre", "thin", "scores")


def functions(engine: ModuleType) -> dict[str, Any]:
    """The functions that the notebook defines, with an engine under the name ``tg``."""
    space: dict[str, Any] = {"tg": engine, "Counters": Counters, "compare": compare, "Outcome": Outcome}
    space |= {"ArgumentError": ArgumentError, "reason": reason}
    for cell in LAB.cells:
        if cell.cell_type == "code":
            tree = ast.parse(cell.source)
            tree.body = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name in MADE]
            exec(compile(tree, "tip_lab", "exec"), space)
    return space


@pytest.fixture
def lab() -> dict[str, Any]:
    return functions(tg)


def test_it_is_short_enough() -> None:
    assert len(PROSE.split()) <= 1500
    assert len(re.findall(r"\b(?:PredictGate|TimingRace|show_tip)\(", SOURCE)) <= 6
    assert set(re.findall(r'check\("(\w+)"', SOURCE)) == set(LAB_SOLUTIONS) and len(LAB_SOLUTIONS) <= 6
    assert len(re.findall(r"^\d\. ", PROSE.split("##")[0], re.M)) == 3  # objectives


def test_the_minutes_of_the_parts_are_those_of_the_whole() -> None:
    (whole,) = re.findall(r"\*(\d+) minutes, estimated", PROSE)
    assert sum(map(int, re.findall(r"^\| (\d+) \|", PROSE, re.M))) == int(whole)


def test_nothing_that_is_not_folded_answers_a_gate() -> None:
    shown = re.sub(r"<details>.*?</details>", "", PROSE, flags=re.DOTALL)
    for told in (
        *("45,003", "45 003", "wrong numbers", "whole buffer", "meets a column", "always copies", "[::2]"),
        *("4,000,000", "thin first", "2 MB", "without copying", "loop was"),
    ):
        assert told not in shown, told
    assert "rows @ weights" not in PROSE  # a task's answer, not even folded
    for code in ("[::2]", "rows @"):
        assert code not in SOURCE, code
    for cell in LAB.cells:
        for output in cell.get("outputs", []):
            said = str(output.get("data", {}).get("text/plain", "")) + output.get("text", "")
            assert "result:" not in said
            assert "45,003" not in said or cell.id == "c06"  # where it is one choice of four
    assert not [name for name, solution in LAB_SOLUTIONS.items() if solution.strip() in SOURCE]


def test_each_choice_has_its_reason_and_one_has_the_cause() -> None:
    for key, offered in re.findall(r'choices=\[([^\]]+)\],\s+why=reason\("(\w+)"\)', SOURCE):
        reasons = REASONS[offered]
        assert isinstance(reasons, dict)
        assert list(reasons) == re.findall(r'"([^"]+)"', key)
        assert [words.count("**") for words in reasons.values() if "**" in words] == [2]


def test_the_gates_come_out_as_their_reasons_say(lab: dict[str, Any]) -> None:
    def cause(key: str) -> str:
        reasons = REASONS[key]
        assert isinstance(reasons, dict)
        return next(choice for choice, words in reasons.items() if "**" in words)

    readings, weights = tg.rand(10_000, 100), tg.rand(100)
    calls = lab["operations"](lab["report"], readings, weights)
    assert f"{calls:,}" == cause("lab_calls")
    assert calls == (3 * 10_000 + 1) + 1 + (3 * 5_000 + 1)
    assert lab["fate"](tg.rand(100, 100)) == cause("lab_square")
    assert lab["fate"](tg.rand(1000, 10)) == "an error"  # each of its choices can come out
    assert lab["fate"](tg.ones(10, 10)) == "the right numbers"
    assert lab["alive_bytes"]() == cause("lab_alive")


def test_the_worked_example_and_what_the_prose_counts(lab: dict[str, Any]) -> None:
    few = tg.rand(50, 100)
    assert lab["scale"](few).allclose(lab["scale_rows"](few))
    assert (lab["operations"](lab["scale_rows"], few), lab["operations"](lab["scale"], few)) == (151, 2)
    readings = tg.rand(10_000, 100)
    assert readings.nbytes == 4_000_000
    with Counters() as counted:
        lab["thin_rows"](readings)
    assert counted.allocated == 2_000_000
    with Counters() as counted:
        readings[0]
    assert (counted.calls, counted.allocated) == (1, 0)  # an index points into the old buffer
    with Counters() as counted:
        list(few)
    assert (counted.calls, counted.allocated) == (50, 0)  # a loop over a tensor starts one for each row
    with Counters() as counted:
        readings + 1.0
    assert counted.allocated == readings.nbytes  # most results need a buffer
    assert readings[100:103].nbytes == 1200 and 103 * 400 == 41_200


def test_a_stretched_axis_has_stride_0(lab: dict[str, Any]) -> None:
    stretched = tg.rand(50, 20).amax(1, keepdim=True).expand(50, 20)
    assert stretched.stride() == (1, 0)


def test_both_ways_of_the_race_give_the_same_and_differ_in_what_they_hold(lab: dict[str, Any]) -> None:
    readings = tg.rand(20, 2000)
    assert lab["distances"](readings).allclose(lab["distances_rows"](readings), rtol=1e-4)
    with Counters() as loop:
        lab["distances_rows"](readings)
    with Counters() as once:
        lab["distances"](readings)
    assert (loop.calls, once.calls) == (5 * 20 + 1, 4)  # as the hint of task 4 says
    row, table = 2000 * 4, 20 * 2000 * 4
    assert 3 * row <= loop.peak < 4 * row and 3 * table <= once.peak < 4 * table  # two distances and a product
    assert (200_000 * 4, 20 * 200_000 * 4) == (800_000, 16_000_000)
    assert "800 kB in the loop and 16 MB at once" in PROSE


def test_recorded_times_name_the_machine_and_the_day_and_stay_folded() -> None:
    folded = "".join(re.findall(r"<details>.*?</details>", PROSE, flags=re.DOTALL))
    for told in ("**Recorded** on 23 November 2026", "AMD EPYC", "NumPy 2.4.6", "1.5–1.9× faster"):
        assert told in folded
    assert not re.search(r"\d×", re.sub(r"<details>.*?</details>", "", PROSE, flags=re.DOTALL).replace("100×100", ""))


def test_the_shape_that_task_4_wants_comes_from_a_measurement(
    lab: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    lab["compare"] = lambda *functions, **options: compare(*functions, repeats=3, **options)
    sensors, each, found = lab["raced"](4, 50)
    assert (sensors, each) == (4, 50) and found.slow.name == "loop"
    assert capsys.readouterr().out.startswith("measured: ")
    assert "200, not two million" in check("lab_shape", (sensors, each, found)).words


def test_the_gate_on_time_refuses_a_report_with_other_scores(lab: dict[str, Any]) -> None:
    lab |= {"readings": tg.rand(300, 100), "weights": tg.rand(100)}
    lab["few"] = lab["readings"][:50]
    right = {name: solve(LAB_SOLUTIONS[f"lab_{name}"]) for name in SOLVED}
    wrong = {
        "centre": lambda x: x - x.mean(0, keepdim=True),
        "thin": lambda x: x[:100:2],
        "scores": lambda rows, weights: rows.sum(1),
    }
    for name, slip in wrong.items():
        lab |= {**right, name: slip}
        with pytest.raises(ArgumentError, match="its scores are not those of `report`"):
            lab["measured"]()
    lab |= {**right, "centre": lab["centre_rows"]}
    with pytest.raises(ArgumentError, match="it still has a loop"):
        lab["measured"]()
    lab |= right
    found = lab["measured"]()
    assert found.badge == "measured" and "NumPy" in found.conditions
    assert found.why.startswith(str(reason("lab_faster")))
    assert re.search(r"`report` [\d.]+ .s \(.*\), yours [\d.]+ .s \(.*\); (95 % interval|all \d pairs)", found.why)
    counted = {name: lab["costs"](lab[name]) for name in ("report", "fixed")}
    assert found.why.endswith(f". {counted['report']} before, {counted['fixed']} now.")
    assert counted["report"].startswith("1,353 operations, ")


def test_the_fixed_report_gives_the_same_scores(lab: dict[str, Any]) -> None:
    lab |= {name: solve(LAB_SOLUTIONS[f"lab_{name}"]) for name in SOLVED}
    readings, weights = tg.rand(300, 100), tg.rand(100)
    assert lab["fixed"](readings, weights).allclose(lab["report"](readings, weights), atol=1e-4)
    assert lab["operations"](lab["fixed"], readings, weights) <= 5
    assert lab["operations"](lab["report"], readings, weights) > 20  # the gate on time refuses the slow one


def test_another_order_of_the_steps_gives_the_same_scores_with_less_work(lab: dict[str, Any]) -> None:
    centre, thin, scores = (solve(LAB_SOLUTIONS[f"lab_{name}"]) for name in SOLVED)
    readings, weights = tg.rand(400, 100), tg.rand(100)
    with Counters() as now:
        expected = scores(thin(centre(readings)), weights)
    with Counters() as reordered:
        got = scores(centre(thin(readings)), weights)
    assert got.allclose(expected, atol=1e-4)
    assert reordered.allocated < 0.6 * now.allocated


def test_the_sentences_to_compare_with_are_folded_and_true(lab: dict[str, Any]) -> None:
    with Counters() as counted:
        hour = tg.rand(10_000, 100)
        kept = hour[100:103].clone()
        del hour
        alive = counted.live
    assert alive == kept.nbytes == 1200
    assert "`hour[100:103].clone()` keeps 1,200 bytes instead of 4,000,000" in PROSE


def test_the_quiz_s_right_answers_are_not_its_longest() -> None:
    quiz = next(cell.source for cell in LAB.cells if "Exit quiz" in cell.source)
    right = LAB_SOLUTIONS["exit_lab"].split('"')[1]
    asked = re.findall(r"^\d\. .*", quiz, re.M)
    assert len(set(right)) < len(right) == len(asked)
    for letter, question in zip(right, asked, strict=True):
        offered = dict(re.findall(r"\(([abc])\) (.*?)(?= \([abc]\)|$)", question))
        assert len(offered) == 3 and len(offered[letter]) < max(map(len, offered.values()))


def test_the_last_comparison_is_clear_before_it_is_measured(lab: dict[str, Any]) -> None:
    """What the cell for the learner's own code compares as it stands: the two ways of part 2."""
    x = tg.rand(500, 100)
    assert lab["scale"](x).allclose(lab["scale_rows"](x), atol=1e-4)
    assert lab["operations"](lab["scale_rows"], x) == 1501 > 500 * lab["operations"](lab["scale"], x)
    own = next(cell for cell in LAB.cells if "def inputs" in cell.source)
    assert "before, after = scale_rows, scale" in own.source
    assert "measured: after is faster than before" in "".join(output.get("text", "") for output in own.outputs)


def test_unsolved_tasks_are_open_and_say_so() -> None:
    cells = [cell for cell in LAB.cells if any(tag.startswith("task:") for tag in cell.metadata.get("tags", []))]
    assert len(cells) == len(LAB_SOLUTIONS)
    for cell in cells:
        (name,) = (tag.removeprefix("task:") for tag in cell.metadata.tags)
        assert name in TASKS and f'check("{name}", answer)' in cell.source and "answer = ..." in cell.source
        assert f"○ {name}: not answered yet." in str(cell.outputs)


def test_it_can_be_solved() -> None:
    """The solutions go in where a learner would write; then the gate on time opens."""
    notebook = nbformat.from_dict(LAB)
    tasks = {}
    for cell in notebook.cells:
        for tag in cell.metadata.get("tags", []):
            if tag.startswith("task:"):
                tasks[tag.removeprefix("task:")] = cell
                name = tag.removeprefix("task:")
                cell.source = f'{LAB_SOLUTIONS[name]}\ncheck("{name}", answer)'
    notebook.cells.append(nbformat.v4.new_code_cell("print(measured().badge)"))
    execute(notebook)
    for name, cell in tasks.items():
        assert f"✓ {name}" in str(cell.outputs)
    assert notebook.cells[-1].outputs[0].text == "measured\n"
