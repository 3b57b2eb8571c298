"""Workers that compute together: what they get, what it equals, and what happens when one is gone."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.support import ROOT, teaches
from tinygrad_edu import distributed as dist
from tinygrad_edu import nn
from tinygrad_edu.data import DataLoader, TensorDataset
from tinygrad_edu.distributed.groups import Tcp
from tinygrad_edu.distributed.meeting import Meeting
from tinygrad_edu.errors import ArgumentError, WorkerError
from tinygrad_edu.nn import functional as F


class TestCollectives:
    @pytest.mark.parametrize("op", ["SUM", "PRODUCT", "MIN", "MAX", "AVG"])
    def test_all_reduce(self, op: str) -> None:
        numbers = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)

        def work() -> Any:
            x = tg.tensor(numbers[dist.get_rank()])
            dist.all_reduce(x, getattr(dist.ReduceOp, op))
            return x.numpy()

        by = {"SUM": np.sum, "PRODUCT": np.prod, "MIN": np.min, "MAX": np.max, "AVG": np.mean}[op]
        found = dist.run(work, 3)
        np.testing.assert_allclose(found[0], by(numbers, axis=0), rtol=1e-6)
        assert all(one.tobytes() == found[0].tobytes() for one in found)

    def test_broadcast_gather_and_barrier(self) -> None:
        def work() -> Any:
            rank = dist.get_rank()
            x, parts = tg.tensor([float(rank)]), [tg.zeros(1) for _ in range(3)]
            dist.all_gather(parts, x)
            dist.broadcast(x, src=2)
            objects: list[Any] = []
            dist.all_gather_object(objects, {"rank": rank})
            dist.barrier()
            return x.item(), [one.item() for one in parts], [one["rank"] for one in objects]

        assert dist.run(work, 3) == [(2.0, [0.0, 1.0, 2.0], [0, 1, 2])] * 3

    def test_tensors_on_a_device(self) -> None:
        def work() -> Any:
            x = tg.ones(2, device="sim")
            dist.all_reduce(x)
            return str(x.device), x.tolist()

        assert dist.run(work, 2) == [("sim", [2.0, 2.0])] * 2

    def test_alone(self) -> None:
        assert (dist.get_rank(), dist.get_world_size(), dist.is_initialized()) == (0, 1, False)
        assert dist.run(lambda: (dist.get_rank(), dist.get_world_size(), dist.is_initialized()), 1) == [(0, 1, True)]
        mend = "call init_process_group() first, or run the function by distributed.run(function, workers=2)"
        with teaches(WorkerError, "a call to the other workers", "this program belongs to no group", mend):
            dist.all_reduce(tg.ones(1))

    def test_share(self) -> None:
        counts = [10, 30]
        assert dist.run(lambda: dist.share(counts[dist.get_rank()]), 2) == [0.5, 1.5]

    def test_wrong_calls(self) -> None:
        def refused(call: Callable[[], Any]) -> str:
            with pytest.raises(ArgumentError) as caught:
                dist.run(call, 1)
            return caught.value.why

        assert refused(lambda: dist.all_reduce([1.0])) == "workers share tensors"  # type: ignore[arg-type]
        assert refused(lambda: dist.all_reduce(tg.ones(1), "median")) == "there is no such operation"
        assert refused(lambda: dist.broadcast(tg.ones(1), 3)) == "there are 1 workers"
        assert refused(lambda: dist.all_gather([], tg.ones(1))) == "there are 1 workers"
        with pytest.raises(ArgumentError, match="there can be 1 to 64"):
            dist.run(lambda: None, 0)


class TestFailures:
    def test_a_worker_that_raises_is_named(self) -> None:
        ended = []

        def work() -> None:
            if dist.get_rank() == 1:
                raise ZeroDivisionError("mine")
            try:
                dist.barrier()
            except WorkerError as error:
                ended.append(error.why)
                raise

        with pytest.raises(ZeroDivisionError, match="mine") as caught:
            dist.run(work, 3)
        assert caught.value.__notes__ == ["in worker 1 of 3"]
        assert ended == ["worker 1 is gone: it raised ZeroDivisionError"] * 2
        assert not any(thread.name.startswith("worker") for thread in threading.enumerate())

    def test_a_worker_that_ends_early(self) -> None:
        with pytest.raises(WorkerError, match="worker 0 is gone: it has ended"):
            dist.run(lambda: dist.get_rank() and dist.barrier(), 2)

    def test_a_worker_that_does_not_come(self) -> None:
        def work() -> None:
            if dist.get_rank() == 0:
                time.sleep(0.5)
            dist.barrier()

        with pytest.raises(WorkerError, match=r"worker 0 did not come within 50(\.0)? ms"):
            dist.run(work, 2, timeout=0.05)

    def test_workers_that_ask_for_different_things(self) -> None:
        def work() -> None:
            if dist.get_rank():
                dist.barrier()
            else:
                dist.all_reduce(tg.ones(1))

        with pytest.raises(WorkerError, match="worker 0 asks for sum and worker 1 asks for gather"):
            dist.run(work, 2)

    def test_tensors_that_do_not_fit(self) -> None:
        told = r"worker 0 brings float32 \(1,\) and worker 1 brings float32 \(2,\)"
        with pytest.raises(WorkerError, match=told):
            dist.run(lambda: dist.all_reduce(tg.ones(1 + dist.get_rank())), 2)

    def test_a_meeting_goes_on_after_an_error_of_all(self) -> None:
        meeting, found = Meeting(2, 5.0), []

        def work(rank: int) -> None:
            with pytest.raises(WorkerError):
                meeting.meet(rank, ("sum", "max")[rank], np.ones(1))
            found.append(meeting.meet(rank, "sum", np.ones(1)).item())

        threads = [threading.Thread(target=work, args=(rank,)) for rank in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == [2.0, 2.0]


X = tg.randn(60, 8, generator=tg.Generator().manual_seed(1))
Y = tg.randn(60, 1, generator=tg.Generator().manual_seed(2))


def network() -> nn.Module:
    return nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 1))


def whole_batch(state: Any, steps: int = 1) -> list[np.ndarray[Any, Any]]:
    model = network()
    model.load_state_dict(state)
    optimizer = tg.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        F.mse_loss(model(X), Y).backward()
        optimizer.step()
    return [p.detach().numpy().copy() for p in model.parameters()]


class TestDistributedDataParallel:
    @pytest.mark.parametrize("cuts", [[0, 30, 60], [0, 7, 60], [0, 10, 11, 60], [0, 60]])
    @pytest.mark.parametrize("bucket", [25.0, 0.0005, 1e-9])
    def test_training_is_that_of_one_large_batch(self, cuts: list[int], bucket: float) -> None:
        """Also where workers have different numbers of samples."""
        state = network().state_dict()

        def train() -> Any:
            rank = dist.get_rank()
            inner = network()
            if rank == 0:
                inner.load_state_dict(state)
            model = dist.DistributedDataParallel(inner, bucket_cap_mb=bucket)
            optimizer = tg.optim.SGD(model.parameters(), lr=0.1)
            mine = slice(cuts[rank], cuts[rank + 1])
            for _ in range(5):
                optimizer.zero_grad()
                (F.mse_loss(model(X[mine]), Y[mine]) * dist.share(len(X[mine]))).backward()
                optimizer.step()
            return [p.detach().numpy().copy() for p in inner.parameters()], model.reduced

        expected = whole_batch(state, 5)
        found = dist.run(train, len(cuts) - 1)
        for weights, reduced in found:
            assert reduced == 5 * sum(p.nbytes for p in expected)
            for ours, theirs, first in zip(weights, expected, found[0][0], strict=True):
                np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-6)
                assert ours.tobytes() == first.tobytes()  # the models stay equal, to the last bit

    def test_averages_travel_while_backward_goes_on(self) -> None:
        """The buckets of the last layer are on their way before those of the first have anything to compute with."""
        seen: list[tuple[int, int]] = []

        def train() -> None:
            model = dist.DistributedDataParallel(network(), bucket_cap_mb=1e-9)
            hidden = model.module[1](model.module[0](X))
            hidden.register_hook(lambda g: seen.append((dist.get_rank(), model._next)))
            F.mse_loss(model.module[2:](hidden), Y).backward()

        dist.run(train, 2)
        assert sorted(seen) == [(0, 4), (1, 4)]

    def test_accumulation(self) -> None:
        state = network().state_dict()

        def train() -> Any:
            inner = network()
            inner.load_state_dict(state)
            model = dist.DistributedDataParallel(inner)
            mine = X[dist.get_rank() :: 2], Y[dist.get_rank() :: 2]
            with model.no_sync():
                (F.mse_loss(model(mine[0][:15]), mine[1][:15]) / 2).backward()
                assert model.reduced == 0
            (F.mse_loss(model(mine[0][15:]), mine[1][15:]) / 2).backward()
            return [p.grad.numpy().copy() for p in inner.parameters()]

        model = network()
        model.load_state_dict(state)
        F.mse_loss(model(X), Y).backward()
        for grads in dist.run(train, 2):
            for ours, p in zip(grads, model.parameters(), strict=True):
                np.testing.assert_allclose(ours, p.grad, rtol=1e-4, atol=1e-6)

    def test_buffers_are_those_of_worker_0(self) -> None:
        def train() -> Any:
            model = dist.DistributedDataParallel(nn.Sequential(nn.Linear(8, 4), nn.BatchNorm1d(4)))
            for _ in range(3):
                model(X + dist.get_rank())
            dist.barrier()
            model(X)
            return model.module[1].running_mean.numpy().copy()

        first, second = dist.run(train, 2)
        np.testing.assert_allclose(first, second, rtol=1e-5)

    def test_different_models_are_refused(self) -> None:
        with pytest.raises(WorkerError, match=r"has other parameters than that of worker [01]: weight"):
            dist.run(lambda: dist.DistributedDataParallel(nn.Linear(8, 1 + dist.get_rank())), 2)

    def test_a_parameter_without_a_gradient(self) -> None:
        class Two(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.used, self.unused = nn.Linear(8, 1), nn.Linear(8, 1)

            def forward(self, x: tg.Tensor) -> tg.Tensor:
                return self.used(x)

        def train() -> None:
            model = dist.DistributedDataParallel(Two())
            model(X).sum().backward()
            model(X)

        with pytest.raises(WorkerError, match=r"gave no gradient to unused\.weight and unused\.bias"):
            dist.run(train, 2)

    def test_a_worker_that_dies_in_backward_leaves_the_models_as_they_were(self) -> None:
        kept: dict[int, Any] = {}

        def train() -> None:
            rank, inner = dist.get_rank(), network()
            model = dist.DistributedDataParallel(inner)
            optimizer = tg.optim.SGD(model.parameters(), lr=0.1)
            before = [p.detach().numpy().copy() for p in inner.parameters()]
            kept[rank] = inner, before
            if rank == 1:
                raise MemoryError("no more")
            F.mse_loss(model(X), Y).backward()
            optimizer.step()

        with pytest.raises(MemoryError):
            dist.run(train, 3)
        for inner, before in kept.values():
            for p, old in zip(inner.parameters(), before, strict=True):
                np.testing.assert_array_equal(p.detach(), old)

    def test_what_it_takes(self) -> None:
        def make(**settings: Any) -> Any:
            return dist.run(lambda: dist.DistributedDataParallel(network(), **settings), 1)

        with pytest.raises(ArgumentError, match="workers could not agree on what is missing"):
            make(find_unused_parameters=True)
        with pytest.raises(ArgumentError, match="buckets above 0 MB"):
            make(bucket_cap_mb=0)


class TestSampler:
    @pytest.mark.parametrize("shuffle", [False, True])
    @pytest.mark.parametrize("drop_last", [False, True])
    @pytest.mark.parametrize("count", [12, 13, 2])
    def test_workers_share_the_samples(self, count: int, shuffle: bool, drop_last: bool) -> None:
        parts = [
            dist.DistributedSampler(range(count), 3, rank, shuffle=shuffle, drop_last=drop_last) for rank in range(3)
        ]
        taken = [list(one) for one in parts]
        assert len({len(one) for one in taken}) == 1
        assert [len(one) for one in taken] == [len(one) for one in parts]
        together = sorted(number for one in taken for number in one)
        if drop_last:
            assert len(set(together)) == len(together) == count // 3 * 3
        else:
            assert set(together) == set(range(count))

    def test_each_epoch_has_its_order_and_workers_agree(self) -> None:
        one = dist.DistributedSampler(range(100), 2, 0)
        first = list(one)
        assert list(one) == first
        one.set_epoch(1)
        assert list(one) != first

    def test_in_a_loader(self) -> None:
        def work() -> Any:
            sampler = dist.DistributedSampler(TensorDataset(X, Y), shuffle=False)
            return [len(x) for x, _ in DataLoader(TensorDataset(X, Y), batch_size=10, sampler=sampler)]

        assert dist.run(work, 2) == [[10, 10, 10]] * 2

    def test_ranks(self) -> None:
        with pytest.raises(ArgumentError, match="there are 2 workers"):
            dist.DistributedSampler(range(4), 2, 2)


# Processes -----------------------------------------------------------------------------------------------------------

PROGRAM = """
import os, sys
import tinygrad_edu as tg
from tinygrad_edu import distributed as dist
dist.init_process_group(timeout=20)
tg.manual_seed(dist.get_rank())
model = dist.DistributedDataParallel(tg.nn.Linear(4, 1))
optimizer = tg.optim.SGD(model.parameters(), lr=0.1)
x = tg.randn(40, 4, generator=tg.Generator().manual_seed(7))
y = x.sum(1, keepdim=True)
mine = slice(dist.get_rank(), None, dist.get_world_size())
for step in range(30):
    if step == 20 and len(sys.argv) > 1 and dist.get_rank() == 1:
        os.kill(os.getpid(), 9)
    optimizer.zero_grad()
    tg.nn.functional.mse_loss(model(x[mine]), y[mine]).backward()
    optimizer.step()
