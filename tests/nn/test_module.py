"""Modules: what they register, under which names, what they say when misused."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.nn.models import Block, convnet
from tinygrad_edu import nn
from tinygrad_edu.common.lines import describe_line
from tinygrad_edu.errors import ArgumentError, DtypeError, ShapeError
from tinygrad_edu.nn.module import Scope
from tinygrad_edu.settings import modes

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


# Walks -------------------------------------------------------------------------------------------------------


def test_walks_take_prefixes_depth_and_duplicates() -> None:
    shared = nn.Linear(1, 1, bias=False)
    model = nn.Sequential(shared, nn.Sequential(shared))
    assert [name for name, _ in model.named_parameters("net")] == ["net.0.weight"]
    assert [name for name, _ in model.named_parameters(remove_duplicate=False)] == ["0.weight", "1.0.weight"]
    assert list(model.parameters(recurse=False)) == []
    assert [name for name, _ in model.named_modules(prefix="net")] == ["net", "net.0", "net.1"]
    assert [name for name, _ in model.named_modules(remove_duplicate=False)] == ["", "0", "1", "1.0"]
    assert [name for name, _ in nn.Sequential(shared, shared).named_children()] == ["0"]


def test_parts_are_found_by_name() -> None:
    model = nn.Sequential(Block(), nn.Tanh())
    model[1].register_buffer("count", tg.ones(1))
    assert model.get_submodule("") is model
    assert model.get_submodule("0.first") is model[0].first
    assert model.get_parameter("0.first.bias") is model[0].first.bias
    assert model.get_buffer("1.count") is model[1].count
    for wrong in (lambda: model.get_submodule("0.third"), lambda: model.get_parameter("0.first"),
                  lambda: model.get_buffer("0.gain"), lambda: model.get_submodule("0.gain")):  # fmt: skip
        with pytest.raises(AttributeError, match=r"has no (module|parameter|buffer)"):
            wrong()


def test_apply_goes_inside_first() -> None:
    met: list[str] = []
    model = nn.Sequential(Block(), nn.Tanh())
    assert model.apply(lambda m: met.append(type(m).__name__)) is model
    assert met == ["Linear", "Linear", "Block", "Tanh", "Sequential"]


# State -------------------------------------------------------------------------------------------------------


def test_the_state_shares_memory_and_stands_outside_the_graph() -> None:
    layer = nn.Linear(1, 1)
    state = layer.state_dict()
    assert not state["weight"].requires_grad
    state["weight"].fill_(2.0)
    assert layer.weight.tolist() == [[2.0]]


def test_a_state_takes_a_prefix_a_destination_and_the_tensors_themselves() -> None:
    layer, entries = nn.Linear(1, 1), {"own": 1}
    assert layer.state_dict(destination=entries, prefix="net.", keep_vars=True) is entries
    assert list(entries) == ["own", "net.weight", "net.bias"]
    assert entries["net.weight"] is layer.weight


def test_a_state_dict_of_an_own_kind_is_met_inside() -> None:
    class Quiet(nn.Linear):
        def state_dict(self, **options: Any) -> dict[str, Any]:
            return options.get("destination", {})

    assert list(nn.Sequential(Quiet(1, 1), nn.Linear(1, 1)).state_dict()) == ["1.weight", "1.bias"]


# Copies ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))], ids=["copy", "pickle"])
def test_copies_share_nothing_and_keep_what_is_tied(duplicate: Any) -> None:
    model = nn.Sequential(convnet(), nn.Linear(10, 10))
    model.append(model[1])
    model[0].register_buffer("count", tg.tensor(3), persistent=False)
    model.eval()
    twin = duplicate(model)
    assert repr(twin) == repr(model)
    assert list(twin.state_dict()) == list(model.state_dict())
    assert twin[1] is twin[2]
    assert all(isinstance(p, nn.Parameter) and p.requires_grad for p in twin.parameters())
    assert all(a.tolist() == b.tolist() for a, b in zip(model.parameters(), twin.parameters(), strict=True))
    own = [t.array for t in (*model.parameters(), *model.buffers())]
    assert not any(np.shares_memory(t.array, a) for t in (*twin.parameters(), *twin.buffers()) for a in own)
    assert twin[1].weight is twin[1]._parameters["weight"]  # attribute and registry stay one tensor
    assert not any(m.training for m in twin.modules())
    with tg.no_grad():
        twin[1].weight.fill_(9.0)
    assert model[1].weight.tolist() != twin[1].weight.tolist()


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))], ids=["copy", "pickle"])
def test_copies_of_parameters_have_no_gradient(duplicate: Any) -> None:
    layer = nn.Linear(2, 1)
    layer(tg.ones(1, 2)).sum().backward()
    twin = duplicate(layer)
    assert twin.weight.grad is None
    twin(tg.ones(1, 2)).sum().backward()
    assert twin.weight.grad.tolist() == layer.weight.grad.tolist() == [[1.0, 1.0]]
    x = tg.ones(1, requires_grad=True)
    x.grad = tg.tensor([3.0])
    assert duplicate(x).grad.tolist() == [3.0]


class Around(nn.Module):
    """Has the attributes of what it wraps."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_a_module_that_passes_attributes_on_is_copied(duplicate: Any) -> None:
    twin = duplicate(Around(nn.Linear(2, 3)))
    assert type(twin) is Around
    assert twin.out_features == 3


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_a_copy_registers_for_itself(duplicate: Any) -> None:
    block = Block()
    block.register_buffer("steps", tg.zeros(1))
    old = block.first
    twin = duplicate(block)
    assert list(twin.state_dict()) == list(block.state_dict())
    twin.first = nn.Linear(3, 4)
    twin._parameters["gain"] = None
    twin.register_buffer("steps", tg.ones(1), persistent=False)
    assert block._modules["first"] is block.first is old
    assert block._parameters["gain"] is block.gain is not None
    assert block.state_dict()["steps"].tolist() == block.steps.tolist() == [0.0]
    assert twin._modules["first"] is twin.first is not old
    assert twin.gain is None
    assert ("steps" in twin.state_dict(), twin.steps.tolist()) == (False, [1.0])


