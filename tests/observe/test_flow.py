"""Flow: norms of gradients and updates are those of the arrays, step by step, and the first bad one is named."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu import nn, optim
from tinygrad_edu.errors import ArgumentError
from tinygrad_edu.observe.flow import Flow
from tinygrad_edu.optim import optimizer as hooks

F = nn.functional


def model() -> nn.Sequential:
    tg.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))


@given(st.sampled_from([optim.SGD, optim.Adam, optim.RMSprop]), st.integers(1, 4), st.booleans())
def test_the_numbers_are_those_of_the_arrays(kind: type[optim.Optimizer], steps: int, half: bool) -> None:
    """Also where the optimiser has only some of the parameters."""
    net, x = model(), tg.rand(5, 3)
    given = list(net[2].parameters()) if half else list(net.parameters())
    step, expected = kind(given, lr=0.1), []  # type: ignore[call-arg]
    with Flow(net) as flow:
        for _ in range(steps):
            step.zero_grad()
            (net(x) ** 2).sum().backward()
            before = {name: p.detach().numpy().copy() for name, p in net.named_parameters()}
            slopes = {name: p.grad.numpy().copy() for name, p in net.named_parameters()}
            step.step()
            after = {name: p.detach().numpy() for name, p in net.named_parameters()}
            expected.append({name: [np.linalg.norm(v) for v in (slopes[name], before[name], after[name] - before[name])]
                             for name in before})  # fmt: skip
    assert len(flow.steps) == steps
    for found, wanted in zip(flow.steps, expected, strict=True):
        assert list(found) == (["2.weight", "2.bias"] if half else list(wanted))
        for name, one in found.items():
            np.testing.assert_allclose([one.gradient, one.weight, one.update], wanted[name], rtol=1e-5)
            assert one.ratio == pytest.approx(one.update / one.weight)
    assert flow.gradients("2.bias") == [found["2.bias"].gradient for found in flow.steps]
    assert flow.ratios("2.bias") == [found["2.bias"].ratio for found in flow.steps]
    assert flow.first_bad is None


def test_plain_descent_moves_by_the_rate_times_the_gradient() -> None:
    net = model()
    step = optim.SGD(net.parameters(), lr=0.25)
    with Flow(net) as flow:
        net(tg.ones(1, 3)).sum().backward()
        step.step()
    for one in flow.steps[0].values():
        assert one.update == pytest.approx(0.25 * one.gradient, rel=1e-4)


def test_the_first_gradient_that_is_not_finite_is_named() -> None:
    net = model()
    step = optim.SGD(net.parameters(), lr=1e30)
    with Flow(net) as flow, np.errstate(all="ignore"):
        for _ in range(4):
            step.zero_grad()
            (net(tg.ones(2, 3)) ** 2).sum().backward()
            step.step()
    bad = flow.first_bad
    assert bad is not None and 0 < bad[0] < 4
    finite = [{name: np.isfinite(one.gradient) for name, one in step.items()} for step in flow.steps]
    assert all(all(step.values()) for step in finite[: bad[0]])
    assert [name for name, is_so in finite[bad[0]].items() if not is_so][-1] == bad[1]
    assert repr(flow).splitlines()[-1] == f"from step {bad[0] + 1} on, gradients are not finite: {bad[1]} first"


def test_other_models_and_later_steps_are_not_watched() -> None:
    net, other = model(), model()
    steps = [optim.SGD(one.parameters(), lr=0.1) for one in (net, other)]
    with Flow(net) as flow:
        for one, step in zip((net, other), steps, strict=True):
            one(tg.ones(1, 3)).sum().backward()
            step.step()
    steps[0].step()
    assert len(flow.steps) == 1
    assert not hooks._before_every and not hooks._after_every


def test_its_text() -> None:
    net = nn.Linear(2, 1, bias=False)
    flow = Flow(net)
    assert repr(flow) == "Flow: no step yet"
    with tg.no_grad():
        net.weight.copy_(tg.tensor([[3.0, 4.0]]))
    step = optim.SGD(net.parameters(), lr=0.5)
    with flow:
        net(tg.tensor([[3.0, 4.0]])).sum().backward()
        step.step()
    assert repr(flow) == (
        "Flow: 1 step, norms at the last one\n"
        "  parameter  gradient  update / weight\n"
        "  weight         5.00            0.500"
    )


def test_what_cannot_be_watched() -> None:
    with teaches(ArgumentError, "Flow of [1]", "it has no parameters with names", "give an nn.Module", "Flow("):
        Flow([1])  # type: ignore[arg-type]
    flow = Flow(model())
    with teaches(
        ArgumentError, "the parameter '0.weight'", "no step has moved it", "moved were: none yet", "flow.gradients"
    ):
        flow.gradients("0.weight")
    why, mend = "every step would count twice", "use a second one: with Flow(model) as inner:"
    with flow, teaches(ArgumentError, "Flow inside itself", why, mend, "with flow, teaches"), flow:
        pass
