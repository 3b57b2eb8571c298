"""Copies: who is busy, who waits, what may not be touched yet; several devices; memory that other streams use."""

from __future__ import annotations

import gc
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu import accelerator, backends, data, nn, optim
from tinygrad_edu.backends.sim.host import Landing
from tinygrad_edu.errors import ArgumentError, DeviceError, OutOfMemoryError, RaceError

SIM: Any = backends.get("sim")
MB = 1_000_000


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    tg.sim.use("T4")
    tg.sim.on_race("error")
    accelerator.allow_scalar(True)
    yield
    tg.sim.on_race("warn")
    tg.sim.synchronize()
    SIM.races.clear()
    tg.sim.on_race("error")
    accelerator.allow_scalar(True)
    gc.collect()
    tg.sim.use("T4", devices=1)


def host(seen: tg.sim.Timeline, kind: str) -> int:
    """How long the host does this."""
    return sum(work.duration for work in seen if work.lane == "host" and work.kind == kind)


def block() -> tg.Tensor:
    return tg.ones(MB)


# Who is busy, and who waits ------------------------------------------------------------------------------------------


def transfer(x: tg.Tensor, non_blocking: bool) -> tg.sim.Timeline:
    x.to("sim")  # the memory is reserved now
    with tg.sim.timeline() as seen:
        x.to("sim", non_blocking=non_blocking)
    return seen


def test_a_few_bytes_fit_into_the_queue_and_need_no_wait() -> None:
    """CUDA takes up to 64 KiB at once, whatever lies before it in the stream."""
    x = tg.ones(1000, 1000, device="sim")
    for count, waits in ((16_384, False), (16_385, True)):
        few = tg.ones(count)
        few.to("sim")
        with tg.sim.timeline() as seen:
            x @ x
            few.to("sim", non_blocking=True)
        assert any(work.kind == "wait" for work in seen) == waits
        copy = next(work for work in seen if work.lane == "sim to device")
        assert copy.start >= next(work for work in seen if work.lane == "sim stream 0").end, "in order all the same"
        with tg.sim.timeline() as seen:
            x @ x
            few.to("sim")
        assert any(work.kind == "wait" for work in seen), "without non_blocking the host waits, as in PyTorch"


def test_a_number_travels_with_a_command_but_a_copy_that_is_asked_for_is_one() -> None:
    x, number = tg.ones(30, device="sim"), tg.tensor(3.0)
    x * number, number.to("sim")
    with tg.sim.timeline() as seen:
        x * number + 2.0
    assert {work.kind for work in seen} == {"launch", "kernel"}
    with tg.sim.timeline() as seen:
        number.to("sim")
    assert [work.lane for work in seen if work.kind == "copy"] == ["sim to device", "host"]


def test_nonzero_works_on_the_device_and_only_its_count_is_waited_for() -> None:
    x = tg.tensor([[0.0, 2.0], [3.0, 0.0]], device="sim")
    with tg.sim.timeline() as seen:
        found = x.nonzero()
    assert [(work.kind, work.name) for work in seen] == [
        ("launch", "nonzero"),
        ("kernel", "nonzero"),
        ("wait", "nonzero"),
    ]
    assert found.device == "sim" and found.tolist() == [[0, 1], [1, 0]]
    rows, columns = x.nonzero(as_tuple=True)
    assert (rows.tolist(), columns.tolist()) == ([0, 1], [1, 0])
    assert tg.tensor(2.0, device="sim").nonzero(as_tuple=True)[0].tolist() == [0]


def test_from_pageable_memory_the_host_hands_the_bytes_over_whatever_is_asked_for() -> None:
    waits, goes_on = transfer(block(), False), transfer(block(), True)
    assert host(waits, "copy") == host(goes_on, "copy") == 8_000 + 4 * MB * 1_000_000_000 // 5_000_000_000
    assert [work.kind for work in goes_on if work.lane == "host"] == ["copy"]