print(model.module.weight.tolist())
dist.destroy_process_group()
"""


def start(count: int, *arguments: str) -> list[subprocess.Popen[str]]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    programs = []
    for rank in range(count):
        env = os.environ | {"RANK": str(rank), "WORLD_SIZE": str(count), "MASTER_PORT": str(port)}
        env |= {"PYTHONPATH": str(ROOT), "TINYGRAD_EDU_SECRET": "between us"}
        command = [sys.executable, "-c", PROGRAM, *arguments]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        programs.append(subprocess.Popen(command, cwd=ROOT, env=env, text=True, **pipes))  # type: ignore[call-overload]
    return programs


def test_processes_train_one_model() -> None:
    ended = [one.communicate(timeout=60) for one in start(3)]
    assert [errors for _, errors in ended] == [""] * 3
    assert len({printed for printed, _ in ended}) == 1
    np.testing.assert_allclose(eval(ended[0][0]), np.ones((1, 4)), atol=0.2)


def test_a_process_that_is_killed_is_named_within_a_second() -> None:
    programs = start(3, "die")
    _, _ = programs[1].communicate(timeout=60)
    killed = time.monotonic()
    errors = [programs[rank].communicate(timeout=60)[1] for rank in (0, 2)]
    assert time.monotonic() - killed < 10  # a second on an idle machine
    assert programs[1].returncode == -signal.SIGKILL
    for text in errors:
        assert "WorkerError: sum of 3 workers\n  why:  worker 1 is gone: its connection has ended" in text


def test_what_processes_need_to_know(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "TINYGRAD_EDU_SECRET"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ArgumentError, match="nothing says what RANK is"):
        dist.init_process_group()
    with pytest.raises(ArgumentError, match="nothing says what WORLD_SIZE is"):
        dist.init_process_group(rank=0)
    with pytest.raises(ArgumentError, match="there is no such backend"):
        dist.init_process_group("nccl")
    with pytest.raises(ArgumentError, match="ranks go from 0"):
        dist.init_process_group(rank=2, world_size=2)
    with pytest.raises(ArgumentError, match="it is no address"):
        dist.init_process_group(rank=0, world_size=2, init_method="tcp://here")
    with pytest.raises(ArgumentError, match="anybody could connect to it"):
        dist.init_process_group(rank=0, world_size=2, init_method="tcp://10.0.0.1:29500")
    with pytest.raises(WorkerError, match=r"worker 0 does not answer at 127\.0\.0\.1:9"):
        dist.init_process_group(rank=1, world_size=2, init_method="tcp://127.0.0.1:9", timeout=0.1)
    assert len(dist.new_secret()) == 32
    dist.destroy_process_group()  # without a group, nothing


def test_worker_0_may_leave_while_it_stops_listening(monkeypatch: pytest.MonkeyPatch) -> None:
    first = Tcp(0, 2, ("127.0.0.1", 0), b"ours", 20.0)
    other = Tcp(1, 2, first.address, b"ours", 20.0)
    first._accepting.join()  # now nobody listens
    monkeypatch.setattr(first._accepting, "is_alive", lambda: True)  # as a moment before
    other.leave("it has ended")
    first.leave("it has ended")
    assert first._meeting._gone == {0: "it has ended", 1: "it has ended"}


def test_strangers_are_refused() -> None:
    from multiprocessing import AuthenticationError
    from multiprocessing.connection import Client

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"
    dist.init_process_group(rank=0, world_size=2, init_method=address, secret="ours")
    try:
        with pytest.raises(ArgumentError, match="this worker belongs to a group already"):
            dist.init_process_group(rank=0, world_size=2, init_method=address)
        with pytest.raises(AuthenticationError):
            Client(("127.0.0.1", port), authkey=b"theirs")
    finally:
        dist.destroy_process_group()
