"""The profiler: what ran, how often, inside what; its table, its file, its schedule."""

from __future__ import annotations

import gzip
import json
import re
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu import nn, optim
from tinygrad_edu.errors import ArgumentError
from tinygrad_edu.observe.counters import Counters
from tinygrad_edu.optim import optimizer as hooks
from tinygrad_edu.profiler import (
    ProfilerAction,
    ProfilerActivity,
    profile,
    record_function,
    schedule,
    supported_activities,
    tensorboard_trace_handler,
)
from tinygrad_edu.settings import modes
from tinygrad_edu.utils.checkpoint import checkpoint

F = nn.functional
NAMES = ("exp", "tanh", "mul", "sum", "relu")


def training(steps: int = 1) -> tuple[Any, Any]:
    tg.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    step, x, y = optim.SGD(model.parameters(), lr=0.1), tg.randn(6, 4), tg.tensor([0, 1, 0, 1, 0, 1])

    def run() -> None:
        for _ in range(steps):
            step.zero_grad()
            F.cross_entropy(model(x), y).backward()
            step.step()

    return model, run


@given(st.lists(st.sampled_from(NAMES), max_size=12), st.booleans())
def test_every_operation_is_there_as_often_as_it_ran(names: list[str], backward: bool) -> None:
    x = tg.rand(3, 3, requires_grad=True)
    calls = {"exp": lambda v: v.tanh().exp(), "tanh": lambda v: v.tanh(), "mul": lambda v: v.tanh() * 0.5,
             "sum": lambda v: v + v.sum(), "relu": lambda v: v.relu()}  # fmt: skip

    def run() -> None:
        value: Any = x
        for name in names:
            value = calls[name](value)
        if backward:
            value.sum().backward()
        x.grad = None

    with Counters() as counted:
        run()
    with profile() as seen:
        run()
    averages = {one.key: one for one in seen.key_averages()}
    assert sum(one.count for one in averages.values()) == counted.calls == len(seen.events())
    ran = Counter(event.name for event in seen.events())
    assert {name: one.count for name, one in averages.items()} == ran
    for name in NAMES:
        if backward:
            assert ran[f"{name} backward"] == ran[name]
    for event in seen.events():
        assert 0 <= event.start <= event.end and event.own >= 0
    assert abs(sum(one.self_cpu_time_total for one in averages.values())
               - sum(e.total for e in seen._events) / 1e3) < 1e-3  # fmt: skip


def test_ranges_modules_and_steps_lie_around_operations() -> None:
    _, run = training()
    with profile(with_modules=True, with_stack=True, record_shapes=True) as seen, record_function("epoch"):
        run()
    events = {event.name: event for event in seen.events()}
    epoch = events["epoch"]
    assert [event.name for event in seen._events] == ["epoch"]
    assert {event.module for event in epoch.inside if event.kind == "op"} >= {"Sequential.0", "Sequential.1"}
    assert "Optimizer.step#SGD.step" in events
    assert events["linear"].shapes[0] in ((6, 4), (6, 8))
    assert re.fullmatch(r"test_profiler\.py\(\d+\): run", events["linear"].where)
    assert epoch.total >= sum(event.total for event in epoch.inside) and epoch.own >= 0


def test_a_range_without_a_profile_and_as_a_decorator() -> None:
    @record_function("twice")
    def twice(x: Any) -> Any:
        """Its own."""
        return x * 2

    assert twice(tg.ones(1)).tolist() == [2.0] and twice.__doc__ == "Its own."
    with profile() as seen:
        twice(tg.ones(1))
        with pytest.raises(ZeroDivisionError), record_function("fails"):
            1 / 0  # noqa: B018
    assert [(event.name, [e.name for e in event.inside]) for event in seen._events] == [
        ("twice", ["mul"]), ("fails", [])
    ]  # fmt: skip
    assert all(event.end >= event.start > 0 for event in seen.events())


def test_memory_and_operations_on_numbers() -> None:
    x, w = tg.rand(100, 200), tg.rand(200, 300)
    with profile(profile_memory=True, with_flops=True) as seen:
        y = x @ w
        y = y + 1
    found = {one.key: one for one in seen.key_averages()}
    assert found["matmul"].flops == 2 * 100 * 200 * 300 and found["add"].flops == 100 * 300
    for one in found.values():
        assert abs(one.cpu_memory_usage - 120_000) < 4_000
    assert abs(seen.key_averages().total_average().self_cpu_memory_usage - 240_000) < 8_000


def test_what_is_computed_again_is_seen() -> None:
    x = tg.rand(3, requires_grad=True)
    with profile() as seen:
        checkpoint(lambda x: x.exp().tanh(), x).sum().backward()
    assert Counter(e.name for e in seen.events())["exp"] == 2


# The table ----------------------------------------------------------------------------------------------------------


