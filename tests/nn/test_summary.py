"""The summary: what it counts, what it shows, and that it leaves the model alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.nn.models import Block, convnet
from tinygrad_edu import nn
from tinygrad_edu.errors import ArgumentError, ShapeError
from tinygrad_edu.nn.summary import Row
from tinygrad_edu.tensor.random import generator


def test_a_row_for_each_module() -> None:
    found = nn.summary(convnet(), (2, 1, 8, 8))
    assert found.rows == (
        Row("", "Sequential", (2, 10), 1),
        Row("0", "Conv2d", (2, 4, 8, 8), 1, 40, 40, 0, 160),
        Row("1", "ReLU", (2, 4, 8, 8), 1),
        Row("2", "MaxPool2d", (2, 4, 4, 4), 1),
        Row("3", "Flatten", (2, 64), 1),
        Row("4", "Linear", (2, 10), 1, 640, 640, 0, 2560),
    )
    assert (found.parameters, found.trainable, found.fixed, found.buffers, found.bytes) == (680, 680, 0, 0, 2720)
    assert found.inputs == ((2, 1, 8, 8),)


def test_the_table() -> None:
    model = nn.Sequential(nn.Linear(4, 1000), nn.Sequential(nn.ReLU(), nn.Linear(1000, 2)), nn.Linear(2, 2))
    model[2].requires_grad_(False)
    model[2].register_buffer("count", tg.tensor(0))
    assert repr(nn.summary(model, (3, 4))) == str(nn.summary(model, tg.ones(3, 4)))
    assert repr(nn.summary(model, (3, 4))) == (
        "module   class       output shape  parameters   bytes  share\n"
        "(model)  Sequential  (3, 2)                 0       0   0.0%\n"
        "0        Linear      (3, 1000)          5,000  20,000  71.3%\n"
        "1        Sequential  (3, 2)                 0       0   0.0%\n"
        "1.0      ReLU        (3, 1000)              0       0   0.0%\n"
        "1.1      Linear      (3, 2)             2,002   8,008  28.6%\n"
        "2        Linear      (3, 2)                 6      32   0.1%  (fixed)\n"
        "7,008 parameters: 7,002 trainable, 6 fixed; 1 numbers in buffers; 28,040 bytes together"
    )
    assert repr(nn.summary(model, depth=1)) == (
        "module   class       parameters   bytes  share\n"
        "(model)  Sequential           0       0   0.0%\n"
        "0        Linear           5,000  20,000  71.3%\n"
        "1        Sequential       2,002   8,008  28.6%\n"
        "2        Linear               6      32   0.1%  (fixed)\n"
        "7,008 parameters: 7,002 trainable, 6 fixed; 1 numbers in buffers; 28,040 bytes together"
    )
    assert [row.parameters for row in nn.summary(model, depth=0).rows] == [7008]


def test_a_model_without_parameters() -> None:
    assert str(nn.summary(nn.ReLU(), (3,))) == (
        "module   class  output shape  parameters  bytes  share\n"
        "(model)  ReLU   (3,)                   0      0   0.0%\n"
        "0 parameters: 0 trainable, 0 fixed; 0 numbers in buffers; 0 bytes together"
    )


def test_what_is_shared_is_counted_once_and_marked() -> None:
    layer = nn.Linear(2, 2)
    other = nn.Linear(2, 2)
    other.weight = layer.weight
    found = nn.summary(nn.Sequential(layer, layer, other), (1, 2))
    assert [row.parameters for row in found.rows] == [0, 6, 0, 2]
    assert [row.shared for row in found.rows] == [(), (), ("0.weight", "0.bias"), ("0.weight",)]
    assert [row.calls for row in found.rows] == [1, 2, 2, 1]
    assert found.parameters == 8
    assert str(found).split("\n")[3].endswith("  (shared with 0.weight, 0.bias; called 2 times)")


def test_each_place_of_a_shared_module_shows_its_own_output() -> None:
    act = nn.ReLU()
    found = nn.summary(nn.Sequential(nn.Linear(2, 3), act, nn.Linear(3, 4), act), (1, 2))
    assert [row.output for row in found.rows] == [(1, 4), (1, 3), (1, 3), (1, 4), (1, 4)]


def test_several_inputs_and_outputs_and_modules_that_are_not_called() -> None:
    class Two(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.used, self.unused = nn.Linear(2, 3), nn.Linear(2, 3)

        def forward(self, a: Any, b: Any) -> Any:
            return self.used(a), {"sum": a + b, "text": "x"}

    for given in ([(5, 2), (1, 2)], (tg.ones(5, 2), tg.ones(1, 2))):
        found = nn.summary(Two(), given)
        assert found.inputs == ((5, 2), (1, 2))
        assert [(row.path, row.output, row.calls) for row in found.rows] == [
            ("", ((5, 3), ((5, 2), None)), 1), ("used", (5, 3), 1), ("unused", None, 0),
        ]  # fmt: skip
        assert "not called" in str(found)


def test_shapes_become_zeros_of_the_dtype_and_device_of_the_model() -> None:
    seen = []
    model = nn.Linear(2, 2).to("far", "float64")
    model.register_forward_pre_hook(lambda m, inputs: seen.append(inputs[0]))
    nn.summary(model, (1, 2))
    assert [(x.device, x.dtype.name, x.tolist()) for x in seen] == [("far", "float64", [[0.0, 0.0]])]


class Changing(nn.Module):
    """Draws numbers and, while it is trained, counts."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = Block()
        self.register_buffer("seen", tg.zeros(1))

    def forward(self, x: tg.Tensor) -> tg.Tensor:
        if self.training:
            self.seen += 1
        return self.inner(x + tg.randn(3))


@pytest.mark.parametrize("fails", [False, True])
def test_the_model_and_the_generator_are_left_as_they_were(fails: bool) -> None:
    model = Changing()
    model.inner.second.eval()
    handle = model.register_forward_hook(lambda *_: None)
    before = generator().bit_generator.state
    if fails:
        with pytest.raises(ShapeError):
            nn.summary(model, (1, 7))
    else:
        assert not any(row.calls == 0 for row in nn.summary(model, (1, 3)).rows)
    assert str(generator().bit_generator.state) == str(before)
    assert model.seen.tolist() == [0.0]
    assert [m.training for m in model.modules()] == [True, True, True, False]
    assert [m._hooks is None for m in model.modules()] == [False, True, True, True]
    assert tg.is_grad_enabled()
    handle.remove()


def test_a_summary_inside_a_step_does_not_spoil_it() -> None:
    model = Changing()
    loss = model(tg.ones(1, 3)).sum()
    nn.summary(model, (1, 3))
    loss.backward()
    assert all(np.isfinite(p.grad.numpy()).all() for p in model.parameters() if p.grad is not None)


def test_plain_lists_are_noticed_here_too() -> None:
    model = Block()
    model.more = [nn.Linear(1, 1)]
    with pytest.warns(nn.UnregisteredWarning):
        assert nn.summary(model).parameters == 41


def test_only_modules_have_a_summary() -> None:
    with pytest.raises(ArgumentError, match="summary of a list"):
        nn.summary([nn.Linear(1, 1)])
