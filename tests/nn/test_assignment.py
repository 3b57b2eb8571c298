"""What becomes of a value that is assigned to an attribute of a module."""

from __future__ import annotations

import weakref

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.nn.models import Block, convnet
from tests.support import run_python, teaches
from tinygrad_edu import nn
from tinygrad_edu.errors import ArgumentError, DtypeError, ModuleError


def test_forgotten_init() -> None:
    class Forgetful(nn.Module):
        def __init__(self) -> None:
            self.layer = nn.Linear(2, 2)

    with teaches(
        ModuleError,
        "self.layer = Linear(…) in Forgetful",
        "Module.__init__ has not run yet, so there is nowhere to register it",
        "call super().__init__() first",
        line="self.layer = nn.Linear(2, 2)",
    ):
        Forgetful()


def test_forgotten_init_of_a_module_that_registers_nothing() -> None:
    class Forgetful(nn.Module):
        def __init__(self) -> None:
            self.size = 3  # a plain attribute needs no registry

    for use in (
        lambda m: m.parameters(), lambda m: m.state_dict(), lambda m: m.eval(), lambda m: m.to("float64"), repr,
        lambda m: m.register_buffer("x", None), nn.Sequential,
    ):  # fmt: skip
        with pytest.raises(
            ModuleError, match=r"(?s)Module.__init__ has not run.*mend: call super\(\).__init__\(\) first"
        ):
            use(Forgetful())
    assert not hasattr(Forgetful(), "_modules")


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
    with pytest.raises(DtypeError) as caught:
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
    block.first = None
    assert [name for name, _ in block.named_modules()] == ["", "second"]
    block.first = nn.Linear(3, 3)
    assert [name for name, _ in block.named_modules()] == ["", "first", "second"]  # in its old place


def test_buffers_belong_to_the_state_but_are_not_learnt() -> None:
    layer = nn.Linear(2, 1)
    layer.register_buffer("count", tg.tensor([3]))
    assert list(layer.state_dict()) == ["weight", "bias", "count"]
    assert [name for name, _ in layer.named_parameters()] == ["weight", "bias"]
    layer.count = layer.count + 1
    assert layer.state_dict()["count"].tolist() == [4]


def test_none_keeps_a_place_free() -> None:
    layer = nn.Linear(2, 3)
    layer.bias = None
    layer.register_parameter("scale", None)
    layer.register_buffer("mean", None)
    layer.register_module("inner", None)
    assert list(layer.state_dict()) == ["weight"]
    assert [*layer.buffers(), *layer.children()] == []
    assert (layer.scale, layer.mean, layer.inner) == (None, None, None)
    layer.scale = nn.Parameter(tg.ones(1))
    layer.bias = nn.Parameter(tg.zeros(3))
    layer.mean = tg.ones(2)
    assert list(layer.state_dict()) == ["weight", "bias", "scale", "mean"]
    assert repr(layer).endswith("\n  (inner): None\n)")


def test_buffers_that_are_not_saved_still_move() -> None:
    module = nn.Module()
    module.register_buffer("mask", tg.ones(2), persistent=False)
    module.register_buffer("mean", tg.ones(2))
    assert list(module.state_dict()) == ["mean"]
    assert [name for name, _ in module.named_buffers()] == ["mask", "mean"]
    assert module.double().mask.dtype == np.float64
    module.mask = tg.zeros(2)
    assert list(module.state_dict()) == ["mean"]
    module.register_buffer("mask", tg.ones(2))
    assert list(module.state_dict()) == ["mask", "mean"]


def test_a_buffer_that_is_a_view_moves() -> None:
    module = nn.Module()
    whole = tg.ones(3, 3)
    module.register_buffer("row", whole[1])
    assert module.to("float64").row.dtype == np.float64
    assert whole.dtype == np.float32


