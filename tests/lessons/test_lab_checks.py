"""What else is right in the tip lab, and that its checks count and do not time."""

from __future__ import annotations

from typing import Any

import pytest

import tinygrad_edu as tg
from tests.lessons.lab_solutions import LAB_ALSO_RIGHT, LAB_SOLUTIONS
from tests.lessons.test_checks import solve
from tinygrad_edu.lessons import check
from tinygrad_edu.observe import timing


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


def test_checks_leave_the_learner_s_random_numbers_alone() -> None:
    tg.manual_seed(3)
    expected = tg.rand(2).tolist()
    tg.manual_seed(3)
    check("lab_centre", solve(LAB_SOLUTIONS["lab_centre"]))
    assert tg.rand(2).tolist() == expected
