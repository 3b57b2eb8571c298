"""Steps of SGD that are part of a program: the same parameters as from steps that are calls, whatever changes."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tinygrad_edu import nn
from tinygrad_edu.compiler import TraceError, compile
from tinygrad_edu.errors import AutogradError
from tinygrad_edu.optim import SGD

F = nn.functional
BACKENDS = ("numpy", "numba")
Model = nn.Module


def model_of(dtype: Any = tg.float32) -> Any:
    tg.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3)).to(dtype)


def batch(seed: int) -> tuple[tg.Tensor, tg.Tensor]:
    rng = np.random.default_rng(seed)
    return tg.tensor(rng.normal(size=(6, 4)).astype("f4")), tg.tensor(rng.integers(0, 3, 6))


def step_of(model: Model, optimizer: Any) -> Callable[..., Any]:
    def step(x: Any, y: Any) -> Any:
        model.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return step


def programs(fast: Any) -> list[int]:
    """Of each recording, how many programs and calls it has."""
    return [len(one.script.steps) for one in fast.ledger]


def equal(one: Model, other: Model, exact: bool = True) -> None:
    for p, q in zip(one.parameters(), other.parameters(), strict=True):
        if exact:
            np.testing.assert_array_equal(p.numpy(force=True), q.numpy(force=True))
        else:
            np.testing.assert_allclose(p.numpy(force=True), q.numpy(force=True), rtol=1e-5, atol=1e-6)


SETTINGS: dict[str, tuple[Callable[[Any], Any], int]] = {
    "plain": (lambda m: SGD(m.parameters(), 0.1), 1),
    "decay": (lambda m: SGD(m.parameters(), 0.1, weight_decay=0.2), 1),
    "climbing": (lambda m: SGD(m.parameters(), 0.1, maximize=True), 1),
    "climbing with decay": (lambda m: SGD(m.parameters(), 0.1, maximize=True, weight_decay=0.3), 1),
    "fused": (lambda m: SGD(m.parameters(), 0.1, fused=True), 1),
    "groups": (lambda m: SGD([{"params": m[0].parameters(), "lr": 0.5}, {"params": m[2].parameters()}], 0.1), 1),
    "some": (lambda m: SGD(m[2].parameters(), 0.1), 1),
    "a number that is a tensor": (lambda m: SGD(m.parameters(), tg.tensor(0.1)), 2),
    "momentum": (lambda m: SGD(m.parameters(), 0.1, momentum=0.9), 2),
    "momentum of some": (
        lambda m: SGD([{"params": m[0].parameters(), "momentum": 0.5}, {"params": m[2].parameters()}], 0.1), 2
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("backend", BACKENDS)
def test_settings(name: str, backend: str) -> None:
    make, count = SETTINGS[name]
    model, other = model_of(), model_of()
    fast = compile(step_of(model, make(model)), fullgraph=True, backend=backend)
    slow = step_of(other, make(other))
    for i in range(5):
        x, y = batch(i)
        assert fast(x, y).item() == pytest.approx(slow(x, y).item(), rel=1e-5)
    equal(model, other, exact=backend == "numpy")
    assert programs(fast) == [count]


def frozen(model: Any, optimizer: Any) -> None:
    model[0].weight.requires_grad_(False)


def thawed_by_hand(model: Any, optimizer: Any) -> None:
    """A gradient that somebody gives to a parameter which the loss does not reach."""
    model.spare.grad = tg.ones(3)


def with_momentum(model: Any, optimizer: Any) -> None:
    optimizer.param_groups[0]["momentum"] = 0.9


def with_decay(model: Any, optimizer: Any) -> None:
    optimizer.param_groups[0]["weight_decay"] = 0.1


def without_decay(model: Any, optimizer: Any) -> None:
    optimizer.param_groups[1]["weight_decay"] = 0.0


def climbing(model: Any, optimizer: Any) -> None:
    optimizer.param_groups[0]["maximize"] = True


def one_more_group(model: Any, optimizer: Any) -> None:
    optimizer.add_param_group({"params": [model.late], "lr": 1.0})


def one_less(model: Any, optimizer: Any) -> None:
    optimizer.param_groups[0]["params"].pop()


def doubling_before(model: Any, optimizer: Any) -> None:
    def hook(optimizer: Any, args: Any, kwargs: Any) -> None:
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.grad.mul_(2)

    optimizer.register_step_pre_hook(hook)


def halving_after(model: Any, optimizer: Any) -> None:
    @tg.no_grad()
    def hook(optimizer: Any, args: Any, kwargs: Any) -> None:
        model[0].bias.mul_(0.5)

    optimizer.register_step_post_hook(hook)


def loaded(model: Any, optimizer: Any) -> None:
    saved = copy.deepcopy(optimizer.state_dict())
    saved["param_groups"][0]["lr"] = 0.7
    optimizer.load_state_dict(saved)


def replaced(model: Any, optimizer: Any) -> None:
    """The program still moves the old one, as the optimiser does."""
    model[0].bias = nn.Parameter(tg.full((5,), 0.3))


def slower(model: Any, optimizer: Any) -> None:
    optimizer.param_groups[0]["lr"] *= 0.5


CHANGES = [
    frozen, thawed_by_hand, with_momentum, with_decay, without_decay, climbing, one_more_group, one_less,
    doubling_before, halving_after, loaded, replaced, slower,
]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("dynamic", [False, True])
def test_what_changes_between_two_calls(change: Callable[[Any, Any], None], dynamic: bool) -> None:
    made = []
    for compiled in (True, False):
        model = model_of()
        model.spare, model.late = nn.Parameter(tg.ones(3)), nn.Parameter(tg.zeros(2))
        groups = [
            {"params": [*model[0].parameters(), model.spare]},
            {"params": [*model[2].parameters()], "weight_decay": 0.1},
        ]
        optimizer = SGD(groups, 0.1)

        def step(x: Any, y: Any, model: Any = model, optimizer: Any = optimizer) -> Any:
            model[0].zero_grad()
            model[2].zero_grad()
            loss = F.cross_entropy(model(x), y) + (model.late - 1).square().sum()
            loss.backward()
            optimizer.step()
            return loss

        made.append((model, optimizer, compile(step, dynamic=dynamic) if compiled else step))
    for i in range(6):
        x, y = batch(i)
        losses = []
        for model, optimizer, step in made:
            if i == 3:
                change(model, optimizer)
            losses.append(step(x, y).item())
            model.late.grad = None
        assert losses[0] == losses[1]
        equal(made[0][0], made[1][0])


def test_a_schedule_inside_and_outside() -> None:
    for inside in (False, True):
        made = []
        for compiled in (True, False):
            model = model_of()
            optimizer = SGD(model.parameters(), 0.5)
            schedule = tg.optim.lr_scheduler.StepLR(optimizer, 2, 0.3)
            plain = step_of(model, optimizer)

            def step(x: Any, y: Any, plain: Any = plain, schedule: Any = schedule, inside: bool = inside) -> Any:
                loss = plain(x, y)
                if inside:
                    schedule.step()
                return loss

            made.append((model, schedule, compile(step, fullgraph=True) if compiled else step))
        for i in range(6):
            for _, schedule, step in made:
                step(*batch(i))
                if not inside:
                    schedule.step()
        equal(made[0][0], made[1][0])
        assert made[0][1].get_last_lr() == made[1][1].get_last_lr() == [pytest.approx(0.5 * 0.3**3)]
        assert programs(made[0][2]) == [2 if inside else 1]


def test_schedules_know_that_a_step_was_taken() -> None:
    model = model_of()
    optimizer = SGD(model.parameters(), 0.1)
    schedule = tg.optim.lr_scheduler.StepLR(optimizer, 1)
    compile(step_of(model, optimizer))(*batch(0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        schedule.step()


def test_gradients_from_outside() -> None:
    """A function may do nothing but step: with the gradients of now, and only where there are some."""
    w, v = (nn.Parameter(tg.ones(2)) for _ in range(2))
    optimizer = SGD([w, v], 1.0)
    fast = compile(optimizer.step, fullgraph=True)
    w.grad = tg.tensor([1.0, 2.0])
    fast()
    assert w.tolist() == [0, -1] and v.tolist() == [1, 1]
    w.grad = tg.tensor([3.0, 3.0])
    fast()
    assert w.tolist() == [-3, -4]
    v.grad, w.grad = w.grad, None
    fast()
    assert w.tolist() == [-3, -4] and v.tolist() == [-2, -2]
    v.grad = None
    fast()
    assert w.tolist() == [-3, -4] and v.tolist() == [-2, -2]


def test_gradients_that_add_up() -> None:
    model, other = model_of(), model_of()
    made = []
    for one in (model, other):
        optimizer = SGD(one.parameters(), 0.1)

        def step(x: Any, y: Any, one: Any = one, optimizer: Any = optimizer) -> Any:
            F.cross_entropy(one(x), y).backward()
            optimizer.step()
            F.cross_entropy(one(x), y).backward()
            nn.utils.clip_grad_norm_(one.parameters(), 0.2)
            optimizer.step()

        made.append(step)
    fast = compile(made[0], fullgraph=True)
    for i in range(3):
        fast(*batch(i))
        made[1](*batch(i))
    equal(model, other, exact=False)
    for p, q in zip(model.parameters(), other.parameters(), strict=True):
        np.testing.assert_allclose(p.grad.numpy(), q.grad.numpy(), rtol=1e-5, atol=1e-7)


def test_two_optimisers_of_one_parameter() -> None:
    found = []
    for compiled in (True, False):
        w = nn.Parameter(tg.ones(2))
        first, second = SGD([w], 0.1), SGD([w], 0.01, weight_decay=0.5)

        def step(x: Any, w: Any = w, first: Any = first, second: Any = second) -> None:
            (w * x).sum().backward()
            first.step()
            second.step()

        run = compile(step, fullgraph=True) if compiled else step
        for i in range(4):
            run(tg.tensor([1.0, float(i)]))
        found.append(w.tolist())
    assert found[0] == found[1]


# What stays a call ----------------------------------------------------------------------------------------------------


class Signs(SGD):
    """Its formula is its own."""

    def update(self, group: Any, at: Any, p: Any, g: Any) -> None:
        p -= group["lr"] * np.sign(g)


class Slower(SGD):
    """So is its step."""

    def step(self, closure: Any = None) -> Any:
        self.param_groups[0]["lr"] *= 0.5
        return super().step(closure)


@pytest.mark.parametrize("kind", [Signs, Slower, tg.optim.Adam])
def test_other_optimisers(kind: Any) -> None:
    model, other = model_of(), model_of()
    fast, slow = (step_of(one, kind(one.parameters(), lr=0.1)) for one in (model, other))
    fast = compile(fast, fullgraph=True)
    for i in range(4):
        fast(*batch(i))
        slow(*batch(i))
    equal(model, other)
    assert programs(fast) == [2]


def test_other_dtypes_and_large_parameters() -> None:
    model, other = model_of(tg.float64), model_of(tg.float64)
    fast, slow = (step_of(one, SGD(one.parameters(), lr=0.1)) for one in (model, other))
    fast = compile(fast, fullgraph=True)
    for i in range(3):
        (x, y), given = batch(i), []
        for run in (fast, slow):
            given.append(run(x.double(), y).item())
        assert given[0] == given[1]
    equal(model, other)
    assert programs(fast) == [2]
    w = nn.Parameter(tg.ones(200, 200))
    large = compile(step_of(nn.Linear(4, 3), SGD([w], 0.1)), fullgraph=True)
    large(*batch(0))
    assert programs(large) == [2]


# What a write does to others ------------------------------------------------------------------------------------------


def test_others_see_the_new_parameter() -> None:
    memory = np.ones(3, "f4")
    w = nn.Parameter(tg.from_numpy(memory))
    detached = w.detach()
    optimizer = SGD([w], 1.0)

    def step(x: Any) -> None:
        w.grad = x * 1
        optimizer.step()

    fast = compile(step)
    for i in range(3):
        fast(tg.ones(3))
        assert memory.tolist() == w.tolist() == detached.tolist() == [-i] * 3


def test_a_graph_from_before_notices() -> None:
    model = model_of()
    fast = compile(step_of(model, SGD(model.parameters(), 0.1)))
    fast(*batch(0))
    loss = F.cross_entropy(model(batch(1)[0]), batch(1)[1])
    fast(*batch(0))
    with pytest.raises(AutogradError, match="a compiled program"):
        loss.backward()


def test_two_parameters_in_one_memory() -> None:
    """Each sees the step of the other, which a program does not know: so there is none."""
    memory = np.ones(3, "f4")
    first, second = (nn.Parameter(tg.from_numpy(memory)) for _ in range(2))
    optimizer = SGD([first, second], 0.5)

    def step(x: Any) -> None:
        first.grad, second.grad = x * 1, x * 1
        optimizer.step()

    with pytest.raises(TraceError):
        compile(step, fullgraph=True)(tg.ones(3))
    fast = compile(step)
    with pytest.warns(UserWarning, match="as it is written"):
        fast(tg.ones(3))
    fast(tg.ones(3))
    assert memory.tolist() == [-1, -1, -1]


def test_the_reason_is_told() -> None:
    model = model_of()
    optimizer = SGD(model.parameters(), 0.1)
    fast = compile(step_of(model, optimizer))
    fast(*batch(0))
    optimizer.param_groups[0]["momentum"] = 0.9
    fast(*batch(1))
    assert fast.ledger[1].reason == "a step of SGD is another one now: its settings, parameters or hooks"
    assert programs(fast) == [1, 2]
