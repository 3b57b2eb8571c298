"""GradScaler: what it refuses, several devices, and a training that fails without it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu.amp import GradScaler, autocast
from tinygrad_edu.errors import ArgumentError, AutogradError, DtypeError

KINDS = pytest.mark.parametrize("device", ["cpu", "sim"])


def learner(device: str = "cpu", dtype: str = "float32") -> tuple[Any, Any]:
    w = tg.ones(3, device=device, dtype=dtype).requires_grad_()
    return w, tg.optim.SGD([w], lr=1.0)


@KINDS
@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
def test_small_gradients_survive_and_large_ones_skip_the_step(device: str) -> None:
    """A product under autocast hands its gradient on in float16, where 1e-8 is zero."""
    for scale, there in ((None, False), (2.0**12, True)):
        w, optimizer = learner(device)
        scaler = GradScaler(device, init_scale=scale or 1.0, enabled=scale is not None)
        with autocast(device, dtype="float16"):
            loss = (tg.ones(2, 3, device=device) @ w).float().sum() * 1e-8
        scaler.scale(loss).backward()
        assert bool((w.grad != 0).all()) is there
        scaler.unscale_(optimizer)
        scaler.step(optimizer)
        if there:
            assert w.grad.tolist() == pytest.approx([2e-8] * 3, rel=1e-2)
        scaler.update() if there else None
    w, optimizer = learner(device)
    scaler = GradScaler(device, init_scale=2.0**17)
    with autocast(device, dtype="float16"):
        loss = (tg.ones(2, 3, device=device) @ w).float().sum()
    scaler.scale(loss).backward()  # 131,072 is infinite in float16
    assert scaler.step(optimizer) is None
    assert w.tolist() == [1.0, 1.0, 1.0] and scaler.get_scale() == 2.0**17
    scaler.update()
    assert scaler.get_scale() == 2.0**16


def test_a_device_is_waited_for_once_in_a_step() -> None:
    ws = [tg.ones(50, device="sim").requires_grad_() for _ in range(6)]
    optimizer, scaler = tg.optim.SGD(ws, lr=0.1), GradScaler("sim", init_scale=8.0)
    for w in ws:
        w.grad = tg.ones(50, device="sim")
    with tg.sim.timeline() as seen:
        scaler.step(optimizer)
        scaler.update()
        tg.sim.finish()
    names = [work.name for work in seen if work.kind == "kernel"]
    assert names[:5] == ["mul for each of 6", "isfinite for each of 6", "all for each of 6", "stack", "all"]
    assert sum(work.kind == "wait" and work.name != "synchronize" for work in seen) == 1
    assert ws[0].cpu().detach().tolist() == pytest.approx([1 - 0.1 / 8] * 50)


def test_parameters_on_two_devices() -> None:
    near, far = tg.ones(3).requires_grad_(), tg.ones(3, device="sim").requires_grad_()
    optimizer, scaler = tg.optim.SGD([near, far], lr=1.0), GradScaler("sim", init_scale=2.0)
    near.grad, far.grad = tg.ones(3), tg.ones(3, device="sim")
    scaler.step(optimizer)
    scaler.update()
    assert near.tolist() == far.tolist() == [0.5] * 3
    near.grad, far.grad = tg.ones(3), tg.tensor([1.0, float("nan"), 1.0], device="sim")
    scaler.step(optimizer)
    scaler.update()
    assert near.tolist() == [0.5] * 3 and scaler.get_scale() == 1.0


def test_disabled_it_passes_everything_through() -> None:
    w, optimizer = learner()
    scaler = GradScaler("cpu", enabled=False)
    loss = w.sum()
    assert scaler.scale(loss) is loss and scaler.get_scale() == 1.0 and not scaler.is_enabled()
    loss.backward()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    assert w.tolist() == [0.0, 0.0, 0.0] and scaler.state_dict() == {}
    scaler.load_state_dict({})


def test_calls_in_a_wrong_order_are_refused() -> None:
    w, optimizer = learner()
    scaler = GradScaler("cpu")
    once = "call update() once per iteration"
    none, first = "none of its parameters has a gradient", "call scaler.scale(loss).backward() first"
    with teaches(AutogradError, "GradScaler.step of an optimiser", none, first):
        scaler.step(optimizer)
    scaler = GradScaler("cpu")
    looked = "no gradient has been looked at since the last one"
    with teaches(AutogradError, "GradScaler.update", looked, "call scaler.step(optimizer) first"):
        scaler.update()
    scaler.scale(w.sum()).backward()
    scaler.unscale_(optimizer)
    why = "its gradients have been unscaled since the last update()"
    with teaches(AutogradError, "GradScaler.unscale_ of an optimiser", why, once):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    why = "its gradients have been used for a step since the last update()"
    with teaches(AutogradError, "GradScaler.unscale_ of an optimiser", why, once):
        scaler.unscale_(optimizer)
    why = "it has stepped since the last update()"
    with teaches(AutogradError, "GradScaler.step of an optimiser", why, f"{once}, after all steps"):
        scaler.step(optimizer)


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
def test_what_cannot_be_is_refused() -> None:
    w, optimizer = learner(dtype="float16")
    scaler = GradScaler("cpu")
    scaler.scale(w.sum()).backward()
    with pytest.raises(DtypeError, match=r"unscaling a float16 gradient \(3,\)"):
        scaler.step(optimizer)
    with pytest.raises(ArgumentError, match="step with a closure"):
        scaler.step(optimizer, closure=lambda: 1.0)
    with pytest.raises(ArgumentError, match="scale of a float"):
        scaler.scale(1.0)
    bad: list[Callable[[], Any]] = [
        lambda: GradScaler("cpu", init_scale=0.0),
        lambda: GradScaler("cpu", growth_factor=1.0),
        lambda: GradScaler("cpu", backoff_factor=1.0),
        lambda: GradScaler("cpu", growth_interval=1.5),
        lambda: scaler.update(float("nan")),
        lambda: scaler.load_state_dict({"scale": 1.0}),
    ]
    for one in bad:
        with pytest.raises(ArgumentError):
            one()
    with pytest.raises(ArgumentError, match="as that of a scaler which was disabled"):
        scaler.load_state_dict({})


def test_lists_of_losses_and_a_new_scale() -> None:
    scaler = GradScaler("cpu", init_scale=4.0)
    first, (second, third) = scaler.scale([tg.ones(()), (tg.ones(2), tg.ones(1))])
    assert first.item() == 4.0 and second.tolist() == [4.0, 4.0] and third.item() == 4.0
    scaler.update(tg.tensor(16.0))
    assert scaler.get_scale() == 16.0
