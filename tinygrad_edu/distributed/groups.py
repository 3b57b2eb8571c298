"""Groups of workers: threads of this process, or processes that are connected to the first one."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection, Listener
from typing import Any

import numpy as np

from .. import backends
from ..errors import WorkerError
from ..tensor import Tensor
from .meeting import ON_DEVICES, Meeting

TRIES_EVERY = 0.05  # seconds between two tries to reach the first worker
LAST_WORDS = 0.5  # seconds that worker 0 stays for the others, when it ends


class Group:
    """What a worker knows of the others: its ``rank``, and how many there are, its ``size``.

    ``moved`` counts the bytes of arrays that it has given to the others and got from them.
    """

    name = ""

    def __init__(self, rank: int, size: int, timeout: float) -> None:
        self.rank, self.size, self.timeout = rank, size, timeout
        self.moved = 0

    def meet(self, what: str, value: Any) -> Any:
        """See `Meeting.meet`."""
        result = self._meet(what, value)
        given = value.values if what.endswith(ON_DEVICES) else value
        self.moved += sum(one.nbytes for one in (given, result) if isinstance(one, np.ndarray))
        return result

    def mean(self, value: Any, where: str = "") -> np.ndarray[Any, Any]:
        """The mean of the arrays of all workers, in their dtype; ``where`` it is computed: see `ON_DEVICES`."""
        total: np.ndarray[Any, Any] = self.meet(f"sum{where}", value)
        return total / np.asarray(self.size, total.dtype)

    def joins(self, tensor: Tensor) -> bool:
        """Whether such tensors go from device to device; else by way of the host."""
        return False

    def _meet(self, what: str, value: Any) -> Any:
        raise NotImplementedError

    def leave(self, why: str) -> None:
        """Tell the others that this worker does not come any more."""


class Threads(Group):
    """Workers that are threads of one process. NumPy computes outside of Python's lock, so large work runs at once."""

    name = "threads"

    def __init__(self, rank: int, meeting: Meeting) -> None:
        super().__init__(rank, meeting.size, meeting.timeout)
        self._meeting = meeting

    def joins(self, tensor: Tensor) -> bool:
        return backends.of(tensor.array).joins

    def _meet(self, what: str, value: Any) -> Any:
        return self._meeting.meet(self.rank, what, value)

    def leave(self, why: str) -> None:
        self._meeting.leave(self.rank, why)


class Tcp(Group):
    """Workers that are processes, on this machine or on others: all are connected to that of rank 0, which adds up.

    Worker 0 listens at ``address``: at a free port where it is given port 0. Values travel as pickles, so the
    ``secret`` keeps strangers out: connections without it are refused.
    """

    name = "tcp"

    def __init__(self, rank: int, size: int, address: tuple[str, int], secret: bytes, timeout: float) -> None:
        super().__init__(rank, size, timeout)
        self.address, self._closed = address, False
        self._connection: Connection[Any, Any] | None = None
        if rank == 0:
            self._meeting = Meeting(size, timeout)
            self._serving: list[threading.Thread] = []
            self._listener = Listener(address, backlog=size, authkey=secret)
            self.address = address[0], int(self._listener.address[1])
            self._accepting = threading.Thread(target=self._accept, name="tcp group", daemon=True)
            self._accepting.start()
        else:
            self._connection = self._reach(address, secret)
            self._connection.send(rank)

    def _reach(self, address: tuple[str, int], secret: bytes) -> Connection[Any, Any]:
        until = time.monotonic() + self.timeout
        while True:
            try:
                return Client(address, authkey=secret)
            except OSError as error:  # it is not there yet
                if time.monotonic() > until:
                    why, mend = (
                        f"worker 0 does not answer at {address[0]}:{address[1]}",
                        "start it first, or wait longer",
                    )
                    raise WorkerError(f"init_process_group as worker {self.rank}", why, mend) from error
                time.sleep(TRIES_EVERY)

    # The side of worker 0 ------------------------------------------------------------------------------------------

    def _accept(self) -> None:
        here = 1
        while here < self.size and not self._closed:
            try:
                connection = self._listener.accept()
                rank = int(connection.recv())
            except (OSError, EOFError, AuthenticationError):  # a stranger, or `leave`, which wakes this thread
                continue
            here += 1
            self._serving.append(threading.Thread(target=self._serve, args=(rank, connection), daemon=True))
            self._serving[-1].start()
        self._listener.close()

    def _serve(self, rank: int, connection: Connection[Any, Any]) -> None:
        """Stand at the meeting in the place of a worker that is another process."""
        try:
            while True:
                what, value = connection.recv()
                if what == "leave":
                    self._meeting.leave(rank, value)
                    return
                try:
                    result = self._meeting.meet(rank, what, value)
                except WorkerError as error:
                    result = error
                connection.send(result)
        except (EOFError, OSError):
            self._meeting.leave(rank, "its connection has ended")

    # The side of every worker --------------------------------------------------------------------------------------

    def _meet(self, what: str, value: Any) -> Any:
        if self._connection is None:
            return self._meeting.meet(self.rank, what, value)
        try:
            self._connection.send((what, value))
            result = self._connection.recv()
        except (EOFError, OSError) as error:
            why, mend = "worker 0 is gone: its connection has ended", "see its own error"
            raise WorkerError(f"{what} of {self.size} workers", why, mend) from error
        if isinstance(result, WorkerError):
            raise result
        return result

    def leave(self, why: str) -> None:
        if self._connection is None:
            self._meeting.leave(self.rank, why)
            self._closed = True
            if self._accepting.is_alive():
                with suppress(ConnectionError):  # all have come, and it has just stopped listening
                    socket.create_connection(self.address).close()
                self._accepting.join()
            until = time.monotonic() + LAST_WORDS
            for thread in self._serving:  # which may still have to tell its worker who is gone
                thread.join(max(0.0, until - time.monotonic()))
            return
        try:
            self._connection.send(("leave", why))
            self._connection.close()
        except OSError:  # worker 0 went first
            return
