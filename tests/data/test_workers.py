"""Workers of a loader: the same batches from processes and threads, seeds, errors, ends, and what is left behind."""

from __future__ import annotations

import gc
import os
import random
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from collections.abc import Callable
from multiprocessing import active_children, get_all_start_methods
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tinygrad_edu.data import DataLoader, IterableDataset, get_worker_info
from tinygrad_edu.data.parcels import IN_MEMORY
from tinygrad_edu.data.timeline import Timeline
from tinygrad_edu.errors import ArgumentError, DtypeError, EduError, WorkerError

CONTEXTS = [one for one in ("fork", "spawn", "forkserver") if one in get_all_start_methods()]
PLACE = IN_MEMORY if IN_MEMORY.exists() else Path(tempfile.gettempdir())
KINDS: list[dict[str, Any]] = [{"worker": "thread"}, {"worker": "process"}]
KIND = pytest.mark.parametrize("kind", KINDS, ids=["thread", "process"])


class Pictures:
    """Samples with a picture, a number, a text and random numbers. ``at`` is called with each number."""

    def __init__(self, count: int = 20, size: int = 4, at: Callable[[int], Any] | None = None) -> None:
        self.count, self.size, self.at = count, size, at

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, number: int) -> Any:
        found = self.at(number) if self.at is not None else None
        picture = np.full((self.size, self.size), number, np.float32)
        if found is not None:
            return found
        return {"picture": picture, "label": number, "name": f"picture {number}"}


class Stream(IterableDataset):
    def __init__(self, count: int, split: bool) -> None:
        self.count, self.split = count, split

    def __iter__(self) -> Any:
        info = get_worker_info() if self.split else None
        return iter(range(self.count) if info is None else range(info.id, self.count, info.num_workers))


def plain(batch: Any) -> Any:
    """A batch in Python's own values."""
    if isinstance(batch, dict):
        return {key: plain(value) for key, value in batch.items()}
    if isinstance(batch, (list, tuple)):
        return [plain(one) for one in batch]
    return batch.tolist() if hasattr(batch, "tolist") else batch


def left() -> list[Any]:
    """Worker processes, worker threads and shared memory that are there."""
    threads = [one.name for one in threading.enumerate() if one.name.startswith("DataLoader worker")]
    memory = [one.name for one in PLACE.glob(f"tinygrad_edu-{os.getpid()}-*")]
    return [*[one.name for one in active_children() if one.name.startswith("DataLoader worker")], *threads, *memory]


def wait_for(condition: Callable[[], Any], seconds: float = 10.0) -> bool:
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


@pytest.fixture(autouse=True)
def nothing_is_left() -> Any:
    yield
    gc.collect()
    assert wait_for(lambda: not left()), left()


# The same batches ----------------------------------------------------------------------------------------------------


@KIND
@pytest.mark.parametrize("settings", [
    {"batch_size": 3}, {"batch_size": 3, "shuffle": True}, {"batch_size": None}, {"batch_size": 6, "drop_last": True},
    {"batch_sampler": [[3, 1], [2], [0, 19, 4]]}, {"batch_size": 3, "sampler": [5, 4, 3, 2]},
    {"batch_size": 4, "collate_fn": lambda samples: [one["name"] for one in samples]},
])  # fmt: skip
def test_batches_are_those_without_workers_in_their_order(kind: dict[str, Any], settings: dict[str, Any]) -> None:
    def batches(**more: Any) -> list[Any]:
        loader = DataLoader(Pictures(), generator=tg.Generator().manual_seed(4), **settings, **more)
        return [[plain(batch) for batch in loader] for _ in range(2)]

    assert batches(num_workers=3, **kind) == batches()


@pytest.mark.parametrize("context", CONTEXTS)
def test_every_way_to_start_a_process(context: str) -> None:
    expected = [plain(batch) for batch in DataLoader(Pictures(), 4)]
    assert [plain(b) for b in DataLoader(Pictures(), 4, num_workers=2, multiprocessing_context=context)] == expected


