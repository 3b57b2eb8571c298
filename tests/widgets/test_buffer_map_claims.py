"""Random clicks on a buffer map: after each of them, all that it says is what NumPy says at that moment."""

from __future__ import annotations

import itertools
import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tinygrad_edu_widgets import BufferMap, watching
from tinygrad_edu_widgets.watching import look_around

import tinygrad_edu as tg
from tests.views.buffers.claims import assert_claims
from tests.views.twin import assert_twin

VIEWS = (
    "{}[1:]",
    "{}[..., ::2]",
    "{}.T",
    "{}.flatten()",
    "{}.clone()",
    "{}.unsqueeze(0).expand(2, -1, -1)",
    "{}[::-1]",
)


def arrays(widget: BufferMap) -> dict[str, Any]:
    return {name: tensor.array for name, tensor in widget._tensors.items()}


def said(widget: BufferMap) -> tuple[list[str], list[str]]:
    """Who is said to see the last write, and who not."""
    sentence = re.search(r"= 99 wrote bytes? [\d to]+ of buffer \w+(?:: (.*))?$", widget.text(), re.M)
    assert sentence is not None
    parts = re.fullmatch(r"(?:(.*?) sees? it too)?(?:, )?(?:(.*) do(?:es)? not)?", sentence[1] or "")
    assert parts is not None
    seen, unseen = (re.split(r", | and ", part) if part else [] for part in parts.groups())
    return seen, unseen


@settings(max_examples=40)  # of up to five clicks
@given(st.data())
def test_random_clicks_and_writes(data: st.DataObject) -> None:
    shape = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 4))  # all cells are drawn
    x = tg.tensor(np.arange(np.prod(shape)).reshape(shape).astype(data.draw(st.sampled_from(["float32", "int16"]))))
    widget = BufferMap(x=x, t=x.T, c=x.clone())
    other = BufferMap(y=x[:1])
    at_first = {name: a.copy() for name, a in arrays(widget).items()}
    for _ in range(data.draw(st.integers(1, 5))):
        names = list(widget._tensors)
        act = data.draw(st.sampled_from(["write", "write", "add", "remove", "pick", "point", "view", "other"]))
        before = {name: a.tobytes() for name, a in arrays(other).items()}
        around = arrays(other)["y"].base.tobytes()
        value: Any = None
        if act == "add":
            value = data.draw(st.sampled_from(VIEWS)).format(data.draw(st.sampled_from(names)))
        elif act == "view":
            value = data.draw(st.sampled_from(["values", "order of visits", "free view"]))
        elif act in ("pick", "remove", "write", "point"):
            name = data.draw(st.sampled_from(names))
            widget.act("pick", name)
            if act != "pick" and 0 not in widget._tensors[name].shape:
                size = widget._tensors[name].numel()
                widget.act("point", f"{name}:{data.draw(st.integers(0, size - 1))}")
        if act == "other":
            other.act("write")
            written = arrays(other)["y"].tobytes() != before["y"]
            if written and any(np.shares_memory(x.array[:1], a) for a in arrays(widget).values()):
                assert any(name in widget._stale for name in names)
                frozen = widget.state
                widget.act("write")  # one cannot see what would be written over
                assert widget.state == frozen or widget.state.message
            widget.act("renew")
        elif act not in ("pick", "point"):
            widget.act(act, value)
        if act == "write" and not widget.state.message and 0 not in widget._tensors[str(widget.state.picked)].shape:
            picked = str(widget.state.picked)
            place = arrays(widget)[picked][(*widget.state.index, ...)]
            assert place == 99
            sees = {n: bool(np.shares_memory(place, a)) for n, a in arrays(widget).items() if n != picked}
            if any(sees.values()):
                assert said(widget) == ([n for n in sees if sees[n]], [n for n in sees if not sees[n]])
            elif sees:
                assert "no other name here sees it" in widget.text()
            for name, e in zip(widget._tensors, widget.state.entries, strict=True):
                marked = re.search(rf"^  {name} = .*: (sees|wrote) it$", widget.text(), re.M)
                assert (marked is not None) is (name == picked or sees[name]), e
        if act != "other":
            names_y = arrays(other)["y"].tobytes() != before["y"]
            assert ("y" in other._stale) is names_y
            assert ("buffer A" in other._stale) is (arrays(other)["y"].base.tobytes() != around and not names_y)
            assert ("has changed since" in other.text()) is bool(other._stale)
            other.act("renew")
        assert widget._stale == other._stale == ()
        assert_claims(widget.state, arrays(widget))
        assert_claims(other.state, arrays(other))
        assert_twin(widget.frame())
    other.act("reset")
    widget.act("reset")
    assert list(widget._tensors) == ["x", "t", "c"]
    assert np.array_equal(arrays(widget)["c"], at_first["c"])
    other.close()
    widget.close()


def test_two_maps_of_one_array() -> None:
    x = tg.arange(6, dtype="float32").reshape(2, 3)
    one, two = BufferMap(x=x, c=x.clone()), BufferMap(x=x, t=x.T)
    shown = two.state
    one.act("write")
    assert two.state == shown  # what it shows is still the moment in which it was made
    assert two._framed().text.endswith(
        "x and t have changed since this picture was made: it still shows them as before."
    )
    assert 'class="edu-since" role="status"' in two.html
    assert "edu-stage stale" in two.html
    assert [c.act for c in two.frame().controls] == ["pick", "axis:0", "axis:1", "renew", "reset"]
    two.act("point", "t:3")
    assert two.state.buffers == shown.buffers
    for act, value in (("write", None), ("add", "x[1:]"), ("remove", None), ("view", "free view")):
        two.act(act, value)
        assert f"▲ {act}: x, t changed since this picture was made. Press Read again first." in two.text()
    two.act("renew")
    assert "has changed" not in two.html
    assert two.state.picked == "t"
    assert "value     99     1     2     3     4     5" in two.text()
    assert "has changed" not in one.html


