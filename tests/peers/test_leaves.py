"""Leaves that are switched off, or given other memory, between forward and backward; and what becomes of ``.grad``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tinygrad_edu as tg

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install -e '.[peers]'")
pytestmark = pytest.mark.peers


def leaf(m: Any, *values: float) -> Any:
    return m.tensor(values, dtype=m.float64, requires_grad=True)


def other(m: Any) -> Any:
    return m.tensor([10.0, 20.0], dtype=m.float64)


PROGRAMS: dict[str, Callable[..., Any]] = {}


def program(function: Callable[..., Any]) -> Callable[..., Any]:
    PROGRAMS[function.__name__] = function
    return function


# requires_grad, switched off and on ----------------------------------------------------------------------------


@program
def off(m: Any) -> Any:
    x = leaf(m, 1.0, 2.0)
    y = x.exp()
    x.requires_grad_(False)
    y.sum().backward()
    return x.grad


@program
def off_and_on(m: Any) -> Any:
    x, seen = leaf(m, 1.0, 2.0), []
    x.register_hook(lambda g: seen.append(g.tolist()))
    x.register_post_accumulate_grad_hook(lambda t: seen.append(t.requires_grad))
    y = x.exp()
    x.requires_grad_(False)
    z = x.exp()
    x.requires_grad_(True)
    y.sum().backward()
    return x.grad, z.requires_grad, seen


@program
def one_leaf_before_and_after(m: Any) -> Any:
    x = leaf(m, 1.0, 2.0)
    y = x * x
    x.requires_grad_(False).requires_grad_()
    return m.autograd.grad((y + x.exp()).sum(), x)


@program
def hooks_that_sleep(m: Any) -> Any:
    x = leaf(m, 1.0, 2.0)
    x.register_hook(lambda g: g * 10)
    x.requires_grad_(False).requires_grad_()
    x.exp().sum().backward()
    return x.grad


@program
def hooks_of_a_leaf_that_is_off(m: Any) -> Any:
    x, seen = leaf(m, 1.0, 2.0), []
    x.register_hook(lambda g: seen.append(g.tolist()))
    x.register_post_accumulate_grad_hook(lambda t: seen.append(t.grad))
    y = x.exp()
    x.requires_grad_(False)
    y.sum().backward()
    return seen


@program
def off_with_a_gradient(m: Any) -> Any:
    x = leaf(m, 1.0, 2.0)
    (x * x).sum().backward()
    y = (x * x).sum()
    x.requires_grad_(False)
    y.backward()
    return x.grad


@program
def only_some(m: Any) -> Any:
    x, w = leaf(m, 1.0, 2.0), leaf(m, 3.0, 4.0)
    y = x * w
    x.requires_grad_(False)
    y.sum().backward()
    return x.grad, w.grad


@program
def off_is_not_asked_for(m: Any) -> Any:
    x = leaf(m, 1.0, 2.0)
    y = (x * x).sum()
    x.requires_grad_(False)
    return m.autograd.grad(y, x)


@program
def written_by_an_operation_while_off(m: Any) -> Any:
    x, w = leaf(m, 1.0, 2.0), leaf(m, 3.0, 4.0)
    y = x.exp()
    x.requires_grad_(False)
    x.mul_(w)
    y.sum().backward()
    return x.grad


@program
def of_a_result(m: Any) -> Any:
    return (leaf(m, 1.0) * 2).requires_grad_(False)


# x.data = … between forward and backward -----------------------------------------------------------------------


@program
def operand(m: Any) -> Any:
    x = leaf(m, 1.0, 2.0)
    y = x * x
    x.data = other(m)
    y.sum().backward()
    return x, y, x.grad


@program
def operand_of_a_function(m: Any) -> Any:
    x = leaf(m, 1.0, 2.0)
    y = x.sin()
    x.data = other(m)
    y.sum().backward()
    return x.grad


@program
def result(m: Any) -> Any:
    x = leaf(m, 1.0, 2.0)
    y = x.exp()
    y.data = other(m)
    y.sum().backward()
    return y, x.grad


@program
def result_as_an_operand(m: Any) -> Any:
    x = leaf(m, 1.0, 2.0)
    y = x.exp()
    z = y * y
    y.data = other(m)
    z.sum().backward()
    return x.grad


@program
def a_number(m: Any) -> Any:
    x = leaf(m, 1.0, 2.0)
    y = x.sum()
    z = y * y
    y.data = m.tensor(5.0, dtype=m.float64)
    z.backward()
    return x.grad


@program
def constant(m: Any) -> Any:
    x, c = leaf(m, 1.0, 2.0), m.tensor([3.0, 3.0], dtype=m.float64)
    y = x * c
    c.data = other(m)
    y.sum().backward()
    return x.grad


@program
def detached_before(m: Any) -> Any:
    x = leaf(m, 1.0, 2.0)
    y = x * x.detach()
    x.data = other(m)
    y.sum().backward()
    return x.grad


@program
def there_and_back(m: Any) -> Any:
    x = leaf(m, 1.0, 2.0)
    y, old = x * x, x.data
    x.data = other(m)
    (x * x).sum().backward()
    x.data = old
    y.sum().backward()
    return x.grad


@program
def there_and_back_with_a_write(m: Any) -> Any:
    x = leaf(m, 1.0, 2.0)
    y, old = x * x, x.data
    x.data = other(m)
    with m.no_grad():
        x.add_(1)
    x.data = old
    y.sum().backward()
    return x.grad


@program
def twice(m: Any) -> Any:
    x = leaf(m, 1.0, 2.0)
    y = x * x
    x.data = other(m)
    z = x * x
    x.data = other(m) * 2
    (y + 3 * z).sum().backward(retain_graph=True)
    x.data = other(m) * 4
    (y + 3 * z).sum().backward()
    return x.grad


@program
def operand_written_before(m: Any) -> Any:
    x = leaf(m, 1.0, 2.0)
    y = x * x
    with m.no_grad():
        x.add_(1)
    x.data = other(m)
    y.sum().backward()
    return x.grad


@program
def operand_written_after(m: Any) -> Any:
    x = leaf(m, 1.0, 2.0)
    y = x * x
    x.data = other(m)
    with m.no_grad():
        x.add_(1)
    y.sum().backward()
    return x.grad


@program
def new_memory_written_before(m: Any) -> Any:
    x = leaf(m, 1.0, 2.0)
    y, new = x * x, other(m)
    new.add_(1)
    x.data = new
    y.sum().backward()
    return x.grad


@program
def new_memory_is_shared(m: Any) -> Any:
    x, new = leaf(m, 1.0, 2.0), other(m)
    x.data = new
    new.add_(1)
    with m.no_grad():
        x.mul_(2)
    return x, new


@program
def double_backward(m: Any) -> Any:
    x = leaf(m, 1.0, 2.0)
    y = x * x * x
    x.data = other(m)
    (first,) = m.autograd.grad(y.sum(), x, create_graph=True)
    return first, m.autograd.grad(first.sum(), x)


@program
def a_loop_of_training(m: Any) -> Any:
    w = leaf(m, 1.0, 2.0)
    for _ in range(3):
        loss = (w * w).sum()
        loss.backward()
        w.data = w.data - 0.1 * w.grad
        w.grad = None
    return w, w.is_leaf


# .grad ---------------------------------------------------------------------------------------------------------


@program
def a_second_backward_adds_in_place(m: Any) -> Any:
    x = leaf(m, 1.0, 2.0)
    (x * x).sum().backward()
    kept, part = x.grad, x.grad[:1]
    (x * x).sum().backward()
    return kept is x.grad, kept, part


@program
def a_gradient_of_ones_own_is_added_to(m: Any) -> Any:
    x, mine = leaf(m, 1.0, 2.0), other(m)
    x.grad = mine
    (x * x).sum().backward()
    return x.grad is mine, mine


@program
def a_recorded_gradient_is_added_to_in_place(m: Any) -> Any:
    x = leaf(m, 1.0, 2.0)
    (x * x).sum().backward(create_graph=True)
    kept = x.grad
    (x * x).sum().backward()
    return kept is x.grad, kept


@program
def a_gradient_that_is_recorded_is_added_beside(m: Any) -> Any:
    x = leaf(m, 1.0, 2.0)
    (x * x).sum().backward()
    kept = x.grad
    (x * x).sum().backward(create_graph=True)
    return kept is x.grad, kept, x.grad


@program
def what_retain_grad_keeps_is_added_beside(m: Any) -> Any:
    x = leaf(m, 1.0, 2.0)
    y = x * 1
    y.retain_grad()
    (y * y).sum().backward(retain_graph=True)
    kept = y.grad
    (y * y).sum().backward()
    return kept is y.grad, kept, y.grad


@program
def no_two_leaves_share_a_gradient(m: Any) -> Any:
    x, y = leaf(m, 1.0, 2.0), leaf(m, 3.0, 4.0)
    (x + y).sum().backward()
    x.grad.add_(5)
    given = other(m)
    (x * 1).backward(given)
    given.zero_()
    return x.grad, y.grad


def plain(value: Any) -> Any:
    """Tensors as lists, with what is known of their history."""
    if isinstance(value, (tg.Tensor, torch.Tensor)):
        return value.tolist(), value.requires_grad, value.is_leaf
    return [plain(part) for part in value] if isinstance(value, (list, tuple)) else value


def outcome(m: Any, name: str) -> Any:
    try:
        return plain(PROGRAMS[name](m))
    except RuntimeError:
        return "refused"


@pytest.mark.filterwarnings("ignore:Using backward")
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    assert outcome(tg, name) == outcome(torch, name)
