"""Strips of rows of a large array, which fit the processor's cache, on one thread or on several.

NumPy lets other threads run while it computes, so each may take a part of the rows.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextvars import copy_context
from typing import Any

STRIPS = 1 << 19  # bytes of a result: above, a kernel runs in strips
STRIP = 1 << 17  # bytes of one strip of one array
FEW_COLUMNS = 32  # NumPy reduces so short rows quicker down the columns

_POOLS: dict[int, ThreadPoolExecutor] = {}  # by how many threads they have; made when they are first needed

os.register_at_fork(after_in_child=_POOLS.clear)  # a new process has none of these threads


def shared(part: Callable[..., None], size: int, rows: int, scratch: Sequence[Sequence[Any]]) -> None:
    """Do ``part(start, stop, *scratch)`` for rows up to ``size``, in as many threads as there is scratch memory for.

    Each thread takes whole strips of ``rows``. This one takes the first, and waits for the others; their error is its
    own.
    """
    step = -(-size // (rows * len(scratch))) * rows
    starts = range(step, size, step)
    if not starts:
        return part(0, size, *scratch[0])
    pool = _POOLS.get(len(scratch)) or _POOLS.setdefault(len(scratch), ThreadPoolExecutor(len(scratch) - 1, "strips"))
    jobs = [
        pool.submit(copy_context().run, part, start, min(start + step, size), *own)
        for start, own in zip(starts, scratch[1:], strict=False)
    ]
    try:
        part(0, step, *scratch[0])
    finally:
        wait(jobs)
    for job in jobs:
        job.result()
    return None
