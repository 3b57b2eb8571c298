"""Placing work in time: against a model that knows nothing but the queues, and plays them tick by tick."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tinygrad_edu.backends.sim.schedule import Point, Room, Schedule, precedes

STREAMS = 3


def program() -> st.SearchStrategy[list[tuple[Any, ...]]]:
    """What a host asks for: work on a stream, events recorded and waited for, and its own waits."""
    stream = st.integers(0, STREAMS - 1)
    return st.lists(
        st.one_of(
            st.tuples(st.just("run"), stream, st.integers(1, 9)),
            st.tuples(st.just("record"), stream),
            st.tuples(st.just("wait"), stream, st.integers(0, 9)),
            st.tuples(st.just("synchronize"), stream),
            st.tuples(st.just("host"), st.integers(1, 5)),
        ),
        max_size=30,
    )


def naive(steps: list[tuple[Any, ...]], launch: int) -> tuple[list[int], int]:
    """When each piece of work ends, and the host's clock: queues that are played tick by tick."""
    queues: list[list[tuple[Any, ...]]] = [[] for _ in range(STREAMS)]
    ended: dict[int, int] = {}  # work, by its place in the program
    reached: dict[int, int] = {}  # events, by their number
    left = [0] * STREAMS
    now, busy, place, events, todo = 0, 0, 0, 0, list(enumerate(steps))
    blocked: tuple[str, int] | None = None
    while True:
        moved = True
        while moved:  # whatever takes no time
            moved = False
            for stream, queue in enumerate(queues):
                while queue and not left[stream]:
                    what = queue[0]
                    if what[0] == "record":
                        reached[what[1]] = now
                    elif what[0] == "wait":
                        if what[1] not in reached:
                            break
                    elif what[0] == "run":
                        left[stream] = what[2]
                        break
                    queue.pop(0)
                    moved = True
            if blocked is not None and not queues[blocked[1]]:
                blocked, moved = None, True
            if not busy and blocked is None and todo:
                place, step = todo.pop(0)
                moved = True
                if step[0] == "run":
                    busy = launch
                    if busy:
                        todo.insert(0, (place, ("enqueue", step[1], step[2])))
                    else:
                        queues[step[1]].append(("run", place, step[2]))
                elif step[0] == "enqueue":
                    queues[step[1]].append(("run", place, step[2]))
                elif step[0] == "record":
                    queues[step[1]].append(("record", events))
                    events += 1
                elif step[0] == "wait":
                    if step[2] < events:
                        queues[step[1]].append(("wait", step[2]))
                elif step[0] == "synchronize":
                    blocked = ("stream", step[1])
                else:
                    busy = step[1]
        if not todo and not busy and not any(queues) and blocked is None:
            return [ended[i] for i in sorted(ended)], now
        host_waits = bool(busy) or blocked is not None or bool(todo)
        now += 1
        busy = max(busy - 1, 0)
        for stream, queue in enumerate(queues):
            if left[stream]:
                left[stream] -= 1
                if not left[stream]:
                    ended[queue.pop(0)[1]] = now
        del host_waits


def placed(steps: list[tuple[Any, ...]], launch: int) -> tuple[list[int], int]:
    """The same by the schedule of the simulator."""
    schedule, ends, points = Schedule(), [], []
    lanes = [schedule.lane(f"stream {i}") for i in range(STREAMS)]
    for step in steps:
        if step[0] == "run":
            lane = lanes[step[1]]
            schedule.spend("run", "launch", launch)
            schedule.issue(lane)
            lane.end = schedule.earliest(lane) + step[2]
            ends.append(lane.end)
        elif step[0] == "record":
            points.append(schedule.point(lanes[step[1]]))
        elif step[0] == "wait":
            if step[2] < len(points):
                schedule.after(lanes[step[1]], points[step[2]])
        elif step[0] == "synchronize":
            schedule.wait("synchronize", schedule.point(lanes[step[1]]))
        else:
            schedule.spend("host", "work", step[1])
    return ends, schedule.now


@given(program(), st.integers(0, 3))
def test_streams_and_events_against_queues_played_tick_by_tick(steps: list[tuple[Any, ...]], launch: int) -> None:
    ends, now = placed(steps, launch)
    expected, last = naive(steps, launch)
    assert ends == expected
    assert max([now, *ends]) == last


def test_order_is_not_time() -> None:
    """Work that happens to be done is not known to be done."""
    schedule = Schedule()
    one, other = schedule.lane("one"), schedule.lane("other")
    schedule.issue(one)
    schedule.spend("sleep", "work", 1000)
    schedule.issue(other)
    assert not precedes(one.number, 1, other)
    schedule.wait("synchronize", schedule.point(one))
    schedule.issue(other)
    assert precedes(one.number, 1, other) and schedule.now == 1000


def test_what_one_stream_knows_is_handed_on() -> None:
    schedule = Schedule()
    a, b, c = (schedule.lane(name) for name in "abc")
    schedule.issue(a)
    schedule.after(b, schedule.point(a))
    schedule.issue(b)
    schedule.after(c, schedule.point(b))
    schedule.issue(c)
    assert precedes(a.number, 1, c)


def test_a_wait_takes_no_time_where_the_point_is_reached() -> None:
    schedule = Schedule()
    log: list[Any] = []
    schedule.logs.append(log)
    schedule.spend("work", "work", 10)
    schedule.wait("late", Point(7, {}, "stream"))
    assert schedule.now == 10 and [one.kind for one in log] == ["work"]


KERNELS = st.lists(
    st.tuples(st.integers(0, 30), st.integers(1, 10), st.sampled_from([0.2, 0.5, 0.7, 1.0])), max_size=15
)


@given(KERNELS)
def test_kernels_share_the_processors_and_never_more_than_there_are(kernels: list[tuple[int, int, float]]) -> None:
    room, found, now = Room(), [], 0
    for earliest, duration, share in kernels:
        now = max(now, earliest // 2)
        start = room.place(max(earliest, now), duration, share, now)
        assert start >= max(earliest, now)
        found.append((start, start + duration, share))
    for t in {start for start, _, _ in found}:
        assert sum(share for start, end, share in found if start <= t < end) <= 1.001


def test_large_kernels_take_turns_and_small_ones_do_not() -> None:
    room = Room()
    assert [room.place(0, 10, 1.0, 0) for _ in range(3)] == [0, 10, 20]
    room = Room()
    assert [room.place(0, 10, 0.4, 0) for _ in range(3)] == [0, 0, 10]