def test_from_pinned_memory_the_copy_is_faster_and_the_host_may_go_on() -> None:
    pinned = block().pin_memory()
    waits, goes_on = transfer(pinned, False), transfer(pinned, True)
    duration = 8_000 + round(4 * MB / 12e9 * 1e9)
    assert host(waits, "wait") == duration and host(waits, "copy") == 0
    assert host(goes_on, "launch") == 5_000 and host(goes_on, "wait") == 0
    (copy,) = [work for work in goes_on if work.lane == "sim to device"]
    assert (copy.duration, copy.read) == (duration, 4 * MB)


def test_to_pin_takes_time_once_and_the_copy_there_each_time() -> None:
    first = tg.ones(5 * MB)  # no other test pins as much
    with tg.sim.timeline() as seen:
        pinned = first.pin_memory()
    pages = 32 * 1024 * 1024 // 4096  # sizes are rounded to powers of two
    assert [(work.name, work.duration) for work in seen] == [
        ("pin memory", 1300 * pages), ("copy to pinned memory", 2_000_000),
    ]  # fmt: skip
    assert pinned.is_pinned() and pinned[10:].is_pinned() and not first.is_pinned()
    assert pinned.pin_memory() is pinned
    del pinned
    with tg.sim.timeline() as seen:
        again = first.pin_memory()
    assert [work.name for work in seen] == ["copy to pinned memory"] and again.is_pinned()


def test_pinned_memory_is_used_again_only_when_no_copy_reads_it_any_more() -> None:
    """As in PyTorch, whose host allocator keeps an event for each stream that used a block."""
    x = block()
    tg.sim.restart()

    def pins(wait: bool) -> list[str]:
        with tg.sim.timeline() as seen:
            x.pin_memory().to("sim", non_blocking=True)  # the pinned tensor is gone at once
            if wait:
                tg.sim.synchronize()
            x.pin_memory()
        return [work.name for work in seen if work.name == "pin memory"]

    assert pins(wait=False) == ["pin memory"] * 2, "the first is still being read"
    tg.sim.synchronize()
    assert pins(wait=True) == [], "both are there, and free"
    tg.sim.restart()
    assert pins(wait=True) == ["pin memory"], "in a new program one is pinned, and used twice"


def test_where_a_race_has_its_effect_a_copy_finds_what_was_written_too_early() -> None:
    before, source = tg.sim.on_race("stale"), tg.ones(4).pin_memory()
    try:
        there = source.to("sim", non_blocking=True)
        first = there + 0.0
        source.fill_(7.0)
        late, again = there + 0.0, there + 0.0
        assert [x.cpu().tolist()[0] for x in (first, late, again)] == [1.0, 7.0, 7.0]
        told = tg.sim.races()[-1]
        assert "the host wrote to pinned memory (4,)" in told
    finally:
        tg.sim.finish()
        tg.sim.on_race(before)


def test_only_the_host_s_memory_is_pinned() -> None:
    why, mend = "only the host's memory can be pinned, and this is on 'sim'", "pin it before it goes to the device"
    with teaches(DeviceError, "pin_memory()", why, mend):
        tg.ones(3, device="sim").pin_memory()
    assert not tg.ones(3, device="sim").is_pinned()


def test_copies_in_one_direction_take_turns_and_overlap_with_other_work() -> None:
    pinned, side = block().pin_memory(), SIM.stream()
    x = tg.ones(1500, 1500, device="sim")
    x @ x
    undo = SIM.use_stream(side)
    pinned.to("sim")
    undo()
    with tg.sim.timeline() as seen:
        x @ x
        undo = SIM.use_stream(side)
        one, two = pinned.to("sim", non_blocking=True), pinned.to("sim", non_blocking=True)
        undo()
    kernel = next(work for work in seen if work.kind == "kernel")
    first, second = [work for work in seen if work.lane == "sim to device"]
    assert first.start < kernel.end and first.end <= second.start
    tg.sim.synchronize()
    assert one.sum().item() == two.sum().item() == MB


