"""Lesson 1 keeps to its limits, and what its words state is so."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from types import SimpleNamespace

import nbformat
import numpy as np
import pytest

import tinygrad_edu as tg
from tests.notebooks.cells import run_cells, words
from tinygrad_edu.lessons import REASONS
from tinygrad_edu.observe.counters import Counters
from tinygrad_edu.views.buffers import strided

LESSON = nbformat.read(Path(__file__).parents[2] / "notebooks" / "01_arrays_are_bytes.ipynb", as_version=4)
PROSE = "\n".join(cell.source for cell in LESSON.cells if cell.cell_type == "markdown")
SOURCE = "\n".join(cell.source for cell in LESSON.cells if cell.cell_type == "code")


def test_it_is_short_enough_for_an_hour() -> None:
    assert words("01_arrays_are_bytes") <= 1500
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
        "[0].clone",
        "u[0, 2]` begins at",
        "permute(0",
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
    for solution in ("[0].clone(", "permute(", "rows.max() * 1.8"):
        assert solution not in SOURCE


def test_each_part_has_numbers_of_its_own() -> None:
    """What a learner wrote on one map does not turn up on the next."""
    maps = [cell.source for cell in LESSON.cells if cell.cell_type == "code" and "x=x" in cell.source]
    assert len(maps) == 3
    assert all("x = tg.arange(12, dtype=" in source for source in maps)


def test_what_the_gates_are_said_to_show() -> None:
    """Also for those who read without a kernel, below everything."""
    fahrenheit = 23 * 1.8 + 32
    told = (
        f"{fahrenheit * 1.8 + 32:.1f}",
        "left °F in `celsius`",
        "`u[0, 2]` begins at byte 36, as `x[2, 1]` does",
        "40 000 000 bytes",
    )
    last = LESSON.cells[-1].source.split("<details>")[1]
    assert told[0] == "164.1" and all(words in last for words in told)


def test_recorded_figures_say_so_and_stay_folded() -> None:
    folds = re.findall(r"<details>(.*?)</details>", PROSE, flags=re.DOTALL)
    recorded = [fold for fold in folds if "*Recorded*" in fold]
    assert len(recorded) == 3
    assert "AMD EPYC, 2 cores, Python 3.11, NumPy 2.4, 1 thread" in recorded[0]
    assert all("<summary>After your prediction" in fold for fold in recorded)


def test_neither_task_nor_map_above_a_gate_has_its_view() -> None:
    """Those of the second gate are met there first, and what a map in sight asks leaves open what a gate does."""
    before, after = (PROSE + SOURCE).count("x[:, 1:].T"), SOURCE.count("x[:, 1:].T")
    assert before == after >= 3
    asked = re.findall(r'ask="(.*?)"', SOURCE)
    assert len(asked) == 6  # of five maps and a race
    assert not [ask for ask in asked if any(told in ask for told in ("°C", "large", "alive", "zeros", "order"))]


def test_the_map_behind_the_third_gate_has_lost_big() -> None:
    """As the question says. And memory that nobody has written, as that of zeros, the system need not give at all."""
    [source] = [c.source for c in LESSON.cells if "def bytes_alive" in c.source]
    assert "del big\n\nBehind(" in source and "zeros" not in source


def test_timing_answers_within_two_seconds() -> None:
    """By their budgets; whether a machine keeps to them is its own affair."""
    [race] = [c.source for c in LESSON.cells if "TimingRace(" in c.source and "budget" in c.source]
    assert "budget=1.5" in race
    assert re.findall(r"compare\(.*budget=([\d.]+)", SOURCE) == ["0.35", "0.6"]
    assert 3 * 0.35 <= 2


def test_the_gates_on_copies_tell_what_they_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Milliseconds, spread, warm-ups, machine; and the break-even is the smallest count at which the copy wins."""
    run = run_cells("01_arrays_are_bytes")
    gates = run.gate("smallest number of uses"), run.gate("Now one sum")
    for gate, key in zip(gates, ("break_even", "copy_first"), strict=True):
        found = gate.reveal()
        assert found.value in gate.choices and found.badge == "measured"
        told = REASONS[key]
        assert isinstance(told, dict) and found.why.startswith(told[found.value])
        assert re.search(r"\d (m|µ)s \(.*–.*\) as it is, .*\d (m|µ)s \(.*–.*\) copied first", found.why)
        assert "median (middle half)" in found.why
        assert "NumPy" in found.conditions and re.search(r"\d pairs, warm-ups: \d", found.conditions)
    taken = {1: "slower", 2: "faster", 4: "faster"}

    def compare(slow: functools.partial[object], fast: object, budget: float) -> SimpleNamespace:
        timing = SimpleNamespace(text=lambda: "1 ms", warmups=[1.0])
        words = SimpleNamespace(text=lambda: "a machine")
        return SimpleNamespace(
            verdict=taken[slow.args[0]], open=False, slow=timing, fast=timing, ratios=[1], conditions=words
        )

    monkeypatch.setitem(run.names, "compare", compare)
    for verdicts, least in (("sff", "2"), ("fff", "1"), ("ssf", "4"), ("sss", "never")):
        taken = {n: {"s": "slower", "f": "faster"}[v] for n, v in zip((1, 2, 4), verdicts, strict=True)}
        assert gates[0].reveal().value == least


