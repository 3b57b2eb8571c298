"""The graph stepper: every gesture, and what it does to the run."""

from __future__ import annotations

from typing import Any

import pytest
from tinygrad_edu_widgets import GraphStepper

import tinygrad_edu as tg
from tinygrad_edu import nn
from tinygrad_edu.errors import AutogradError


def leaf(data: Any) -> tg.Tensor:
    return tg.tensor(data, requires_grad=True)


def fork(x: tg.Tensor, w: tg.Tensor) -> tg.Tensor:
    p = x * w
    return p * p + x


@pytest.fixture
def widget() -> GraphStepper:
    return GraphStepper(fork, x=leaf(2.0), w=leaf(-3.0))


def test_steps_stay_in_range(widget: GraphStepper) -> None:
    for act, value, step in (
        ("back", None, 0), ("step", None, 1), ("step", None, 2), ("back", None, 1), ("last", None, 6),
        ("step", None, 6), ("first", None, 0), ("goto", 4, 4), ("goto", 99, 6), ("goto", -3, 0),
    ):  # fmt: skip
        widget.act(act, value)
        assert widget.state.step == step
    widget.step(2)
    widget.step(-1)
    assert widget.state.step == 1
    assert GraphStepper(fork, step=99, x=leaf(2.0), w=leaf(-3.0)).state.step == 6


def test_a_card_leads_to_its_step(widget: GraphStepper) -> None:
    square = next(node.id for node in widget.run.nodes if node.row == 1 and node.op == "mul")
    widget.act("jump", square)
    assert widget.state.step == 2
    widget.act("last")
    widget.act("jump", square)
    assert widget.state.step == 4
    widget.act("jump", 0)
    assert widget.state.step == 4  # where x first gets a gradient


def test_a_leaf_can_be_typed_over_and_reset(widget: GraphStepper) -> None:
    given = widget._first["x"]
    widget.act("last")
    for typed, shown in (("5", "5.00"), ("−1,5", "−1.50"), ("1e-3", "0.00100")):
        widget.act("leaf:x", typed)
        assert f"\n  x   {shown}  ∂" in widget.text()
    assert given.item() == 2.0
    assert given.grad is None
    for wrong in ("much", "nan", "inf", ""):
        widget.act("leaf:x", wrong)
        assert widget.text().endswith(f"▲ x = {wrong!r}: it is not a number. Type digits, such as −1.5.")
        assert "\n  x   0.00100" in widget.text()
    widget.act("reset")
    assert "\n  x   2.00" in widget.text()
    assert widget.state.step == 0
    assert "▲" not in widget.text()


def test_an_entry_that_the_function_refuses_changes_nothing() -> None:
    def picky(x: tg.Tensor) -> tg.Tensor:
        if x.item() > 5:
            raise RuntimeError("too large")
        return (x * x).tanh() if x.item() > 0 else x.tanh()

    widget = GraphStepper(picky, step=99, x=leaf(2.0))
    run = widget.run
    with pytest.raises(RuntimeError, match="too large"):
        widget.act("leaf:x", "6")
    assert widget.run is run
    widget.act("leaf:x", "-1")  # a shorter run: the step stays inside it
    assert widget.state.step == widget.run.steps == 2
    widget.act("leaf:x", "3")
    assert "x   3.00" in widget.text()


def test_dtype_and_shape_of_a_leaf_stay() -> None:
    widget = GraphStepper(lambda x: (x * x).sum(), x=tg.tensor([[2.0]], dtype="float64", requires_grad=True))
    widget.act("leaf:x", "3")
    assert (widget.run.nodes[0].dtype, widget.run.nodes[0].shape) == ("float64", (1, 1))


def test_modules_close_and_open() -> None:
    model = nn.Sequential(nn.Linear(1, 2), nn.Tanh())
    widget = GraphStepper(lambda x: model(x).sum(), x=leaf([[1.0]]))
    assert "Sequential ▸2" not in widget.text()
    widget.act("collapse")
    assert "Sequential ▸2" in widget.text()
    assert "Expand modules" in widget.html
    (group,) = widget.state.collapsed
    widget.act("toggle", str(group))
    assert "linear 1×2" in widget.text()
    widget.act("toggle", str(group))
    assert "Sequential ▸2" in widget.text()


def test_a_large_graph_starts_with_closed_modules_also_after_a_reset() -> None:
    class Deep(nn.Module):
        def forward(self, x: tg.Tensor) -> tg.Tensor:
            for _ in range(70):
                x = x.tanh()
            return x

    model = Deep()
    widget = GraphStepper(model, x=leaf(1.0))
    assert "Deep ▸70" in widget.text()
    widget.act("collapse")
    assert "Deep ▸70" not in widget.text()
    widget.act("reset")
    assert "Deep ▸70" in widget.text()


def test_what_cannot_be_stepped_is_refused_at_once() -> None:
    with pytest.raises(AutogradError, match="returns a tensor"):
        GraphStepper(lambda x: x * 2, x=leaf([1.0, 2.0]))


def test_only_single_numbers_that_want_gradients_can_be_typed_over() -> None:
    widget = GraphStepper(lambda x, c, v: (x * c * v).sum(), x=leaf(1.0), c=tg.tensor(2.0), v=leaf([1.0, 2.0]))
    assert [c.act for c in widget.frame().controls if c.kind == "text"] == ["leaf:x"]
    widget.act("leaf:v", "1")
    assert widget.text().endswith("▲ v = '1': v has shape (2,). Edit a leaf that is one number.")


def test_the_data_are_the_run(widget: GraphStepper) -> None:
    assert widget.data() is widget.run
