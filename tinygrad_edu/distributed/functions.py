"""PyTorch's functions for workers that compute together, by the same names, on the group of the worker that calls."""

from __future__ import annotations

import atexit
import os
import secrets
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from threading import Thread
from typing import Any

import numpy as np

from .. import backends
from ..common.blocks import block
from ..common.lines import user_line
from ..common.wording import shown
from ..common.workers import WORKER, Worker
from ..core.inplace import own_buffer
from ..errors import ArgumentError, WorkerError
from ..inputs.arguments import whole
from ..settings import no_grad
from ..tensor import Tensor, from_numpy
from .groups import Group, Tcp, Threads
from .meeting import ON_DEVICES, Meeting

TIMEOUT = 300.0  # seconds
_GROUP: ContextVar[Group | None] = ContextVar("group", default=None)


class ReduceOp:
    """How values of the workers become one."""

    SUM, PRODUCT, MIN, MAX, AVG = "sum", "prod", "min", "max", "avg"


def is_initialized() -> bool:
    """Whether this worker belongs to a group."""
    return _GROUP.get() is not None


def group() -> Group:
    """The group of this worker. Raises `WorkerError` where there is none."""
    found = _GROUP.get()
    if found is None:
        mend = "call init_process_group() first, or run the function by distributed.run(function, workers=2)"
        raise WorkerError("a call to the other workers", "this program belongs to no group", mend)
    return found


@block
def group_of(found: Group) -> Iterator[None]:
    """In this block, this worker belongs to a group that is made already."""
    token = _GROUP.set(found)
    try:
        yield
    finally:
        _GROUP.reset(token)


def get_rank() -> int:
    """The number of this worker, from 0; 0 without a group."""
    found = _GROUP.get()
    return 0 if found is None else found.rank


def get_world_size() -> int:
    """How many workers there are; 1 without a group."""
    found = _GROUP.get()
    return 1 if found is None else found.size


def init_process_group(
    backend: str = "tcp", init_method: str | None = None, timeout: float = TIMEOUT, world_size: int = -1,
    rank: int = -1, *, secret: str | None = None,
) -> None:  # fmt: skip
    """Become one of ``world_size`` workers, each a process. It waits until worker 0 is there.

    ``init_method`` is the address of worker 0, ``"tcp://127.0.0.1:29500"``. What is not given is read from the
    environment: ``RANK``, ``WORLD_SIZE``, ``MASTER_ADDR`` and ``MASTER_PORT``, as launchers set them, and from
    ``TINYGRAD_EDU_SECRET`` the secret that all workers share. Between machines a secret is needed.

    With the backend ``"mpi"``, of a program that ``mpiexec`` has started, MPI knows all that.

    Raises `ArgumentError` for settings that cannot be, `WorkerError` if worker 0 does not answer, and
    `MissingPackageError` for MPI without mpi4py.
    """
    if backend not in ("tcp", "gloo", "mpi"):
        mend = "use 'tcp', which 'gloo' is taken for, or 'mpi'; for threads, distributed.run(function, workers=2)"
        raise ArgumentError(f"init_process_group({shown(backend, 40)})", "there is no such backend", mend)
    if is_initialized():
        mend = "call destroy_process_group() first"
        raise ArgumentError("init_process_group()", "this worker belongs to a group already", mend)
    if backend == "mpi":
        from .mpi import started

        made: Group = started(rank, world_size, init_method, timeout)
    else:
        number, size = _number("RANK", rank), _number("WORLD_SIZE", world_size)
        made = _connected(init_method, timeout, size, number, secret)
    atexit.register(made.leave, "its program has ended")
    _GROUP.set(made)


