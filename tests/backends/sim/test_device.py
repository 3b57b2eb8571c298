"""The simulated device as a program meets it: what waits, what is copied, what it costs, and when it is full."""

from __future__ import annotations

import gc
import itertools
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.support import run_python, teaches
from tinygrad_edu import backends, nn
from tinygrad_edu.backends.sim.kernels import BODY, Load, Product, time_of
from tinygrad_edu.backends.sim.presets import PRESETS, Machine
from tinygrad_edu.errors import ArgumentError, DeviceError, OutOfMemoryError

SIM: Any = backends.get("sim")
GOLDEN = Path(__file__).with_name("golden_timeline.txt")


@pytest.fixture(autouse=True)
def t4() -> Iterator[None]:
    tg.sim.use("T4")
    yield
    tg.sim.use("T4")


def kinds(seen: tg.sim.Timeline) -> list[tuple[str, str]]:
    return [(work.kind, work.name) for work in seen]


# Time ----------------------------------------------------------------------------------------------------------------


def test_the_host_goes_on_and_reading_waits() -> None:
    x = tg.ones(2000, 2000, device="sim")
    x @ x  # its memory is reserved now
    with tg.sim.timeline() as seen:
        y = x @ x
        asked = tg.sim.now()
        y[0, 0].item()
    launch, kernel, wait, copy, _ = seen
    assert [work.kind for work in seen] == ["launch", "kernel", "wait", "copy", "copy"]
    assert (launch.lane, launch.duration) == ("host", 5000)
    assert kernel.start == launch.end and kernel.duration > 1_000_000
    assert wait.waited_for == "sim stream 0" and wait.end == kernel.end
    assert copy.read == 4 and "y[0, 0].item()" in tg.errors.describe_line(wait.line)
    assert tg.sim.now() - asked >= kernel.duration


WAITING = {
    "item": lambda x: x.sum().item(), "tolist": lambda x: x.tolist(), "print": str,
    "bool": lambda x: bool(x.sum() > 0), "to the host": lambda x: x.cpu(), "nonzero": lambda x: x.nonzero(),
    "a mask": lambda x: x[x > 0], "unique": lambda x: x.unique(), "masked_select": lambda x: x.masked_select(x > 0),
}  # fmt: skip


@pytest.mark.parametrize("call", WAITING.values(), ids=WAITING)
def test_what_needs_values_waits(call: Any) -> None:
    x = tg.ones(300, 300, device="sim")
    x @ x
    with tg.sim.timeline() as seen:
        call(x @ x)
    assert any(work.kind == "wait" for work in seen)


FREE = {
    "arithmetic": lambda x: x * 2 + x, "a view": lambda x: x.T[1:],
    "loss": lambda x: nn.functional.cross_entropy(x, LABELS),
    "gather": lambda x: x.gather(1, LABELS[:, None]), "write": lambda x: x[0].fill_(3.0),
    "masked_fill": lambda x: x.masked_fill(x > 0, 0.0), "index": lambda x: x[LABELS],
}  # fmt: skip
LABELS = tg.arange(30, device="sim")


@pytest.mark.parametrize("call", FREE.values(), ids=FREE)
def test_what_needs_none_does_not(call: Any) -> None:
    """Labels and positions are checked on the device."""
    x = tg.rand(30, 30, device="sim")
    call(x.clone())
    with tg.sim.timeline() as seen:
        call(x.clone())
    assert not [work for work in seen if work.kind in ("wait", "copy")]


def test_an_index_out_of_range_is_refused_without_a_wait() -> None:
    with pytest.raises(tg.errors.IndexRangeError):
        tg.ones(3, device="sim")[tg.tensor([5], device="sim")]


def test_views_launch_nothing_and_copies_do() -> None:
    x = tg.ones(4, 6, device="sim")
    with tg.sim.timeline() as seen:
        x.T, x[1:], x.reshape(-1), x.expand(2, 4, 6), x.contiguous(), x.detach()
    assert not seen
    with tg.sim.timeline() as seen:
        x.T.contiguous()
    assert [work.kind for work in seen] == ["launch", "kernel"]


def test_in_place_is_one_kernel_and_takes_no_memory() -> None:
    x = tg.ones(4, 6, device="sim")
    before = SIM.memory().allocated
    with tg.sim.timeline() as seen:
        x.add_(1).mul_(x)
        x += 2
    assert kinds(seen).count(("kernel", "add")) == 2 and len(seen) == 6
    assert SIM.memory().allocated == before


def test_host_work_is_the_program_s_to_say() -> None:
    with tg.sim.timeline() as seen:
        tg.sim.host_work(1.5, "decode")
    assert [(w.lane, w.kind, w.name, w.start, w.end) for w in seen] == [("host", "work", "decode", 0, 1_500_000)]
    for wrong in (-1, float("nan"), "1", True):
        with pytest.raises(ArgumentError):
            tg.sim.host_work(wrong)  # type: ignore[arg-type]


