"""The guard's story of a program: exact text with the guard on and off, after edits and after errors."""

from __future__ import annotations

import linecache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tinygrad_edu as tg
from tests.views.twin import assert_twin
from tinygrad_edu.settings import modes
from tinygrad_edu.views.guard import LensState, Span, describe, frame, lens, run, spans, text, why
from tinygrad_edu.views.guard.words import NO_ARRAY, remark

PROGRAM = """\
a = np.array([1., 2., 3.])
t = from_numpy(a).requires_grad_()
y = (t * t).sum()
a[0] = 10.0
y.backward()
a[0] = 10.0"""


def test_with_the_guard_on() -> None:
    state = lens(PROGRAM)
    assert text(state) == (
        "GuardLens: guard on\n"
        "  1 a = np.array([1., 2., 3.])\n"
        "  2 t = from_numpy(a).requires_grad_()\n"
        "  3 y = (t * t).sum()   # a locked\n"
        "> 4 a[0] = 10.0   # refused\n"
        "  5 y.backward()   # a released\n"
        "  6 a[0] = 10.0   # allowed\n"
        "a [1, 2, 3] on cpu, 24 bytes, read-only, mul saved a in line 3 (line 4)\n"
        "in one buffer: a, t (line 4)\n"
        "▲ ValueError in line 4\n"
        "  tried: a[0] = 10.0\n"
        "  held by: mul since line 3: it needs the old values for its backward\n"
        "  until: backward() has run, or the loss is gone\n"
        "  fix: write after backward(), or write to a copy\n"
        "  then: the lens skips this line and goes on; a program stops here\n"
        "t.grad  [2, 4, 6]\n"
        "the same write, guard off: no error, and\n"
        "t.grad  [20, 4, 6]  wrong"
    )
    assert describe(state) == "Guard on. a is locked from line 3 until line 5. The write in line 4 is refused."
    assert why(state).startswith("`mul` needs **the values it saw**")
    assert_twin(frame(state, "?"))


def test_with_the_guard_off() -> None:
    state = lens(PROGRAM, "off")
    assert text(state) == (
        "GuardLens: guard off\n"
        "  1 a = np.array([1., 2., 3.])\n"
        "  2 t = from_numpy(a).requires_grad_()\n"
        "  3 y = (t * t).sum()\n"
        "> 4 a[0] = 10.0   # allowed\n"
        "  5 y.backward()\n"
        "  6 a[0] = 10.0   # allowed\n"
        "a [10, 2, 3] on cpu, 24 bytes, writable, the guard is off (line 4)\n"
        "in one buffer: a, t (line 4)\n"
        "t.grad  [20, 4, 6]  wrong\n"
        "correct  [2, 4, 6]"
    )
    assert describe(state) == "Guard off."
    assert "were never used" in why(state)
    assert_twin(frame(state, "?"))


def test_a_program_that_writes_nothing() -> None:
    state = lens("a = np.ones(8)\nb = np.zeros((0,))\ny = a.sum()")
    assert text(state) == (
        "GuardLens: guard on\n"
        "  1 a = np.ones(8)\n"
        "  2 b = np.zeros((0,))\n"
        "> 3 y = a.sum()\n"
        "a [1, 1, 1, 1, 1, 1, …] on cpu, 64 bytes, writable, no operation holds it (line 3)\n"
        "b [] on cpu, 0 bytes, writable, no operation holds it (line 3)\n"
        "no gradient yet: the program has no backward()"
    )
    assert "no recorded operation needs" in why(state)


@pytest.mark.parametrize(
    "source, row, error",
    [
        ("a = (", 0, "SyntaxError: '(' was never closed"),
        ("x = 1\nif x:", 1, "SyntaxError: "),
        ("x = 1\0", 0, "SyntaxError: "),
        ("x = 1\n\nx / 0\nnever = 1", 2, "ZeroDivisionError: division by zero"),
        ("assert False", 0, "AssertionError"),
        ("raise SystemExit", 0, "SystemExit"),
        ("return 3", 0, "SyntaxError: 'return' outside function"),
        ("tensor([1.]).backward()", 0, "AutogradError: backward() from a tensor (1,) float32"),
        ("raise ValueError('one\\ntwo')", 0, "ValueError: one"),
        ("a = np.ones(2)\na[5] = 1", 1, "IndexError: index 5 is out of bounds for axis 0 with size 2"),
    ],
)
def test_errors_of_the_program_are_shown(source: str, row: int, error: str) -> None:
    state = lens(source)
    assert state.row == row
    said = text(state)
    assert f"▲ Error in line {row + 1}\n  tried: " in said
    assert f"\n  error: {error}" in said
    assert "never = 1   #" not in said
    assert_twin(frame(state, "?"))


def test_an_empty_program() -> None:
    state = lens("")
    assert text(state) == f"GuardLens: guard on\n> 1 \n{NO_ARRAY}\nno gradient yet: the program has no backward()"
    assert_twin(frame(state, "?", editing=True))