@KIND
def test_large_arrays_come_whole_whatever_becomes_of_the_memory_that_they_came_in(kind: dict[str, Any]) -> None:
    loader = DataLoader(Pictures(24, 128), 4, num_workers=2, **kind)
    kept = [batch["picture"] for batch in loader]
    assert [sorted({*one.numpy().ravel().tolist()}) for one in kept] == [
        list(range(start, start + 4)) for start in range(0, 24, 4)
    ]
    kept[0].zero_()  # it is the receiver's own
    assert kept[1].numpy().min() == 4


@KIND
def test_batches_may_come_as_they_are_ready(kind: dict[str, Any]) -> None:
    data = Pictures(6, at=lambda number: time.sleep(0.3 if number == 0 else 0))
    came = [b["label"].item() for b in DataLoader(data, 1, num_workers=2, in_order=False, prefetch_factor=4, **kind)]
    assert sorted(came) == list(range(6)) and came != list(range(6))


@KIND
def test_workers_that_are_kept_give_the_same_as_new_ones_and_are_the_same(kind: dict[str, Any]) -> None:
    data = Pictures(8, at=lambda _: (os.getpid(), threading.get_ident()))
    loader = DataLoader(data, 2, num_workers=2, persistent_workers=True, **kind)
    first, second = ([plain(batch) for batch in loader] for _ in range(2))
    assert first == second and not (loader.timeline and loader.timeline.starts), (
        "they have been ready since the first pass"
    )
    new = [[plain(batch) for batch in DataLoader(data, 2, num_workers=2, **kind)] for _ in range(2)]
    assert new[0] != new[1] or kind["worker"] == "thread", "a thread's number may come again"


@KIND
def test_a_pass_that_was_left_leaves_nothing_in_the_next(kind: dict[str, Any]) -> None:
    loader = DataLoader(Pictures(), 2, num_workers=2, persistent_workers=True, prefetch_factor=3, **kind)
    for batch in loader:
        assert batch["label"].tolist() == [0, 1]
        break
    assert [batch["label"].tolist() for batch in loader] == [[i, i + 1] for i in range(0, 20, 2)]


# Data sets without numbers -------------------------------------------------------------------------------------------


@KIND
@pytest.mark.parametrize("size", [3, None])
def test_a_stream_is_split_over_the_workers_that_ask_who_they_are(kind: dict[str, Any], size: int | None) -> None:
    found = [plain(batch) for batch in DataLoader(Stream(10, True), size, num_workers=2, **kind)]
    if size is None:
        assert found == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    else:
        assert found == [[0, 2, 4], [1, 3, 5], [6, 8], [7, 9]]


@KIND
def test_a_stream_that_ends_early_in_one_worker(kind: dict[str, Any]) -> None:
    class Uneven(IterableDataset):
        def __iter__(self) -> Any:
            info = get_worker_info()
            return iter(range(2) if info is not None and info.id else range(10, 20))

    loader = DataLoader(Uneven(), 1, num_workers=2, **kind)
    for _ in range(2):
        assert [batch.item() for batch in loader] == [10, 0, 11, 1, 12, 13, 14, 15, 16, 17, 18, 19]


@KIND
def test_a_stream_that_each_worker_gives_whole_is_spoken_of(kind: dict[str, Any]) -> None:
    with pytest.warns(UserWarning, match="num_workers=2: each worker gives all samples of the data set"):
        found = [batch.item() for batch in DataLoader(Stream(3, False), 1, num_workers=2, **kind)]
    assert found == [0, 0, 1, 1, 2, 2], "as in PyTorch"


# Who reads, and its random numbers -----------------------------------------------------------------------------------


