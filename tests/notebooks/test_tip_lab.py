"""The tip lab keeps to its limits, gives nothing away, can be solved, and what its words state is so."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

import tinygrad_edu as tg
from tests.lessons.lab_solutions import LAB_SOLUTIONS
from tests.lessons.test_checks import solve
from tinygrad_edu.lessons import REASONS, TASKS
from tinygrad_edu.observe.counters import Counters

FOLDER = Path(__file__).parents[2] / "notebooks"
LAB = nbformat.read(FOLDER / "tip_lab.ipynb", as_version=4)
PROSE = "\n".join(cell.source for cell in LAB.cells if cell.cell_type == "markdown")
SOURCE = "\n".join(cell.source for cell in LAB.cells if cell.cell_type == "code")
MADE = {"centre_rows", "thin_rows", "score_rows", "report", "scale", "scale_rows", "operations", "fate", "alive_bytes"}


def functions(engine: ModuleType) -> dict[str, Any]:
    """The functions that the notebook defines, with an engine under the name ``tg``."""
    space: dict[str, Any] = {"tg": engine, "Counters": Counters}
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


def test_nothing_that_is_not_folded_answers_a_gate() -> None:
    shown = re.sub(r"<details>.*?</details>", "", PROSE, flags=re.DOTALL)
    for told in ("45,003", "45 003", "wrong numbers", "whole buffer", "meets a column", "always copies", "[::2]` is"):
        assert told not in shown, told
    for cell in LAB.cells:
        for output in cell.get("outputs", []):
            said = str(output.get("data", {}).get("text/plain", "")) + output.get("text", "")
            assert "result:" not in said and "45,003" not in said
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
    assert f"{calls:,}".replace(",", " ") == cause("lab_calls")
    assert calls == (3 * 10_000 + 1) + 1 + (3 * 5_000 + 1)
    assert lab["fate"](tg.rand(100, 100)) == cause("lab_square")
    with pytest.raises(tg.errors.ShapeError):
        lab["fate"](tg.rand(1000, 10))
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
    for rows in (7, 10):  # of task 4
        assert lab["operations"](lab["centre_rows"], tg.rand(rows, 5)) == 3 * rows + 1
    x = tg.rand(50, 20)
    stretched = x.amax(1, keepdim=True).expand(50, 20)
    assert stretched.stride() == (1, 0)


def test_the_mended_report_gives_the_same_scores(lab: dict[str, Any]) -> None:
    centre, thin, scores = (solve(LAB_SOLUTIONS[f"lab_{name}"]) for name in ("centre", "thin", "scores"))
    readings, weights = tg.rand(300, 100), tg.rand(100)

    def mended(readings: Any, weights: Any) -> Any:
        return scores(thin(centre(readings)), weights)

    assert mended(readings, weights).allclose(lab["report"](readings, weights), atol=1e-4)
    assert lab["operations"](mended, readings, weights) <= 5
    assert lab["operations"](lab["report"], readings, weights) > 20  # the gate on time refuses the slow one


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
    NotebookClient(notebook, timeout=180, resources={"metadata": {"path": str(FOLDER)}}).execute()
    for name, cell in tasks.items():
        assert f"✓ {name}" in str(cell.outputs)
    assert notebook.cells[-1].outputs[0].text == "measured\n"
