"""Tasks, and how their answers are judged."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np

from ..errors import EduError
from ..tensor import Tensor

Judge = Callable[[Any], str]

NO_FUNCTION = "hand in the function itself, without calling it."
NOTHING = "your function returns nothing: is there a return?"


@dataclass(frozen=True)
class Verdict:
    """The judgement of an answer: ``state`` is "right", "wrong" or "open"."""

    task: str
    state: str
    words: str

    @property
    def right(self) -> bool:
        """Whether the answer is right."""
        return self.state == "right"

    def __repr__(self) -> str:
        return f"{ {'right': '✓', 'wrong': '✗', 'open': '○'}[self.state] } {self.task}: {self.words}"

    def _repr_html_(self) -> str:
        weight = "600" if self.state == "right" else "400"
        return f'<p role="status" style="font-weight:{weight};margin:4px 0">{html.escape(repr(self))}</p>'


@dataclass(frozen=True)
class Task:
    """A question with a judge, which returns "" for a right answer, else a hint."""

    name: str
    ask: str
    judge: Judge
    praise: str  # said when the answer is right: the idea behind it, in a sentence
    function: bool = False  # whether the answer is a function; the judge then gets nothing else


TASKS: dict[str, Task] = {}


def task(name: str, ask: str, praise: str, *, function: bool = False) -> Callable[[Judge], Judge]:
    """Register the decorated judge as a task, of a ``function`` or of any answer. A name already taken is refused."""

    def register(judge: Judge) -> Judge:
        if name in TASKS and (TASKS[name].ask, TASKS[name].praise) != (ask, praise):  # a lesson may be loaded again
            raise ValueError(f"there is already a task called {name!r}")
        TASKS[name] = Task(name, ask, judge, praise, function)
        return judge

    return register


def choice(name: str, ask: str, right: str, praise: str, hints: dict[str, str]) -> None:
    """Register a question that is answered by a letter, with a hint for each wrong one."""

    def judge(answer: Any) -> str:
        given = str(answer).strip().lower().strip("().")
        if given == right:
            return ""
        return hints.get(given, f"choose one of {', '.join(sorted({right, *hints}))}.")

    task(name, ask, praise)(judge)


def quiz(name: str, ask: str, praise: str, questions: Sequence[dict[str, str]], otherwise: str) -> None:
    """Register questions that are answered by one letter each: for every question its hints by letter, "" for the
    right one. ``otherwise`` is said to an answer of another form."""

    def judge(answer: Any) -> str:
        letters = [letter for letter in str(answer).lower() if letter.isalpha()]
        if len(letters) != len(questions):
            return otherwise
        found = [hints.get(letter, otherwise) for hints, letter in zip(questions, letters, strict=True)]
        return otherwise if otherwise in found else next(filter(None, found), "")

    task(name, ask, praise)(judge)


def check(name: str, answer: Any = ...) -> Verdict:
    """Judge an answer. ``...`` counts as not yet answered, so an unsolved notebook runs to its end.

    If judging the answer raises, as when it is a function that fails, the hint is the error's first line.
    """
    if name not in TASKS:
        near = get_close_matches(name, TASKS, 1)
        suggestion = f" Did you mean {near[0]!r}?" if near else ""
        return Verdict(name, "open", f"there is no such task.{suggestion} There are {', '.join(TASKS)}.")
    if answer is ...:
        return Verdict(name, "open", "not answered yet.")
    found = TASKS[name]
    if found.function and not callable(answer):
        return Verdict(name, "wrong", NO_FUNCTION)
    try:
        hint = found.judge(answer)
    except Exception as error:  # the learner's code may raise anything: the hint reports it
        first = error.sentence() if isinstance(error, EduError) else f"{type(error).__name__}: {error}"
        return Verdict(name, "wrong", f"your answer could not be used. {first}")
    return Verdict(name, "wrong", hint) if hint else Verdict(name, "right", found.praise)


def numbers(value: Any) -> np.ndarray[Any, Any]:
    """An answer as an array of numbers: a number, a list, an array or a tensor."""
    if isinstance(value, Tensor):
        value = value.tolist()
    return np.asarray(value, dtype=np.float64)


def judge_number(answer: Any, right: float, known: dict[float, str], otherwise: str) -> str:
    """A hint for a number: "" if it is right, its own for a known wrong value, else ``otherwise``."""
    given = float(numbers(answer).reshape(()))
    if np.isclose(given, right):
        return ""
    return next((hint for value, hint in known.items() if np.isclose(given, value)), otherwise)
