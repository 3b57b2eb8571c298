"""Running a tip: what is counted, what follows from it, and what an error or the clock has to say."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.observe.clock import Clock
from tests.support import teaches
from tests.tips.made_up import TIP
from tinygrad_edu import Tensor, tips
from tinygrad_edu.observe import machine, timing
from tinygrad_edu.observe.machine import quiet
from tinygrad_edu.tips import Choice, Claim, Limit, Tip, TipError, run, source_of
from tinygrad_edu.tips.tip import FAILED, FALSE, HOLDS, SAME


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(timing, "_clock", clock)
    return clock


# Counting --------------------------------------------------------------------------------------------------------


def test_a_run() -> None:
    found = run(TIP, clock=False)
    assert found.setting == {"n": 100, "kind": "plain", "device": "cpu"}
    assert (found.verdict, found.reason, found.equal, found.timing) == (HOLDS, "", True, None)
    assert found.slow == {
        "calls": 2, "copies": 0, "copied": 0, "allocated": 800, "peak": 800, "nodes": 0, "kept": 0, "locks": 0,
        "stride": 4, "conversions": 0, "tries": 0, "threads": 0, "processes": 0,
        "held": 400, "shares": False, "changes": False, "error": "", "line": "", "equal": True, "met": True, "at": {},
    }  # fmt: skip
    assert found.fast == {**found.slow, "calls": 1, "allocated": 400, "peak": 400}
    assert found.guides == ({**found.fast, "equal": False},)
    assert [(one.claim.fact, one.verdict, one.words) for one in found.claims] == [
        ("calls", HOLDS, "operations: A 2, B 1"),
        ("time", SAME, "time: not taken"),
    ]


def test_without_a_slip_there_is_no_guide() -> None:
    assert run(replace(TIP, slips=()), clock=False).guides == ()


def counted(way: Callable[..., Any], *facts: str) -> list[Any]:
    found = run(TIP, slow=way, clock=False).slow
    return [found[fact] for fact in facts]


def test_what_is_shared_held_and_changed() -> None:
    facts = ("shares", "held", "changes")
    assert counted(lambda x, kind: x[:2], *facts) == [True, 400, False]  # a small view holds all of it
    assert counted(lambda x, kind: x[:2].clone(), *facts) == [False, 8, False]
    assert counted(lambda x, kind: [x, x[1:], x * 2], *facts) == [True, 800, False]
    assert counted(lambda x, kind: x.add_(1), *facts) == [True, 400, True]
    assert counted(lambda x, kind: x.sum(), *facts) == [False, 0, False]  # a single number is no buffer
    assert counted(lambda x, kind: None, *facts) == [False, 0, False]


def test_arrays_that_are_changed_are_seen() -> None:
    def inputs(generator: tg.Generator, n: int, kind: str) -> dict[str, Any]:
        return {"x": np.zeros(n), "kind": kind}

    def slow(x: Any, kind: str) -> None:
        x += 1

    found = run(replace(TIP, inputs=inputs), slow=slow, fast=lambda x, kind: None, clock=False)
    assert (found.slow["changes"], found.fast["changes"]) == (True, False)


def test_each_way_gets_inputs_of_its_own() -> None:
    seen: list[float] = []

    def way(x: Tensor, kind: str) -> Tensor:
        seen.append(x[0].item())
        return x.zero_()

    run(TIP, slow=way, fast=way, clock=False)
    assert seen[0] == seen[1] != 0


@pytest.mark.drawn(1 / 4)
@pytest.mark.parametrize("tip", tips.all_tips(), ids=lambda tip: tip.slug)
def test_a_run_leaves_the_random_stream_alone(tip: Tip) -> None:
    tg.manual_seed(3)
    expected = tg.rand(3).tolist()
    tg.manual_seed(3)
    run(tip, clock=False)
    assert tg.rand(3).tolist() == expected


# What follows ----------------------------------------------------------------------------------------------------


def needs(calls: int) -> Callable[..., Tensor]:
    """A way that does so many operations, and gives the same as the others."""

    def way(x: Tensor, kind: str) -> Tensor:
        for _ in range(calls - 1):
            x = x + 0
        return x * 3

    return way


@pytest.mark.parametrize(
    ("claim", "slow", "fast", "verdict"),
    [
        (Claim("calls"), 2, 1, HOLDS),
        (Claim("calls"), 2, 2, SAME),
        (Claim("calls"), 1, 2, FALSE),
        (Claim("calls", times=3), 6, 2, HOLDS),
        (Claim("calls", times=3), 5, 2, SAME),
        (Claim("calls", times=3), 2, 3, FALSE),
        (Claim("calls", fast=1), 4, 1, HOLDS),
        (Claim("calls", fast=1), 1, 1, SAME),
        (Claim("calls", fast=1), 2, 2, SAME),
        (Claim("calls", fast=1), 3, 2, FALSE),
        (Claim("calls", fast=1, slow=2), 2, 1, HOLDS),
        (Claim("calls", fast=1, slow=2), 3, 1, FALSE),
        (Claim("calls", fast=1, slow=1), 1, 1, HOLDS),
        (Claim("calls", no_more=True), 3, 2, HOLDS),
        (Claim("calls", no_more=True), 2, 2, HOLDS),
        (Claim("calls", no_more=True), 2, 3, FALSE),
        (Claim("shares", fast=False, slow=False), 1, 1, HOLDS),
        (Claim("shares", fast=True), 1, 1, SAME),
    ],
)
def test_verdicts(claim: Claim, slow: int, fast: int, verdict: str) -> None:
    found = run(replace(TIP, claims=(claim,)), slow=needs(slow), fast=needs(fast), clock=False)
    assert found.verdict == found.claims[0].verdict == verdict
    assert found.reason == ("" if verdict == HOLDS else f"{found.claims[0].words}.")


@pytest.mark.parametrize(
    ("claims", "verdict", "reason"),
    [
        ((Claim("calls"), Claim("nodes")), SAME, "graph nodes: A 0, B 0."),
        ((Claim("calls"), Claim("held", fast=1), Claim("nodes", fast=1, slow=2)), SAME,
         "kept alive by the result: A 400 bytes, B 400 bytes. graph nodes: A 0, B 0."),
        ((Claim("nodes"), Claim("calls", fast=2)), FALSE, "operations: A 2, B 1."),
        ((Claim("time"), Claim("calls")), HOLDS, ""),
    ],
)  # fmt: skip
def test_the_worst_of_the_counted_claims_decides(claims: tuple[Claim, ...], verdict: str, reason: str) -> None:
    found = run(replace(TIP, claims=claims), clock=False)
    assert (found.verdict, found.reason) == (verdict, reason)


def test_at_a_limit_its_words_are_the_reason() -> None:
    found = run(TIP, {"kind": "same"}, clock=False)
    assert (found.verdict, found.reason) == (SAME, "Both multiply once.")


def test_limits_that_meet_are_both_told() -> None:
    tip = replace(TIP, limits=(*TIP.limits, Limit({"n": 1}, SAME, "There is one number.")))
    assert run(tip, {"n": "1", "kind": "same"}, clock=False).reason == "Both multiply once. There is one number."
    assert run(tip, {"n": 2, "kind": "same"}, clock=False).reason == "Both multiply once."
    assert run(tip, {"n": 1}, clock=False).reason == ""  # it still holds there, so nothing needs a reason


def test_ways_that_differ_are_false_whatever_is_counted() -> None:
    found = run(TIP, fast=lambda x, kind: x * 4, clock=False)
    assert (found.verdict, found.reason) == (FALSE, "A and B do not give the same numbers.")
    assert (found.equal, found.slow["equal"], found.fast["equal"]) == (False, False, True)
    assert found.claims[0].verdict == HOLDS


# Errors ----------------------------------------------------------------------------------------------------------


def failing(x: Tensor, kind: str) -> Tensor:
    return x + tg.ones(7)


def test_an_error_inside_a_way_is_part_of_the_result(clock: Clock) -> None:
    found = run(TIP, slow=failing)
    assert found.slow["error"].startswith("add((100,) float32, (7,) float32) on cpu: axis -1 has 100 elements")
    assert (found.verdict, found.timing) == (FAILED, None)
    assert found.reason == f"A fails in line 2, `return x + tg.ones(7)`: {found.slow['error']}"
    assert (found.failed, found.claims) == (True, ())
    assert clock.calls == []


def test_both_errors_are_told_after_the_limit() -> None:
    found = run(TIP, {"kind": "same"}, slow=failing, fast=failing, clock=False)
    error, line = found.fast["error"], "line 2, `return x + tg.ones(7)`"
    assert found.reason == f"Both multiply once. A fails in {line}: {error} B fails in {line}: {error}"
    assert (found.slow["equal"], found.fast["equal"], found.equal) == (False, False, False)


async def unfinished(x: Tensor, kind: str) -> Tensor:
    return x


def in_itself(x: Tensor, kind: str) -> list[Any]:
    result: list[Any] = [x]
    result.append(result)
    return result


@pytest.mark.parametrize(
    ("way", "error"),
    [
        (lambda x, kind: 1 / 0, "ZeroDivisionError: division by zero"),
        (lambda x, kind: {}["y"], "KeyError: 'y'"),
        (lambda x: x, "TypeError: "),
        (lambda x, kind: sys.exit(3), "SystemExit: 3"),
        (lambda x, kind: (row for row in x), "a way: it gives a generator, and none of it has run. Return what it"),
        (unfinished, "a way: it gives a coroutine, and none of it has run. Return what it computes."),
        (in_itself, "RecursionError: "),
    ],
)
def test_an_edited_copy_may_raise_anything(way: Callable[..., Any], error: str) -> None:
    found = run(TIP, fast=way, clock=False)
    assert found.fast["error"].startswith(error)
    assert (found.verdict, found.claims) == (FAILED, ())
    line = f" in {found.fast['line']}" if found.fast["line"] else ""
    assert found.reason == f"B fails{line}: {found.fast['error']}"


def documented(x: Tensor, kind: str) -> Tensor:
    """Has lines that a learner does not see."""
    y: Tensor = x * 2
    return helper(y)


def helper(y: Tensor) -> Tensor:
    raise ValueError("no")


def test_the_line_of_an_error_is_counted_as_it_is_read() -> None:
    found = run(TIP, slow=documented, clock=False)
    assert source_of(documented).split("\n")[2] == "    return helper(y)"
    assert found.reason == "A fails in line 3, `return helper(y)`: ValueError: no"


def test_who_interrupts_is_heard() -> None:
    def way(x: Tensor, kind: str) -> Tensor:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(TIP, slow=way, clock=False)


def test_an_error_of_the_inputs_is_no_fact_about_a_way() -> None:
    def inputs(generator: tg.Generator, n: int, kind: str) -> dict[str, Any]:
        raise RuntimeError("no inputs")

    with pytest.raises(RuntimeError, match="no inputs"):
        run(replace(TIP, inputs=inputs), clock=False)


# Settings --------------------------------------------------------------------------------------------------------


def test_settings_are_read() -> None:
    assert run(TIP, {"n": "7"}, clock=False).setting == {"n": 7, "kind": "plain", "device": "cpu"}
    assert TIP.parameters[0].stops == (1, 2, 4, 8, 16, 32, 64, 100, 128, 256, 512, 1000)


@pytest.mark.parametrize(
    ("setting", "tried", "why", "mend"),
    [
        ({"n": 0}, "n=0", "it is how many numbers", "use a whole number from 1 to 1000"),
        ({"n": 1001}, "n=1001", "it is how many numbers", "use a whole number from 1 to 1000"),
        ({"n": 2.5}, "n=2.5", "it is how many numbers", "use a whole number from 1 to 1000"),
        ({"n": "many"}, "n=many", "it is how many numbers", "use a whole number from 1 to 1000"),
        ({"kind": "other"}, "kind=other", "it is which one", "use one of: plain, same"),
        ({"device": "cuda"}, "device=cuda", "it is where the tensors live", "use one of: cpu"),
        ({"size": 3}, "made-up with size=3", "it has no parameter 'size'", "its parameters are n, kind, device"),
    ],
)
def test_settings_that_cannot_be(setting: dict[str, Any], tried: str, why: str, mend: str) -> None:
    with teaches(TipError, tried, why, mend):
        run(TIP, setting, clock=False)


def test_everything_runs_on_the_chosen_device() -> None:
    tip = replace(TIP, devices=("cpu", "far"))
    seen: list[str] = []

    def way(x: Tensor, kind: str) -> Tensor:
        seen.extend((str(x.device), str(tg.ones(2).device)))
        return x * 3

    found = run(tip, {"device": "far"}, slow=way, clock=False)
    assert seen == ["far", "far"]
    assert found.equal
    assert tip.every_parameter[-1] == Choice("device", "cpu", ("cpu", "far"), "where the tensors live")
    assert str(tg.ones(2).device) == "cpu"


# The clock -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("slow", "fast", "verdict", "words"),
    [
        (1.0, 0.25, HOLDS, "time: B is faster than A: 4.0× (4.0–4.0)"),
        (0.25, 0.25, SAME, "time: no difference between A and B: 1.00× (1.00–1.00)"),
        (0.25, 1.0, FALSE, "time: B is slower than A: 4.0× (4.0–4.0)"),
    ],
)
def test_time_is_judged_and_decides_nothing(clock: Clock, slow: float, fast: float, verdict: str, words: str) -> None:
    def taking(seconds: float, calls: int) -> Callable[..., Tensor]:
        way = needs(calls)

        def timed(x: Tensor, kind: str) -> Tensor:
            clock.now += seconds
            return way(x, kind)

        return timed

    found = run(TIP, slow=taking(slow, 2), fast=taking(fast, 1))
    assert (found.claims[1].verdict, found.claims[1].words) == (verdict, words)
    assert found.verdict == HOLDS


def test_timed_calls_get_fresh_inputs(clock: Clock) -> None:
    seen: set[float] = set()

    def way(x: Tensor, kind: str) -> Tensor:
        clock.now += 1.0
        seen.add(x[0].item())
        return x.mul_(3)

    found = run(TIP, slow=way)
    assert found.timing is not None
    assert len(seen) == 1


def test_nothing_is_counted_while_another_measures() -> None:
    counted: list[str] = []

    def way(x: Tensor, kind: str) -> Tensor:
        counted.append(kind)
        return x

    with quiet():
        thread = threading.Thread(target=run, args=(TIP,), kwargs={"slow": way, "fast": way, "budget": 1e-9})
        thread.start()
        thread.join(3 * machine._LOOK)
        assert thread.is_alive() and not counted
        run(TIP, clock=False)  # which disturbs for a moment only, and may be asked for by who holds the turn
    thread.join(60)
    assert counted


def test_progress_can_stop_it(clock: Clock) -> None:
    def way(x: Tensor, kind: str) -> Tensor:
        clock.now += 0.01
        return x * 3

    found = run(TIP, slow=way, fast=way, progress=lambda done, total, left: done < 2)
    assert found.timing is not None
    assert found.timing.stopped
    assert len(found.timing.ratios) == 2


def test_the_budget_is_that_of_the_clock(clock: Clock) -> None:
    def way(x: Tensor, kind: str) -> Tensor:
        clock.now += 0.125
        return x * 3

    found = run(TIP, slow=way, fast=way, budget=4.0)
    assert found.timing is not None
    assert sum((*found.timing.slow.times, *found.timing.fast.times)) <= 4.0


@pytest.mark.parametrize("timed", [True, False])
def test_a_result_is_json(clock: Clock, timed: bool) -> None:
    def way(x: Tensor, kind: str) -> Tensor:
        clock.now += 0.1
        return x * 2 + x

    data = run(TIP, slow=way, clock=timed).to_dict()
    assert json.loads(json.dumps(data)) == data
    assert list(data) == [
        "schema", "slug", "setting", "verdict", "reason", "equal", "met", "claims", "slow", "fast", "others", "guides",
        "timing",
    ]  # fmt: skip
    assert data["claims"][0] == {
        "fact": "calls", "fast": 1, "slow": 2, "times": 1.0, "no_more": False, "same": False, "price": False,
        "within": 0.0,
        "ways": ["slow", "fast"], "at": {}, "when": "", "over": None, "verdict": HOLDS,
        "words": "operations: A 2, B 1", "found": [2, 1], "shapes": None, "timing": None,
    }  # fmt: skip
    assert (data["timing"] is not None) == timed


def test_the_learner_s_random_stream_goes_on_as_if_nothing_had_been() -> None:
    tip = tips.find("vectorise")
    tg.manual_seed(3)
    expected = tg.rand(4).tolist()[2:]
    tg.manual_seed(3)
    tg.rand(2)
    run(tip, clock=False)
    assert tg.rand(2).tolist() == expected