def test_streams_and_events_cost_the_host_time() -> None:
    """Four pieces for one wait in a stream of its own: as measured, a fifth of a launch each or so."""
    side, main = tg.accelerator.Stream(), tg.accelerator.current_stream()
    with tg.sim.timeline() as seen:
        side.wait_stream(main)
        with tg.accelerator.stream(side):
            pass
    assert [(work.kind, work.name) for work in seen] == [
        ("order", "record an event"), ("order", "let a stream wait"), ("order", "enter a stream"),
        ("order", "leave a stream"),
    ]  # fmt: skip
    assert {work.duration for work in seen} == {1500} and seen.end == 6000
    tg.sim.use(order=0)
    with tg.sim.timeline() as free:
        side.wait_stream(main)
    assert list(free) == []


def test_events_tell_the_time_between_them() -> None:
    stream = SIM.current_stream()
    x = tg.ones(1000, 1000, device="sim")
    tg.sim.synchronize()
    first = stream.record_event()
    with tg.sim.timeline() as seen:
        x @ x
    last = stream.record_event()
    assert not first.query() or last.query() in (True, False)
    last.synchronize()
    kernel = next(work for work in seen if work.kind == "kernel")
    assert first.elapsed_time(last) * 1e6 >= kernel.duration


# What a kernel costs -------------------------------------------------------------------------------------------------


def test_a_roofline() -> None:
    machine = Machine("T4", floor=0)
    copied = Load(0, 10**8, 10**8)
    assert time_of(machine, copied, False)[0] == round(2e8 / 320e9 * 1e9)
    square = Product(1, 4096, 4096, 4096, "float32")
    busy = time_of(machine, Load(square.flops, 1, 1, (square,)), False)[0]
    assert busy == pytest.approx(square.flops / 8.1e12 * 1e9, rel=0.02)  # whole rounds of tiles
    half = Product(1, 4096, 4096, 4096, "float16")
    assert busy / time_of(machine, Load(half.flops, 1, 1, (half,)), False)[0] == pytest.approx(65 / 8.1, rel=1e-3)
    assert time_of(Machine("T4"), Load(1, 4, 4), False)[0] == 2500  # no kernel is shorter


@pytest.mark.parametrize(("preset", "dtype", "times"), [("T4", "float16", 65 / 8.1), ("A100", "bfloat16", 312 / 19.5)])
def test_products_of_sixteen_bits_run_on_tensor_cores(preset: str, dtype: str, times: float) -> None:
    """Forward and backward, of `@`, a layer and a convolution; in 16 bits from the start, and by autocast."""
    before = tg.sim.machine()
    tg.sim.use(preset)
    try:
        n = 2048
        x, w = (tg.ones(n, n, device="sim", requires_grad=True) for _ in range(2))
        images = tg.ones(64, 64, 32, 32, device="sim", requires_grad=True)
        kernels = tg.ones(256, 64, 3, 3, device="sim", requires_grad=True)

        def kernel_times(kind: str) -> dict[str, int]:
            def given(one: tg.Tensor) -> tg.Tensor:
                return one.detach().to(dtype if kind == "all" else "float32").requires_grad_()

            a, b, c, k = map(given, (x, w, images, kernels))
            with tg.sim.timeline() as seen, tg.autocast("sim", dtype=dtype, enabled=kind == "autocast"):
                (a @ b).mean().backward()
                tg.nn.functional.linear(a, b).mean().backward()
                tg.nn.functional.conv2d(c, k).mean().backward()
            products = ("matmul", "linear", "conv2d")
            return {
                name: sum(work.duration for work in seen if work.name == name)
                for one in products
                for name in (one, f"{one} backward")
            }

        wide, narrow, cast = (kernel_times(kind) for kind in ("wide", "all", "autocast"))
        for name, took in wide.items():
            assert took > 0 and took / narrow[name] > 0.4 * times, name
            assert cast[name] == narrow[name], name
    finally:
        tg.sim.use(before)


def test_small_products_leave_processors_idle() -> None:
    """A tile costs all of it, and a machine of forty processors needs forty tiles."""
    machine = Machine("T4", floor=0)

    def rate(n: int) -> float:
        one = Product(1, n, n, n, "float32")
        return one.flops / time_of(machine, Load(one.flops, 1, 1, (one,)), False)[0]

    assert rate(64) < rate(256) < rate(1024) < rate(4096)
    assert rate(64 * 8) > 1.5 * rate(64 * 8 + 1) * 0.6