def test_the_holder_is_that_of_the_array_that_was_written() -> None:
    source = (
        "a = np.ones(2)\nb = np.ones(2)\nt = from_numpy(a).requires_grad_()\nu = from_numpy(b).requires_grad_()\n"
        "y = (t * t).sum()\nz = u.sin().sum()\n{write}"
    )
    for write in ("b[0] = 1", "b += 1", "b.sort()", "b[:1] *= 2", "b.fill(0)"):
        assert "held by: sin since line 6" in text(lens(source.format(write=write)))
    assert spans(lens(source.format(write="b[0] = 1")).on) == [Span("a", 4, None), Span("b", 5, None)]


def test_words_and_other_arrays() -> None:
    said = text(lens("s = np.array(['one', 'two'])\nc = np.array([1j])\nm = np.array([True])"))
    assert "s [one, two] on cpu" in said
    assert "c [1j] on cpu" in said
    assert "m [1] on cpu" in said


def test_both_runs_draw_the_same_random_numbers() -> None:
    state = lens("t = tg.randn(3).requires_grad_()\ny = (t * t + tensor(np.random.rand(3))).sum()\ny.backward()")
    assert state.on.gradients == state.off.gradients
    assert "wrong" not in text(state)


def test_a_program_leaves_nothing_behind() -> None:
    before, files = modes(), set(linecache.cache)
    lens("tg.set_grad_enabled(False)\nt = tensor([1.], requires_grad=True)\ny = t * t")
    assert modes() is before
    assert {name for name in set(linecache.cache) - files if name.startswith("<lens")} == set()


def test_statements_of_several_lines_and_two_in_one() -> None:
    state = lens(
        "a = np.array(\n    [1., 2.]\n); t = from_numpy(a).requires_grad_()\ny = (t * t).sum()\na[0] = 3\ny.backward()"
    )
    assert state.row == 4
    assert "> 5 a[0] = 3   # refused" in text(state)
    assert_twin(frame(state, "?"))


OVERWRITTEN = "x = tensor([1., 2.], requires_grad=True)\ny = x.exp()\ny.add_(1)\ny.sum().backward()"


@pytest.mark.parametrize("guard", ["on", "off"])
def test_a_backward_that_fails_is_not_missing(guard: str) -> None:
    state = lens(OVERWRITTEN, guard)
    said = text(state)
    assert "▲ Error in line 4\n  tried: y.sum().backward()\n  error: InplaceError: backward through exp" in said
    assert "has no backward()" not in said
    assert said.endswith("no gradient: backward() failed in line 4")
    assert describe(state).split("Line 4 ends the program: ")[1].startswith("InplaceError: ")
    assert_twin(frame(state, "?"))


REFUSED = "a = np.ones(2)\nt = from_numpy(a).requires_grad_()\ny = t * t\na[0] = 2\n"


def test_the_error_shown_is_that_of_the_line_looked_at() -> None:
    state = lens(REFUSED + "y.backward()\nlater = 1")
    assert state.row == 3
    assert "▲ ValueError in line 4\n  tried: a[0] = 2" in text(state)
    assert "no gradient: backward() failed in line 5: AutogradError: " in text(state).replace("\n", " ")
    for row in (4, 0):  # from any other line, the error that ended the program
        there = LensState(state.on, state.off, "on", row)
        assert "▲ Error in line 5\n  tried: y.backward()\n  error: AutogradError: " in text(there)
        assert_twin(frame(there, "?"))


def test_an_error_in_a_block_names_its_own_line() -> None:
    state = lens("x = tensor([1., 2.], requires_grad=True)\nfor i in range(2):\n    x.backward()\n    i += 1")
    assert "▲ Error in line 3\n  tried: x.backward()" in text(state)


def test_a_checksum_that_fails_in_backward_is_no_refused_write() -> None:
    state = lens(
        "a = np.ones(2)\nv = a[:]\nt = from_numpy(a).requires_grad_()\ny = (t * t).sum()\nwith tg.guard.verify():\n"
        "    z = (t * t).sum()\n    v[0] = 3\n    z.backward()"
    )
    assert "is refused" not in describe(state)
    assert "  error: MemoryGuardError: backward through mul" in text(state)
    assert text(state).endswith("no gradient: backward() failed in line 8")


@pytest.mark.parametrize(
    "source, told",
    [
        ("x = tensor(1., requires_grad=True)\n1 / 0\nx.backward()",
         "no gradient: the program ended in line 2, with an error"),
        ("(tensor(1., requires_grad=True) * 2).backward()",
         "no gradient: no tensor that has a name received one"),
        ("x = (", "no gradient: the program ended in line 1, with an error"),
        ("x = 1", "no gradient yet: the program has no backward()"),
    ],
)  # fmt: skip
def test_why_there_is_no_gradient(source: str, told: str) -> None:
    assert text(lens(source)).replace("\n", " ").endswith(told)
    assert_twin(frame(lens(source), "?"))


