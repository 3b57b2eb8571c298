"""The graph stepper: every gesture, and what it does to the run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tinygrad_edu_widgets import GraphStepper

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu import nn
from tinygrad_edu.errors import ArgumentError, AutogradError, EduError, KeywordError


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
    widget.forward(2)
    widget.back()
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
    given = widget._given["x"]
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


# Arguments of one's own ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "made",
    [
        lambda: GraphStepper(fork, x=2.0, w=-3.0),
        lambda: GraphStepper(fork, x=2, w=-3),
        lambda: GraphStepper(fork, 2.0, w=-3.0),
        lambda: GraphStepper(fork, 2.0, -3.0),
        lambda: GraphStepper(fork, leaf(2.0), leaf(-3.0)),
        lambda: GraphStepper(fork, x=np.float32(2), w=np.array(-3.0, dtype="float32")),
    ],
)
def test_numbers_arrays_and_leaves_by_position_give_the_same_run(made: Any) -> None:
    widget = made()
    assert widget.text() == GraphStepper(fork, x=leaf(2.0), w=leaf(-3.0)).text()
    assert [c.act for c in widget.frame().controls if c.kind == "text"] == ["leaf:x", "leaf:w"]
    widget.act("leaf:w", "4")
    widget.act("last")
    assert "\n  w   4.00  ∂32.0" in widget.text()  # 2 p x, where p = x w


def test_arrays_become_leaves_of_their_own_dtype_and_are_not_shared() -> None:
    x, labels = np.array([[1.0, 2.0]]), np.array([1])
    widget = GraphStepper(lambda x, labels: nn.functional.cross_entropy(x, labels).sum(), x=x, labels=labels)
    kinds = {node.name: (node.dtype, node.wants) for node in widget.run.nodes if not node.op}
    assert kinds == {"x": ("float64", True), "labels": ("int64", False)}
    widget.act("last")
    assert x.tolist() == [[1.0, 2.0]] and x.flags.writeable
    assert {n.name: n.wants for n in GraphStepper(lambda x: x.sum(), [1.0, 2.0]).run.nodes} == {
        "x": True, "loss": True,
    }  # fmt: skip


def colliding(step: tg.Tensor, ask: tg.Tensor, function: tg.Tensor, self: tg.Tensor, values: tg.Tensor) -> tg.Tensor:
    return step * ask * function * self * values


def test_leaves_may_have_the_names_of_our_own_arguments() -> None:
    named = GraphStepper(colliding, step=2.0, ask=3.0, function=5.0, self=7.0, values=11.0)
    assert [n.name for n in named.run.nodes if not n.op] == ["step", "ask", "function", "self", "values"]
    assert (named.run.nodes[-1].value.norm, named.state.step) == (2310.0, 0)
    placed = GraphStepper(colliding, 2.0, 3.0, function=5.0, self=7.0, values=11.0, step=2, ask="Which?")
    assert (placed.state.step, placed.frame().ask) == (2, "Which?")
    assert placed.run.nodes[-1].value.norm == 2310.0
    named.act("leaf:step", "4")
    assert named.run.nodes[-1].value.norm == 4620.0


def test_functions_that_take_any_number_of_leaves() -> None:
    def total(first: tg.Tensor, *xs: tg.Tensor, **more: tg.Tensor) -> tg.Tensor:
        return first + sum(xs) + sum(more.values())

    widget = GraphStepper(total, 1.0, 2.0, 3.0, xs0=4.0, step=1, other=5.0)
    assert [n.name for n in widget.run.nodes if not n.op][:5] == ["first", "xs1", "xs2", "xs0", "other"]
    assert (widget.run.nodes[widget.run.result].value.norm, widget.state.step) == (15.0, 1)
    positional = GraphStepper(lambda x, /: x * x, 3.0)
    assert positional.run.nodes[0].name == "x"
    model = nn.Sequential(nn.Linear(1, 1))
    assert GraphStepper(model, [[1.0]]).run.nodes[0].shape == (1, 1)


def test_a_call_that_does_not_fit_is_refused() -> None:
    with teaches(
        KeywordError, "GraphStepper(fork, x=2.0)", "fork cannot be called so: missing a required argument: 'w'",
        "give a leaf for each parameter without a default; fork takes x, w",
    ):  # fmt: skip
        GraphStepper(fork, x=2.0)
    for wrong in ({"x": 1.0, "w": 1.0, "v": 1.0}, {}):
        with pytest.raises(KeywordError, match="fork takes x, w"):
            GraphStepper(fork, **wrong)


@pytest.mark.parametrize("value", [None, "2", object(), len, {"a": 1}, 2j, np.array(["a"]), [1.0, None], 10**400])
def test_what_cannot_be_a_leaf_is_refused_by_its_name(value: Any) -> None:
    with pytest.raises(ArgumentError, match="the leaf w="):
        GraphStepper(fork, x=2.0, w=value)


@pytest.mark.parametrize(
    ("named", "told"),
    [({"step": "two"}, "GraphStepper(step='two')"), ({"step": 1.5}, "GraphStepper(step=1.5)"),
     ({"ask": 3}, "GraphStepper(ask=3)"), ({"ask": None}, "GraphStepper(ask=None)")],
)  # fmt: skip
def test_options_that_do_not_fit_are_named(named: dict[str, Any], told: str) -> None:
    with pytest.raises(EduError) as caught:
        GraphStepper(fork, x=2.0, w=1.0, **named)
    assert caught.value.tried == told


def test_what_is_no_function_is_refused() -> None:
    with teaches(
        ArgumentError, "GraphStepper(function=3)", "function is called, and this cannot be",
        "give a function, such as a lambda",
    ):  # fmt: skip
        GraphStepper(3)  # type: ignore[arg-type]


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(-100, 100, width=32), min_size=2, max_size=2), st.integers(0, 2))
def test_however_leaves_are_given_the_gradients_are_those_of_the_engine(values: list[float], placed: int) -> None:
    x, w = (leaf(v) for v in values)
    fork(x, w).backward()
    widget = GraphStepper(fork, *values[:placed], **dict(list(zip("xw", values, strict=True))[placed:]))
    last = {send.target: send.total.norm for back in widget.run.backward for send in back.sends}
    assert (last[0], last[1]) == (x.grad.item(), w.grad.item())
