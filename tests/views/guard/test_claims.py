"""Random programs in the guard lens: what each line locked, released, refused and spoiled is what the engine says."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.views.guard.claims import assert_claims, executed
from tests.views.twin import assert_twin
from tinygrad_edu.views.guard import LensState, frame, lens

BEGIN = ["a = np.array([1., 2., 3.])", "t = from_numpy(a).requires_grad_()"]
LINES = [
    "b = np.arange(3.)", "b = a", "b = a[1:]", "b = a[::-1].copy()", "a = np.array([4., 5., 6.])", "del a", "b = t.detach().numpy()",
    "u = from_numpy(a).requires_grad_()", "t = from_numpy(a).requires_grad_()", "u = t.detach().requires_grad_()",
    "y = (t * t).sum()", "z = (t * u).sum()", "y = t.exp().sum()", "z = (t * t * 3).sum()", "y = t.sin().sum()",
    "a[0] = 10.0", "b[0] = 7.0", "a += 1", "a.fill(2)", "np.add.at(a, 0, 5.0)", "a[0] = 10.0", "b *= 2",
    "y.backward()", "z.backward()", "y.backward(retain_graph=True)", "(y + z).backward()", "del y", "del z", "y = z = 0",
    "with tg.no_grad(): z = t * 2", "with tg.guard.off(): y = (t * t).sum()", "a.flags.writeable = False",
    "1 / 0", "print", "c = a",
]  # fmt: skip


def program(lines: list[str]) -> str:
    return "\n".join([*BEGIN, *lines])


@settings(max_examples=150)
@given(st.lists(st.sampled_from(LINES), max_size=10), st.sampled_from(["on", "off"]), st.data())
def test_all_that_is_said_of_a_random_program_is_what_the_engine_says(
    lines: list[str], guard: str, data: st.DataObject
) -> None:
    source = program(lines)
    state = lens(source, guard)
    truth = executed(source, guard)
    for row in {data.draw(st.integers(0, len(lines) + 1)), state.row}:
        there = LensState(state.on, state.off, guard, row)
        assert_claims(there, truth)
        assert_twin(frame(there, "?"))
