"""The map of buffers: exact text for each kind of view, the same values for random ones, large arrays in brief."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tinygrad_edu as tg
from tests.views.twin import assert_twin
from tinygrad_edu.errors import DtypeError, EduError, IndexRangeError, ShapeError
from tinygrad_edu.views.buffers import (
    arithmetic,
    describe,
    entry,
    evaluate,
    frame,
    point,
    read,
    strided,
    text,
    why,
)  # fmt: skip
from tinygrad_edu.views.buffers.model import _memory, visit


def twin(**tensors: Any) -> str:
    """The twin without its title."""
    return text(read(tensors)).removeprefix("BufferMap\n")


def test_shared_copied_and_strided() -> None:
    x = tg.arange(6, dtype="float32").reshape(2, 3)
    assert twin(x=x, t=x.T, s=x[:, ::2], c=x.clone()) == (
        "buffer A on cpu: 24 bytes, 3 names here, 4 bytes per cell\n"
        "  byte       0     4     8    12    16    20\n"
        "  value      0     1     2     3     4     5\n"
        "  x = x: (2, 3), strides (12, 4) bytes\n"
        "             0     1     2     3     4     5\n"
        "  t = t: (3, 2), strides (4, 12) bytes\n"
        "             0     1     2     3     4     5\n"
        "  s = s: (2, 2), strides (12, 8) bytes\n"
        "             0     .     2     3     .     5\n"
        "buffer B on cpu: 24 bytes, 1 name here, 4 bytes per cell\n"
        "  byte       0     4     8    12    16    20\n"
        "  value      0     1     2     3     4     5\n"
        "  c = c: (2, 3), strides (12, 4) bytes\n"
        "             0     1     2     3     4     5\n"
        "x[0, 0] holds 0 and is at byte 0 + 0·12 + 0·4 = 0, as are t[0, 0] and s[0, 0]"
    )


def test_negative_strides_offset_and_stretched_axes() -> None:
    a = np.array([1.5, -2.0, 3.0])
    assert twin(r=a[::-1], part=a[1:], wide=np.broadcast_to(a[1:], (2, 2))) == (
        "buffer A on cpu: 24 bytes, 3 names here, 8 bytes per cell\n"
        "  byte       0     8    16\n"
        "  value   1.50    −2     3\n"
        "  r = r: (3,), strides (-8,) bytes, from byte 16\n"
        "          1.50    −2     3\n"
        "  part = part: (2,), strides (8,) bytes, from byte 8\n"
        "             .    −2     3\n"
        "  wide = wide: (2, 2), strides (0, 8) bytes, from byte 8\n"
        "             .    −2     3\n"
        "  reads           ×2    ×2\n"
        "r[0] holds 3 and is at byte 16 + 0·−8 = 16, as are part[1] and wide[0, 1]"
    )


def test_single_numbers_bools_and_half_precision() -> None:
    assert twin(n=tg.tensor(2.5)) == (
        "buffer A on cpu: 4 bytes, 1 name here, 4 bytes per cell\n"
        "  byte       0\n"
        "  value   2.50\n"
        "  n = n: (), strides ()\n"
        "          2.50\n"
        "n[()] holds 2.50 and is at byte 0"
    )
    assert twin(b=tg.tensor([True, False])) == (
        "buffer A on cpu: 2 bytes, 1 name here, 1 byte per cell\n"
        "  byte       0     1\n"
        "  value      1     0\n"
        "  b = b: (2,), strides (1,) bytes\n"
        "             1     0\n"
        "b[0] holds 1 and is at byte 0 + 0·1 = 0"
    )
    for dtype in (np.float16, ml_dtypes.bfloat16):
        assert twin(h=np.array([0.1, np.nan, -np.inf], dtype)).splitlines()[1:3] == [
            "  byte       0     2     4",
            "  value  0.100   nan    −∞",
        ]


def test_empty_tensors_and_no_tensors() -> None:
    assert twin(e=tg.zeros(0)) == (
        "buffer A on cpu: 0 bytes, 1 name here, 4 bytes per cell\n"
        "  no bytes\n"
        f"  e = e: (0,), strides {tg.zeros(0).array.strides} bytes\n"
        "\n"
        "e has no elements"
    )
    assert_twin(frame(read({"e": tg.zeros(0, 3)}), "?"))
    state = read({})
    assert text(state) == "BufferMap\nNo tensors yet. Name one: BufferMap(x=x)."
    assert (why(state), describe(state)) == ("", "No tensors yet. Name one: BufferMap(x=x).")
    assert_twin(frame(state, "?"))
    both = point(read({"x": tg.ones(2), "e": tg.zeros(0)}), "e", (0,))
    assert (both.picked, both.index, arithmetic(both)) == ("e", (), "e has no elements")
    assert_twin(frame(both, "?"))


def test_two_item_sizes_over_one_buffer() -> None:
    a = np.array([1, 256], dtype=np.int16)
    assert twin(a=a, bytes_=a.view(np.uint8)) == (
        "buffer A on cpu: 4 bytes, 2 names here, read as uint8, 1 byte per cell\n"
        "  byte       0     1     2     3\n"
        "  value      1     0     0     1\n"
        "  a = a: (2,), strides (2,) bytes, int16\n"
        "             1     ─   256     ─\n"
        "  bytes_ = bytes_: (4,), strides (1,) bytes\n"
        "             1     0     0     1\n"
        "a[0] holds 1 and is at byte 0 + 0·2 = 0, as is bytes_[0]"
    )


def test_memory_that_is_in_no_common_order() -> None:
    a = np.arange(6.0).reshape(1, 2, 3).transpose(1, 0, 2) * 1  # owns its bytes, neither row- nor column-major
    k = np.asarray(np.arange(8.0).reshape(2, 2, 2).transpose(1, 0, 2).copy(order="K"))
    for array in (a, k, np.asfortranarray(np.arange(6.0).reshape(2, 3))):
        state = read({"a": array})
        drawn = dict(zip(state.buffers[0].cells, state.entries[0].order, strict=True))
        values = dict(zip(state.buffers[0].cells, state.buffers[0].values, strict=True))
        assert {values[cell]: array.ravel()[i] for cell, i in drawn.items()} == {str(int(v)): v for v in array.ravel()}
        assert np.shares_memory(_memory(array), array)


def test_windows_show_the_buffer_behind_them() -> None:
    a = np.arange(5.0)
    windows = np.lib.stride_tricks.sliding_window_view(a, 3)
    state = read({"a": a, "w": windows})
    assert len(state.buffers) == 1
    assert state.entries[1].order == (0, 1, 2, 5, 8)  # the first of the elements that lie there
    lonely = np.lib.stride_tricks.as_strided(np.arange(6.0)[1:], (2, 2), (24, 8))
    assert read({"w": lonely}).entries[0].offset == 8


def test_a_large_array_is_summarised() -> None:
    x = tg.zeros(2500, 4000)
    state = read({"x": x, "t": x.T, "s": x[::7, 1::3]})
    assert [buffer.cells for buffer in state.buffers] == [
        (0, 1, 2, 3, 4, 5, 9999995, 9999996, 9999997, 9999998, 9999999)
    ]
    assert all(len(e.order) == 11 for e in state.entries)
    shown = frame(state, "?")
    assert len(shown.html()) < 60_000
    assert len(shown.text) < 2_000
    assert "40.0 MB" in shown.text
    assert "(9\u2009999\u2009989 cells between are not shown)" in shown.text
    assert_twin(shown)
    by_visit = frame(replace(state, ordered=True), "?")
    assert "n−1     n" in by_visit.text
    assert_twin(by_visit)


@st.composite
def walks(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    """Shape, strides and offset in cells: also overlapping, backwards and standing still."""
    shape = tuple(draw(st.lists(st.integers(0, 4), max_size=4)))
    strides = tuple(draw(st.integers(-9, 9)) for _ in shape)
    return shape, strides, draw(st.integers(0, 20))


@given(walks(), st.integers(-30, 90))
def test_visit_finds_what_a_search_finds(walk: tuple[tuple[int, ...], tuple[int, ...], int], byte: int) -> None:
    shape, strides, offset = walk
    places = [offset + sum(i * s for i, s in zip(index, strides, strict=True)) for index in np.ndindex(shape)]
    assert visit(shape, strides, offset, byte) == (places.index(byte) if byte in places else None)


@st.composite
def maps(draw: st.DrawFn) -> dict[str, Any]:
    """Some views of some buffers."""
    dtype = draw(st.sampled_from(["float32", "float16", "int64", "bool", "uint8"]))
    base = tg.tensor(np.arange(draw(st.integers(1, 16))) * draw(st.sampled_from([1, 3, 7])) % 200).to(dtype)
    made = {"x": base}
    for i, kind in enumerate(
        draw(st.lists(st.sampled_from(["T", "slice", "back", "copy", "new", "stretch"]), max_size=4))
    ):
        x = draw(st.sampled_from(list(made.values())))
        a = x.array
        if kind == "slice":
            a = a[..., draw(st.integers(0, 2)) :: draw(st.integers(1, 3))] if a.ndim else a
        elif kind == "back":
            a = a[..., ::-1] if a.ndim else a
        elif kind == "copy":
            a = a.copy()
        elif kind == "new":
            a = np.ones((2, 2)) * 0.1
        elif kind == "stretch":
            a = np.broadcast_to(a, (2, *a.shape))
        made[f"a_long_name_{i}"] = tg.as_tensor(a.T if kind == "T" else a)
    return made


@given(st.data())
def test_the_twin_says_all_that_is_drawn(data: st.DataObject) -> None:
    made = data.draw(maps())
    state = read(made, {"a_long_name_0": "x[a label that is rather long]" * 2})
    e = data.draw(st.sampled_from(state.entries))
    index = tuple(data.draw(st.integers(0, max(n - 1, 0))) for n in e.shape)
    state = point(state, e.name, index)
    assert_twin(frame(state, "?"))
    for other in state.entries:  # what is drawn in a cell is what the tensor holds there
        array = made[other.name].array
        for value, position in zip(state.buffers[other.buffer].values, other.order, strict=True):
            if position is not None and array.dtype.itemsize == state.buffers[other.buffer].itemsize:
                assert float(array.ravel()[position]) == pytest.approx(float(value.replace("−", "-")), rel=0.01)


@pytest.mark.parametrize(
    "expression, shape, shared",
    [
        ("x", (3, 4), True), ("x.T", (4, 3), True), (" x[1:, ::2].T ", (2, 2), True), ("x[-1]", (4,), True),
        ("x[None, ..., 0]", (1, 3), True), ("x.reshape(2, 6)", (2, 6), True), ("x.reshape((-1,))", (12,), True),
        ("x.view(4, 3)", (4, 3), True), ("x.transpose(0, 1)", (4, 3), True), ("x.permute(1, 0).mT", (3, 4), True),
        ("x.flatten()", (12,), True), ("x.T.flatten()", (12,), False), ("x.unsqueeze(0).squeeze()", (3, 4), True),
        ("x[:1].expand(5, 4)", (5, 4), True), ("x.copy()", (3, 4), False), ("x.T.contiguous()", (4, 3), False),
        ("x[[0, 2]]", (2, 4), False), ("x[1, 2]", (), True), ("x[::-1][0]", (4,), True),
        ("x[x > 5]", (6,), False), ("x[x[:, 0] <= 4.5, 1]", (2,), False), ("x.flip(0)", (3, 4), False),
    ],
)  # fmt: skip
def test_views_that_are_understood(expression: str, shape: tuple[int, ...], shared: bool) -> None:
    x = tg.arange(12, dtype="float32").reshape(3, 4)
    made = evaluate(expression, {"x": x})
    assert made.shape == shape
    assert np.shares_memory(made.array, x.array) is shared


@pytest.mark.parametrize(
    "expression, shared",
    [
        ("x.detach()", True), ("x.float()", True), ("+x", True), ("x + 1", False), ("1 - x[0]", False),
        ("x.T * 2 / 4.5", False), ("-x", False), ("x + -1", False), ("x.half()", False), ("x.double()", False),
        ("x.int()", False), ("x.long()", False), ("x.bool()", False), ("x / 0", False), ("x.half() * 1e9", False),
    ],
)  # fmt: skip
def test_arithmetic_with_a_number_and_other_dtypes(expression: str, shared: bool) -> None:
    """The map shows where they land: what is made new, and what is the same bytes."""
    x = tg.arange(12, dtype="float32").reshape(3, 4)
    made = evaluate(expression, {"x": x})
    with np.errstate(all="ignore"):
        assert made.array.tobytes() == eval(expression, {"x": x}).array.tobytes()
    assert np.shares_memory(made.array, x.array) is shared
    assert len(read({"x": x, "v": made}).buffers) == 2 - shared


NO = "it takes a name, and after it an index, .T, a method such as reshape or detach, or an operator and a number"


@pytest.mark.parametrize(
    "expression",
    [
        "", "x +", "x\0", "1", "x + x", "x if x else x", "lambda: x", "[x]", "x, x", "(y := x)", "f'{x}'", "x == x",
        "x.array", "x.__class__", "x.__class__.__base__", "x.grad", "x.node", "x.data", "x.shape", "x.numpy()",
        "x.item()", "x.backward()", "x.fill_(1)", "x.zero_()", "x.__setitem__(0, 1)", "x.tolist()", "x.sum()",
        "x()", "open('f')", "__import__('os')", "x.reshape", "x.reshape(*x)", "x.reshape(shape=3)", "x.reshape(x)",
        "x[__import__('os')]", "x[open]", "x['a']", "x[{}]", "x[1.5]", "x[b'a']", "x.view('a')", "x.transpose()",
        "x.squeeze(1, 2, 3)", "x.unsqueeze('a')", "x.permute([[]])", "x[lambda: 0]", "x[(y := 0)]", "x[[['a']]]",
        "getattr(x, 'T')", "x.T.T.__dict__", "x.expand(2, [3])", "await x", "x[x > x]", "x[1 < x < 5]", "x[x == 5]",
        "x + 'a'", "x + True", "x + 1j", "x + None", "x + [1]", "1 + 1", "x + " + "9" * 400, "x + 1e400 * x", "x @ x",
        "x ** 2", "x // 2", "~x", "not x", "x.to('cuda')", "x.float(1)", "x + open('f')", "x + x.T.array", "-1",
        "x[x > 'a']", "x[y > 5]", "x[x.T > 5]", "x[yield]", "x" + "[0:]" * 5000,
    ],
)  # fmt: skip
def test_everything_else_is_refused(expression: str) -> None:
    x = tg.arange(12, dtype="float32").reshape(3, 4)
    with pytest.raises(EduError) as caught:
        evaluate(expression, {"x": x})
    assert len(str(caught.value)) < 600
    assert x.array.ravel().tolist() == list(range(12))


def test_refusals_say_why() -> None:
    x = tg.arange(12).reshape(3, 4)
    with pytest.raises(DtypeError) as caught:
        evaluate("x.nonsense()", {"x": x})
    assert caught.value.sentence() == f"the view 'x.nonsense()': {NO}. Try x[1:], x.T, x.reshape(2, 6) or x + 1."
    with pytest.raises(DtypeError, match="there is no y here; there are x, t"):
        evaluate("y[0]", {"x": x, "t": x.T})
    with pytest.raises(ShapeError, match="it would have 12\u2009000\u2009000\u2009000 elements"):
        evaluate("x.expand(1000000000, 3, 4).clone()", {"x": x})


def test_strided_views_stay_inside_the_buffer() -> None:
    x = tg.arange(12, dtype="float32").reshape(3, 4)
    made = strided(x[1:], (2, 3), (-16, 8), 24)
    assert made.tolist() == [[6.0, 8.0, 10.0], [2.0, 4.0, 6.0]]
    assert np.shares_memory(made.array, x.array)
    assert len(read({"x": x, "v": made}).buffers) == 1
    for shape, strides, offset, words in (
        ((2, 6), (28, 4), 0, "element [1, 5] would begin at byte 48, and the buffer has bytes 0 to 47"),
        ((3, 2), (-16, 4), 24, "element [2, 0] would begin at byte -8, and the buffer has bytes 0 to 47"),
        ((1,), (4,), -4, "element [0] would begin at byte -4, and the buffer has bytes 0 to 47"),
        ((2,), (6,), 0, "6 bytes lead into the middle of an element"),
        ((2,), (4,), 2, "2 bytes lead into the middle of an element"),
    ):
        with pytest.raises(IndexRangeError) as caught:
            strided(x, shape, strides, offset)
        assert caught.value.why == words
    with pytest.raises(IndexRangeError, match="the buffer has no bytes"):
        strided(tg.zeros(0), (1,), (4,), 0)
    assert strided(x, (0, 5), (400, 400), 12).shape == (0, 5)


@given(
    st.lists(st.tuples(st.integers(1, 4), st.integers(-6, 6)), max_size=3), st.integers(-3, 14),
)  # fmt: skip
def test_strided_takes_what_fits_and_nothing_else(axes: list[tuple[int, int]], offset: int) -> None:
    x = tg.arange(12)
    shape, strides = tuple(n for n, _ in axes), tuple(s for _, s in axes)
    cells = [offset + sum(i * s for i, s in zip(index, strides, strict=True)) for index in np.ndindex(shape)]
    item = x.element_size()
    strides, offset = tuple(s * item for s in strides), offset * item
    if all(0 <= cell < 12 for cell in cells):
        assert strided(x, shape, strides, offset).array.ravel().tolist() == cells
    else:
        with pytest.raises(IndexRangeError):
            strided(x, shape, strides, offset)


def test_pointing() -> None:
    x = tg.arange(6).reshape(2, 3)
    state = point(read({"x": x, "t": x.T}), "t", (2, 1))
    assert arithmetic(state) == "t[2, 1] holds 5 and is at byte 0 + 2·8 + 1·24 = 40, as is x[1, 2]"
    for name, index in (("t", (3, 0)), ("t", (0,)), ("y", ()), ("t", (-1, 0))):
        with pytest.raises(ShapeError):
            point(state, name, index)
    assert entry(state, "y") is None


def test_many_buffers_have_names_of_their_own() -> None:
    state = read({f"x{i}": tg.zeros(1) for i in range(60)})
    names = [buffer.name for buffer in state.buffers]
    assert (names[0], names[25], names[26], names[52]) == ("A", "Z", "A1", "A2")
    assert len(set(names)) == 60


def test_tensors_that_want_gradients_and_exposed_arrays_can_be_mapped() -> None:
    a = np.arange(3.0)
    t = tg.from_numpy(a).requires_grad_()
    y = (t * t).sum()
    state = read({"a": a, "t": t, "y": y})
    assert len(state.buffers) == 2
    assert not a.flags.writeable  # still locked: looking changes nothing
    y.backward()
    assert t.grad.tolist() == [0.0, 2.0, 4.0]


def test_strangers_names_stay_text() -> None:
    state = read({"<script>": tg.ones(2)}, {"<script>": "<script>x</script>"})
    shown = frame(state, "<script>")
    for page in (shown.html(), shown.page(), shown.svg()):
        assert "<script" not in page


def test_walks_are_searched_in_the_order_of_their_strides() -> None:
    for shape, strides in itertools.product([(10**4, 10**3), (10**3, 10**4)], [(4, 4 * 10**4), (4 * 10**3, 4)]):
        reach = sum(s * (n - 1) for n, s in zip(shape, strides, strict=True))
        assert visit(shape, strides, 0, reach) == 10**7 - 1
        assert visit(shape, strides, 0, reach + 4) is None


def test_the_why_of_one_name_speaks_of_no_other() -> None:
    state = read({"x": tg.zeros(2, 3)})
    assert why(state) == (
        "`x` is a shape over bytes: **its strides give** the distance to the next element along each axis."
    )
