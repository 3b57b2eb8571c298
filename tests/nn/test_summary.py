"""The summary: what it counts, what it shows, and that it leaves the model alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.nn.models import Block, convnet
from tinygrad_edu import nn
from tinygrad_edu.core.slow import Call, Interceptor
from tinygrad_edu.errors import ArgumentError, ShapeError
from tinygrad_edu.nn import functional as F
from tinygrad_edu.nn.summary import Row
from tinygrad_edu.observe import Counters, roofline
from tinygrad_edu.tensor.random import generator


def test_a_row_for_each_module() -> None:
    found = nn.summary(convnet(), (2, 1, 8, 8))
    assert found.rows == (
        Row("", "Sequential", (2, 10), 1),
        Row("0", "Conv2d", (2, 4, 8, 8), 1, 40, 40, 0, 160, flops=512 * (2 * 9 + 1)),
        Row("1", "ReLU", (2, 4, 8, 8), 1, flops=512),
        Row("2", "MaxPool2d", (2, 4, 4, 4), 1, flops=128 * 3),
        Row("3", "Flatten", (2, 64), 1),
        Row("4", "Linear", (2, 10), 1, 640, 640, 0, 2560, flops=20 * 2 * 64),
    )
    assert found.flops == 9_728 + 512 + 384 + 2_560
    assert (found.parameters, found.trainable, found.fixed, found.buffers, found.bytes) == (680, 680, 0, 0, 2720)
    assert found.inputs == ((2, 1, 8, 8),)


def test_the_table() -> None:
    model = nn.Sequential(nn.Linear(4, 1000), nn.Sequential(nn.ReLU(), nn.Linear(1000, 2)), nn.Linear(2, 2))
    model[2].requires_grad_(False)
    model[2].register_buffer("count", tg.tensor(0))
    assert repr(nn.summary(model, (3, 4))) == str(nn.summary(model, tg.ones(3, 4)))
    assert repr(nn.summary(model, (3, 4))) == (
        "module   class       output shape  parameters   bytes  share   FLOPs\n"
        "(model)  Sequential  (3, 2)                 0       0   0.0%       0\n"
        "0        Linear      (3, 1000)          5,000  20,000  71.3%  27,000\n"
        "1        Sequential  (3, 2)                 0       0   0.0%       0\n"
        "1.0      ReLU        (3, 1000)              0       0   0.0%   3,000\n"
        "1.1      Linear      (3, 2)             2,002   8,008  28.6%  12,006\n"
        "2        Linear      (3, 2)                 6      32   0.1%      30  (fixed)\n"
        "7,008 parameters: 7,002 trainable, 6 fixed; 1 numbers in buffers; 28,040 bytes together\n"
        "42,036 FLOPs for one forward of this input"
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
        "module   class  output shape  parameters  bytes  share  FLOPs\n"
        "(model)  ReLU   (3,)                   0      0   0.0%      3\n"
        "0 parameters: 0 trainable, 0 fixed; 0 numbers in buffers; 0 bytes together\n"
        "3 FLOPs for one forward of this input"
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


def test_a_shared_module_without_parameters_is_marked_too() -> None:
    act = nn.ReLU()
    inner = nn.Sequential(act)
    for given in (None, (1, 2)):
        found = nn.summary(nn.Sequential(act, inner, inner), given)
        assert [row.path for row in found.rows] == ["", "0", "1", "1.0", "2", "2.0"]
        assert [row.shared for row in found.rows] == [(), (), (), ("0",), ("1",), ("0",)]


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


# FLOPs ----------------------------------------------------------------------------------------------------------------


def flops(model: nn.Module, input: Any, **how: Any) -> dict[str, int]:
    """What the rows say, without those of nothing."""
    return {row.path: row.flops for row in nn.summary(model, input, **how).rows if row.flops}


@pytest.mark.parametrize(
    ("layer", "shape", "expected"),
    [
        (nn.Linear(4, 3), (4,), 3 * (2 * 4 + 1)),
        (nn.Linear(4, 3), (2, 5, 4), 30 * (2 * 4 + 1)),
        (nn.Linear(4, 3, bias=False), (5, 4), 15 * 2 * 4),
        (nn.Conv2d(4, 6, 3), (2, 4, 5, 7), 2 * 6 * 3 * 5 * (2 * 4 * 9 + 1)),
        (nn.Conv2d(4, 6, 3, stride=2, padding=1, groups=2, bias=False), (4, 8, 8), 6 * 16 * 2 * 2 * 9),
        (nn.Conv1d(4, 6, 3), (2, 4, 9), 2 * 6 * 7 * (2 * 4 * 3 + 1)),
        (nn.ConvTranspose2d(4, 6, 3, bias=False), (2, 4, 5, 5), 2 * 4 * 25 * 2 * 6 * 9),
        (nn.ReLU(inplace=True), (2, 5), 10),
        (nn.Dropout(), (2, 5), 0),
        (nn.Flatten(), (2, 5, 3), 0),
    ],
    ids=str,
)
def test_flops_of_one_layer(layer: nn.Module, shape: tuple[int, ...], expected: int) -> None:
    found = nn.summary(layer, shape)
    assert (found.flops, found.rows[0].flops) == (expected, expected)
    assert type(found.rows[0].flops) is int
    assert nn.summary(layer).flops == 0


def test_flops_of_a_transformer() -> None:
    layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
    rows, scores = 2 * 5, 2 * 4 * 5 * 5  # two sentences of five words, four heads
    expected = {
        "": 2 * rows * 16 + rows * 32,  # two sums with the input, and the relu
        "self_attn": rows * 48 * (2 * 16 + 1) + scores * (2 * 4 + 2 * 4 + 8),  # and scale, mask and softmax
        "self_attn.out_proj": rows * 16 * (2 * 16 + 1),
        "linear1": rows * 32 * (2 * 16 + 1),
        "linear2": rows * 16 * (2 * 32 + 1),
        "norm1": rows * 16 * 9,
        "norm2": rows * 16 * 9,
    }
    assert flops(layer, (2, 5, 16)) == expected
    assert flops(layer, (2, 5, 16), depth=0) == {"": sum(expected.values())}
    folded = flops(layer, (2, 5, 16), depth=1)
    assert folded["self_attn"] == expected["self_attn"] + expected["self_attn.out_proj"]
    assert sum(folded.values()) == sum(expected.values())
    twice = nn.TransformerEncoder(layer, 2)
    assert nn.summary(twice, (2, 5, 16)).flops == 2 * sum(expected.values())


class Adding(Interceptor):
    """The FLOPs of all operations."""

    def __init__(self) -> None:
        self.flops = 0

    def forward(self, call: Call, proceed: Callable[[], Any]) -> Any:
        result = proceed()
        self.flops += call.op.cost([getattr(o, "array", o) for o in call.operands], result.array, call.params).flops
        return result


def running(model: nn.Module, x: tg.Tensor) -> Callable[[], Any]:
    """One forward, as the summary runs it."""

    def run() -> Any:
        with tg.no_grad():
            return model.eval()(x)

    return run


@pytest.mark.parametrize(
    ("model", "shape"),
    [
        (convnet(), (2, 1, 8, 8)),
        (Block(), (4, 3)),
        (nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.GELU(), nn.AvgPool2d(2)), (2, 3, 8, 8)),
        (nn.LSTM(4, 8, 2, bidirectional=True), (3, 2, 4)),
        (nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, activation="gelu"), 2), (3, 2, 8)),
        (nn.utils.weight_norm(nn.Linear(3, 4)), (2, 3)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_total_is_that_of_all_operations(model: nn.Module, shape: tuple[int, ...]) -> None:
    with Adding() as adding:
        running(model, tg.zeros(*shape))()
    for depth in (None, 0, 1, 2):
        assert nn.summary(model, shape, depth=depth).flops == adding.flops > 0


def test_the_total_is_that_of_a_roofline() -> None:
    found = roofline.measured(running(convnet(), tg.zeros(2, 1, 8, 8)))
    assert nn.summary(convnet(), (2, 1, 8, 8)).flops == sum(point.calls * point.flops for point in found.points)


def test_all_calls_of_a_module_count_at_its_first_place() -> None:
    class Loop(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.step, self.last = nn.Linear(2, 2), nn.ReLU()
            self.again = self.step

        def forward(self, x: Any) -> Any:
            for _ in range(3):
                x = self.step(x)
            return self.last(self.again(x))

    assert flops(Loop(), (5, 2)) == {"step": 4 * 10 * (2 * 2 + 1), "last": 10}
    inside = nn.Sequential(nn.Sequential(Loop().last), Loop())
    inside[1].last = inside[0][0]
    assert flops(inside, (5, 2), depth=1) == {"0": 20, "1": 200}


def test_operations_belong_to_the_innermost_module_that_runs() -> None:
    class Own(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Sequential(nn.Linear(2, 3))

        def forward(self, x: Any) -> Any:
            made = nn.Linear(2, 2, bias=False)  # no part of the model, so it counts with this
            return F.relu(self.inner(made(x + 1)) * 2)

    model = Own()
    own, linear = 10 + 10 * 2 * 2 + 15 + 15, 15 * (2 * 2 + 1)
    assert flops(model, (5, 2)) == {"": own, "inner.0": linear}
    model.inner.register_forward_pre_hook(lambda module, inputs: (inputs[0] * 1,))
    model.inner[0].register_forward_hook(lambda module, inputs, output: output + 1)
    assert flops(model, (5, 2)) == {"": own, "inner": 10, "inner.0": linear + 15}
    outer = nn.Sequential(model)
    assert flops(outer, (5, 2), depth=1) == {"0": own + 10 + linear + 15}


def test_the_first_values_of_lazy_layers_are_no_part_of_a_forward() -> None:
    def lazy() -> nn.Module:
        return nn.Sequential(nn.LazyConv2d(2, 3), nn.LazyBatchNorm2d(), nn.Flatten(), nn.LazyLinear(3))

    model = lazy()
    model(tg.ones(2, 1, 4, 4))
    assert flops(lazy(), (2, 1, 4, 4)) == flops(model, (2, 1, 4, 4))
    assert flops(nn.LazyLinear(3), (5, 2)) == {"": 15 * (2 * 2 + 1)}


def test_operations_inside_a_function_count_whoever_else_watches() -> None:
    class Twice(tg.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return layer(x) + x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g

    class Applies(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = layer

        def forward(self, x: Any) -> Any:
            return Twice.apply(x) * 2

    layer = nn.Linear(2, 2)
    expected = {"": 10 + 10, "layer": 10 * (2 * 2 + 1)}
    assert flops(Applies(), (5, 2)) == expected
    with Counters() as outer:
        assert flops(Applies(), (5, 2)) == expected
    assert outer.calls == 2  # the Function and the product: to others it is one operation


def test_flops_of_what_is_compiled_or_on_a_device() -> None:
    model = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
    compiled = tg.compile(model)
    for _ in range(2):
        assert flops(compiled, (5, 2)) == {"_orig_mod.0": 75, "_orig_mod.1": 15}
        compiled(tg.ones(5, 2))
    assert flops(model.to("sim"), (5, 2)) == {"0": 75, "1": 15}