def test_copy_takes_from_another_device() -> None:
    x, y = tg.zeros(4, device="sim"), tg.arange(4.0)
    x.copy_(y, non_blocking=True)
    assert x.tolist() == [0, 1, 2, 3]
    y.copy_(x * 2)
    assert y.tolist() == [0, 2, 4, 6]


def test_gradients_travel_back() -> None:
    w = tg.ones(3, requires_grad=True)
    (w.to("sim", non_blocking=True) * tg.tensor([1.0, 2.0, 3.0], device="sim")).sum().backward()
    assert w.grad is not None and w.grad.device == "cpu" and w.grad.tolist() == [1, 2, 3]


# What may not be touched yet -----------------------------------------------------------------------------------------


READS = {
    "item": lambda h: h[0].item(), "tolist": lambda h: h.tolist(), "sum": lambda h: h.sum(), "print": str,
    "arithmetic": lambda h: h + 1, "numpy": lambda h: h.numpy().max(), "view": lambda h: h[1:].mean(),
    "copy": lambda h: h.clone(), "float": lambda h: float(h[0]), "in place": lambda h: h.add_(1),
    "matmul": lambda h: h @ h, "back": lambda h: h.to("sim"), "max": lambda h: h.max(), "sort": lambda h: h.sort(),
    "write": lambda h: h.fill_(1.0), "compare": lambda h: bool((h > 0).all()),
    "by NumPy": lambda h: np.array_equal(h.numpy(), h.numpy()),
}  # fmt: skip


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_what_is_on_its_way_to_the_host_cannot_be_looked_at_before_it_is_there(read: Any) -> None:
    x = tg.arange(1000.0, device="sim")
    h = x.to("cpu", non_blocking=True)
    assert h.device == "cpu" and h.is_pinned() and h.shape == (1000,) and h[1:].T.shape == (999,)
    with pytest.raises(RaceError, match=r"the host reads a tensor .* that is on its way from 'sim'") as caught:
        read(h)
    assert 'h = x.to("cpu", non_blocking=True)' in caught.value.why
    assert caught.value.mend.startswith("before it reads, let it wait: synchronize()")
    tg.sim.synchronize()
    assert np.array_equal(h.numpy(), np.arange(1000.0, dtype=np.float32))
    read(h)


def test_an_event_is_enough() -> None:
    x, event = tg.ones(10, device="sim"), accelerator.Event()
    h = x.to("cpu", non_blocking=True)
    event.record()
    x.add_(1)  # later work does not change what was copied
    event.synchronize()
    assert h.sum().item() == 10


def test_an_event_before_the_copy_is_not() -> None:
    x, event = tg.ones(10, device="sim"), accelerator.Event()
    event.record()
    h = x.to("cpu", non_blocking=True)
    event.synchronize()
    with pytest.raises(RaceError):
        h.sum()


def test_stale_shows_what_was_there_before() -> None:
    tg.sim.on_race("stale")
    h = tg.ones(10, device="sim").to("cpu", non_blocking=True)
    assert h.sum().item() == 0 and h.tolist() == [0.0] * 10, "whoever does not wait sees that"
    assert any("the host reads" in race for race in tg.sim.races())
    tg.sim.synchronize()
    assert h.sum().item() == 10


def test_warn_notes_it_and_goes_on_with_the_right_values() -> None:
    tg.sim.on_race("warn")
    h = tg.ones(10, device="sim").to("cpu", non_blocking=True)
    assert h.sum().item() == 10 and (h + 1).sum().item() == 20
    told = tg.sim.races()[-1]
    assert "the host reads a tensor (10,) float32 that is on its way from 'sim'" in told


def test_the_host_must_not_write_where_a_copy_still_reads() -> None:
    pinned = tg.ones(10).pin_memory()
    pinned.to("sim", non_blocking=True)
    pinned.fill_(2.0)
    with pytest.raises(RaceError, match=r"the host wrote to pinned memory \(10,\) float32") as caught:
        tg.sim.synchronize()
    assert 'pinned.to("sim", non_blocking=True)' in caught.value.why
    pinned.to("sim", non_blocking=True)
    tg.sim.synchronize()
    pinned.fill_(3.0)  # it has waited
    tg.sim.synchronize()


