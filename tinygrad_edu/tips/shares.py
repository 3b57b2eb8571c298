"""Work that is shared among threads, for tips about them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Thread
from typing import Any


def shared(work: Callable[[Any], Any], parts: Sequence[Any], workers: int) -> list[Any]:
    """The work on all parts, in order, shared among this thread and ``workers - 1`` others, each with every n-th part.

    There are no more workers than parts. A pool of `concurrent.futures` does the same, but starts a thread only if none
    is idle, so it is not sure how many.
    """
    found: dict[int, Any] = {}
    count = max(1, min(workers, len(parts)))

    def do_share(first: int) -> None:
        for i in range(first, len(parts), count):
            found[i] = work(parts[i])

    others = [Thread(target=do_share, args=(first,)) for first in range(1, count)]
    for other in others:
        other.start()
    do_share(0)
    for other in others:
        other.join()
    return [found[i] for i in range(len(parts))]
