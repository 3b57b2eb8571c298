"""Layers in plain lists: which are noticed, where, and once."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import tinygrad_edu as tg
from tinygrad_edu import nn


class Plain(nn.Module):
    def __init__(self, held: Any) -> None:
        super().__init__()
        self.held = held


WALKS: dict[str, Any] = {
    "parameters": lambda m: m.parameters(),
    "named_parameters": lambda m: m.named_parameters(),
    "state_dict": lambda m: m.state_dict(),
    "to": lambda m: m.to("float64"),
    "inside": lambda m: nn.Sequential(m).parameters(),
    "optimiser": lambda m: tg.optim.SGD(nn.ModuleList([m, nn.Linear(1, 1)]).parameters(), lr=0.1),
}


@pytest.mark.parametrize("walk", WALKS)
def test_layers_in_a_plain_list_are_noticed(walk: str) -> None:
    model = Plain([nn.Linear(2, 3), nn.Linear(3, 1), nn.ReLU()])
    with pytest.warns(nn.UnregisteredWarning) as caught:
        WALKS[walk](model)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    text = str(caught[0].message)
    assert text.startswith("Plain holds 3 modules with 4 parameters (13 numbers) in self.held, a plain list")
    assert text.endswith("what it holds is neither trained nor saved. Write self.held = nn.ModuleList(…)")
    WALKS[walk](model)  # said once


@pytest.mark.parametrize(
    ("held", "what", "mend"),
    [
        (lambda: (nn.Linear(1, 1),), "1 module with 2 parameters (2 numbers)", "nn.ModuleList"),
        (lambda: {"a": nn.Linear(1, 1)}, "1 module with 2 parameters (2 numbers)", "nn.ModuleDict"),
        (lambda: [[nn.Linear(1, 1)], {"b": (nn.ReLU(),)}], "2 modules with 2 parameters (2 numbers)", "nn.ModuleList"),
        (lambda: [nn.Parameter(tg.ones(3))], "1 parameter (3 numbers)", "nn.ParameterList"),
        (lambda: {"g": nn.Parameter(tg.ones(3))}, "1 parameter (3 numbers)", "nn.ParameterDict"),
        (lambda: {nn.ReLU()}, "1 module", "nn.ModuleList"),
    ],
)  # fmt: skip
def test_every_plain_container_is_looked_into(held: Any, what: str, mend: str) -> None:
    with pytest.warns(nn.UnregisteredWarning) as caught:
        Plain(held()).parameters()
    assert f"holds {what} in self.held" in str(caught[0].message)
    assert f"Write self.held = {mend}(" in str(caught[0].message)


def test_what_is_registered_too_does_not_warn() -> None:
    model = Plain(None)
    model.layers = nn.ModuleList([nn.Linear(1, 1), nn.Linear(1, 1)])
    model.held = list(model.layers)
    model.weights = [p for layer in model.layers for p in layer.parameters()]
    model.words = ["a", 1, [tg.ones(2), {"x": None}]]
    outer = nn.Sequential(model, Plain((model,)))
    for walk in WALKS.values():
        walk(outer)  # warnings are errors here
    model.held.append(nn.Linear(1, 1))
    with pytest.warns(nn.UnregisteredWarning, match="1 module with 2 parameters"):
        outer.parameters()


def test_a_long_list_is_not_searched_to_its_end() -> None:
    model = Plain([0] * 5000 + [nn.Linear(1, 1)])
    with warnings.catch_warnings(record=True) as caught:
        model.parameters()
    assert caught == []