def test_copies_that_nobody_waits_for_are_forgotten_with_their_memory() -> None:
    for _ in range(500):
        tg.ones(10).pin_memory().to("sim", non_blocking=True)
    assert len(SIM.schedule.flights) < 200


def test_a_landing_array_is_an_array_of_the_cpu() -> None:
    h = tg.ones(4, 4, device="sim").to("cpu", non_blocking=True)
    assert type(h.array) is Landing and backends.of(h.array) is backends.CPU
    tg.sim.synchronize()
    w = tg.ones(4, 4, requires_grad=True)
    ((h @ w) * h).sum().backward()
    assert w.grad is not None and w.grad.tolist() == [[4.0] * 4] * 4


READERS: dict[str, Callable[[tg.Tensor], Any]] = {
    "written elsewhere": lambda y: tg.zeros(4, 4).__setitem__(slice(None), y),
    "copied elsewhere": lambda y: tg.zeros(4, 4).copy_(y),
    "written at places": lambda y: tg.zeros(4, 4).index_put_((tg.tensor([0]),), y[0]),
    "scattered": lambda y: tg.zeros(4, 4).scatter_(0, tg.zeros(4, 4, dtype="int64"), y),
    "padded": lambda y: tg.nn.functional.pad(y, (1, 1)),
    "made contiguous": lambda y: y.T.contiguous(),
    "reshaped": lambda y: y.T.reshape(16),
    "expanded and reshaped": lambda y: y[None].expand(2, 4, 4).reshape(32),
    "convolved": lambda y: tg.nn.functional.conv2d(y[None, None], tg.ones(1, 1, 2, 2)),
    "cast": lambda y: y.T.to("float64"),
    "added": lambda y: tg.zeros(4, 4).add_(y),
    "stacked": lambda y: tg.stack([y, y]),
}


@pytest.mark.parametrize("reader", READERS)
def test_whatever_reads_a_copy_too_early_is_refused(reader: str) -> None:
    y = (tg.ones(4, 4, device="sim") * 3.0).to("cpu", non_blocking=True)
    views = y.view(16), y.T, y[1:]  # to look at memory is no reading
    with pytest.raises(RaceError, match="on its way"):
        READERS[reader](y)
    del views
    tg.sim.synchronize()
    READERS[reader](y)
    assert y.sum().item() == 48


@pytest.mark.parametrize("pinned", [False, True])
def test_what_is_copied_into_memory_of_the_host_is_there(pinned: bool) -> None:
    host = tg.zeros(4, 4).pin_memory() if pinned else tg.zeros(4, 4)
    x = tg.ones(4, 4, device="sim") * 3.0
    host.copy_(x, non_blocking=True)
    assert host.sum().item() == 48  # the host has waited


def test_stale_memory_that_is_new_does_not_hold_what_comes() -> None:
    tg.sim.on_race("stale")
    fixed, side = tg.ones(512, 512).pin_memory(), SIM.stream()
    undo = SIM.use_stream(side)
    x = fixed.to("sim", non_blocking=True)
    undo()
    assert (x + 1.0).sum().item() == 512 * 512, "it is not there yet"
    tg.sim.finish()
    assert (x + 1.0).sum().item() == 2 * 512 * 512