def _connected(init_method: str | None, timeout: float, size: int, rank: int, secret: str | None) -> Tcp:
    if not 0 <= rank < size:
        raise ArgumentError(f"init_process_group(rank={rank}, world_size={size})", "ranks go from 0", "give 0 or more")
    host, port = _address(init_method)
    known = secret or os.environ.get("TINYGRAD_EDU_SECRET")
    if known is None and host not in ("127.0.0.1", "localhost"):
        why, mend = "anybody could connect to it", "give all workers one secret=…, or set TINYGRAD_EDU_SECRET"
        raise ArgumentError(f"init_process_group at {host}", why, mend)
    return Tcp(rank, size, (host, port), (known or "of this machine").encode(), timeout)


def _number(name: str, given: int) -> int:
    if given >= 0:
        return whole("init_process_group", name.lower(), given)
    found = os.environ.get(name, "")
    if not found.isdecimal():
        why, mend = f"nothing says what {name} is", f"give {name.lower()}=…, or set {name} in the environment"
        raise ArgumentError("init_process_group()", why, mend)
    return int(found)


def _address(init_method: str | None) -> tuple[str, int]:
    if init_method in (None, "env://"):
        host, port = os.environ.get("MASTER_ADDR", "127.0.0.1"), os.environ.get("MASTER_PORT", "29500")
    else:
        host, _, port = str(init_method).removeprefix("tcp://").rpartition(":")
    if not host or not port.isdecimal():
        why, mend = "it is no address", 'write init_method="tcp://127.0.0.1:29500"'
        raise ArgumentError(f"init_process_group(init_method={shown(init_method, 60)})", why, mend)
    return host, int(port)


def new_secret() -> str:
    """A secret for the workers of one program."""
    return secrets.token_hex(16)


def destroy_process_group(why: str = "it has ended") -> None:
    """Leave the group. Who still waits for this worker is told so."""
    found = _GROUP.get()
    if found is not None:
        atexit.unregister(found.leave)
        found.leave(why)
        _GROUP.set(None)


