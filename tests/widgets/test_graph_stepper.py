"""The graph stepper: every gesture, and what it does to the run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import traitlets
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
        assert widget._framed().text.endswith(f"▲ x = {wrong!r}: it is not a number. Type digits, such as −1.5.")
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
    assert widget._framed().text.endswith("▲ v = '1': v has shape (2,). Edit a leaf that is one number.")


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


# The step as a trait ---------------------------------------------------------------------------------------------


def test_the_step_can_be_observed_set_and_linked(widget: GraphStepper) -> None:
    seen: list[int] = []
    widget.observe(lambda change: seen.append(change["new"]), "step")
    widget.act("step")
    widget.step = 5
    assert (seen, widget.state.step, widget.steps) == ([1, 5], 5, 6)
    widget.step = 99  # beyond the end: it stays inside
    assert (widget.step, widget.state.step) == (6, 6)
    widget.step = -4
    assert (widget.step, widget.state.step) == (0, 0)
    other = GraphStepper(fork, x=1.0, w=1.0, step=4)
    link = traitlets.link((widget, "step"), (other, "step"))
    assert other.step == 0
    other.forward(3)
    assert (widget.step, widget.state.step) == (3, 3)
    link.unlink()
    with pytest.raises(traitlets.TraitError):
        widget.step = "far"
    with pytest.raises(traitlets.TraitError):
        widget.steps = 7


# What is sent ----------------------------------------------------------------------------------------------------


class Line:
    """The connection to a browser: notes what goes over it."""

    kernel = comm_id = "line"

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []

    def send(self, data: Any = None, buffers: Any = None, **_: Any) -> None:
        self.sent.append(data)

    def on_msg(self, _: Any) -> None:
        """Nothing comes back."""

    close = on_msg

    def keys(self) -> set[str]:
        """The traits that were sent since the last call."""
        found = {key for data in self.sent for key in data.get("state", {})}
        self.sent.clear()
        return found


def connected(made: GraphStepper) -> Line:
    made.comm = line = Line()
    line.sent.clear()
    return line


def test_a_step_sends_neither_page_nor_reel(widget: GraphStepper) -> None:
    line = connected(widget)
    for act, value in (("step", None), ("goto", 5), ("back", None), ("jump", 0)):
        widget.act(act, value)
        assert line.keys() <= {"step", "answers"}
    assert "backward 1 of 3" in widget.html  # made when somebody asks for it
    widget.act("leaf:x", "7")
    assert {"html", "reel"} <= line.keys()
    widget.act("leaf:x", "none")
    assert line.keys() == {"html", "answers"}  # only the message is new


def test_the_browser_gets_the_parts_that_it_asks_for(widget: GraphStepper) -> None:
    line = connected(widget)
    widget._handle_custom_msg({"act": "reel", "value": 3}, [])
    (answer,) = line.sent
    chunk = answer["content"]["reel"]
    assert answer["content"]["id"] == widget.reel["id"]
    assert chunk["from"] <= 3 <= chunk["to"]
    for wrong in (None, "x", 10**9, -5, [1]):
        widget._handle_custom_msg({"act": "reel", "value": wrong}, [])  # out of range: the nearest; no number: none
    assert widget.state.step == 0


# Later code ------------------------------------------------------------------------------------------------------


def product() -> tuple[tg.Tensor, tg.Tensor, GraphStepper]:
    x, w = leaf([2.0, 1.0]), leaf([3.0, 4.0])
    return x, w, GraphStepper(lambda x: (x * w).sum(), x=x)


STALE = "w has changed since this picture was made: it still shows that moment."


@pytest.mark.parametrize(
    "change",
    [
        lambda w: w.add_(1.0),
        lambda w: w.array.__setitem__(0, 9.0),
        lambda w: setattr(w, "data", tg.tensor([5.0, 5.0])),
        lambda w: w.requires_grad_(False),
    ],
    ids=["written in place", "written by NumPy", "given other data", "wants no gradient now"],
)
def test_a_tensor_that_is_not_as_it_was_is_named(change: Any) -> None:
    _, w, widget = product()
    widget.look()
    assert widget.frame().stale == ""
    before = widget._framed().text
    with tg.no_grad():
        change(w)
    widget.look()
    assert widget.frame().stale == STALE
    assert widget._framed().text == f"{STALE}\n{before}"  # the picture is still that of its moment
    assert 'class="edu-stage edu-walk stale"' in widget.html


def test_recording_again_takes_todays_values() -> None:
    x, w, widget = product()
    with tg.no_grad():
        w.mul_(10.0)
        x.mul_(2.0)
    widget.look()
    assert widget.frame().stale == "x and w have changed since this picture was made: it still shows that moment."
    widget.act("again")
    assert widget.frame().stale == ""
    assert "\n  x 2  [4.00 2.00]" in widget.text()
    assert "\n  w 2  [30.0 40.0]" in widget.text()
    widget.act("reset")
    assert "[30.0 40.0]" in widget.text()


def test_reset_brings_back_exactly_the_first_run() -> None:
    x, w = leaf(2.0), leaf(3.0)
    widget = GraphStepper(lambda x: x * w, x=x)
    first = widget.run
    widget.act("leaf:x", "7")
    assert "21.0" in widget.text().replace("–", "") or widget.run.nodes[widget.run.result].value.norm == 21.0
    with tg.no_grad():
        x.fill_(100.0)
        w.fill_(50.0)
    widget.act("reset")
    assert widget.run is first
    assert "\n  x   2.00" in widget.text() and "\n  w   3.00" in widget.text()
    assert widget.frame().stale.startswith("x and w have changed")


def test_a_number_cannot_be_typed_into_a_picture_that_is_out_of_date() -> None:
    x, w = leaf(2.0), leaf(3.0)
    widget = GraphStepper(lambda x: x * w, x=x)
    with tg.no_grad():
        w.add_(1.0)
    widget.act("leaf:x", "7")
    assert "x = '7': w has changed since this picture was made" in widget.text()
    assert widget._framed().text.endswith("Press Record again first.")
    assert "\n  x   2.00" in widget.text()
    assert [c.act for c in widget.frame().settings] == ["reset", "again"]


@pytest.mark.parametrize("given", [{"x": 2.0}, {"x": 2.0, "s": "SCALE"}, {"SCALE": "SCALE", "x": 1.0}])
def test_a_name_that_now_holds_another_tensor_is_named(monkeypatch: pytest.MonkeyPatch, given: dict[str, Any]) -> None:
    leaves = {name: globals()[value] if value == "SCALE" else value for name, value in given.items()}
    widget = GraphStepper(lambda x, SCALE: x * SCALE, **leaves) if "SCALE" in given else GraphStepper(scaled, **leaves)
    widget.look()
    assert widget.frame().stale == ""
    monkeypatch.setitem(globals(), "SCALE", leaf(3.0))
    widget.look()
    assert widget.frame().stale == "SCALE has changed since this picture was made: it still shows that moment."


SCALE = leaf(3.0)


def scaled(x: tg.Tensor, s: tg.Tensor | float = 1.0) -> tg.Tensor:
    return x * SCALE * s


def test_parameters_that_were_trained_are_named_by_their_path() -> None:
    tg.manual_seed(0)
    model = nn.Sequential(nn.Linear(1, 1), nn.Tanh())
    widget = GraphStepper(lambda x: model(x).sum(), x=leaf([[1.0]]))
    with tg.no_grad():
        model[0].bias.add_(1.0)
    widget.look()
    assert widget.frame().stale == "0.bias has changed since this picture was made: it still shows that moment."


def test_random_numbers_are_the_same_in_each_run_and_none_is_used_up() -> None:
    def noisy(x: tg.Tensor) -> tg.Tensor:
        return (x * tg.randn(3)).sum() + float(np.random.rand())

    tg.manual_seed(5)
    np.random.seed(5)
    mine = (tg.randn(2).tolist(), np.random.rand())
    tg.manual_seed(5)
    np.random.seed(5)
    widget = GraphStepper(noisy, x=2.0)
    noise = [node.value.rows for node in widget.run.nodes if node.op == "" and node.shape == (3,)]
    widget.act("leaf:x", "4")
    assert [node.value.rows for node in widget.run.nodes if node.op == "" and node.shape == (3,)] == noise
    assert (tg.randn(2).tolist(), np.random.rand()) == mine
    widget.act("again")  # today's stream: it has gone on
    assert [node.value.rows for node in widget.run.nodes if node.op == "" and node.shape == (3,)] != noise


def test_a_tensor_given_twice_has_one_box_that_changes_both() -> None:
    x = leaf(3.0)
    widget = GraphStepper(fork, x=x, w=x)
    assert [c.act for c in widget.frame().settings if c.kind == "text"] == ["leaf:x"]
    widget.act("leaf:x", "2")
    assert widget.run.nodes[widget.run.result].value.norm == 18.0  # (2·2)² + 2


def test_a_stepper_that_was_closed_looks_no_more(widget: GraphStepper) -> None:
    from tinygrad_edu_widgets.watching import _WATCHERS

    assert id(widget) in _WATCHERS
    widget.close()
    assert id(widget) not in _WATCHERS


def test_other_steppers_look_after_a_leaf_was_typed_over() -> None:
    w = leaf(3.0)
    one = GraphStepper(lambda x: (x * w).sum(), x=leaf(1.0))
    two = GraphStepper(lambda x: (x + w).sum(), x=leaf(1.0))
    with tg.no_grad():
        w.add_(1.0)
    one.act("again")
    assert two.frame().stale == STALE
