"""Workers that `mpiexec` has started. MPI, the messages of computing centres, carries and adds up their arrays."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from ..common.wording import seconds_text
from ..errors import ArgumentError, MissingPackageError, WorkerError
from .groups import Group
from .meeting import Brought, gone, joined, missing, unlike

TAG = 29500  # of the messages by which workers agree
LEAVE, READY = "leave", "ready"  # what a worker says that does not come any more; that knows what all ask for
SPIN = 200  # looks without a pause
PAUSE = 5e-5  # seconds between looks after that
# What MPI adds up by itself, to what NumPy would give. For the least and the greatest, nan matters: those are integers.
INTEGERS = ("int8", "int16", "int32", "int64", "uint8")
OWN = {("SUM", "sum"): (*INTEGERS, "float32", "float64"), ("PROD", "prod"): (*INTEGERS, "float32", "float64")} | {
    ("MIN", "min"): INTEGERS, ("MAX", "max"): INTEGERS,
}  # fmt: skip


def _mpi() -> Any:
    tried, mend = 'init_process_group("mpi")', "install it: pip install mpi4py mpich; or use your centre's MPI"
    try:
        from mpi4py import MPI
    except ModuleNotFoundError:
        raise MissingPackageError(tried, "only mpi4py reaches MPI", mend) from None
    except (ImportError, RuntimeError) as error:
        raise MissingPackageError(tried, f"mpi4py finds no MPI: {error}", mend) from error
    return MPI


class Mpi(Group):
    """Workers that `mpiexec` has started.

    Before each operation every worker tells all others what it asks for, so that a difference, an end or a delay is an
    error, as in other groups. MPI itself would wait for ever. Then MPI does the work.
    """

    name = "mpi"

    def __init__(self, timeout: float) -> None:
        self._mpi = _mpi()
        world = self._mpi.COMM_WORLD
        super().__init__(world.rank, world.size, timeout)
        self._own = {what: (getattr(self._mpi, name), dtypes) for (name, what), dtypes in OWN.items()}
        self._gone: dict[int, str] = {}
        self._late: WorkerError | None = None  # once somebody did not come, messages do not belong together any more
        self._sent: list[Any] = []
        self._comm, request = world.Idup()  # so that no message of the program is taken for ours
        if not self._done(request):
            why = f"not all {self.size} came within {seconds_text(timeout)}"
            raise WorkerError('init_process_group("mpi")', why, "let every worker call it")

    def _done(self, request: Any) -> bool:
        until = time.monotonic() + self.timeout
        while not request.Test():
            if time.monotonic() > until:
                return False
            time.sleep(PAUSE)
        return True

    def _meet(self, what: str, value: Any) -> Any:
        asked = self._agreed(what, value)
        if what == "gather":
            return self._gathered(value, asked)
        if what.startswith("from "):
            return self._handed_on(int(what.removeprefix("from ")), value, asked)
        operation, dtypes = self._own[what]
        if str(value.dtype) not in dtypes:  # such as 16-bit floats: as in other groups
            return joined(what, self._comm.allgather(value))
        result = np.empty(value.shape, value.dtype)
        self._comm.Allreduce(np.array(value, order="C"), result, operation)
        return result

    def _gathered(self, value: Any, asked: dict[int, Brought]) -> list[Any]:
        if not isinstance(value, np.ndarray) or len({(one.shape, one.dtype) for one in asked.values()}) > 1:
            return list(self._comm.allgather(value))
        raw = np.empty((self.size, value.nbytes), np.uint8)  # bytes: MPI need not know the dtype
        self._comm.Allgather(np.array(value, order="C").reshape(-1).view(np.uint8), raw)
        return [one.view(value.dtype).reshape(value.shape) for one in raw]

    def _handed_on(self, source: int, value: Any, asked: dict[int, Brought]) -> Any:
        given = asked[source]
        assert given.shape is not None
        dtype = value.dtype if str(value.dtype) == given.dtype else np.dtype(given.dtype)
        raw = np.array(value, order="C") if self.rank == source else np.empty(given.shape, dtype)
        self._comm.Bcast(raw.reshape(-1).view(np.uint8), root=source)
        return raw

    # Agreement -----------------------------------------------------------------------------------------------------

    def _agreed(self, what: str, value: Any) -> dict[int, Brought]:
        """What each worker asks for, by rank. Raises `WorkerError` for what does not fit, and if one is gone or late.

        When all know that it fits, they say so. Only then does MPI begin, for there is no way back from there.
        """
        asked = {rank: Brought(*said) for rank, said in self._round(what, tuple(Brought.of(what, value))).items()}
        error = unlike(asked)
        if error is not None:
            raise error
        self._round(what, (READY,))
        return asked

    def _round(self, what: str, message: tuple[Any, ...]) -> dict[int, tuple[Any, ...]]:
        """Tell all others something, and get what they tell, by rank."""
        if self._late is not None:
            raise self._late
        if self._gone:
            raise gone(what, self.size, self._gone)
        self._tell(message)
        said, looks, until = {self.rank: message}, 0, time.monotonic() + self.timeout
        while len(said) < self.size:
            self._look(said, what)
            if time.monotonic() > until:
                self._late = missing(what, self.size, set(said), self.timeout)
                self.leave(self._late.why)
                raise self._late
            looks += 1
            if looks > SPIN:
                time.sleep(PAUSE)
        return said

    def _look(self, said: dict[int, tuple[Any, ...]], what: str) -> None:
        for rank in range(self.size):
            if rank not in said and self._comm.iprobe(source=rank, tag=TAG):
                said[rank] = self._comm.recv(source=rank, tag=TAG)
                if said[rank][0] == LEAVE:
                    self._gone[rank] = said[rank][1]
                    raise gone(what, self.size, self._gone)

    def _tell(self, message: tuple[Any, ...]) -> None:
        self._sent = [one for one in self._sent if not one.Test()]
        self._sent += [
            self._comm.isend(message, dest=rank, tag=TAG)
            for rank in range(self.size)
            if rank not in (self.rank, *self._gone)
        ]

    def leave(self, why: str) -> None:
        self._tell((LEAVE, why))


def started(rank: int, size: int, init_method: Any, timeout: float) -> Mpi:
    """The group of this program. What is given must be what MPI knows."""
    if init_method not in (None, "env://"):
        why, mend = "MPI knows by itself where the others are", "leave out init_method"
        raise ArgumentError('init_process_group("mpi", init_method=…)', why, mend)
    world = _mpi().COMM_WORLD
    if world.size == 1 and size != 1:
        mend = "start it so: mpiexec -n 2 python train.py; or give world_size=1"
        raise ArgumentError('init_process_group("mpi")', "mpiexec has not started this program, or only once", mend)
    if rank not in (-1, world.rank) or size not in (-1, world.size):
        tried = f'init_process_group("mpi", rank={rank}, world_size={size})'
        raise ArgumentError(tried, f"MPI says rank {world.rank} of {world.size}", "leave both out")
    return Mpi(timeout)