def test_the_recorded_ratios_say_who_wins() -> None:
    """“With one use the copy loses; from two uses on it wins.”"""
    rows = re.findall(r"(\d) uses? ([\d.]+) \(([\d.]+)–([\d.]+)\)", PROSE)
    assert [row[0] for row in rows] == ["1", "2", "4"]
    assert float(rows[0][3]) < 1
    assert all(float(low) > 1 for _, _, low, _ in rows[1:])


def test_both_ways_to_add_give_the_same() -> None:
    """The copy is made once, whatever the number of uses; adding makes no buffer, and so times no allocation."""
    [source] = [c.source for c in LESSON.cells if "def copied_first" in c.source]
    scope: dict[str, object] = {"tg": tg}
    exec(source, scope)
    as_it_is, copied_first = scope["as_it_is"], scope["copied_first"]
    assert callable(as_it_is) and callable(copied_first)
    for uses in (1, 2, 8):
        made = []
        for function in (as_it_is, copied_first):
            with Counters() as counted:
                result = function(uses)
            made.append(counted.allocated // result.nbytes)
        assert made == [1, 2]
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
    u = x[:, 1:].T
    reasons = REASONS["address_turned"]
    assert isinstance(reasons, dict)

    def byte(strides: tuple[int, ...], offset: int) -> str:
        return str(offset + 0 * strides[0] + 2 * strides[1])

    begin = u.storage_offset() * 4
    assert str(u[0, 2].data_ptr() - x.data_ptr()) == byte(u.numpy().strides, begin) == "36" and "**" in reasons["36"]
    assert x[2, 1].data_ptr() == u[0, 2].data_ptr()
    assert byte(np.ascontiguousarray(u.numpy()).strides, 0) == "8" and "copy" in reasons["8"]
    assert byte(x.numpy().strides, begin) == "12" and "strides of `x`" in reasons["12"]
    assert byte(u.numpy().strides, 0) == "32" and "offset is missing" in reasons["32"]


def test_the_free_view_puzzles_can_be_solved() -> None:
    x = table()
    for shape, strides, offset, wanted in (
        ((1, 3), (24, 16), 0, [0, 4, 8]),
        ((1, 3), (24, 20), 0, [0, 5, 10]),
        ((2, 2), (32, 12), 0, [0, 3, 8, 11]),
    ):
        assert strided(x, shape, strides, offset).ravel().tolist() == wanted
        assert " ".join(map(str, wanted)) in PROSE
        assert str(wanted) in SOURCE  # and the map knows it


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