@KIND
def test_a_worker_knows_which_one_it_is(kind: dict[str, Any]) -> None:
    def told(_: int) -> Any:
        info = get_worker_info()
        assert info is not None
        return info.id, info.num_workers, info.seed, len(info.dataset)

    loader = DataLoader(Pictures(6, at=told), 1, num_workers=3, **kind)
    ids, sizes, seeds, lengths = zip(*([int(one.item()) for one in batch] for batch in loader), strict=True)
    assert ids == (0, 1, 2, 0, 1, 2) and {*sizes} == {3} and {*lengths} == {6}
    assert seeds[1] == seeds[0] + 1 and seeds[2] == seeds[0] + 2
    assert get_worker_info() is None


def drawn(_: int) -> Any:
    return random.random(), np.random.rand(), tg.rand(1).item()


def test_each_process_draws_numbers_of_its_own_that_follow_the_seed() -> None:
    def numbers() -> list[Any]:
        tg.manual_seed(5)
        loader = DataLoader(Pictures(4, at=drawn), 1, num_workers=2)
        return [[plain(batch) for batch in loader] for _ in range(2)]

    first, again = numbers(), numbers()
    assert first == again
    every = [value for one in first for batch in one for value in map(tuple, batch)]
    assert len({*every}) == len(every) == 2 * 4 * 3, "no number twice: not in the other worker, not in the next pass"


def test_each_thread_draws_numbers_of_this_package_that_follow_the_seed() -> None:
    def numbers() -> list[Any]:
        tg.manual_seed(5)
        return [plain(b) for b in DataLoader(Pictures(6, at=lambda _: tg.rand(2)), 1, num_workers=2, worker="thread")]

    first = numbers()
    assert first == numbers() and len({tuple(one[0]) for one in first}) == 6


@KIND
def test_workers_take_no_number_from_the_stream_that_shuffles(kind: dict[str, Any]) -> None:
    orders = []
    for more in ({}, {"num_workers": 2, **kind}):
        tg.manual_seed(9)
        loader = DataLoader(Pictures(), 5, shuffle=True, **more)
        orders.append([[b["label"].tolist() for b in loader] for _ in range(2)] + [tg.rand(2).tolist()])
    assert orders[0] == orders[1]


@KIND
def test_each_worker_is_prepared_before_its_first_sample(kind: dict[str, Any]) -> None:
    def prepare(number: int) -> None:
        info = get_worker_info()
        assert info is not None and info.id == number
        info.dataset.prepared = number + (os.getpid() if kind["worker"] == "process" else 0)

    class Prepared(Pictures):
        prepared = -1

        def __getitem__(self, number: int) -> Any:
            return self.prepared >= 0

    assert all(b.item() for b in DataLoader(Prepared(4), 1, num_workers=2, worker_init_fn=prepare, **kind))


@KIND
def test_an_error_in_preparing_a_worker_is_raised_with_the_first_batch(kind: dict[str, Any]) -> None:
    def prepare(number: int) -> None:
        raise LookupError(f"no file for {number}")

    with pytest.raises(LookupError, match="no file for 0"):
        next(iter(DataLoader(Pictures(), 2, num_workers=2, worker_init_fn=prepare, **kind)))


# What was done when --------------------------------------------------------------------------------------------------


@KIND
def test_the_timeline_of_a_pass(kind: dict[str, Any]) -> None:
    loader = DataLoader(Pictures(12, at=lambda _: time.sleep(0.002)), 2, num_workers=2, **kind)
    assert loader.timeline is None
    for _ in loader:
        time.sleep(0.001)
    timeline = loader.timeline
    assert timeline is not None and (timeline.samples, timeline.kind) == (12, kind["worker"])
    assert [one.number for one in timeline.batches] == list(range(6)) and timeline.count == 6
    assert [one.worker for one in timeline.batches] == [0, 1] * 3
    for one in timeline.batches:
        assert 0 <= one.asked <= one.began < one.read <= one.joined <= one.packed <= one.taken
        assert one.wanted <= one.taken and one.read - one.began >= 0.004
    assert {*timeline.starts} == {0, 1}
    for worker, (begun, ready) in timeline.starts.items():
        assert 0 <= begun < ready <= min(one.began for one in timeline.batches if one.worker == worker)
    check_timeline(timeline)


