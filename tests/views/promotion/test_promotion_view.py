"""PromotionTracer as a picture: each row is what the engine computed, and what NumPy computes under NumPy's rules."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tinygrad_edu as tg
from tests.views.twin import assert_twin
from tinygrad_edu import nn
from tinygrad_edu.common.wording import bytes_text, shape_text
from tinygrad_edu.dtypes import PROMOTIONS, as_dtype, is_float
from tinygrad_edu.errors import ArgumentError, DtypeError, IndexRangeError
from tinygrad_edu.observe.promotion import Promotions
from tinygrad_edu.settings import promotion as by_table
from tinygrad_edu.views import promotion
from tinygrad_edu.views.frame import NARROW, WIDE
from tinygrad_edu.views.glyphs import BITS, EXPONENT, fill, glyph
from tinygrad_edu.views.marks import Canvas
from tinygrad_edu.views.promotion import Input, PromotionState
from tinygrad_edu.views.promotion.model import LIMIT

CAPTIONS = [
    "operation, the result first", "shape", "dtype", "bytes", "fix", r"▲ (first to widen|first|refused)", r"▸ .*",
    "wide", "not", "needed, and more than needed",
]  # fmt: skip


def traced(run: Callable[..., Any], table: str = "torch", **inputs: Any) -> PromotionState:
    """A state for a run of this function; the inputs stay as they are."""
    seen, failure, results = Promotions(inputs), "", []
    with by_table(table):
        try:
            with seen:
                results = [run(**inputs)]
        except DtypeError as error:
            failure = error.sentence()
    known = tuple(
        Input(name, "tensor", value.dtype.name, ("float32", "float64"))
        for name, value in inputs.items()
        if isinstance(value, tg.Tensor)
    )
    empty = PromotionState(known, promotion.read(Promotions(), []), table)
    return promotion.finish(empty, promotion.read(seen, results, failure))


def scaled(x: Any, scale: Any, y: Any) -> Any:
    return ((x @ x).relu() * scale - y).square().mean()


GIVEN = {"x": tg.ones(4, 4), "scale": tg.ones(4, dtype="float64"), "y": tg.ones(4, 4)}


def listing(state: PromotionState) -> list[str]:
    return [promotion.row_text(state, row) for row in promotion.rows(state)]


# The tree -----------------------------------------------------------------------------------------------------------


def test_the_tree_goes_from_the_result_to_what_was_given() -> None:
    state = traced(scaled, **GIVEN)
    shown = promotion.rows(state)
    assert [(row.depth, row.parent) for row in shown] == [
        (0, None), (1, 0), (2, 1), (3, 2), (4, 3), (5, 4), (6, 5), (6, 5), (4, 3), (3, 2),
    ]  # fmt: skip
    assert listing(state) == [
        "mean, scalar float64, 8 bytes, 4 bytes more than needed",
        "square, 4×4 float64, 128 bytes, 64 bytes more than needed",
        "sub, 4×4 float64, 128 bytes, 64 bytes more than needed",
        "mul, 4×4 float64, 128 bytes, 64 bytes more than needed, first to widen",
        "relu, 4×4 float32, 64 bytes",
        "matmul, 4×4 float32, 64 bytes",
        "x, 4×4 float32, 64 bytes",
        "x, above, 4×4 float32",
        "scale, 4 float64, 32 bytes, 16 bytes more than needed",
        "y, 4×4 float32, 64 bytes",
    ]
    assert promotion.why(state) == (
        "`scale` is **float64**, and under PyTorch's rules float32 with float64 gives float64, "
        "so what follows takes 2× the bytes."
    )


def test_a_result_that_is_used_twice_is_unfolded_once() -> None:
    def run(x: Any) -> Any:
        h = x.exp()
        return h * h + h

    state = traced(run, x=tg.ones(3))
    assert [promotion.row_text(state, row).split(",")[0] for row in promotion.rows(state)] == [
        "add", "mul", "exp", "x", "exp", "exp",
    ]  # fmt: skip
    assert [row.key[0] for row in promotion.rows(state)] == ["s", "s", "s", "l", "a", "a"]
    assert len({row.key for row in promotion.rows(state)}) == 6


def test_a_culprit_that_no_result_needs_is_shown_too() -> None:
    def run(x: Any, scale: Any) -> Any:
        unused = x * scale
        assert unused.dtype == "float64"
        return x + 1.0

    state = traced(run, x=tg.ones(3), scale=tg.ones(3, dtype="float64"))
    assert [row.depth for row in promotion.rows(state)] == [0, 1, 1, 0, 1, 1]
    assert "mul, 3 float64, 24 bytes, 12 bytes more than needed, first to widen" in listing(state)
    assert "1.0, a number without a dtype" in listing(state)


def test_without_operations_it_says_so() -> None:
    state = traced(lambda: None)
    assert promotion.rows(state) == [] and promotion.why(state) == ""
    assert "No operation has run." in promotion.text(state)
    assert_twin(promotion.frame(state))


def test_a_function_that_returns_nothing_shows_what_it_did_last() -> None:
    def run(x: Any) -> None:
        (x + 1.0).relu()

    assert listing(traced(run, x=tg.ones(3)))[0] == "relu, 3 float32, 12 bytes"


def deep(x: Any, scale: Any, steps: int = 40) -> Any:
    for _ in range(steps):
        x = x * 0.5 + 1.0
    return x * scale


def test_what_stayed_narrow_is_folded_and_opens_row_by_row() -> None:
    state = traced(deep, x=tg.ones(3), scale=tg.ones(3, dtype="float64"))
    assert len(state.trace.steps) == 81
    assert listing(state) == [
        "mul, 3 float64, 24 bytes, 12 bytes more than needed, first to widen",
        "add and 79 more, all as wide as float32 or less",
        "scale, 3 float64, 24 bytes, 12 bytes more than needed",
    ]
    opened = promotion.pick(state, promotion.rows(state)[1].key)
    assert listing(opened)[1:3] == ["add, 3 float32, 12 bytes", "mul, 3 float32, 12 bytes"]
    assert "add and 69 more, all as wide as float32 or less" in listing(opened), "ten at a time"
    assert opened.picked == promotion.rows(opened)[1].key


def test_a_tree_that_is_too_long_is_cut_and_keeps_its_culprit() -> None:
    def run(x: Any, scale: Any) -> Any:
        wide = x * scale
        for _ in range(100):
            wide = wide + 1.0
        return wide

    state = traced(run, x=tg.ones(3), scale=tg.ones(3, dtype="float64"))
    shown = promotion.rows(state)
    assert [row.parent for row in shown] == [None, *range(7), None, None, 9, 9, None]
    assert listing(state)[8] == "92 more rows" and listing(state)[-1] == "100 more rows"
    assert listing(state)[9].endswith("first to widen") and "scale, 3 float64" in listing(state)[11]
    assert_twin(promotion.frame(state), CAPTIONS)
    whole = promotion.pick(state, "m0")
    assert len(promotion.rows(whole)) == 203 < LIMIT
    assert len({row.key for row in promotion.rows(whole)}) == 203
    assert_twin(promotion.frame(whole), CAPTIONS)


def test_what_was_refused_is_shown_with_what_met() -> None:
    state = traced(scaled, **{**GIVEN, "x": tg.ones(4, 4), "y": tg.ones(4, 4)}, table="torch")
    refused = traced(lambda x, w: (x * 2.0) @ w, x=tg.ones(3, 3, dtype="float64"), w=tg.ones(3, 3))
    assert state.trace.refused is None
    assert listing(refused)[0] == "matmul, refused"
    assert [row.depth for row in promotion.rows(refused)] == [0, 1, 2, 2, 1]
    assert promotion.why(refused) == (
        "`matmul` is given **float64 and float32**, and under PyTorch's rules it does not mix them."
    )
    assert refused.trace.failure in promotion.frame(refused).message
    assert_twin(promotion.frame(refused), CAPTIONS)


# What rows claim -----------------------------------------------------------------------------------------------------

DTYPES = ["int64", "float16", "float32", "float64"]
SHAPES: list[tuple[int, ...]] = [(2, 3), (3,), (), (2, 1)]
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b
}  # fmt: skip
leaf = st.tuples(st.sampled_from(DTYPES), st.sampled_from(SHAPES))
program = st.recursive(leaf, lambda inner: st.tuples(st.sampled_from(sorted(BINARY)), inner, inner), max_leaves=6)


def evaluate(tree: Any, leaf_of: Callable[[str, tuple[int, ...]], Any], made: list[Any]) -> Any:
    """The value of a program, and in ``made`` each result in the order in which it was computed."""
    if len(tree) == 2:
        return leaf_of(*tree)
    result = BINARY[tree[0]](evaluate(tree[1], leaf_of, made), evaluate(tree[2], leaf_of, made))
    made.append(result)
    return result


@given(program, st.sampled_from(["torch", "numpy", "jax"]))
def test_rows_are_what_the_engine_and_numpy_compute(tree: Any, table: str) -> None:
    made: list[Any] = []
    state = traced(lambda: evaluate(tree, lambda d, s: tg.ones(s, dtype=d), made), table)
    steps = state.trace.steps
    assert [(step.dtype, step.shape, step.nbytes) for step in steps] == [
        (one.dtype, tuple(one.shape), one.nbytes) for one in made
    ]
    if table == "numpy":
        theirs: list[Any] = []
        evaluate(tree, lambda d, s: np.ones(s, dtype=d), theirs)
        assert [step.dtype for step in steps] == [np.asarray(one).dtype for one in theirs]
    shown = {row.step: promotion.row_text(state, row) for row in promotion.rows(state) if row.key[0] == "s"}
    assert len(shown) == len(steps)
    for step in steps:
        assert f"{shape_text(step.shape) or 'scalar'} {step.dtype}, {bytes_text(step.nbytes)}" in shown[step.place]
        floats = [one.dtype.itemsize for one in step.operands if is_float(one.dtype)]
        if step.place == state.trace.first:
            assert step.dtype.itemsize > min(floats, default=4)
    assert_twin(promotion.frame(state), CAPTIONS)


@given(program, st.sampled_from(["torch", "numpy", "jax"]))
def test_too_many_is_what_a_narrow_run_would_not_have(tree: Any, table: str) -> None:
    made: list[Any] = []
    state = traced(lambda: evaluate(tree, lambda d, s: tg.ones(s, dtype=d), made), table)
    for row in promotion.rows(state):
        found = re.search(r"(\d+) bytes more than needed", promotion.row_text(state, row))
        if row.step is None or row.key[0] != "s":
            continue
        step, narrow = state.trace.steps[row.step], state.trace.narrow
        wide = state.trace.first is not None and row.step >= state.trace.first and is_float(step.dtype)
        size = step.nbytes // step.dtype.itemsize
        expected = size * (step.dtype.itemsize - (narrow or 0)) if wide and step.dtype.itemsize > (narrow or 0) else 0
        assert int(found[1] if found else 0) == expected


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_bars_are_as_long_as_their_bytes_and_rows_can_be_pressed(width: int) -> None:
    state = traced(scaled, **GIVEN)
    root = ET.fromstring(promotion.draw(state, width).svg())
    groups = [g for g in root.iter("g") if g.get("data-act") == "pick"]
    assert [g.get("data-value") for g in groups] == [row.key for row in promotion.rows(state)]
    assert [g.get("tabindex") for g in groups].count("0") == 1
    lengths = []
    for g in groups:
        bars = [r for r in g.iter("rect") if r.get("height") == "10" and float(r.get("x") or 0) > width * 0.7]
        lengths.append((sum(float(r.get("width") or 0) for r in bars) + len(bars) - 1, [r.get("class") for r in bars]))
    full = max(length for length, _ in lengths)
    for (length, classes), row in zip(lengths, promotion.rows(state), strict=True):
        told = promotion.row_text(state, row)
        if "above" in told:
            assert classes == []
            continue
        nbytes = int(re.search(r"(\d+) bytes", told)[1])  # type: ignore[index]
        assert length == pytest.approx(max(full * nbytes / 128, 1.0), abs=1.1)
        assert classes == (["dt-f32", "dt-f64"] if "more than needed" in told else ["dt-f32"])


def test_a_parameter_of_a_module_is_named_and_so_is_its_place() -> None:
    class Scaled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Linear(3, 3)
            self.register_buffer("scale", tg.tensor(np.ones(3)))

        def forward(self, x: tg.Tensor) -> tg.Tensor:
            return self.inner(x) * self.scale

    model = nn.Sequential(Scaled())
    state = traced(model, input=tg.ones(2, 3))
    assert "Sequential.0.scale, 3 float64, 24 bytes, 12 bytes more than needed" in listing(state)
    text = promotion.text(state)
    assert "in Sequential.0, " in text
    assert promotion.why(state).startswith("The buffer 'Sequential.0.scale' is **float64**")


def test_the_parts_of_a_bar_have_the_colours_of_both_dtypes() -> None:
    state = traced(lambda x, scale: x * scale, x=tg.ones(64, dtype="bfloat16"), scale=tg.ones(64))
    svg = promotion.draw(state, WIDE).svg()
    assert 'class="dt-bf16"' in svg and 'class="dt-f16"' not in svg
    squares = [r for r in ET.fromstring(svg).iter("rect") if (r.get("width"), r.get("height")) == ("10", "10")]
    assert [r.get("class") for r in squares][-2:] == ["dt-bf16", "dt-f32"], "the key"


# What a learner does -------------------------------------------------------------------------------------------------


def test_what_is_not_there_is_refused() -> None:
    state = traced(scaled, **GIVEN)
    with pytest.raises(IndexRangeError, match="there is no such one"):
        promotion.pick(state, "s99")
    with pytest.raises(ArgumentError, match="the tables are torch, numpy, jax"):
        promotion.known_table("julia")
    with pytest.raises(IndexRangeError, match="take one of float32, float64"):
        promotion.make(state, "x", "int8")
    assert tuple(PROMOTIONS) == promotion.TABLES


def test_the_input_in_hand_is_the_picked_one_the_changed_one_or_the_culprit() -> None:
    state = traced(scaled, **GIVEN)
    assert getattr(promotion.in_hand(state), "name", "") == "scale" == getattr(promotion.suspect(state), "name", "")
    last = promotion.rows(state)[-1].key
    assert getattr(promotion.in_hand(promotion.pick(state, last)), "name", "") == "y"
    changed = promotion.make(state, "x", "float64")
    assert getattr(promotion.in_hand(changed), "name", "") == "x" and changed.choice("x") == "float64"


# Glyphs --------------------------------------------------------------------------------------------------------------


FLOAT8 = {"e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2}


@pytest.mark.parametrize("dtype", BITS)
def test_a_glyph_is_drawn_to_scale(dtype: str) -> None:
    canvas = Canvas(40)
    width = glyph(canvas, 0, 10, dtype)
    assert width == (4 if dtype in FLOAT8 else as_dtype(dtype).itemsize * 4)
    rects = [(float(r.get("width") or 0), r.get("class")) for r in ET.fromstring(canvas.svg("", "")).iter("rect")]
    assert {cls for _, cls in rects} == {fill(dtype)}
    if dtype in EXPONENT:
        bits = ml_dtypes.finfo(FLOAT8[dtype] if dtype in FLOAT8 else as_dtype(dtype)).nexp
        assert EXPONENT[dtype] == bits and rects[1][0] == bits / 2
    else:
        assert len(rects) == 1


# Fixes ---------------------------------------------------------------------------------------------------------------


def fixed(run: Callable[..., Any], table: str = "torch", **inputs: Any) -> str:
    """What is told as a fix, after it was tried: with it nothing widens."""
    from tinygrad_edu.views.promotion.words import fix_text

    state = traced(run, table, **inputs)
    line, found = fix_text(state), promotion.fix(state)
    assert found is not None
    names = dict(inputs)
    exec(line, names)
    again = traced(run, table, **{name: names[name] for name in inputs})
    assert again.trace.first is None and again.trace.refused is None
    return line


def linear(x: Any, w: Any, scale: Any) -> Any:
    return (x + w) * scale


@pytest.mark.parametrize(
    ("dtypes", "line"),
    [
        (("float32", "float32", "float64"), 'scale = scale.to("float32")'),
        (("bfloat16", "bfloat16", "float32"), 'scale = scale.to("bfloat16")'),
        (("float16", "float32", "float32"), 'x = x.to("float32")  # or all others float16'),
        (("float32", "float32", "int64"), ""),
    ],
)
def test_after_the_fix_nothing_widens(dtypes: tuple[str, ...], line: str) -> None:
    given = {name: tg.ones(3, dtype=dtype) for name, dtype in zip(("x", "w", "scale"), dtypes, strict=True)}
    if line:
        assert fixed(linear, **given) == line
    else:
        assert traced(linear, **given).trace.first is None
        assert fixed(linear, "numpy", **given) == 'scale = scale.to("float32")'


def test_16_bits_of_two_kinds_are_made_one() -> None:
    line = fixed(lambda a, b: a * b, a=tg.ones(3, dtype="float16"), b=tg.ones(3, dtype="bfloat16"))
    assert line == 'a = a.to("bfloat16")'


def test_an_integer_is_to_blame_and_not_the_number_beside_it() -> None:
    assert fixed(lambda n: (n * 1.0).sqrt(), "numpy", n=tg.ones(3, dtype="int64")) == 'n = n.to("float32")'
    state = traced(lambda n: (n * 1.0).sqrt(), "numpy", n=tg.ones(3, dtype="int64"))
    assert promotion.why(state).startswith("`n` is **int64**")


def test_what_refused_a_product_is_fixed_too() -> None:
    wide = tg.ones(3, 3, dtype="float64")
    line = fixed(lambda x, w, v: (x @ w) @ v, x=wide, w=tg.ones(3, 3), v=tg.ones(3, 3))
    assert line == 'x = x.to("float32")'


def test_what_has_no_name_is_told_by_its_line() -> None:
    from tinygrad_edu.views.promotion.words import fix_text

    told = fix_text(traced(lambda x: x * tg.ones(3, dtype="float64"), x=tg.ones(3)))
    assert told.startswith("make this float32: made in test_promotion_view.py, line ")


@pytest.mark.parametrize(
    ("run", "given", "words"),
    [
        (lambda x: x + x, {"x": tg.ones(3)}, "All floats here are **float32**"),
        (lambda x, s: x * s, {"x": tg.ones(3), "s": tg.tensor(2.0, dtype="float64")}, "a single number does not widen"),
        (lambda x, y: x > y, {"x": tg.ones(3), "y": tg.ones(3, dtype="float64")}, "No operation makes floats wider"),
        (lambda x: x.double() * 2.0, {"x": tg.ones(3)}, "No operation makes floats wider"),
    ],
)
def test_why_nothing_widened(run: Callable[..., Any], given: dict[str, Any], words: str) -> None:
    state = traced(run, **given)
    assert state.trace.first is None and words in promotion.why(state)


def test_wide_bytes_are_told_apart() -> None:
    from tinygrad_edu.views.promotion.words import cost_text

    def run(x: Any, scale: Any) -> None:
        (x * scale).sum().backward()

    state = traced(run, x=tg.ones(100, requires_grad=True), scale=tg.ones(100, dtype="float64"))
    cost = state.trace.cost
    assert cost.nbytes == 808 + 800 + cost.gradients and cost.casts == 800 and cost.gradients > 0
    assert cost_text(state) == (
        "From mul on, wide results take 808 bytes instead of 404 bytes; operands are copied to be as wide, 800 bytes; "
        f"wide gradients take {bytes_text(cost.gradients)} instead of {bytes_text(cost.gradients // 2)}."
    )
