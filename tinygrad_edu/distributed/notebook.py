"""`engines`: workers that are processes of an ipyparallel cluster, started and stopped from a notebook."""

from __future__ import annotations

import importlib
import logging
import os
import pickle
import shutil
import signal
import sys
import tempfile
import time
import weakref
from collections.abc import Callable
from typing import Any

from ..common.by_value import pickled
from ..common.wording import listed, plural, seconds_text, shown
from ..data.worker import retold
from ..errors import ArgumentError, MissingPackageError, WorkerError
from ..inputs.arguments import whole
from . import in_engine
from .functions import TIMEOUT, new_secret

HERE = "127.0.0.1"
LOOK = 0.05  # seconds between two looks at what the engines have said
GRACE = 5.0  # seconds in which the others may end by themselves, once a worker has failed
PATIENCE = 10.0  # seconds for an engine to end what it was interrupted in
OUTPUT = 1.0  # seconds for the last of what a function has printed


def engines(
    count: int | None = None, *, client: Any = None, timeout: float = TIMEOUT, host: str | None = None
) -> Engines:
    """Start ``count`` worker processes for a notebook, 2 if nothing is said. ``run`` calls a function on all of them.

    They are engines of ipyparallel: processes that wait for work. With ``client``, a Client or a Cluster of ipyparallel
    that runs already, its engines are taken, the first ``count`` or all: so it works on several machines. ``host`` is
    the address of the first engine for the others, if they cannot find it out. ``timeout`` is how many seconds engines
    may take to come, and a worker waits for the others.

    Raises `MissingPackageError` without ipyparallel or cloudpickle, `ArgumentError` for a count that there cannot be,
    and `WorkerError` if too few engines come.
    """
    for name in ("ipyparallel", "cloudpickle"):
        _needed(name)
    most = 2 if client is None and count is None else count
    if most is not None and not 1 <= whole("engines", "count", most) <= 1024:
        raise ArgumentError(f"engines({most})", "there can be 1 to 1024", "as many as cores are of use")
    if client is None:
        return _started(int(most or 2), timeout)
    if hasattr(client, "connect_client_sync"):  # a Cluster
        made = client.connect_client_sync()
        try:
            return Engines(made, _ids(made, most, timeout), timeout, host, made.close)
        except BaseException:
            made.close()
            raise
    if not hasattr(client, "ids"):
        why, mend = "its engines cannot be asked for", "give a Client or a Cluster of ipyparallel"
        raise ArgumentError(f"engines(client={shown(client, 40)})", why, mend)
    return Engines(client, _ids(client, most, timeout), timeout, host)


