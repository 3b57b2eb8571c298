"""What a tip says of PyTorch and MyGrad runs there, on the tip's own inputs, and computes what the fast way does."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tinygrad_edu import Generator, Tensor, tips
from tinygrad_edu.tips import Tip
from tinygrad_edu.tips.counting import agree

pytestmark = pytest.mark.peers

# The name that a snippet gives to what the fast way returns, or to its first part. Others show a step of it.
RESULTS = {"broadcasting": "y", "contiguous-access": "a", "in-place": "y", "vectorise-loss": "loss"}


def cases(framework: str) -> pytest.MarkDecorator:
    """Every tip that says how it is done there."""
    found = [
        pytest.param(tip, elsewhere.code, id=tip.slug)
        for tip in tips.all_tips()
        for elsewhere in tip.elsewhere
        if elsewhere.framework.startswith(f"{framework} ")
    ]
    return pytest.mark.parametrize(("tip", "code"), found)


def inputs(tip: Tip) -> dict[str, Any]:
    return tip.inputs(Generator().manual_seed(0), **{one.name: one.default for one in tip.parameters})


def width(tip: Tip) -> int:
    """How many numbers a sample has."""
    return int(inputs(tip)["x"].shape[-1])


def execute(tip: Tip, code: str, convert: Callable[[Any], Any], kind: type[Any], **modules: Any) -> dict[str, Any]:
    """Run a snippet where it finds the inputs by name. Returns the tensors that it made."""
    given = {name: convert(value) for name, value in inputs(tip).items()}
    names = {**modules, **given}
    exec(compile(code, tip.slug, "exec"), names)
    made = {name: value for name, value in names.items() if isinstance(value, kind) and value is not given.get(name)}
    assert made, "the snippet makes nothing"
    return made


def same_as_fast(tip: Tip, made: Any) -> bool:
    wanted = tip.fast(*inputs(tip).values())
    return agree(made, wanted[0] if isinstance(wanted, tuple) else wanted, 1e-5)


@cases("PyTorch")
def test_pytorch(tip: Tip, code: str) -> None:
    torch = pytest.importorskip("torch", reason="needs PyTorch: pip install -e '.[peers]'")

    def convert(value: Any) -> Any:
        if callable(value):
            return torch.nn.Linear(width(tip), 4)  # in place of a model
        if isinstance(value, list):
            return [convert(one) for one in value]
        if not isinstance(value, Tensor):
            return value
        return torch.from_numpy(value.numpy(force=True).copy()).requires_grad_(value.requires_grad)

    functional = importlib.import_module("torch.nn.functional")
    made = execute(tip, code, convert, torch.Tensor, torch=torch, nn=torch.nn, F=functional)
    if tip.slug in RESULTS:
        assert same_as_fast(tip, made[RESULTS[tip.slug]].numpy(force=True))


@cases("MyGrad")
def test_mygrad(tip: Tip, code: str) -> None:
    mg = pytest.importorskip("mygrad", reason="needs MyGrad: pip install -e '.[peers]'")

    def convert(value: Any) -> Any:
        if callable(value):
            return lambda x: mg.matmul(x, np.ones((width(tip), 4)))  # in place of a model
        if not isinstance(value, Tensor):
            return value
        array = value.numpy(force=True).copy()
        return mg.tensor(array) if array.dtype.kind == "f" else array  # labels and indices are arrays there

    made = execute(tip, code, convert, mg.Tensor, mg=mg, np=np)
    if tip.slug in RESULTS:
        assert same_as_fast(tip, made[RESULTS[tip.slug]].data)


def test_every_tip_is_told_for_pytorch() -> None:
    told = {tip.slug for tip in tips.all_tips() for one in tip.elsewhere if one.framework.startswith("PyTorch ")}
    assert told == {tip.slug for tip in tips.all_tips()}
    assert set(RESULTS) <= told
