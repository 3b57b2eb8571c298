"""State files: the old file stays until the new one is whole, and training goes on from it."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.support import ROOT, same, teaches
from tinygrad_edu import nn, optim
from tinygrad_edu.errors import StateFileError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state.safetensors"


# The old file stays until the new one is whole --------------------------------------------------------------------


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is POSIX's")
def test_a_killed_process_leaves_the_old_file(path: Path) -> None:
    """The writer stands still in the middle of its bytes, and is killed there."""
    old = {"x": tg.arange(5), "note": "old"}
    tg.save(old, path)
    code = (
        "import sys, time, tinygrad_edu as tg\n"
        "from tinygrad_edu import state\n"
        "real, count = state._bytes, []\n"
        "def slow(array):\n"
        "    count.append(0)\n"
        "    if len(count) == 6:\n"  # three for the checksum, two are on their way to the disk
        "        print('writing', flush=True); time.sleep(60)\n"
        "    return real(array)\n"
        "state._bytes = slow\n"
        "tg.save({name: tg.ones(500_000) for name in 'abc'}, sys.argv[1])\n"
    )
    writer = subprocess.Popen([sys.executable, "-c", code, str(path)], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    try:
        assert writer.stdout.readline() == "writing\n"
        beside = [p for p in path.parent.iterdir() if p != path]
        assert len(beside) == 1
        assert beside[0].stat().st_size > 2_000_000, "the new file is being written beside the old one"
        assert same(tg.load(path), old)
    finally:
        writer.send_signal(signal.SIGKILL)
        writer.wait(timeout=30)
        writer.stdout.close()
    assert same(tg.load(path), old)
    tg.save({"x": 1}, path)
    assert tg.load(path) == {"x": 1}


@pytest.mark.parametrize("where", ["os.fsync", "os.replace", "tinygrad_edu.state._bytes"])
@pytest.mark.parametrize("kind", [OSError, KeyboardInterrupt])
def test_a_failure_leaves_the_old_file_and_nothing_else(
    where: str, kind: type[BaseException], path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tg.save({"x": tg.ones(2)}, path)
    raw = path.read_bytes()

    def fail(*args: Any, **kwargs: Any) -> Any:
        raise kind("no space left")

    with monkeypatch.context() as patched:
        patched.setattr(where, fail)
        with pytest.raises(kind, match="no space left"):
            tg.save({"x": tg.zeros(2)}, path)
    assert path.read_bytes() == raw
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_the_bytes_are_on_the_disk_before_the_file_takes_its_place(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[str] = []
    fsync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda number: (events.append("sync"), fsync(number))[1])
    monkeypatch.setattr(os, "replace", lambda *names: (events.append("replace"), replace(*names))[1])
    tg.save({"x": tg.ones(2)}, path)
    assert events == ["sync", "replace", *["sync"] * (os.name == "posix")]


def test_concurrent_writers_do_not_mix(path: Path) -> None:
    """Each reader sees one writer's file whole, whichever it is."""
    states = [{"x": tg.full((20_000,), i, dtype="int32"), "who": i} for i in range(4)]
    tg.save(states[0], path)
    stop, wrong = threading.Event(), []

    def write(state: Any) -> None:
        while not stop.is_set():
            tg.save(state, path)

    def read() -> None:
        for _ in range(50):
            found = tg.load(path)
            if set(found["x"].tolist()) != {found["who"]}:
                wrong.append(found["who"])

    writers = [threading.Thread(target=write, args=(state,)) for state in states]
    for thread in writers:
        thread.start()
    try:
        read()
    finally:
        stop.set()
        for thread in writers:
            thread.join()
    assert wrong == []
    assert [p.name for p in path.parent.iterdir()] == [path.name]


@pytest.mark.skipif(sys.platform == "win32", reason="an open file is not replaced there")
def test_a_reader_sees_one_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another takes its place while it is read: what comes is the old one, whole, though all names differ."""
    from tinygrad_edu.state import _places

    tg.save({"a": tg.ones(3)}, path)

    def late(*given: Any) -> Any:
        tg.save({"b": tg.zeros(3), "c": [1]}, path)
        return _places(*given)

    with monkeypatch.context() as patched:
        patched.setattr("tinygrad_edu.state._places", late)
        assert same(tg.load(path), {"a": tg.ones(3)})
    assert same(tg.load(path), {"b": tg.zeros(3), "c": [1]})


def test_a_file_that_changes_while_it_is_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another program may write into it, and not beside it."""
    from tinygrad_edu.state import _places

    tg.save({"a": tg.ones(3), "long": "x" * 1_000_000}, path)  # more than a buffer of Python's holds
    changed = path.read_bytes().replace(b'"a"', b'"b"')
    monkeypatch.setattr("tinygrad_edu.state._places", lambda *given: (_places(*given), path.write_bytes(changed))[0])
    why, mend = "somebody wrote to it while it was read", "read it again when it is complete"
    with teaches(StateFileError, f"load of {path}", why, mend, "tg.load("):
        tg.load(path)


