"""Modules: what they register, under which names, what they say when misused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tinygrad_edu import nn
from tinygrad_edu.errors import AutogradError, DtypeError, ShapeError


def convnet() -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64, 10, bias=False)
    )


class Block(nn.Module):
    """Two layers and a residual."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(3, 5)
        self.gain = nn.Parameter(tg.ones(3))
        self.second = nn.Linear(5, 3)

    def forward(self, x: tg.Tensor, scale: float = 1.0) -> tg.Tensor:
        return x + self.second(self.first(x).tanh()) * self.gain * scale


# Names -------------------------------------------------------------------------------------------------------


def test_names_shapes_and_order_are_those_of_pytorch() -> None:
    """Own parameters first, then those of the modules inside, in the order of assignment."""
    shapes = {name: p.shape for name, p in Block().named_parameters()}
    assert list(shapes.items()) == [
        ("gain", (3,)),
        ("first.weight", (5, 3)),
        ("first.bias", (5,)),
        ("second.weight", (3, 5)),
        ("second.bias", (3,)),
    ]
    assert list(Block().state_dict()) == list(shapes)
    assert [(name, t.shape) for name, t in convnet().state_dict().items()] == [
        ("0.weight", (4, 1, 3, 3)),
        ("0.bias", (4,)),
        ("4.weight", (10, 64)),
    ]
    assert [name for name, _ in nn.Sequential(Block(), nn.ReLU()).named_modules()] == [
        "",
        "0",
        "0.first",
        "0.second",
        "1",
    ]


def test_a_shared_parameter_appears_once_among_parameters_and_twice_in_the_state() -> None:
    shared = nn.Linear(2, 2)
    model = nn.Sequential(shared, nn.Tanh(), shared)
    assert [name for name, _ in model.named_parameters()] == ["0.weight", "0.bias"]
    assert [name for name, _ in model.named_modules()] == ["", "0", "1"]
    assert list(model.state_dict()) == ["0.weight", "0.bias", "2.weight", "2.bias"]
    tied = Block()
    tied.second.weight = tied.first.weight
    assert [name for name, _ in tied.named_parameters()] == ["gain", "first.weight", "first.bias", "second.bias"]


def test_a_module_that_is_shared_gets_both_gradients() -> None:
    layer = nn.Linear(2, 2, bias=False)
    x = tg.ones(1, 2)
    nn.Sequential(layer, layer)(x).sum().backward()
    w = layer.weight.detach().array
    ones = np.ones((1, 2), "f4")
    np.testing.assert_allclose(layer.weight.grad.array, ones.T @ (ones @ w.T) + (ones @ w).T @ ones, rtol=1e-6)


# Parameters --------------------------------------------------------------------------------------------------


def test_parameters_are_tensors_with_a_mark() -> None:
    p = nn.Parameter(tg.zeros(2))
    assert type(p) is tg.Tensor
    assert isinstance(p, nn.Parameter)
    assert isinstance(p, tg.Tensor)
    assert p.requires_grad
    assert p.is_leaf
    assert not isinstance(tg.zeros(2, requires_grad=True), nn.Parameter)
    assert not isinstance(p * 1, nn.Parameter)
    assert not isinstance("p", nn.Parameter)
    assert not nn.Parameter(tg.zeros(2), requires_grad=False).requires_grad


def test_a_parameter_shares_the_memory_of_its_data() -> None:
    data = tg.zeros(2)
    p = nn.Parameter(data)
    data.fill_(3)
    assert p.tolist() == [3.0, 3.0]


def test_integers_cannot_be_learnt() -> None:
    with pytest.raises(DtypeError, match="requires_grad on a tensor of dtype int64"):
        nn.Parameter(tg.tensor([1, 2]))


@pytest.mark.parametrize(
    ("layer", "fan_in"), [(nn.Linear, 400), (nn.Conv2d, 400 * 9)], ids=["linear", "conv"]
)  # fmt: skip
def test_initial_values_are_spread_as_in_pytorch(layer: Any, fan_in: int) -> None:
    """Evenly over ±1/√fan_in, weight and bias, for layers that read ``fan_in`` numbers."""
    made = layer(400, 300) if layer is nn.Linear else layer(400, 30, 3)
    bound = 1 / math.sqrt(fan_in)
    for p in (made.weight, made.bias):
        values = p.detach().array
        assert values.dtype == np.float32
        assert np.abs(values).max() <= bound
        assert np.abs(values).max() > 0.9 * bound
        assert abs(values.mean()) < 0.12 * bound
    assert made.weight.detach().array.std() == pytest.approx(bound / math.sqrt(3), rel=0.01)


def test_initial_values_follow_the_seed() -> None:
    tg.manual_seed(5)
    first = nn.Linear(3, 2).weight.tolist()
    other = nn.Linear(3, 2).weight.tolist()
    tg.manual_seed(5)
    assert nn.Linear(3, 2).weight.tolist() == first != other