def test_what_a_run_without_the_guard_did_is_what_is_said() -> None:
    write = "a = np.ones(2)\nt = from_numpy(a).requires_grad_()\ny = (t * t).sum()\na[0] = 2\n"
    assert "the graph still holds" in why(lens(write, "off"))
    assert "no write to an array is refused" in why(lens(write + "1 / 0", "off"))
    two = lens(write + "u = tensor(1., requires_grad=True)\n(u * u + y).backward()\n1 / 0")
    said = text(two)
    assert "the same write, guard off: it is done, and\nt.grad  [4, 2]  wrong\nu.grad  [2]" in said
    assert "u.grad  [2]  wrong" not in said


LINES = [
    "a = np.array([1., 2.5, -3.])", "b = np.arange(7.)", "t = from_numpy(a).requires_grad_()", "y = (t * t).sum()",
    "z = (t * from_numpy(a)).sum()", "a[0] = 10.0", "b[2] = 1e-9", "y.backward()", "z.backward()", "del y", "# nothing",
    "a = a[::-1]", "1 / 0", "a[1] += 0.1234567   # a remark that makes this line too long for the narrow figure",
]  # fmt: skip


@settings(max_examples=40)
@given(st.lists(st.sampled_from(LINES), max_size=9), st.sampled_from(["on", "off"]), st.integers(0, 8))
def test_the_twin_says_all_that_is_drawn(lines: list[str], guard: str, row: int) -> None:
    state = lens("\n".join([LINES[0], LINES[2], *lines]), guard)
    last = len(state.story.lines) - 1
    assert_twin(frame(LensState(state.on, state.off, guard, min(row, last)), "?"))


def test_strangers_code_stays_text() -> None:
    state = lens("x = '<script>alert(1)</script>'\nraise ValueError('<script>')")
    for page in (frame(state, "<script>", editing=True).html(), frame(state, "?").page(), frame(state, "?").svg()):
        assert "<script" not in page


def test_a_run_is_plain_data() -> None:
    story = run("a = np.ones(2)\nt = from_numpy(a).requires_grad_()\ny = t.sum()\ny.backward()", "on")
    assert story.gradients == (("t.grad", ("1", "1")),)
    assert not any(isinstance(v, (np.ndarray, tg.Tensor)) for m in story.moments for v in vars(m).values())


def test_every_name_of_the_bytes_is_drawn() -> None:
    program = (
        "a = np.ones(4)\nv = a[1:]\nt = from_numpy(a)\nc = a.copy()\ne, o = a[::2], a[1::2]\ny = (t * t)\n"
        "del a, v, t, o, c\nwide = np.ones(1)\nb, d, f, g, h = [wide] * 5\ndel e"
    )
    story = lens(program)
    rows = {row: text(LensState(story.on, story.off, "on", row)) for row in range(10)}
    assert "in one buffer: a, v (line 2)" in rows[1]
    assert "in one buffer: a, v, t (line 3)" in rows[2] and "in one buffer: a, v, t (line 4)" in rows[3]
    assert "in one buffer: a, v, e, o and 1 more: t (line 5)" in rows[4]  # and not c, a copy
    assert {seen.name: seen.others for seen in story.on.moments[4].arrays}["e"] == ("a", "v", "t")  # o is between
    assert "in one buffer" not in rows[6]
    assert "in one buffer: wide, b, d, f and 2 more: g, h (line 10)" in rows[9]
    shown = frame(LensState(story.on, story.off, "on", 9), "?")
    assert ">and 2 more<" in shown.wide.svg() and ">g<" not in shown.wide.svg()


def test_a_refusal_has_the_name_that_the_program_would_see() -> None:
    begun = "a = np.ones(2)\nt = from_numpy(a).requires_grad_()\ny = (t * t).sum()\n"
    for end, kind, caught in (
        ("a[0] = 2", "ValueError", ValueError),
        ("with tg.guard.on():\n    a[0] = 2", "MemoryGuardError", tg.guard.MemoryGuardError),
    ):
        assert f"▲ {kind} in line 4\n" in text(lens(begun + end))
        with pytest.raises(caught) as found:
            exec(begun + end, {"np": np, "tg": tg, "from_numpy": tg.from_numpy})
        assert type(found.value).__name__ == kind


LATE = """\
a = np.array([1., 2., 3.])
t = from_numpy(a).requires_grad_()
loss = (t * t).sum()
v = a[:]
v[0] = 10.0
loss.backward()"""


def test_a_view_that_is_taken_under_a_lock_stays_read_only() -> None:
    """As in plain Python: the flag of a view is its own."""
    state = lens(LATE)
    assert remark(state.on, 3) == ("v locked", "b")
    assert remark(state.on, 5) == ("a released, v stays read-only", "b")
    words = text(state)
    assert "mul saved a in line 3, and this is a view of it" in words
    assert "mul saved v" not in words
    assert "until: for good: a view that is taken under a lock stays read-only" in words
    assert "v is locked from line 4 to the end." in describe(state)
    after = text(lens(LATE.replace("v[0] = 10.0\nloss.backward()", "loss.backward()\nv[0] = 10.0")))
    assert "assignment destination is read-only" in after
    again = text(lens(LATE.replace("v[0] = 10.0\nloss.backward()", "loss.backward()\nv = a[:]\nv[0] = 10.0")))
    assert "a [10, 2, 3] on cpu, 24 bytes, writable" in again
