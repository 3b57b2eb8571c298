"""Broadcasting's model against NumPy, its words exactly, and a twin that says all that is drawn."""

from __future__ import annotations

import dataclasses
import itertools
import math
from typing import Any
from xml.dom import minidom

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import tinygrad_edu as tg
from tests.views.twin import assert_twin
from tinygrad_edu.errors import ArgumentError, EduError, IndexRangeError, ShapeError
from tinygrad_edu.views.broadcast import (
    LabState,
    Shape,
    ask,
    describe,
    frame,
    model,
    operand,
    parse_shape,
    read,
    reveal,
    tell,
    text,
    why,
)
from tinygrad_edu.views.broadcast.grids import flow
from tinygrad_edu.views.broadcast.model import places, plan, source
from tinygrad_edu.views.frame import Frame


def lab(a: Any, b: Any, op: str = "+", upstream: str = "made up", shown: bool = True, **changes: Any) -> LabState:
    x, y = operand(a, 10), operand(b, 1)
    state = read(x, y, op)
    state = LabState(**{**vars(state), "upstream": upstream, "locked": not shown, **changes})
    return reveal(state, x, y) if shown else state


def checked(state: LabState) -> Frame:
    shown = frame(state)
    assert_twin(shown)
    minidom.parseString(shown.svg().encode())
    return shown


FORWARD = """\
BroadcastLab: c = a + b, float32
          axis 0      axis 1
  a            3       1 → 4   12 bytes, axis 1 stretched: stride 0, no extra bytes
  b        · → 3           4   16 bytes, axis 0 stretched: stride 0, no extra bytes
  c            3           4   48 bytes, the result
forward, read again and again
  a (3, 1) (in brackets: read again)
          10    (10)    (10)    (10)
          20    (20)    (20)    (20)
          30    (30)    (30)    (30)
  b (4,) (in brackets: read again)
           1       2       3       4
         (1)     (2)     (3)     (4)
         (1)     (2)     (3)     (4)
  c = a + b (3, 4)
          11      12      13      14
          21      22      23      24
          31      32      33      34
"""
HIDDEN = """\
The gradients wait for your prediction.
choices: (4,), (3, 1), (3, 4)"""
SHOWN = """\
backward, sum over the reads
  you: (3, 4)   ∂a: (3, 1)
  ∂a (3, 1) Σ ∂c over axis 1
    ∂a[0, 0] 4 = 1+0+2+1
    ∂a[1, 0] 2 = 0+1+1+0
    ∂a[2, 0] 4 = 3+0+0+1
  ∂b (4,) Σ ∂c over axis 0
    ∂b[0] 4 = 1 +0 +3
    ∂b[1] 1 = 0 +1 +0
    ∂b[2] 3 = 2 +1 +0
    ∂b[3] 2 = 1 +0 +1
  ∂c (3, 4)
           1       0       2       1
           0       1       1       0
           3       0       0       1
picked: b[2] = 3, read 3 times; ∂b[2] = 2 +1 +0 = 3"""


def test_the_words_before_and_after_the_prediction() -> None:
    hidden = lab((3, 1), (4,), shown=False)
    assert text(hidden) == FORWARD + HIDDEN
    assert text(model.draft(hidden, "(3, 4)")).endswith("\nyou, not committed: (3, 4)")
    shown = lab((3, 1), (4,), said="(3, 4)", picked="b:2")
    assert text(shown) == FORWARD + SHOWN
    assert ask(hidden) == ask(shown) == "a is (3, 1), b is (4,). What is the shape of a’s gradient?"
    for state in (hidden, shown):
        checked(state)


def test_a_clash_names_the_axis_and_how_to_mend_it() -> None:
    state = lab((2, 3), (2,))
    assert text(state) == (
        "BroadcastLab: c = a + b\n"
        "         axis -2     axis -1\n"
        "  a            2           3\n"
        "  b        · → 2           2\n"
        "  c            2           ▲\n"
        "▲ ShapeError\n"
        "  tried  add((2, 3) float32, (2,) float32) on cpu\n"
        "  why    axis -1 has 3 elements in one and 2 in the other, and only a 1 can be stretched\n"
        "  mend   give the shorter one an axis of length 1 where it lacks one: y.unsqueeze(-1)"
    )
    assert ask(state) == "a is (2, 3), b is (2,). Which axis does not fit?"
    assert why(state) == "Only an axis of **length 1** can be read again: its stride becomes 0."
    assert state.backward is None
    shown = checked(state)
    assert shown.tip is None
    assert [c.act for c in shown.controls] == ["a", "b", "op", "reset"]


