"""What a module adds to its state by hand: extra state and hooks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tinygrad_edu as tg
from tests.nn.models import Block
from tests.support import teaches
from tinygrad_edu import nn
from tinygrad_edu.errors import ArgumentError, DtypeError, ShapeError


class Counting(nn.Module):
    """Remembers what is no tensor."""

    def __init__(self, words: list[str]) -> None:
        super().__init__()
        self.words = words
        self.layer = nn.Linear(1, 1)

    def get_extra_state(self) -> Any:
        return {"words": self.words, "seen": tg.tensor(len(self.words))}

    def set_extra_state(self, state: Any) -> None:
        assert self.layer.weight.item() == 7.0  # the tensors are loaded first
        self.words = state["words"]


def test_extra_state_goes_with_the_state(tmp_path: Path) -> None:
    source, target = nn.Sequential(Counting(["a", "b"])), nn.Sequential(Counting([]))
    with tg.no_grad():
        source[0].layer.weight.fill_(7.0)
    state = source.state_dict()
    assert list(state) == ["0._extra_state", "0.layer.weight", "0.layer.bias"]
    tg.save(state, tmp_path / "state.safetensors")
    assert repr(target.load_state_dict(tg.load(tmp_path / "state.safetensors"))) == "<All keys matched successfully>"
    assert target[0].words == ["a", "b"]


def test_extra_state_has_a_name_like_others() -> None:
    model = Counting(["a"])
    tensors = {name: t for name, t in model.state_dict().items() if name != "_extra_state"}
    with pytest.raises(ShapeError, match="missing: _extra_state"):
        model.load_state_dict(tensors)
    assert model.load_state_dict(tensors, strict=False) == (["_extra_state"], [])
    assert model.words == ["a"]
    layer = nn.Linear(1, 1)
    with pytest.raises(ShapeError, match="not expected: _extra_state"):
        layer.load_state_dict(layer.state_dict() | {"_extra_state": 3})
    for missing in (layer.get_extra_state, lambda: layer.set_extra_state(1)):
        with pytest.raises(NotImplementedError, match=r"Linear has no .et_extra_state"):
            missing()


def test_extra_state_waits_until_all_else_fits() -> None:
    model = Counting(["a"])
    with pytest.raises(ShapeError, match=r"wrong shape: layer\.weight"):
        model.load_state_dict(model.state_dict() | {"layer.weight": tg.ones(3), "_extra_state": {"words": ["b"]}})
    assert model.words == ["a"]


def test_hooks_of_saving() -> None:
    model, log = nn.Sequential(Block()), list[Any]()
    before = model[0].register_state_dict_pre_hook(lambda *inputs: log.append(inputs))
    after = model[0].register_state_dict_post_hook(lambda module, state, prefix, _: state.pop(prefix + "gain", None))
    assert "0.gain" not in model.state_dict()
    assert log == [(model[0], "0.", False)]
    after.remove()
    before.remove()
    assert "0.gain" in model.state_dict()
    assert len(log) == 1
    model.register_state_dict_post_hook(lambda module, state, prefix, _: dict(state))
    why, mend = "it returned a dict, which would be ignored", "change the dict that it is given, and return nothing"
    with teaches(DtypeError, "a state hook of Sequential", why, mend, line="model.state_dict()"):
        model.state_dict()


def test_hooks_of_loading() -> None:
    model, log = nn.Sequential(Block()), list[Any]()

    def rename(
        module: nn.Module, state: dict[str, Any], prefix: str, metadata: Any, strict: bool, *lists: list[str]
    ) -> None:
        log.append((module, prefix, metadata, strict, lists))
        state[prefix + "gain"] = state.pop(prefix + "scale")

    model[0].register_load_state_dict_pre_hook(rename)
    for module in (model, model[0], model[0].second):
        module.register_load_state_dict_post_hook(lambda module, keys: log.append((module, keys)))
    state = model.state_dict()
    state["0.scale"] = tg.full_like(state.pop("0.gain"), 5.0)
    names = list(state)
    model.load_state_dict(state)
    assert model[0].gain.tolist() == [5.0] * 3
    assert list(state) == names  # the hook has changed a copy
    assert log == [
        (model[0], "0.", {}, True, ([], [], [])),
        (model[0].second, ([], [])), (model[0], ([], [])), (model, ([], [])),
    ]  # fmt: skip


def test_hooks_forgive_names_and_refuse_states() -> None:
    model = nn.Linear(1, 1)
    before = model.weight.item()

    def too_old(module: Any, state: Any, prefix: Any, metadata: Any, strict: Any, *lists: list[str]) -> None:
        lists[2].append("saved by version 1")

    with model.register_load_state_dict_pre_hook(too_old):
        for strict in (True, False):
            with pytest.raises(ShapeError, match="why:  a hook says: saved by version 1"):
                model.load_state_dict({name: tg.zeros(*t.shape) for name, t in model.state_dict().items()}, strict)
    assert model.weight.item() == before
    missing = model.register_load_state_dict_pre_hook(lambda module, state, prefix, *_: state.setdefault("bias", 3.0))
    with missing, pytest.raises(ShapeError, match="wrong shape: bias"):
        model.load_state_dict({"weight": tg.ones(1, 1)})
    with model.register_load_state_dict_pre_hook(lambda module, state, prefix, *_: state.setdefault("bias", [3.0])):
        model.load_state_dict({"weight": tg.ones(1, 1)})
    assert (model.weight.item(), model.bias.item()) == (1.0, 3.0)
    model.register_load_state_dict_post_hook(lambda module, keys: keys.missing_keys.clear())
    assert model.load_state_dict({"weight": tg.ones(1, 1)}, strict=False) == ([], [])


def test_methods_that_would_never_be_called_are_refused() -> None:
    class Loads(nn.Linear):
        def _load_from_state_dict(self, *inputs: Any) -> None:
            raise AssertionError

    class Saves(nn.Linear):
        def _save_to_state_dict(self, *inputs: Any) -> None:
            raise AssertionError

    why = "it is internal to PyTorch, and is not called here"
    mend = "use register_load_state_dict_pre_hook, or define set_extra_state"
    model = nn.Sequential(Loads(1, 1))
    with teaches(ArgumentError, "Loads._load_from_state_dict", why, mend, "model.load_state_dict"):
        model.load_state_dict(model.state_dict())
    mend = "use register_state_dict_post_hook, or define get_extra_state"
    with teaches(ArgumentError, "Saves._save_to_state_dict", why, mend, "Saves(1, 1).state_dict()"):
        Saves(1, 1).state_dict()