def test_a_shallow_copy_computes_with_the_same_tensors_until_it_has_others() -> None:
    """And the state says what is computed with."""
    layer, x = nn.Linear(2, 2, bias=False), tg.ones(1, 2)
    twin = copy.copy(layer)
    assert twin.weight is layer.weight
    twin.weight = nn.Parameter(tg.zeros(2, 2))
    for module in (layer, twin):
        assert module(x).tolist() == (x @ module.state_dict()["weight"].T).tolist()
    assert twin(x).tolist() == [[0.0, 0.0]] != layer(x).tolist()


def test_parameters_print_as_what_they_are() -> None:
    p = nn.Parameter(tg.tensor([1.0, 2.0]))
    assert repr(p) == "Parameter containing:\ntensor([1., 2.], requires_grad=True)"
    assert repr(copy.deepcopy(p)) == repr(p)
    assert repr(p.detach()) == "tensor([1., 2.])"
    assert nn.Parameter().shape == (0,)


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


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize(
    "who", [lambda layer: layer, lambda layer: tg.optim.SGD(layer.parameters())], ids=["nn", "optim"]
)
def test_gradients_are_filled_with_zeros_where_that_is_wanted(who: Any, create_graph: bool) -> None:
    """In place: who holds the gradient sees zeros. A module and an optimiser do the same."""
    layer = nn.Linear(2, 2, bias=False)
    layer(tg.ones(1, 2)).square().sum().backward(create_graph=create_graph)
    held = layer.weight.grad
    who(layer).zero_grad(set_to_none=False)
    assert (layer.weight.grad is held) is not create_graph
    assert (layer.weight.grad.requires_grad, layer.weight.grad.grad_fn) == (False, None)
    assert layer.weight.grad.tolist() == held.tolist() == [[0.0, 0.0], [0.0, 0.0]]
    who(layer).zero_grad()
    who(layer).zero_grad(set_to_none=False)
    assert layer.weight.grad is None


def test_freezing() -> None:
    model = convnet()
    assert model.requires_grad_(False) is model
    assert not any(p.requires_grad for p in model.parameters())
    assert not model(tg.ones(1, 1, 8, 8)).requires_grad
    assert all(p.requires_grad for p in model.requires_grad_().parameters())


def test_a_train_of_an_own_kind_is_met_inside() -> None:
    class Frozen(nn.Linear):
        def train(self, mode: bool = True) -> Any:
            return super().train(False)

    model = nn.Sequential(Frozen(1, 1), nn.Linear(1, 1)).train()
    assert [m.training for m in model.modules()] == [True, False, True]


