"""The stepper's picture and its text twin: exact text for small runs, the same values for all, bounds for large."""

from __future__ import annotations

import itertools
import re
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tinygrad_edu as tg
from tests.views.twin import assert_twin
from tinygrad_edu import nn
from tinygrad_edu.views.graph import (
    GraphRun,
    GraphState,
    describe,
    first_closed,
    frame,
    moment,
    outermost,
    position,
    record,
    text,
    why,
)
from tinygrad_edu.views.graph.cards import homes, scene


def leaf(data: Any) -> tg.Tensor:
    return tg.tensor(data, requires_grad=True)


def fork(x: tg.Tensor, w: tg.Tensor) -> tg.Tensor:
    p = x * w
    return p * p + x


def stretch(x: tg.Tensor, b: tg.Tensor) -> tg.Tensor:
    y = x + b
    return (y * 2).sum()


@cache
def forked() -> GraphRun:
    return record(fork, {"x": leaf(2.0), "w": leaf(-3.0)})


@cache
def stretched() -> GraphRun:
    return record(stretch, {"x": leaf([[1.0, 2.0], [3.0, 4.0]]), "b": leaf([1.0, 2.0])})


@cache
def modular() -> GraphRun:
    model = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
    for i, p in enumerate(model.parameters()):
        p.data = tg.full(p.shape, 0.25 * (i + 1))

    def loss_of(x: tg.Tensor) -> tg.Tensor:
        return model(x).sum()

    return record(loss_of, {"x": leaf([[1.0, -2.0]])})


@cache
def recurrent(steps: int = 166) -> GraphRun:
    """A hand-made RNN: about six nodes and ten edges a step."""
    xs = tg.ones((steps, 1, 2)) * 0.5
    leaves = {"W": leaf([[0.1, 0.2], [0.0, -0.3]]), "U": leaf([[1.0, 0.5], [0.2, 0.1]]), "b": leaf([0.0, 0.1])}

    def loss_of(W: tg.Tensor, U: tg.Tensor, b: tg.Tensor) -> tg.Tensor:
        h = tg.zeros(1, 2)
        for t in range(steps):
            h = (xs[t] @ U + h @ W + b).tanh()
        return (h * h).sum()

    return record(loss_of, leaves)


def test_text_at_the_start() -> None:
    assert text(forked(), GraphState(0)) == (
        "GraphStepper: forward 0 of 3\n"
        "  1 p = x * w\n"
        "  2 return p * p + x\n"
        "  x   2.00  ∂ –\n"
        "  w   −3.00  ∂ –\n"
        "  mul = p   –  ∂ –\n"
        "  mul   –  ∂ –\n"
        "  add = loss   –  ∂ –\n"
        "before the first step: only leaves"
    )


def test_text_after_a_forward_step() -> None:
    assert text(forked(), GraphState(2)).splitlines()[5:] == [
        "  mul = p   −6.00  ∂ –",
        "> mul   36.0  ∂ –",
        "  add = loss   –  ∂ –",
        "now: mul forward",
        "saves p for backward",
    ]


def test_text_of_a_fork_that_adds() -> None:
    state = GraphState(5)
    assert text(forked(), state) == (
        "GraphStepper: backward 2 of 3\n"
        "  1 p = x * w\n"
        "> 2 return p * p + x\n"
        "  x   2.00  ∂1.00\n"
        "  w   −3.00  ∂ –\n"
        "  mul = p   −6.00  ∂−12.0\n"
        "> mul   36.0  ∂1.00\n"
        "  add = loss   38.0  ∂1.00\n"
        "now: mul backward\n"
        "∂p = ∂mul * p\n"
        "∂p += ∂mul * p\n"
        "arriving −6.00\n"
        "+ arriving −6.00\n"
        "∂p −12.0"
    )
    now = moment(forked(), 5)
    assert describe(forked(), now) == "5 nodes, 6 edges. Backward step 2 of 3, mul: gradients to p −12.0."
    assert why(forked(), now).startswith("`p` is used more than once")


