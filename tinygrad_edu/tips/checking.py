"""Testing a tip: whether it is as it says, at its defaults, at its limits and about its guides, by counts alone."""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..core.base import TensorBase
from ..inputs.trees import tensors_in
from .counting import Count, agree, arguments, error_text
from .runner import Result, run
from .tip import HOLDS, Choice, Number, Question, Tip, TipError, source_of

LARGEST = 100_000_000  # bytes of one call at the defaults
LINES = (50, 130)  # of a tip's file
LONGEST = 15  # lines of a way
SENTENCE = (".", ".)")


@dataclass(frozen=True)
class Checked:
    """A tip and the test of all that it says. ``faults`` is empty if everything is so."""

    slug: str
    result: Result
    limits: tuple[Result, ...]
    faults: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether everything is as the tip says."""
        return not self.faults


def check(tip: Tip) -> Checked:
    """Test everything that a tip says, without a clock: its words, its code, its claims, its limits, its controls."""
    result = run(tip, clock=False)
    limits = tuple(run(tip, limit.setting, clock=False) for limit in tip.limits)
    faults = [
        *_in_words(tip), *_in_code(tip), *_in_the_file(tip), *_in_inputs(tip, result), *_in_the_result(tip, result),
        *_in_slips(tip, result), *_in_the_question(tip, result, limits), *_in_limits(tip, limits),
        *_in_controls(tip, limits),
    ]  # fmt: skip
    return Checked(tip.slug, result, limits, tuple(faults))


# What is read ------------------------------------------------------------------------------------------------------


def _in_words(tip: Tip) -> Iterator[str]:
    if not re.fullmatch(r"[^.]+\.", re.sub("`[^`]+`", "", tip.why)):
        yield "why is not one sentence with one full stop"
    if len(re.findall(r"\*\*[^*]+\*\*", tip.why)) != 1:
        yield "why has not exactly one part in bold, its cause"
    if not 50 <= len(tip.about.split()) <= 130:
        yield f"about has {len(tip.about.split())} words, and should have 50 to 130"
    said = {"about": tip.about, "the refutation": tip.question.refutation}
    said |= {f"the limit {dict(limit.setting)}": limit.words for limit in tip.limits}
    said |= {f"the slip {place}": slip.words for place, slip in enumerate(tip.slips, 1)}
    said |= {f"the way {way.name!r}": way.words for way in tip.also}
    yield from (f"{name} does not end as a sentence" for name, text in said.items() if not text.endswith(SENTENCE))
    asked = {"the question": tip.question.ask, "explain": tip.explain}
    yield from (f"{name} does not end with a question mark" for name, text in asked.items() if not text.endswith("?"))
    choices = tip.question.choices
    if isinstance(choices, Number):
        if not choices.low < choices.high:
            yield f"the question offers no numbers from {choices.low:g} to {choices.high:g}"
    elif len(set(choices)) < max(2, len(choices)):
        yield "the choices are fewer than two, or not all different"
    for symptom in tip.symptoms:
        if symptom.endswith(".") or len(symptom) > 60:
            yield f"the symptom {symptom!r} is not as a learner says it: no full stop, at most 60 characters"
    if len(set(tip.symptoms)) < len(tip.symptoms):
        yield "a symptom is there twice"
    for source in tip.sources:
        if not (source.section.strip() and source.says.strip()):
            yield f"a source of guide {source.guide} lacks its section, or what it says"
    for one in tip.elsewhere:
        if not re.fullmatch(r"[A-Z][\w.-]* \d+\.\d+|tch-rs \d+\.\d+", one.framework):
            yield f"elsewhere, {one.framework!r} is not a name and a version such as PyTorch 2.13"
        if not re.fullmatch(r"20\d\d-(0[1-9]|1[0-2])", one.date):
            yield f"elsewhere, {one.date!r} is not a year and a month such as 2026-11"
        if not one.code.strip() == one.code != "":
            yield f"elsewhere, the code for {one.framework} is empty, or begins or ends with a space"


def _in_code(tip: Tip) -> Iterator[str]:
    functions = {name: way.run for name, way in tip.ways.items()}
    functions |= {f"guide {place}": slip.run for place, slip in enumerate(tip.slips, 1)}
    for name, function in functions.items():
        if function.__name__ == "<lambda>":
            yield f"{name} is a lambda: write it with def, so that its code can be shown"
            continue
        lines = source_of(function).splitlines()
        if not 2 <= len(lines) < LONGEST:
            yield f"{name} has {len(lines)} lines, and should have 2 to {LONGEST - 1}"
        if max(map(len, lines)) > 100:
            yield f"{name} has a line of more than 100 characters"
        if not _does_something(source_of(function)):
            yield f"{name} does nothing yet"


def _does_something(source: str) -> bool:
    """Whether a function has more than a return of nothing, an ellipsis or an error to be filled in."""
    body = ast.parse(source).body[0]
    assert isinstance(body, ast.FunctionDef)
    idle = (ast.Pass, ast.Raise)
    return not all(
        isinstance(one, idle)
        or (isinstance(one, (ast.Return, ast.Expr)) and (one.value is None or isinstance(one.value, ast.Constant)))
        for one in body.body
    )


def _in_the_file(tip: Tip) -> Iterator[str]:
    module = sys.modules.get(tip.slow.__module__)
    if module is None or getattr(module, "TIP", None) is not tip:
        return  # made by a test, or in a notebook
    lines = len(inspect.getsource(module).splitlines())
    if not LINES[0] <= lines <= LINES[1]:
        yield f"its file has {lines} lines, and should have {LINES[0]} to {LINES[1]}"
    if module.__doc__ != f"{tip.title}.":
        yield f"the docstring of its file is not its title, “{tip.title}.”"


# What runs ---------------------------------------------------------------------------------------------------------


def _in_inputs(tip: Tip, result: Result) -> Iterator[str]:
    setting = tip.setting({})
    first, second = (arguments(tip, setting) for _ in range(2))
    if len(first) != len(inspect.signature(tip.slow).parameters):
        yield "inputs does not make the arguments of slow"
    for name, one, other in zip(inspect.signature(tip.slow).parameters, first, second, strict=False):
        if not _alike(one, other):
            yield f"inputs makes another {name} each time: draw from the generator it is given"
    size = sum(t.nbytes for t in tensors_in(list(first)))
    peak = max(facts["peak"] for facts in (*result.ways.values(), *result.guides))
    if size + peak > LARGEST:
        yield f"it needs {size + peak:,} bytes at its defaults: at most {LARGEST:,}, for small machines"
    if tip.truth is not None and (error := Count(tip, tip.truth, setting).error) is not None:
        yield f"truth fails: {error_text(error)}"
    again = run(tip, clock=False)
    if _exact(again.to_dict()) != _exact(result.to_dict()):
        yield "two runs do not count the same"


def _alike(one: Any, other: Any) -> bool:
    """Whether two arguments are the same; functions and modules, if they are of one type."""
    if isinstance(one, dict) and isinstance(other, dict):
        return list(one) == list(other) and all(map(_alike, one.values(), other.values()))
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(_alike, one, other))
    data = (bool, int, float, str, np.ndarray, TensorBase)
    return agree(one, other, 0.0) if isinstance(one, data) else type(one) is type(other)


def _exact(found: Any) -> Any:
    """A result without what the clock and the allocator say, which differ a little each time."""
    if isinstance(found, dict):
        left = {key: value for key, value in found.items() if key not in ("time", "memory", "shown")}
        if left.get("fact") in ("memory", "time"):
            left = {key: value for key, value in left.items() if key not in ("found", "words")}
        return {key: _exact(value) for key, value in left.items()}
    return [_exact(one) for one in found] if isinstance(found, (list, tuple)) else found


def _in_the_result(tip: Tip, result: Result) -> Iterator[str]:
    if result.verdict != HOLDS:
        yield f"by default the verdict is {result.verdict}: {result.reason}"
    for name, way in tip.ways.items():
        facts = result.ways[name]
        if name not in ("slow", "fast") and not facts["met"]:
            came = f": {facts['error']}" if facts["error"] else ""
            yield f"the way {name!r} {way.outcome.expected()}, and does not{came}"


def _in_slips(tip: Tip, result: Result) -> Iterator[str]:
    for slip, found in zip(tip.slips, result.guides, strict=True):
        if slip.guide not in tip.guides:
            yield f"the slip is of the guide {slip.guide}, which is not among its sources"
        if not slip.shows:
            yield "the slip shows nothing"
        if found["error"] and "error" not in slip.shows:
            yield f"the guide's way fails: {found['error']}"
        for name, value in slip.shows.items():
            if found[name] != value:
                yield f"the guide's way shows {name} = {found[name]!r}, not {value!r}"


def _in_the_question(tip: Tip, result: Result, limits: tuple[Result, ...]) -> Iterator[str]:
    question = tip.question
    answer = question.answer(result)
    if not _offered(question, answer):
        yield f"the answer {answer!r} is not one of the choices"
    elif question.right(question.tempting, answer):
        yield f"the tempting answer {question.tempting!r} is the right one"
    answers = {question.answer(one) for one in (result, *limits, *_swapped(result)) if not one.failed}
    if len(answers) == 1:
        yield f"whatever comes out, the answer is {answer!r}"
    if others := [one for one in answers - {answer} if not _offered(question, one)]:
        yield f"elsewhere the answer is {sorted(others, key=str)}, which is not among the choices"


def _offered(question: Question, answer: Any) -> bool:
    try:
        return question.parse(answer) == answer
    except TipError:
        return False


def _swapped(result: Result) -> list[Result]:
    """The result with what was counted in other places."""
    slow, fast = result.slow, result.fast
    turned = tuple({k: not v if isinstance(v, bool) else v for k, v in facts.items()} for facts in result.guides)
    return [replace(result, slow=a, fast=b, guides=turned) for a, b in ((fast, slow), (fast, fast), (slow, slow))]


def _in_limits(tip: Tip, limits: tuple[Result, ...]) -> Iterator[str]:
    for limit, found in zip(tip.limits, limits, strict=True):
        if found.verdict != limit.verdict:
            yield f"with {dict(limit.setting)} the verdict is {found.verdict}, not {limit.verdict}"
        elif limit.words not in found.reason:
            yield f"with {dict(limit.setting)} the reason given is not that of the limit: {found.reason}"


def _in_controls(tip: Tip, limits: tuple[Result, ...]) -> Iterator[str]:
    """Every control runs to its ends. Errors come only where a limit says so."""
    for name, value in extremes(tip):
        setting = tip.setting({name: value})
        found = next((limit for limit in limits if limit.setting == setting), None) or run(tip, setting, clock=False)
        limited = any(limit.setting.items() <= found.setting.items() for limit in tip.limits)
        if not limited and not found.met:
            yield f"with {name}={value}, and no limit that says so: {found.reason}"
        elif found.verdict != HOLDS and not found.reason:
            yield f"with {name}={value} the verdict is {found.verdict} without a reason"


def extremes(tip: Tip) -> list[tuple[str, Any]]:
    """Every control at each of its ends, or options, but the default."""
    return [
        (parameter.name, value)
        for parameter in tip.parameters
        for value in (parameter.options if isinstance(parameter, Choice) else (parameter.low, parameter.high))
        if value != parameter.default
    ]
