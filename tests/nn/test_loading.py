"""A state put back into a module: by name, with all that may not fit, and nothing half done."""

from __future__ import annotations

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.nn.models import Block, convnet
from tests.support import teaches
from tinygrad_edu import nn
from tinygrad_edu.errors import DtypeError, ShapeError


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
    with teaches(
        ShapeError,
        "load_state_dict into Block",
        "missing: gain; not expected: gains; wrong shape: first.bias (6,) for (5,)",
        "load into a module built with the same sizes",
        line="block.load_state_dict(state)",
    ):
        block.load_state_dict(state)
    words = {name: tg.zeros(*t.shape) for name, t in block.state_dict().items()} | {"second.bias": "words"}
    with pytest.raises(DtypeError, match="words"):
        block.load_state_dict(words)
    assert {name: t.tolist() for name, t in block.state_dict().items()} == before


def test_keys_that_do_not_match_are_told_where_that_is_allowed() -> None:
    block = Block()
    state = {name: tg.full(t.shape, 7.0) for name, t in block.state_dict().items() if name != "first.bias"}
    found = block.load_state_dict({**state, "extra": tg.ones(1)}, strict=False)
    assert found == (["first.bias"], ["extra"])
    assert repr(found) == "IncompatibleKeys(missing_keys=['first.bias'], unexpected_keys=['extra'])"
    assert block.gain.tolist() == [7.0] * 3
    assert repr(block.load_state_dict(block.state_dict())) == "<All keys matched successfully>"
    before = block.gain.tolist()
    with pytest.raises(ShapeError, match=r"wrong shape: second\.bias"):
        block.load_state_dict({"gain": tg.zeros(3), "second.bias": tg.ones(7)}, strict=False)
    assert block.gain.tolist() == before


@pytest.mark.parametrize("outer", [True, False])
def test_a_prefix_that_does_not_match_is_explained(outer: bool) -> None:
    layer = nn.Linear(2, 2)
    wrapped = nn.Sequential(layer)
    state, target = (wrapped.state_dict(), layer) if outer else (layer.state_dict(), wrapped)
    with pytest.raises(ShapeError) as caught:
        target.load_state_dict(state)
    way = "k.removeprefix('0.')" if outer else "'0.' + k"
    assert caught.value.mend == f"the names differ by '0.': load {{{way}: v for k, v in state.items()}}"
    target.load_state_dict(eval(caught.value.mend.partition("load ")[2]))


def test_names_alone_that_do_not_match() -> None:
    layer = nn.Linear(2, 2)
    mend = "load into a module built with the same layers, or only what fits: load_state_dict(state, strict=False)"
    for state, why in (
        ({"weight": tg.ones(2, 2)}, "missing: bias"),
        (layer.state_dict() | {"extra": tg.ones(1)}, "not expected: extra"),
    ):
        with teaches(ShapeError, "load_state_dict into Linear", why, mend, "layer.load_state_dict(state)"):
            layer.load_state_dict(state)
    with pytest.raises(ShapeError, match="mend: load into a module built with the same sizes"):
        layer.load_state_dict({})  # where nothing fits


def test_a_whole_checkpoint_is_explained() -> None:
    layer = nn.Linear(2, 2)
    checkpoint = {"epoch": 3, "optimiser": {"state": {}}, "model": layer.state_dict()}
    why = "missing: weight, bias; not expected: epoch, optimiser, model"
    mend = "the module's state is one part of what was saved: load_state_dict(checkpoint['model'])"
    with teaches(ShapeError, "load_state_dict into Linear", why, mend, "layer.load_state_dict(checkpoint)"):
        layer.load_state_dict(checkpoint)


def test_a_state_that_swaps_tensors_is_read_before_it_is_written() -> None:
    model = nn.Sequential(nn.Linear(1, 1), nn.Linear(1, 1))
    first, second = model[0].weight.item(), model[1].weight.item()
    state = model.state_dict()
    state["0.weight"], state["1.weight"] = state["1.weight"], state["0.weight"]
    model.load_state_dict(state)
    assert (model[0].weight.item(), model[1].weight.item()) == (second, first)


def test_values_are_converted_to_what_the_module_has() -> None:
    module = nn.Module()
    module.register_buffer("count", tg.tensor(0))
    module.w = nn.Parameter(tg.zeros(2))
    module.load_state_dict({"count": tg.tensor(3.0), "w": tg.tensor([1, 2])})
    assert (module.count.dtype, module.count.item()) == (np.int64, 3)
    assert (module.w.dtype, module.w.tolist()) == (np.float32, [1.0, 2.0])
    assert isinstance(module.w, nn.Parameter)


def test_memory_that_cannot_be_written_changes_nothing() -> None:
    module = nn.Linear(2, 2)
    module.register_buffer("mask", tg.ones(1).expand(3))
    before = module.weight.tolist()
    state = {"weight": tg.zeros(2, 2), "bias": tg.zeros(2), "mask": tg.zeros(3)}
    with pytest.raises(ShapeError, match="cannot be written to: mask"):
        module.load_state_dict(state)
    assert module.weight.tolist() == before
    module.load_state_dict(state, assign=True)
    assert module.mask.tolist() == [0.0] * 3


def test_assign_puts_the_tensors_themselves_in_place() -> None:
    model = Block()
    model.second.requires_grad_(False)
    model.gain2 = model.gain  # tied
    state = {name: tg.ones(*t.shape, dtype="float64") for name, t in model.state_dict().items()}
    model.load_state_dict(state, assign=True)
    assert {p.dtype.name for p in model.parameters()} == {"float64"}
    assert all(isinstance(p, nn.Parameter) for p in model.parameters())
    assert [p.requires_grad for p in model.parameters()] == [True, True, True, False, False]
    assert model.gain is model.gain2
    state["first.bias"].fill_(5.0)
    assert model.first.bias.tolist() == [5.0] * 5
    with pytest.raises(DtypeError, match="int64"):
        model.load_state_dict({**state, "first.bias": tg.zeros(5, dtype="int64")}, assign=True)
    assert model.first.bias.tolist() == [5.0] * 5


def test_only_a_dict_is_a_state() -> None:
    with pytest.raises(DtypeError, match=r"load_state_dict of a Block"):
        Block().load_state_dict(Block())