def check_timeline(timeline: Timeline) -> None:
    assert timeline.ended == timeline.span
    assert 0 < timeline.stalled <= 1
    steps = timeline.ready()
    assert steps[0] == (0, 0) and steps[-1][1] == 0 and all(depth >= 0 for _, depth in steps)
    assert [time for time, _ in steps] == sorted(time for time, _ in steps)
    uses = list(timeline.used())
    assert len(uses) == timeline.count and all(one.taken <= until for one, until in uses)
    in_use = sum(until - one.taken for one, until in uses)
    assert in_use + timeline.waited == pytest.approx(timeline.span, abs=0.005)


def test_the_timeline_without_workers_is_all_waiting_but_for_the_use() -> None:
    loader = DataLoader(Pictures(6, at=lambda _: time.sleep(0.01)), 2)
    for _ in loader:
        time.sleep(0.01)
    timeline = loader.timeline
    assert timeline is not None and [one.worker for one in timeline.batches] == [None] * 3 and timeline.starts == {}
    check_timeline(timeline)
    assert timeline.waited >= 0.06 and timeline.ready() == [(0.0, 0)]


# Errors --------------------------------------------------------------------------------------------------------------


def fail_at_five(number: int) -> None:
    if number == 5:
        raise KeyError("no picture 5")


@KIND
def test_an_error_in_a_worker_is_raised_here_with_its_traceback_and_the_pass_can_go_on(kind: dict[str, Any]) -> None:
    batches = iter(DataLoader(Pictures(8, at=fail_at_five), 2, num_workers=2, **kind))
    assert [next(batches)["label"].tolist() for _ in range(2)] == [[0, 1], [2, 3]]
    with pytest.raises(KeyError, match="no picture 5") as raised:
        next(batches)
    cause = str(raised.value.__cause__)
    assert "in worker 0 of the loader" in cause and "test_workers.py" in cause and "in fail_at_five" in cause
    assert 'raise KeyError("no picture 5")' in cause
    assert [batch["label"].tolist() for batch in batches] == [[6, 7]]


class TwoWords(Exception):
    def __init__(self, first: str, second: str) -> None:
        super().__init__(f"{first} {second}")


def raise_two_words(_: int) -> None:
    raise TwoWords("not", "picklable")


def test_an_error_that_cannot_be_pickled_comes_as_its_text() -> None:
    with pytest.raises(RuntimeError, match="TwoWords: not picklable"):
        next(iter(DataLoader(Pictures(at=raise_two_words), num_workers=1)))


@KIND
def test_an_error_of_this_package_names_the_line_that_wants_the_batch(kind: dict[str, Any]) -> None:
    batches = iter(DataLoader(Pictures(at=lambda number: (lambda: number,)), 2, num_workers=1, **kind))
    with pytest.raises(DtypeError, match="samples that hold a function") as raised:
        next(batches)  # this line
    assert "test_workers.py" in raised.value.line and "# this line" in raised.value.line


def test_a_batch_that_cannot_be_sent() -> None:
    data = Pictures(at=lambda number: (threading.Lock(),))
    with pytest.raises(TypeError, match=r"cannot pickle '_thread\.lock' object"):
        next(iter(DataLoader(data, None, num_workers=1)))


def test_a_data_set_that_cannot_be_sent() -> None:
    data = Pictures()
    data.lock = threading.Lock()  # type: ignore[attr-defined]
    with pytest.raises(WorkerError, match=r"(?s)cannot be sent: cannot pickle .*open files and locks in the worker"):
        iter(DataLoader(data, num_workers=1))
    assert len(list(DataLoader(data, num_workers=1, worker="thread"))) == 20