def test_the_table() -> None:
    _, run = training(3)
    with profile(record_shapes=True, profile_memory=True, with_flops=True, with_stack=True) as seen:
        run()
    averages = seen.key_averages(group_by_input_shape=True, group_by_stack_n=5)
    text = averages.table(sort_by="self_cpu_time_total", row_limit=4, header="A step")
    lines = text.splitlines()
    assert lines[0] == "A step" and set(lines[1]) == {"-", " "}
    assert re.sub(r"\s{2,}", "|", lines[2].strip()) == (
        "Name|Self CPU %|Self CPU|CPU total %|CPU total|CPU time avg|CPU Mem|Self CPU Mem|# of Calls|Input Shapes|FLOPs"
        "|Source Location"
    )
    rows = lines[4:8]
    assert all("test_profiler.py(" in row for row in rows)
    shares = [float(re.search(r"([\d.]+)%", row)[1]) for row in rows]  # type: ignore[index]
    assert shares == sorted(shares, reverse=True)
    assert re.fullmatch(r"\d+ more rows are not shown: row_limit=4", lines[-2])
    assert re.fullmatch(r"Self CPU time total: [\d.]+(us|ms)", lines[-1])
    assert str(averages) == averages.table()
    linear = [one for one in averages if one.key == "linear"]
    assert {one.input_shapes[0] for one in linear} == {(6, 4), (6, 8)}
    assert all(one.count == 3 and one.cpu_time * 3 == pytest.approx(one.cpu_time_total) for one in linear)


@pytest.mark.parametrize("name", ["cpu_time", "cpu_time_total", "self_cpu_time_total", "count", "flops"])
def test_every_order(name: str) -> None:
    _, run = training()
    with profile(with_flops=True) as seen:
        run()
    averages = seen.key_averages()
    first = averages.table(sort_by=name).splitlines()[3].split()[0]
    assert averages and first == max(averages, key=lambda one: getattr(one, name)).key.split()[0]


def test_orders_and_arguments_that_do_not_exist() -> None:
    with profile() as seen:
        tg.ones(2) * 2
    mend = "did you mean cpu_time?"
    with teaches(ArgumentError, "table sorted by 'cpu_times'", "there is no such column", mend, "seen.key_averages"):
        seen.key_averages().table(sort_by="cpu_times")
    with teaches(
        ArgumentError, "profile with use_cuda=…", "there is no such recorder here", "leave it out", "profile("
    ):  # fmt: skip
        profile(use_cuda=True)
    with teaches(
        ArgumentError, "profile with these activities", "operations run on this machine's processor",
        "use [ProfilerActivity.CPU], or leave it out", "profile(",
    ):  # fmt: skip
        profile(activities=[ProfilerActivity.CUDA])
    assert supported_activities() == {ProfilerActivity.CPU}


# The file -----------------------------------------------------------------------------------------------------------


def test_the_file_follows_the_format(tmp_path: Path) -> None:
    _, run = training(2)
    with profile(with_stack=True, record_shapes=True, with_modules=True) as seen, record_function("all"):
        run()
    seen.add_metadata("model", "two layers")
    seen.export_chrome_trace(tmp_path / "trace.json")
    seen.export_chrome_trace(tmp_path / "trace.json.gz")
    page = json.loads((tmp_path / "trace.json").read_text(encoding="utf-8"))
    with gzip.open(tmp_path / "trace.json.gz", "rt", encoding="utf-8") as file:
        assert json.load(file) == page
    assert page["model"] == "two layers" and page["displayTimeUnit"] == "ms"
    assert_trace(page["traceEvents"])
    spans = [entry for entry in page["traceEvents"] if entry["ph"] == "X"]
    assert len(spans) == len(seen.events())
    starts = {entry["id"] for entry in page["traceEvents"] if entry["ph"] == "s"}
    ends = {entry["id"] for entry in page["traceEvents"] if entry["ph"] == "f"}
    assert starts == ends and len(ends) == sum(event.kind == "backward" for event in seen.events())


def assert_trace(entries: list[dict[str, Any]]) -> None:
    """The rules of the Trace Event Format that Perfetto's reader relies on."""
    stacks: dict[tuple[int, int], list[tuple[float, float]]] = {}
    for entry in entries:
        assert {"ph", "name", "pid", "tid"} <= set(entry)
        assert entry["ph"] in ("X", "M", "s", "f")
        if entry["ph"] != "M":
            assert isinstance(entry["ts"], float) and entry["ts"] >= 0 and isinstance(entry["cat"], str)
        if entry["ph"] == "f":
            assert entry["bp"] == "e"
        if entry["ph"] != "X":
            continue
        assert entry["dur"] >= 0
        stack = stacks.setdefault((entry["pid"], entry["tid"]), [])
        begin, end = entry["ts"], entry["ts"] + entry["dur"]
        while stack and stack[-1][1] <= begin + 1e-6:
            stack.pop()
        assert not stack or end <= stack[-1][1] + 1e-6  # spans of one thread lie inside each other, or apart
        stack.append((begin, end))


