"""Lesson 1 keeps to its limits, and what its words state is so."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import numpy as np
import pytest

import tinygrad_edu as tg
from tinygrad_edu.lessons import REASONS
from tinygrad_edu.observe.counters import Counters
from tinygrad_edu.views.buffers import strided

LESSON = nbformat.read(Path(__file__).parents[2] / "notebooks" / "01_arrays_are_bytes.ipynb", as_version=4)
PROSE = "\n".join(cell.source for cell in LESSON.cells if cell.cell_type == "markdown")
SOURCE = "\n".join(cell.source for cell in LESSON.cells if cell.cell_type == "code")


def test_it_is_short_enough_for_an_hour() -> None:
    assert len(PROSE.split()) <= 1500
    assert len(re.findall(r"(?:PredictGate|TimingRace)\(", SOURCE)) <= 6
    assert SOURCE.count("check(") <= 6


def test_nothing_that_is_not_folded_says_what_a_gate_asks() -> None:
    """The words of the results, and the rule, stand in gates and in what is folded until they are committed."""
    shown = re.sub(r"<details>.*?</details>", "", PROSE, flags=re.DOTALL)
    for told in (
        "164.1",
        "a slice is",
        "always a view",
        "stays in memory",
        "whole buffer",
        "cache line",
        "wastes lines",
        "is slower",
        "misconception",
        "clone()",
        "permute",
    ):
        assert told not in shown.split("## 6 · Exit quiz")[0], told
    for cell in LESSON.cells:
        for output in cell.get("outputs", []):
            plain = str(output.get("data", {}).get("text/plain", "")) + output.get("text", "")
            assert "result:" not in plain


def test_each_picture_is_saved_and_those_that_answer_are_folded() -> None:
    maps = [cell for cell in LESSON.cells if cell.cell_type == "code" and "BufferMap(" in cell.source]
    folded = [cell for cell in LESSON.cells if cell.cell_type == "code" and "Behind(" in cell.source]
    assert (len(maps), len(folded)) == (5, 3)
    for cell in [*maps, *folded]:
        assert cell.outputs, cell.source
    for cell in folded:
        gate, below = cell.outputs
        assert "buffer A" not in str(gate.data)
        assert below.data["text/html"].startswith("<details><summary>After your prediction")
        assert "buffer A on cpu" in below.data["text/html"]


def test_what_is_run_before_a_task_does_not_solve_it() -> None:
    """The sources are readable on every code host, folded or not."""
    for solution in ("clone(", "permute(", "rows.max() * 1.8"):
        assert solution not in SOURCE


def test_each_part_has_numbers_of_its_own() -> None:
    """What a learner wrote on one map does not turn up on the next."""
    maps = [cell.source for cell in LESSON.cells if cell.cell_type == "code" and "x=x" in cell.source]
    assert len(maps) == 3
    assert all("x = tg.arange(12, dtype=" in source for source in maps)


def test_what_the_gates_are_said_to_show() -> None:
    """Also for those who read without a kernel, below everything."""
    fahrenheit = 23 * 1.8 + 32
    told = (f"{fahrenheit * 1.8 + 32:.1f}", "left °F in `celsius`", "byte 24", "40 000 000 bytes")
    last = LESSON.cells[-1].source.split("<details>")[1]
    assert told[0] == "164.1" and all(words in last for words in told)


def test_recorded_figures_say_so_and_stay_folded() -> None:
    folds = re.findall(r"<details>(.*?)</details>", PROSE, flags=re.DOTALL)
    recorded = [fold for fold in folds if "*Recorded*" in fold]
    assert len(recorded) == 3
    assert "AMD EPYC, 2 cores, Python 3.11, NumPy 2.4, 1 thread" in recorded[0]
    assert all("<summary>After your prediction" in fold for fold in recorded)


def test_both_of_the_second_race_add_the_same() -> None:
    """And the copy is made once, whatever the number of uses: one buffer more than without it."""
    [source] = [c.source for c in LESSON.cells if "def copied_first" in c.source]
    scope: dict[str, object] = {"tg": tg, "TimingRace": lambda *given, **more: None, "reason": REASONS.get}
    exec(source, scope)
    as_it_is, copied_first = scope["as_it_is"], scope["copied_first"]
    assert callable(as_it_is) and callable(copied_first)
    for uses in (1, 2, 8):
        made = []
        for function in (as_it_is, copied_first):
            with Counters() as counted:
                result = function(uses)
            made.append(counted.allocated // result.nbytes)
        assert made == [uses, uses + 1]
    assert np.array_equal(as_it_is(2).numpy(), copied_first(2).numpy())


def table() -> tg.Tensor:
    return tg.arange(12, dtype="float32").reshape(3, 4)


def test_the_worked_example() -> None:
    s = table()[1:, ::2]
    assert (s.shape, s.numpy().strides, s.storage_offset() * 4) == ((2, 2), (16, 8), 16)
    assert (s[1, 1].data_ptr() - s.data_ptr()) + 16 == 40
    assert "`(16, 8)`" in PROSE and "so byte 40" in PROSE


def test_the_wrong_addresses_are_the_slips_that_their_reasons_name() -> None:
    x = table()
    t = x.T
    reasons = REASONS["address_transposed"]
    assert isinstance(reasons, dict)

    def byte(strides: tuple[int, ...]) -> str:
        return str(2 * strides[0] + 1 * strides[1])

    assert byte(t.numpy().strides) == "24" and "**" in reasons["24"]
    assert byte(np.ascontiguousarray(t.numpy()).strides) == "28" and "copy" in reasons["28"]
    assert byte(x.numpy().strides) == "36" and "strides of `x`" in reasons["36"]


def test_the_free_view_puzzles_can_be_solved() -> None:
    x = table()
    for shape, strides, offset, wanted in (
        ((1, 3), (24, 16), 0, [0, 4, 8]),
        ((1, 3), (24, 20), 0, [0, 5, 10]),
        ((2, 2), (32, 12), 0, [0, 3, 8, 11]),
    ):
        assert strided(x, shape, strides, offset).ravel().tolist() == wanted
        assert " ".join(map(str, wanted)) in PROSE


def test_transposing_makes_no_byte_whatever_the_size() -> None:
    for n in (12, 1_000_000):
        x = tg.zeros(2, n // 2)
        with Counters() as counted:
            assert x.T.storage is x.storage
        assert counted.allocated == 0


@pytest.mark.parametrize("step, lines", [(1, 1), (2, 1), (8, 1), (16, 1), (32, 0.5), (64, 0.25)])
def test_the_share_of_cache_lines_that_a_step_reads(step: int, lines: float) -> None:
    """What the race is explained by: bytes 0, 4·step, 8·step …, in lines of 64 bytes."""
    read = np.arange(0, 64 * 1024, 4 * step) // 64
    assert len(np.unique(read)) / 1024 == lines
