"""Programs that mpiexec has started: what their workers get is what those of other groups get, and so are errors."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.support import ROOT, teaches
from tinygrad_edu import distributed as dist
from tinygrad_edu.distributed import mpi
from tinygrad_edu.errors import MissingPackageError

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="mpich, of the cluster extra, is not for Windows")

HEAD = """
import json, os, sys, time
import numpy as np
import tinygrad_edu as tg
from tinygrad_edu import distributed as dist
from tinygrad_edu.errors import ArgumentError, WorkerError
"""
BEGIN = """
dist.init_process_group("mpi", timeout=60)
rank, size = dist.get_rank(), dist.get_world_size()
def tell(**found):
    sys.stdout.write(json.dumps({"rank": rank, **found}) + "\\n")
"""


def program(count: int, code: str, begin: str = BEGIN) -> tuple[int, list[Any], str]:
    """The exit status of so many workers, what each tells, by rank, and what they complain of."""
    mpiexec = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    assert mpiexec, "the test extra brings mpich, with mpiexec beside Python"
    command = [mpiexec, "-n", str(count), sys.executable, "-c", HEAD + begin + code]
    env = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=100, check=False)
    told = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return done.returncode, sorted(told, key=lambda one: one["rank"]), done.stderr


def told_by(count: int, code: str) -> list[Any]:
    status, told, errors = program(count, code + "\ndist.destroy_process_group()")
    assert (status, errors) == (0, ""), errors
    assert [one["rank"] for one in told] == list(range(count))
    return told


def test_collectives_are_those_of_threads() -> None:
    code = """
def work():
    rank, size = dist.get_rank(), dist.get_world_size()
    found = []
    for dtype in (np.float32, np.float64, np.float16, np.int64, np.int8, np.bool_):
        numbers = np.random.default_rng(rank).normal(size=(3, 4)) * 3
        for op in ("sum", "prod", "min", "max"):
            x = tg.tensor(numbers.astype(dtype)).t()
            dist.all_reduce(x, op)
            found.append(x.tolist())
    x = tg.tensor([float("nan") if rank == 1 else rank, 2.0], dtype=tg.float32)
    dist.all_reduce(x, dist.ReduceOp.MAX)
    found.append(str(x.tolist()))
    half = tg.tensor([rank + 0.5], dtype=tg.bfloat16)
    dist.all_reduce(half)
    x, parts = tg.tensor([[float(rank)]]), [tg.zeros(1, 1) for _ in range(size)]
    dist.all_gather(parts, x)
    dist.broadcast(x, src=1)
    dist.broadcast(half, src=0)
    objects = []
    dist.all_gather_object(objects, {"rank": rank})
    dist.barrier()
    found += [half.float().tolist(), x.item(), [one.item() for one in parts], objects, dist.share(rank + 1)]
    return found
"""
    told = told_by(3, code + "tell(found=work())")
    names: dict[str, Any] = {"np": np, "tg": tg, "dist": dist}
    exec(code, names)
    for ours, theirs in zip(told, dist.run(names["work"], 3), strict=True):
        for one, other in zip(ours["found"], theirs, strict=True):
            if isinstance(one, list) and not isinstance(one[0], dict):
                np.testing.assert_allclose(np.array(one, float), np.array(other, float), rtol=2e-6)
            else:
                assert one == other


def test_training_is_that_of_one_large_batch() -> None:
    code = """
x, y = (tg.randn(60, width, generator=tg.Generator().manual_seed(width)) for width in (8, 1))
inner = tg.nn.Sequential(tg.nn.Linear(8, 16), tg.nn.Tanh(), tg.nn.Linear(16, 1))
tg.manual_seed(rank)
model = dist.DistributedDataParallel(inner, bucket_cap_mb=1e-4)
before = [p.tolist() for p in inner.parameters()]
optimizer = tg.optim.SGD(model.parameters(), lr=0.1)
for _ in range(5):
    optimizer.zero_grad()
    tg.nn.functional.mse_loss(model(x[rank::size]), y[rank::size]).backward()
    optimizer.step()
