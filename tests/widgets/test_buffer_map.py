"""The buffer map: pointing, writing, adding views, and the free view; and that the engine hears of every write."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tinygrad_edu_widgets import BufferMap

import tinygrad_edu as tg
from tests.views.twin import assert_twin
from tinygrad_edu.errors import ArgumentError, DtypeError, InplaceError


@pytest.fixture
def x() -> tg.Tensor:
    return tg.arange(12, dtype="float32").reshape(3, 4)


@pytest.fixture
def widget(x: tg.Tensor) -> BufferMap:
    return BufferMap(x=x, t=x.T, c=x.clone())


def last(widget: BufferMap) -> str:
    return widget._framed().text.splitlines()[-1]


def test_pointing_by_cell_by_name_and_by_axis(widget: BufferMap) -> None:
    widget.act("point", "x:6")
    assert last(widget) == "x[1, 2] holds 6 and is at byte 0 + 1·16 + 2·4 = 24, as is t[2, 1]"
    widget.act("pick", "t")
    assert last(widget) == "t[0, 0] holds 0 and is at byte 0 + 0·4 + 0·16 = 0, as is x[0, 0]"
    widget.act("axis:0", 3)
    assert last(widget) == "t[3, 0] holds 3 and is at byte 0 + 3·4 + 0·16 = 12, as is x[0, 3]"
    widget.act("axis:0", 4)
    assert last(widget) == "▲ t[4, 0]: t has shape (4, 3). Choose an index inside it."
    widget.act("axis:1", 2)
    assert last(widget) == "t[3, 2] holds 11 and is at byte 0 + 3·4 + 2·16 = 44, as is x[2, 3]"


def test_a_write_is_seen_through_every_name_and_undone_by_reset(widget: BufferMap, x: tg.Tensor) -> None:
    widget.act("point", "t:1")
    widget.act("write")
    assert x[1, 0].item() == 99
    assert widget._tensors["c"].array[1, 0] == 4
    widget.act("point", "x:4")
    widget.act("write")
    x.array[2, 2] = -5  # the learner's own, made in a cell
    widget.act("reset")
    assert x[1, 0].item() == 4
    assert x[2, 2].item() == -5
    assert widget.state.picked == "x"


def test_a_write_touches_one_place_also_where_elements_overlap(x: tg.Tensor) -> None:
    widget = BufferMap(x=x)
    widget.act("view", "free view")
    widget.act("stride:0", 8)
    widget.act("axis:1", 2)  # xᵥ[0, 2] is xᵥ[1, 0]
    widget.act("write")
    assert x.array.ravel().tolist() == [0, 1, 99, 3, 4, 5, 6, 7, 8, 9, 10, 11]
    widget.act("reset")
    assert x.array.ravel().tolist() == list(range(12))
    wide = BufferMap(w=tg.tensor([[1.0, 2.0]]).expand(3, 2))
    wide.act("axis:0", 2)
    wide.act("write")
    assert "value     99     2" in wide.text() or "read-only" in last(wide)


@pytest.mark.parametrize(
    "value, dtype, shown", [(True, "bool", "1"), (3, "int8", "99"), (0.5, "float16", "99"), (2, "uint8", "99")]
)
def test_a_write_keeps_the_dtype(value: float, dtype: str, shown: str) -> None:
    t = tg.tensor([False, value]).to(dtype)
    widget = BufferMap(t=t)
    widget.act("write")
    assert t.dtype == np.dtype(dtype)
    assert f"  value  {shown:>5}" in widget.text()
    widget.act("reset")
    assert t.array[0] == 0


def test_single_numbers_can_be_written(widget: BufferMap) -> None:
    n = tg.tensor(2.5)
    one = BufferMap(n=n)
    one.act("write")
    assert n.item() == 99
    one.act("reset")
    assert n.item() == 2.5


def test_the_engine_hears_of_a_write() -> None:
    w = tg.tensor([1.0, 2.0], requires_grad=True)
    loss = (w * w).sum()
    widget = BufferMap(w=w)
    widget.act("write")
    with pytest.raises(InplaceError, match="has overwritten it since"):
        loss.backward()
    loss = (w * w).sum()
    loss.backward()
    assert w.grad.tolist() == [198.0, 4.0]
    loss = (w * w).sum()
    widget.act("reset")
    with pytest.raises(InplaceError):
        loss.backward()


def test_looking_disturbs_no_graph() -> None:
    w = tg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    loss = (w * w).sum()
    widget = BufferMap(w=w)
    for act, value in (("add", "w[1:]"), ("add", "w.clone()"), ("pick", "v"), ("view", "free view"), ("reset", None)):
        widget.act(act, value)
    loss.backward()
    assert w.grad.tolist() == [2.0, 4.0, 6.0]


def test_added_views_belong_to_no_graph() -> None:
    w = tg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    widget = BufferMap(w=w)
    widget.act("add", "w[1:]")
    assert not widget._tensors["v"].requires_grad


def test_a_locked_array_stays_locked_and_a_read_only_one_is_refused() -> None:
    a = np.arange(3.0)
    t = tg.from_numpy(a).requires_grad_()
    loss = (t * t).sum()
    widget = BufferMap(a=a)
    assert not a.flags.writeable
    widget.act("write")
    if a[0] == 99:  # through the tensor: allowed, and noted
        with pytest.raises(InplaceError):
            loss.backward()
    else:
        assert last(widget).startswith("▲ a[0] = 99: read-only memory: mul saved it and needs the old values")
    del loss
    frozen = np.arange(3.0)
    frozen.flags.writeable = False
    widget = BufferMap(f=frozen)
    widget.act("write")
    assert last(widget) == "▲ f[0] = 99: read-only memory: its owner made it so. Map a copy of it."
    widget.act("reset")
    assert frozen.tolist() == [0.0, 1.0, 2.0]


def test_views_are_added_under_names_of_their_own(widget: BufferMap, x: tg.Tensor) -> None:
    widget.act("add", "  x[1:,\n ::2].T ")
    assert "  v = x[1:, ::2].T: (2, 2), strides (8, 16) bytes, from byte 16\n" in widget.text()
    assert widget.state.picked == "v"
    widget.act("add", "v[0]")
    assert "  w = v[0]: (2,), strides (16,) bytes, from byte 16\n" in widget.text()
    before = widget.state
    widget.act("add", "   ")
    assert widget.state == before
    widget.act("add", "x.fill_(3)")
    assert last(widget).startswith("▲ the view 'x.fill_(3)': it takes a name")
    assert x.array.ravel().tolist() == list(range(12))
    widget.act("reset")
    assert "v = " not in widget.text()
    widget.act("add", "x.T")
    assert "  v = x.T: (4, 3)" in widget.text()


def test_labels_given_at_the_start_stay(x: tg.Tensor) -> None:
    widget = BufferMap(x=x, v=x.T, labels={"v": "x.T"})
    widget.act("add", "v[0]")
    widget.act("reset")
    assert "  v = x.T: " in widget.text()
    assert widget._labels == {"v": "x.T"}


def test_the_free_view_begins_as_its_tensor_and_keeps_to_the_buffer(widget: BufferMap) -> None:
    widget.act("view", "free view")
    assert "xᵥ = a free view of x: (3, 4), strides (16, 4) bytes" in widget.text()
    widget.act("stride:0", 20)
    assert "would begin at byte 52" in last(widget)
    assert "xᵥ = a free view of x: (3, 4), strides (16, 4) bytes" in widget.text()
    widget.act("shape:1", 2)
    widget.act("stride:0", 20)
    assert "xᵥ = a free view of x: (3, 2), strides (20, 4) bytes" in widget.text()
    widget.act("stride:0", 12)
    widget.act("offset", 4)
    assert "xᵥ = a free view of x: (3, 2), strides (12, 4) bytes, from byte 4" in widget.text()
    widget.act("offset", 0)
    widget.act("stride:1", -4)
    assert "would begin at byte -4" in last(widget)
    widget.act("offset", 2)
    assert "2 bytes lead into the middle of an element. Take a multiple of 4." in last(widget)


@pytest.mark.parametrize(
    "make, begins",
    [
        (lambda x: x.T, "(4, 3), strides (4, 16) bytes"),
        (lambda x: x[1:, ::2], "(2, 2), strides (16, 8) bytes, from byte 16"),
        (lambda x: x[::-1], "(3, 4), strides (-16, 4) bytes, from byte 32"),
        (lambda x: x[2], "(4,), strides (4,) bytes, from byte 32"),
        (lambda x: x[1, 1], "(1,), strides (4,) bytes, from byte 20"),
    ],
)
def test_the_free_view_of_a_view_begins_where_that_is(x: tg.Tensor, make: Any, begins: str) -> None:
    widget = BufferMap(v=make(x))
    widget.act("view", "free view")
    assert f"vᵥ = a free view of v: {begins}\n" in widget.text()


def test_the_last_place_of_the_offset_is_the_last_that_fits(widget: BufferMap) -> None:
    widget.act("view", "free view")
    for axis, size in enumerate((1, 1)):
        widget.act(f"shape:{axis}", size)
    [offset] = [c for c in widget.frame().controls if c.act == "offset"]
    assert offset.options == (0, 44, 4)
    widget.act("offset", 44)
    assert "from byte 44" in widget.text()
    widget.act("offset", 48)
    assert "would begin at byte 48" in last(widget)


def test_a_solved_puzzle_is_said_and_remembered(x: tg.Tensor) -> None:
    widget = BufferMap(x=x, puzzles={"a column": [0, 4, 8], "the diagonal": [0, 5, 10]})
    widget.act("view", "free view")
    assert "✓" not in widget.text()
    widget.act("shape:1", 1)
    said = "✓ xᵥ reads 0 4 8, a column: 1 of 2 found"
    assert said in widget.text()
    assert f'role="status">{said}</p>' in widget.html
    assert_twin(widget.frame())
    widget.act("stride:0", 12)
    assert "✓" not in widget.text()
    widget.act("stride:0", 20)
    assert "✓ xᵥ reads 0 5 10, the diagonal: all found" in widget.text()
    widget.act("reset")
    widget.act("view", "free view")
    widget.act("shape:1", 1)
    assert said in widget.text()


@pytest.mark.parametrize("puzzles", [3, "ab", [1], {"a": 3}, {"a": ["b"]}, {"a": []}, {"": [1]}])
def test_what_is_no_puzzle_is_refused(x: tg.Tensor, puzzles: Any) -> None:
    with pytest.raises(ArgumentError, match="puzzles are lists of numbers, by name"):
        BufferMap(x=x, puzzles=puzzles)


def test_what_an_act_has_changed_is_read_aloud(widget: BufferMap) -> None:
    assert 'role="status"></p>' in widget.html  # there before it has words
    widget.act("write")
    assert 'role="status">x[0, 0] = 99 wrote bytes 0 to 3 of buffer A: t sees it too, c does not</p>' in widget.html
    widget.act("add", "x + 1")
    assert 'role="status">v = x + 1 has a buffer of its own, C</p>' in widget.html
    widget.act("add", "x.detach()")
    assert 'role="status">w = x.detach() is in buffer A, as are x and t</p>' in widget.html
    widget.act("point", "x:3")
    assert 'role="status"></p>' in widget.html


def test_the_dials_count_in_bytes_as_the_picture_does(widget: BufferMap) -> None:
    widget.act("view", "free view")
    dials = {c.act: c for c in widget.frame().controls if c.kind == "scrub" and c.act.startswith(("stride", "offset"))}
    free = next(e for e in widget.state.entries if e.name == "xᵥ")
    assert [dials["stride:0"].value, dials["stride:1"].value] == list(free.strides)
    assert dials["offset"].value == free.offset
    assert {c.options[2] for c in dials.values()} == {free.itemsize}


@pytest.mark.parametrize("shape", [(), (1,), (3,), (0,), (0, 4)])
def test_the_free_view_of_small_tensors(shape: tuple[int, ...]) -> None:
    widget = BufferMap(x=tg.ones(shape))
    widget.act("view", "free view")
    assert ("a free view" in widget.text()) is (0 not in shape)


def test_a_large_array_is_never_copied_or_sent() -> None:
    x = tg.zeros(10_000_000)
    widget = BufferMap(x=x)
    assert len(widget.html) < 40_000
    assert len(repr(widget.data())) < 5_000
    widget.act("point", "x:9999999")
    widget.act("write")
    assert x.array[-1] == 99
    assert last(widget) == "x[9999999] holds 99 and is at byte 0 + 9999999·4 = 39\u2009999\u2009996"
    widget.act("reset")
    assert x.array[-1] == 0
    widget.act("add", "x.reshape(10, -1)[:, 5]")
    assert len(widget.html) < 60_000


def test_no_tensors_at_all() -> None:
    widget = BufferMap()
    assert widget._framed().text == "BufferMap\nNo tensors yet. Name one: BufferMap(x=x)."
    assert [c.act for c in widget.frame().controls] == ["reset"]
    widget.act("reset")


def test_a_wrong_argument_is_named() -> None:
    with pytest.raises(DtypeError, match=r"^BufferMap\(x='abc'\)\n  why:  it has dtype <U3"):
        BufferMap(x="abc")
    with pytest.raises(ArgumentError) as caught:
        BufferMap(x=tg.ones(2), labels={"y": "x.T"})
    assert (caught.value.tried, caught.value.why) == ("BufferMap(labels={'y': …})", "there is no y on this map")


def test_a_control_of_an_axis_that_is_gone_is_refused_in_words() -> None:
    """A message may be on its way while another view is shown."""
    widget = BufferMap(x=tg.arange(6).reshape(2, 3), one=tg.tensor(1.0))
    widget.act("pick", "one")
    for act in ("axis:0", "axis:7", "axis:x"):
        widget._receive(None, {"act": act, "value": 1}, None)
        assert f"{act}: what is shown now has no axes. Use a control that is on show." in widget.text()


def test_an_empty_tensor_cannot_be_written_to() -> None:
    x = tg.zeros(1, 1)
    widget = BufferMap(x=x, e=x[1:])
    widget.act("pick", "e")
    widget.act("write")
    assert "e (0, 1) = 99: it has no elements. Pick one that has some." in widget.text() and x.item() == 0
