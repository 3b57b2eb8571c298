"""What ways can say of themselves: what they log in training, what they start, and how many threads BLAS may have."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import pytest

from tests.tips.made_up import TIP
from tinygrad_edu import Tensor
from tinygrad_edu.observe.machine import quiet
from tinygrad_edu.tips import FREE, Claim, Fact, Tip, check, log, run
from tinygrad_edu.tips.facts import FACTS
from tinygrad_edu.tips.findings import series_of, series_text
from tinygrad_edu.tips.tip import FALSE, HOLDS, SAME
from tinygrad_edu.tips.ways import logged
from tinygrad_edu.views import tips


@pytest.fixture(autouse=True)
def last_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FACTS, "last loss", Fact("last loss", "last loss", "", "the loss of the last step"))


def train(x: Tensor, rate: float) -> float:
    """Down a parabola that begins where the data say."""
    w = x.mean().item()
    for _ in range(4):
        log(loss=w * w, weight=w)
        w -= rate * w
    return w * w


def slow(x: Tensor, kind: str) -> float:
    return train(x, 0.25)


def fast(x: Tensor, kind: str) -> float:
    return train(x, 0.5)


def trained(**changes: Any) -> Tip:
    claims = (Claim("last loss", times=10),)
    outcomes = {"slow": FREE, "fast": FREE}
    reads = {"last loss": float}
    return replace(
        TIP, slow=slow, fast=fast, claims=claims, outcomes=outcomes, reads=reads, slips=(), **changes
    )  # fmt: skip


def test_without_a_tip_nothing_is_logged() -> None:
    log(loss=1.0)
    with logged() as series:
        log(loss=1.0)
        with logged() as inner:
            log(loss=3)
        log(loss=2.0)
    assert (series, inner) == ({"loss": [1.0, 2.0]}, {"loss": [3.0]})


def test_a_training_run_is_a_series_of_each_way() -> None:
    tip = trained()
    result = run(tip, clock=False)
    assert result.verdict == HOLDS
    runs = series_of(tip, result)
    assert list(runs) == ["loss", "weight"]
    (a,), (b,) = runs["weight"]["A"], runs["weight"]["B"]
    assert a == [a[0] * 0.75**i for i in range(4)]
    assert b == [a[0] * 0.5**i for i in range(4)]
    assert series_text("weight", {"A": [[1.0, 0.5]], "B": [[1.0, 0.25]]}) == (
        "weight over 2 steps: A from 1.00 to 0.500, B from 1.00 to 0.250"
    )


def test_seeds_give_a_series_each_and_the_claim_holds_in_all() -> None:
    tip = trained(seeds=3)
    result = run(tip, clock=False)
    assert result.verdict == HOLDS
    runs = series_of(tip, result)["loss"]
    assert [len(each) for each in runs.values()] == [3, 3]
    assert len({each[0] for each in runs["A"]}) == 3  # other random numbers
    ends = [one[-1] for one in runs["A"]]
    text = series_text("loss", runs)
    assert text.startswith("loss over 4 steps: A from 0.") and "–" in text
    assert f"{min(ends):.4f}"[:5] in text


def test_the_series_are_drawn_and_said() -> None:
    tip = trained(seeds=2)
    result = run(tip, clock=False)
    visit = tips.Visit(draft="one", committed=True, answer="two", result=result, explained=True)
    shown = tips.frame(tip, tips.BrowserState(tip.slug, visits={tip.slug: visit}))
    page = shown.page(live=True)
    assert "The training, step by step" in page
    assert page.count('class="youline"') == page.count('class="resultline"') == 4  # two series of two seeds
    assert "loss over 4 steps: A from" in shown.text


@pytest.mark.parametrize("odd", [float("nan"), float("inf")])
def test_a_loss_that_is_no_number_is_drawn_as_far_as_it_is_one(odd: float) -> None:
    from tinygrad_edu.views.tips.series import draw

    figure = draw("loss", {"A": [[1.0, 2.0, odd]], "B": [[odd, odd]]})
    assert ("nan" if odd != odd else "∞") in figure.svg()
    assert "NaN" not in figure.svg() and 'd="M"' not in figure.svg()


# Threads ----------------------------------------------------------------------------------------------------------


def alone(x: Tensor, kind: str) -> float:
    return float(x.sum().item())


def in_threads(x: Tensor, kind: str) -> float:
    parts: list[float] = []
    workers = [threading.Thread(target=lambda part=part: parts.append(part.sum().item())) for part in x.chunk(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return sum(parts)


def test_threads_are_counted() -> None:
    tip = replace(TIP, slow=in_threads, fast=alone, claims=(Claim("threads", fast=0, slow=3),), slips=())
    assert run(tip, clock=False).verdict == HOLDS
    assert run(replace(tip, claims=(Claim("threads", fast=0, slow=2),)), clock=False).verdict == FALSE


def test_a_tip_may_leave_blas_its_threads() -> None:
    with quiet(threads=2) as conditions:
        outside = conditions.threads
        if outside != 2:
            pytest.skip("this BLAS does not say how many threads it has")
        assert run(replace(TIP, threads=None), budget=0.01).timing.conditions.threads == 2  # type: ignore[union-attr]
        assert run(TIP, budget=0.01).timing.conditions.threads == 1  # type: ignore[union-attr]


# Near enough ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        (Claim("calls", fast=1.2, slow=2.2, within=0.2), HOLDS),
        (Claim("calls", fast=1.2, slow=2.2, within=0.1), FALSE),
        (Claim("calls", same=True, within=0.4), FALSE),
        (Claim("calls", same=True, within=1.0), HOLDS),
        (Claim("calls", fast=2.0, within=0.1), FALSE),
    ],
)
def test_a_number_may_be_near_enough(claim: Claim, verdict: str) -> None:
    assert run(replace(TIP, claims=(claim,)), clock=False).verdict == verdict


def test_near_enough_is_never_no_difference_by_accident() -> None:
    assert run(replace(TIP, slow=fast_again, claims=(Claim("calls", fast=3, within=0.1),)), clock=False).verdict == SAME


def fast_again(x: Tensor, kind: str) -> Tensor:
    return x * 3


# Truth ------------------------------------------------------------------------------------------------------------


def broken(x: Tensor, kind: str) -> Tensor:
    return x / x[:7]


def test_a_truth_that_fails_is_a_fault() -> None:
    faults = check(replace(TIP, truth=broken)).faults
    assert any(fault.startswith("truth fails: div((100,) float32, (7,) float32) on cpu") for fault in faults), faults


def failing(x: Tensor, kind: str) -> Tensor:
    in_threads(x, kind)
    return x / x[:7]


def test_what_a_way_started_before_it_failed_is_counted() -> None:
    assert run(replace(TIP, slow=failing), clock=False).slow["threads"] == 3
