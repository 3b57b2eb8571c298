"""PrecisionRuler: scaling, formats, training on, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tinygrad_edu_widgets import PrecisionRuler

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu import nn
from tinygrad_edu.errors import ArgumentError


class Trained:
    """A layer, and a step that counts how often it was made."""

    def __init__(self, size: float = 1e-6) -> None:
        self.layer, self.x, self.size, self.steps = nn.Linear(8, 4), tg.randn(16, 8), size, 0

    def step(self) -> None:
        self.steps += 1
        self.layer.zero_grad()
        (self.layer(self.x).square().mean() * self.size).backward()


def test_a_scale_brings_back_what_was_lost() -> None:
    given = Trained()
    widget = PrecisionRuler(given.layer, step=given.step)
    assert given.steps == 1, "there were no gradients yet"
    assert widget.state.before.zero > 0 and "become 0" in widget.text()
    widget.power = 20
    assert widget.state.now.zero == 0 and "loss scale: 2²⁰" in widget.text()
    widget.act("format", "bfloat16")
    assert widget.format == "bfloat16" and widget.state.before.zero == 0
    widget.act("reset")
    assert (widget.power, widget.format) == (0, "float16")


def test_what_the_scale_does_is_what_a_scaled_loss_does() -> None:
    """The claim that the widget stands on: backward of the loss times 2**13 gives the gradients times 2**13."""
    given = Trained()
    given.step()
    plain = [p.grad.numpy().copy() for p in given.layer.parameters()]
    given.size *= 2**13
    given.step()
    for p, before in zip(given.layer.parameters(), plain, strict=True):
        assert np.array_equal(p.grad.numpy(), before * 2**13)
    theirs = sum(int((p.grad.to("float16") == 0).sum().item()) for p in given.layer.parameters())
    widget = PrecisionRuler([tg.tensor(one) for one in plain])
    widget.act("scale", 13)
    assert widget.state.now.zero == theirs


def test_training_goes_on_and_the_gradients_are_read_again() -> None:
    given = Trained()
    widget = PrecisionRuler(given.layer, step=given.step, lr=0.1)
    widget.act("step")
    widget.act("steps")
    assert given.steps == 22 and widget.state.steps == 21 and "after 21 steps here" in widget.text()
    assert "A plain step of 0.1 × gradient changes" in widget.text()
    assert widget.data()["steps"] == 21 and widget.data()["as they are"]["possible"] > 0


@pytest.mark.parametrize("numbers", [tg.randn(50), np.ones((3, 4)), [tg.ones(2), np.ones(3, "f4")]])
def test_numbers_of_any_kind(numbers: Any) -> None:
    widget = PrecisionRuler(numbers)
    assert "numbers" in widget.text() and "Step" not in widget.html and 'own-parameter"' in widget.html


def test_a_sample_on_a_device_and_in_16_bits() -> None:
    assert "sizes of 3 numbers" in PrecisionRuler(tg.ones(3, device="sim")).text()
    assert "sizes of 1 number;" in PrecisionRuler(tg.ones(1, dtype="bfloat16")).text()


def test_what_cannot_be_shown_is_refused() -> None:
    with pytest.raises(ArgumentError, match="its parameters have no gradients"):
        PrecisionRuler(nn.Linear(2, 2))
    with teaches(ArgumentError, "PrecisionRuler(lr=0)", "a learning rate is more than 0", "write lr=0.01"):
        PrecisionRuler(tg.ones(2), lr=0)
    with pytest.raises(ArgumentError, match="or several in a list"):
        PrecisionRuler("numbers")
    widget = PrecisionRuler(tg.ones(2))
    widget.act("scale", 99)
    assert "the scale goes from 1 to 2**44" in widget.text() and widget.power == 0
    with pytest.raises(KeyError):
        widget.act("step")
