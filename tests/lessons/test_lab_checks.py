"""What else is right in the tip lab, and that its checks count and do not time."""

from __future__ import annotations

from typing import Any

import pytest

import tinygrad_edu as tg
from tests.lessons.lab_solutions import LAB_ALSO_RIGHT, LAB_SOLUTIONS, LAB_WRONG
from tests.lessons.test_checks import solve
from tinygrad_edu.lessons import TASKS, check
from tinygrad_edu.observe import timing
from tinygrad_edu.observe.counters import Counters


@pytest.mark.parametrize(("name", "answer"), [(n, a) for n, found in LAB_ALSO_RIGHT.items() for a in found])
def test_other_right_answers_hold(name: str, answer: Any) -> None:
    verdict = check(name, answer)
    assert verdict.right, verdict


@pytest.mark.parametrize("name", LAB_SOLUTIONS)
def test_no_check_looks_at_the_clock(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def never() -> float:
        raise AssertionError("a check took the time")

    monkeypatch.setattr(timing, "_clock", never)
    assert check(name, solve(LAB_SOLUTIONS[name])).right


def test_what_the_praise_of_task_4_says_is_counted() -> None:
    """Few long rows start few operations, and each number is written twice where once would do."""

    def counted(function: Any, x: Any) -> tuple[int, int]:
        with Counters() as found:
            function(x)
        return found.calls, found.allocated

    slow = next(answer for answer, hint in LAB_WRONG["lab_centre"] if "181" in hint)
    for rows in (10, 20):
        x = tg.rand(rows, 1000)
        calls, new = counted(slow, x)
        assert calls == 3 * rows + 1
        assert 2 * x.nbytes <= new <= 2 * x.nbytes + rows * 4  # at most the means besides
        assert counted(solve(LAB_SOLUTIONS["lab_centre"]), x)[1] - rows * 4 == x.nbytes
    assert "every number twice" in TASKS["lab_shape"].praise


def test_checks_leave_the_learner_s_random_numbers_alone() -> None:
    tg.manual_seed(3)
    expected = tg.rand(2).tolist()
    tg.manual_seed(3)
    check("lab_centre", solve(LAB_SOLUTIONS["lab_centre"]))
    assert tg.rand(2).tolist() == expected
