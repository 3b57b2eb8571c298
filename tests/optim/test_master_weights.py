"""Master weights: 16-bit parameters that move as float32 ones do, and are rounded for the model after each step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tinygrad_edu import nn, optim
from tinygrad_edu.errors import ArgumentError
from tinygrad_edu.optim import master_weights

OPTIMISERS: dict[str, dict[str, Any]] = {
    "SGD": {"lr": 1e-3, "momentum": 0.9}, "Adam": {"lr": 1e-4}, "AdamW": {"lr": 1e-4}, "RMSprop": {"lr": 1e-4},
    "Adagrad": {"lr": 1e-3}, "Adadelta": {"lr": 0.1}, "Adamax": {"lr": 1e-4}, "NAdam": {"lr": 1e-4},
    "RAdam": {"lr": 1e-3}, "Rprop": {"lr": 1e-4},
}  # fmt: skip
SHAPES = (3,), (60, 50), (2, 2), ()  # small ones go side by side


def steps(make: Any, params: list[tg.Tensor], count: int = 12) -> None:
    for i in range(count):
        for place, p in enumerate(params):
            g = np.random.default_rng(10 * i + place).normal(size=p.shape).astype("f4")
            p.grad = tg.tensor(g.astype("f2").astype("f4")).to(p.dtype)
        make.step()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", OPTIMISERS)
@pytest.mark.parametrize("device", ["cpu", "sim"])
def test_they_move_as_float32_parameters_do(name: str, dtype: str, device: str) -> None:
    start = [np.random.default_rng(i).normal(size=shape).astype("f4") for i, shape in enumerate(SHAPES)]
    narrow = [tg.tensor(x).to(dtype).to(device).requires_grad_() for x in start]
    wide = [p.detach().float().requires_grad_() for p in narrow]
    kept = master_weights(getattr(optim, name)(narrow, **OPTIMISERS[name]))
    usual = getattr(optim, name)(wide, **OPTIMISERS[name])
    for one, params in ((kept, narrow), (usual, wide)):
        for i in range(12):
            for place, p in enumerate(params):
                g = tg.tensor(np.random.default_rng(10 * i + place).normal(size=p.shape).astype("f4"))
                p.grad = g.to(dtype).to(p.dtype).to(device)
            one.step()
    for p, w in zip(narrow, wide, strict=True):
        assert p.dtype == dtype and kept.state[p]["master"].dtype == "float32"
        np.testing.assert_allclose(
            kept.state[p]["master"].cpu().numpy(), w.detach().cpu().numpy(), rtol=1e-6, atol=1e-7
        )
        assert kept.state[p]["master"].to(dtype).tolist() == p.tolist(), "the model has them rounded"


def test_without_them_small_steps_are_rounded_away() -> None:
    for keep, moved in ((False, False), (True, True)):
        w = tg.ones(4, dtype="bfloat16", requires_grad=True)
        step = optim.SGD([w], lr=1e-3)
        if keep:
            assert master_weights(step) is step
        for _ in range(50):
            w.grad = tg.ones(4, dtype="bfloat16")
            step.step()
        assert (w.tolist() != [1.0] * 4) == moved
        assert w.tolist() == ([pytest.approx(0.95, abs=2**-8)] * 4 if keep else [1.0] * 4)


def test_float32_parameters_get_none() -> None:
    narrow, wide = (tg.ones(3, dtype=dtype, requires_grad=True) for dtype in ("float16", "float32"))
    step = master_weights(optim.Adam([narrow, wide]))
    for p in (narrow, wide):
        p.grad = tg.ones(3, dtype=p.dtype)
    step.step()
    assert "master" in step.state[narrow] and "master" not in step.state[wide]


def test_what_somebody_else_writes_is_taken_over() -> None:
    w = tg.ones(3, dtype="float16", requires_grad=True)
    step = master_weights(optim.SGD([w], lr=1e-4))

    def one() -> None:
        w.grad = tg.ones(3, dtype="float16")
        step.step()

    one()
    with tg.no_grad():
        w[0] = 5.0
    one()
    assert step.state[w]["master"].tolist() == pytest.approx([5.0 - 1e-4, 1 - 2e-4, 1 - 2e-4], rel=1e-6)


def test_a_state_brings_them_back() -> None:
    def made() -> tuple[tg.Tensor, Any]:
        w = tg.ones(3, dtype="float16", requires_grad=True)
        return w, master_weights(optim.SGD([w], lr=1e-4, momentum=0.9))

    (w, step), (other, again) = made(), made()
    steps(step, [w], 5)
    with tg.no_grad():
        other.copy_(w)
    again.load_state_dict(step.state_dict())
    assert again.state[other]["master"].tolist() == step.state[w]["master"].tolist()
    steps(step, [w], 5)
    steps(again, [other], 5)
    assert again.state[other]["master"].tolist() == step.state[w]["master"].tolist()


def test_a_model_in_sixteen_bits_learns_more() -> None:
    x, y, _, _ = tg.data.digits().split(test=0.2)
    losses = {}
    for keep in (True, False):
        tg.manual_seed(0)
        net = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10)).to("bfloat16")
        step = optim.SGD(net.parameters(), lr=0.02)
        step = master_weights(step) if keep else step
        for _ in range(100):
            step.zero_grad()
            loss = nn.functional.cross_entropy(net(x[:512].to("bfloat16")).float(), y[:512])
            loss.backward()
            step.step()
        losses[keep] = loss.item()
    assert losses[True] < losses[False] - 0.02


def test_what_has_no_formula_is_refused() -> None:
    with pytest.raises(ArgumentError, match="no formula for each parameter"):
        master_weights(optim.LBFGS([tg.ones(1, requires_grad=True)]))
    with pytest.raises(ArgumentError, match="no formula"):
        master_weights(3)  # type: ignore[arg-type]
