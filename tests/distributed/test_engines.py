"""Workers that are engines of ipyparallel: they train, they fail, and nothing of them is left."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ipyparallel as ipp
import nbformat
import numpy as np
import psutil
import pytest
from nbclient import NotebookClient

import tinygrad_edu as tg
from tests.support import ROOT, teaches
from tinygrad_edu import distributed as dist
from tinygrad_edu import nn
from tinygrad_edu.distributed import Engines, in_engine
from tinygrad_edu.errors import ArgumentError, MissingPackageError, WorkerError
from tinygrad_edu.nn import functional as F

pytestmark = pytest.mark.timeout(300)  # processes start slowly on a machine that has other work

on_posix = pytest.mark.skipif(os.name == "nt", reason="Windows has no signal that interrupts another process")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """One that somebody else has started, as on a cluster of machines."""
    made = ipp.Cluster(n=2, profile_dir=str(tmp_path_factory.mktemp("cluster")), log_level=50)
    made.start_controller_sync()
    made.start_engines_sync(environment={"PYTHONPATH": str(ROOT)})
    client = made.connect_client_sync()
    client.wait_for_engines(2, timeout=200, interactive=False)
    yield made
    client.close()
    made.stop_cluster_sync()


@pytest.fixture
def workers(cluster: Any) -> Iterator[Engines]:
    with dist.engines(client=cluster) as found:
        yield found


def children() -> set[int]:
    return {one.pid for one in psutil.Process().children(recursive=True)}


X, Y = (tg.randn(60, width, generator=tg.Generator().manual_seed(width)) for width in (8, 1))


def trained(model: nn.Module, steps: int = 5) -> list[np.ndarray[Any, Any]]:
    """The parameters of a model after some steps of this worker on its part of the batch."""
    wrapped = dist.DistributedDataParallel(model) if dist.is_initialized() else model
    optimizer = tg.optim.SGD(model.parameters(), lr=0.1)
    mine = slice(dist.get_rank(), None, dist.get_world_size())
    for _ in range(steps):
        optimizer.zero_grad()
        F.mse_loss(wrapped(X[mine]), Y[mine]).backward()
        optimizer.step()
    return [p.detach().numpy().copy() for p in model.parameters()]


class TestRun:
    def test_training_is_that_of_one_large_batch(self, workers: Engines) -> None:
        """And the notebook's own model stays as it was."""
        model = nn.Sequential(nn.Linear(8, 4), nn.Tanh(), nn.Linear(4, 1))
        before = [p.tolist() for p in model.parameters()]
        first, second = workers.run(lambda: trained(model))
        assert [p.tolist() for p in model.parameters()] == before
        for ours, theirs, whole in zip(first, second, trained(model), strict=True):
            assert ours.tobytes() == theirs.tobytes()
            np.testing.assert_allclose(ours, whole, rtol=1e-4, atol=1e-6)

    def test_results_come_by_rank_and_workers_know_who_they_are(self, workers: Engines) -> None:
        def who(*args: Any) -> Any:
            return dist.get_rank(), dist.get_world_size(), os.getpid(), args

        (rank, size, pid, args), other = workers.run(who, "given", 2)
        assert (rank, size, args) == (0, 2, ("given", 2)) and other[:2] == (1, 2)
        assert len({pid, other[2], os.getpid()}) == 3
        assert workers.run(dist.is_initialized) == [True, True]
        assert (len(workers), repr(workers), dist.is_initialized()) == (2, "<2 workers>", False)

    def test_what_workers_print_is_printed_here(self, workers: Engines, capfd: pytest.CaptureFixture[str]) -> None:
        def say() -> None:
            print("worker", dist.get_rank())
            print("error", dist.get_rank(), file=sys.stderr)

        workers.run(say)
        out, err = capfd.readouterr()
        assert sorted(out.splitlines()) == ["worker 0", "worker 1"]
        assert sorted(err.splitlines()) == ["error 0", "error 1"]

    def test_a_client_and_fewer_workers(self, cluster: Any) -> None:
        client = cluster.connect_client_sync()
        client.wait_for_engines(2, timeout=60, interactive=False)
        with dist.engines(1, client=client) as one:
            assert one.run(dist.get_world_size) == [1]
        assert client.ids == [0, 1], "whoever has started them ends them"
        client.close()

    def test_a_host_can_be_named(self, cluster: Any) -> None:
        with dist.engines(client=cluster, host="localhost") as workers:
            assert workers.run(dist.get_rank) == [0, 1]
        _, address = in_engine.prepare(0)
        assert address.count(".") == 3 or address


