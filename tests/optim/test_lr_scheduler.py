"""Schedules against their closed formulas; resumed in the middle, they go on as if nothing had happened."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu import optim
from tinygrad_edu.errors import ArgumentError, DtypeError
from tinygrad_edu.optim import lr_scheduler as schedules

BASE = 0.8


def optimiser(*rates: float, make: Any = optim.SGD, **settings: Any) -> Any:
    return make([{"params": tg.ones(1, requires_grad=True), "lr": lr} for lr in rates or (BASE,)], **settings)


def walk(made: Any, scheduler: Any, steps: int) -> list[Any]:
    """The rates of the first group, before each step."""
    seen = []
    for _ in range(steps):
        seen.append(made.param_groups[0]["lr"])
        made.step()
        scheduler.step()
    return seen


def cosine(epoch: float, period: float, low: float = 0.0) -> float:
    return low + (BASE - low) * (1 + math.cos(math.pi * epoch / period)) / 2


def cycle(step: int) -> float:
    """Up in 4 steps, down in 2."""
    place = step % 6
    return place / 4 if place <= 4 else (6 - place) / 2


def one_cycle(step: int) -> float:
    """20 steps, of which 30 % go up: to step 5, from 1/25 of the top; then down to 1/10,000 of that."""
    (start, end, share) = (0.02, 0.5, step / 5) if step <= 5 else (0.5, 0.02e-4, (step - 5) / 14)
    return end + (start - end) * (1 + math.cos(math.pi * share)) / 2


Closed = Callable[[int], float]
CASES: dict[str, tuple[Callable[[Any], Any], Closed]] = {
    "StepLR": (lambda o: schedules.StepLR(o, 3, 0.5), lambda e: BASE * 0.5 ** (e // 3)),
    "MultiStepLR": (
        lambda o: schedules.MultiStepLR(o, [2, 5, 5], 0.5), lambda e: BASE * 0.5 ** sum(m <= e for m in (2, 5, 5))
    ),
    "ConstantLR": (lambda o: schedules.ConstantLR(o, 0.5, 4), lambda e: BASE * (0.5 if e < 4 else 1)),
    "LinearLR": (lambda o: schedules.LinearLR(o, 0.25, 1.0, 6), lambda e: BASE * (0.25 + 0.75 * min(e, 6) / 6)),
    "ExponentialLR": (lambda o: schedules.ExponentialLR(o, 0.9), lambda e: BASE * 0.9**e),
    "PolynomialLR": (lambda o: schedules.PolynomialLR(o, 8, 2), lambda e: BASE * (1 - min(e, 8) / 8) ** 2),
    "CosineAnnealingLR": (lambda o: schedules.CosineAnnealingLR(o, 5, 0.1), lambda e: cosine(e, 5, 0.1)),
    "CosineAnnealingWarmRestarts": (
        lambda o: schedules.CosineAnnealingWarmRestarts(o, 2, 2),
        lambda e: next(cosine(e - start, 2 + start) for start in (14, 6, 2, 0) if e >= start),
    ),
    "LambdaLR": (lambda o: schedules.LambdaLR(o, lambda e: 1 / (1 + e)), lambda e: BASE / (1 + e)),
    "MultiplicativeLR": (
        lambda o: schedules.MultiplicativeLR(o, lambda e: (1 + e) / (2 + e)), lambda e: BASE * 2 / (2 + e)
    ),
    "OneCycleLR": (lambda o: schedules.OneCycleLR(o, 0.5, 20), one_cycle),
    "CyclicLR": (lambda o: schedules.CyclicLR(o, 0.1, 0.5, 4, 2), lambda e: 0.1 + 0.4 * cycle(e)),
    "CyclicLR triangular2": (
        lambda o: schedules.CyclicLR(o, 0.1, 0.5, 4, 2, mode="triangular2"),
        lambda e: 0.1 + 0.4 * cycle(e) / 2 ** (e // 6),
    ),
    "CyclicLR exp_range": (
        lambda o: schedules.CyclicLR(o, 0.1, 0.5, 4, 2, mode="exp_range", gamma=0.9),
        lambda e: 0.1 + 0.4 * cycle(e) * 0.9**e,
    ),
    "CyclicLR own": (
        lambda o: schedules.CyclicLR(o, 0.1, 0.5, 4, 2, scale_fn=lambda c: 1 / c),
        lambda e: 0.1 + 0.4 * cycle(e) / (1 + e // 6),
    ),
    "SequentialLR": (
        lambda o: schedules.SequentialLR(
            o, [schedules.LinearLR(o, 0.5, total_iters=4), schedules.CosineAnnealingLR(o, 5)], [4]
        ),
        lambda e: BASE * (0.5 + 0.125 * e) if e < 4 else cosine(e - 4, 5),
    ),
    "SequentialLR of a chain": (
        lambda o: schedules.SequentialLR(
            o,
            [schedules.ChainedScheduler([schedules.LinearLR(o, 0.5), schedules.ExponentialLR(o, 0.9)]),
             schedules.StepLR(o, 2, 0.5)],
            [4],
        ),
        lambda e: BASE * (0.5 + 0.1 * e) * 0.9**e if e < 4 else BASE * 0.5 ** ((e - 4) // 2),
    ),
    "ChainedScheduler": (
        lambda o: schedules.ChainedScheduler([schedules.StepLR(o, 3, 0.5), schedules.ExponentialLR(o, 0.9)]),
        lambda e: BASE * 0.5 ** (e // 3) * 0.9**e,
    ),
}  # fmt: skip
EVERY = pytest.mark.parametrize("name", CASES)


@EVERY
def test_closed_formula(name: str) -> None:
    make, closed = CASES[name]
    made = optimiser(momentum=0.9)
    assert walk(made, make(made), 20) == pytest.approx([closed(e) for e in range(20)], rel=1e-12, abs=1e-12)


@given(name=st.sampled_from(list(CASES)), before=st.integers(0, 9), after=st.integers(1, 9), text=st.booleans())
def test_resume(name: str, before: int, after: int, text: bool) -> None:
    """Saved, loaded into fresh objects, and gone on with: the very numbers of a run without a break."""
    make, _ = CASES[name]

    def keep(state: Any) -> Any:
        return json.loads(json.dumps(state)) if text else state

    straight, first, second = (optimiser(momentum=0.9) for _ in range(3))
    expected = walk(straight, make(straight), before + after)
    scheduler = make(first)
    found = walk(first, scheduler, before)
    resumed = make(second)
    second.load_state_dict(keep(first.state_dict()))
    resumed.load_state_dict(keep(scheduler.state_dict()))
    assert resumed.get_last_lr() == scheduler.get_last_lr() == [first.param_groups[0]["lr"]]
    assert found + walk(second, resumed, after) == expected
    assert second.param_groups[0]["momentum"] == straight.param_groups[0]["momentum"]


@EVERY
def test_a_state_that_is_not_whole_changes_nothing(name: str) -> None:
    make, _ = CASES[name]
    made = optimiser(momentum=0.9)
    scheduler = make(made)
    state, before = scheduler.state_dict(), repr(scheduler.state_dict())
    missing = sorted(state)[-1]
    del state[missing]
    if "_schedulers" in state:
        state["_schedulers"] = [{**inner, "last_epoch": 99} for inner in state["_schedulers"]]
    tried, mend = (
        f"load_state_dict into {type(scheduler).__name__}",
        "load it into a scheduler of the class that saved it",
    )
    with teaches(ArgumentError, tried, f"there is no {missing} in it", mend, "scheduler.load_state_dict(state)"):
        scheduler.load_state_dict(state)
    assert repr(scheduler.state_dict()) == before


@EVERY
@pytest.mark.parametrize("wrong", [[1, 2], {"a": 1}, "text", 7, None])
def test_a_state_with_parts_of_another_kind_changes_nothing(name: str, wrong: Any) -> None:
    """Each part in turn; what fits is loaded whole, and what does not is refused whole."""
    make, _ = CASES[name]
    scheduler = make(optimiser(momentum=0.9))
    whole, refused = scheduler.state_dict(), 0
    for part in whole:
        before, changed = repr(scheduler.state_dict()), {**whole, part: wrong}
        if "last_epoch" in whole and part != "last_epoch":
            changed["last_epoch"] = 77
        try:
            scheduler.load_state_dict(changed)
        except ArgumentError as error:
            refused += 1
            assert error.tried.startswith(type(scheduler).__name__) or error.tried.startswith("load_state_dict into ")
            assert repr(scheduler.state_dict()) == before
        else:
            assert {**scheduler.state_dict(), part: wrong} == changed
            scheduler.load_state_dict(whole)
    assert refused >= 1


@pytest.mark.parametrize(
    ("make", "change", "why"),
    [
        (lambda o: schedules.LambdaLR(o, math.exp), {"lr_lambdas": [None, None]},
         "it has 2 lr_lambdas, but here there are 1"),
        (lambda o: schedules.LambdaLR(o, math.exp), {"lr_lambdas": [{"a": 1}]},
         "it has {'a': 1} for an lr_lambda, but here that is <built-in function exp>"),
        (lambda o: schedules.MultiStepLR(o, [2]), {"milestones": [1, 2]},
         "milestones is a list, but here it is a dict"),
        (lambda o: schedules.MultiStepLR(o, [2]), {"milestones": {"two": 1}},
         "milestones is {'two': 1}, which does not count epochs"),
        (lambda o: schedules.StepLR(o, 2), {"base_lrs": 7}, "base_lrs is one value, but here it is a list"),
        (lambda o: schedules.StepLR(o, 2), {"gamma": "0.1"}, "gamma is text, but here it is one value"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("inside", [True, False])
def test_a_state_that_does_not_fit_changes_nothing(make: Any, change: Any, why: str, inside: bool) -> None:
    made = optimiser()
    inner = make(made)
    scheduler = schedules.ChainedScheduler([schedules.StepLR(made, 3), inner]) if inside else inner
    state, before = scheduler.state_dict(), repr(scheduler.state_dict())
    changed = {**inner.state_dict(), "last_epoch": 77, **change}
    if inside:
        state["_schedulers"] = [{**state["_schedulers"][0], "last_epoch": 77}, changed]
    tried, mend = (
        f"load_state_dict into {type(inner).__name__}",
        "load it into a scheduler of the class that saved it",
    )
    with teaches(ArgumentError, tried, why, mend, "scheduler.load_state_dict("):
        scheduler.load_state_dict(state if inside else changed)
    assert repr(scheduler.state_dict()) == before


def test_what_is_no_state() -> None:
    scheduler = schedules.StepLR(optimiser(), 2)
    with pytest.raises(ArgumentError, match="it is a int, not a dict"):
        scheduler.load_state_dict(3)  # type: ignore[arg-type]


def empty(value: Any) -> None:
    """Clear all lists and dicts in there."""
    if isinstance(value, list | dict):
        for inside in [*(value.values() if isinstance(value, dict) else value)]:
            empty(inside)
        value.clear()


@EVERY
def test_states_share_nothing(name: str) -> None:
    """Neither what was saved nor what was loaded: both may be changed, to their depths."""
    make, _ = CASES[name]
    scheduler = make(optimiser(momentum=0.9))
    before = repr(scheduler.state_dict())
    empty(scheduler.state_dict())
    assert repr(scheduler.state_dict()) == before
    state = scheduler.state_dict()
    scheduler.load_state_dict(state)
    empty(state)
    assert repr(scheduler.state_dict()) == before


def test_a_callable_object_is_saved_with_its_attributes() -> None:
    class Fading:
        def __init__(self, share: float) -> None:
            self.share = share

        def __call__(self, epoch: int) -> float:
            return self.share**epoch

    made = optimiser(0.5, 0.5)
    scheduler = schedules.LambdaLR(made, [Fading(0.5), lambda e: 1.0])
    state = scheduler.state_dict()
    assert state["lr_lambdas"] == [{"share": 0.5}, None]
    other = schedules.LambdaLR(optimiser(0.5, 0.5), [Fading(0.9), lambda e: 1.0])
    other.load_state_dict(state)
    assert other.lr_lambdas[0].share == 0.5


def test_each_group_has_its_rate() -> None:
    made = optimiser(0.5, 0.25)
    scheduler = schedules.LambdaLR(made, [lambda e: 1.0, lambda e: 0.5**e])
    made.step(), scheduler.step()
    assert scheduler.get_last_lr() == [0.5, 0.125]
    assert scheduler.base_lrs == [0.5, 0.25]


@pytest.mark.parametrize(("make", "key"), [(optim.SGD, "momentum"), (optim.Adam, "betas")])
@pytest.mark.parametrize("name", ["CyclicLR", "OneCycleLR"])
def test_momentum_falls_while_the_rate_rises(make: Any, key: str, name: str) -> None:
    made = optimiser(make=make)
    scheduler = CASES[name][0](made)
    rates, momentums = [], []
    for _ in range(6):
        value = made.param_groups[0][key]
        rates.append(made.param_groups[0]["lr"]), momentums.append(value[0] if key == "betas" else value)
        made.step(), scheduler.step()
    high, low = (0.9, 0.8) if name == "CyclicLR" else (0.95, 0.85)
    assert (max(momentums), min(momentums)) == pytest.approx((high, low))
    order = sorted(range(6), key=rates.__getitem__)
    assert [momentums[i] for i in order] == sorted(momentums, reverse=True)
    if key == "betas":
        assert made.param_groups[0]["betas"][1] == 0.999


def test_fractions_of_epochs() -> None:
    made = optimiser()
    scheduler = schedules.CosineAnnealingWarmRestarts(made, 2, 2)
    for epoch, expected in ((0.5, cosine(0.5, 2)), (2, cosine(0, 4)), (5.5, cosine(3.5, 4)), (6.25, cosine(0.25, 8))):
        scheduler.step(epoch)
        assert scheduler.get_last_lr() == pytest.approx([expected])
    with pytest.raises(ArgumentError, match=r"step\(-1\)"):
        scheduler.step(-1)


# The plateau ----------------------------------------------------------------------------------------------------


def plateau(metrics: list[float], **settings: Any) -> list[float]:
    made = optimiser(1.0)
    scheduler = schedules.ReduceLROnPlateau(made, factor=0.5, **settings)
    return [scheduler.step(m) or made.param_groups[0]["lr"] for m in metrics]  # type: ignore[func-returns-value]


def test_a_plateau_halves_the_rate() -> None:
    assert plateau([3, 2, 2, 2, 2, 2, 2], patience=1) == [1, 1, 1, 0.5, 0.5, 0.25, 0.25]
    assert plateau([2, 3, 3, 3], patience=1, mode="max") == [1, 1, 1, 0.5]
    assert plateau([2, 1, 1, 1], patience=1, mode="max") == [1, 1, 0.5, 0.5]
    assert plateau([1, 1, 1, 1, 1, 1], patience=0, cooldown=2) == [1, 0.5, 0.5, 0.5, 0.25, 0.25]
    assert plateau([1.0, 0.95, 0.9], patience=0, threshold=0.1) == [1, 0.5, 0.25]
    assert plateau([1.0, 0.85, 0.7], patience=0, threshold=0.1) == [1, 1, 1]
    assert plateau([1.0, 0.95, 0.8], patience=0, threshold=0.1, threshold_mode="abs") == [1, 0.5, 0.5]
    assert plateau([1, 1, 1, 1], patience=0, min_lr=0.3) == [1, 0.5, 0.3, 0.3]
    assert plateau([1, 1, 1], patience=0, eps=0.6) == [1, 1, 1]
    assert plateau([float("nan"), float("nan")], patience=0) == [0.5, 0.25]


def test_a_plateau_goes_on_from_its_state() -> None:
    metrics = [3, 2, 2, 2, 2, 2]
    made = optimiser(1.0)
    scheduler = schedules.ReduceLROnPlateau(made, factor=0.5, patience=1)
    for m in metrics[:3]:
        scheduler.step(m)
    other = schedules.ReduceLROnPlateau(made)
    other.load_state_dict(json.loads(json.dumps(scheduler.state_dict())))
    found = [other.step(tg.tensor(float(m))) or made.param_groups[0]["lr"] for m in metrics[3:]]
    assert found == plateau(metrics, patience=1)[3:]


def test_a_plateau_learns_of_new_groups() -> None:
    made = optimiser(1.0)
    scheduler = schedules.ReduceLROnPlateau(made, factor=0.5, patience=0, min_lr=0.25)
    made.add_param_group({"params": tg.ones(1, requires_grad=True), "lr": 2.0})
    scheduler.step(1.0), scheduler.step(1.0)
    assert scheduler.get_last_lr() == [0.5, 1.0]


# Order, and refusals --------------------------------------------------------------------------------------------


def test_the_scheduler_before_the_optimiser() -> None:
    made = optimiser()
    scheduler = schedules.StepLR(made, 3)
    with pytest.warns(UserWarning, match=r"^scheduler\.step\(\) before the first optimizer\.step\(\)") as caught:
        scheduler.step()
    assert caught[0].filename == __file__
    scheduler.step()  # once is enough


def test_the_present_rate_may_be_changed_by_hand() -> None:
    made = optimiser(1.0)
    scheduler = schedules.ExponentialLR(made, 0.5)
    made.step(), scheduler.step()
    made.param_groups[0]["lr"] = 8.0
    made.step(), scheduler.step()
    assert scheduler.get_last_lr() == [4.0]


def test_groups_that_come_later() -> None:
    made = optimiser(1.0)
    factors, absolute = schedules.StepLR(made, 1, 0.5), schedules.LambdaLR(made, lambda e: 1.0)
    made.add_param_group({"params": tg.ones(1, requires_grad=True), "lr": 2.0})
    made.step(), factors.step()
    assert factors.get_last_lr() == [0.5, 1.0]
    tried, why = "LambdaLR with 2 groups", "it was made for 1, and does not know the initial rates of the others"
    with teaches(ArgumentError, tried, why, "add groups before you make the scheduler", "absolute.step()"):
        absolute.step()


def test_one_cycle_ends() -> None:
    made = optimiser(momentum=0.9)
    scheduler = schedules.OneCycleLR(made, 0.5, 2)
    for _ in range(2):
        made.step(), scheduler.step()
    before = scheduler.state_dict()
    with pytest.raises(ArgumentError, match="OneCycleLR with step 3\n  why:  the cycle has 2 steps, and they are done"):
        scheduler.step()
    assert scheduler.last_epoch == before["last_epoch"] == 2


def test_one_cycle_that_only_goes_up() -> None:
    made = optimiser(momentum=0.9)
    scheduler = schedules.OneCycleLR(made, 0.5, 3, pct_start=1.0, anneal_strategy="linear")
    assert walk(made, scheduler, 2) == pytest.approx([0.02, 0.26])
    assert scheduler.get_last_lr() == pytest.approx([0.5])
    for _ in range(2):
        with pytest.raises(ArgumentError, match="OneCycleLR with step 3\n  why:  the cycle has 3 steps"):
            scheduler.step()
    assert scheduler.get_last_lr() == pytest.approx([0.5])


@pytest.mark.parametrize(
    ("make", "tried"),
    [
        (lambda o: schedules.StepLR(o, 0), "StepLR with step_size=0"),
        (lambda o: schedules.ConstantLR(o, 0.0), "ConstantLR with factor=0.0"),
        (lambda o: schedules.LinearLR(o, 0), "LinearLR with start_factor=0"),
        (lambda o: schedules.LinearLR(o, end_factor=2), "LinearLR with end_factor=2"),
        (lambda o: schedules.LambdaLR(o, [len, len]), "LambdaLR with 2 values of lr_lambda"),
        (lambda o: schedules.LambdaLR(o, 0.5), "LambdaLR with lr_lambda=0.5"),
        (lambda o: schedules.CosineAnnealingWarmRestarts(o, 0), "CosineAnnealingWarmRestarts with T_0=0"),
        (lambda o: schedules.CosineAnnealingWarmRestarts(o, 1, 0.5), "CosineAnnealingWarmRestarts with T_mult=0.5"),
        (lambda o: schedules.CyclicLR(o, 0.1, 1, mode="square"), "CyclicLR with mode='square'"),
        (lambda o: schedules.CyclicLR(o, 0.1, [1, 2]), "CyclicLR with 2 values of max_lr"),
        (lambda o: schedules.OneCycleLR(o, 1.0), "OneCycleLR with total_steps=None"),
        (lambda o: schedules.OneCycleLR(o, 1.0, 0), "OneCycleLR with total_steps=0"),
        (lambda o: schedules.OneCycleLR(o, 1.0, 9, pct_start=2), "OneCycleLR with pct_start=2"),
        (lambda o: schedules.OneCycleLR(o, 1.0, 9, anneal_strategy="exp"), "OneCycleLR with anneal_strategy='exp'"),
        (lambda o: schedules.OneCycleLR(o, 1.0, 10, pct_start=0.1), "OneCycleLR with pct_start=0.1 of 10 steps"),
        (lambda o: schedules.OneCycleLR(o, 1.0, 4, pct_start=0.25, three_phase=True),
         "OneCycleLR with pct_start=0.25 of 4 steps"),
        (lambda o: schedules.ReduceLROnPlateau(o, factor=1), "ReduceLROnPlateau with factor=1"),
        (lambda o: schedules.ReduceLROnPlateau(o, "low"), "ReduceLROnPlateau with mode='low'"),
        (lambda o: schedules.ReduceLROnPlateau(o, threshold_mode="x"), "ReduceLROnPlateau with threshold_mode='x'"),
        (lambda o: schedules.SequentialLR(o, [], []), "SequentialLR with no schedulers"),
        (lambda o: schedules.SequentialLR(o, [schedules.StepLR(o, 1)], [1]), "SequentialLR with 1 milestones"),
        (lambda o: schedules.ChainedScheduler([schedules.ReduceLROnPlateau(o)]),
         "ChainedScheduler with a ReduceLROnPlateau"),
        (lambda o: schedules.ChainedScheduler([schedules.StepLR(o, 1), schedules.StepLR(optimiser(), 1)]),
         "ChainedScheduler with StepLR"),
        (lambda o: schedules.SequentialLR(
            o, [schedules.StepLR(o, 1), schedules.ChainedScheduler([schedules.StepLR(o, 1)])], [1]),
         "SequentialLR with a combined scheduler after the first"),
        (lambda o: schedules.StepLR(o, 1, last_epoch=3), "StepLR with last_epoch=3"),
    ],
)  # fmt: skip
def test_what_cannot_be(make: Any, tried: str) -> None:
    made = optimiser(momentum=0.9)
    before = repr(made)
    with pytest.raises(ArgumentError) as caught:
        make(made)
    if "OneCycleLR" in tried:
        assert repr(made) == before
    assert caught.value.tried == tried
    assert caught.value.line.startswith("test_lr_scheduler.py, line ")


def test_momentum_cannot_cycle_where_there_is_none() -> None:
    why = "Adagrad has neither momentum nor betas"
    made = optimiser(make=optim.Adagrad)
    with teaches(ArgumentError, "CyclicLR with cycle_momentum=True", why, "give cycle_momentum=False", "CyclicLR("):
        schedules.CyclicLR(made, 0.1, 1.0)
    schedules.CyclicLR(made, 0.1, 1.0, cycle_momentum=False)


@pytest.mark.parametrize("make", [
    lambda o: schedules.StepLR(o, 1), lambda o: schedules.OneCycleLR(o, 1.0, 5), schedules.ReduceLROnPlateau,
    lambda o: schedules.LambdaLR(o, len), lambda o: schedules.CyclicLR(o, 0.1, 1.0),
])  # fmt: skip
def test_what_is_no_optimiser(make: Any) -> None:
    with pytest.raises(DtypeError, match="a scheduler changes an optimiser's rates"):
        make(0.1)
