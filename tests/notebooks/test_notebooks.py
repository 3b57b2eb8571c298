"""The notebooks as they are committed: they read well without a kernel, give nothing away, and can be solved."""

from __future__ import annotations

import re
import sys
from functools import cache
from pathlib import Path
from typing import Any

import nbformat
import pytest

from tests.lessons.solutions import SOLUTIONS
from tests.notebooks.cells import execute, run_cells
from tinygrad_edu.lessons import REASONS, TASKS, check
from tools.save_notebooks import LIVE_VIEW, tidy

FOLDER = Path(__file__).parents[2] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
NUMBERED = [path for path in NOTEBOOKS if re.match(r"\d\d_", path.name)]
LESSONS = [path for path in NUMBERED if not path.stem.endswith("_further")]  # the rest goes on where one ends

pytestmark = pytest.mark.filterwarnings("ignore:Proactor:RuntimeWarning")  # Windows' event loop, not ours


def stem(path: Path) -> str:
    return path.stem


def read(path: Path) -> Any:
    return nbformat.read(path, as_version=4)


def code_cells(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def task_of(cell: Any) -> str | None:
    return next((tag.removeprefix("task:") for tag in cell.metadata.get("tags", []) if tag.startswith("task:")), None)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=stem)
def test_a_notebook_is_saved_tidy_and_with_outputs(path: Path) -> None:
    notebook = read(path)
    assert nbformat.writes(tidy(read(path))) == nbformat.writes(notebook)
    outputs = [output for cell in code_cells(notebook) for output in cell.outputs]
    assert not [output for output in outputs if output.output_type == "error"]
    pictures = [output for output in outputs if "image/svg+xml" in output.get("data", {})]
    assert pictures
    for output in outputs:
        data = output.get("data", {})
        assert LIVE_VIEW not in data
        assert "object at 0x" not in data.get("text/plain", "")
    for output in pictures:
        assert "<desc" in "".join(output.data["image/svg+xml"]) and output.data["text/plain"]
    assert [cell.execution_count for cell in code_cells(notebook)] == list(range(1, len(code_cells(notebook)) + 1))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=stem)
def test_gates_are_saved_closed(path: Path) -> None:
    for cell in code_cells(read(path)):
        if "PredictGate(" in cell.source and not cell.source.startswith(("import", "from")):
            shown = "".join(str(output.get("data", {})) for output in cell.outputs)
            assert "Nothing is computed before you commit" in shown or "Draw your prediction" in shown


@pytest.mark.parametrize("path", NUMBERED, ids=stem)
def test_unsolved_tasks_are_open_and_say_so(path: Path) -> None:
    cells = [cell for cell in code_cells(read(path)) if task_of(cell)]
    assert len(cells) >= (3 if path in LESSONS else 1)
    for cell in cells:
        name = task_of(cell)
        assert name in TASKS and f'check("{name}", answer)' in cell.source and "answer = ..." in cell.source
        assert f"○ {name}: not answered yet." in str(cell.outputs)


# Not ru_maxrss: that begins with the size of the process that started the kernel.
PEAK = "print(next(line for line in open('/proc/self/status') if line.startswith('VmHWM')))"


@cache
def solved(path: Path) -> Any:
    """Run on one core, as on Binder, with the solutions where a learner would write them. Its last cell tells its
    peak."""
    notebook = read(path)
    for cell in code_cells(notebook):
        if name := task_of(cell):
            cell.source = f'{SOLUTIONS[name]}\ncheck("{name}", answer)'
    if sys.platform == "linux":
        notebook.cells.append(nbformat.v4.new_code_cell(PEAK))
    with pytest.MonkeyPatch.context() as patch:
        for library in ("OMP", "OPENBLAS", "MKL"):
            patch.setenv(f"{library}_NUM_THREADS", "1")
        execute(notebook)
    return notebook


@pytest.mark.parametrize("path", [path for path in NOTEBOOKS if any(map(task_of, code_cells(read(path))))], ids=stem)
def test_its_tasks_can_be_solved(path: Path) -> None:
    """Every check answers that the solution holds."""
    for cell in code_cells(solved(path)):
        if name := task_of(cell):
            assert f"✓ {name}" in str(cell.outputs)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process its own peak")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=stem)
def test_a_notebook_stays_small_enough_for_a_shared_server(path: Path) -> None:
    """Under 300 MB resident."""
    kilobytes = int(re.search(r"VmHWM:\s+(\d+) kB", solved(path).cells[-1].outputs[0].text).group(1))  # type: ignore[union-attr]
    assert kilobytes < 300_000


def given(path: Path) -> dict[str, str]:
    """The functions that tasks begin with, by the names of the tasks."""
    found = {}
    for cell in code_cells(read(path)):
        begun, name = re.findall(r"^def (\w+)\(", cell.source, re.M), task_of(cell)
        if begun and name and TASKS[name].function:
            found[name] = begun[-1]
    return found


@pytest.mark.parametrize("path", list(filter(given, NOTEBOOKS)), ids=stem)
def test_the_code_that_a_task_gives_is_refused(path: Path) -> None:
    """A task that asks for a repair must not accept the program as it stands."""
    names = run_cells(path.stem).names
    for task, function in given(path).items():
        answer = check(task, names[function])
        assert answer.state == "wrong", answer


def test_most_tasks_for_a_function_give_one() -> None:
    """Else the test above would look at nothing."""
    asked = [task for path in NOTEBOOKS for task in map(task_of, code_cells(read(path))) if task]
    asked = [task for task in asked if TASKS[task].function]
    assert sum(len(given(path)) for path in NOTEBOOKS) > len(asked) / 2 > 4


@pytest.mark.parametrize("path", NOTEBOOKS, ids=stem)
def test_no_reason_stands_above_its_question(path: Path) -> None:
    """A gate's reason gives its result away, so notebooks hold only a key to it."""
    source = "\n".join(cell.source for cell in code_cells(read(path)))
    assert "why=" in source
    for key in re.findall(r"why=(.*?)\)", source):
        assert (name := re.fullmatch(r'reason\("(\w+)"', key)) and name[1] in REASONS, key


def test_reasons_are_short_and_name_a_cause() -> None:
    for found in REASONS.values():
        each = [found] if isinstance(found, str) else list(found.values())
        assert [words.count("**") for words in each if "**" in words] == [2]  # the cause, in the result's own words
        for words in each:
            assert len(words.split()) <= 25 and words.endswith("."), words


@pytest.mark.parametrize("path", LESSONS, ids=stem)
def test_a_lesson_has_what_every_lesson_has(path: Path) -> None:
    notebook = read(path)
    prose = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    source = "\n".join(cell.source for cell in code_cells(notebook))
    for heading in ("After this lesson you can", "Explain.", "## The same elsewhere", "## For instructors", "quiz"):
        assert heading in prose, heading
    assert 1 <= len(re.findall(r"^\d\. ", prose.split("##")[0], re.M)) <= 3  # objectives
    assert source.count("PredictGate(") >= 4
    assert "names → tensors → buffers → device → queue" in prose
    assert not [name for name, solution in SOLUTIONS.items() if solution.strip() in source]
