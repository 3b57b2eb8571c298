"""Sentences of the tips on the graph that no claim covers."""

from __future__ import annotations

from typing import Any

from tinygrad_edu import nn, no_grad, ones, tips
from tinygrad_edu.observe.counters import Counters


def test_detaching_the_result_frees_the_graph_too_late() -> None:
    tip = tips.find("no-grad")

    def detached(model: Any, x: Any) -> Any:
        return model(x).detach()

    result = tips.run(tip, fast=detached, clock=False)
    assert result.fast["kept"] == 0 and result.fast["peak"] == result.slow["peak"]


def test_eval_records_as_before() -> None:
    model = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5), nn.Tanh())
    model.eval()
    with Counters() as counted:
        y = model(ones(1, 3))
    assert counted.kept == 2 and y.requires_grad
    with Counters() as counted, no_grad():
        model(ones(1, 3))
    assert counted.nodes == 0


def test_a_detached_loss_keeps_no_graph_either() -> None:
    tip = tips.find("keep-the-number-not-the-graph")

    def detached(w: Any, batches: list[Any], learn: bool) -> Any:
        total: Any = 0.0
        for x in batches:
            total = total + (w * x).tanh().mean().detach()
        return total

    result = tips.run(tip, fast=detached, clock=False)
    assert (result.verdict, result.fast["kept"]) == ("holds", 0)


def test_where_backward_was_called_only_nodes_pile_up() -> None:
    result = tips.run(tips.find("keep-the-number-not-the-graph"), {"learn": "yes"}, clock=False)
    assert result.slow["kept"] >= 48 and result.slow["peak"] <= result.fast["peak"] * 1.01