# Memory --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("recorded", [False, True])
def test_memory_that_another_stream_uses(recorded: bool) -> None:
    """Without `record_stream` it serves others at once, and meets the other stream's work."""
    side = SIM.stream()
    x = tg.ones(MB, device="sim")
    side.wait_stream(SIM.current_stream())
    undo = SIM.use_stream(side)
    y = x * 2
    undo()
    if recorded:
        x.record_stream(side)
    place = x.array.block
    del x
    if recorded:
        z = tg.zeros(MB, device="sim")
        assert z.array.block is not place
        tg.sim.synchronize()
        again = tg.zeros(MB, device="sim")
        assert again.array.block is place, "once that stream is done, the memory is free"
    else:
        with pytest.raises(RaceError, match="its memory was that of a tensor that is gone") as caught:
            tg.zeros(MB, device="sim")
        assert "record_stream" in caught.value.mend and "x * 2" in caught.value.why
    tg.sim.synchronize()
    assert y.sum().item() == 2 * MB


def test_work_comes_after_what_the_host_has_learnt_while_it_looked_for_memory() -> None:
    """A block that another stream was done with is given to a kernel, and the host knew that before the launch."""
    side, other = SIM.stream(), tg.ones(MB, device="sim")
    x = other * 2
    side.wait_stream(SIM.current_stream())
    undo = SIM.use_stream(side)
    y = x.sum()
    undo()
    x.record_stream(side)
    place = x.array.block
    del x
    tg.sim.host_work(5)
    z = other * 3
    assert z.array.block is place and y.item() == 2 * MB


def leave(room: int) -> None:
    """Let the test use so many bytes, besides what others still hold."""
    gc.collect()
    accelerator.empty_cache()
    accelerator.set_per_process_memory_fraction((accelerator.memory_reserved("sim") + room) / 16e9)


def test_what_was_recorded_is_waited_for_before_memory_runs_out() -> None:
    leave(22 << 20)
    side = SIM.stream()
    x = tg.ones(3 * MB, device="sim")
    side.wait_stream(SIM.current_stream())
    undo = SIM.use_stream(side)
    x.sum()
    undo()
    x.record_stream(side)
    del x
    assert tg.ones(4 * MB, device="sim").shape == (4 * MB,)


def test_out_of_memory_says_who_holds_most() -> None:
    leave(32 << 20)
    x = tg.ones(MB, device="sim")
    kept = []
    with pytest.raises(OutOfMemoryError) as caught:
        for i in range(20):
            kept.append(x * i)
    told = re.search(r"Most is held by ([\d.]+) MB of mul, (\d+) tensors \((.*?)\); ", caught.value.why)
    assert told is not None and int(told[2]) == len(kept) and "kept.append(x * i)" in told[3]
    summary = accelerator.memory_summary()
    assert f"MB of mul, {len(kept)} tensors" in summary and "of ones, 1 tensor" in summary
    kept.clear()
    assert (x * 2).sum().item() == 2 * MB


# Several devices -----------------------------------------------------------------------------------------------------


def test_several_devices() -> None:
    tg.sim.use(devices=2)
    assert accelerator.device_count() == 2 and tg.ones(2, device="sim:0").device == "sim"
    x = tg.ones(MB, device="sim:1")
    assert (x.device, x.device.type, x.device.index) == ("sim:1", "sim", 1)
    with pytest.raises(DeviceError):
        x + tg.ones(MB, device="sim")
    with tg.sim.timeline() as seen:
        y = x.to("sim") * 2
    copy = next(work for work in seen if work.kind == "copy")
    assert (copy.lane, copy.read) == ("sim:1 to sim", 4 * MB)
    assert copy.duration == 8_000 + round(4 * MB / 12e9 * 1e9)
    kernel = next(work for work in seen if work.kind == "kernel")
    assert kernel.start >= copy.end, "the stream waits for the copy"
    x.add_(1)
    assert y.sum().item() == 2 * MB and x.sum().item() == 2 * MB
    with pytest.raises(DeviceError, match="there is no such device here"):
        tg.ones(2, device="sim:9")
    with pytest.raises(ArgumentError, match="it is how many there are"):
        tg.sim.use(devices=0)
    with pytest.raises(ArgumentError, match=r"'sim:1' holds tensors"):
        tg.sim.use(devices=1)
    del x
    tg.sim.use(devices=1)
    assert accelerator.device_count() == 1 and backends.names().count("sim") == 1
    with pytest.raises(DeviceError, match="there is no such device here"):
        tg.ones(2, device="sim:1")