def test_a_later_cell_and_code_between_two_renderings() -> None:
    a = np.arange(3.0)
    widget = BufferMap(a=a, b=np.zeros(2))
    a[1] = 5
    assert "has changed" in widget.text()  # asked for, it looks
    a[1] = 1
    assert "has changed" not in widget.text()  # what it shows holds again
    a[2] = 5
    assert "has changed" not in widget.html
    look_around()  # after each cell
    assert "a has changed since" in widget.html
    a[2] = 2
    look_around()
    assert "has changed" not in widget.html
    widget.close()
    a[2] = 9
    look_around()
    assert "has changed" not in widget.html


def test_a_saved_picture_that_is_out_of_date_says_so() -> None:
    a = np.arange(3.0)
    widget = BufferMap(a=a)
    a[0] = 7
    assert "a has changed since" in widget.svg()
    assert 'opacity=".45"' in widget.svg()


def test_names_can_be_removed_but_not_the_last() -> None:
    x = tg.arange(4)
    widget = BufferMap(x=x, y=x[1:])
    widget.act("add", "y[1:]")
    widget.act("remove")
    assert [e.name for e in widget.state.entries] == ["x", "y"]
    assert widget.state.picked == "y"
    widget.act("pick", "x")
    widget.act("remove")
    assert [e.name for e in widget.state.entries] == ["y"]
    assert "remove" not in [c.act for c in widget.frame().controls]
    widget.act("remove")
    assert widget._framed().text.endswith("▲ remove: y is the only name on this map. Add another one first.")
    widget.act("view", "free view")  # a free view of the first tensor, also where its name has left
    assert "a free view of x: (4,), strides (8,) bytes" in widget.text()
    widget.act("remove")
    assert "free view" in next(c for c in widget.frame().controls if c.act == "view").options
    widget.act("reset")
    assert [e.name for e in widget.state.entries] == ["x", "y"]


def test_the_order_of_visits_is_off_at_first_and_stays_on_through_other_presses() -> None:
    x = tg.arange(6).reshape(2, 3)
    widget = BufferMap(t=x.T)
    assert "1st" not in widget.text()
    widget.act("view", "order of visits")
    assert "visit    1st   3rd   5th   2nd   4th   6th" in widget.text()
    widget.act("write")
    assert "visit    1st" in widget.text()
    widget.act("view", "values")
    assert "1st" not in widget.text()
    assert "t[0, 0] = 99 wrote" in widget.text()


def test_pairs_of_names_are_all_named() -> None:
    x = np.arange(4.0)
    widget = BufferMap(x=x, y=x[:2], z=x[2:])
    pairs = {p for p in itertools.combinations("xyz", 2) if p != ("y", "z")}
    assert set(widget.state.shares) == pairs


def test_reset_leaves_what_others_have_written_since() -> None:
    x = tg.arange(6, dtype="float32")
    one, two = BufferMap(x=x), BufferMap(x=x)
    one.act("write")
    two.act("renew")
    two.act("write")
    one.act("reset")
    assert x.array[0] == 0
    two.act("reset")  # and not the 99 that it found
    assert x.array[0] == 0
    one.act("write")
    x.array[0] = 5
    one.act("reset")
    assert x.array[0] == 5


def test_each_cell_that_has_run_makes_the_maps_look(monkeypatch: pytest.MonkeyPatch) -> None:
    hooks: list[Any] = []
    shell = SimpleNamespace(events=SimpleNamespace(register=lambda event, hook: hooks.append((event, hook))))
    monkeypatch.setattr(watching, "get_ipython", lambda: shell)
    monkeypatch.setattr(watching, "_hooked", [])
    a = np.arange(3.0)
    maps = [BufferMap(a=a), BufferMap(a=a[1:])]
    [(event, hook)] = hooks  # one for all maps
    assert event == "post_run_cell"
    a[1] = 7
    hook(None)
    assert all("a has changed since this picture was made" in one.html for one in maps)


def test_bytes_beside_those_of_the_names_are_called_the_buffers() -> None:
    a = np.arange(4.0)
    widget = BufferMap(a=a[:2], b=np.zeros(1))
    a[3] = 9
    assert widget._framed().text.endswith(
        "buffer A has changed since this picture was made: it still shows it as before."
    )


def test_a_write_between_the_drawn_cells_makes_a_map_stale() -> None:
    a = np.arange(1000.0)
    widget = BufferMap(a=a, v=a[200:300], e=a[:4])
    assert "has changed" not in widget.text()
    a[250] = -1  # no cell of it is drawn
    assert "a and v have changed since this picture was made" in widget.text()
    widget.act("renew")
    a[500] = -1
    assert "a has changed since" in widget.text()
    widget.act("view", "free view")
    assert "Press Read again first." in widget.text()
    part = BufferMap(v=a[200:300])
    a[700] = -2
    assert "buffer A has changed since" in part.text()
    part.close()
    widget.close()


def test_the_map_has_no_more_controls_than_five() -> None:
    x = tg.arange(6, dtype="float32").reshape(2, 3)
    widget = BufferMap(x=x, t=x.T)
    pointing = {"pick", "axis", "write"}  # a name, its index, and the element written there: one row, one control
    for view in ("values", "order of visits", "free view"):
        widget.act("view", view)
        acts = {c.act.split(":")[0] for c in widget.frame().controls if c.kind != "break"}
        assert len(acts - pointing - {"shape", "stride", "offset"}) + 1 <= 5
