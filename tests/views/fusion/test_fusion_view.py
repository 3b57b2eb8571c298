"""FusionBuilder as data, words and a picture: legal seams, programs that compute the same, bars that add up."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu.compiler import cost_of, interpret, trace
from tinygrad_edu.compiler.passes import fuse
from tinygrad_edu.errors import ArgumentError, IndexRangeError
from tinygrad_edu.views import fusion
from tinygrad_edu.views.fusion.model import MOST, SIZES, agrees, elements, handed_on
from tinygrad_edu.views.fusion.words import amount, stays


def start(example: str, numbers: int = SIZES[1]) -> fusion.FusionState:
    return fusion.read(fusion.traced(example, numbers)[0], example, numbers)


@given(example=st.sampled_from(sorted(fusion.EXAMPLES)), seams=st.sets(st.integers(0, 12)))
@settings(max_examples=60, deadline=None)
def test_whatever_is_merged_computes_the_same_and_costs_no_more(example: str, seams: set[int]) -> None:
    program, arrays = fusion.traced(example, SIZES[0])
    state = fusion.read(program, example, SIZES[0])
    for seam in seams:
        if seam < len(program.equations) - 1 and not fusion.barrier(program, seam):
            state = fusion.press(state, seam)
    assert agrees(state, arrays)
    written, yours = cost_of(program), cost_of(state.yours)
    assert yours.launches == written.launches - len(state.closed)
    assert yours.moved <= written.moved and yours.allocated <= written.allocated and yours.flops == written.flops
    for found, right in zip(interpret(state.compiled, *arrays), interpret(program, *arrays), strict=True):
        np.testing.assert_allclose(found, right, rtol=1e-6)


@pytest.mark.parametrize("example", fusion.EXAMPLES)
def test_a_seam_can_be_closed_where_the_pass_puts_both_into_one_kernel(example: str) -> None:
    """For each pair by itself: what `fuse` makes of a program of these two operations."""
    program = start(example).program
    closable = 0
    for seam in range(len(program.equations) - 1):
        state = start(example)
        if fusion.barrier(program, seam):
            assert "stays open" not in fusion.text(state)
            pressed = fusion.press(state, seam)
            assert not pressed.closed and pressed.tried == {seam} and pressed.costs == state.costs
            assert f"seam {seam + 1}: stays open, as {fusion.barrier(program, seam)}" in fusion.text(pressed)
            assert "**stays open**" in fusion.why(pressed) and stays(program, seam).startswith("stays open: ")
            continue
        closable += 1
        pair = {str(one.outs[0]) for one in program.equations[seam : seam + 2]}
        together = [
            {str(v) for inner in one.body.equations for v in inner.outs}
            for one in fuse(program).equations if one.body is not None
        ]  # fmt: skip
        assert any(pair <= group for group in together), (example, seam)
    assert closable > 0


def test_the_bars_are_the_costs() -> None:
    state = fusion.everything(start("an activation", 16384))
    written, yours = state.costs["as written"], state.costs["yours"]
    whole = 4 * 16384
    assert (written.launches, yours.launches) == (9, 1)
    assert (written.allocated, yours.allocated) == (9 * whole, whole)
    assert (yours.moved, amount("moved", yours)) == (2 * whole, "131 kB")
    assert "launches on a device: as written 9, yours 1" in fusion.text(state) and "compiler" not in fusion.text(state)
    assert elements(state) == 16384


def test_a_value_that_two_read_is_still_written() -> None:
    def function(x: tg.Tensor) -> tuple[tg.Tensor, tg.Tensor]:
        y = x * 2
        return y + 1, y.sum()

    state = fusion.press(fusion.read(trace(function, tg.ones(100))), 0)
    assert state.costs["as written"].written - state.costs["yours"].written == 0
    assert state.costs["as written"].read - state.costs["yours"].read == 400
    assert handed_on(state) == (0, 1)


def test_why_is_about_what_is_handed_on() -> None:
    def shared(x: tg.Tensor) -> tuple[tg.Tensor, tg.Tensor]:
        y = x * 2
        return y + 1, y.sum()

    def apart(x: tg.Tensor, y: tg.Tensor) -> tuple[tg.Tensor, tg.Tensor]:
        return x * 2, y + 1

    def chain(x: tg.Tensor) -> tg.Tensor:
        return (x * 2 + 1).exp()

    x = tg.ones(100)
    for function, tensors, inside, written, words in (
        (shared, (x,), 0, 1, "it is written, but it is read once less"), (apart, (x, x), 0, 0, "saves **a launch**"),
        (chain, (x,), 1, 0, "neither written nor read again"),
    ):  # fmt: skip
        state = fusion.press(fusion.read(trace(function, *tensors)), 0)
        assert handed_on(state) == (inside, written) and words in fusion.why(state)


def test_single_numbers_stay_by_themselves_as_for_the_compiler() -> None:
    program = trace(lambda x: (x * 2 + 1).sum() * 2 + 1, tg.ones(10))
    assert "single number" in fusion.barrier(program, 3) and stays(program, 3) == "stays open: a single number"
    state = fusion.everything(fusion.read(program))
    assert state.costs["yours"].launches == cost_of(state.compiled).launches


def test_the_same_seams_at_another_size() -> None:
    state = fusion.press(start("softmax"), 1)
    larger = fusion.resize(state, SIZES[3])
    assert larger.closed == {1} and larger.numbers == SIZES[3]
    assert larger.costs["yours"].launches == state.costs["yours"].launches


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ArgumentError, match="no two neighbouring operations"):
        fusion.read(trace(lambda x: (x @ x).sum(), tg.ones(2, 2)))
    with pytest.raises(ArgumentError, match=f"and {MOST} can be drawn"):
        fusion.read(trace(lambda x: sum((x * i for i in range(12)), x), tg.ones(2)))
    with teaches(
        IndexRangeError, "the example 'none'", "there is no such one", "take one of " + ", ".join(fusion.EXAMPLES)
    ):
        fusion.chosen(start("softmax"), "none")
    for act, value in ((fusion.press, 99), (fusion.press, "x"), (fusion.resize, 3)):
        with pytest.raises(IndexRangeError):
            act(start("softmax"), value)


def test_every_operation_and_number_of_the_picture_is_in_the_text() -> None:
    state = fusion.everything(start("a layer"))
    for width in (812, 446):
        shown = fusion.draw(state, width).canvas.text_items
        said = fusion.text(state)
        for one in state.program.equations:
            assert f"{one.outs[0]} = {one.name}" in said and any(one.name in item for item in shown)
        for cost in state.costs.values():
            assert amount("moved", cost) in shown and amount("moved", cost) in said


def test_why_says_what_the_times_say() -> None:
    state = start("an activation", SIZES[-1])
    fast = fusion.finish(state, fusion.Timing((9.0, 8.9, 9.1), (1.0, 1.0, 1.0), (1.0, 1.0, 1.0), 9))
    same = fusion.finish(state, fusion.Timing((1.2, 1.1, 1.3), (1.0, 1.0, 1.0), (1.0, 1.0, 1.0), 9))
    small = fusion.finish(start("an activation", SIZES[0]), same.timing or fast.timing)  # type: ignore[arg-type]
    assert "moving them" in fusion.why(fast) and "a NumPy call for each operation" in fusion.why(same)
    assert "stay in the cache" in fusion.why(small)
    assert fusion.frame(fast).summary == "FusionBuilder: measured" and "9 s" in fusion.text(fast).replace(".00", "")
