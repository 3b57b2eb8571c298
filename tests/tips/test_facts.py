"""The facts that a claim may be about: each is found for every way, and says what it is and how it is known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.tips.made_up import TIP
from tinygrad_edu import Tensor, tips
from tinygrad_edu.tips.facts import COUNTED, FACTS, MEASURED, SIMULATED, UNITS, Fact
from tinygrad_edu.tips.words import count_text, fact_text

ON_DEVICE = {"moved", "launches", "virtual", "waiting", "idle", "overlap", "device peak"}
every_fact = pytest.mark.parametrize("fact", FACTS.values(), ids=list(FACTS))


def test_what_is_counted_for_a_way_is_what_is_declared() -> None:
    result = tips.run(TIP, clock=False)
    besides = {"equal", "met", "line", "at"}  # how it compares, where it failed, and what was found at marks
    by_allocator, by_clock = {"memory", "live"}, {"time"}  # only where a claim is about them
    own = {name for tip in tips.all_tips() for name in tip.reads}
    known = set(FACTS) - by_allocator - by_clock - own
    assert set(result.slow) - besides == set(result.fast) - besides == known - ON_DEVICE
    there = tips.run(replace(TIP, devices=("sim",)), clock=False)
    assert set(there.slow) - besides == set(there.fast) - besides == known


@every_fact
def test_a_fact_says_what_it_is(fact: Fact) -> None:
    assert fact.words and fact.how and not fact.how.endswith(".")
    assert fact.unit in UNITS
    assert fact.known in (COUNTED, MEASURED, SIMULATED)
    assert (fact.known == SIMULATED) == ("simulated" in fact.words), "a simulated figure says so"
    assert fact_text(fact.name) == fact.words


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [("peak", 4_000_000, "4.00 MB"), ("calls", 1234, "1234"), ("shares", True, "yes"), ("error", "", "none"),
     ("stride", 8, "8 bytes"), ("kept", 3, "3")],
)  # fmt: skip
def test_values_in_their_units(name: str, value: object, text: str) -> None:
    assert count_text(name, value) == text


def test_nodes_that_are_kept_are_fewer_than_those_made() -> None:
    """Both add up losses; one adds up their graphs, too."""

    def graphs(x: Tensor, kind: str) -> Any:
        w, total = x.clone().requires_grad_(), 0.0
        for _ in range(4):
            total = total + (w * w).sum()
        return total

    def numbers(x: Tensor, kind: str) -> Any:
        w, total = x.clone().requires_grad_(), 0.0
        for _ in range(4):
            total = total + (w * w).sum().item()
        return total

    result = tips.run(TIP, slow=graphs, fast=numbers, clock=False)
    assert (result.slow["nodes"], result.slow["kept"]) == (12, 12)
    assert (result.fast["nodes"], result.fast["kept"]) == (8, 0)