def test_a_result_too_large_is_refused_before_it_fills_the_memory() -> None:
    state = lab((100_000, 1), (100_000,))
    assert "  why    c would have shape (100000, 100000), 10000000000 elements" in text(state)
    assert why(state) == ""
    checked(state)


def test_the_trap_of_a_column_and_a_row() -> None:
    hidden = lab((1000, 1), (1000,), "-", shown=False)
    assert why(hidden) == "`b` counts as a row: **each number of `a` meets each of `b`**, and c takes 4.00 MB."
    assert why(lab((3,), (3, 1), shown=False)).startswith("`a` counts as a row: **each number of `b` meets each of `a`")
    shown = lab((1000, 1), (1000,), "-", "ones")
    said = text(shown)
    for line in (
        "  a         1000    1 → 1000   4.00 kB, axis 1 stretched: stride 0, no extra bytes",
        "  c         1000        1000   4.00 MB, the result",
        "    ∂a[999, 0] 1000 = 1+1+1+…+1",
        "    ∂b[0] −1000 = −1 −1 −1 +… −1",
        "16 of 1\u2009000\u2009000 places of c are shown.",
    ):
        assert line in said.splitlines()
    assert len(frame(shown).html()) < 90_000
    for state in (hidden, shown):
        checked(state)


@pytest.mark.parametrize(
    "a, b, hidden, shown",
    [
        ((2,), (2,), "The shapes are equal: **no axis is stretched**, and each number is read once.",
         "Each number was read **once**, so no sum is needed and each gradient has one term."),
        ((3, 1), (1, 4), "A stretched axis has **stride 0**: the same bytes are read again, and none are copied.",
         "Each number of `a` was read **four times**, so its gradient is the sum of four."),
        ((), (20,), "Shapes are aligned **from the right**: an axis that `a` lacks counts as 1.",
         "Each number of `a` was read **20 times**, so its gradient is the sum of 20."),
        ((4,), (2, 1, 1), "Shapes are aligned **from the right**: an axis that `a` lacks counts as 1.",
         "Each number of `a` was read **two times**, so its gradient is the sum of two."),
        ((2, 2), (1, 2), "A stretched axis has **stride 0**: the same bytes are read again, and none are copied.",
         "Each number of `b` was read **two times**, so its gradient is the sum of two."),
        ((3, 1), (0,), *["c has **no elements**, so nothing is read, and a sum of nothing is 0."] * 2),
    ],
)  # fmt: skip
def test_the_why_line_gives_the_cause(a: Shape, b: Shape, hidden: str, shown: str) -> None:
    assert why(lab(a, b, shown=False)) == hidden
    assert why(lab(a, b)) == shown
    assert len(shown.split()) <= 25


@pytest.mark.parametrize(
    "a, b, said, words",
    [
        ((3, 1), (1, 4), "(3, 4)", "(3, 4) is the shape of `c`, with 12 numbers; `a` has 3 to nudge."),
        ((3, 1), (1, 4), "(1, 4)", "(1, 4) is the shape of `b`, which has a gradient of its own."),
        ((2, 3), (2, 3), "(3, 2)", "A gradient has the shape of its tensor: one number for each number of `a`, "
         "at the same place."),
        ((3, 1), (1, 4), "(3, 1)", ""),
    ],
)  # fmt: skip
def test_a_wrong_shape_is_answered_after_the_commit(a: Shape, b: Shape, said: str, words: str) -> None:
    hidden, shown = lab(a, b, shown=False), dataclasses.replace(lab(a, b), said=said)
    assert words not in why(dataclasses.replace(hidden, said=said)) or not words
    assert why(shown) == f"{words} {why(lab(a, b))}".strip()
    assert len(words.split()) <= 25


def test_the_title_does_not_answer_the_question() -> None:
    assert "sum" not in frame(lab((3, 1), (1, 4), shown=False)).wide.title.lower()
    assert "sum" in frame(lab((3, 1), (1, 4))).wide.title.lower()


def test_single_numbers_and_no_numbers() -> None:
    both = lab((), ())
    assert "    ∂a 1\n" in text(both)
    assert tell(both, 1, (0, 0, 0)) == "b = 1, read once; ∂b = 1"
    assert describe(both).startswith("Each number of a, of shape (), is read once; each number of b, of shape (), is")
    empty = lab((3, 1), (0,))
    assert text(empty).splitlines()[-1] == "c has no elements: there is nothing to draw."
    for state in (both, empty):
        checked(state)


