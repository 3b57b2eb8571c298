"""SGD against its recurrence, written out; what it refuses, and what it leaves alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu import nn
from tinygrad_edu.errors import ArgumentError, DtypeError, InplaceError
from tinygrad_edu.optim import SGD

SETTINGS = [
    {"lr": 0.1},
    {"lr": 0.1, "momentum": 0.9},
    {"lr": 0.1, "momentum": 0.9, "nesterov": True},
    {"lr": 0.1, "weight_decay": 0.01},
    {"lr": 0.1, "momentum": 0.8, "weight_decay": 0.02},
    {"lr": 0.05, "momentum": 0.8, "weight_decay": 0.02, "nesterov": True},
    {"lr": 0.1, "momentum": 0.8, "dampening": 0.3},
    {"lr": 0.1, "maximize": True},
    {"lr": 0.1, "momentum": 0.8, "dampening": 0.3, "weight_decay": 0.02, "maximize": True},
]


def by_hand(p: Any, grads: Any, lr: float, momentum: float = 0, dampening: float = 0, **more: Any) -> Any:
    """PyTorch's update, literally: the first velocity is the gradient itself."""
    velocity = None
    for g in grads:
        d = (-g if more.get("maximize") else g) + more.get("weight_decay", 0) * p
        if momentum:
            velocity = d if velocity is None else momentum * velocity + (1 - dampening) * d
            d = d + momentum * velocity if more.get("nesterov") else velocity
        p = p - lr * d
    return p


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_recurrence(settings: dict[str, Any], dtype: str) -> None:
    rng = np.random.default_rng(0)
    start, grads = rng.normal(size=(3, 2)), [rng.normal(size=(3, 2)) for _ in range(5)]
    p = tg.tensor(start, dtype=dtype, requires_grad=True)
    optimiser = SGD([p], **settings)
    for g in grads:
        p.grad = tg.tensor(g, dtype=dtype)
        optimiser.step()
        assert p.grad.tolist() == tg.tensor(g, dtype=dtype).tolist()  # the gradient is only read
    assert p.dtype == np.dtype(dtype)
    tolerance = 1e-13 if dtype == "float64" else 1e-6
    np.testing.assert_allclose(p.array, by_hand(start, grads, **settings), rtol=tolerance, atol=tolerance)


def test_parameters_without_gradient_stay() -> None:
    used, unused = tg.ones(1, requires_grad=True), tg.ones(1, requires_grad=True)
    optimiser = SGD([used, unused], lr=1.0)
    used.grad = tg.ones(1)
    optimiser.step()
    assert (used.tolist(), unused.tolist()) == ([0.0], [1.0])


def test_zero_grad() -> None:
    p = tg.ones(2, requires_grad=True)
    optimiser = SGD([p], lr=1.0)
    p.grad = tg.ones(2)
    kept = p.grad
    optimiser.zero_grad(set_to_none=False)
    assert p.grad is kept
    assert kept.tolist() == [0.0, 0.0]
    optimiser.zero_grad()
    assert p.grad is None
    optimiser.zero_grad(set_to_none=False)
    assert p.grad is None


def test_the_write_is_noted() -> None:
    """A graph that still needs the old values says who overwrote them."""
    layer = nn.Linear(2, 2)
    optimiser = SGD(layer.parameters(), lr=0.1)
    loss = layer(tg.ones(1, 2, requires_grad=True)).sum()
    loss.backward(retain_graph=True)
    optimiser.step()
    with pytest.raises(
        InplaceError, match=r"SGD\.step has overwritten it since, at test_sgd\.py, line \d+: optimiser\.step\(\)"
    ):
        loss.backward()


def test_the_rate_can_change_between_steps() -> None:
    p = tg.tensor([1.0], requires_grad=True)
    p.grad = tg.ones(1)
    optimiser = SGD([p], lr=0.5)
    optimiser.step()
    optimiser.param_groups[0]["lr"] = 0.25
    optimiser.step()
    assert p.tolist() == [0.25]
    mend = 'for group in optimizer.param_groups: group["lr"] = …'
    with teaches(ArgumentError, "SGD.lr = 0.5", "each group has its own settings", mend, "optimiser.lr = 0.5"):
        optimiser.lr = 0.5


def test_a_module_may_change_its_dtype_on_the_way() -> None:
    layer = nn.Linear(2, 1, bias=False)
    optimiser = SGD(layer.parameters(), lr=0.5, momentum=0.9)
    for dtype in ("float32", "float64"):
        layer.to(dtype)
        layer(tg.ones(1, 2, dtype=dtype)).sum().backward()
        optimiser.step()
    assert layer.weight.dtype == np.float64


def test_a_0_d_parameter() -> None:
    p = tg.tensor(3.0, requires_grad=True)
    optimiser = SGD([p], lr=0.1, momentum=0.5)
    for _ in range(2):
        optimiser.zero_grad()
        (p * p).backward()
        optimiser.step()
    assert p.item() == pytest.approx(3 - 0.6 - 0.1 * (0.5 * 6 + 4.8))


def test_a_plain_list_of_layers_is_not_searched() -> None:
    class Listed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = [nn.Linear(2, 2), nn.Linear(2, 2)]

    with pytest.warns(nn.UnregisteredWarning), pytest.raises(ArgumentError) as caught:
        SGD(Listed().parameters(), lr=0.1)
    assert caught.value.tried == "SGD([])"
    assert caught.value.why == "there is nothing to learn: all parameters were left out, or the module has none"
    assert (
        caught.value.mend
        == "unfreeze some with requires_grad_(); assign layers to attributes, as a plain list is not searched"
    )
    assert caught.value.line.endswith(": SGD(Listed().parameters(), lr=0.1)")


@pytest.mark.parametrize(
    ("settings", "tried", "why"),
    [
        ({"lr": -1.0}, "SGD with lr=-1.0", "lr is a number, at least 0"),
        ({"lr": "fast"}, "SGD with lr='fast'", "lr is a number, at least 0"),
        ({"lr": "0.1"}, "SGD with lr='0.1'", "lr is a number, at least 0"),
        ({"lr": float("nan")}, "SGD with lr=nan", "lr is a number, at least 0"),
        ({"momentum": -0.1}, "SGD with momentum=-0.1", "momentum is a number, at least 0"),
        ({"weight_decay": -1}, "SGD with weight_decay=-1", "weight_decay is a number, at least 0"),
    ],
)
def test_settings_that_cannot_be(settings: dict[str, Any], tried: str, why: str) -> None:
    name = next(iter(settings))
    with teaches(ArgumentError, tried, why, f"give it as {name}=…", "SGD([tg.ones(1, requires_grad=True)]"):
        SGD([tg.ones(1, requires_grad=True)], **settings)


@pytest.mark.parametrize("settings", [{}, {"momentum": 0.9, "dampening": 0.1}])
def test_nesterov_needs_momentum(settings: dict[str, Any]) -> None:
    why = "it looks ahead along the momentum, which must not be 0 or dampened"
    with teaches(ArgumentError, "SGD with nesterov=True", why, "give momentum=0.9, and leave dampening at 0", "SGD("):
        SGD([tg.ones(1, requires_grad=True)], nesterov=True, **settings)


def test_what_is_no_tensor() -> None:
    with teaches(DtypeError, "SGD of a Linear", "an optimiser moves tensors", "pass model.parameters()", "SGD("):
        SGD([nn.Linear(1, 1)])  # type: ignore[list-item]