class TestFailures:
    def test_a_worker_that_raises_shows_its_traceback(self, workers: Engines) -> None:
        class Own(Exception):
            def __init__(self, first: int, second: int) -> None:
                super().__init__(f"{first} and {second}")

        def fail() -> None:
            if dist.get_rank() == 1:
                raise ZeroDivisionError("mine")
            dist.barrier()

        def fail_strangely() -> None:
            raise Own(1, 2)

        with pytest.raises(ZeroDivisionError, match="mine") as caught:
            workers.run(fail)
        assert caught.value.__notes__ == ["in worker 1 of 2"]
        text = str(caught.value.__cause__)
        assert "in worker 1 of 2:\nTraceback" in text and 'raise ZeroDivisionError("mine")' in text
        with pytest.raises(RuntimeError, match="Own: 1 and 2"):
            workers.run(fail_strangely)
        assert workers.run(dist.get_rank) == [0, 1], "they go on"

    def test_an_error_of_ours_comes_whole(self, workers: Engines) -> None:
        def fail() -> None:
            dist.all_reduce(tg.ones(1 + dist.get_rank()))

        with pytest.raises(WorkerError, match=r"worker 0 brings float32 \(1,\) and worker 1 brings float32 \(2,\)"):
            workers.run(fail)

    @on_posix
    def test_who_goes_on_without_the_others_is_interrupted(
        self, workers: Engines, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("tinygrad_edu.distributed.notebook.GRACE", 0.2)

        def fail() -> None:
            if dist.get_rank() == 0:
                raise ZeroDivisionError("mine")
            time.sleep(100)

        with pytest.raises(ZeroDivisionError):
            workers.run(fail)
        assert workers.run(dist.get_rank) == [0, 1]

    @on_posix
    def test_ctrl_c_reaches_the_workers(self, workers: Engines) -> None:
        ended = threading.Event()

        def press() -> None:
            """Again, as people do: one that comes while garbage is collected is ignored by Python."""
            for pause in (1.0, 10.0, 10.0):
                if not ended.wait(pause):
                    os.kill(os.getpid(), signal.SIGINT)

        presses = threading.Thread(target=press)
        before = signal.signal(signal.SIGINT, signal.default_int_handler)  # whatever else this process has set
        presses.start()
        try:
            with pytest.raises(KeyboardInterrupt):
                workers.run(time.sleep, 100)
        finally:
            ended.set()
            presses.join()
            signal.signal(signal.SIGINT, before)
        assert workers.run(dist.get_rank) == [0, 1]

    def test_what_cannot_be_sent(self, workers: Engines) -> None:
        lock = threading.Lock()
        with pytest.raises(WorkerError, match="a part of the function cannot be sent: cannot pickle"):
            workers.run(lambda: lock)
        with pytest.raises(WorkerError, match="what it returns cannot be sent: cannot pickle"):
            workers.run(threading.Lock)
        with pytest.raises(ArgumentError, match="it is no function"):
            workers.run(3)  # type: ignore[arg-type]

    def test_a_worker_that_is_killed_is_named_and_nothing_is_left(self) -> None:
        before = children()
        model = nn.Linear(8, 1)
        weights = model.weight.tolist()

        def die(step: int) -> None:
            wrapped = dist.DistributedDataParallel(model)
            if dist.get_rank() == 1:
                os.kill(os.getpid(), 9)
            wrapped(X).sum().backward()

        workers = dist.engines(2)
        assert len(children() - before) >= 3
        began = time.monotonic()
        why = "worker 1 is gone: its process has died"
        mend = "see whether memory ran out; start new workers"
        with teaches(WorkerError, "work of 2 workers", why, mend, "workers.run(die, 1)"):
            workers.run(die, 1)
        assert time.monotonic() - began < 30  # 0.1 seconds on an idle machine
        assert model.weight.tolist() == weights
        with pytest.raises(WorkerError, match="the process of worker 1 has died"):
            workers.run(dist.get_rank)
        workers.stop()
        workers.stop()
        assert children() <= before
        with pytest.raises(WorkerError, match="they have been stopped"):
            workers.run(dist.get_rank)

    @pytest.mark.slow
    @pytest.mark.timeout(1800)  # 20 times 10 seconds on a quiet machine
    def test_a_hundred_that_are_killed_leave_nothing(self) -> None:
        before = children()

        def pid(step: int) -> int:
            return os.getpid()

        for _ in range(20):
            workers = dist.engines(5)
            try:
                for one in workers.run(pid, 1):
                    os.kill(one, 9)
                with pytest.raises(WorkerError):
                    workers.run(pid, 1)
            finally:
                workers.stop()
            assert children() <= before


class TestArguments:
    def test_counts_and_clients(self, cluster: Any) -> None:
        with pytest.raises(ArgumentError, match="there can be 1 to 1024"):
            dist.engines(0)
        with pytest.raises(ArgumentError, match="its engines cannot be asked for"):
            dist.engines(client=3)
        with pytest.raises(WorkerError, match=r"2 of 3 came within 100(\.0)? ms"):
            dist.engines(3, client=cluster, timeout=0.1)

    @pytest.mark.parametrize("name", ["ipyparallel", "cloudpickle"])
    def test_without_a_package(self, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
        monkeypatch.setitem(sys.modules, name, None)
        why = "ipyparallel runs the worker processes of a notebook, and cloudpickle sends its functions there"
        with teaches(MissingPackageError, "engines()", why, "install them: pip install ipyparallel cloudpickle"):
            dist.engines(2)


CELLS = (
    "import tinygrad_edu as tg\nfrom tinygrad_edu import distributed as dist\nworkers = dist.engines(2)",
    "def work():\n    x = tg.ones(1)\n    dist.all_reduce(x)\n    return x.item()\nprint(workers.run(work))",
    """
def fail():
    if dist.get_rank():
        raise ValueError("no more")
    dist.barrier()
try:
    workers.run(fail)
except ValueError as error:
    print(error.__cause__)
""",
    "workers.stop()\nimport psutil\nprint(psutil.Process().children())",
)


def test_a_notebook_shows_nothing_but_its_own_words(tmp_path: Path) -> None:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code) for code in CELLS])
    NotebookClient(notebook, timeout=200, kernel_name="python3").execute()
    told = ["".join(output.get("text", str(output)) for output in cell.outputs) for cell in notebook.cells]
    assert (told[0], told[1], told[3]) == ("", "[2.0, 2.0]\n", "[]\n")
    assert "in worker 1 of 2:" in told[2] and 'raise ValueError("no more")' in told[2]
    assert "cell In[3], line 3" in told[2], "a cell has a name"