def run(function: Callable[..., Any], workers: int = 2, *args: Any, timeout: float = TIMEOUT) -> list[Any]:
    """Call ``function(*args)`` in so many threads, each a worker of one group. Returns what each gave, by rank.

    The first worker that raises is told of: its error is raised here, with a note of its rank, and the others end at
    their next meeting. Raises `ArgumentError` for less than one worker.

    >>> import tinygrad_edu as tg
    >>> from tinygrad_edu import distributed as dist
    >>> def work():
    ...     x = tg.tensor([float(dist.get_rank())])
    ...     dist.all_reduce(x)
    ...     return x.item()
    >>> dist.run(work, 3)
    [3.0, 3.0, 3.0]
    """
    count = whole("run", "workers", workers)
    if not 1 <= count <= 64:
        raise ArgumentError(f"run(workers={count})", "there can be 1 to 64", "as many as cores are of use")
    meeting, parent = Meeting(count, timeout), WORKER.get()
    crew = [Worker(rank, parent) for rank in range(count)]
    results: list[Any] = [None] * count
    errors: list[tuple[int, BaseException]] = []

    def work(rank: int) -> None:
        _GROUP.set(Threads(rank, meeting))
        WORKER.set(crew[rank])
        try:
            results[rank] = function(*args)
            meeting.leave(rank, "it has ended")
        except BaseException as error:
            errors.append((rank, error))
            meeting.leave(rank, f"it raised {type(error).__name__}")

    threads = [Thread(target=work, args=(rank,), name=f"worker {rank}") for rank in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for ended in [call for one in crew for call in one.ended]:
        ended()
    if errors:
        rank, error = next((one for one in errors if not isinstance(one[1], WorkerError)), errors[0])
        error.add_note(f"in worker {rank} of {count}")
        raise error
    return results


# Collectives ---------------------------------------------------------------------------------------------------------


def all_reduce(tensor: Tensor, op: str = ReduceOp.SUM) -> None:
    """Write into ``tensor``, on every worker, the sum of those of all (or what ``op`` says). All get the same bits."""
    if _joins(tensor, "all_reduce"):
        _by_devices(tensor, "all-reduce", lambda brought: reduced(brought, op, ON_DEVICES))
    else:
        _fill(tensor, reduced(_array(tensor), op))


def reduced(value: Any, op: str = ReduceOp.SUM, where: str = "") -> np.ndarray[Any, Any]:
    """The same for arrays: a new one, which the workers of a process may share; or for offers of devices."""
    if op not in vars(ReduceOp).values():
        raise ArgumentError(f"all_reduce with op={shown(op, 40)}", "there is no such operation", "use ReduceOp.SUM")
    if op == ReduceOp.AVG:
        return group().mean(value, where)
    found: np.ndarray[Any, Any] = group().meet(f"{op}{where}", value)
    return found


def broadcast(tensor: Tensor, src: int = 0) -> None:
    """Write into ``tensor``, on every worker, the numbers of that of worker ``src``."""
    what = f"from {_source(src)}"
    if _joins(tensor, "broadcast"):
        _by_devices(tensor, "broadcast", lambda brought: group().meet(f"{what}{ON_DEVICES}", brought))
    else:
        _fill(tensor, group().meet(what, _array(tensor)))


def all_gather(tensor_list: list[Tensor], tensor: Tensor) -> None:
    """Write the tensors of all workers into those of the list, by rank."""
    _joins(tensor, "all_gather")
    found = group().meet("gather", _array(tensor))
    if len(tensor_list) != len(found):
        why, mend = f"there are {len(found)} workers", "give one tensor for each"
        raise ArgumentError(f"all_gather into {len(tensor_list)} tensors", why, mend)
    for place, array in zip(tensor_list, found, strict=True):
        _fill(place, array)


def all_gather_object(object_list: list[Any], obj: Any) -> None:
    """Fill the list with the objects of all workers, by rank."""
    object_list[:] = group().meet("gather", obj)


def barrier() -> None:
    """Wait until all workers are here."""
    group().meet("gather", None)


def share(count: int) -> float:
    """What a worker multiplies its mean loss by, if it has ``count`` samples and others may have more or less.

    Then the mean of the workers' gradients is the gradient of the mean over all samples. With equal counts it is 1.
    """
    mine = whole("share", "count", count)
    total = int(reduced(np.asarray(mine, np.int64)))
    return mine * get_world_size() / max(1, total)


def _source(src: int) -> int:
    if not isinstance(src, int) or not 0 <= src < group().size:
        raise ArgumentError(f"broadcast(src={shown(src, 40)})", f"there are {group().size} workers", "give a rank")
    return src


def _joins(tensor: Any, name: str) -> bool:
    """Whether it goes from device to device. Raises `ArgumentError` for anything but a tensor."""
    if not isinstance(tensor, Tensor):
        why, mend = "workers share tensors", "make it one: tg.tensor(x)"
        raise ArgumentError(f"{name} of a {type(tensor).__name__}", why, mend)
    return group().joins(tensor)


def offer(tensor: Tensor, name: str) -> Any:
    """What a worker brings of a tensor that goes from device to device: an offer of its device."""
    array = tensor.array
    return backends.of(array).offer(array, name)


def _array(tensor: Tensor) -> np.ndarray[Any, Any]:
    array: np.ndarray[Any, Any] = tensor.detach().numpy(force=True)
    return array


def _fill(tensor: Tensor, array: np.ndarray[Any, Any]) -> None:
    with no_grad():
        tensor.copy_(from_numpy(np.ascontiguousarray(array)))


def _by_devices(tensor: Tensor, name: str, meet: Callable[[Any], np.ndarray[Any, Any]]) -> None:
    """Let the tensor's device write into it what the workers make together."""
    with no_grad():
        whole = tensor if tensor.is_contiguous() else tensor.contiguous()
        brought = offer(whole, name)
        brought.receive(meet(brought))
        own_buffer(whole)
        whole.storage.written(name, user_line())
        if whole is not tensor:
            tensor.copy_(whole)
