"""Random programs in the guard lens: what each line locked, released, refused and spoiled is what the engine says."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

import tinygrad_edu as tg
from tests.views.guard.claims import assert_claims, executed
from tests.views.twin import assert_twin
from tinygrad_edu.common.wording import exact
from tinygrad_edu.views.guard import LensState, frame, lens, spans, text, why

BEGIN = ["a = np.array([1., 2., 3.])", "t = from_numpy(a).requires_grad_()"]
FORWARD = [
    "y = (t * t).sum()", "z = (t * u).sum()", "y = t.exp().sum()", "z = (t * t * 3).sum()", "y = t.sin().sum()",
    "z = (u * u).sum()", "with tg.guard.off(): y = (t * t).sum()", "with tg.no_grad(): z = t * 2",
]  # fmt: skip
WRITES = [
    "a[0] = 10.0", "b[0] = 7.0", "a += 1", "a.fill(2)", "np.add.at(a, 0, 5.0)", "a[0] = 10.0", "b *= 2", "b.sort()",
]  # fmt: skip
BACKWARD = ["y.backward()", "z.backward()", "y.backward(retain_graph=True)", "(y + z).backward()"]
NAMES = [
    "b = np.arange(3.)", "b = a", "b = a[1:]", "b = a[::-1].copy()", "a = np.array([4., 5., 6.])", "del a", "c = a",
    "b = t.detach().numpy()", "n = t.numpy()", "del n", "del y", "del z", "y = z = 0", "1 / 0", "print",
    "u = from_numpy(a).requires_grad_()", "t = from_numpy(a).requires_grad_()", "u = t.detach().requires_grad_()",
    "u = from_numpy(b).requires_grad_()", "a.flags.writeable = False",
]  # fmt: skip
LINE = st.one_of(*map(st.sampled_from, (FORWARD, WRITES, BACKWARD, NAMES)))


def program(lines: list[str]) -> str:
    return "\n".join([*BEGIN, *lines])


@settings(max_examples=200)
@given(st.lists(LINE, max_size=12), st.sampled_from(["on", "off"]), st.data())
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


VIEW = """\
a = np.ones(2)
v = a[1:]
t = from_numpy(a).requires_grad_()
y = (t * t).sum()
b = a
a = np.zeros(2)
y.backward()"""


def test_a_lock_belongs_to_an_array_and_not_to_its_name() -> None:
    state = lens(VIEW)
    shown = [(span.name, span.start, span.end) for span in spans(state.on)]
    assert shown == [("a", 3, 6)]  # neither v, which is no way into the lock, nor b, nor the new a
    there = text(LensState(state.on, state.off, "on", 5))
    assert "a [0, 0] on cpu, 16 bytes, writable, no operation holds it (line 6)" in there
    assert "v [1] on cpu, 8 bytes, writable, a view taken before the lock: a way past it (line 6)" in there
    assert "b [1, 1] on cpu, 16 bytes, read-only, mul saved b in line 4 (line 6)" in there


def test_two_arrays_of_one_name() -> None:
    one = "a = np.ones(2)\nt = from_numpy(a).requires_grad_()\ny = (t * t).sum()\n"
    two = "a = np.zeros(2)\nu = from_numpy(a).requires_grad_()\nz = (u * u).sum()\na[0] = 1"
    state = lens(one + two)
    assert [(span.name, span.start) for span in spans(state.on)] == [("a", 2), ("2nd a", 5)]
    assert "z = (u * u).sum()   # 2nd a locked" in text(state)
    assert "held by: mul since line 6" in text(state)


def test_a_gradient_is_wrong_only_if_what_forward_saw_was_written_over() -> None:
    other = (
        "a = np.ones(2)\nt = from_numpy(a).requires_grad_()\ny = (t * t).sum()\na[0] = 10\n"
        "u = from_numpy(a).requires_grad_()\nw = (u * u).sum()\nw.backward()"
    )
    assert "u.grad  [20, 2]\n" in text(lens(other)) + "\n"  # forward saw the 10: no part of y is used
    assert "wrong" not in text(lens(other)) + text(lens(other, "off"))
    past = "a = np.ones(2)\nt = from_numpy(a).requires_grad_()\ny = (t * t).sum()\nnp.add.at(a, 0, 4.0)\ny.backward()"
    assert text(lens(past)).endswith("t.grad  [10, 2]  wrong\ncorrect  [2, 2]")
    assert "ways past a lock" in why(lens(past))


def test_a_line_in_a_block_is_the_one_that_was_refused() -> None:
    source = (
        "a = np.ones(2)\nt = from_numpy(a).requires_grad_()\ny = (t * t).sum()\nif True:\n    a[0] = 10\n    print(1)"
    )
    state = lens(source)
    assert state.row == 4
    assert "▲ ValueError in line 5\n  tried: a[0] = 10" in text(state)
    both = lens(source.replace("\nif True:\n    a[0] = 10", "; a[0] = 10").replace("    print(1)", "z = 1"))
    assert "y = (t * t).sum(); a[0] = 10   # refused, a locked" in text(both)


def test_without_a_seed_each_run_draws_the_same_numbers() -> None:
    drawn = "x = np.append(tg.randn(2).numpy(), np.random.rand(2))"
    assert text(lens(drawn)) == text(lens(drawn))
    seeded = "tg.manual_seed(3)\n" + drawn
    tg.manual_seed(3)
    first = tg.randn(2).tolist()
    tg.manual_seed(0)
    before = tg.randn(1)
    tg.manual_seed(0)
    assert lens(seeded).on.moments[1].arrays[0].values[:2] == tuple(map(exact, first))
    assert (tg.randn(1) == before).all()  # the seed inside is for the program alone