def test_text_of_a_broadcast_that_sums() -> None:
    assert text(stretched(), GraphState(6)) == (
        "GraphStepper: backward 3 of 3\n"
        "> 1 y = x + b\n"
        "  2 return (y * 2).sum()\n"
        "  x 2×2  5.48  ∂4.00\n"
        "  b 2  [1.00 2.00]  ∂[4.00 4.00]\n"
        "> add = y 2×2  8.49  ∂4.00\n"
        "  mul 2 2×2  17.0  ∂2.00\n"
        "  sum = loss   32.0  ∂1.00\n"
        "now: add backward\n"
        "∂x = ∂y\n"
        "∂b = ∂y, summed\n"
        "∂x ‖·‖ 4.00 [2.00 2.00; 2.00 2.00]"
    )
    assert why(stretched(), moment(stretched(), 6)).startswith("`b` was stretched to fit")


def test_text_of_modules_open_and_closed() -> None:
    run = modular()
    assert text(run, GraphState(2)).splitlines()[2:] == [
        "  x 1×2  2.24  ∂ –",
        "  weight = 0.weight 3×2  0.612  ∂ –  in 0",
        "  bias = 0.bias 3  0.866  ∂ –  in 0",
        "  linear₁ 1×3  0.433  ∂ –  in 0",
        "> tanh 1×3  0.424  ∂ –  in 1",
        "  weight = 2.weight 1×3  1.30  ∂ –  in 2",
        "  bias = 2.bias 1  1.00  ∂ –  in 2",
        "  linear₂ 1×1  –  ∂ –  in 2",
        "  sum = loss   –  ∂ –",
        "open modules: Sequential, 0, 1, 2",
        "now: tanh forward",
        "saves its result for backward",
    ]
    outer = frozenset({run.nodes[run.forward[0]].groups[0][0]})
    closed = text(run, GraphState(2, outer))
    assert "> Sequential ▸3" in closed
    assert "linear" not in closed.replace("now: linear", "")
    inner = frozenset({run.nodes[run.forward[0]].groups[1][0]})
    assert "  0 ▸1  0.433  ∂ –  in Sequential\n" in text(run, GraphState(2, inner))


def test_formulas_name_each_operand_in_its_place() -> None:
    run = record(lambda x: 2 / x - 2**x, {"x": leaf(2.0)})
    said = "\n".join(text(run, GraphState(step)) for step in range(run.steps + 1))
    assert "∂x = ∂pow * pow * log(2)" in said
    assert "∂x += -∂div * 2 / x**2" in said
    assert "saves 2, x for backward" in said


@pytest.mark.parametrize(("reduction", "share"), [("mean", " / n"), ("sum", "")])
def test_the_formula_of_a_mean_divides_by_how_many_there_are(reduction: str, share: str) -> None:
    labels = tg.tensor([0, 1])

    def loss_of(s: tg.Tensor) -> tg.Tensor:
        return nn.functional.cross_entropy(s, labels, reduction=reduction)

    run = record(loss_of, {"s": leaf([[1.0, 2.0], [0.5, 0.0]])})
    said = text(run, GraphState(run.steps)).splitlines()
    assert f"∂s = ∂loss * (softmax - 1hot){share}" in said


def test_the_message_and_the_position_are_said() -> None:
    state = GraphState(0, message="x = 'a': it is not a number.")
    assert text(forked(), state).endswith("\n▲ x = 'a': it is not a number.")
    assert position(forked(), moment(forked(), 99)) == "backward 3 of 3"
    assert moment(forked(), -5) == moment(forked(), 0)


UNARY = ("tanh", "relu", "sin", "exp", "neg", "square", "double", "flip")