# Assignment --------------------------------------------------------------------------------------------------


def test_forgotten_init() -> None:
    class Forgetful(nn.Module):
        def __init__(self) -> None:
            self.layer = nn.Linear(2, 2)

    with pytest.raises(AutogradError) as caught:
        Forgetful()
    assert str(caught.value) == (
        "self.layer = Linear(…) in Forgetful\n"
        "  why:  Module.__init__ has not run yet, so there is nowhere to register it\n"
        "  mend: call super().__init__() first"
    )


def test_forgotten_forward() -> None:
    class Empty(nn.Module):
        pass

    with pytest.raises(NotImplementedError, match=r"Empty has no forward\(\): define one"):
        Empty()(tg.ones(1))


def test_a_parameter_can_be_taken_away() -> None:
    layer = nn.Linear(2, 3)
    layer.bias = None
    assert [name for name, _ in layer.named_parameters()] == ["weight"]
    assert layer(tg.ones(1, 2)).shape == (1, 3)
    del layer.weight
    assert list(layer.parameters()) == []
    assert not hasattr(layer, "weight")


def test_a_plain_tensor_in_place_of_a_parameter_is_refused() -> None:
    layer = nn.Linear(2, 3)
    with pytest.raises(AutogradError) as caught:
        layer.weight = tg.zeros(3, 2)
    assert caught.value.tried == "self.weight = a plain tensor, in Linear"
    assert caught.value.why == "'weight' is a parameter: the optimiser would go on moving the old tensor, unseen"
    assert (
        caught.value.mend == "assign nn.Parameter(tensor), or write into it: with no_grad(): self.weight.copy_(tensor)"
    )
    layer.weight = nn.Parameter(tg.zeros(3, 2))
    assert layer.state_dict()["weight"].tolist() == [[0.0, 0.0]] * 3


def test_what_takes_a_name_takes_it_whole() -> None:
    """A module in place of a parameter, or the other way round, leaves nothing of the old behind."""
    block = Block()
    block.gain = nn.Linear(3, 3)
    assert "gain" not in dict(block.named_parameters())
    assert "gain.weight" in dict(block.named_parameters())
    block.gain = nn.Parameter(tg.ones(3))
    assert "gain.weight" not in dict(block.named_parameters())
    block.first = "gone"
    assert [name for name, _ in block.named_modules()] == ["", "second"]


def test_buffers_belong_to_the_state_but_are_not_learnt() -> None:
    layer = nn.Linear(2, 1)
    layer.register_buffer("count", tg.tensor([3]))
    assert list(layer.state_dict()) == ["weight", "bias", "count"]
    assert [name for name, _ in layer.named_parameters()] == ["weight", "bias"]
    layer.count = layer.count + 1
    assert layer.state_dict()["count"].tolist() == [4]


# State -------------------------------------------------------------------------------------------------------


def test_load_state_dict_copies_by_name() -> None:
    source, target = convnet(), convnet()
    before = list(target.parameters())
    target.load_state_dict(source.state_dict())
    assert all((a.array == b.array).all() for a, b in zip(source.parameters(), target.parameters(), strict=True))
    assert all(a is b for a, b in zip(before, target.parameters(), strict=True))
    assert all(a.array is not b.array for a, b in zip(source.parameters(), target.parameters(), strict=True))
    target.load_state_dict({name: t.tolist() for name, t in source.state_dict().items()})


def test_a_state_that_does_not_fit_changes_nothing() -> None:
    block = Block()
    before = {name: t.tolist() for name, t in block.state_dict().items()}
    state = {name: tg.zeros(*t.shape) for name, t in block.state_dict().items()}
    state["first.bias"], state["gains"] = tg.zeros(6), state.pop("gain")
    with pytest.raises(ShapeError) as caught:
        block.load_state_dict(state)
    assert str(caught.value) == (
        "load_state_dict into Block\n"
        "  why:  missing: gain; not expected: gains; wrong shape: first.bias (6,) for (5,)\n"
        "  mend: load into a module built with the same sizes"
    )
    words = {name: tg.zeros(*t.shape) for name, t in block.state_dict().items()} | {"second.bias": "words"}
    with pytest.raises(DtypeError, match="words"):
        block.load_state_dict(words)
    assert {name: t.tolist() for name, t in block.state_dict().items()} == before


def test_the_state_shares_memory_and_stands_outside_the_graph() -> None:
    layer = nn.Linear(1, 1)
    state = layer.state_dict()
    assert not state["weight"].requires_grad
    state["weight"].fill_(2.0)
    assert layer.weight.tolist() == [[2.0]]


# Modes, conversion -------------------------------------------------------------------------------------------


