"""The lab: backward waits for the prediction; shapes, operation and the gradient of c can be changed."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import tinygrad_edu_widgets.broadcast_lab as module
from tinygrad_edu_widgets import BroadcastLab

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu.errors import ArgumentError, ShapeError


def last(widget: BroadcastLab) -> str:
    return widget._framed().text.splitlines()[-1]


def everything(widget: BroadcastLab) -> str:
    """All that leaves Python, or can be read there."""
    bundle = widget._repr_mimebundle_()
    parts = (widget.get_state(), bundle, widget.html, repr(widget), widget.text(), widget.svg(), widget.to_html())
    return "".join(map(str, (*parts, widget.data())))


def test_before_the_commit_no_gradient_is_computed_or_said(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def counted(*args: Any) -> Any:
        calls.append(args)
        return reveal(*args)

    reveal = module.broadcast.reveal
    monkeypatch.setattr(module.broadcast, "reveal", counted)
    widget = BroadcastLab(tg.tensor([[1.0], [2.0]]), tg.tensor([7919.0, 1.0, 1.0]), "*")
    secret = "7921"  # the sum of what a's first number was multiplied by, with ones arriving
    widget.act("upstream", "ones")
    for act, value in ((None, None), ("draft", "(3,)"), ("draft", "(2, 3)"), ("point", "a:0"), ("turn", 0)):
        if act is not None:
            widget.act(act, value)
        assert secret not in everything(widget)
        assert "Σ" not in everything(widget)
        assert widget.data()["backward"] is None
    assert calls == []
    widget.act("commit")
    assert len(calls) == 1
    assert secret in widget.html
    assert "you: (2, 3)   ∂a: (2, 1)" in widget.text()


def test_without_a_prediction_it_shows_at_once() -> None:
    widget = BroadcastLab((3, 1), (1, 4), predict=False)
    assert "∂a[0, 0] 4 = 1+0+2+1" in widget.text()
    assert "you:" not in widget.text()
    assert "Commit" not in widget.html


def test_an_empty_prediction_cannot_be_committed() -> None:
    widget = BroadcastLab()
    widget.act("commit")
    assert widget.state.locked
    widget.act("draft", "(9, 9)")
    assert last(widget) == "▲ the prediction '(9, 9)': the choices are (1, 4), (3, 1), (3, 4). Take one of these."
    widget.act("commit")
    assert widget.state.backward is None


def test_once_committed_shapes_are_changed_at_will_and_reset_asks_again() -> None:
    widget = BroadcastLab()
    widget.act("draft", "(3, 1)")
    widget.act("commit")
    assert "you: (3, 1)" in widget.text()
    widget.act("a", "2, 1, 4")
    assert "∂a (2, 1, 4) ∂c, no sum" in widget.text()
    assert "you:" not in widget.text()
    for act, value in (("draft", "(3, 1)"), ("commit", None)):  # still under way
        widget.act(act, value)
    assert widget.state.draft is None
    widget.act("reset")
    assert widget.text() == BroadcastLab().text()
    assert widget.state.locked


def test_a_prediction_is_for_the_shapes_that_are_shown() -> None:
    widget = BroadcastLab()
    widget.act("draft", "(3, 4)")
    widget.act("op", "*")
    assert widget.state.draft == "(3, 4)"
    widget.act("b", "5")
    assert widget.state.draft is None
    assert "choices: (5,), (3, 1), (3, 5)" in widget.text()


def test_shapes_that_clash_and_back() -> None:
    widget = BroadcastLab(predict=False)
    widget.act("a", "3, 2")
    assert "  why    axis -1 has 2 elements in one and 4 in the other" in widget.text()
    widget.act("upstream", "ones")
    widget.act("op", "-")
    assert "  tried  sub((3, 2) float32, (1, 4) float32) on cpu" in widget.text()
    widget.act("a", "3, 1")
    assert "∂b[0, 0] −3 = −1 −1 −1" in widget.text()


def test_a_shape_that_is_none_keeps_the_last() -> None:
    widget = BroadcastLab(predict=False)
    before = widget._framed().text
    widget.act("a", "wide")
    assert (
        widget._framed().text == before + "\n▲ the shape 'wide': a shape is a list of sizes. Type sizes, such as 3, 1."
    )
    widget.act("op", "/")
    assert "▲" not in widget.text()


def test_the_own_numbers_come_back_with_their_shape() -> None:
    a = tg.tensor([[0.25], [0.75]], requires_grad=True)
    widget = BroadcastLab(a, (3,), predict=False)
    assert "(0.250)" in widget.text()
    widget.act("a", "3")
    assert "0.250" not in widget.text()
    widget.act("a", "2, 1")
    assert "(0.250)" in widget.text()
    assert a.grad is None
    a.data = tg.tensor([[9.0], [9.0]])
    widget.act("op", "*")
    assert "(0.250)" in widget.text()


def test_the_gradient_of_c_is_ones_or_set_number_by_number() -> None:
    widget = BroadcastLab((2, 1), (2,), predict=False)
    widget.act("upstream", "ones")
    assert "∂a[0, 0] 2 = 1+1" in widget.text()
    widget.act("turn", "1")
    assert widget.state.upstream == "made up"
    assert "∂a[0, 0] 3 = 1+2" in widget.text()
    for _ in range(2):
        widget.act("turn", "1")
    assert "∂a[0, 0] 1 = 1+0" in widget.text()
    widget.act("upstream", "ones")
    widget.act("turn", "0")
    assert "∂a[0, 0] 3 = 2+1" in widget.text()
    widget.act("upstream", "his")
    assert last(widget) == "▲ ∂c 'his': there is no such value. Use ones or made up."
    fresh = BroadcastLab((2, 1), (2,), predict=False)
    fresh.act("turn", "1")
    assert "∂a[0, 0] 2 = 1+1" in fresh.text()  # from 1 and 0


def test_a_number_is_followed_by_pressing_it() -> None:
    widget = BroadcastLab(predict=False)
    widget.act("point", "b:2")
    assert last(widget) == "picked: b[0, 2] = 3, read 3 times; ∂b[0, 2] = 2 +1 +0 = 3"
    widget.act("op", "*")
    assert last(widget) == "picked: b[0, 2] = 3, read 3 times; ∂b[0, 2] = 20 +20 +0 = 40"
    widget.act("b", "1, 1")
    assert "picked" not in widget.text()


def test_backward_runs_also_where_it_was_made_without_gradients() -> None:
    with tg.no_grad():
        widget = BroadcastLab(predict=False)
    assert widget.data()["backward"]["sums"][0]["values"][::4] == (4.0, 2.0, 4.0)


def test_data_are_plain_and_exact() -> None:
    data = BroadcastLab(np.array([1 / 3]), (2,), "mul", predict=False).data()
    json.dumps(data)
    assert data["readings"][0]["values"] == (1 / 3, 1 / 3)
    assert data["dtype"] == "float64"


def test_what_cannot_be_shown_is_refused_at_once() -> None:
    with pytest.raises(ShapeError, match="up to 3 axes"):
        BroadcastLab((1, 1, 1, 1), (1,))
    with pytest.raises(ShapeError, match="up to 3 axes"):
        BroadcastLab(tg.zeros(1, 1, 1, 1), (1,))
    with pytest.raises(ArgumentError, match="use one of"):
        BroadcastLab(op="matmul")
    with teaches(
        ShapeError, "b with the shape (2, 1, 3, 1, 2)", "the lab draws up to 3 axes, and this has 5",
        "leave out axes, such as those of size 1, or take a part of a tensor: x[0]",
    ):  # fmt: skip
        BroadcastLab((3,), tg.ones(2, 1, 3, 1, 2))


def test_a_tuple_is_a_shape_and_a_list_that_could_be_one_is_refused() -> None:
    for shape in ((3, 1), tg.ones(3, 1).shape, (np.int64(3), np.int32(1))):
        assert BroadcastLab(shape, (1, 4)).text() == BroadcastLab().text()
    with teaches(
        ArgumentError, "BroadcastLab(a=[3, 1])", "it could be a shape, or numbers",
        "write (3, 1) for the shape, or tensor([3, 1]) for the numbers",
    ):  # fmt: skip
        BroadcastLab([3, 1], (1, 4))
    assert BroadcastLab(tg.tensor([3, 1])).state.shapes[0] == (2,)
    for numbers, shape in (([3.0, 1.0], (2,)), ([[3, 1]], (1, 2)), (((3, 1),), (1, 2)), (5, ()), ((), ())):
        assert BroadcastLab(numbers).state.shapes[0] == shape
    for wrong in ((3.0, 1.0), (3, None), (True, 2)):
        with pytest.raises(ArgumentError, match="a tuple is a shape, and its sizes are whole numbers"):
            BroadcastLab((2,), wrong)


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"a": None}, "a=None"), ({"b": "wide"}, "b='wide'"), ({"a": object()}, "a=a object"), ({"op": 3}, "op=3"),
        ({"op": None}, "op=None"), ({"op": ["+"]}, "op=['+']"), ({"predict": "no"}, "predict='no'"),
        ({"predict": 0}, "predict=0"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_by_its_name(given: Any, named: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        BroadcastLab(**given)
    assert named in caught.value.tried