def test_operands_are_floats_of_their_own() -> None:
    x = tg.tensor([1.0, 2.0], requires_grad=True)
    made = operand(x, 10)
    made.array[0] = 7
    assert x.tolist() == [1, 2]
    assert not made.requires_grad
    assert operand([[1, 2]], 1).dtype == np.float32
    assert operand(np.ones(2), 1).dtype == np.float64
    assert operand((2, 2), 10).tolist() == [[10, 20], [30, 40]]
    assert operand(3.0, 1).shape == operand((), 1).shape == ()


@pytest.mark.parametrize(
    "words, shape", [("3, 1", (3, 1)), ("(4,)", (4,)), ("2×3 x4", (2, 3, 4)), ("()", ()), ("", ())]
)
def test_shapes_that_are_understood(words: str, shape: Shape) -> None:
    assert parse_shape(words) == shape


@pytest.mark.parametrize(
    "words, said",
    [
        ("many", "the shape 'many': a shape is a list of sizes. Type sizes, such as 3, 1."),
        ("-1", "the shape '-1': a shape is a list of sizes. Type sizes, such as 3, 1."),
        ("2.5", "the shape '2.5': a shape is a list of sizes. Type sizes, such as 3, 1."),
        (
            "1 1 1 1",
            "the shape (1, 1, 1, 1): the lab draws up to 3 axes, and this has 4. "
            "Leave out axes, such as those of size 1, or take a part of a tensor: x[0].",
        ),
        ("9000000", "the shape (9000000,): it has 9000000 elements. Stay below 4000000."),
        (None, "the shape 'None': a shape is a list of sizes. Type sizes, such as 3, 1."),
    ],
)
def test_shapes_that_are_refused(words: Any, said: str) -> None:
    with pytest.raises(ShapeError) as caught:
        parse_shape(words)
    assert caught.value.sentence() == said


def test_other_refusals() -> None:
    state = lab((2,), (2,), shown=False)
    for call, kind, said in (
        (lambda: model.known_op("@"), ArgumentError,
         "the operation op='@': the lab does not have it. Use one of +, -, *, /."),
        (lambda: model.draft(state, "(9,)"), IndexRangeError,
         "the prediction '(9,)': the choices are (), (1,), (2,). Take one of these."),
        (lambda: model.point(state, "a:2"), IndexRangeError,
         "pointing at number 2 of a: a has 2 numbers, counted from 0. Point at one of them."),
        (lambda: model.point(state, "c:0"), IndexRangeError,
         "pointing at c: a number of c comes from one of a and one of b. Point at one of those, to follow it into c."),
        (lambda: operand((-1,), 1), ShapeError,
         "the shape (-1,): an axis cannot have fewer than 0 elements. Use 0 or more."),
    ):  # fmt: skip
        with pytest.raises(kind) as caught:
            call()
        assert isinstance(caught.value, EduError)
        assert caught.value.sentence() == said
    assert [model.known_op(op) for op in ("add", "sub", "mul", "div", "*")] == ["+", "-", "*", "/", "*"]


def test_pointing_a_second_time_lets_go() -> None:
    state = model.point(lab((2,), (2,)), "a:1")
    assert state.picked == "a:1"
    assert model.point(state, "a:1").picked is None


def test_blocks_lie_in_a_row_where_they_fit() -> None:
    assert flow([(100, 50), (100, 50), (100, 50)], 0, 446) == [(0, 0), (173, 0), (346, 0)]
    assert flow([(200, 50), (150, 70), (200, 50)], 0, 446) == [(0, 0), (222, 0), (0, 82)]


@st.composite
def pairs(draw: st.DrawFn, most: int = 7, least: int = 0) -> tuple[Shape, Shape]:
    """Two shapes of up to three axes that can be stretched to one."""
    onto = tuple(draw(st.lists(st.integers(least, most), max_size=3)))
    assume(math.prod(onto) < 200)
    found = []
    for _ in range(2):
        lead = draw(st.integers(0, len(onto)))
        found.append(tuple(1 if draw(st.booleans()) else size for size in onto[lead:]))
    return found[0], found[1]


def drawn(array: Any, onto: Shape) -> list[float]:
    """A NumPy array's numbers at the drawn places of c."""
    filled = np.broadcast_to(array, onto)[(None,) * (3 - len(onto))]
    return [float(filled[place]) for place in places(plan(onto))]


