"""Random clicks on a broadcast lab: after each of them, all that it says is what NumPy and the engine say."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tinygrad_edu_widgets import BroadcastLab

import tinygrad_edu as tg
from tests.views.broadcast.claims import assert_claims
from tests.views.twin import assert_twin
from tinygrad_edu.errors import ShapeError
from tinygrad_edu.views.broadcast.model import PATTERN

SHAPES = st.lists(st.sampled_from([1, 1, 2, 3, 4, 6, 9, 0]), max_size=3).map(tuple)


class Mirror:
    """What a learner has typed and pressed, kept apart from the widget."""

    def __init__(self, a: Any, b: Any) -> None:
        self.given = self.arrays = (a, b)
        self.upstream, self.mine = "made up", None

    def arrives(self) -> Any:
        shape = np.broadcast_shapes(*(x.shape for x in self.arrays))
        size = math.prod(shape)
        found = np.ones(size) if self.upstream == "ones" else self.mine
        return (np.resize(np.array(PATTERN, float), size) if found is None else found).reshape(shape)

    def type(self, name: str, shape: tuple[int, ...]) -> None:
        place, step = "ab".index(name), {"a": 10, "b": 1}[name]
        kept = self.given[place]
        made = (np.arange(1, math.prod(shape) + 1) * float(step)).reshape(shape).astype(np.float32)
        arrays = list(self.arrays)
        arrays[place] = kept if kept.shape == shape else made
        self.arrays, self.mine = (arrays[0], arrays[1]), None

    def turn(self, position: int) -> None:
        self.mine = self.arrives().ravel().copy()
        self.mine[position] = (self.mine[position] + 1) % 4
        self.upstream = "made up"


def filled(shape: tuple[int, ...], data: st.DataObject) -> Any:
    numbers = st.integers(-8, 8).map(lambda n: n / 4 or 0.5)
    count = math.prod(shape)
    return np.array(data.draw(st.lists(numbers, min_size=count, max_size=count)), np.float32).reshape(shape)


@settings(max_examples=60)  # of up to six clicks
@given(SHAPES, SHAPES, st.sampled_from("+-*/"), st.booleans(), st.data())
def test_random_clicks(one: tuple[int, ...], two: tuple[int, ...], op: str, ask: bool, data: st.DataObject) -> None:
    mirror = Mirror(filled(one, data), filled(two, data))
    widget = BroadcastLab(*map(tg.tensor, mirror.arrays), op, predict=ask)
    for _ in range(data.draw(st.integers(1, 6))):
        fits = not widget.state.refusal
        act = data.draw(st.sampled_from(["type", "type", "op", "upstream", "turn", "turn", "point", "commit", "reset"]))
        if act == "type":
            name, shape = data.draw(st.sampled_from("ab")), data.draw(SHAPES)
            widget.act(name, str(shape))
            mirror.type(name, shape)
        elif act == "op":
            widget.act("op", data.draw(st.sampled_from("+-*/")))
        elif act == "upstream":
            mirror.upstream = data.draw(st.sampled_from(["ones", "made up"]))
            widget.act("upstream", mirror.upstream)
        elif act == "turn" and widget.state.backward is not None and widget.state.backward.upstream:
            position = data.draw(st.integers(0, mirror.arrives().size - 1))
            widget.act("turn", position)
            mirror.turn(position)
        elif act == "point" and fits and mirror.arrays[0].size:
            widget.act("point", f"a:{data.draw(st.integers(0, mirror.arrays[0].size - 1))}")
        elif act == "commit" and fits and widget.state.locked:
            widget.act("draft", str(mirror.arrays[0].shape))
            widget.act("commit")
        elif act == "reset":
            widget.act("reset")
            mirror = Mirror(*mirror.given)
        arrived = None if widget.state.refusal else mirror.arrives()
        assert_claims(widget.state, *mirror.arrays, arrived)
        assert_twin(widget.frame())
    widget.close()


@pytest.mark.parametrize("shape", [(1, 1, 1, 1), (2, 3, 4, 5), (1,) * 7])
def test_more_axes_than_can_be_drawn_are_refused_with_the_way_out(shape: tuple[int, ...]) -> None:
    with pytest.raises(ShapeError, match="draws up to 3 axes, and this has") as caught:
        BroadcastLab(shape, (1,))
    assert "take a part of a tensor: x[0]" in caught.value.mend
    widget = BroadcastLab((2, 1), (3,), predict=False)
    before = widget.state.shapes
    widget.act("a", str(shape))
    assert widget.state.shapes == before
    assert "the lab draws up to 3 axes" in widget.text()