class Engines:
    """Workers that are engines of ipyparallel: see `engines`. As a block it ends them, and ``stop()`` does, too."""

    def __init__(
        self, client: Any, ids: list[int], timeout: float, host: str | None, end: Callable[..., Any] | None = None,
        *told: Any, threads: int = 0,
    ) -> None:  # fmt: skip
        self._client, self._ids, self._timeout = client, ids, timeout
        calls = [client[one].apply_async(in_engine.prepare, threads) for one in ids]
        places = [call.get(timeout) for call in calls]
        self._host = host or (HERE if len({name for name, _ in places}) == 1 else places[0][1])
        self._end = None if end is None else weakref.finalize(self, end, *told)
        self._stopped = False

    def run(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        """Call ``function(*args)`` on every worker. Returns what each gave, by rank, as `distributed.run` does.

        Function and arguments travel as copies: a model of the notebook is trained on the workers, and stays here as it
        was. What the workers print is printed here. The error of a worker is raised here, with its own traceback.
        Raises `WorkerError` where a worker died, or after ``stop``.
        """
        self._refuse_if_gone()
        task = _task(function, args)
        secret, size = new_secret(), len(self._ids)
        first = self._ask(0, in_engine.listen, size, self._host, secret, self._timeout)
        port = _Wait({0: first}, size, self._interrupt).ended()[0]
        calls: dict[int, Any] = {}
        try:
            for rank in range(size):
                calls[rank] = self._ask(
                    rank, in_engine.work, rank, size, (self._host, port), secret, self._timeout, task
                )
        except WorkerError:
            self._interrupt([*calls])  # they would wait for the others
            raise
        found = _Wait(calls, size, self._interrupt).ended()
        return [pickle.loads(found[rank]).result for rank in range(size)]

    def stop(self) -> None:
        """End the processes that `engines` has started. A second call does nothing."""
        self._stopped = True
        if self._end is not None:
            self._end()

    def _ask(self, rank: int, function: Callable[..., Any], *args: Any) -> Any:
        """Let a worker call a function. Raises `WorkerError` where it has died since it was looked at last."""
        from ipyparallel.error import NoEnginesRegistered

        try:
            return self._client[self._ids[rank]].apply_async(function, *args)
        except (IndexError, NoEnginesRegistered):
            self._refuse_if_gone()
            raise

    def _interrupt(self, ranks: list[int]) -> None:
        alive = [self._ids[rank] for rank in ranks if self._ids[rank] in self._client.ids]
        if alive:
            self._client.send_signal(signal.SIGINT, targets=alive, block=False)

    def _refuse_if_gone(self) -> None:
        tried, mend = f"run on {plural(len(self._ids), 'worker')}", "start new ones: distributed.engines(…)"
        if self._stopped:
            raise WorkerError(tried, "they have been stopped", mend)
        gone = [str(rank) for rank, one in enumerate(self._ids) if one not in self._client.ids]
        if gone:
            raise WorkerError(tried, f"the process of worker {listed(gone)} has died", f"stop() these, and {mend}")

    def __len__(self) -> int:
        return len(self._ids)

    def __enter__(self) -> Engines:
        return self

    def __exit__(self, *why: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"<{plural(len(self._ids), 'worker')}{', stopped' if self._stopped else ''}>"


class _Wait:
    """Waits for what was asked of the workers, shows what they print, and finds who is to blame if one fails."""

    def __init__(self, calls: dict[int, Any], size: int, interrupt: Callable[[list[int]], None]) -> None:
        self.calls, self.size, self.interrupt = calls, size, interrupt
        self.found: dict[int, Any] = {}
        self.errors: list[tuple[int, BaseException]] = []
        self.shown = dict.fromkeys(calls, (0, 0))

    def ended(self) -> dict[int, Any]:
        """What each has given, by rank. Raises the error of the one that is to blame."""
        until: float | None = None  # when those are interrupted that go on without the others
        try:
            while self.calls and (until is None or time.monotonic() < until):
                next(iter(self.calls.values())).wait(LOOK)
                self._look()
                if self.errors and until is None:
                    until = time.monotonic() + GRACE
        finally:
            self._stop()
        if self.errors:
            raise self._blamed()
        return self.found

    def _look(self) -> None:
        for rank, call in list(self.calls.items()):
            ended = call.ready()
            if ended:
                call.wait_for_output(OUTPUT)
            self._show(rank, call)
            if ended:
                del self.calls[rank]
                self._end(rank, call)

    def _show(self, rank: int, call: Any) -> None:
        said = call.stdout, call.stderr
        for stream, text, start in zip((sys.stdout, sys.stderr), said, self.shown[rank], strict=True):
            stream.write(text[start:])
        self.shown[rank] = len(said[0]), len(said[1])

    def _end(self, rank: int, call: Any) -> None:
        where = f"in worker {rank} of {self.size}"
        failed = call.exception()
        if failed is None:
            self.found[rank] = call.get()
            answer = pickle.loads(self.found[rank]) if isinstance(self.found[rank], bytes) else None
            if answer is not None and answer.failed is not None:
                error = retold(answer.failed, where)
                error.add_note(where)
                self.errors.append((rank, error))
        elif getattr(failed, "ename", "") == "EngineError":
            why, mend = f"worker {rank} is gone: its process has died", "see whether memory ran out; start new workers"
            self.errors.append((rank, WorkerError(f"work of {plural(self.size, 'worker')}", why, mend)))
        else:
            text = getattr(failed, "traceback", "")
            told = WorkerError(f"work of worker {rank}", f"{failed}", "see whether all have the same packages")
            self.errors.append((rank, retold((told, text), where)))

    def _blamed(self) -> BaseException:
        """An error of its own comes first, then the death of a process, then that of who waited for another one."""

        def blame(error: BaseException) -> int:
            if isinstance(error, WorkerError):
                return 1 if "has died" in error.why else 2
            return 3 if isinstance(error, KeyboardInterrupt) else 0

        return min((error for _, error in self.errors), key=blame)

    def _stop(self) -> None:
        """Interrupt those that still work: another one has failed, or the notebook was interrupted."""
        if self.calls:
            self.interrupt(list(self.calls))
            until = time.monotonic() + PATIENCE
            while self.calls and time.monotonic() < until:
                next(iter(self.calls.values())).wait(LOOK)
                self._look()


def _needed(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        why = "ipyparallel runs the worker processes of a notebook, and cloudpickle sends its functions there"
        raise MissingPackageError("engines()", why, "install them: pip install ipyparallel cloudpickle") from None


def _started(count: int, timeout: float) -> Engines:
    """A cluster of our own, on this machine, in a folder that goes with it."""
    folder = tempfile.mkdtemp(prefix="tinygrad_edu-")
    cluster = _needed("ipyparallel").Cluster(n=count, profile_dir=folder, log_level=logging.CRITICAL)
    told: list[Any] = [cluster, folder]
    try:
        cluster.start_controller_sync()
        paths = os.pathsep.join(path for path in sys.path if path)  # so that they find what the notebook finds
        cluster.start_engines_sync(environment={"PYTHONPATH": paths})
        client = cluster.connect_client_sync()
        told.append(client)
        ids = _ids(client, count, timeout)
        threads = max(1, (os.cpu_count() or 1) // count)
        return Engines(client, ids, timeout, HERE, _end, *told, threads=threads)
    except BaseException:
        _end(*told)
        raise


def _end(cluster: Any, folder: str, client: Any = None) -> None:
    if client is not None:
        client.close()
    cluster.stop_cluster_sync()
    shutil.rmtree(folder, ignore_errors=True)  # a log may still be written there


def _ids(client: Any, count: int | None, timeout: float) -> list[int]:
    """The engines to take, once there are enough of them."""
    wanted = count or max(1, len(client.ids))
    try:
        client.wait_for_engines(wanted, timeout=timeout, interactive=False)
    except TimeoutError as error:
        why = f"{len(client.ids)} of {wanted} came within {seconds_text(timeout)}"
        raise WorkerError(f"engines({wanted})", why, "give them more time: timeout=600; or ask for fewer") from error
    return list(client.ids)[:wanted]


def _task(function: Callable[..., Any], args: tuple[Any, ...]) -> bytes:
    if not callable(function):
        raise ArgumentError(f"run({shown(function, 40)})", "it is no function", "give the function, without calling it")
    try:
        return pickled((function, args))
    except Exception as error:
        why, mend = f"a part of the function cannot be sent: {error}", "open files and locks inside the function"
        raise WorkerError("run of a function on other processes", why, mend) from error
