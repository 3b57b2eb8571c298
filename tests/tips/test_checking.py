"""Checking a tip: each fault is found and told, one that is spoilt in one place at a time; a skeleton never passes."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

import tinygrad_edu as tg
from tests.tips.made_up import TIP, answer
from tinygrad_edu import Tensor
from tinygrad_edu.errors import ShapeError
from tinygrad_edu.tips import DIFFERS, Claim, Elsewhere, Limit, Question, Size, Slip, Tip, Way, check, raises
from tinygrad_edu.tips.tip import FALSE, SAME


def test_what_is_as_it_says_passes() -> None:
    found = check(TIP)
    assert (found.slug, found.faults, found.passed) == ("made-up", (), True)
    assert found.result.timing is None
    assert [limit.verdict for limit in found.limits] == [SAME]


def broken(x: Tensor, kind: str) -> Tensor:
    return x / tg.zeros(7)


def twice(x: Tensor, kind: str) -> Tensor:
    return x * 2


def unequal(x: Tensor, kind: str) -> Tensor:
    return x * 2 + 1 if kind == "plain" else x * 3


def not_yet(x: Tensor, kind: str) -> Any:
    """To be filled in."""
    return None


def to_do(x: Tensor, kind: str) -> Any:
    raise NotImplementedError("write what people write")


def at_random(generator: tg.Generator, n: int, kind: str) -> dict[str, Any]:
    return {"x": tg.full((n,), random.random()), "kind": kind}


def huge(generator: tg.Generator, n: int, kind: str) -> dict[str, Any]:
    return {"x": tg.ones(25_000_000), "kind": kind}


def always(result: Any) -> str:
    return "two"


def wild(result: Any) -> str:
    return "two" if result.slow["calls"] == 2 else "none at all"


def small_only(x: Tensor, kind: str) -> Tensor:
    return x * 3 if len(x) < 1000 else broken(x, kind)


ASKED = TIP.question
Spoil = Callable[[Tip], Tip]
FAULTS: dict[str, tuple[Spoil, str]] = {
    "a claim": (
        lambda tip: replace(tip, claims=(Claim("nodes"),)),
        "by default the verdict is no difference: graph nodes: A 0, B 0.",
    ),
    "numbers": (
        lambda tip: replace(tip, slow=unequal),
        "by default the verdict is false here: A and B do not give the same numbers.",
    ),
    "a limit": (
        lambda tip: replace(tip, limits=(Limit({"n": 1}, FALSE, "One."),)),
        "with {'n': 1} the verdict is holds, not false here",
    ),
    "a slip": (
        lambda tip: replace(tip, slips=(replace(tip.slips[0], shows={"calls": 1, "nodes": 2, "equal": True}),)),
        "the guide's way shows nodes = 0, not 2; the guide's way shows equal = False, not True",
    ),
    "a slip that shows nothing": (lambda tip: replace(tip, slips=(Slip("P", twice, {}, "So."),)), "shows nothing"),
    "a slip of another guide": (
        lambda tip: replace(tip, slips=(Slip("R", twice, {"equal": False}, "So."),)),
        "the slip is of the guide R, which is not among its sources",
    ),
    "a guide that fails": (
        lambda tip: replace(tip, slips=(Slip("P", broken, {"equal": False}, "So."),)),
        "the guide's way fails: div((100,) float32, (7,) float32) on cpu",
    ),
    "an answer": (
        lambda tip: replace(tip, question=replace(ASKED, answer=lambda result: "three")),
        "the answer 'three' is not one of the choices",
    ),
    "an answer that is written down": (
        lambda tip: replace(tip, question=replace(ASKED, answer=always)),
        "whatever comes out, the answer is 'two'",
    ),
    "an answer elsewhere": (
        lambda tip: replace(tip, question=replace(ASKED, answer=wild)),
        "elsewhere the answer is ['none at all'], which is not among the choices",
    ),
    "a temptation": (
        lambda tip: replace(tip, question=replace(ASKED, tempting="two")),
        "the tempting answer 'two' is the right one",
    ),
    "one choice": (
        lambda tip: replace(tip, question=Question("How many?", ("two", "two"), answer, "two", "It is.")),
        "the choices are fewer than two, or not all different",
    ),
    "a question": (lambda tip: replace(tip, question=replace(ASKED, ask="How many")), "the question does not end with"),
    "explain": (lambda tip: replace(tip, explain="Because."), "explain does not end with a question mark"),
    "two sentences": (lambda tip: replace(tip, why="A **b**. C."), "why is not one sentence with one full stop"),
    "no cause": (lambda tip: replace(tip, why="It is so."), "why has not exactly one part in bold, its cause"),
    "short": (lambda tip: replace(tip, about="Short."), "about has 1 words, and should have 50 to 130"),
    "no full stop": (lambda tip: replace(tip, about=tip.about[:-1]), "about does not end as a sentence"),
    "a long symptom": (lambda tip: replace(tip, symptoms=("so " * 30,)), "is not as a learner says it"),
    "a symptom twice": (lambda tip: replace(tip, symptoms=("slow", "slow")), "a symptom is there twice"),
    "no version": (
        lambda tip: replace(tip, elsewhere=(*tip.elsewhere, Elsewhere("JAX", "2026-11", "y = x"))),
        "'JAX' is not a name and a version",
    ),
    "no month": (
        lambda tip: replace(tip, elsewhere=(Elsewhere("PyTorch 2.13", "2026", "y = x"),)),
        "'2026' is not a year and a month",
    ),
    "no code": (
        lambda tip: replace(tip, elsewhere=(Elsewhere("PyTorch 2.13", "2026-11", ""),)),
        "the code for PyTorch 2.13 is empty",
    ),
    "a lambda": (lambda tip: replace(tip, fast=lambda x, kind: x * 3), "fast is a lambda: write it with def"),
    "a skeleton": (lambda tip: replace(tip, slow=to_do), "slow does nothing yet"),
    "nothing": (lambda tip: replace(tip, slow=not_yet, fast=not_yet), "fast does nothing yet"),
    "chance": (lambda tip: replace(tip, inputs=at_random), "inputs makes another x each time"),
    "too large": (lambda tip: replace(tip, inputs=huge), "at most 100,000,000, for small machines"),
    "a control": (
        lambda tip: replace(tip, slow=small_only, parameters=(Size("n", 100, 1, 1000, "how many"), tip.parameters[1])),
        "with n=1000, and no limit that says so: A fails in line 2",
    ),
    "a way that fails": (
        lambda tip: replace(tip, also=(Way("broken", broken, words="It is."),)),
        "the way 'broken' was to give the right numbers, and does not: div(",
    ),
    "a mistake that is none": (
        lambda tip: replace(tip, also=(Way("the same", TIP.fast, DIFFERS, "It is."),)),
        "the way 'the same' was to give other numbers, and does not",
    ),
    "an error that does not come": (
        lambda tip: replace(tip, also=(Way("x", TIP.fast, raises(ValueError, "no"), "It is."),)),
        "the way 'x' was to raise ValueError, and does not",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_faults(name: str) -> None:
    spoil, fault = FAULTS[name]
    found = check(spoil(TIP))
    assert fault in "; ".join(found.faults)
    assert not found.passed


def test_a_guide_may_be_there_to_fail() -> None:
    error = check(replace(TIP, slips=(Slip("P", broken, {"equal": False}, "So."),))).result.guides[0]["error"]
    assert check(replace(TIP, slips=(Slip("P", broken, {"error": error}, "So."),))).passed


def test_an_outcome_that_comes_passes() -> None:
    mistakes = (
        Way("half", twice, DIFFERS, "It multiplies by two."),
        Way("wrong shape", broken, raises(ShapeError, "axis -1 has 100"), "It stops."),
    )
    found = check(replace(TIP, also=mistakes))
    assert found.faults == ()
    assert [found.result.others[way.name]["equal"] for way in mistakes] == [False, False]
