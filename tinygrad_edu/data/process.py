"""A worker in a process of its own: orders and answers through a pipe, arrays through shared memory."""

from __future__ import annotations

import os
import pickle
import random
import shutil
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from multiprocessing import parent_process
from typing import Any

import numpy as np

from ..errors import MissingPackageError
from ..tensor.random import manual_seed
from ..threads import set_num_threads
from .parcels import Packer
from .timeline import clock
from .worker import Answer, Order, WorkerInfo, serve, told


class PipeDesk:
    """Where orders come from, and answers go."""

    def __init__(self, pipe: Any, prefix: str) -> None:
        self.pipe, self.packer = pipe, Packer(prefix)

    def orders(self) -> Iterator[Order]:
        """Until the other end of the pipe is gone."""
        while True:
            try:
                order = self.pipe.recv()
            except (EOFError, OSError):
                return
            self.packer.back(order.emptied)
            yield order

    def give(self, answer: Answer) -> None:
        """Send it. What cannot be pickled is answered by the error that says so."""
        try:
            answer.batch = self.packer.pack(answer.batch)
        except Exception as error:
            answer.batch, answer.failed = None, told(error)
        answer.times = (*answer.times, clock())
        if answer.failed is not None and not _travels(answer.failed[0]):
            answer.failed = (RuntimeError(f"{type(answer.failed[0]).__name__}: {answer.failed[0]}"), answer.failed[1])
        with suppress(ConnectionError):  # nobody waits for it any more: no order will follow
            self.pipe.send(answer)


def _travels(error: BaseException) -> bool:
    """Whether an error comes out of pickle again: one whose class takes other arguments than its text does not."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return False
    return True


def main(pipe: Any, folder: str, number: int, count: int, seed: int, task: Any = None, inherited: Any = ()) -> None:
    """What the process runs. Its ``task`` comes through the pipe, unless it was forked and has it already."""
    for one in inherited:  # ends of the pipes of other workers: open here, they would outlive their owner
        one.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes: the loop that trains ends its workers
    desk = PipeDesk(pipe, os.path.join(folder, f"{number}-"))
    threading.Thread(target=_end_with_parent, args=(desk, folder), name="watch the parent", daemon=True).start()
    with suppress(MissingPackageError):  # without threadpoolctl it works, too
        set_num_threads(1)  # the workers share the cores
    manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed % 2**32)
    try:
        fetch, begin = task or pickle.loads(pipe.recv_bytes())
    except EOFError:  # nobody waits for it any more
        return
    except Exception as error:  # a module that cannot be imported here, say
        fetch, begin = None, _raising(error)
    serve(desk, fetch, WorkerInfo(number, count, seed, getattr(fetch, "dataset", None)), begin)
    shutil.rmtree(folder, ignore_errors=True)  # its owner does so, too, unless it was killed


def _raising(error: Exception) -> Callable[[int], Any]:
    def begin(number: int) -> Any:
        raise error

    return begin


def _end_with_parent(desk: PipeDesk, folder: str) -> None:
    """A worker must not outlive the program that started it, whatever it is doing at that moment."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        desk.packer.making.acquire()  # for good: from now on it makes no block
        shutil.rmtree(folder, ignore_errors=True)
        os._exit(1)
