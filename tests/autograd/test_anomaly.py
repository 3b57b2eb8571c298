"""detect_anomaly: where a gradient first is nan, and where that came from."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu import nn
from tinygrad_edu.autograd import detect_anomaly, set_detect_anomaly
from tinygrad_edu.errors import AutogradError
from tinygrad_edu.settings import modes

OWN = "0 times an infinite slope, or a number that was nan already"


def test_the_operation_and_its_line_in_forward() -> None:
    x = tg.tensor([0.0, 4.0], requires_grad=True)
    roots = x.sqrt()  # this line is to blame
    loss = (roots * 0).sum()
    mend = "the slope of sqrt at 0 is infinite: add a small number under the root"
    why = f"its gradient is nan in 1 of 2 places: {OWN}"
    with detect_anomaly(), teaches(AutogradError, "backward of sqrt (shape (2,), float32)", why, mend, "to blame"):
        loss.backward()


def test_where_a_nan_came_up_in_forward() -> None:
    x = tg.tensor([-1.0, 4.0], requires_grad=True)
    with detect_anomaly():
        bad = x.log()
        y = (bad * x).sum()
        with pytest.raises(AutogradError) as caught:
            y.backward()
    assert caught.value.tried.startswith("backward of mul")
    assert "in forward, the first nan was the result of log (test_anomaly.py, line " in caught.value.why
    assert "bad = x.log()" in caught.value.why


def test_where_a_gradient_became_infinite() -> None:
    x = tg.tensor([0.0, 1.0], requires_grad=True)
    y = x * tg.tensor([0.0, 1.0])
    with detect_anomaly(), pytest.raises(AutogradError) as caught:
        y.sqrt().sum().backward()  # infinite at sqrt, times 0 at mul
    assert caught.value.tried.startswith("backward of mul")
    assert "the gradient had become infinite at sqrt (test_anomaly.py, line " in caught.value.why
    assert "y = x * tg.tensor" in caught.value.line


@pytest.mark.parametrize("name", ["log", "sqrt", "div", "pow"])
def test_each_gets_a_remedy_of_its_own(name: str) -> None:
    x = tg.tensor([0.0, 1.0], requires_grad=True)
    calls: dict[str, Any] = {"log": x.log, "sqrt": x.sqrt, "div": lambda: 1 / x, "pow": lambda: x**0.5}
    with detect_anomaly(), pytest.raises(AutogradError) as caught:
        (calls[name]() * tg.tensor([0.0, 1.0])).sum().backward()
    assert (name in caught.value.tried and name in caught.value.mend) or name in ("div", "pow")


def test_what_is_in_order_stays_as_it_is() -> None:
    """Values, gradients, and the infinities of a mask, which are meant."""
    model, x = nn.MultiheadAttention(4, 2), tg.rand(3, 1, 4)
    mask = tg.full((3, 3), float("-inf")).triu(1)
    found = []
    for watched in (False, True):
        model.zero_grad()
        with detect_anomaly(check_nan=watched):
            y, _ = model(x, x, x, attn_mask=mask)
            y.sum().backward()
        found.append([p.grad.numpy().copy() for p in model.parameters() if p.grad is not None])
    assert all(np.array_equal(a, b) for a, b in zip(*found, strict=True))


def test_a_nan_that_was_given_is_nobodys_fault() -> None:
    x = tg.ones(2, requires_grad=True)
    with detect_anomaly():
        (x * 2).backward(tg.tensor([float("nan"), 1.0]))
    assert np.isnan(x.grad.numpy()[0])


def test_a_branch_that_was_not_taken() -> None:
    """In forward a nan may be left out on purpose; only a gradient that is nan stops."""
    x = tg.tensor([-1.0, 2.0], requires_grad=True)
    with detect_anomaly():
        tg.where(x > 0, x.log(), x).sum().backward()
    assert np.isfinite(x.grad.numpy()).all()


def test_second_derivatives_and_half_precision() -> None:
    x = tg.tensor([0.0, 1.0], requires_grad=True)
    with detect_anomaly():
        (g,) = tg.autograd.grad((x * x.sqrt().detach()).sum(), x, create_graph=True)
        with pytest.raises(AutogradError, match="backward of sqrt"):
            tg.autograd.grad((x.sqrt() * 0).sum(), x, create_graph=True)
    h = tg.tensor([0.0, 1.0], dtype=tg.float16, requires_grad=True)
    with detect_anomaly(), pytest.raises(AutogradError, match="float16"):
        (h.sqrt() * 0).sum().backward()
    assert g is not None


@pytest.mark.parametrize("check", [True, False])
def test_switched_on_at_once(check: bool) -> None:
    before = modes().observers
    set_detect_anomaly(True, check)
    try:
        assert sum(isinstance(o, detect_anomaly) for o in modes().observers) == 1
        x = tg.zeros(2, requires_grad=True)
        if check:
            with pytest.raises(AutogradError, match="backward of sqrt"):
                (x.sqrt() * 0).sum().backward()
        else:
            with np.errstate(all="ignore"):
                (x.sqrt() * 0).sum().backward()
    finally:
        set_detect_anomaly(False)
    assert modes().observers == before
    assert modes().plain


def test_switched_on_for_a_block_and_off_inside() -> None:
    x = tg.zeros(2, requires_grad=True)
    with set_detect_anomaly(True):
        with set_detect_anomaly(False), np.errstate(all="ignore"):
            (x.sqrt() * 0).sum().backward()
        with pytest.raises(AutogradError):
            (x.sqrt() * 0).sum().backward()
    assert modes().plain


def test_other_threads_are_not_watched() -> None:
    found: list[Any] = []

    def work() -> None:
        x = tg.zeros(1, requires_grad=True)
        with np.errstate(all="ignore"):
            (x.sqrt() * 0).sum().backward()
        found.append(x.grad.numpy())

    with detect_anomaly():
        thread = threading.Thread(target=work)
        thread.start()
        thread.join(60)
    assert len(found) == 1