tell(before=before, after=[p.tolist() for p in inner.parameters()], reduced=model.reduced)
"""
    told = told_by(3, code)
    assert all({**one, "rank": 0} == told[0] for one in told), "the models are equal, to the last bit"
    inner = tg.nn.Sequential(tg.nn.Linear(8, 16), tg.nn.Tanh(), tg.nn.Linear(16, 1))
    for p, values in zip(inner.parameters(), told[0]["before"], strict=True):
        p.data = tg.tensor(values)
    x, y = (tg.randn(60, width, generator=tg.Generator().manual_seed(width)) for width in (8, 1))
    optimizer = tg.optim.SGD(inner.parameters(), lr=0.1)
    for _ in range(5):
        optimizer.zero_grad()
        tg.nn.functional.mse_loss(inner(x), y).backward()
        optimizer.step()
    for p, values in zip(inner.parameters(), told[0]["after"], strict=True):
        np.testing.assert_allclose(p.tolist(), values, rtol=1e-4, atol=1e-6)
    assert told[0]["reduced"] == 5 * sum(p.nbytes for p in inner.parameters())


def test_errors_are_those_of_other_groups() -> None:
    code = """
whys = []
def tried(call):
    try:
        call()
    except WorkerError as error:
        whys.append(error.why)
tried(lambda: dist.barrier() if rank else dist.all_reduce(tg.ones(1)))
tried(lambda: dist.all_reduce(tg.ones(1 + rank)))
dist.barrier()
if rank == 1:
    dist.destroy_process_group("it has enough")
else:
    tried(dist.barrier)
    tried(dist.barrier)
tell(whys=whys)
"""
    told = told_by(2, code)
    both = [
        "worker 0 asks for sum and worker 1 asks for gather",
        "worker 0 brings float32 (1,) and worker 1 brings float32 (2,)",
    ]
    assert [one["whys"] for one in told] == [[*both, *["worker 1 is gone: it has enough"] * 2], both]


def test_a_worker_that_raises_is_named_and_all_programs_end() -> None:
    status, _, errors = program(3, "if rank == 1: raise ZeroDivisionError('mine')\ndist.barrier()")
    assert status
    assert "ZeroDivisionError: mine" in errors
    assert errors.count("why:  worker 1 is gone: its program has ended") == 2


def test_a_worker_that_does_not_come() -> None:
    code = """
if rank == 1:
    time.sleep(2)
for _ in range(2):
    try:
        dist.barrier()
    except WorkerError as error:
        tell(why=error.why)
"""
    _, told, _ = program(2, code, BEGIN.replace("timeout=60", "timeout=0.3"))
    waited = "worker 1 did not come within 300 ms"
    assert [one["why"] for one in told] == [waited, waited, *[f"worker 0 is gone: {waited}"] * 2]


def test_mpi_ends_all_when_one_is_killed() -> None:
    began = time.monotonic()
    status, told, _ = program(2, "if rank: os.kill(os.getpid(), 9)\ndist.barrier()\ntell()")
    assert (status, told) == (9, [])
    assert time.monotonic() - began < 60


def test_what_it_takes() -> None:
    begin = """
rank = int(os.environ["PMI_RANK"])
def tell(**found):
    sys.stdout.write(json.dumps({"rank": rank, **found}) + "\\n")
"""
    code = """
whys = []
for settings in ({"rank": 5}, {"world_size": 7}, {"init_method": "tcp://127.0.0.1:1"}):
    try:
        dist.init_process_group("mpi", **settings)
    except ArgumentError as error:
        whys.append(error.why)
tell(whys=whys)
"""
    _, told, _ = program(2, code, begin)
    other = "MPI knows by itself where the others are"
    assert [one["whys"] for one in told] == [[*[f"MPI says rank {rank} of 2"] * 2, other] for rank in range(2)]
    alone = """
try:
    dist.init_process_group("mpi")
except ArgumentError as error:
    why = error.why
dist.init_process_group("mpi", world_size=1)
x = tg.ones(1)
dist.all_reduce(x)
tell(why=why, x=x.item())
"""
    _, told, errors = program(1, alone, begin)
    why = "mpiexec has not started this program, or only once"
    assert (told, errors) == ([{"rank": 0, "why": why, "x": 1.0}], "")


def test_without_mpi4py(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    mend = "install it: pip install mpi4py mpich; or use your centre's MPI"
    with teaches(MissingPackageError, 'init_process_group("mpi")', "only mpi4py reaches MPI", mend):
        dist.init_process_group("mpi")
    broken = type(sys)("mpi4py")
    monkeypatch.setitem(sys.modules, "mpi4py", broken)
    with pytest.raises(MissingPackageError, match="mpi4py finds no MPI: cannot import name 'MPI'"):
        mpi.started(-1, -1, None, 1.0)