def test_a_product_with_a_vector_is_bound_by_its_bytes() -> None:
    """No tile is filled with rows that are not there: the matrix is read once, and that takes longest."""
    machine = Machine("T4", floor=0)
    for dtype, size in (("float32", 4), ("float64", 8)):
        for one in (Product(1, 1, 1024, 1024, dtype), Product(1, 1024, 1, 1024, dtype)):
            took, _ = time_of(machine, Load(one.flops, size * one.elements, size * 1024, (one,)), False)
            moved = size * (one.elements + 1024) / machine.table["bandwidth"].value * 1e9
            assert moved <= took < 1.2 * moved


@pytest.mark.parametrize("name", PRESETS)
def test_every_constant_has_a_source(name: str) -> None:
    machine = Machine(name)
    assert set(machine.table) == set(Machine("T4").table)
    for constant in machine.table.values():
        assert constant.value > 0 and constant.unit
        assert constant.source.startswith(("data sheet: ", "recorded on ", "assumed"))
    assert all(f"- {key}: " in tg.sim.explain() for key in machine.table)


def test_the_cost_of_backward_is_that_of_its_products() -> None:
    x = tg.ones(64, 256, device="sim", requires_grad=True)
    layer = nn.Linear(256, 128).to("sim")
    with tg.sim.timeline() as seen:
        layer(x).backward(tg.ones(64, 128, device="sim"))
    flops = [work.flops for work in seen if work.name in ("linear", "linear backward") and work.kind == "kernel"]
    product = 2 * 64 * 256 * 128
    assert flops == [product + 64 * 128, product, product, 64 * 128]  # of the result; of input, weight and bias


def test_every_product_of_a_backward_is_paid_for() -> None:
    """Attention has more products than gradients."""
    q, k, v = (tg.rand(1, 2, 32, 16, device="sim", requires_grad=True) for _ in range(3))
    out = nn.functional.scaled_dot_product_attention(q, k, v)
    with tg.sim.timeline() as seen:
        out.backward(tg.ones(1, 2, 32, 16, device="sim"))
    assert sum(work.flops for work in seen) >= 4 * 2 * (2 * 32 * 32 * 16)


def test_an_operation_that_fails_leaves_no_products_behind() -> None:
    x = tg.ones(64, 64, device="sim")
    with pytest.raises(tg.errors.EduError):
        SIM.compute("fails", fails, (x.array,))
    with tg.sim.timeline() as seen:
        x + 1
    assert [work.flops for work in seen if work.kind == "kernel"] == [64 * 64]


def fails(values: Any) -> Any:
    BODY.matmul(values, values)
    raise tg.errors.ShapeError("fails", "it is meant to", "do not call it")


# A whole program -----------------------------------------------------------------------------------------------------


def train(device: str) -> list[float]:
    """Two steps of a small network."""
    tg.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)).to(device)
    optimizer = tg.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    losses = []
    for step in range(2):
        x, labels = tg.rand(32, 8).to(device), (tg.arange(32) % 4).to(device)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        tg.sim.host_work(step)
    return losses


def told(seen: tg.sim.Timeline) -> str:
    return "".join(f"{w.start} {w.end} {w.lane}: {w.kind} {w.name} {w.read} {w.written} {w.flops}\n" for w in seen)


def recorded() -> str:
    SIM.empty_cache()
    with tg.sim.timeline() as seen:
        train("sim")
    return told(seen)


def test_the_timeline_of_a_training_program_is_the_golden_one() -> None:
    """To record it anew, after a change that was meant: delete the file, and run this test."""
    found = recorded()
    if not GOLDEN.exists():
        GOLDEN.write_text(found)
    assert found == GOLDEN.read_text()


def test_the_same_program_gives_the_same_timeline_again_in_another_thread_and_process() -> None:
    found = [recorded(), recorded()]
    thread = threading.Thread(target=lambda: found.append(recorded()))
    thread.start()
    thread.join()
    assert len(set(found)) == 1 and len(found) == 3
    code = "from tests.backends.sim import test_device as t; assert t.recorded() == t.GOLDEN.read_text()"
    done = run_python(code)
    assert done.returncode == 0, done.stderr


def test_losses_are_those_of_the_cpu() -> None:
    assert train("sim") == pytest.approx(train("cpu"), rel=1e-6)


# Memory --------------------------------------------------------------------------------------------------------------


def test_nothing_mixes_with_the_host() -> None:
    with teaches(
        DeviceError,
        "add((2,) float32, (2,) float32) on cpu and sim",
        "the operands live on different devices, and nothing is moved behind your back",
        "move one of them first: x.to('sim')",
    ):
        tg.ones(2) + tg.ones(2, device="sim")


