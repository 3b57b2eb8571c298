"""What a claim can say beyond one fact of A and B in one setting: other ways, moments, phases, sizes, seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

import tinygrad_edu as tg
from tests.support import teaches
from tests.tips.made_up import TIP
from tinygrad_edu import Tensor
from tinygrad_edu.errors import ArgumentError, ShapeError
from tinygrad_edu.tips import (
    DIFFERS,
    FREE,
    Claim,
    Fact,
    Figure,
    Outcome,
    Over,
    Shown,
    Size,
    Tip,
    Way,
    declare,
    mark,
    prepared,
    raises,
    run,
)
from tinygrad_edu.tips.facts import FACTS
from tinygrad_edu.tips.findings import figures, number, outcome_text
from tinygrad_edu.tips.registry import faults_of
from tinygrad_edu.tips.tip import FALSE, HOLDS, SAME


def each(x: Tensor, kind: str) -> Tensor:
    for place in range(len(x)):
        x = x + 0 * place
    return x * 3


def fixed(x: Tensor, kind: str) -> Tensor:
    for _ in range(6):
        x = x + 0
    return x * 3


def verdict(claim: Claim, **changes: Any) -> tuple[str, str]:
    judged = run(replace(TIP, claims=(claim,), **changes), clock=False).claims[0]
    return judged.verdict, judged.words


# Relations --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("claim", "found"),
    [
        (Claim("calls", same=True), FALSE),
        (Claim("held", same=True), HOLDS),
        (Claim("calls", price=True), FALSE),
        (Claim("calls", ways=("fast", "slow"), price=True), HOLDS),
        (Claim("calls", ways=("fast", "slow"), price=True, times=2), HOLDS),
        (Claim("calls", ways=("fast", "slow"), price=True, times=3), SAME),
        (Claim("nodes", price=True), SAME),
        (Claim("calls", at={"kind": "same"}), SAME),
        (Claim("calls", same=True, at={"kind": "same"}), HOLDS),
    ],
    ids=str,
)
def test_relations(claim: Claim, found: str) -> None:
    assert verdict(claim)[0] == found


def test_a_claim_about_another_way_names_its_letter() -> None:
    more = (Way("one by one", each, words="Slow."),)
    assert verdict(Claim("calls", ways=("one by one", "slow")), also=more) == (HOLDS, "operations: C 101, A 2")
    assert [*replace(TIP, also=more).letters.values()] == ["A", "B", "C"]


# Sizes ------------------------------------------------------------------------------------------------------------

SIZES = (4, 8, 16, 32, 64)
SMALL = (Size("n", 16, 1, 1000, "how many"), TIP.parameters[1])


def test_growth_over_sizes() -> None:
    over = Over("n", SIZES, slow="linear", fast="flat")
    said = "operations over `n` from 4 to 64: A linear, B flat"
    assert verdict(Claim("calls", over=over), slow=each, parameters=SMALL) == (HOLDS, said)
    wrong = replace(over, slow="quadratic")
    assert verdict(Claim("calls", over=wrong), slow=each, parameters=SMALL)[0] == FALSE


def test_a_crossing() -> None:
    over = Over("n", SIZES, crosses=True)
    claim = Claim("calls", over=over)
    assert verdict(claim, slow=each, fast=fixed, parameters=SMALL) == (
        HOLDS,
        "operations over `n` from 4 to 64: they cross",
    )
    assert verdict(claim, slow=each, parameters=SMALL) == (SAME, "operations over `n` from 4 to 64: they do not cross")


@pytest.mark.parametrize(
    ("claim", "fault"),
    [
        (Claim("calls", ways=("slow", "third")), "a claim is about the way 'third', which there is not"),
        (Claim("calls", when="first"), "a claim is about 'first', and not both ways are prepared"),
        (Claim("calls", over=Over("n", (1, 2, 3))), "a claim is over 3 sizes, and a shape needs 5"),
        (Claim("calls", over=Over("n", SIZES, slow="steep")), "a claim's shape is 'steep', which is not one of"),
    ],
    ids=str,
)
def test_claims_that_cannot_be(claim: Claim, fault: str) -> None:
    assert fault in "; ".join(faults_of(replace(TIP, claims=(*TIP.claims, claim))))


# Moments and phases -----------------------------------------------------------------------------------------------


def keeping(x: Tensor, kind: str) -> Tensor:
    y = x * 2
    mark("in the middle")
    return y + x


def freeing(x: Tensor, kind: str) -> Tensor:
    mark("in the middle")
    return x * 3


def test_memory_at_a_mark() -> None:
    """``y`` is alive there: 100 numbers of 4 bytes."""
    claim = Claim("live", when="in the middle", slow=400, fast=0)
    said = "alive in the middle: A 400 bytes, B 0 bytes"
    assert verdict(claim, slow=keeping, fast=freeing) == (HOLDS, said)
    assert verdict(replace(claim, when="at the end"), slow=keeping, fast=freeing)[1].endswith(": not found")


def test_a_mark_says_nothing_without_a_watch() -> None:
    mark("nobody listens")
    assert run(replace(TIP, slow=keeping), clock=False).slow["at"] == {}


def large(x: Tensor, kind: str) -> Tensor:
    return tg.ones(1_000_000).sum() * 0 + x * 3


def test_memory_is_that_of_the_allocator() -> None:
    found = run(replace(TIP, slow=large, claims=(Claim("memory", times=100),)), clock=False)
    assert found.verdict == HOLDS
    assert 4_000_000 <= found.slow["memory"] <= 4_100_000


ended = []


@prepared
def slow_start(x: Tensor, kind: str) -> Iterator[Callable[[], Tensor]]:
    table = x * 3
    calls = []

    def step() -> Tensor:
        calls.append(1)
        return table + 0 if len(calls) == 1 else table

    yield step
    ended.append(len(calls))


@prepared
def each_time(x: Tensor, kind: str) -> Callable[[], Tensor]:
    return lambda: x * 3


def test_set_up_first_and_later_calls_count_apart() -> None:
    ended.clear()
    tip = replace(
        TIP, slow=each_time, fast=slow_start,
        claims=(Claim("calls", fast=0, slow=1), Claim("calls", when="setup", price=True),
                Claim("calls", when="first", same=True)),
    )  # fmt: skip
    found = run(tip, clock=False)
    assert [judged.verdict for judged in found.claims] == [HOLDS] * 3
    assert [judged.words for judged in found.claims] == [
        "operations: A 1, B 0", "operations while it is set up: A 0, B 1", "operations in the first call: A 1, B 1",
    ]  # fmt: skip
    assert found.fast["at"]["setup"]["time"] > 0
    assert ended == [2]  # it was called twice, and then cleared away
    run(tip, budget=0.05)
    assert ended[-1] > 3


# Facts of its own, seeds, things to look at -----------------------------------------------------------------------


def noisy(x: Tensor, kind: str) -> float:
    return (x * 100).sum().item() % 7


@pytest.fixture
def remainder() -> Iterator[str]:
    yield declare(Fact("remainder", "what is left", "", "a number")).name
    del FACTS["remainder"]


def more(x: Tensor, kind: str) -> float:
    return noisy(x, kind) + 1


def doubtful(x: Tensor, kind: str) -> float:
    return 3.5


def test_a_fact_of_its_own_holds_for_every_seed(remainder: str) -> None:
    changes: dict[str, Any] = {
        "reads": {remainder: lambda value: value}, "seeds": 5, "outcomes": {"slow": FREE, "fast": FREE},
    }  # fmt: skip
    tip = replace(TIP, slow=more, fast=noisy, claims=(Claim(remainder),), slips=(), **changes)
    found = run(tip, clock=False)
    assert found.claims[0].verdict == HOLDS
    seeds = [found.slow["seeds"][remainder], found.fast["seeds"][remainder]]
    assert len(set(seeds[0])) == 5 and [a - b for a, b in zip(*seeds, strict=True)] == pytest.approx([1] * 5)
    assert found.slow[remainder] == sorted(seeds[0])[2]
    assert run(replace(tip, fast=doubtful), clock=False).claims[0].verdict in (SAME, FALSE)  # not in every seed


def test_a_fact_is_declared_once() -> None:
    assert declare(FACTS["calls"]) is FACTS["calls"]
    with teaches(ArgumentError, "the fact 'calls'", "there is another one with that name", "choose another name"):
        declare(Fact("calls", "other", "count", "other"))
    with pytest.raises(ArgumentError, match="not a known unit"):
        declare(Fact("miles", "miles", "miles", "by the mile"))
    assert "miles" not in FACTS


def shown(x: Tensor, kind: str) -> Any:
    return Shown("A table", "one row", x * 3)


def test_what_is_there_to_look_at_is_not_what_is_compared() -> None:
    found = run(replace(TIP, fast=shown), clock=False)
    assert found.equal
    assert found.fast["shown"] == {"title": "A table", "text": "one row"}


# Outcomes and figures ---------------------------------------------------------------------------------------------


def broken(x: Tensor, kind: str) -> Tensor:
    return x + tg.ones(7)


STOPS = raises(ShapeError, "axis -1 has 100")


def outcome(first: Outcome, second: Outcome, **ways: Any) -> Tip:
    return replace(TIP, claims=(), outcomes={"slow": first, "fast": second}, truth=TIP.fast, **ways)


def test_expected_outcomes_hold() -> None:
    tip = outcome(DIFFERS, STOPS, slow=TIP.slips[0].run, fast=broken)
    found = run(tip)
    assert (found.verdict, found.reason, found.met, found.equal, found.failed) == (HOLDS, "", True, False, False)
    assert found.timing is None  # nothing to time in a way that stops
    assert number(tip, found)[0] == "wrong → error"
    assert outcome_text(tip, found, "slow") == "A gives other numbers, without an error."
    assert outcome_text(tip, found, "fast").startswith("B stops: add((100,) float32, (7,) float32) on cpu")


def test_an_error_that_does_not_come_is_no_difference_if_the_numbers_are_right() -> None:
    found = run(outcome(DIFFERS, STOPS), clock=False)
    assert (found.verdict, found.met) == (SAME, False)
    assert found.reason == (
        "A was to give other numbers, and gives the right ones. B was to raise ShapeError, and gives the right ones."
    )


def test_another_error_than_the_one_that_is_expected_is_a_failure() -> None:
    found = run(outcome(DIFFERS, raises(ShapeError, "other words"), slow=TIP.slips[0].run, fast=broken), clock=False)
    assert found.failed
    assert found.reason.startswith("B fails in line 2")


def test_a_guide_s_figure_stands_beside_what_is_found() -> None:
    tip = replace(TIP, figures=(Figure("calls", 3.0, "P", "both"), Figure("time", 2.0, "P")))
    assert figures(tip, run(tip, clock=False)) == (
        "operations (both): 3× in the PyTorch performance guide, 2.0× here.",
        "time: 2× in the PyTorch performance guide, not measured here.",
    )
