"""The map of random arrays and random views says only what NumPy says too."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import tinygrad_edu as tg
from tests.views.buffers.claims import assert_claims
from tests.views.twin import assert_twin
from tinygrad_edu.views.buffers import changed, frame, point, read, text, why, write_sentence, written

KINDS = ("T", "slice", "back", "step", "copy", "stretch", "windows", "bytes", "half", "one", "none", "tensor", "flat")


def view(draw: st.DrawFn, a: Any, kind: str) -> Any:
    """One more view of an array, or a copy."""
    if kind == "T":
        return a.T
    if kind == "copy":
        return a.copy(order="K")
    if kind == "stretch":
        return np.broadcast_to(a, (2, *a.shape))
    if kind == "tensor":
        return tg.from_numpy(a).array
    if kind == "flat":
        return a.reshape(-1)
    if not a.ndim or not a.shape[-1]:
        return a
    if kind == "slice":
        return a[..., draw(st.integers(0, 2)) :]
    if kind == "back":
        return a[..., ::-1]
    if kind == "step":
        return a[:: draw(st.integers(1, 3))]
    if kind == "one":
        return a[draw(st.integers(0, a.shape[0] - 1)), ...] if a.shape[0] else a
    if kind == "none":
        return a[:0]
    if kind == "windows":
        return np.lib.stride_tricks.sliding_window_view(a, min(2, a.shape[-1]), axis=-1)
    if a.strides[-1] != a.itemsize:
        return a
    if kind == "half" and a.nbytes:  # may begin in the middle of an element
        raw = a.view(np.uint8)
        odd = draw(st.integers(0, 1))
        even = (raw.shape[-1] - odd) // 2 * 2
        return raw[..., odd : odd + even].view(np.int16) if even else a
    return a.view(np.uint8)


@st.composite
def arrays(draw: st.DrawFn) -> dict[str, Any]:
    """Some arrays and views of them."""
    dtype = draw(st.sampled_from(["float32", "float16", "int64", "bool", "uint8", "float64"]))
    shape = tuple(draw(st.lists(st.integers(1, 4), max_size=3)))
    made = {"x": np.array(np.arange(np.prod(shape, dtype=int)).reshape(shape) * 3 % 250, dtype)}
    for i, kind in enumerate(draw(st.lists(st.sampled_from(KINDS), max_size=5))):
        made[f"v{i}"] = view(draw, draw(st.sampled_from(list(made.values()))), kind)
    return {name: np.asarray(a) for name, a in made.items()}


@given(arrays(), st.booleans())
def test_all_that_is_said_of_random_views_is_what_numpy_says(made: dict[str, Any], ordered: bool) -> None:
    state = replace(read(made), ordered=ordered)
    assert_claims(state, made)
    assert_twin(frame(state, "?"))


@given(arrays(), st.data())
def test_a_write_is_seen_by_the_names_that_share_its_bytes(made: dict[str, Any], data: st.DataObject) -> None:
    state = read(made)
    e = data.draw(st.sampled_from([e for e in state.entries if 0 not in e.shape]))
    index = tuple(data.draw(st.integers(0, n - 1)) for n in e.shape)
    wrote = written(point(state, e.name, index)).wrote
    assert wrote is not None
    place = made[e.name][(*index, ...)]
    sees = {name: np.shares_memory(place, a) for name, a in made.items() if name != e.name}
    assert wrote.seen == tuple(name for name, does in sees.items() if does)
    assert wrote.unseen == tuple(name for name, does in sees.items() if not does)
    assert wrote.last - wrote.first + 1 == e.itemsize
    assert_twin(frame(written(point(state, e.name, index)), "?"))


@given(arrays(), st.data())
def test_a_map_is_out_of_date_when_bytes_that_it_shows_have_changed(made: dict[str, Any], data: st.DataObject) -> None:
    state = read(made)
    writeable = [name for name, a in made.items() if a.size and a.flags.writeable]
    if not writeable:
        return
    name = data.draw(st.sampled_from(writeable))
    place = made[name][(*(data.draw(st.integers(0, n - 1)) for n in made[name].shape), ...)]
    before = {e.name: made[e.name].tobytes() for e in state.entries}
    place[...] = data.draw(st.sampled_from([0, 1, 99]))
    stale = changed(state, read(made))
    drawn_whole = {e.name for e in state.entries if len(state.buffers[e.buffer].cells) == state.buffers[e.buffer].count}
    for other in drawn_whole:
        if made[other].tobytes() != before[other]:
            assert other in stale
    if any(made[other].tobytes() != before[other] for other in before):  # also between the cells that are drawn
        assert stale
        shared = {other for other in made if np.shares_memory(place, made[other])}
        assert {word for word in stale if not word.startswith("buffer ")} <= shared
    else:
        assert stale == ()


def test_the_question_who_sees_the_write_is_answered_by_the_rows() -> None:
    x = tg.arange(12, dtype="float32").reshape(3, 4)
    made = {"x": x, "s": x[::2], "c": x.clone()}
    x.array[0, 0] = 99
    after = written(point(read(made), "s", (0, 0)))
    assert write_sentence(after) == "s[0, 0] = 99 wrote bytes 0 to 3 of buffer A: x sees it too, c does not"
    rows = text(after).splitlines()
    assert rows[4:8] == [
        "  x = x: (3, 4), strides (16, 4) bytes: sees it",
        "            99     1     2     3     4     5     6     7     8     9    10    11",
        "  s = s: (2, 4), strides (32, 4) bytes: wrote it",
        "            99     1     2     3     .     .     .     .     8     9    10    11",
    ]


def test_sentences_about_sharing() -> None:
    big = np.arange(6.0)
    assert why(read({"a": big[:3], "b": big.copy()[:2]})) == (
        "No two of these names share a byte: **a write through one is not seen** through another."
    )
    halves = read({"a": big[:3], "b": big[3:]})
    assert len(halves.buffers) == 1  # one buffer, and no byte in common
    assert why(halves).startswith("No two of these names share a byte")
    assert why(read({"x": big, "a": big[:3], "b": big[3:]})) == (
        "In buffer A, **`x` shares bytes with** `a` and `b`; not every pair of names does."
    )
    assert why(read({"x": big, "y": big[:]})) == (
        "`x` and `y` look at the bytes of buffer A **in the same way**: a write through one is seen through all."
    )
    assert why(read({"x": big, "i": big.view(np.int64)})) == (
        "`x` and `i` share bytes of buffer A: **only dtype differs**."
    )
    assert why(read({"e": big[:0]})) == "`e` has no elements, so **there are no bytes** for it to look at."
    assert why(read({"n": np.array(2.5)})) == "`n` is a single number: **without axes**, it needs no strides."


def test_two_arrays_over_one_bytearray_are_one_buffer() -> None:
    raw = bytearray(8)
    made = {"a": np.frombuffer(raw, np.uint8), "b": np.frombuffer(raw, np.int16, offset=2)}
    state = read(made)
    assert len(state.buffers) == 1
    assert state.shares == (("a", "b"),)
    assert_claims(state, made)


def test_visits_are_numbered_only_on_demand_and_never_like_values() -> None:
    x = np.arange(6.0).reshape(2, 3)
    state = read({"t": x.T})
    assert "1st" not in text(state)
    assert text(replace(state, ordered=True)).splitlines()[5:7] == [
        "             0     1     2     3     4     5",
        "  visit    1st   3rd   5th   2nd   4th   6th",
    ]


def test_nothing_of_a_label_or_of_the_metadata_is_cut_off_when_narrow() -> None:
    x = np.zeros((2, 3, 4, 5), np.float32)
    state = read({"v": x[1:, ::2, ::-1, 1:4]}, {"v": "x[1:, ::2, ::-1, 1:4] and a rather long explanation of it"})
    for figure in (frame(state, "?").wide, frame(state, "?").narrow):
        drawn = " ".join(figure.canvas.text_items)
        assert "x[1:, ::2, ::-1, 1:4] and a rather long explanation of it" in drawn
        assert "(1, 2, 4, 3), strides (240, 160, -20, 4) bytes, from byte 304" in drawn


def test_a_name_whose_cells_are_all_left_out_says_so() -> None:
    x = np.arange(60.0)
    shown = frame(read({"x": x, "v": x[20:30], "e": x[:0]}), "?")
    assert shown.text.count("all of it lies in cells that are not shown") == 1
    assert shown.wide.canvas.text_items.count("all of it lies in cells that are not shown") == 1
    assert_twin(shown)