def test_a_registry_that_is_written_to_is_seen_by_attributes() -> None:
    """As in programs for PyTorch that exchange the layers of a model that they know nothing of."""
    block = Block()
    block._modules["first"] = nn.Linear(3, 4)
    assert (block.first.out_features, block.first._label) == (4, "first")
    block._modules.update(second=nn.Linear(4, 3), third=nn.ReLU())
    assert block(tg.ones(1, 3)).shape == (1, 3)
    assert list(block._modules) == ["first", "second", "third"]
    third = block.third
    assert block._modules.pop("third") is third
    assert block._modules.pop("third", 5) == 5
    with pytest.raises(KeyError):
        block._modules.pop("third")
    assert not hasattr(block, "third")
    del block._modules["first"]
    assert not hasattr(block, "first")
    block._parameters["gain"] = None
    assert block.gain is None
    assert block._parameters.setdefault("gain", nn.Parameter(tg.ones(1))) is None
    shift = nn.Parameter(tg.ones(1))
    assert block._parameters.setdefault("shift", shift) is shift is block.shift
    assert block._parameters.popitem() == ("shift", shift)
    block._buffers |= {"count": tg.tensor(3)}
    assert block.count.item() == block.state_dict()["count"].item() == 3
    block._buffers.clear()
    assert not hasattr(block, "count")
    assert not hasattr(block, "shift")
    assert type(block._modules.copy()) is dict


def test_a_model_that_is_dropped_is_freed_at_once() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    model(tg.ones(1, 2))
    gone = [weakref.ref(model), weakref.ref(model[0])]
    registry = model._modules
    del model
    assert gone[0]() is None
    registry["0"] = nn.ReLU()  # belongs to nothing any more
    assert gone[1]() is None


def test_what_cannot_be_registered() -> None:
    module = Block()
    with pytest.raises(DtypeError, match=r"wrap it: nn.Parameter"):
        module.register_parameter("p", tg.ones(2))
    with pytest.raises(DtypeError, match="make it one: tensor"):
        module.register_buffer("b", np.ones(2))
    with pytest.raises(DtypeError, match=r"make a module of the class: ReLU\(…\)"):
        module.add_module("m", nn.ReLU)
    with pytest.raises(DtypeError, match=r"use the module for it, such as nn.ReLU"):
        module.add_module("m", tg.relu)
    for name in ("a.b", ""):
        with pytest.raises(ArgumentError, match="text without dots"):
            module.register_buffer(name, tg.ones(1))
    for name in ("forward", "eval", "float"):
        with pytest.raises(ArgumentError, match="method or property of that name"):
            setattr(module, name, nn.Linear(1, 1))
    with pytest.raises(ArgumentError, match="an attribute already has that name"):
        module.register_buffer("gain", tg.ones(3))
    with pytest.raises(DtypeError, match="'first' is a module, and would silently drop out"):
        module.first = 3
    with pytest.raises(DtypeError, match="'gain' is a parameter, and would silently drop out"):
        module.gain = "loud"
    module.register_buffer("count", tg.zeros(1))
    with pytest.raises(DtypeError, match="'count' is a buffer"):
        module.count = 4
    with teaches(DtypeError, "a buffer 3 in Block", "a name is text, not int", "write '3'", "module.register_buffer(3"):
        module.register_buffer(3, tg.ones(1))
    assert next(iter(module.state_dict())) == "gain"
    assert module(tg.ones(3)).shape == (3,)


def test_a_module_inside_itself_is_refused() -> None:
    class Child(nn.Module):
        def __init__(self, parent: nn.Module) -> None:
            super().__init__()
            self.parent = parent

    parent = Block()
    with teaches(
        ArgumentError,
        "self.child = a module around self",
        "this Child already has the Block inside it, or is it",
        "pass what it needs of the outer one to forward",
        line="parent.child = Child(parent)",
    ):
        parent.child = Child(parent)
    with pytest.raises(ArgumentError, match="around self"):
        parent.me = parent
    assert "child" not in dir(parent)


def test_properties_with_a_setter_are_set() -> None:
    class Rated(nn.Module):
        @property
        def rate(self) -> float:
            return self._rate

        @rate.setter
        def rate(self, value: float) -> None:
            self._rate = value * 2

    module = Rated()
    module.rate = 2.0
    assert module.rate == 4.0
    assert "rate" not in module.__dict__


def test_a_wrong_name_is_answered_with_a_right_one() -> None:
    done = run_python("from tinygrad_edu import nn; nn.Linear(2, 2).wieght")
    assert "AttributeError: 'Linear' object has no attribute 'wieght'. Did you mean: 'weight'?" in done.stderr
    done = run_python("from tinygrad_edu import nn; nn.Linear(2, 2).get_parameter('wieght')")
    assert "AttributeError: Linear has no parameter 'wieght'. Did you mean: 'weight'?" in done.stderr
    assert "0" not in dir(convnet())
    assert "weight" in dir(nn.Linear(1, 1))
