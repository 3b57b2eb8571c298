"""What an engine of a cluster does for `engines`: it meets the others, calls a function, and tells what came of it."""

from __future__ import annotations

import pickle
import socket
from contextlib import suppress
from typing import Any, NamedTuple

from ..common.by_value import pickled
from ..data.worker import told
from ..errors import MissingPackageError, WorkerError
from ..threads import set_num_threads
from .functions import group_of
from .groups import Tcp

FAR = ("192.0.2.1", 9)  # an address that nobody has: to ask which of this machine's leads out of it
_waiting: list[Tcp] = []  # of worker 0, between `listen` and `work`


class Answer(NamedTuple):
    """What a function returned, or its error with the traceback as text."""

    result: Any
    failed: tuple[BaseException, str] | None = None


def prepare(threads: int) -> tuple[str, str]:
    """Take so many threads for products; 0 leaves them. Returns the machine's name, and its address for others."""
    if threads:
        with suppress(MissingPackageError):  # without threadpoolctl it works, too
            set_num_threads(threads)
    name = socket.gethostname()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(FAR)  # sends nothing
            return name, str(probe.getsockname()[0])
        except OSError:  # no network: then all engines are on this machine
            return name, name


def listen(size: int, host: str, secret: str, timeout: float) -> int:
    """Worker 0 waits for the others, so that they can come. Returns its port."""
    while _waiting:  # an earlier call ended before its work began
        _waiting.pop().leave("it has ended")
    _waiting.append(Tcp(0, size, (host, 0), secret.encode(), timeout))
    return _waiting[0].address[1]


def work(rank: int, size: int, address: tuple[str, int], secret: str, timeout: float, task: bytes) -> bytes:
    """Call the function that ``task`` holds as one worker of the group. Returns an `Answer`, as bytes."""
    group: Tcp | None = None
    why = "it was interrupted"
    try:
        group = _waiting.pop() if rank == 0 else Tcp(rank, size, address, secret.encode(), timeout)
        group.meet("gather", None)  # nobody may end before all are here
        function, args = pickle.loads(task)
        with group_of(group):
            answer = Answer(function(*args))
        why = "it has ended"
    except BaseException as error:  # also the end of a program: the notebook is told
        answer = Answer(None, told(error))
        why = f"it raised {type(error).__name__}"
    finally:
        if group is not None:
            group.leave(why)
    return _sent(answer)


def _sent(answer: Answer) -> bytes:
    """An answer as bytes. Of an error that cannot be sent, its text comes."""
    try:
        sent = pickled(answer)
        pickle.loads(sent)  # an error whose class takes other arguments than its text does not come out again
        return sent
    except Exception as error:
        if answer.failed is None:
            why, mend = f"what it returns cannot be sent: {error}", "return numbers, tensors or a state_dict"
            return pickled(Answer(None, told(WorkerError("the function of a worker", why, mend))))
        first, text = answer.failed
        return pickled(Answer(None, (RuntimeError(f"{type(first).__name__}: {first}"), text)))