def test_without_cloudpickle_processes_are_refused_and_threads_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    with pytest.raises(ImportError, match=r"(?s)only cloudpickle can send.*worker='thread'"):
        iter(DataLoader(Pictures(), num_workers=1))
    assert len(list(DataLoader(Pictures(), num_workers=1, worker="thread"))) == 20


def end_at_five(number: int) -> None:
    if number == 5:
        os._exit(3)


def kill_at_five(number: int) -> None:
    if number == 5:
        os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("at, how", [(end_at_five, "ended by itself, with exit code 3,"), (kill_at_five, "SIGKILL")])
@pytest.mark.parametrize("context", CONTEXTS)
def test_a_worker_that_is_gone_is_told_of_at_once(at: Any, how: str, context: str) -> None:
    batches = iter(DataLoader(Pictures(8, 128, at), 2, num_workers=2, multiprocessing_context=context))
    start = time.monotonic()
    with pytest.raises(WorkerError, match=rf"worker 0 \(process \d+\)(?s:.*){how}(?s:.*)while it read batch 2"):
        list(batches)
    assert time.monotonic() - start < 10, "normally some milliseconds"
    assert wait_for(lambda: not left())


def test_a_kept_loader_whose_worker_was_killed_begins_again() -> None:
    loader = DataLoader(Pictures(8), 2, num_workers=2, persistent_workers=True)
    assert len(list(loader)) == 4
    os.kill(active_children()[0].pid or 0, signal.SIGKILL)
    with pytest.raises(WorkerError, match="was killed by SIGKILL"):
        list(loader)
    assert len(list(loader)) == 4


@KIND
def test_a_batch_that_takes_too_long(kind: dict[str, Any]) -> None:
    done = threading.Event()
    data = Pictures(at=lambda number: time.sleep(1.0) if kind["worker"] == "process" else done.wait(10))
    if kind["worker"] == "process":
        data = Pictures(at=sleep_long)
    with pytest.raises(WorkerError, match=r"(?s)no batch came in 0.2 s; asked are worker 0, worker 1"):
        list(DataLoader(data, 2, num_workers=2, timeout=0.2, **kind))
    done.set()


def sleep_long(_: int) -> None:
    time.sleep(60)


def open_another(_: int) -> Any:
    return next(iter(DataLoader(Pictures(2), num_workers=1)))["label"].item()


def test_workers_of_a_worker_are_refused_unless_they_are_threads() -> None:
    with pytest.raises(WorkerError, match="a worker process may not start processes of its own"):
        next(iter(DataLoader(Pictures(at=open_another), num_workers=1)))


@pytest.mark.parametrize("settings, why", [
    ({"prefetch_factor": 2}, "it is about workers, and there are none"),
    ({"persistent_workers": True}, "it is about workers, and there are none"),
    ({"timeout": 3}, "it is about workers, and there are none"),
    ({"multiprocessing_context": "spawn"}, "it is about workers, and there are none"),
    ({"num_workers": 1, "prefetch_factor": 0}, "how many batches each worker reads ahead, from 1 up"),
    ({"num_workers": 1, "timeout": -1}, "how many seconds a batch may take"),
    ({"num_workers": 1, "worker": "fibre"}, "there are process and thread"),
    ({"num_workers": 1, "multiprocessing_context": "magic"}, "this system has"),
])  # fmt: skip
def test_arguments_that_make_no_sense(settings: dict[str, Any], why: str) -> None:
    with pytest.raises(ArgumentError, match=why):
        DataLoader(Pictures(), **settings)


# Nothing is left -----------------------------------------------------------------------------------------------------


@KIND
def test_a_loader_that_is_dropped_half_way_leaves_nothing(kind: dict[str, Any]) -> None:
    batches = iter(DataLoader(Pictures(100, 128), 2, num_workers=2, **kind))
    next(batches)
    assert left()
    del batches
    gc.collect()
    assert wait_for(lambda: not left())


def test_an_error_in_the_loop_leaves_nothing() -> None:
    def train() -> None:
        for _ in DataLoader(Pictures(100, 128), 2, num_workers=2):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        train()
    gc.collect()
    assert wait_for(lambda: not left())