def test_train_takes_a_bool() -> None:
    with pytest.raises(ArgumentError, match=r"train\(3\)(?s:.*)it trains nothing"):
        Block().train(3)


def test_every_way_to_say_to() -> None:
    model = Block()
    model.register_buffer("count", tg.tensor([3]))
    for convert, dtype in (
        (model.double, "float64"), (model.half, "float16"), (model.bfloat16, "bfloat16"),
        (model.float, "float32"), (lambda: model.to(dtype=tg.float64), "float64"),
        (lambda: model.to("cpu", "float16"), "float16"), (lambda: model.to(tg.ones(1)), "float32"),
        (model.cpu, "float32"),
    ):  # fmt: skip
        assert convert() is model
        assert {p.dtype.name for p in model.parameters()} == {dtype}
        assert model.count.dtype == np.int64
    assert {t.device for t in (*model.to("far", tg.float64).parameters(), *model.buffers())} == {"far"}
    assert model.gain.dtype == np.float64


def test_to_a_dtype_without_fractions_changes_nothing() -> None:
    model = Block()
    with pytest.raises(DtypeError, match="would be rounded"):
        model.to("int64")
    assert {p.dtype.name for p in model.parameters()} == {"float32"}


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


def test_nodes_made_in_layers_know_the_line_that_called_the_model() -> None:
    """Inside of our own modules that line is looked up once; a module of the user's has lines of its own."""

    class Own(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Sequential(nn.Linear(2, 2), nn.Tanh())

        def forward(self, x: tg.Tensor) -> tg.Tensor:
            y = self.inner(x)
            return y * 2

    def lines(y: tg.Tensor) -> list[str]:
        found, node = [], y.grad_fn
        while node is not None and node.op is not None:
            found.append(describe_line(node.line).split(": ", 1)[1])
            node = next((parent for parent in node.parents if parent is not None and parent.op is not None), None)
        return found

    model, x = nn.Sequential(Own(), nn.ReLU()), tg.ones(1, 2)
    y = model(x)
    assert lines(y) == ["y = model(x)", "return y * 2", "y = self.inner(x)", "y = self.inner(x)"]
    model[1].register_forward_hook(lambda module, inputs, out: out + 1)
    y = model(x)
    assert "register_forward_hook(lambda" in lines(y)[0]


def test_a_failing_call_leaves_no_scope_behind() -> None:
    with pytest.raises(ShapeError):
        nn.Sequential(nn.Linear(2, 2))(tg.ones(3))
    assert tg.ones(1, requires_grad=True).exp().grad_fn.scope is None


def test_a_scope_is_named_by_the_enclosing_module() -> None:
    assert Scope(None, nn.Linear(1, 1), None).label == "Linear"
    assert Scope(None, convnet()[0], None).label == "0"
    assert modes().scope is None


# Printing ----------------------------------------------------------------------------------------------------


def test_extra_lines_in_print() -> None:
    class Told(nn.Module):
        def __init__(self, text: str, *inside: nn.Module) -> None:
            super().__init__()
            self.text = text
            for i, module in enumerate(inside):
                self.add_module(f"m{i}", module)

        def extra_repr(self) -> str:
            return self.text

    assert repr(Told("")) == "Told()"
    assert repr(Told("a=1")) == "Told(a=1)"
    assert repr(Told("a=1\nb=2")) == "Told(\n  a=1\n  b=2\n)"
    inner = Told("x", Told(""))
    assert repr(Told("a=1", inner)) == "Told(\n  a=1\n  (m0): Told(\n    x\n    (m0): Told()\n  )\n)"


def test_repr() -> None:
    assert (
        repr(nn.Sequential(convnet(), Block(), nn.CrossEntropyLoss()))
        == """\
Sequential(
  (0): Sequential(
    (0): Conv2d(1, 4, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1))
    (1): ReLU()
    (2): MaxPool2d(kernel_size=2, stride=2, padding=0, dilation=1, ceil_mode=False)
    (3): Flatten(start_dim=1, end_dim=-1)
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


def test_the_layers_have_pytorchs_path() -> None:
    from tinygrad_edu.nn import modules
    from tinygrad_edu.nn.modules.module import Module as Base

    assert Base is nn.Module
    assert set(modules.__all__) == set(nn.__all__)
    assert all(getattr(modules, name) is getattr(nn, name) for name in modules.__all__)