def test_memory_is_given_back_and_kept_in_reserve() -> None:
    SIM.empty_cache()
    before = SIM.memory()
    x = tg.ones(1 << 20, device="sim")
    assert SIM.memory().allocated == before.allocated + (4 << 20)
    del x
    assert SIM.memory().allocated == before.allocated
    assert SIM.memory().reserved == before.reserved + (20 << 20)
    SIM.empty_cache()
    assert SIM.memory().reserved == before.reserved


def test_out_of_memory_is_explained_and_the_program_goes_on() -> None:
    gc.collect()
    tg.sim.use("T4", memory=64 << 20)
    x = tg.ones(10 << 20, device="sim")
    with pytest.raises(OutOfMemoryError) as caught:
        x + 1
    assert caught.value.tried == "add (10485760,) float32: out of memory"
    assert "41,943,040 bytes are asked for; of 67,108,864 on 'sim', " in caught.value.why
    del x, caught
    assert tg.ones(10 << 20, device="sim").sum().item() == 10 << 20
    with pytest.raises(OutOfMemoryError):
        y = tg.ones(10 << 20, device="sim")
        tg.sim.use("T4", memory=1 << 20)
    del y


def test_intermediate_values_inside_an_operation_take_no_memory() -> None:
    """As in a kernel that is written for it."""
    x = tg.randn(1000, 1000, device="sim")
    SIM.allocator.peak = SIM.memory().allocated
    y = nn.functional.gelu(x)
    assert SIM.memory().peak == SIM.memory().allocated
    del y


def test_what_backward_needs_is_counted() -> None:
    x = tg.ones(1 << 20, device="sim", requires_grad=True)
    before = SIM.memory().allocated
    y = x.exp()
    z = y.sum()
    assert SIM.memory().allocated == before + (4 << 20) + 512
    del y
    assert SIM.memory().allocated == before + (4 << 20) + 512  # the graph keeps it
    del z
    assert SIM.memory().allocated == before


# Machines ------------------------------------------------------------------------------------------------------------


def test_machines_are_chosen_and_changed() -> None:
    assert tg.sim.use("A100", launch=1000)["launch"] == 1000
    assert repr(tg.sim.machine()) == "Machine('A100', launch=1000)"
    assert tg.sim.use(bandwidth=1e12)["launch"] == 1000
    for wrong in ({"preset": "T5"}, {"lanch": 1}, {"launch": -1}, {"bandwidth": 0}, {"memory": "8 GB"}):
        with pytest.raises(ArgumentError):
            tg.sim.use(**wrong)
    assert tg.sim.use("T4")["launch"] == 5000


def test_it_is_made_when_it_is_first_named() -> None:
    code = (
        "import sys, tinygrad_edu as tg; assert 'tinygrad_edu.backends.sim' not in sys.modules\n"
        "assert 'sim' in tg.backends.names(); x = tg.ones(2, device='sim'); assert (x + 1).tolist() == [2.0, 2.0]"
    )
    assert run_python(code).returncode == 0


def test_values_stay_what_they_were_when_the_host_changes_its_array() -> None:
    host = np.ones(3, np.float32)
    x = tg.tensor(host, device="sim")
    host[:] = 7
    assert x.tolist() == [1.0, 1.0, 1.0]


def test_a_timeline_is_a_trace_that_other_viewers_read(tmp_path: Path) -> None:
    with tg.sim.timeline() as seen:
        x = tg.ones(100, 100).to("sim")
        (x @ x).sum().item()
    path = tmp_path / "trace.json"
    seen.export_chrome_trace(str(path))
    found = json.loads(path.read_text())["traceEvents"]
    names = {one["tid"]: one["args"]["name"] for one in found if one["name"] == "thread_name"}
    devices = {one["pid"]: one["args"]["name"] for one in found if one["name"] == "process_name"}
    assert set(devices.values()) == {"host", "sim"}
    events = [one for one in found if one["ph"] == "X"]
    assert len(events) == len(seen) and set(names.values()) == set(seen.lanes())
    for event, work in zip(events, seen, strict=True):
        told = f"wait: {work.name}" if work.kind == "wait" else work.name
        assert (names[event["tid"]], event["name"], event["cat"]) == (work.lane, told, work.kind)
        assert devices[event["pid"]] == work.lane.partition(" ")[0]
        assert event["args"].get("waited for", "") == work.waited_for
        assert event["ts"] * 1e3 == pytest.approx(work.start) and event["dur"] * 1e3 == pytest.approx(work.duration)
    by_thread = [sorted((e["ts"], e["ts"] + e["dur"]) for e in events if e["tid"] == tid) for tid in names]
    assert all(one[1] <= other[0] + 1e-6 for spans in by_thread for one, other in itertools.pairwise(spans))
