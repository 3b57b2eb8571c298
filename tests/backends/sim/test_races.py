"""Races: programs whose order is known by construction; none is missed, and none is invented."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tinygrad_edu as tg
from tinygrad_edu import backends
from tinygrad_edu.errors import RaceError

SIM: Any = backends.get("sim")
PARTS = (slice(None), slice(0, 4), slice(4, 8), slice(0, 8, 2), slice(1, 8, 2))
PLACES = [set(range(8)[part]) for part in PARTS]


@contextmanager
def on(stream: Any) -> Iterator[None]:
    undo = SIM.use_stream(stream)
    try:
        yield
    finally:
        undo()


@pytest.fixture(autouse=True)
def calm() -> Iterator[None]:
    """Each test begins and ends with a device that has nothing to do."""
    tg.sim.synchronize()
    before = tg.sim.on_race("error")
    yield
    tg.sim.on_race(before)
    SIM.races.clear()
    tg.sim.synchronize()


STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["read", "write"]), st.integers(0, 2), st.integers(0, 1), st.integers(0, 4)),
        st.tuples(st.just("wait"), st.integers(0, 2), st.integers(0, 2)),
        st.tuples(st.just("synchronize"), st.integers(0, 2)),
    ),
    min_size=1, max_size=14,
)  # fmt: skip


def first_race(steps: list[tuple[Any, ...]]) -> int | None:
    """The first access that meets an earlier one without an order between them: by reachability in a plain graph."""
    before: dict[Any, set[int]] = {stream: set() for stream in (0, 1, 2)}  # done before the stream's next work
    host: set[int] = set()
    for place, step in enumerate(steps):
        if step[0] == "wait":
            before[step[1]] |= before[step[2]]
        elif step[0] == "synchronize":
            host |= before[step[1]]
        else:
            what, stream, buffer, part = step
            known = before[stream] | host
            for earlier in range(place):
                other = steps[earlier]
                meets = other[0] in ("read", "write") and other[2] == buffer and PLACES[part] & PLACES[other[3]]
                if meets and earlier not in known and "write" in (what, other[0]):
                    return place
            before[stream] = known | {place}
    return None


@given(STEPS)
def test_random_programs_race_where_a_plain_graph_says_so_and_nowhere_else(steps: list[tuple[Any, ...]]) -> None:
    streams = [SIM.default_stream, *SIM.streams[1:3]]
    while len(streams) < 3:
        streams.append(SIM.stream())
    buffers = [tg.zeros(8, device="sim") for _ in range(2)]
    outs = [tg.zeros(8, device="sim") for _ in range(3)]  # results go where only their own stream writes
    for place, out in enumerate(outs):  # so each result's memory belongs to its stream
        with on(streams[place]):
            outs[place] = tg.zeros(8, device="sim")
        del out
    tg.sim.synchronize()
    found = None
    for place, step in enumerate(steps):
        if step[0] == "wait":
            streams[step[1]].wait_stream(streams[step[2]])
            continue
        if step[0] == "synchronize":
            streams[step[1]].synchronize()
            continue
        what, stream, buffer, part = step
        view = buffers[buffer][PARTS[part]]
        try:
            with on(streams[stream]):
                if what == "read":
                    SIM.into("negative", outs[stream][: view.numel()].array, view.array)
                else:
                    view.fill_(1.0)
        except RaceError:
            found = place
            break
    tg.sim.synchronize()
    assert found == first_race(steps)


def test_a_planted_race_is_found_and_explained() -> None:
    side = SIM.stream()
    x = tg.ones(1000, device="sim")
    y = x * 2  # on the default stream
    with pytest.raises(RaceError) as caught, on(side):
        y + 1
    error = caught.value
    assert re.fullmatch(r"add on 'sim stream \d+' reads a tensor \(1000,\) float32", error.tried)
    assert "mul on 'sim stream 0' writes it (test_races.py, line" in error.why
    assert "y = x * 2" in error.why and "nothing makes one wait for the other" in error.why
    assert "y + 1" in error.line and "wait_stream" in error.mend
    side.wait_stream(SIM.default_stream)
    with on(side):
        assert (y + 1).device == "sim"  # the program can go on


def test_luck_hides_no_race() -> None:
    """The first work ended long ago, but nothing says so."""
    side = SIM.stream()
    y = tg.ones(10, device="sim") * 2
    tg.sim.host_work(1000)
    with pytest.raises(RaceError), on(side):
        y + 1


def test_stale_shows_what_was_there_before() -> None:
    side = SIM.stream()
    x = tg.zeros(4, device="sim")
    side.wait_stream(SIM.default_stream)
    tg.sim.on_race("stale")
    with on(side):
        x.fill_(5.0)
    early = (x + 0).tolist()  # the default stream did not wait
    SIM.default_stream.wait_stream(side)
    assert (early, (x + 0).tolist()) == ([0.0] * 4, [5.0] * 4)
    assert len(tg.sim.races()) == 1 and "fill" in tg.sim.races()[0]


def test_warn_goes_on_and_keeps_what_it_found() -> None:
    side = SIM.stream()
    x = tg.ones(4, device="sim")
    tg.sim.on_race("warn")
    with on(side):
        assert (x + 1).tolist() == [2.0] * 4
    assert len(tg.sim.races()) == 1


def test_memory_that_is_freed_while_another_stream_uses_it() -> None:
    """Its block serves the next request of its own stream at once; the other stream may still read it."""
    side = SIM.stream()
    SIM.empty_cache()
    x = tg.ones(10 << 20, device="sim")
    side.wait_stream(SIM.default_stream)
    with on(side):
        y = x * 3
    del x
    with pytest.raises(RaceError, match="mul on 'sim stream"):
        tg.ones(10 << 20, device="sim")
    del y


def test_backward_runs_on_the_streams_of_forward_and_waits_by_itself() -> None:
    side = SIM.stream()
    w = tg.ones(3, 3, device="sim", requires_grad=True)
    x = tg.ones(3, 3, device="sim")
    side.wait_stream(SIM.default_stream)
    with on(side):
        a = (x @ w).relu()
    SIM.default_stream.wait_stream(side)
    loss = (a + x @ w).sum()
    with tg.sim.timeline() as seen:
        loss.backward()
    lanes = {work.name: work.lane for work in seen if work.kind == "kernel" and work.name != "matmul backward"}
    assert lanes["relu backward"] == side.lane.name
    assert {work.lane for work in seen if work.name == "matmul backward" and work.kind == "kernel"} == {
        side.lane.name, SIM.default_stream.lane.name,
    }  # fmt: skip
    assert w.grad.tolist() == [[6.0] * 3] * 3