@st.composite
def runs(draw: st.DrawFn) -> GraphRun:
    """A small random program over two leaves, with broadcasting, forks, products and constants."""
    one_step = st.tuples(
        st.sampled_from((*UNARY, "add", "mul", "matmul", "part")), st.integers(0, 5), st.integers(0, 5)
    )
    steps = draw(st.lists(one_step, max_size=6))
    modules = draw(st.booleans())
    layer = nn.Sequential(nn.Linear(2, 2), nn.Tanh())

    def loss_of(x: tg.Tensor, b: tg.Tensor) -> tg.Tensor:
        made = [x, b]
        for op, i, j in steps:
            one, two = made[i % len(made)], made[j % len(made)]
            if op in ("tanh", "relu", "sin", "exp", "neg"):
                made.append(getattr(one.tanh() if op == "exp" else one, op)())
            elif op == "square":
                made.append(one * one)
            elif op == "double":
                made.append(2 * one - 1)
            elif op == "flip":
                made.append(1 / (one * one + 1))
            elif op == "matmul":
                made.append(x @ (one if one.ndim == 2 else x))
            elif op == "part":
                made.append(one.sum(dim=0))
            else:
                made.append(one + two if op == "add" else one * two)
        last = made[-1] + (layer(x) if modules else 0)
        return last.sum()

    return record(loss_of, {"x": leaf([[0.5, -1.5], [2.0, 0.0]]), "b": leaf([1.0, 1e-5])})


@settings(max_examples=30)
@given(st.data())
def test_the_twin_says_all_that_is_drawn(data: st.DataObject) -> None:
    run = data.draw(runs())
    groups = sorted({group for node in run.nodes for group, _ in node.groups})
    closed = frozenset(data.draw(st.sets(st.sampled_from(groups)))) if groups else frozenset()
    step = data.draw(st.integers(0, run.steps))
    assert_twin(frame(run, GraphState(step, closed, "no such thing"), "?"))


def test_the_twin_has_long_names_in_full() -> None:
    def loss_of(a_very_long_name_for_a_leaf: tg.Tensor) -> tg.Tensor:
        another_long_name_for_a_result = a_very_long_name_for_a_leaf * 123456.789
        return another_long_name_for_a_result.sum()

    run = record(loss_of, {"a_very_long_name_for_a_leaf": leaf([1.0, 2.0])})
    for step in range(run.steps + 1):
        assert_twin(frame(run, GraphState(step), "?"))
    assert "a_very_long_name_for_a_leaf 2  [1.00 2.00]" in text(run, GraphState(0))


@pytest.mark.parametrize("uses", [4, 5, 20])
def test_a_leaf_is_drawn_once_however_often_it_is_used(uses: int) -> None:
    def loss_of(x: tg.Tensor, w: tg.Tensor) -> tg.Tensor:
        for _ in range(uses):
            x = x * w
        return x

    run = record(loss_of, {"x": leaf(1.0), "w": leaf(2.0)})
    page = frame(run, GraphState(run.steps), "?").html()
    cards = re.findall(r'<g [^>]*data-link="n1"[^>]*>', page)
    assert sum("leaf w" in card for card in cards) == 1
    tags = [card for card in cards if "w, used here" in card]
    assert len(tags) == (uses - 1 if uses > 4 else 0)
    assert len(set(tags)) <= 1  # all say the same, and lead to the same place
    twin = text(run, GraphState(0))
    assert twin.count("\n  w   2.00") == 1
    assert (f"used {uses} times" in twin) is (uses > 4)


def test_an_edge_that_would_cross_the_figure_becomes_a_tag() -> None:
    def loss_of(x: tg.Tensor, w: tg.Tensor) -> tg.Tensor:
        y = x * w
        for _ in range(10):
            y = y.tanh()
        return y * w

    s = scene(record(loss_of, {"x": leaf(1.0), "w": leaf(2.0)}), frozenset())
    assert [(box.label, box.stub) for box in s.boxes if box.stub] == [("w", True)]


def overlap(one: tuple[float, float, float, float], two: tuple[float, float, float, float]) -> bool:
    return one[0] < two[2] and two[0] < one[2] and one[1] < two[3] and two[1] < one[3]


def test_every_card_lies_inside_the_figure_and_none_on_another() -> None:
    for run in (forked(), stretched(), modular(), transformer(), recurrent(8)):
        for closed in (frozenset[int](), frozenset({0}), outermost(run)):
            s = scene(run, closed)
            boxes = [(x, y, x + w, y + h) for (x, y), (w, h) in zip(s.placed.corners, s.sizes, strict=True)]
            for i, box in enumerate(boxes):
                assert box[0] >= 0 and box[1] >= 0 and box[2] <= s.placed.width + 1 and box[3] <= s.placed.height + 1
                assert not any(overlap(box, other) for other in boxes[i + 1 :])