def summed(terms: Any, shape: Shape) -> Any:
    """NumPy's sum of c-shaped terms over all that ``shape`` was read again along."""
    lead = terms.ndim - len(shape)
    again = tuple(i for i in range(terms.ndim) if i < lead or shape[i - lead] == 1)
    return terms.sum(again, keepdims=True).reshape(shape)


@settings(max_examples=80)
@given(pairs(), st.sampled_from("+-*/"), st.sampled_from(model.UPSTREAMS), st.data())
def test_the_gradients_and_their_terms_are_those_of_numpy(
    shapes: tuple[Shape, Shape], op: str, upstream: str, data: st.DataObject
) -> None:
    numbers = st.integers(-8, 8).map(lambda n: n / 4 or 0.5)
    x, y = (
        np.array(data.draw(st.lists(numbers, min_size=math.prod(s), max_size=math.prod(s)))).reshape(s) for s in shapes
    )
    state = lab(x, y, op, upstream)
    assert state.backward is not None
    onto = np.broadcast_shapes(*shapes)
    assert state.readings[2].shape == onto == model.c_shape(*shapes)
    g = (
        np.ones(onto)
        if upstream == "ones"
        else np.resize(np.array(model.PATTERN, float), math.prod(onto)).reshape(onto)
    )
    da, db = {"+": (1, 1), "-": (1, -1), "*": (y, x), "/": (1 / y, -x / y**2)}[op]
    c = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide}[op](x, y)
    for reading, value in zip(state.readings, (x, y, c), strict=True):
        assert list(reading.values) == pytest.approx(drawn(value, onto))
        steps = zip(onto, reading.strides, np.broadcast_to(value, onto).strides, strict=True)
        assert all(ours == numpys for size, ours, numpys in steps if size > 1 and math.prod(onto))
        assert (reading.nbytes, reading.more) == (value.nbytes, 0)
    assert list(state.backward.upstream) == drawn(g, onto)
    for shape, slope, found in zip(shapes, (da, db), state.backward.sums, strict=True):
        terms = g * slope
        assert list(found.terms) == pytest.approx(drawn(terms, onto))
        assert list(found.values) == pytest.approx(drawn(summed(terms, shape), onto))


@settings(max_examples=60)
@given(pairs(3, 1), st.sampled_from("+-*/"))
def test_the_shown_terms_add_up_to_the_shown_gradients(shapes: tuple[Shape, Shape], op: str) -> None:
    state = lab(*shapes, op)
    assert state.backward is not None
    onto = state.readings[2].shape
    for which, found in enumerate(state.backward.sums):
        total = dict.fromkeys(model.bases(state, which), 0.0)
        for place, term in zip(places(plan(onto)), found.terms, strict=True):
            total[source(shapes[which], place)] += term
        for base, value in total.items():
            assert model.value_at(state, found.values, base) == pytest.approx(value, rel=1e-5, abs=1e-6)
            told = itertools.chain(*model.lines(state, which, base))
            assert sum(term for term in told if term is not None) == pytest.approx(value, rel=1e-5, abs=1e-6)


@settings(max_examples=60)
@given(pairs(9), st.sampled_from("+-*/"), st.booleans(), st.data())
def test_the_twin_says_all_that_is_drawn(
    shapes: tuple[Shape, Shape], op: str, shown: bool, data: st.DataObject
) -> None:
    state = lab(*shapes, op, shown=shown)
    assert not state.refusal
    offered = model.choices(state)
    assert len(set(offered)) == 3
    assert {str(shapes[0]), str(state.readings[2].shape)} <= set(offered)
    mine = data.draw(st.sampled_from(offered))
    state = LabState(**{**vars(state), "said": mine}) if shown else model.draft(state, mine)
    if math.prod(state.readings[2].shape):
        state = model.point(state, f"a:{data.draw(st.integers(0, math.prod(shapes[0]) - 1))}")
    checked(state)


@given(st.lists(st.integers(0, 3), max_size=3), st.lists(st.integers(0, 3), max_size=3))
def test_two_shapes_meet_exactly_where_numpys_do(one: list[int], two: list[int]) -> None:
    a, b = tuple(one), tuple(two)
    try:
        onto: Shape | None = np.broadcast_shapes(a, b)
    except ValueError:
        onto = None
    assert model.c_shape(a, b) == onto
    assert (lab(a, b).refusal is None) is (onto is not None)