def test_train_and_eval_reach_every_module() -> None:
    model = nn.Sequential(Block(), nn.ReLU())
    assert model.training
    assert model.eval() is model
    assert [m.training for m in model.modules()] == [False] * 5
    assert all(m.training for m in model.train().modules())
    assert model.eval()[0](tg.ones(1, 3)).requires_grad  # evaluation is not no_grad


def test_to_converts_in_place() -> None:
    model = Block()
    model.register_buffer("count", tg.tensor([3]))
    model(tg.ones(1, 3)).sum().backward()
    parameters = list(model.parameters())
    assert model.to("float64") is model
    assert all(a is b for a, b in zip(parameters, model.parameters(), strict=True))
    assert all(p.dtype == p.grad.dtype == np.float64 for p in model.parameters())
    assert model.count.dtype == np.int64
    assert model(tg.ones(1, 3, dtype="float64")).dtype == np.float64


def test_to_another_device() -> None:
    model = Block().to("far")
    assert {p.device for p in model.parameters()} == {"far"}
    loss = model(tg.ones(2, 3, device="far")).sum()
    loss.backward()
    assert {p.grad.device for p in model.parameters()} == {"far"}
    tg.optim.SGD(model.parameters(), lr=0.1, momentum=0.9).step()


def test_zero_grad() -> None:
    layer = nn.Linear(2, 2)
    layer(tg.ones(1, 2)).sum().backward()
    assert layer.weight.grad is not None
    layer.zero_grad()
    assert [p.grad for p in layer.parameters()] == [None, None]


# Calls -------------------------------------------------------------------------------------------------------


def test_keywords_reach_forward() -> None:
    block = Block()
    x = tg.ones(1, 3)
    assert block(x, scale=0.0).tolist() == x.tolist()


def test_nodes_know_the_modules_they_were_made_in() -> None:
    model = nn.Sequential(Block(), nn.Tanh())
    out = model(tg.ones(2, 3))
    node = out.grad_fn
    assert node.scope.path() == ("Sequential", "1")
    add = node.parents[0]
    assert (add.op.name, add.scope.path()) == ("add", ("Sequential", "0"))
    last = add.parents[1].parents[0].parents[0]
    while last.op.name != "linear":
        last = last.parents[0]
    assert last.scope.path() == ("Sequential", "0", "second")
    assert last.parents[0].scope.path() == ("Sequential", "0")
    assert last.parents[0].parents[0].scope.path() == ("Sequential", "0", "first")
    assert (out * 2).grad_fn.scope is None


def test_a_failing_call_leaves_no_scope_behind() -> None:
    with pytest.raises(ShapeError):
        nn.Sequential(nn.Linear(2, 2))(tg.ones(3))
    assert tg.ones(1, requires_grad=True).exp().grad_fn.scope is None


def test_sequential_is_a_sequence() -> None:
    model = convnet()
    assert len(model) == 5
    assert list(model.children()) == list(model)
    assert type(model[1]) is nn.ReLU
    assert [type(m).__name__ for m in model] == ["Conv2d", "ReLU", "MaxPool2d", "Flatten", "Linear"]
    assert model(tg.ones(2, 1, 8, 8)).shape == (2, 10)
    assert nn.Sequential()(3) == 3


def test_repr() -> None:
    assert (
        repr(nn.Sequential(convnet(), Block(), nn.CrossEntropyLoss()))
        == """\
Sequential(
  (0): Sequential(
    (0): Conv2d(1, 4, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1))
    (1): ReLU()
    (2): MaxPool2d(kernel_size=(2, 2), stride=(2, 2), padding=(0, 0))
    (3): Flatten()
    (4): Linear(in_features=64, out_features=10, bias=False)
  )
  (1): Block(
    (first): Linear(in_features=3, out_features=5, bias=True)
    (second): Linear(in_features=5, out_features=3, bias=True)
  )
  (2): CrossEntropyLoss()
)"""
    )


def test_layers_are_their_functions() -> None:
    x = tg.randn(2, 3)
    assert nn.ReLU()(x).tolist() == x.relu().tolist()
    assert nn.Tanh()(x).tolist() == x.tanh().tolist()
    assert nn.Sigmoid()(x).tolist() == x.sigmoid().tolist()
    assert nn.functional.softmax(x, 1).tolist() == x.softmax(1).tolist()
    assert nn.functional.log_softmax(x, -1).tolist() == x.log_softmax(1).tolist()
    assert nn.MaxPool2d((1, 3), stride=1)(x.reshape(1, 1, 2, 3)).shape == (1, 1, 2, 1)
    assert nn.Conv2d(1, 2, (2, 3), stride=(1, 2), bias=False)(tg.ones(1, 1, 4, 7)).shape == (1, 2, 3, 3)
    assert nn.Linear(3, 4)(tg.ones(3)).shape == (4,)