def test_a_modules_box_holds_its_own_cards_and_no_others() -> None:
    run = transformer()
    s = scene(run, frozenset())
    assert {room.label for room in s.rooms} >= {"TransformerEncoderLayer", "self_attn", "linear1"}
    around = homes(run)
    for room in s.rooms:
        wall = (room.x, room.y, room.x + room.width, room.y + room.height)
        for i, box in s.cards:
            (x, y), (w, h) = s.placed.corners[i], s.sizes[i]
            card = (x, y, x + w, y + h)
            inside = any(group == room.group for group, _ in around[box.node])
            assert overlap(card, wall) is inside
            if inside:
                assert wall[0] < card[0] and wall[1] < card[1] and card[2] < wall[2] and card[3] < wall[3]


def test_edges_run_from_card_to_card_downwards() -> None:
    for run in (transformer(), modular(), forked()):
        s = scene(run, frozenset())
        for (source, target, _), route in zip(s.edges, s.placed.routes, strict=True):
            (x, y), (w, h) = s.placed.corners[source], s.sizes[source]
            assert x <= route[0][0] <= x + w and abs(route[0][1] - y - h) < 1
            (x, y), (w, h) = s.placed.corners[target], s.sizes[target]
            assert x <= route[-1][0] <= x + w and abs(route[-1][1] - y) < 1
            assert all(a[1] <= b[1] + 0.01 for a, b in itertools.pairwise(route))


@cache
def transformer() -> GraphRun:
    tg.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0)

    def loss_of(x: tg.Tensor) -> tg.Tensor:
        y = layer(x)
        return (y * y).mean()

    return record(loss_of, {"x": tg.randn(2, 3, 8, requires_grad=True)})


def test_modules_close_at_each_level() -> None:
    run = transformer()
    assert [len(tuple(scene(run, outermost(run, depth)).cards)) for depth in (0, 1, 2)] == [4, 11, 34]
    assert first_closed(run) == frozenset()
    whole = text(run, GraphState(run.steps, outermost(run)))
    assert "\n> TransformerEncoderLayer ▸21" in whole
    assert "\n  weight" not in whole  # parameters are inside
    inner = text(run, GraphState(run.steps, outermost(run, 1)))
    assert "> self_attn ▸14" in inner
    assert "open modules: TransformerEncoderLayer" in inner


def test_a_thousand_nodes_are_all_there_and_a_still_picture_stays_small() -> None:
    run = recurrent()
    assert len(run.nodes) > 1000
    for step in (0, 1, run.steps // 3, run.steps):
        shown = frame(run, GraphState(step), "?")
        page = shown.html()
        assert page.count('<g tabindex="0" role="button"') == len(scene(run, frozenset()).boxes)
        assert len(re.findall(r'<g [^>]*data-current="true"', page)) == (step > 0)
        assert len(shown.svg()) < 300_000
        assert shown.wide.canvas.height < 3000
        assert len(re.findall(r'<g [^>]*data-current="true"', "".join(shown.wide.canvas.items))) == (step > 0)
    assert_twin(frame(run, GraphState(700), "?"))


def test_the_layout_is_made_once_for_all_steps() -> None:
    run = recurrent(20)
    first = scene(run, frozenset())
    frame(run, GraphState(5), "?")
    frame(run, GraphState(6), "?")
    assert scene(run, frozenset()) is first


def test_strangers_names_stay_text() -> None:
    run = record(lambda **named: (named["<script>"] * 2).sum(), {"<script>": leaf([1.0])})
    shown = frame(run, GraphState(2, message="<script>alert(1)</script>"), "<script>", {"<script>": "1"})
    for page in (shown.html(), shown.page(), shown.svg()):
        assert "<script" not in page
    assert "<script>" in shown.text