@pytest.mark.skipif(sys.platform == "win32", reason="permissions and links are POSIX's")
def test_permissions_and_links_stay(path: Path, tmp_path: Path) -> None:
    tg.save({}, path)
    ordinary = tmp_path / "ordinary"
    ordinary.touch()
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(ordinary.stat().st_mode)
    path.chmod(0o640)
    link = tmp_path / "link"
    link.symlink_to(path.name)
    tg.save({"x": 1}, link)
    assert link.is_symlink()
    assert tg.load(path) == {"x": 1}
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_name_alone_is_a_file_in_this_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tg.save({"x": 1}, "here")
    assert tg.load("here") == {"x": 1}
    assert tg.load(b"here") == {"x": 1}


# Training goes on -------------------------------------------------------------------------------------------------


OPTIMISERS = {
    "SGD": {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.01},
    "Adam": {"lr": 0.01, "betas": (0.8, 0.95)},
    "AdamW": {"lr": 0.01, "amsgrad": True},
    "RMSprop": {"lr": 0.01, "momentum": 0.5, "centered": True},
    "Adagrad": {"lr": 0.1, "lr_decay": 0.1},
    "Adadelta": {"lr": 0.5},
    "Adamax": {"lr": 0.01},
    "NAdam": {"lr": 0.01, "momentum_decay": 0.1},
    "RAdam": {"lr": 0.01, "betas": (0.9, 0.9)},
    "Rprop": {"lr": 0.01},
}
SCHEDULERS = {
    "StepLR": {"step_size": 3},
    "CosineAnnealingWarmRestarts": {"T_0": 4},
    "OneCycleLR": {"max_lr": 0.2, "total_steps": 12},
    "ReduceLROnPlateau": {"patience": 0, "factor": 0.5, "threshold": 0.5},
}


def learner(optimiser: str, scheduler: str) -> tuple[Any, Any, Any]:
    """A small network whose layers stand in groups of their own."""
    tg.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 2))
    groups = [{"params": model[0].parameters()}, {"params": model[2].parameters(), "weight_decay": 0.02}]
    steps = getattr(optim, optimiser)(groups, **OPTIMISERS[optimiser])
    settings = dict(SCHEDULERS[scheduler])
    if scheduler == "OneCycleLR" and optimiser in ("Adagrad", "Adadelta", "Rprop"):
        settings["cycle_momentum"] = False
    return model, steps, getattr(optim.lr_scheduler, scheduler)(steps, **settings)


def train(model: Any, optimizer: Any, scheduler: Any, steps: range) -> None:
    for step in steps:
        rng = np.random.default_rng(step)
        x, y = tg.tensor(rng.normal(size=(8, 5)), dtype="float32"), tg.tensor(rng.integers(0, 2, 8))
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        scheduler.step(*[loss.item()] * isinstance(scheduler, optim.lr_scheduler.ReduceLROnPlateau))


@pytest.mark.parametrize("scheduler", SCHEDULERS)
@pytest.mark.parametrize("optimiser", OPTIMISERS)
def test_ten_steps_are_five_and_five(optimiser: str, scheduler: str, path: Path) -> None:
    """Saved and loaded in between, into fresh objects: to the last bit, state and all."""
    names = ("model", "optimizer", "scheduler")
    whole = learner(optimiser, scheduler)
    train(*whole, range(10))
    half = learner(optimiser, scheduler)
    train(*half, range(5))
    tg.save({name: part.state_dict() for name, part in zip(names, half, strict=True)} | {"step": 5}, path)
    found, fresh = tg.load(path), learner(optimiser, scheduler)
    for name, part in zip(names, fresh, strict=True):
        part.load_state_dict(found[name])
    train(*fresh, range(found["step"], 10))
    for ours, theirs, before in zip(fresh, whole, half, strict=True):
        assert same(dict(ours.state_dict()), dict(theirs.state_dict()))
        assert not same(dict(before.state_dict()), dict(theirs.state_dict()))
