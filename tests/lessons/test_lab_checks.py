"""What else is right in the tip lab, and that its checks count and do not time."""

from __future__ import annotations

from typing import Any

import pytest

import tinygrad_edu as tg
from tests.lessons.lab_solutions import LAB_ALSO_RIGHT, LAB_SOLUTIONS, measured
from tests.lessons.test_checks import solve
from tinygrad_edu.lessons import TASKS, check
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


def test_the_verdict_on_a_shape_follows_the_measurement() -> None:
    """The same shape is right on one machine and not on another: nothing about it is fixed."""
    assert check("lab_shape", measured(20, 100_000, 0.7)).right
    wrong = check("lab_shape", measured(20, 100_000, 1.3))
    assert not wrong.right and "1.3" in wrong.words


def test_no_praise_names_a_way_that_the_learner_may_not_have_taken() -> None:
    for name in ("lab_centre", "lab_thin", "lab_channels"):
        assert "keepdim" not in TASKS[name].praise and "unsqueeze" not in TASKS[name].praise


def test_checks_leave_the_learner_s_random_numbers_alone() -> None:
    tg.manual_seed(3)
    expected = tg.rand(2).tolist()
    tg.manual_seed(3)
    check("lab_centre", solve(LAB_SOLUTIONS["lab_centre"]))
    assert tg.rand(2).tolist() == expected