# Reading single numbers ----------------------------------------------------------------------------------------------


def test_reading_single_numbers_can_be_counted_warned_of_and_forbidden() -> None:
    x = tg.ones(3, device="sim")
    before = accelerator.scalar_reads()
    x.tolist()
    assert x[0].item() == float(x[1]) == 1.0 and accelerator.scalar_reads() == before + 2
    assert accelerator.allow_scalar("warn") is True
    with pytest.warns(UserWarning, match="a single number is read from 'sim': the host waits") as caught:
        x[0].item()
    assert caught[0].filename == __file__
    assert accelerator.allow_scalar(False) == "warn"
    with pytest.raises(DeviceError, match=r"allow_scalar\(False\) forbids it"):
        bool(x[0] > 0)
    assert x.tolist() == [1, 1, 1]
    for wrong in ("no", None, 1, 0.0):
        with pytest.raises(ArgumentError, match='it is True, False or "warn"'):
            accelerator.allow_scalar(wrong)  # type: ignore[arg-type]


def test_new_tensors_can_be_made_on_a_device() -> None:
    with tg.default_device("sim"):
        assert tg.ones(2).device == tg.randn(2).device == nn.Linear(2, 2).weight.device == "sim"

    @tg.default_device("sim")
    def made() -> tg.Tensor:
        return tg.zeros(2)

    assert made().device == "sim" and tg.ones(2).device == "cpu"


# Loaders and optimisers ----------------------------------------------------------------------------------------------


def test_a_loader_pins_its_batches() -> None:
    pairs = data.TensorDataset(tg.arange(10.0), tg.arange(10))
    for x, y in data.DataLoader(pairs, batch_size=5, pin_memory=True):
        assert x.is_pinned() and y.is_pinned()
    named = [{"x": tg.ones(2), "names": ["a"]}]
    (batch,) = data.DataLoader(named, batch_size=None, pin_memory=True)  # type: ignore[arg-type]
    assert batch["x"].is_pinned() and batch["names"] == ["a"]


@pytest.mark.parametrize("make", [optim.SGD, optim.Adam, optim.AdamW, optim.RMSprop, optim.Adagrad, optim.Rprop])
def test_foreach_and_fused_save_launches_and_change_no_number(make: Any) -> None:
    launches, found = {}, {}
    fused = make in (optim.SGD, optim.Adam, optim.AdamW, optim.Adagrad)
    ways: dict[str, Any] = {"single": {"foreach": False}, "foreach": {}, "fused": {"fused": True}}
    for way, options in list(ways.items())[: 2 + fused]:
        tg.manual_seed(0)
        model = nn.Sequential(nn.Linear(5, 4), nn.Tanh(), nn.Linear(4, 3)).to("sim")
        optimizer = make(model.parameters(), lr=0.1, **options)
        for _ in range(3):
            optimizer.zero_grad()
            model(tg.ones(2, 5, device="sim")).square().sum().backward()
            before = tg.sim.counts()["launches"]
            optimizer.step()
        launches[way] = tg.sim.counts()["launches"] - before
        found[way] = [p.tolist() for p in model.parameters()]
    assert launches["single"] == 4 * launches["foreach"] and all(one == found["single"] for one in found.values())
    assert not fused or launches["fused"] == 1


def test_an_optimiser_whose_parameters_have_moved_says_so_once() -> None:
    model = nn.Linear(3, 2)
    optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    model(tg.ones(1, 3)).sum().backward()
    optimizer.step()
    model.to("sim")
    model(tg.ones(1, 3, device="sim")).sum().backward()
    words = r"SGD: its parameters were on 'cpu' when it was made, and are on 'sim' now\. Move the model first"
    with pytest.warns(UserWarning, match=words) as caught:
        optimizer.step()
    assert len(caught) == 1
    optimizer.step()
    assert optimizer.state[model.weight]["momentum_buffer"].device == "sim"
