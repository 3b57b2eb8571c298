"""The stepper's picture of random programs says only what the engine and NumPy say too. The claims are in `claims`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tinygrad_edu as tg
from tests.views.graph.claims import assert_claims, names_saved
from tinygrad_edu.views.graph import GraphState, frame, moment, record, text, why


def leaf(data: Any) -> tg.Tensor:
    return tg.tensor(data, requires_grad=True)


@st.composite
def programs(draw: st.DrawFn) -> Callable[..., tg.Tensor]:
    """A random program over two leaves, with forks, stretching, constants and sums."""
    ops = (
        "tanh",
        "relu",
        "sin",
        "exp",
        "neg",
        "square",
        "double",
        "flip",
        "power",
        "add",
        "sub",
        "mul",
        "matmul",
        "part",
    )
    steps = draw(st.lists(st.tuples(st.sampled_from(ops), st.integers(0, 6), st.integers(0, 6)), max_size=7))
    mean = draw(st.booleans())

    def loss_of(x: tg.Tensor, b: tg.Tensor) -> tg.Tensor:
        made = [x, b]
        for op, i, j in steps:
            one, two = made[i % len(made)], made[j % len(made)]
            if op in ("tanh", "relu", "sin", "neg"):
                made.append(getattr(one, op)())
            elif op == "exp":
                made.append(one.tanh().exp())
            elif op == "square":
                made.append(one * one)
            elif op == "double":
                made.append(2 * one - 1)
            elif op == "flip":
                made.append(1 / (one * one + 1))
            elif op == "power":
                made.append(one.tanh() ** 3)
            elif op == "matmul":
                made.append(x @ (one if one.ndim == 2 else x))
            elif op == "part":
                made.append(one.tanh().sum(dim=0))
            else:
                made.append({"add": one + two, "sub": one - two, "mul": one.tanh() * two}[op])
        last = made[-1].tanh()
        return last.mean() if mean else last.sum()

    return loss_of


@settings(max_examples=60, deadline=None)
@given(programs(), st.lists(st.floats(-2, 2, width=16), min_size=6, max_size=6))
def test_every_claim_holds_for_random_programs(loss_of: Callable[..., tg.Tensor], numbers: list[float]) -> None:
    def make() -> dict[str, tg.Tensor]:
        return {"x": leaf([numbers[:2], numbers[2:4]]), "b": leaf(numbers[4:])}

    plain = make()
    loss_of(**plain).backward()
    assert_claims(record(loss_of, make()), plain)


def test_every_claim_holds_for_a_gradient_of_a_gradient() -> None:
    def slope(x: tg.Tensor) -> tg.Tensor:
        y = x * x * x
        (g,) = tg.autograd.grad(y, [x], create_graph=True)
        return g * g

    x = leaf(2.0)
    slope(x).backward()
    assert x.grad.item() == 288.0  # 36 x³
    run = record(slope, {"x": leaf(2.0)})
    assert_claims(run, {"x": x})
    assert [run.nodes[n].op for n in run.forward].count("mul") == 7
    assert text(run, GraphState(run.steps)).splitlines()[4].startswith("  x   2.00  ∂288")


def test_a_backward_without_create_graph_makes_no_steps() -> None:
    def loss_of(x: tg.Tensor) -> tg.Tensor:
        (g,) = tg.autograd.grad((x * x).sum(), [x])
        return (x * g).sum()

    run = record(loss_of, {"x": leaf([1.0, 2.0])})
    assert [run.nodes[n].op for n in run.forward] == ["mul", "sum", "mul", "sum"]
    assert [run.nodes[b.node].op for b in run.backward] == ["sum", "mul"]
    assert not next(node for node in run.nodes if node.name == "g").wants


def test_saves_says_what_the_engine_saved() -> None:
    def loss_of(x: tg.Tensor, c: tg.Tensor) -> tg.Tensor:
        a = x * c
        e = a.exp()
        p = e * x
        q = p + 1
        d = q * 2
        return d.sum()

    x, c = leaf([1.0, 2.0]), tg.tensor([3.0, 4.0])
    run = record(loss_of, {"x": x, "c": c})
    said = names_saved(run)
    assert said == {"a": ["c"], "e": ["its result e"], "p": ["e", "x"], "q": [], "d": ["2"], "loss": []}
    made: dict[str, tg.Tensor] = {"x": x, "c": c}
    made["a"] = x * c
    made["e"] = made["a"].exp()
    made["p"] = made["e"] * x
    for name in ("a", "e", "p"):
        held = [value for value in made[name].node.saved if hasattr(value, "dtype")]
        names = [what.removeprefix("its result ") for what in said[name]]
        assert len(held) == len(names)
        for value, what in zip(held, names, strict=True):
            np.testing.assert_array_equal(value, made[what].detach().numpy())


@pytest.mark.parametrize(
    ("function", "step", "sentence"),
    [
        (lambda w: (w * 2).sum(), 1, "`mul` needs `2` again on the way back, so **the graph keeps it**."),
        (lambda w: (w * w).sum(), 1, "`mul` needs `w` again on the way back, so **the graph keeps it**."),
        (lambda w: (-w * w).sum(), 2, "`mul` needs `neg` and `w` again on the way back, so **the graph keeps them**."),
        (lambda w: w.tanh().sum(), 1, "`tanh` needs its result again on the way back, so **the graph keeps it**."),
        (lambda w: w.sum(), 1, "`sum` saves no values: its gradient **does not depend on them**."),
    ],
)  # fmt: skip
def test_the_why_line_and_the_panel_name_the_same_things(function: Any, step: int, sentence: str) -> None:
    run = record(function, {"w": leaf([1.0, 2.0])})
    now = moment(run, step)
    assert why(run, now) == sentence
    kept = names_saved(run)[run.label(run.forward[step - 1])]
    assert all(f"`{name}`" in sentence or name.startswith("its result") for name in kept)


@pytest.mark.parametrize(("sign", "words"), [(1, "just as far"), (-1, "with its sign turned")])
def test_a_difference_turns_the_sign_for_what_it_takes_away(sign: int, words: str) -> None:
    x = leaf([1.0, 2.0])
    run = record(lambda x: (tg.ones(2) + x if sign > 0 else tg.ones(2) - x).sum(), {"x": x})
    now = moment(run, len(run.forward) + 2)
    assert f"**{words}**" in why(run, now)
    (tg.ones(2) + x if sign > 0 else tg.ones(2) - x).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [sign, sign]


def test_one_variable_that_holds_many_tensors_gives_each_a_label() -> None:
    def loss_of(x: tg.Tensor, w: tg.Tensor) -> tg.Tensor:
        for _ in range(3):
            x = x * w
        return x

    run = record(loss_of, {"x": leaf(2.0), "w": leaf(3.0)})
    assert [run.label(node.id) for node in run.nodes] == ["x", "w", "mul₁", "mul₂", "x₂"]
    assert "∂mul₂ = ∂x₂ * w" in text(run, GraphState(4))


def test_a_tensor_given_twice_is_one_card() -> None:
    x = leaf(3.0)
    run = record(lambda a, b: a * b, {"a": x, "b": x})
    assert [(node.name, node.aliases) for node in run.nodes] == [("a", ("b",)), ("loss", ())]
    assert {send.total.norm for send in run.backward[-1].sends} == {3.0, 6.0}  # as x.grad would be
    assert "\n  a, b   3.00  ∂6.00" in text(run, GraphState(2))
    assert "a, b" in frame(run, GraphState(0), "?").html()


def test_a_run_beyond_all_bounds_is_shown_without_a_warning() -> None:
    run = record(lambda x, w: x * w, {"x": leaf(1e30), "w": leaf(1e30)})
    assert "mul = loss   ∞" in text(run, GraphState(step=99))
