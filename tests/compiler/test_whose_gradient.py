"""A program is about certain tensors and their gradients: other ones, or others' memory, are noticed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tinygrad_edu import nn
from tinygrad_edu.compiler import TraceError, compile
from tinygrad_edu.errors import DtypeError
from tinygrad_edu.optim import SGD, Adam


def leaf(*values: float) -> Any:
    return tg.tensor(list(values), requires_grad=True)


def both(program: Callable[[Callable[[Any], Any]], Any], **options: Any) -> None:
    """What a program does with functions that are compiled, and as they are written, is the same."""
    fast = program(lambda function: compile(function, **options))
    slow = program(lambda function: function)
    for one, other in zip(fast, slow, strict=True):
        if isinstance(one, (tg.Tensor, np.ndarray)):
            np.testing.assert_allclose(np.asarray(one.tolist()), np.asarray(other.tolist()), rtol=1e-6)
        else:
            assert one == other


X = (1.0, 2.0)


def stepping(optimizer: Any, loss: Callable[[Any], Any]) -> Callable[[Any], None]:
    """A step of training."""

    def step(x: Any) -> None:
        optimizer.zero_grad()
        loss(x).backward()
        optimizer.step()

    return step


def an_outside_tensor_that_is_given_first(ready: Any) -> Any:
    w, a = tg.tensor([1.0, 2.0]), tg.tensor([5.0, 6.0])
    f = ready(lambda x: x + 10 * w)
    return [f(w), f(a), f(w), f(a)]


def an_outside_tensor_that_is_given_later(ready: Any) -> Any:
    w, a = tg.tensor([1.0, 2.0]), tg.tensor([5.0, 6.0])

    def changing(x: Any) -> Any:
        x.add_(w)
        return x * w

    f = ready(changing)
    return [f(a), f(w), f(a), w, a]


def gradients_of_what_is_given(ready: Any) -> Any:
    a, b = leaf(1.0, 2.0), leaf(3.0, 4.0)
    a.grad, b.grad = tg.zeros(2), tg.zeros(2)
    f = ready(lambda w: (w * w).sum().backward())
    for one in (a, b, a):
        f(one)
    return [a.grad, b.grad]


def reading_the_gradient_of_what_is_given(ready: Any) -> Any:
    a, b = leaf(1.0, 2.0), leaf(3.0, 4.0)
    a.grad, b.grad = tg.ones(2), tg.full((2,), 5.0)
    f = ready(lambda w: w.grad * 2)
    return [f(a), f(b)]


def replacing_the_gradient_of_what_is_given(ready: Any) -> Any:
    a, b = leaf(1.0, 2.0), leaf(3.0, 4.0)

    def fresh(x: Any) -> None:
        x.grad = None
        (x * x).sum().backward()

    f = ready(fresh)
    for one in (a, b):
        f(one)
    return [a.grad, b.grad]


def an_optimiser_of_another_tensor(ready: Any) -> Any:
    a, b = leaf(1.0, 2.0), leaf(3.0, 4.0)
    optimizer = SGD([a], lr=0.1)

    def step(w: Any) -> None:
        (w * w).sum().backward()
        optimizer.step()

    f = ready(step)
    for one in (a, b, a):
        f(one)
    return [a, b, a.grad, b.grad]


def cleared_after_it_was_added_to(ready: Any) -> Any:
    w = leaf(1.0, 2.0)
    optimizer = Adam([w], lr=0.1)

    def step(x: Any) -> None:
        (x * w * w).sum().backward()
        optimizer.step()
        optimizer.zero_grad()

    f, x = ready(step), tg.tensor(X)
    f(x)
    (tg.tensor([5.0, -9.0]) * w * w).sum().backward()
    f(x)
    f(x)
    return [w, w.grad is None]


def cleared_though_there_was_none(ready: Any) -> Any:
    w, v = leaf(1.0, 2.0), leaf(1.0, 1.0)
    optimizer = SGD([w, v], lr=0.1)
    f, x = ready(stepping(optimizer, lambda x: (x * v).sum())), tg.tensor(X)
    f(x)
    (w * 3).sum().backward()
    f(x)
    return [w.grad is None, w, v]


def filled_with_zeros(ready: Any) -> Any:
    w, v = leaf(1.0, 2.0), leaf(1.0, 1.0)
    optimizer = SGD([w, v], lr=0.1, weight_decay=0.5)

    def step(x: Any) -> None:
        optimizer.zero_grad(set_to_none=False)
        (x * w * w).sum().backward()
        optimizer.step()

    f = ready(step)
    f(tg.tensor(X))
    kept, v.grad = w.grad, tg.ones(2)
    f(tg.tensor([3.0, 4.0]))
    same = w.grad is kept
    w.grad = v.grad = None
    f(tg.tensor([3.0, 4.0]))
    return [kept, same, w, v, v.grad is None]


def gradients_that_become_one(ready: Any) -> Any:
    w, v = leaf(1.0, 2.0), leaf(3.0, 4.0)
    optimizer = SGD([w, v], lr=0.1)

    def step(x: Any) -> None:
        (x * w * v).sum().backward()
        v.grad.mul_(0.5)
        optimizer.step()

    f, x = ready(step), tg.tensor(X)
    w.grad, v.grad = tg.ones(2), tg.ones(2)
    f(x)
    w.grad = v.grad
    f(x)
    return [w, v]


def gradients_that_were_one(ready: Any) -> Any:
    w, v = leaf(1.0, 2.0), leaf(3.0, 4.0)
    optimizer = SGD([w, v], lr=0.1)
    f = ready(lambda: optimizer.step())  # noqa: PLW0108
    w.grad = v.grad = tg.ones(2)
    f()
    w.grad, v.grad = tg.ones(2), tg.full((2,), 50.0)
    f()
    return [w, v]


def a_gradient_in_the_memory_of_a_parameter(ready: Any) -> Any:
    w, v = leaf(1.0, 2.0), leaf(3.0, 4.0)
    optimizer = SGD([w, v], lr=0.5)
    f = ready(lambda: optimizer.step())  # noqa: PLW0108
    w.grad, v.grad = tg.ones(2), tg.ones(2)
    f()
    v.grad, w.grad = w.detach(), tg.ones(2)
    f()
    return [w, v]


def settings_that_are_changed_inside(ready: Any) -> Any:
    w = leaf(1.0, 2.0)
    optimizer = SGD([w], lr=0.1)

    def step(x: Any, lr: float) -> None:
        optimizer.param_groups[0]["lr"] = lr
        optimizer.zero_grad()
        (x * w * w).sum().backward()
        optimizer.step()

    f, x = ready(step), tg.tensor(X)
    for lr in (0.1, 0.2, 0.1):
        f(x, lr)
    return [w, optimizer.param_groups[0]["lr"]]


def settings_that_are_read_inside(ready: Any) -> Any:
    w = leaf(1.0, 2.0)
    optimizer = SGD([w], lr=0.1)
    f, x = ready(lambda x: x * optimizer.param_groups[0]["lr"]), tg.tensor(X)
    found = [f(x)]
    optimizer.param_groups[0]["lr"] = 7.0
    return [*found, f(x)]


def a_group_that_comes_later(ready: Any) -> Any:
    w, v = leaf(1.0, 2.0), leaf(3.0, 4.0)
    optimizer = Adam([w], lr=0.1)
    f, x = ready(stepping(optimizer, lambda x: (x * w).sum())), tg.tensor(X)
    f(x)
    v.grad = tg.ones(2)
    optimizer.add_param_group({"params": [v]})
    f(x)
    return [w, v, v.grad is None]


def a_step_that_is_replaced(ready: Any) -> Any:
    w = leaf(1.0, 2.0)
    optimizer = SGD([w], lr=0.1)
    f, x = ready(stepping(optimizer, lambda x: (x * w).sum())), tg.tensor(X)
    f(x)
    optimizer.step = lambda: None  # type: ignore[method-assign]
    f(x)
    return [w]


PROGRAMS = [
    an_outside_tensor_that_is_given_first, an_outside_tensor_that_is_given_later, gradients_of_what_is_given,
    reading_the_gradient_of_what_is_given, replacing_the_gradient_of_what_is_given, an_optimiser_of_another_tensor,
    cleared_after_it_was_added_to, cleared_though_there_was_none, filled_with_zeros, gradients_that_become_one,
    gradients_that_were_one, a_gradient_in_the_memory_of_a_parameter, settings_that_are_changed_inside,
    settings_that_are_read_inside, a_group_that_comes_later, a_step_that_is_replaced,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.filterwarnings("ignore:.*runs as it is written")
def test_it_is_the_same(program: Callable[..., Any]) -> None:
    both(program)


@pytest.mark.parametrize("frozen", ["one", "the only one"])
def test_what_is_frozen_later_is_not_trained_by_a_program_that_is_filled_in(frozen: str) -> None:
    w, v = leaf(1.0, 2.0), leaf(1.0, 1.0)
    optimizer = SGD([w, v], lr=0.1)
    fast = compile(stepping(optimizer, lambda x: (x * w * v).sum()), dynamic=True)
    for rows in (6, 8):
        fast(tg.ones(rows, 2))
    v.requires_grad_(False)
    before = v.tolist()
    if frozen == "the only one":
        w.requires_grad_(False)
        with pytest.raises(tg.errors.AutogradError):
            fast(tg.ones(9, 2))
    else:
        fast(tg.ones(9, 2))
    assert v.tolist() == before and v.grad is None


def test_a_gradient_of_another_dtype() -> None:
    w = leaf(1.0, 2.0)
    optimizer = SGD([w], lr=0.1)
    fast = compile(optimizer.step)
    w.grad = tg.ones(2)
    fast()
    w.grad = tg.ones(2, dtype="float64")
    with pytest.raises(DtypeError, match="its gradient is float64"):
        fast()


def test_what_gives_another_number_each_time_is_refused() -> None:
    w = leaf(1.0, 2.0)
    optimizer = SGD([w], lr=0.1)
    schedule = tg.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    scaler = tg.amp.GradScaler("cpu")
    for function in (lambda x: x * schedule.get_last_lr()[0], lambda x: x * scaler.get_scale()):
        with pytest.raises(TraceError, match="get_"):
            compile(function, fullgraph=True)(tg.ones(2))


def test_the_ledger_says_whose_gradient_it_is() -> None:
    a, b = leaf(1.0), leaf(2.0)
    fast = compile(lambda w: (w * w).sum().backward())
    fast(a)
    fast(b)
    assert fast.ledger[1].reason == "argument 0 is another tensor now, and the program is about the one that it was"
    model = nn.Linear(1, 1)
    fast = compile(lambda x: x * model.weight)
    fast(tg.ones(1, 1))
    fast(model.weight.detach())
    assert len(fast.ledger) == 1
