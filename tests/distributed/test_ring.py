"""Workers on simulated devices: what they compute is as on the CPU, and the time is that of a ring."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tinygrad_edu import distributed as dist
from tinygrad_edu import nn, sim
from tinygrad_edu.errors import InplaceError, WorkerError
from tinygrad_edu.nn import functional as F
from tinygrad_edu.sim import Timeline, Work


@pytest.fixture(autouse=True)
def four_devices() -> Iterator[None]:
    gc.collect()
    sim.use("T4", devices=4)
    yield
    gc.collect()
    sim.use("T4", devices=1)


def place() -> str:
    return f"sim:{dist.get_rank()}" if dist.get_rank() else "sim"


def ring_of(seen: Timeline, name: str = "all-reduce") -> list[Work]:
    return sorted((work for work in seen if work.name == name and work.kind == "copy"), key=lambda one: one.lane)


def seconds(nbytes: int, workers: int) -> int:
    machine = sim.machine()
    return round(dist.ring_seconds(nbytes, workers, machine["link"], machine["hop"] / 1e9) * 1e9)


class TestFormula:
    def test_two_send_each_half_twice(self) -> None:
        assert dist.ring_seconds(1e9, 2, 1e9) == pytest.approx(1.0)
        assert dist.ring_seconds(1e9, 4, 1e9) == pytest.approx(1.5)
        assert dist.ring_seconds(1e9, 4, 1e9, 0.1) == pytest.approx(1.5 + 6 * 0.1)

    def test_alone_it_costs_nothing(self) -> None:
        assert dist.ring_seconds(1e9, 1, 1e9, 1.0) == 0.0


class TestTime:
    @pytest.mark.parametrize("workers", [2, 3, 4])
    def test_the_timeline_agrees_with_the_formula(self, workers: int) -> None:
        def work() -> list[float]:
            x = tg.ones(1000, 250, device=place()) * (dist.get_rank() + 1)
            dist.all_reduce(x)
            return x[0, :2].tolist()

        with sim.timeline() as seen:
            found = dist.run(work, workers)
        assert found == [[sum(range(workers + 1))] * 2] * workers
        rings = ring_of(seen)
        assert [one.lane for one in rings] == ["sim ring", "sim:1 ring", "sim:2 ring", "sim:3 ring"][:workers]
        assert {one.duration for one in rings} == {seconds(1_000_000, workers)}
        assert {one.read for one in rings} == {round(2 * (workers - 1) / workers * 1_000_000)}
        assert len({one.start for one in rings}) == 1
        assert [work.name for work in seen if work.name == "copy to device"] == [], "nothing goes by the host"

    def test_it_begins_when_all_have_come(self) -> None:
        def work() -> None:
            x = tg.ones(100, device=place())
            if dist.get_rank() == 2:
                sim.host_work(3.0)
            dist.all_reduce(x)

        with sim.timeline() as seen:
            dist.run(work, 3)
        (start,) = {one.start for one in ring_of(seen)}
        launched = max(one.end for one in seen if one.name == "all-reduce" and one.kind == "launch")
        assert start == launched > 3_000_000

    def test_the_host_goes_on_and_the_next_kernel_waits(self) -> None:
        def work() -> int:
            x = tg.ones(1_000_000, device=place())
            before = sim.now()
            dist.all_reduce(x)
            spent = sim.now() - before
            x * 2
            return spent

        with sim.timeline() as seen:
            spent = dist.run(work, 2)
        assert spent == [int(sim.machine()["launch"])] * 2
        after = [one for one in seen if one.kind == "kernel" and one.name == "mul"]
        assert [one.start for one in after] == [one.end for one in ring_of(seen)]

    def test_each_worker_has_a_clock_of_its_own_and_times_do_not_depend_on_turns(self) -> None:
        def work() -> int:
            x = tg.ones(50, 50, device=place())
            for _ in range(10 * (1 + dist.get_rank())):
                x = x @ x * 0.01
            dist.all_reduce(x)
            x[0, 0].item()
            return sim.now()

        def run() -> tuple[Any, ...]:
            with sim.timeline() as seen:
                began = sim.now()
                clocks = dist.run(work, 4)
                assert sim.now() == max(clocks)
            shown = sorted((one.lane, one.start, one.end, one.name) for one in seen if one.kind != "reserve")
            return [clock - began for clock in clocks], shown

        run()  # memory is reserved once
        assert all(run() == found for found in [run()] * 4)

    def test_workers_of_one_device_are_one_place_of_the_ring(self) -> None:
        def work() -> float:
            x = tg.ones(1000, device="sim")
            dist.all_reduce(x)
            return x[0].item()

        with sim.timeline() as seen:
            assert dist.run(work, 2) == [2.0, 2.0]
        assert ring_of(seen) == []

    def test_a_broadcast_goes_through_all(self) -> None:
        def work() -> list[float]:
            x = tg.full((1000,), float(dist.get_rank()), device=place())
            dist.broadcast(x, src=1)
            return x[:2].tolist()

        with sim.timeline() as seen:
            assert dist.run(work, 3) == [[1.0, 1.0]] * 3
        machine = sim.machine()
        took = round((4000 / machine["link"] + 2 * machine["hop"] / 1e9) * 1e9)
        assert {one.duration for one in ring_of(seen, "broadcast")} == {took}


class TestValues:
    @pytest.mark.parametrize("op", ["SUM", "PRODUCT", "MIN", "MAX", "AVG"])
    def test_they_are_those_of_the_cpu(self, op: str) -> None:
        numbers = np.random.default_rng(0).normal(size=(3, 4, 5)).astype(np.float32)

        def on(where: Callable[[], str]) -> list[np.ndarray[Any, Any]]:
            def work() -> Any:
                x = tg.tensor(numbers[dist.get_rank()]).to(where()).t()
                dist.all_reduce(x, getattr(dist.ReduceOp, op))
                return x.cpu().numpy()

            return dist.run(work, 3)

        assert [one.tobytes() for one in on(place)] == [one.tobytes() for one in on(lambda: "cpu")]

    def test_a_part_of_a_tensor_is_written_and_backward_notices(self) -> None:
        def work() -> Any:
            x = tg.ones(4, 4, device=place(), requires_grad=True)
            y = x * 1
            loss = (y * y).sum()
            dist.all_reduce(y[:, 1])
            with pytest.raises(InplaceError):
                loss.backward()
            return y.detach().cpu().numpy()

        for found in dist.run(work, 2):
            np.testing.assert_array_equal(found, [[1, 2, 1, 1]] * 4)

    def test_some_on_a_device_and_some_not(self) -> None:
        def work() -> None:
            dist.all_reduce(tg.ones(2, device=place() if dist.get_rank() else "cpu"))

        with pytest.raises(WorkerError, match="worker 0 asks for sum and worker 1 asks for sum on devices"):
            dist.run(work, 2)

    def test_a_worker_that_is_gone_leaves_tensors_as_they_were(self) -> None:
        kept: list[tg.Tensor] = []

        def work() -> None:
            x = tg.ones(2, device=place())
            kept.append(x)
            if dist.get_rank():
                raise ZeroDivisionError
            dist.all_reduce(x)

        with pytest.raises(ZeroDivisionError):
            dist.run(work, 2)
        assert [x.tolist() for x in kept] == [[1.0, 1.0]] * 2
        kept.clear()


X, Y = (tg.randn(256, width, generator=tg.Generator().manual_seed(width)) for width in (256, 16))


def network() -> nn.Module:
    hidden = [layer for _ in range(6) for layer in (nn.Linear(256, 256), nn.Tanh())]
    return nn.Sequential(*hidden, nn.Linear(256, 16))


STATE = network().state_dict()


def step(model: dist.DistributedDataParallel, loss: tg.Tensor, overlap: bool = True) -> None:
    """Backward, with gradients averaged meanwhile or afterwards."""
    if overlap:
        loss.backward()
        return
    with model.no_sync():
        loss.backward()
    for p in model.parameters():
        dist.all_reduce(p.grad, dist.ReduceOp.AVG)


def trained(workers: int, bucket: float, where: Callable[[], str] = place) -> Any:
    """The gradients of each worker, the bytes that were averaged, and the timeline of one backward."""

    def train() -> Any:
        inner = network()
        inner.load_state_dict(STATE)
        inner.to(where())
        model = dist.DistributedDataParallel(inner, bucket_cap_mb=bucket)
        mine = slice(dist.get_rank(), None, dist.get_world_size())
        x, y = X[mine].to(where()), Y[mine].to(where())
        step(model, F.mse_loss(model(x), y))
        return [p.grad.cpu().numpy().copy() for p in inner.parameters()], model.reduced

    with sim.timeline() as seen:
        found = dist.run(train, workers)
    return [grads for grads, _ in found], found[0][1], seen


class TestDistributedDataParallel:
    @pytest.mark.parametrize("bucket", [25.0, 0.3, 1e-9])
    def test_gradients_are_those_of_one_large_batch_and_of_the_cpu(self, bucket: float) -> None:
        model = network()
        model.load_state_dict(STATE)
        F.mse_loss(model(X), Y).backward()
        grads, reduced, seen = trained(4, bucket)
        on_cpu, same, _ = trained(4, bucket, lambda: "cpu")
        assert reduced == same == sum(p.nbytes for p in model.parameters())
        for ours, theirs, whole in zip(zip(*grads, strict=True), on_cpu[0], model.parameters(), strict=True):
            assert {one.tobytes() for one in ours} == {theirs.tobytes()}
            np.testing.assert_allclose(ours[0], whole.grad, rtol=1e-4, atol=1e-6)
        rings = [one for one in ring_of(seen) if one.lane == "sim ring"]
        assert sum(one.read for one in rings) == pytest.approx(1.5 * reduced, rel=1e-4)

    def test_small_buckets_travel_while_backward_computes(self) -> None:
        """Of the second step: in the first, memory is reserved, and a device waits for that."""
        sim.use("T4", link=8e9, float32=1e12)  # so that both take their time

        def second_step(bucket: float, overlap: bool = True) -> tuple[int, int]:
            def train() -> tuple[int, int]:
                model = dist.DistributedDataParallel(network().to(place()), bucket_cap_mb=bucket)
                x, y = X[dist.get_rank() :: 4].to(place()), Y[dist.get_rank() :: 4].to(place())
                for _ in range(2):
                    model.zero_grad()
                    began = sim.now()
                    step(model, F.mse_loss(model(x), y), overlap)
                    next(model.parameters()).grad[0, 0].item()
                return began, sim.now()

            with sim.timeline() as seen:
                begins, ends = zip(*dist.run(train, 4), strict=True)
            later = [one for one in seen if one.start >= min(begins) - seen._origin]
            return max(ends) - min(begins), Timeline(later).overlap()

        (small, together), (large, none), (after, never) = second_step(0.2), second_step(25.0), second_step(25.0, False)
        assert small < 0.9 * large and small < 0.9 * after
        assert together > 0 and none == never == 0

    def test_a_bucket_takes_as_long_as_the_formula_says(self) -> None:
        _, _, seen = trained(4, 1e-9)
        sizes = [p.nbytes for p in network().parameters()]
        rings = [one.duration for one in ring_of(seen) if one.lane == "sim:3 ring"]
        assert sorted(rings) == sorted(seconds(size, 4) for size in sizes)