PROGRAM = """
import os, sys, time
import numpy as np
from tinygrad_edu.data import DataLoader, get_worker_info

class Data:  # of the program itself, without `if __name__ == "__main__"`
    def __len__(self): return 1000
    def __getitem__(self, number):
        if number < 8: os.write(1, f"worker {{os.getpid()}}\\n".encode())  # at once, or two of them mix
        if {busy}:
            while number >= 8: pass
        return np.ones((128, 128), np.float32)

batches = iter(DataLoader(Data(), 4, num_workers=2, multiprocessing_context={context!r}))
next(batches), next(batches)
print("here", flush=True)
{then}
"""


def alive(pid: int) -> bool:
    """Whether a process is there and has not ended."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


def hear_ctrl_c() -> None:
    """A shell lets what runs in the background ignore it, and so would all that is started there."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def start(folder: Path, then: str, context: str, busy: bool) -> tuple[subprocess.Popen[str], set[int]]:
    """A program with two workers, which has got its first batches."""
    code = PROGRAM.format(then=textwrap.dedent(then), context=context, busy=busy)
    file = folder / "program.py"
    file.write_text(code)
    program = subprocess.Popen(
        [sys.executable, str(file)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        preexec_fn=hear_ctrl_c,  # noqa: PLW1509
    )  # fmt: skip
    workers = set()
    assert program.stdout is not None
    for line in program.stdout:
        if line.startswith("worker"):
            workers.add(int(line.split()[1]))
        if line == "here\n":
            break
    assert len(workers) == 2, program.communicate()[1]
    return program, workers


linux = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks processes up in /proc")


@linux
@pytest.mark.drawn(1 / 3)
@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("busy", [False, True])
@pytest.mark.parametrize("how", ["end", "killed", "Ctrl-C", "error"])
def test_a_program_that_ends_leaves_no_process_and_no_shared_memory(
    tmp_path: Path, how: str, context: str, busy: bool
) -> None:
    then = {"end": "", "error": "raise SystemExit(4)"}.get(how, "time.sleep(60)")
    program, workers = start(tmp_path, then, context, busy)
    if how == "killed":
        program.kill()
    elif how == "Ctrl-C":
        os.killpg(program.pid, signal.SIGINT)
    _, errors = program.communicate(timeout=60)
    assert wait_for(lambda: not any(map(alive, workers)))
    assert wait_for(lambda: not [*PLACE.glob(f"tinygrad_edu-{program.pid}-*")])
    assert ("KeyboardInterrupt" in errors) == (how == "Ctrl-C")
    assert errors.count("Traceback") == (how == "Ctrl-C"), errors
    if how != "killed":
        assert "leaked" not in errors


@linux
@pytest.mark.slow
def test_a_hundred_workers_that_are_killed_leave_nothing() -> None:
    for turn in range(50):
        batches = iter(DataLoader(Pictures(1000, 128), 2, num_workers=2))
        next(batches)
        time.sleep(0.0005 * (turn % 7))
        pids = [one.pid or 0 for one in active_children()]
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        with pytest.raises(WorkerError):
            list(batches)
        assert wait_for(lambda pids=pids: not any(map(alive, pids)) and not left())


@linux
def test_a_process_forked_from_the_loop_does_not_end_its_workers() -> None:
    batches = iter(DataLoader(Pictures(40), 2, num_workers=2))
    next(batches)
    child = os.fork() if sys.version_info < (3, 12) else None  # later versions warn of a fork beside threads
    if child == 0:
        del batches
        gc.collect()
        os._exit(0)
    if child:
        os.waitpid(child, 0)
    assert len(list(batches)) == 19


def test_errors_of_this_package_survive_pickle() -> None:
    import pickle

    error = ArgumentError("tried", "why", "mend")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is ArgumentError and isinstance(again, EduError)
    assert (str(again), again.line) == (str(error), error.line)