def test_the_folder_of_tensorboard(tmp_path: Path) -> None:
    plan = schedule(wait=0, warmup=0, active=1, repeat=2)
    handler = tensorboard_trace_handler(str(tmp_path / "log"), "me", use_gzip=True)
    with profile(schedule=plan, on_trace_ready=handler) as seen:
        for _ in range(3):
            tg.ones(2) * 2
            seen.step()
    files = sorted((tmp_path / "log").iterdir())
    assert len(files) == 2 and all(re.fullmatch(r"me\.\d+\.pt\.trace\.json\.gz", file.name) for file in files)


# Schedules ----------------------------------------------------------------------------------------------------------


@pytest.mark.peers
@given(*[st.integers(0, 3)] * 2, st.integers(1, 3), *[st.integers(0, 2)] * 3)
def test_the_schedule_is_pytorchs(wait: int, warmup: int, active: int, repeat: int, first: int, at_once: int) -> None:
    torch = pytest.importorskip("torch", reason="needs PyTorch: pip install -e '.[peers]'")
    given = {"wait": wait, "warmup": warmup, "active": active, "repeat": repeat, "skip_first": first,
             "skip_first_wait": at_once}  # fmt: skip
    if warmup == 0:
        given["warmup"] = 1  # PyTorch warns of none
    ours, theirs = schedule(**given), torch.profiler.schedule(**given)
    assert [ours(i).name for i in range(30)] == [theirs(i).name for i in range(30)]


def test_only_the_steps_of_the_schedule_are_recorded() -> None:
    rounds: list[list[str]] = []
    plan = schedule(wait=1, warmup=1, active=2, repeat=2)
    with profile(schedule=plan, on_trace_ready=lambda p: rounds.append([e.name for e in p._events])) as seen:
        for _ in range(10):
            tg.ones(2) * 2
            seen.step()
    assert rounds == [["ProfilerStep#2", "ProfilerStep#3"], ["ProfilerStep#6", "ProfilerStep#7"]]
    assert Counter(e.name for e in seen.events())["mul"] == 2
    assert plan(0) is ProfilerAction.NONE


@pytest.mark.parametrize(("name", "value"), [("active", 0), ("wait", -1), ("warmup", 1.5), ("repeat", True)])
def test_schedules_that_cannot_be(name: str, value: Any) -> None:
    given = {"wait": 1, "warmup": 1, "active": 1, name: value}
    least = int(name == "active")
    mend = f"use a whole number from {least} on"
    with teaches(ArgumentError, f"schedule with {name}={value!r}", "it counts steps", mend, "schedule("):
        schedule(**given)


# A good neighbour ---------------------------------------------------------------------------------------------------


def test_started_and_stopped() -> None:
    seen = profile()
    seen.start()
    tg.ones(2) * 2
    seen.stop()
    tg.ones(2) * 2
    assert [event.name for event in seen.events()] == ["mul"]
    assert repr(seen) == "profile of 1 events" and repr(profile()) == "profile: nothing was recorded yet"


def test_a_profile_used_twice_takes_device_times_both_times() -> None:
    x, seen = tg.ones(64, 64, device="sim"), profile()
    for _ in range(2):
        with seen:
            x @ x
    first, second = seen.events()
    assert (first.name, second.name) == ("matmul", "matmul")
    assert first.device == second.device > 0  # nanoseconds


def test_several_at_once_and_nothing_left_behind() -> None:
    with profile() as outer, Counters() as counted:
        tg.ones(2) * 2
        with profile(profile_memory=True) as inner:
            tg.ones(2) * 3
    assert (len(outer.events()), len(inner.events()), counted.calls) == (2, 1, 2)
    assert modes().plain and not hooks._before_every and not hooks._after_every
    with outer:
        why, mend = "everything inside would count twice", "use a second one: with profile() as inner:"
        with teaches(ArgumentError, "profile inside itself", why, mend, "outer.start"):
            outer.start()


def test_other_threads_are_not_recorded() -> None:
    _, run = training()
    with profile() as seen:
        thread = threading.Thread(target=run)
        thread.start()
        thread.join(60)
    assert seen.events() == []


@pytest.mark.peers
def test_names_and_arguments_are_pytorchs() -> None:
    import inspect

    theirs = pytest.importorskip("torch", reason="needs PyTorch: pip install -e '.[peers]'").profiler
    for name in ("profile", "schedule", "record_function", "tensorboard_trace_handler"):
        ours, other = (inspect.signature(getattr(m, name)).parameters for m in (tg.profiler, theirs))
        assert list(ours) == list(other)
        assert all(ours[n].kind is other[n].kind for n in ours)
    for action in ProfilerAction:
        assert theirs.ProfilerAction[action.name].value == action.value
    torch_table = inspect.signature(theirs.profile().key_averages).parameters
    assert set(inspect.signature(profile.key_averages).parameters) - {"self"} <= set(torch_table)
