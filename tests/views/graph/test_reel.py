"""What the browser makes of a reel is what Python would have drawn."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import tinygrad_edu as tg
from tests.views.graph.test_figure import recurrent, runs, transformer
from tests.views.player import read, walk
from tinygrad_edu.views.graph import GraphRun, GraphState, first_closed, frame, outermost, record
from tinygrad_edu.views.reel import CHUNK, Track, fill, hole, literal


def sent(data: Any) -> Any:
    """As it arrives."""
    return json.loads(json.dumps(data))


def assert_walk(
    run: GraphRun, closed: frozenset[int], steps: list[int], editable: dict[str, str] | None = None
) -> None:
    """Walk through these steps; at each, the page is the one that Python makes."""
    start = frame(run, GraphState(steps[0], closed), "?", editable)
    page, told = read(start.html()), sent(start.reel.told(steps[0]))
    for step in steps:
        walk(page, told, sent(start.reel.chunk(step)), step)
        assert page == read(frame(run, GraphState(step, closed), "?", editable).html())


@settings(max_examples=40)
@given(st.data())
def test_walking_gives_the_page_that_python_makes(data: st.DataObject) -> None:
    run = data.draw(runs())
    groups = sorted({group for node in run.nodes for group, _ in node.groups})
    closed = frozenset(data.draw(st.sets(st.sampled_from(groups)))) if groups else frozenset()
    steps = data.draw(st.lists(st.integers(0, run.steps), min_size=2, max_size=5))
    assert_walk(run, closed, steps, {"x": "1"})


def test_walking_through_large_graphs() -> None:
    run = transformer()
    for closed in (frozenset[int](), outermost(run), outermost(run, 1)):
        assert_walk(run, closed, [0, 1, 20, run.steps, run.steps - 1, len(run.forward), len(run.forward) + 1])
    run = recurrent(30)
    assert_walk(run, first_closed(run), [run.steps // 2, 0, run.steps, run.steps - 1])


def test_strangers_names_walk_too() -> None:
    names = ["<script>", "{0}", "\ue000", "a\ue0ffb", '"']
    run = record(lambda **named: sum((named[name] * 2 for name in names), tg.tensor(0.0)), {
        name: tg.tensor(1.0, requires_grad=True) for name in names
    })  # fmt: skip
    assert_walk(run, frozenset(), [0, 3, run.steps])


def test_a_step_takes_few_bytes_also_in_a_large_graph() -> None:
    run = recurrent()
    whole = frame(run, GraphState(0), "?").reel
    for step in range(0, run.steps, 97):
        chunk = whole.chunk(step)
        assert chunk["from"] <= step <= chunk["to"]
        assert len(json.dumps(chunk, ensure_ascii=False).encode()) < 20_000
        assert chunk["to"] - chunk["from"] >= 10 or step + 10 > run.steps


def test_a_chunk_never_grows_far_beyond_its_size() -> None:
    run = transformer()
    chunk = frame(run, GraphState(0), "?").reel.chunk(10)
    assert CHUNK / 2 < len(json.dumps(chunk, ensure_ascii=False).encode()) < 1.5 * CHUNK


def test_tracks_keep_only_what_changes() -> None:
    track = Track.of({0: ("a", "b"), 3: ("a", "b"), 5: ("a", "c")})
    assert (track.steps, track.values) == ((0, 5), (("a", "b"), ("a", "c")))
    assert [track.at(step) for step in (0, 4, 5, 99)] == [("a", "b"), ("a", "b"), ("a", "c"), ("a", "c")]
    words: dict[str, int] = {}
    assert (track.told(words), list(words)) == ([[0, 0, 1], [5, -1, 2]], ["a", "b", "c"])


def test_a_text_that_looks_like_a_hole_stays_out_of_templates() -> None:
    assert fill(literal(f"x{hole(0)}") + hole(1), ("1", "2")) == "x\N{REPLACEMENT CHARACTER}2"
