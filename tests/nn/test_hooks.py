"""Hooks of modules: what they see, what they may replace, and that they go."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.nn.models import Block
from tinygrad_edu import nn
from tinygrad_edu.errors import ArgumentError, AutogradError


def test_forward_hooks_see_and_replace() -> None:
    layer, seen = nn.Linear(2, 2, bias=False), []
    x = tg.ones(1, 2)
    plain = layer(x).tolist()
    with (
        layer.register_forward_pre_hook(lambda m, inputs: seen.append((m, inputs))),
        layer.register_forward_hook(lambda m, inputs, out: seen.append((m, inputs, out))),
    ):
        out = layer(x)
    assert seen == [(layer, (x,)), (layer, (x,), out)]
    with layer.register_forward_pre_hook(lambda m, inputs: inputs[0] * 2):
        assert layer(x).tolist() == [[2 * n for n in plain[0]]]
    with layer.register_forward_hook(lambda m, inputs, out: out * 3):
        np.testing.assert_allclose(layer(x).tolist(), np.array(plain) * 3, rtol=1e-6)
    assert layer(x).tolist() == plain


def test_forward_hooks_with_keywords() -> None:
    block, seen = Block(), []
    x = tg.ones(1, 3)
    with (
        block.register_forward_pre_hook(lambda m, i, o: (i, {**o, "scale": 0.0}), with_kwargs=True),
        block.register_forward_hook(lambda m, i, o, out: seen.append(o), with_kwargs=True),
    ):
        assert block(x, scale=5.0).tolist() == x.tolist()
    assert seen == [{"scale": 0.0}]
    with (
        block.register_forward_pre_hook(lambda m, i, o: i, with_kwargs=True),
        pytest.raises(ArgumentError, match=r"return a tuple \(inputs, keywords\)"),
    ):
        block(x)


@pytest.mark.parametrize("kind", ["forward_pre", "forward", "full_backward_pre", "full_backward"])
def test_hooks_run_in_order_and_go(kind: str) -> None:
    layer, order = nn.Linear(1, 1), []
    register = getattr(layer, f"register_{kind}_hook")
    handles = [register(lambda *_, i=i: order.append(i), prepend=i == 3) for i in range(4)]
    layer(tg.ones(1, 1, requires_grad=True)).sum().backward()
    assert order == [3, 0, 1, 2]
    assert layer._hooks is not None
    for handle in handles:
        handle.remove()
        handle.remove()
    assert layer._hooks is None  # calls are at full speed again
    layer(tg.ones(1, 1, requires_grad=True)).sum().backward()
    assert order == [3, 0, 1, 2]


def test_backward_hooks_see_and_replace_gradients() -> None:
    layer, seen = nn.Linear(2, 1, bias=False), []
    layer.weight.data = tg.tensor([[2.0, 3.0]])
    x = tg.ones(1, 2, requires_grad=True)
    with layer.register_full_backward_hook(lambda m, gi, go: seen.append((gi[0].tolist(), go[0].tolist()))):
        layer(x).sum().backward()
    assert seen == [([[2.0, 3.0]], [[1.0]])]
    assert (x.grad.tolist(), layer.weight.grad.tolist()) == ([[2.0, 3.0]], [[1.0, 1.0]])
    x.grad = layer.weight.grad = None
    with (
        layer.register_full_backward_pre_hook(lambda m, go: (go[0] * 10,)),
        layer.register_full_backward_hook(lambda m, gi, go: (gi[0] + go[0],)),
    ):
        layer(x).sum().backward()
    assert (x.grad.tolist(), layer.weight.grad.tolist()) == ([[30.0, 40.0]], [[10.0, 10.0]])


def test_backward_hooks_with_several_and_other_inputs_and_outputs() -> None:
    class Two(nn.Module):
        def forward(self, a: Any, n: int, b: Any) -> Any:
            return a * n, None, a * b

    module, seen = Two(), []
    a, b = tg.ones(2, requires_grad=True), tg.full((2,), 3.0)
    module.register_full_backward_hook(lambda m, gi, go: seen.append((gi, go)))
    first, nothing, last = module(a, 5, b)
    assert nothing is None
    (first + last).sum().backward()
    ((grad_input, grad_output),) = seen
    assert [g if g is None else g.tolist() for g in grad_input] == [[8.0, 8.0], None, None]
    assert [g if g is None else g.tolist() for g in grad_output] == [[1.0, 1.0], None, [1.0, 1.0]]
    assert a.grad.tolist() == [8.0, 8.0]


def test_backward_hooks_without_inputs_that_want_gradients() -> None:
    layer, seen = nn.Linear(2, 1), []
    layer.register_full_backward_hook(lambda m, gi, go: seen.append((gi, go[0].tolist())))
    layer(tg.ones(1, 2)).sum().backward()
    assert seen == [((None,), [[1.0]])]
    with tg.no_grad():
        layer(tg.ones(1, 2))
    assert len(seen) == 1


def test_backward_hooks_in_a_second_derivative() -> None:
    layer, count = nn.Tanh(), []
    layer.register_full_backward_hook(lambda m, gi, go: count.append(1))
    x = tg.tensor([0.5], requires_grad=True)
    (g,) = tg.autograd.grad(layer(x).sum(), [x], create_graph=True)
    g.sum().backward()
    t = math.tanh(0.5)
    assert x.grad.item() == pytest.approx(-2 * t * (1 - t * t), rel=1e-5)
    assert len(count) == 1


def test_wrong_answers_of_backward_hooks_are_refused() -> None:
    layer = nn.Linear(2, 1)
    for answer in ((), (tg.ones(1, 2), tg.ones(1))):
        with (
            layer.register_full_backward_hook(lambda m, gi, go, answer=answer: answer),
            pytest.raises(AutogradError, match=rf"it returned {len(answer)} gradient\(s\) in place of 1"),
        ):
            layer(tg.ones(1, 2, requires_grad=True)).sum().backward()
    with (
        layer.register_full_backward_hook(lambda m, gi, go: (tg.ones(1, 2),)),
        pytest.raises(AutogradError, match="where None was given"),
    ):
        layer(tg.ones(1, 2)).sum().backward()

    class Words(nn.Module):
        def forward(self, x: Any) -> Any:
            return {"out": x}

    words = Words()
    words.register_full_backward_hook(lambda *_: None)
    with pytest.raises(AutogradError, match="its forward returned dict"):
        words(tg.ones(1, requires_grad=True))


def test_a_copy_has_hooks_of_its_own() -> None:
    layer, met = nn.Linear(1, 1), []
    handle = layer.register_forward_hook(lambda m, i, out: met.append(m))
    twin = copy.deepcopy(layer)
    handle.remove()
    layer(tg.ones(1))
    twin(tg.ones(1))
    assert met == [twin]
