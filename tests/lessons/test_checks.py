"""Checks accept what is right, have a hint for each usual slip, and never end in a traceback."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.lessons.solutions import ALSO_RIGHT, SOLUTIONS, WRONG
from tinygrad_edu.lessons import TASKS, Verdict, check
from tinygrad_edu.lessons.checking import task


def solve(source: str) -> Any:
    """The answer that a solution's source gives."""
    scope: dict[str, Any] = {"np": np, "tg": tg}
    exec(source, scope)
    return scope["answer"]


def test_every_task_has_a_solution_and_wrong_answers() -> None:
    assert set(SOLUTIONS) == set(WRONG) == set(TASKS)


@pytest.mark.parametrize("name", SOLUTIONS)
def test_the_solution_holds(name: str) -> None:
    verdict = check(name, solve(SOLUTIONS[name]))
    assert verdict.right, verdict
    assert repr(verdict) == f"✓ {name}: {TASKS[name].praise}"


@pytest.mark.parametrize(("name", "answer"), [(n, a) for n, found in ALSO_RIGHT.items() for a in found])
def test_other_right_answers_hold(name: str, answer: Any) -> None:
    verdict = check(name, answer)
    assert verdict.right, verdict


@pytest.mark.drawn(1 / 2)
@pytest.mark.parametrize(("name", "answer", "words"), [(n, a, w) for n, found in WRONG.items() for a, w in found])
def test_a_wrong_answer_gets_its_hint(name: str, answer: Any, words: str) -> None:
    verdict = check(name, answer)
    assert verdict.state == "wrong"
    assert words in verdict.words


@pytest.mark.drawn(1 / 2)
@pytest.mark.parametrize("name", TASKS)
def test_hints_never_hold_the_solution(name: str) -> None:
    said = [check(name, answer).words for answer, _ in WRONG[name]]
    if SOLUTIONS[name].startswith("answer = ") and "def " not in SOLUTIONS[name]:
        secret = SOLUTIONS[name].removeprefix("answer = ").strip('"')
        assert not any(f" {secret} " in f" {words.replace('.', ' ')} " for words in said if len(secret) > 1)


def test_an_open_task_and_a_misspelt_one() -> None:
    assert repr(check("fork", ...)) == "○ fork: not answered yet."
    assert "Did you mean 'fork'?" in check("frok", 1).words


def test_a_verdict_shows_escaped_html() -> None:
    shown = Verdict("t", "wrong", "<script>")._repr_html_()
    assert "<script>" not in shown and "&lt;script&gt;" in shown


def test_a_taken_name_is_refused() -> None:
    with pytest.raises(ValueError, match="there is already a task called 'fork'"):
        task("fork", "", "")(lambda answer: "")
